#!/bin/bash
# Extra columns: durations and further counters, from recording to replay.
# shellcheck source=tests/mpi/lib.sh
. tests/mpi/lib.sh
export TIARA_QUIET=1 TIARA_TIMES=1
info=$TI_BUILD/ti-info

# with NAME=VALUE... -- ARGUMENT...: trace, these variables handed on.
with() {
    local words=()
    while [ "$1" != -- ]; do
        export "${1?}"
        read -ra pass < <(pass "${1%%=*}")
        words+=("${pass[@]}")
        shift
    done
    shift
    MPIRUN="${words[*]}" trace "$@"
}

# column NAME: of the events on stdin, one a line, "OPERATION VALUE".
column() { sed -n "s/^[0-9]* \([a-z_]*\) .*\\<$1=\([0-9]*\).*/\1 \2/p"; }

# adds_up DIR RANK WORDS: durations and the library's own time are what elapsed.
adds_up() {
    local sum elapsed own stopped
    sum=$(dump "$1" "$2" | sed 's/.* burst_ns=\([0-9]*\) call_ns=\([0-9]*\).*/\1 \2/' |
        awk '{ sum += $1 + $2 } END { printf "%d", sum }')
    read -r _ _ elapsed _ own _ stopped < <("$info" "$1" --rank "$2" | grep '^times_ns ')
    [ $((sum + own + stopped)) = "$elapsed" ] ||
        fail "$3: rank $2: $sum in events, own $own, stopped $stopped, but $elapsed elapsed"
}

# at_least WORDS VALUE LIMIT
at_least() { [ "${2:--1}" -ge "$3" ] || fail "$1: ${2:-nothing}, less than $3"; }

dir=$scratch/times
with TIARA_TIMES=1 -- "$dir" 4 cputime "$built/times" >"$scratch/clock" 2>"$scratch/err" ||
    fail "times: $(cat "$scratch/err")"
"$info" -q --verify "$dir" || fail 'times: --verify'
while read -r rank before begin end after; do
    dump "$dir" "$rank" >"$scratch/events"
    column burst_ns <"$scratch/events" >"$scratch/burst"
    column call_ns <"$scratch/events" >"$scratch/call"
    expected='init barrier irecv send wait barrier barrier barrier pcontrol pcontrol barrier finalize'
    [ "$(cut -d' ' -f1 "$scratch/burst" | tr '\n' ' ')" = "$expected " ] ||
        fail "rank $rank: events: $(cat "$scratch/events")"
    nth() { sed -n "$2s/.* //p" "$scratch/$1"; } # nth FILE LINE
    at_least "rank $rank: a burst of 50 ms" "$(nth burst 2)" 50000000
    # they begin before irecv; what each poll itself costs is the library's own
    own=$("$info" "$dir" --rank "$rank" | sed -n 's/^times_ns .* own \([0-9]*\) .*/\1/p')
    at_least "rank $rank: polls for 40 ms" \
        "$(($(nth burst 3) + $(nth call 3) + $(nth burst 4) + $(nth call 4) + own))" 40000000
    at_least "rank $rank: a pass-through call of 30 ms" "$(nth call 7)" 30000000
    adds_up "$dir" "$rank" times
    read -r _ _ elapsed _ _ _ stopped < <("$info" "$dir" --rank "$rank" | grep '^times_ns ')
    at_least "rank $rank: 20 ms of MPI_Pcontrol(0)" "$stopped" 20000000
    [ "$elapsed" -ge $((end - begin)) ] && [ "$elapsed" -le $((after - before)) ] ||
        fail "rank $rank: $elapsed elapsed, $((end - begin)) to $((after - before)) by its own clock"
    # when MPI_Init returned, in microseconds of that clock
    read -r _ left _ < <("$info" "$dir" --rank "$rank" | grep '^begin ')
    [ "$((${left:-0} * 1000))" -ge "$((before - 1000))" ] && [ "$((${left:-0} * 1000))" -le "$begin" ] ||
        fail "rank $rank left MPI_Init at ${left:-?} us, not from $before to $begin ns"
done <"$scratch/clock"
"$info" --timeline "$scratch/times.csv" --json "$dir" >"$scratch/out" 2>"$scratch/err" || fail "timeline: $(cat "$scratch/err")"
grep -q '"aligned": true' "$scratch/out" || fail "ranks of one machine: $(cat "$scratch/out")"
# In the timeline, ranks leave MPI_Init as far apart as by their clock.
for rank in 0 1 2 3; do
    read -r _ left _ < <("$info" "$dir" --rank "$rank" | grep '^begin ')
    awk -F, -v rank=$rank -v left="$left" '$1 == rank && $2 == 0 { printf "%.0f\n", $4 * 1e6 - left }' "$scratch/times.csv"
done | sort -n | awk 'NR == 1 { first = $1 } { last = $1 } END { exit NR != 4 || last - first > 1 }' ||
    fail 'the timeline has other times of MPI_Init'
[ "$(wc -l <"$scratch/clock")" = 4 ] || fail "times: $(cat "$scratch/clock")"

# As without, but for the columns: same events, same volumes but of the clock.
with TIARA_TIMES=0 -- "$scratch/plain" 4 cputime "$built/times" >"$scratch/out" 2>&1
"$info" --compare "$scratch/plain" --no-volumes "$dir" >"$scratch/out" 2>&1 ||
    fail "$(cat "$scratch/out")"
grep -q 'extra columns, such as durations, are not compared' "$scratch/out" || fail '--compare'
"$info" "$scratch/plain" | grep -E '^extra|a second$' && fail 'extra columns where none were asked for'
with TIARA_TIMES=yes -- "$scratch/yes" 2 cputime "$built/times" >"$scratch/out" 2>&1
grep -q "nothing is recorded: unknown TIARA_TIMES 'yes'; hint: choose 1 or 0" "$scratch/out" ||
    fail "TIARA_TIMES=yes: $(cat "$scratch/out")"
export TIARA_TIMES=1

# Threads one after the other: with an account each, or one for all.
for whose in caller sum; do
    dir=$scratch/threads-$whose
    with TIARA_TIMES=1 TIARA_THREADS=$whose -- "$dir" 2 cputime "$built/threads" second serialized \
        >"$scratch/out" 2>&1 || fail "threads, $whose: $(cat "$scratch/out")"
    "$info" -q --verify "$dir" || fail "threads, $whose: --verify"
    [ "$(dump "$dir" 1 | grep -c ' burst_ns=[0-9]* call_ns=[0-9]*$')" = 42 ] ||
        fail "threads, $whose: events"
    if [ $whose = sum ]; then
        adds_up "$dir" 1 'threads, sum'
    else
        "$info" "$dir" --rank 1 | grep '^times_ns' && fail 'threads: one account of two'
    fi
done
unset TIARA_THREADS

# Replay: without messages nothing but the bursts takes time.
if command -v smpirun >/dev/null; then
    dir=$scratch/one
    with TIARA_TIMES=1 -- "$dir" 1 cputime "$examples/lu" S >"$scratch/out" 2>&1
    for speed in 1Gf 3Gf; do
        printf '<?xml version="1.0"?>\n<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">\n%s\n' \
            "<platform version=\"4.1\"><zone id=\"z\" routing=\"Full\"><host id=\"h\" speed=\"$speed\"/></zone></platform>" \
            >"$scratch/p.xml"
        "$TI_BUILD/ti-replay" --times --json "$dir" --platform "$scratch/p.xml" >"$scratch/json" \
            2>"$scratch/err" || fail "replay: $(cat "$scratch/err")"
        dump "$dir" 0 | column burst_ns | awk -v clock="$(sed -n 's/.*"clock_s": \([^,]*\),*/\1/p' \
            "$scratch/json")" '{ sum += $2 }
            END { d = clock - sum / 1e9; exit !(sum > 0 && d < 1e-9 && d > -1e-9) }' ||
            fail "replay at $speed: $(cat "$scratch/json")"
    done
    "$TI_BUILD/ti-replay" --times "$scratch/plain" >"$scratch/out" 2>&1
    [ $? = 3 ] && grep -q "rank 0 of '.*plain' has no column 'burst_ns'" "$scratch/out" ||
        fail "replay without durations: $(cat "$scratch/out")"
    "$TI_BUILD/ti-replay" --times --speed 2Gf "$dir" >"$scratch/out" 2>&1
    [ $? = 2 ] || fail "replay with a speed: $(cat "$scratch/out")"
    # the longest of four
    "$TI_BUILD/ti-replay" --times --json "$scratch/times" >"$scratch/json" 2>"$scratch/err"
    grep -q 'MPI_Pcontrol' "$scratch/err" "$scratch/json" && fail "$(cat "$scratch/err")"
    most=$(for rank in 0 1 2 3; do
        dump "$scratch/times" $rank | column burst_ns | awk '{ sum += $2 } END { print sum }'
    done | sort -n | tail -n 1)
    sed -n 's/.*"clock_s": \([^,]*\),*/\1/p' "$scratch/json" |
        awk -v most="$most" 'END { exit !($1 * 1e9 >= most - 1) }' ||
        fail "replay of 4: $most ns of bursts, $(cat "$scratch/json" "$scratch/err")"
fi

# Further counters: the kernel's, and the application's own.
export TIARA_TIMES=0
dir=$scratch/also also=perf::PAGE-FAULTS
with TIARA_ALSO=$also,perf::CONTEXT-SWITCHES -- "$dir" 2 cputime "$built/times" >"$scratch/out" 2>&1
if grep -q 'nothing is recorded: .*PAPI' "$scratch/out"; then
    echo "no PAPI here: $(cat "$scratch/out")"
    also=
fi
for rank in ${also:+0 1}; do
    at_least "rank $rank: page faults" "$(dump "$dir" "$rank" | column "$also" | sed -n '8s/.* //p')" 300
    dump "$dir" "$rank" | grep -q burst_ns && fail 'durations where none were asked for'
done
if [ "$also" ]; then
    "$info" "$dir" | grep -qE "^extra +$also [0-9,]+ events$" || fail 'page faults: summary'
    with TIARA_ALSO=sde:::ti_app::NONE -- "$scratch/none" 2 cputime "$built/times" \
        >"$scratch/out" 2>&1
    grep -q 'nothing is recorded: .*sde:::ti_app::NONE' "$scratch/out" ||
        fail "an event that is none: $(cat "$scratch/out")"
fi
if "$built/papi" >/dev/null 2>&1; [ $? != 77 ]; then
    dir=$scratch/sde
    with TIARA_TIMES=1 TIARA_ALSO=sde:::ti_app::WORK${also:+,$also} -- "$dir" 2 cputime "$built/papi" none \
        >"$scratch/out" 2>&1
    for rank in 0 1; do
        { echo init 0
          for k in 1 2 3 4 5 6; do echo "barrier $((1000 * k + rank))"; done
          echo finalize 0; } >"$scratch/expected"
        dump "$dir" $rank | column 'sde:::ti_app::WORK' >"$scratch/found"
        same "$scratch/expected" "$scratch/found" "the application's own counter, rank $rank"
        adds_up "$dir" $rank sde
    done
fi

# Recording durations is outside of the volumes.
if exact_counter; then
    dir=$scratch/exact
    with TIARA_TIMES=1 TIARA_ALSO=$also -- "$dir" 2 valgrind "$built/bursts" "$scratch/truth" >"$scratch/out" 2>&1
    case $? in
        0)
            dump "$dir" 0 | sed -e 1d -e '$d' | cut -d' ' -f1,2 | paste -d' ' "$scratch/truth" - |
                awk '$1 != $4 || ($2 != "-" && ($3 - $2 > 1 || $2 - $3 > 1)) { exit bad = 1 }
                    $2 != "-" { n++ } END { exit bad || n < 80 }' || fail 'bursts of known length'
            ;;
        77) ;; # they are written for x86-64
        *) fail "$(cat "$scratch/out")" ;;
    esac
fi

finish
