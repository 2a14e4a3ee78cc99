#!/bin/bash
# ti-info --at of real programs, against what a script of its own makes of ti-info --dump: from any
# event on, the dump is the same, and what came before is what was added up.
# shellcheck source=tests/mpi/lib.sh
. tests/mpi/lib.sh
command -v python3 >/dev/null || skip 'there is no python3'
export OMPI_MCA_osc=${OMPI_MCA_osc:-^rdma} TIARA_TIMES=1 TIARA_QUIET=1
MPIRUN="$(pass TIARA_TIMES) $(pass TIARA_QUIET)"

cat >"$scratch/check.py" <<'PY'
import bisect, itertools, random, re, subprocess, sys

tool, trace, rank, times = sys.argv[1:]
seed = random.randrange(1 << 32)
random.seed(seed)


def info(*words):
    done = subprocess.run([tool, '--rank', rank, *words, trace], capture_output=True, text=True)
    assert done.returncode == 0 and not done.stderr, (seed, words, done)
    lines = done.stdout.split('\n')
    return [line for line in lines[:-1] if not line.startswith('# volumes')]


number = lambda text: int(text.replace(',', ''))
dump = info('--dump')
add = lambda values: list(itertools.accumulate(values))
volume = add(int(line.split()[0]) for line in dump)
ns = add(sum(map(int, re.findall(r' (?:burst|call)_ns=(\d+)', line))) for line in dump)


def check(where, event):
    rest = info('--at', where, '--dump')
    assert rest == dump[event:], (seed, where, event)
    assert info('--at', where, '--dump', '--count', '2') == dump[event:event + 2]
    place = info('--at', where)
    head = re.match(r'rank (\d+), event ([\d,]+) of ([\d,]+)$', place[0])
    assert head[1] == rank and number(head[2]) == event and number(head[3]) == len(dump), place
    assert place[-1] == dump[event]
    sums = dict(line.split(' before ', 1) for line in place if ' before ' in line)
    before = lambda sum: sum[event - 1] if event else 0
    got = re.match(r' *([\d,]+) of ([\d,]+)$', sums['volume'])
    assert [number(got[1]), number(got[2])] == [before(volume), volume[-1]], place
    if times == 'times':
        assert sums['time'].split() == ['%.9f' % (before(ns) / 1e9), 'of', '%.9f' % (ns[-1] / 1e9),
                                        's'], place
    for depth, line in enumerate(place[1:len(place) - 1 - len(sums)]):
        loop = re.match(r'( *)loop at [^:]\S*( \S+)?: trip ([\d,]+) of ([\d,]+)$', line)
        assert loop and len(loop[1]) == 2 * depth, line
        assert 1 <= number(loop[3]) <= number(loop[4]), line
    return len(place) - 2 - len(sums)


deep = 0
for event in {0, 1, len(dump) - 1, *(random.randrange(len(dump)) for _ in range(6))}:
    deep = max(deep, check('event=%d' % event, event))
    # The first event that reaches a sum; several may, without a volume of their own.
    value = max(0, volume[event] - random.randrange(2))
    check('volume=%d' % value, bisect.bisect_left(volume, value))
    if times == 'times':
        check('time=%.9f' % (ns[event] / 1e9), bisect.bisect_left(ns, ns[event]))
check('volume=0', 0)
print('ok', len(dump), 'events, loops', deep, 'deep')
PY

# check_program NP PROGRAM ARGUMENT...: trace it, and compare.
check_program() {
    local np=$1 program=$2 rank
    dir=$(mktemp -d "$scratch/XXXXXX")
    shift 2
    trace "$dir/trace" "$np" cputime "$program" "$@" >"$dir/log" 2>&1 ||
        { fail "$program: $(head -n 5 "$dir/log")"; return; }
    for rank in 0 $((np - 1)); do
        python3 "$scratch/check.py" "$TI_BUILD/ti-info" "$dir/trace" $rank times >"$dir/found" 2>&1 ||
            fail "$program, rank $rank: $(tail -n 4 "$dir/found")"
        echo "# ${program##*/}, rank $rank: $(cat "$dir/found")"
    done
}
check_program 4 "$examples/lu" S 10
check_program 4 "$examples/multigrid"
check_program 3 "$examples/amr" 8 40
check_program 4 "$examples/master_worker"
mkdir "$scratch/windows"
[ "$MPI" = mpich ] || check_program 3 "$built/rma" all "$scratch/windows"

# A merged trace is not read: places are the same.
"$TI_BUILD/ti-info" --merge --extras exact "$dir/trace" -o "$dir/merged" >"$dir/log" 2>&1 ||
    fail "merge: $(cat "$dir/log")"
python3 "$scratch/check.py" "$TI_BUILD/ti-info" "$dir/merged" 1 times >"$dir/found" 2>&1 ||
    fail "a merged trace: $(tail -n 4 "$dir/found")"
echo "# merged: $(cat "$dir/found")"

# Beyond the end, no place at all, and no durations.
TIARA_TIMES=0 trace "$dir/without" 2 cputime "$examples/ring" 10 8 100 >"$dir/log" 2>&1 || fail ring
# refuses STATUS TEXT OPTION...
refuses() {
    local want=$1 text=$2
    shift 2
    "$TI_BUILD/ti-info" "$@" "$dir/without" >"$dir/out" 2>"$dir/err"
    [ $? -eq "$want" ] || fail "not status $want: $*"
    [ -s "$dir/out" ] && fail "prints: $*"
    grep -qF -- "$text" "$dir/err" || { fail "does not say '$text': $*"; cat "$dir/err"; }
}
refuses 3 'rank 1 has 22 events; the first is number 0' --rank 1 --at event=22
refuses 3 'rank 0 has a volume of ' --rank 0 --at volume=1e18
refuses 3 'rank 0 has no durations' --rank 0 --at time=1
for where in volume event=-1 event=1x time= place=1 volume=1e30; do
    refuses 2 "--at '$where' is none of event=N, volume=N, time=SECONDS" --rank 0 --at $where
done
refuses 2 '--at needs --rank' --at event=1
refuses 2 '--at is for --dump, or alone' --rank 0 --at event=1 --traffic
refuses 2 '--count is for --dump' --rank 0 --count 3
finish
