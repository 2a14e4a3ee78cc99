#!/bin/bash
# ti-convert: SimGrid's action files of every age into traces, what these files leave open, what
# is wrong with them; and the collectives that are written as messages for GOAL.
set -u
o=$(realpath "${TI_BUILD:-build}")
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
check=$PWD/tests/cli/convert_check.py
failures=0
fail() { echo "FAILED: $*"; failures=$((failures + 1)); }
cd "$tmp" || exit 1

# from ARGUMENT...: the text on stdin, as trace `run`
from() {
    rm -rf run
    cat >actions
    "$o/ti-convert" --from simgrid actions -o run "$@" >out 2>err
}
# takes WORDS ARGUMENT...: it does, warns of that ("": of nothing), and the trace is sound
takes() {
    local words=$1
    shift
    from "$@" || { fail "'$words': refused"; cat actions err; return; }
    "$o/ti-info" -q --verify run || { fail "'$words': not sound"; cat actions; }
    if [ -z "$words" ]; then
        ! grep warning err || fail "warns without need: $(cat actions)"
    else
        grep -qE "warning: actions:[0-9]+: .*$words" err || { fail "no warning '$words'"; cat actions err; }
    fi
}
# refuses PLACE WORDS ARGUMENT...: it says so, with status 3, and leaves nothing
refuses() {
    local place=$1 words=$2
    shift 2
    from "$@"
    [ $? -eq 3 ] || fail "not refused with status 3: $words"
    grep -qE "$place: .*$words" err || { fail "not refused with '$place: $words'"; cat actions err; }
    [ -z "$(ls -d run* tiara-* 2>/dev/null)" ] || fail "'$words': something is left"
}
# has RANK LINE: its dump has this
has() {
    "$o/ti-info" --dump --rank "$1" run | grep -qE -- "$2" ||
        { fail "rank $1 has no '$2'"; "$o/ti-info" --dump --rank "$1" run; }
}
back() { rm -rf again; "$o/ti-convert" -q --to simgrid run -o again 2>err2 || { fail "not back"; cat err2; }; }

# ---- the present syntax, all actions, and back: the same text
cat >expected.0 <<'E'
0 init
0 compute 1000
0 isend 1 0 100 6
0 compute 5
0 wait 0 1 0
0 barrier
0 bcast 8 1 6
0 reduce 8 0 2 6
0 allreduce 8 0 6
0 gather 3 3 1 6 6
0 scatter 2 2 0 6 6
0 allgather 2 2 6 6
0 alltoall 2 2 6 6
0 gatherv 1 1 2 3 0 6 6
0 scatterv 1 2 3 1 0 6 6
0 allgatherv 1 1 2 3 6 6
0 alltoallv 6 1 2 3 3 1 1 1 6 6
0 reducescatter 1 2 3 0 6
0 scan 4 0 6
0 exscan 4 0 6
0 finalize
E
sed 's/^0 /1 /; s/^1 isend 1 0/1 recv 0 0/; /wait/d; s/compute 1000/compute 1005/; /compute 5$/d;
     s/gatherv 1 1 2 3 0/gatherv 2 0 0 0 0/; s/scatterv 1 2 3 1 0/scatterv 0 0 0 2 0/
     s/allgatherv 2 0 0 0 0 6 6/allgatherv 2 1 2 3 6 6/; s/^1 allgatherv 1 /1 allgatherv 2 /
     s/alltoallv 6 1 2 3 3 1 1 1/alltoallv 6 1 2 3 6 2 2 2/' expected.0 >expected.1
sed 's/^1 /2 /; /recv/d; s/gatherv 2 0 0 0 0/gatherv 3 0 0 0 0/; s/scatterv 0 0 0 2 0/scatterv 0 0 0 3 0/
     s/^2 allgatherv 2 /2 allgatherv 3 /
     s/6 2 2 2/9 3 3 3/' expected.1 >expected.2
printf 'expected.%d\n' 0 1 2 >list
rm -rf run
"$o/ti-convert" --from simgrid list -o run >out 2>err || { fail 'list'; cat err; }
grep warning err && fail 'warns of the present syntax'
"$o/ti-info" -q --verify run || fail 'not sound'
back
for r in 0 1 2; do
    diff expected.$r again/rank-00000$r.txt >differences || { fail "rank $r is another one"; cat differences; }
done
# merged, in any order; names relative to the list
mkdir sub
mv list expected.? sub
(cd sub && paste -d '\n' expected.2 expected.0 expected.1 | sed '/^$/d' >all)
rm -rf run
"$o/ti-convert" -q --from simgrid sub/all -o run || fail 'merged'
back
for r in 0 1 2; do cmp -s sub/expected.$r again/rank-00000$r.txt || fail "merged: rank $r is another one"; done
rm -rf run
"$o/ti-convert" -q --from simgrid sub/list -o run || fail 'a list elsewhere'
"$o/ti-convert" -q --from simgrid again -o copy || fail 'a directory of ours'
"$o/ti-info" -q --compare run copy || fail 'the directory is another trace'
"$o/ti-convert" -q --from simgrid sub -o none 2>err
{ [ $? -eq 3 ] && grep -q "has no traces.txt" err; } || fail 'a directory without a list'

# ---- the oldest syntax, of the papers
takes 'p0, p1|no tags' <<'E'
p0 init
p1 init
p0 compute 1e6
p0 Isend p1 5760
p0 comm_size 2
p0 allReduce 40 86
p0 compute 14
p1 Irecv p0
p1 wait
p1 comm_size 2
p1 allReduce 40 86
p0 finalize
p1 finalize
E
has 1 'irecv .*bytes=5760 '
has 0 'request_free'
grep -q 'a receive without a size' err || fail 'does not tell of sizes'
grep -q 'flops of a reduction' err || fail 'does not tell of flops'
back
grep -qx '0 compute 100' again/rank-000000.txt || fail 'the flops of the reduction are lost'
# the tagless one of SimGrid 3.10 to 3.19: the last request, by --wait the first
tagless() {
    cat <<'E'
0 init
1 init
0 Isend 1 10
0 Isend 1 20
0 wait
0 compute 7
0 waitAll
1 recv 0 10
1 recv 0 20 6
0 finalize
1 finalize
E
}
takes 'one of 2 requests; it completes the one posted last' < <(tagless)
"$o/ti-info" --dump --rank 0 run | grep wait | head -n 1 >last
takes 'one of 2 requests; it completes the one posted first' --wait first < <(tagless)
"$o/ti-info" --dump --rank 0 run | grep wait | head -n 1 >first
cmp -s first last && fail '--wait first is as last'

# ---- what is not said
one() { printf '0 init%s\n1 init%s\n0 send 1 5 100%s\n1 recv 0 5 100%s\n0 finalize\n1 finalize\n' "$@"; }
takes '' < <(one '' '' ' 1' ' 1') && has 0 '400'
takes '' < <(one ' 1' ' 1' '' '') && has 0 '800'
takes '' --datatype bytes < <(one ' 1' ' 1' ' 6' '') && has 1 '100'
refuses actions:2 'bytes by this "init", but doubles' < <(one ' 1' '' '' '')
takes '' --datatype doubles < <(one ' 1' '' '' '') && has 0 '800'
takes 'no datatype; it is in bytes' < <(printf '0 send 1 5 1e2\n1 recv 0 5 1e2\n')
grep -q 'does not begin with' err || fail 'no word of init'
grep -q 'does not end with' err || fail 'no word of finalize'
takes 'has no newline' < <(one '' '' '' '' | head -c -1)
refuses actions:1 'DESTINATION TAG SIZE.*DESTINATION SIZE' < <(printf '0 send 1 5 6\n1 recv 0 5 6\n')
takes 'no tags' --syntax old < <(printf '0 send 1 5 6\n1 recv 0 5 6\n') && has 0 'send.*5'
takes '' --syntax tags < <(printf '0 init\n0 send 1 5 6\n0 finalize\n1 init\n1 recv 0 5 6\n1 finalize\n')
refuses actions:1 'has tags.*actions:2 has none' < <(printf '0 isend 1 5 6\n1 Irecv 0 5 6\n')
takes 'takes any source; rank 1' < <(printf '0 init\n0 irecv -555 3 9 6\n0 wait -556 0 3\n0 finalize\n1 init\n1 send 0 3 9 6\n1 finalize\n')
has 0 'irecv'
refuses actions:2 'several ranks send' < <(printf '%s\n' '0 init' '0 irecv -555 3 9 6' '1 send 0 3 9 6' '2 send 0 3 9 6')
refuses actions:2 'any tag' < <(printf '%s\n' '0 init' '0 irecv 1 -444 9 6' '1 send 0 3 9 6')
takes 'without a size' < <(printf '%s\n' '0 init' '0 send 1 3 9 6' '0 send 1 3 70 6' '1 init' '1 recv 0 3 -1 6' '1 recv 0 3 -1 6' '0 finalize' '1 finalize')
takes 'never waited for' < <(printf '%s\n' '0 init' '0 isend 1 3 9 6' '1 init' '1 recv 0 3 9 6' '0 finalize' '1 finalize')
takes 'whether the test is successful' < <(printf '%s\n' '0 init' '0 isend 1 3 9 6' '0 test 0 1 3' '0 wait 0 1 3' '1 init' '1 recv 0 3 9 6' '0 finalize' '1 finalize')
takes 'not whole numbers are rounded' < <(printf '%s\n' '0 init' '0 compute 1.5' '0 barrier' '0 compute 1.5' '0 finalize')
"$o/ti-info" run | grep -qE '^volume +3 flops' || fail 'fractions are lost'
refuses actions:2 'cannot express a sleep' < <(printf '%s\n' '0 init' '0 sleep 0.5' '0 finalize')
takes 'sleep becomes a burst' --speed 2Gf < <(printf '%s\n' '0 init' '0 sleep 0.5' '0 finalize')
"$o/ti-info" run | grep -qE '^volume +1,000,000,000 flops' || fail 'sleep is not a burst'
takes 'which ranks the communicator has' < <(printf '%s\n' '0 init' '0 comm_dup' '0 barrier' '0 finalize')
refuses actions:3 'actions:2 says that only some ranks' < <(printf '%s\n' '0 init' '0 comm_size 1' '0 barrier' '1 init')
takes '' < <(printf '%s\n' '0 init' '0 location a.c 12' '0 barrier' '0 location a.c 12' '0 barrier' '0 finalize')
"$o/ti-info" --dump --call-sites --rank 0 run | grep -c 'a.c:12' | grep -qx 2 || fail 'the call site is lost'

# ---- what is wrong
refuses actions:1 "'tutu' is no rank" < <(echo 'tutu send toto 1e10')
refuses actions:2 "'frob' is no action" < <(printf '0 init\n0 frob\n')
refuses actions:2 'there is no action' < <(printf '0 init\n0\n')
refuses actions:2 "'1e400' is no number of flops" < <(printf '0 init\n0 compute 1e400\n')
refuses actions:2 "'nan' is no number of flops" < <(printf '0 init\n0 compute nan\n')
refuses actions:2 "'-1' is no number of flops" < <(printf '0 init\n0 compute -1\n')
refuses actions:2 "'1.5' is no whole number" < <(printf '0 init\n0 bcast 1.5 0 6\n')
refuses actions:2 'datatype 99' < <(printf '0 init\n0 bcast 15 0 99\n')
refuses actions:2 'no rank 1 to be the root' < <(printf '0 init\n0 bcast 15 1\n')
refuses actions:2 'no rank 7 of 1' < <(printf '0 init\n0 send 7 0 10 6\n')
refuses actions:2 'too few' < <(printf '0 init\n0 send 7\n')
refuses actions:2 'too many' < <(printf '0 init\n0 compute 7 8\n')
refuses actions:2 'no request from 0 to 1' < <(printf '0 init\n0 wait 0 1 5\n')
refuses actions:3 'after "finalize"' < <(printf '0 init\n0 finalize\n0 compute 5\n')
refuses actions:2 'not the first' < <(printf '0 compute 5\n0 init\n')
refuses actions:2 'there is no count' < <(printf '0 init\n0 reducescatter\n')
refuses actions:1 'byte of zero' < <(printf '0 in\0it\n')
refuses "'actions'" 'rank 0 of 16777216 has no actions' < <(echo '16777215 init')
# ranks that do not fit together: both lines are told
printf '0 init\n0 finalize\n' >r0
printf '1 init\n0 finalize\n' >r1
printf 'r0\nr1\n' >rlist
"$o/ti-convert" --from simgrid rlist -o run 2>err && fail 'a stranger'
grep -q 'r1:2: a line of rank 0 in the file of rank 1' err || { fail 'a stranger'; cat err; }
refuses 'event 1, actions:2' '' < <(printf '%s\n' '0 init' '0 send 1 0 5 6' '0 finalize' '1 init' '1 finalize')
grep -q 'problem' err || fail 'no problem is told'

# ---- sizes of messages where receives have more room, far more than one block of them
{
    echo '0 init'; echo '1 init'
    for ((i = 0; i < 200; i++)); do
        echo "0 send 1 0 $((i < 20 ? 7 : i * i % 97 + 1)) 6"
        echo "1 recv 0 0 -1 6"
    done
    echo '0 finalize'; echo '1 finalize'
} >sizes
"$o/ti-convert" -q --from simgrid sizes -o sizes.run 2>/dev/null || fail sizes
for target in goal dimemas; do
    "$o/ti-convert" -q --to $target --speed 1Gf sizes.run -o sizes.$target || fail "sizes to $target"
    python3 "$check" $target sizes.$target >found || fail "sizes are lost: $target"
    grep -qx "bytes $(awk '/send/ { n += $5 } END { print n }' sizes)" found || fail "bytes: $target"
done

# ---- what is written, word for word: requests, their waits, rooms larger than messages
cat >small <<'E'
0 init
1 init
0 compute 1000
0 isend 1 5 100 6
0 isend 1 5 200 6
0 compute 500
0 wait 0 1 5
0 wait 0 1 5
0 sendRecv 10 1 10 1 6 6
1 irecv 0 5 300 6
1 compute 250
1 recv 0 5 300 6
1 wait 0 1 5
1 compute 1
1 sendRecv 10 0 10 0 6 6
0 barrier
1 barrier
0 reduce 8 0 1 6
1 reduce 8 0 1 6
0 bcast 16 1 6
1 bcast 16 1 6
0 gather 4 4 1 6 6
1 gather 4 4 1 6 6
0 finalize
1 finalize
E
rm -rf small.run
"$o/ti-convert" -q --from simgrid small -o small.run || fail small
for target in goal dimemas; do
    "$o/ti-convert" -q --to $target --speed 1Gf small.run -o small.$target || fail "small to $target"
done
# of GOAL rank 0, with what an operation requires behind it
sed '/^rank 1/,$d' small.goal | awk '/requires/ { printf " %s %s", $2, $3; next }
    NR > 1 { print "" } { printf "%s", $0 } END { print "" }' >found
cat >wanted <<'E'
num_ranks 2
rank 0 {
l1: calc 1000
l2: send 100b to 1 tag 0 requires l1
l3: send 200b to 1 tag 1 requires l1 irequires l2
l4: calc 500 requires l1 irequires l3
l5: calc 0 requires l4 requires l2
l6: calc 0 requires l5 requires l3
l7: send 10b to 1 tag 2 requires l6 irequires l3
l8: recv 10b from 1 tag 2 requires l6 irequires l7
l9: calc 0 requires l6 requires l7 requires l8
l10: send 0b to 1 tag 3 requires l9 irequires l8
l11: recv 0b from 1 tag 3 requires l9 irequires l10
l12: calc 0 requires l9 requires l10 requires l11
l13: send 8b to 1 tag 4 requires l12 irequires l11
l14: recv 16b from 1 tag 5 requires l13
l15: send 4b to 1 tag 6 requires l14
}
E
diff wanted found >differences || { fail 'GOAL (< expected)'; cat differences; }
cat >wanted <<'E'
#DIMEMAS:"tiara":1,00000000000000000566:2(1,1),1
d:1:1:2:0:1
1:0:0:0.000000000
1:0:0:0.000001000
2:0:0:1:-1:100:0:1:2
2:0:0:1:-1:200:1:1:2
1:0:0:0.000000500
2:0:0:1:-1:10:2:1:2
3:0:0:1:-1:10:2:1:1
3:0:0:1:-1:10:2:1:2
10:0:0:0:1:0:0:0:0:1
10:0:0:10:1:1:0:8:0:1
10:0:0:1:1:0:0:0:16:1
10:0:0:2:1:0:0:4:0:1
1:1:0:0.000000000
3:1:0:0:-1:100:0:1:1
1:1:0:0.000000250
3:1:0:0:-1:200:1:1:0
3:1:0:0:-1:100:0:1:2
1:1:0:0.000000001
2:1:0:0:-1:10:2:1:2
3:1:0:0:-1:10:2:1:1
3:1:0:0:-1:10:2:1:2
10:1:0:0:1:0:0:0:0:1
10:1:0:10:1:1:0:8:8:1
10:1:0:1:1:1:0:16:0:1
10:1:0:2:1:1:0:4:4:1
s:0:61
s:1:303
E
diff wanted small.dimemas >differences || { fail 'Dimemas (< expected)'; cat differences; }

# ---- GOAL's collectives: how many messages, and bytes, by the number of ranks
log2() { local n=$1 k=0; while ((1 << k < n)); do k=$((k + 1)); done; echo $k; }
for np in 1 2 3 5 8; do
    power=1
    while ((2 * power <= np)); do power=$((2 * power)); done
    counts=$(for ((i = 1; i <= np; i++)); do printf '%d ' $i; done)
    # shellcheck disable=SC2034  # in the table below
    sum=$((np * (np + 1) / 2))
    while read -r action messages bytes; do
        {
            for ((r = 0; r < np; r++)); do
                line=${action//_/ }
                line=${line//COUNTS/$counts} line=${line//MINE/$((r + 1))} line=${line//LAST/$((np - 1))}
                line=${line//SAME/$(for ((i = 0; i < np; i++)); do printf '%d ' $((r + 1)); done)}
                printf '%d init\n%d compute %d\n%d %s\n%d finalize\n' $r $r $((r * 1000)) $r "$line" $r
            done
        } >coll
        rm -rf coll.run coll.goal
        "$o/ti-convert" -q --from simgrid coll -o coll.run 2>err || { fail "$action of $np"; cat err; }
        "$o/ti-convert" -q --to goal --speed 1Gf coll.run -o coll.goal || fail "$action of $np to goal"
        python3 "$check" goal coll.goal >found || fail "$action of $np"
        printf 'messages %d\nbytes %d\nns %d\n' $((messages)) $((bytes)) $((np * (np - 1) * 500)) |
            diff - found >differences || { fail "$action of $np (< expected)"; cat differences; }
    done <<E
barrier np*$(log2 $np) 0
bcast_10_LAST_6 np-1 10*(np-1)
reduce_10_0_LAST_6 np-1 10*(np-1)
allreduce_10_0_6 power*$(log2 $power)+2*(np-power) 10*(power*$(log2 $power)+2*(np-power))
gather_10_10_LAST_6_6 np-1 10*(np-1)
scatter_10_10_LAST_6_6 np-1 10*(np-1)
allgather_10_10_6_6 np*(np-1) 10*np*(np-1)
alltoall_10_10_6_6 np*(np-1) 10*np*(np-1)
gatherv_MINE_COUNTS0_6_6 np-1 sum-1
scatterv_COUNTS_MINE_0_6_6 np-1 sum-1
allgatherv_MINE_COUNTS6_6 np*(np-1) sum*(np-1)
alltoallv_999_COUNTS_999_SAME_6_6 np*(np-1) sum*(np-1)
reducescatter_COUNTS0_6 np*(np-1) sum*(np-1)
scan_10_0_6 np-1 10*(np-1)
exscan_10_0_6 np-1 10*(np-1)
E
done

# ---- a trace with what recorders write, and communicators
"$o/tests/mktrace" --np 4 --times recorded || fail mktrace
for target in goal dimemas; do
    rm -f t.$target
    "$o/ti-convert" --to $target --speed 1Gf recorded -o t.$target 2>err || { fail "$target"; cat err; }
    python3 "$check" $target t.$target >$target.found || fail "$target: $(cat $target.found)"
done
read -r m b < <("$o/ti-info" --verify recorded | sed -n 's/,//g; s/^conserved: \([0-9]*\) messages \([0-9]*\) bytes.*/\1 \2/p')
grep -qx "messages $m" dimemas.found || fail "dimemas: not $m messages"
grep -qx "bytes $b" dimemas.found || fail "dimemas: not $b bytes"
grep -qx "messages $((m + 3 * (8 + 12) + 2 + 12))" goal.found || { fail 'goal: messages'; cat goal.found; }
"$o/ti-convert" -q --to dimemas --times recorded -o times.dim || fail times
[ "$(python3 "$check" dimemas times.dim | awk '/^ns/ { print $2 }')" -eq \
    $((2 * $(awk '/^ns/ { print $2 }' dimemas.found))) ] || fail '--times: not the durations'
"$o/ti-convert" -q --to dimemas --speed 2Gf recorded -o fast.dim || fail fast
twice=$(($(python3 "$check" dimemas fast.dim | awk '/^ns/ { print $2 }') * 2 - $(awk '/^ns/ { print $2 }' dimemas.found)))
[ ${twice#-} -le 8 ] || fail "at twice the speed: off by $twice ns"

# ---- refused, with rank, event and reason; nothing is left
for t in simgrid goal dimemas; do
    speed=(--speed 1Gf)
    [ $t != simgrid ] || speed=()
    for what in cancel leak unmatched; do
        rm -rf bad
        "$o/tests/mktrace" --np 4 --add $what bad
        "$o/ti-convert" -q --to $t "${speed[@]}" bad -o refused 2>err
        [ $? -eq 3 ] || fail "$what to $t: not refused with status 3"
        grep -qE '^  rank 1, event [0-9]+' err || { fail "$what to $t: not told where"; cat err; }
        [ -z "$(ls -d refused* tiara-* 2>/dev/null)" ] || fail "$what to $t: something is left"
    done
done
"$o/ti-convert" -q --to simgrid recorded -o refused 2>err
{ [ $? -eq 3 ] && grep -q 'bcast(comm 2.*collectives of all ranks only' err; } || { fail 'a communicator'; cat err; }
printf '0 init\n0 finalize\n' | from -q && "$o/ti-convert" -q --to dimemas --times run -o refused 2>err
{ [ $? -eq 3 ] && grep -q 'duration of each burst' err; } || { fail 'no durations'; cat err; }

# ---- command lines, and output that cannot be
usage() {
    "$o/ti-convert" "${@:2}" 2>err
    { [ $? -eq 2 ] && grep -q -- "$1" err; } || { fail "usage: $*"; cat err; }
}
usage 'give --to' recorded -o x
usage 'two conversions' --to goal --from simgrid recorded -o x
usage 'give -o' --to simgrid recorded
usage 'give --speed, or --times' --to goal recorded -o x
usage 'has the speed' --to simgrid --speed 1Gf recorded -o x
usage 'merged and --eager are for' --to goal --merged --times recorded -o x
usage 'are for --from' --to simgrid --syntax old recorded -o x
usage '--to must be simgrid, dimemas or goal' --to paje recorded -o x
usage '--syntax must be tags or old' --from simgrid --syntax new sizes -o x
usage "'sizes' exists" --from simgrid sizes -o sizes
usage 'no input' --to simgrid -o x
(ulimit -f 1; trap '' XFSZ; "$o/ti-convert" -q --to goal --speed 1Gf recorded -o full 2>err)
[ $? -eq 4 ] || fail 'no error where files cannot be written'
[ -z "$(ls -d full* x* tiara-* 2>/dev/null)" ] || fail 'something is left'
[ $failures -eq 0 ]
