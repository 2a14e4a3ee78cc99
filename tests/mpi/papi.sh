#!/bin/bash
# The PAPI counter in an application that uses PAPI itself, before MPI_Init or after
# it; a counter that stops; and ranks that are not counted alike.
# shellcheck source=tests/mpi/lib.sh
. tests/mpi/lib.sh
"$built/papi" >/dev/null 2>&1
[ $? = 77 ] && skip 'built without PAPI and its software defined events'
export TIARA_QUIET=1

# Both count: what the application sees is what it would see, and so do we.
: >"$scratch/none"
"$mpirun" -np 2 "$built/papi" before 2>&1 | sort >"$scratch/before"
cp "$scratch/before" "$scratch/after"
[ "$(grep -c 'rank [01]: 2100[06] of its own, the clock runs' "$scratch/before")" = 2 ] ||
    skip "PAPI does not count for the application: $(head -n 1 "$scratch/before")"

# counted DIR ORDER COUNTER: the program, traced, prints what it would untraced.
counted() {
    trace "$1" 2 "$3" "$built/papi" "$2" 2>&1 | sort >"$scratch/out"
    same "$scratch/$2" "$scratch/out" "$2, $3: the application's own counts"
    "$TI_BUILD/ti-info" -q --verify "$1" || fail "$2, $3: --verify"
}
for order in none before after; do
    counted "$scratch/$order-WORK" $order papi:sde:::ti_app::WORK
    for rank in 0 1; do
        {
            echo '0 init level=0'
            for k in 1 2 3 4 5 6; do echo "$((1000 * k + rank)) barrier comm=0"; done
            echo '0 finalize'
        } >"$scratch/expected"
        dump "$scratch/$order-WORK" $rank >"$scratch/found"
        same "$scratch/expected" "$scratch/found" "$order: volumes of rank $rank"
    done
    [ $order = none ] && continue
    counted "$scratch/$order-CLOCK" $order papi:perf::TASK-CLOCK
    dump "$scratch/$order-CLOCK" 1 | awk '/barrier/ && $1 < 1000000 { exit 1 }' ||
        fail "$order: the clock"
done

# Beside the volume, whoever counts that: known values in their columns.
for counter in papi:sde:::ti_app::WORK cputime; do
    dir=$scratch/beside-${counter##*:}
    TIARA_ALSO=sde:::ti_app::OWN MPIRUN='-x TIARA_ALSO' counted "$dir" after $counter
    dump "$dir" 1 | sed -n 's/.*\(barrier\).* sde:::ti_app::OWN=/\1 /p' >"$scratch/found"
    printf 'barrier %d\n' 1001 2001 3001 4001 5001 6001 >"$scratch/expected"
    same "$scratch/expected" "$scratch/found" "what was counted beside $counter"
done

# refused DIR WORDS: the run in $scratch/log went well, said so, and left no trace.
refused() {
    grep -q -- "$2" "$scratch/log" || { fail "it does not say '$2'"; cat "$scratch/log"; }
    [ "$(grep -c 'tiara:' "$scratch/log")" = 1 ] || { fail 'not one line'; cat "$scratch/log"; }
    [ "$(grep -c 'of its own, the clock runs' "$scratch/log")" = "${3:-2}" ] ||
        { fail 'the application did not run'; cat "$scratch/log"; }
    [ ! -e "$1" ] || fail "there is '$1'"
}

# A counter that does not count leaves no zeros.
if ! "$TI_BUILD/tests/unit/t-counter" 2>&1 | grep -q 'papi: PAPI event'; then
    echo 'there are hardware counters here'
else
    trace "$scratch/zeros" 2 auto "$built/papi" after >"$scratch/log" 2>&1 ||
        fail 'no hardware counters: the application failed'
    refused "$scratch/zeros" "nothing is recorded: .*'PAPI_TOT_INS' does not count here"
fi
"$mpirun" -np 2 -x LD_PRELOAD="$TI_BUILD/libminitrace.so" -x TIARA_TRACE_DIR="$scratch/zeros" \
    -x TIARA_COUNTER=valgrind "$built/papi" before >"$scratch/log" 2>&1
refused "$scratch/zeros" 'nothing is recorded: not running under valgrind --tool=ticount; hint: run'

# The counter stops in the middle: so does the recording, and says why.
trace "$scratch/stuck" 2 papi:sde:::ti_app::WORK "$built/papi" none stuck >"$scratch/log" 2>&1
grep -q "recording stopped: PAPI event 'sde:::ti_app::WORK' stands still at [34]" "$scratch/log" ||
    { fail 'it does not say that the counter stopped'; cat "$scratch/log"; }
"$TI_BUILD/ti-info" --verify "$scratch/stuck" >"$scratch/log" 2>&1
[ $? = 1 ] || fail 'the trace of a counter that stopped is complete'
grep -q 'rank 1: incomplete after .* stands still' "$scratch/log" || fail 'its reason is not there'
dump "$scratch/stuck" 0 >"$scratch/found" 2>/dev/null
head -n 3 "$scratch/found" >"$scratch/before"
printf '%s\n' '0 init level=0' '1000 barrier comm=0' '2000 barrier comm=0' >"$scratch/expected"
same "$scratch/expected" "$scratch/before" 'what was counted before it stopped'

# The processors are of several kinds: what is counted on one of them only is refused, unless the
# program is kept there.  The kernel is made to say so.
kinds() { # kinds WORD...: run them where processor 0 is of one kind, 1 of the other
    # shellcheck disable=SC2016  # for the inner shell
    unshare --mount bash -c 'cd /sys/bus/event_source/devices && mount -t tmpfs none "$PWD" && cd "$PWD" &&
        mkdir cpu_core cpu_atom && echo 0 >cpu_core/cpus && echo 1 >cpu_atom/cpus && cd "$OLDPWD" &&
        exec "$@"' x "$@" >"$scratch/log" 2>&1
}
if kinds true && taskset -c 1 true 2>/dev/null; then
    acquire=("$TI_BUILD/ti-acquire" --np 1 --dry-run)
    kinds taskset -c 0,1 "${acquire[@]}" -c papi "$examples/ring"
    [ $? = 3 ] && grep -q "'PAPI_TOT_INS' counts on one kind of .* several: cpu_atom (1), cpu_core (0)" \
        "$scratch/log" || { fail 'two kinds of processors'; cat "$scratch/log"; }
    kinds taskset -c 0,1 "${acquire[@]}" -c cputime --also PAPI_TOT_INS "$examples/ring"
    [ $? = 3 ] && grep -q "'PAPI_TOT_INS' counts on one kind of" "$scratch/log" ||
        { fail 'two kinds of processors: beside the volume'; cat "$scratch/log"; }
    for words in "taskset -c 0 ${acquire[*]} -c papi" "taskset -c 0,1 ${acquire[*]} -c papi:perf::TASK-CLOCK"; do
        # shellcheck disable=SC2086  # words are meant
        kinds $words "$examples/ring"
        ! grep -q 'one kind of' "$scratch/log" || { fail "$words"; cat "$scratch/log"; }
    done
fi

# The ranks are not counted alike: no trace, one line, with who counts what.
# (By one command for all ranks: mpirun of Open MPI 5.0.7 crashes where ':' separates several.)
common=(-x LD_PRELOAD="$TI_BUILD/libminitrace.so" -x TIARA_TRACE_DIR="$scratch/mixed")
# shellcheck disable=SC2016  # for the inner shell
"$mpirun" "${common[@]}" -np 4 bash -c 'counter=(cputime cputime papi:sde:::ti_app::{WORK,NONE})
    TIARA_COUNTER=${counter[OMPI_COMM_WORLD_RANK]} exec "$@"' x "$built/papi" after \
    >"$scratch/log" 2>&1 || fail 'ranks that count differently: the application failed'
refused "$scratch/mixed" 'nothing is recorded: the ranks are not counted alike: ranks 0-1 on [^ ]*: cputime, .*, an estimate; rank 2 on [^ ]*: papi, sde:::ti_app::WORK, in events, not exact; rank 3 on [^ ]*: nothing (PAPI event .sde:::ti_app::NONE. does not count here: no library has made it); hint' 4

# One whose environment is another.
# shellcheck disable=SC2016  # for the inner shell
"$mpirun" "${common[@]}" -x TIARA_COUNTER=cputime -np 3 bash -c \
    '[ $OMPI_COMM_WORLD_RANK != 1 ] || export TIARA_THREADS=sum; exec "$@"' x "$built/papi" before \
    >"$scratch/log" 2>&1 || fail 'one rank counts differently: the application failed'
refused "$scratch/mixed" 'ranks 0,2 on .*THREAD.*; rank 1 on .*PROCESS.* of all threads; hint' 3

# The same with MPICH.
if command -v mpirun.mpich >/dev/null && [ -x "$TI_BUILD/tests/mpich/ring" ]; then
    common=(-env LD_PRELOAD "$TI_BUILD/libminitrace.so" -env TIARA_TRACE_DIR "$scratch/mixed")
    mpirun.mpich "${common[@]}" -env TIARA_COUNTER cputime -n 1 "$TI_BUILD/tests/mpich/ring" : \
        "${common[@]}" -env TIARA_COUNTER papi:perf::TASK-CLOCK -n 1 "$TI_BUILD/tests/mpich/ring" \
        >"$scratch/log" 2>&1 || fail 'MPICH: the application failed'
    grep -q 'not counted alike: rank 0 on .*cputime.*; rank 1 on .*TASK-CLOCK' "$scratch/log" ||
        { fail 'MPICH: ranks that count differently'; cat "$scratch/log"; }
    [ ! -e "$scratch/mixed" ] || fail 'MPICH: there is a trace'
fi
finish
