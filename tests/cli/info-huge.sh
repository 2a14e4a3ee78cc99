#!/bin/bash
# Merged traces of few bytes with 2^38 trips of a loop: all that sums up does not read them, and says
# what reading the same program's rank files would say.
# shellcheck source=tests/cli/trace-lib.bash
. tests/cli/trace-lib.bash

n=1003 big=$((1 << 38))

# same VIEW A B: `ti-info VIEW --json` says the same of two traces; numbers with decimals up to rounding
same() {
    run 0 ti-info $1 --json "$2"
    cp out first
    run 0 ti-info $1 --json "$3"
    python3 - "$1 $2 $3" <<'END' || failed=1
import json, sys

def same(a, b, at):
    if isinstance(a, float) or isinstance(b, float):
        return abs(a - b) <= 1e-9 * max(abs(a), abs(b))
    if type(a) is not type(b):
        fine = False
    elif isinstance(a, dict):
        # but for where traces are, and what they take
        other = {"path", "kind", "bytes", "bytes_per_event", "bytes_per_action"}
        keys = (a.keys() | b.keys()) - (other if at in ("", ".per_rank") else set())
        fine = keys <= a.keys() and keys <= b.keys()
        if fine:
            return all([same(a[k], b[k], f"{at}.{k}") for k in sorted(keys)])
    elif isinstance(a, list):
        return len(a) == len(b) and all(same(x, y, f"{at}[]") for x, y in zip(a, b))
    else:
        fine = a == b
    if not fine:
        print(f"{sys.argv[1]}: {at}: {a} and {b}")
    return fine

if not same(json.load(open("first")), json.load(open("out")), ""):
    sys.exit("FAILED: other values: " + sys.argv[1])
END
}

for times in '' --times; do
    t=run$times
    # shellcheck disable=SC2086
    mktrace --iterations $n $times "$t" >/dev/null
    run 0 ti-info -q --merge "$t" --extras exact -o "$t.m"
    stretch "$t.m" "$t.big" $n $big || fail "stretch"
    [ "$(stat -c %s "$t.big")" -lt 1500 ] || fail "$t.big is not small"
    for view in '' '--rank 1' --traffic --histogram ${times:+"--rates rates"}; do
        rm -f rates
        same "$view" "$t" "$t.m"
        rm -f rates
        run 0 ti-info $view --json "$t.big"
        rm -f rates
        run 0 ti-info $view "$t.big"
    done
    run 0 ti-info --json "$t.big"
    python3 - $big $n <<'END' || failed=1
import json, sys

trips, n = int(sys.argv[1]), int(sys.argv[2])
out = json.load(open("out"))
ops = out["operations"]
assert int(out["events"]) == 4 * 6 + 6 * 4 * trips, out["events"]
assert int(ops["allreduce"]["events"]) == 4 * trips, ops
assert int(ops["allreduce"]["bytes"]) == 4 * 40 * trips, ops
# isend: 1000, 2000, ... n * 1000 bytes, and that again in all further trips; 3 ranks send
assert int(ops["isend"]["bytes"]) == 3 * 1000 * (n * (n + 1) // 2 + n * (trips - n)), ops
END
done

# a view of the whole trace, as of the columns of rank files, also with noise and histograms
mktrace --iterations 300 --noise 5000 --times noise >/dev/null
run 0 ti-info -q --merge noise --volumes stats -o noise.stats
run 0 ti-info -q --split noise.stats -o noise.split
for view in '' --histogram '--rates rates'; do
    rm -f rates
    same "$view" noise.stats noise.split
done

# a comparison says where merged traces differ as it says where rank files do
for change in 0:500 3:1002 2:0; do
    mktrace --iterations $n --change $change change >/dev/null
    run 0 ti-info -q --merge change -o change.m
    for options in '' --no-volumes '--tolerance 2'; do
        run 1 ti-info --compare run $options change
        head -n 4 out | sed 's/^  [a-z.]*: //' >files
        run 1 ti-info --compare run.m $options change.m
        head -n 4 out | sed 's/^  [a-z.]*: //' | cmp - files || fail "--compare $options, $change"
        run 1 ti-info --json --compare run $options change
        mv out files
        run 1 ti-info --json --compare run.m $options change.m
        python3 -c '
import json
a, b = (json.load(open(f))["changes"] for f in ("files", "out"))
assert a == b and (a["sites"] or "all" in a), (a, b)' || fail "changes, $options, $change"
    done
    rm -r change change.m
done
stretch run.m run.other $n $big 3000 3005 || fail "stretch" # its hash is that of run.big
run 0 ti-info --compare run.big --no-volumes run.big
run 1 ti-info --compare run.big --tolerance 4 run.other
says out "rank 0 differs at event 7:"
run 0 ti-info --compare run.big --no-volumes run.other
run 0 ti-info --compare run.big --tolerance 5 run.other
says out "equal: 4 ranks, $(python3 -c "print(f'{24 + 24 * $big:,}')") events"

# all qualities; what is too long keeps the quality that it has
for quality in exact stats bound:1%; do
    rm -f merged
    run 0 ti-info -q --merge run--times.big --volumes $quality --extras $quality -o merged
    [ $quality = exact ] || says err "4 ranks have more than 1073741824 events"
    run 0 ti-info --compare run--times.big --tolerance 0 merged
    run 0 ti-info --dump --count 9 --rank 1 merged
done

# a dump of so many events says so
ti-info --dump --rank 0 run.big 2>err | head -n 3 >out
says err "rank 0 has $(python3 -c "print(f'{6 + 6 * $big:,}')") events to print"

# sums above 2^64 - 1 are not shown
stretch run.m run.over $n $big 40 0x1000000000 || fail "stretch"
run 3 ti-info run.over
says err 'more than 2^64 - 1'
for view in --traffic --histogram '--compare run'; do
    # shellcheck disable=SC2086  # an option and its argument
    run 3 ti-info $view run.over
    says err 'more than 2^64 - 1'
done

# ti-replay --lint and --verify
mktrace --plain --iterations $n plain >/dev/null
run 0 ti-info -q --merge plain -o plain.m
stretch plain.m plain.big $n $big || fail "stretch"
run 0 ti-info --verify plain.big
if [ -x "$o/ti-replay" ]; then
    run 0 ti-replay --lint plain.big
    says out "plain.big can be replayed"
fi
# with non-blocking receives that have wildcards
stretch run--times.m huge $n $((1 << 40)) || fail "stretch"
run 0 ti-info --verify huge
if [ -x "$o/ti-replay" ]; then
    run 0 ti-replay --lint huge
    says out "huge can be replayed"
fi

exit $failed
