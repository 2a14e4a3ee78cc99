#!/bin/bash
# ti-info --merge --volumes and --extras: the bound holds for every burst, sums are exact, statistics
# are what they are to be; tools say which quality a trace has.
# shellcheck source=tests/cli/trace-lib.bash
. tests/cli/trace-lib.bash

# compare EXACT OTHER PER-CENT: each line of the dumps but for the volume; volumes within the bound,
# or with PER-CENT "stats" the same sum, minimum and maximum.  With "exact", all volumes are equal.
compare() {
    python3 - "$@" <<'END'
import re, sys

def dump(name):
    with open(name) as f:
        lines = [line.split() for line in f if not line.startswith("#")]
    # without extra values: NAME_ns and the counter a\x1b::b
    return [[word for word in line if not re.match(r"\w+_ns=|\S*::", word)] for line in lines]

exact, other = dump(sys.argv[1]), dump(sys.argv[2])
assert len(exact) == len(other) > 1000
assert [line[1:] for line in exact] == [line[1:] for line in other]
a, b = ([int(line[0]) for line in lines] for lines in (exact, other))
assert sum(a) == sum(b)
if sys.argv[3] == "exact":
    assert a == b
else:
    assert a != b, "nothing was lost"
    assert sys.argv[3] != "stats" or (min(a), max(a)) == (min(b), max(b))
    if sys.argv[3] != "stats":
        assert all(abs(x - y) * 100 <= x * float(sys.argv[3]) for x, y in zip(a, b))
END
}

# exact TRACE BOOLEAN: whether all tools say that its volumes are exact, though its counter is
exact() {
    local word=exact
    $2 || word='not exact'
    run 0 ti-info "$1"
    grep -qE "^counter .*, in instructions, $word\$" out || { fail "$1 is not called $word"; cat out; }
    run 0 ti-info --json "$1"
    json out "exact=$2" || fail "$1: ti-info --json"
    run 0 ti-replay --lint --json "$1"
    json out "exact=$2" || fail "$1: ti-replay --lint --json"
}

mktrace --np 4 --iterations 300 --noise 1000 --times --exact a.run
ti-gather -q --merge none a.run || fail "gather"
for rank in 0 3; do
    ti-info --dump --rank $rank a.run >exact.$rank
done

size=$(ti-info --merge -q --extras stats a.tib -o exact.ti && stat -c %s exact.ti)
for quality in bound:0.5% bound:5% stats; do
    run 0 ti-info --merge -q --volumes $quality --extras stats a.tib -o q.ti
    [ "$(stat -c %s q.ti)" -lt "$size" ] || fail "$quality is not smaller than $size bytes"
    run 0 ti-info --merge -q --volumes $quality --extras stats a.tib -o q.tib
    for rank in 0 3; do
        ti-info --dump --rank $rank q.ti >dump
        bound=${quality#bound:}
        compare exact.$rank dump "${bound%\%}" || fail "$quality, rank $rank"
        ti-info --dump --rank $rank q.tib | cmp - dump || fail "$quality: a bundle gives other volumes"
    done
    for trace in q.ti q.tib; do
        exact $trace false
        run 0 ti-info $trace
        case $quality in
        stats) says out 'CAVEAT       the volumes of 4 ranks are drawn from statistics' ;;
        *) says out "CAVEAT       the volumes of 4 ranks are not exact: each is within ${bound%\%} %" ;;
        esac
        run 0 ti-info --verify $trace
        says out 'verified: 4 ranks'
        for command in --phases --imbalance --histogram '--rates rates'; do
            # shellcheck disable=SC2086
            run 0 ti-info $command $trace
            says err 'the volumes of 4 ranks are'
            rm -f rates
        done
        run 0 ti-info --rank 3 $trace
        says out 'CAVEAT       the volumes of 1 rank are'
        run 0 ti-info --dump --rank 3 $trace
        says out '# the volumes of 1 rank are'
    done
    # once lost, lost: merging again changes nothing, and neither does a split
    run 0 ti-info --merge -q q.ti -o again.ti
    cmp q.ti again.ti || fail "$quality: merging again"
    run 0 ti-info --split q.tib -o split.run
    ti-info --dump --rank 3 split.run | cmp - dump || fail "$quality: --split"
    run 0 ti-info --verify split.run
    exact split.run false
    run 0 ti-info split.run
    grep -q 'CAVEAT .*volumes of 4 ranks' out || fail "$quality: the split trace says nothing"
    rm -rf q.ti q.tib again.ti split.run
done

# noise above the bound: half of what an exact volume takes is its noise below the bound
mktrace --np 4 --iterations 300 --noise 1000000 --exact loud.run
run 0 ti-info --merge -q loud.run -o loud.ti
size=$(stat -c %s loud.ti)
for rank in 0 3; do
    ti-info --dump --rank $rank loud.run >exact.$rank
done
for bound in 1 5; do
    run 0 ti-info --merge -q --volumes bound:$bound% loud.run -o q.ti
    less=$(stat -c %s q.ti)
    [ $((less * 100)) -lt $((size * (70 - 2 * bound))) ] || fail "within $bound %: $less of $size bytes"
    for rank in 0 3; do
        ti-info --dump --rank $rank q.ti >dump
        compare exact.$rank dump $bound || fail "within $bound %, rank $rank, loud"
    done
    run 0 ti-info --verify q.ti
    run 0 ti-info --dump --rank 3 --at event=700 --count 5 q.ti
    grep -v '^#' dump | sed -n 701,705p | cmp - <(grep -v '^#' out) ||
        fail "within $bound %: --at gives other events"
    rm q.ti
done
for rank in 0 3; do
    ti-info --dump --rank $rank a.run >exact.$rank
done
size=$(stat -c %s exact.ti)

# extra columns: exact without an option
run 0 ti-info --merge -q a.tib -o e.ti
[ "$(stat -c %s e.ti)" -gt "$size" ] || fail "exact durations take no more than statistics"
for trace in a.run a.tib exact.ti e.ti; do
    exact $trace true
done
for trace in exact.ti e.ti; do
    ti-info --dump --rank 3 $trace >dump
    compare exact.3 dump exact || fail "$trace"
done
run 0 ti-info exact.ti
says out 'durations and other extra values of 4 ranks are drawn from statistics'
run 0 ti-info e.ti
grep -q 'drawn from' out && fail "exact durations have a caveat"
for command in --phases --imbalance --histogram; do
    run 0 ti-info "$command" exact.ti
    grep -q 'drawn from' err && fail "$command: a warning of durations, which it does not show"
done
run 0 ti-info --rates rates exact.ti
says err 'durations and other extra values of 4 ranks are drawn from statistics'

run 2 ti-info --merge --volumes bound:60% a.tib -o x.ti
says err "--volumes is exact, stats, or bound:N% with N from 0.0001 to 50, not 'bound:60%'"
run 2 ti-info --volumes stats a.tib
says err '--volumes and --extras are for --merge'
[ -e x.ti ] && fail "wrong use leaves a file"
exit $failed
