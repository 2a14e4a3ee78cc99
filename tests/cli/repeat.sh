#!/bin/bash
# A transformation of merged traces, tests/cli/repeat.c, which uses only views and builders: what it
# makes is the trace of a program whose loop has those trips, is sound, has totals that fit, and is
# simulated.  It refuses what it cannot do.
# shellcheck source=tests/cli/trace-lib.bash
. tests/cli/trace-lib.bash
[ -x "$o/tests/repeat" ] || { echo "$o/tests/repeat was not built"; exit 77; }

# The scripts of a program, whose loop is at site=here, and of the same with its trips repeated.
cat >program.py <<'END'
import random, sys

kind, times, extra = sys.argv[1], int(sys.argv[2]), sys.argv[3]

def call(rank, what, site):
    ns = f" ns={random.randrange(500)}" if extra == "times" else ""
    return f"{rank} {what} site={site} v={random.randrange(1000)}{ns}"

def body(rank, i):  # the field has enough values to be a column
    here = call(rank, f"pcontrol level={i * i}", "here")
    if kind == "nested":  # the loop begins with another one
        return [call(rank, "pcontrol level=3", "inner") for _ in range(3 + i % 3)] + [here]
    if kind == "vectors":
        counts = [1 + i % 2, 2, 3, 4]
        given = ",".join(map(str, counts))
        return [here, call(rank, f"allgatherv bytes={counts[rank]} v0={given}", "all")]
    return [here, call(rank, "barrier", "barrier")]

def repeat(trips, times):
    return [line for trip in trips * times for line in trip]

def program(times):
    for rank in range(4):
        random.seed(rank)
        yield call(rank, "init", "init")
        for o in range(9):
            if kind == "later":  # it does not begin the loop around it
                yield call(rank, "bcast bytes=5 root=1", "bcast")
            for second in range(3 if kind == "deep" else 1):
                trips = 12 + (o + second) % 3 + (rank if kind == "nested" else 0)
                yield from repeat([body(rank, i) for i in range(trips)], times)
                if kind == "deep":
                    yield call(rank, "allreduce bytes=8 redop=sum", "allreduce")
            if kind != "once":
                yield call(rank, "bcast bytes=9 root=0", "bcast2")
            else:
                break
        yield call(rank, "finalize", "end")

print("\n".join(program(times)))
END

for kind in once later first nested deep vectors; do
    for extra in '' times; do
        for times in 1 3; do
            rm -rf was was.m is.m want
            python3 program.py $kind 1 "$extra" | mkscript 4 was || fail "mkscript"
            python3 program.py $kind $times "$extra" | mkscript 4 want || fail "mkscript"
            run 0 ti-info -q --merge --extras exact was -o was.m
            run 0 repeat was.m is.m here $times
            run 0 ti-info --compare want is.m
            run 0 ti-info --dump --call-sites want
            cp out dump
            run 0 ti-info --dump --call-sites is.m
            cmp -s out dump || fail "$kind, $times times, $extra: another dump"
            run 0 ti-info --verify is.m
            for rank in 0 3; do
                run 0 ti-info --json --rank $rank want
                cp out totals
                run 0 ti-info --json --rank $rank is.m
                python3 - <<'END' || fail "$kind, $times times, $extra: other totals"
import json
a, b = (json.load(open(f)) for f in ("totals", "out"))
assert all(a[k] == b[k] for k in ("events", "volume", "hash", "messages", "message_bytes")), (a, b)
END
            done
            [ $times -gt 1 ] || cmp was.m is.m || fail "$kind, $extra: another file"
        done
    done
done

# Messages: events = before + (times - 1) * those of the body, which has 6 of each rank's.
mktrace --iterations 50 --noise 1000 run >/dev/null
run 0 ti-info -q --merge run -o run.m
run 0 repeat run.m is.m app+0x1030 4
run 0 ti-info --verify is.m
says out "verified: 4 ranks, $(python3 -c 'print(f"{4 * (6 + 4 * 50 * 6):,}")') events"
if [ -x "$o/ti-replay" ]; then
    run 0 ti-replay --lint is.m
    if command -v smpirun >/dev/null; then
        for trace in run.m is.m; do
            run 0 ti-replay --json --speed 1Gf $trace
            cp out $trace.json
        done
        python3 - <<'END' || fail "the simulated time does not follow the loop"
import json
was, is_ = (json.load(open(f))["clock_s"] for f in ("run.m.json", "is.m.json"))
print(was, is_)
assert 3.5 < is_ / was < 4.1
END
    fi
fi

# What it cannot do, it refuses.
run 3 repeat run run2.m app+0x1030 2
says err "is not merged"
run 3 repeat run.m is2.m app+0x1010 2
says err "is in no loop, in several, or in one that makes communicators"
run 3 repeat run.m is2.m nowhere 2
says err "no rank has a call from 'nowhere'"
run 0 ti-info -q --merge run --volumes stats -o stats.m
run 3 repeat stats.m is2.m app+0x1030 2
says err "a column is malformed, too long or not exact"
mktrace --plain --bytes 100000 plain >/dev/null
run 0 ti-info -q --merge plain -o plain.m
run 3 repeat plain.m is2.m app+0x1030 2
says err "is the copy of a rank file"
[ ! -e is2.m ] || fail "what was refused was written"
exit $failed
