#!/bin/bash
# Causes: who waits for whom, the critical path and its composition, against closed forms; and the
# sensitivities against a second replay.
# shellcheck source=tests/mpi/lib.sh
. tests/mpi/lib.sh
command -v smpirun >/dev/null || skip 'there is no smpirun'
o=$TI_BUILD
[ -x "$o/ti-smpi-replay" ] || skip 'ti-smpi-replay was not built'
cd "$scratch" || exit 1
# A message takes the latency of two links, and its bytes and SMPI's envelope of 16 at 100 MB/s.
# Messages in the other direction do not matter.
plain=(--bandwidth 100MBps --latency 1ms --cfg smpi/bw-factor:0:1 --cfg smpi/lat-factor:0:1
    --cfg network/TCP-gamma:1e12 --cfg network/crosstraffic:no)
replay() { "$o/ti-replay" --no-progress "$@" >out 2>err; }
causes() { replay "$1" --causes --profile --json "${plain[@]}" "${@:2}" || { fail "$*"; cat err; }; }
made() { # NAME, action files of each rank on stdin, each after a line "rank"
    rm -f "$1".[0-9]*
    awk -v name="$1" '$1 == "rank" { n++; next } { print > name "." n - 1 }' &&
        ls "$1".[0-9]* | sort -V >"$1.list" && rm -rf "$1" && "$o/ti-convert" -q --from simgrid "$1.list" -o "$1" ||
        fail "$1 was not made"
}
# json PYTHON: with the result in `j`; an assertion that fails is a failure.
json() {
    python3 -c "
import json
j = json.load(open('out'))
c, path, T = j['causes'], j['causes']['path'], j['clock_s']
L = 2e-3
def B(bytes): return (bytes + 16) / 100e6
def near(a, b, least=2e-8): assert abs(a - b) <= least, (a, b, path)
def on(rank, key): return sum(x[key + '_s'] for x in c['ranks'] if x['rank'] == rank)
def composed(**want):
    for key in ('computing', 'latency', 'bandwidth', 'overhead', 'contention', 'start'):
        near(path[key + '_s'], want.get(key, 0), 4e-8)
def waits(rank, other, doing): return sum(x['seconds'] for x in j['profile']['waits'] if (x['rank'], x['for'], x['doing']) == (rank, other, doing))
# The parts add up, whichever way.
near(sum(v for k, v in path.items() if k != 'collective_s'), T, 1e-12 + 1e-12 * T); near(c['time_s'], T, 1e-12)
for table in ('ranks', 'sites'):
    for key in path: near(sum(x[key] for x in c[table]), path[key], 1e-12 + 1e-12 * T)
for key in path: near(sum(x[key] for x in c['loops'] if x['depth'] == 0), path[key] if c['loops'] else 0, 1e-12 + 1e-12 * T)
for rank, x in enumerate(j['profile']['ranks']):
    near(sum(w['seconds'] for w in j['profile']['waits'] if w['rank'] == rank), x['waiting_s'], 1e-9)
gains = [x['at_most_s'] for x in c['helps']]
assert gains == sorted(gains, reverse=True) and len(gains) <= 10 and all(0 < x <= T * (1 + 1e-12) for x in gains), gains
$1" || fail "${2:-$1}"
}

# ---- messages ----

# A late sender.
made sender <<'E'
rank
0 init
0 compute 1e9
0 send 1 0 1000 6
0 finalize
rank
1 init
1 compute 25e7
1 recv 0 0 1000 6
1 finalize
E
causes sender
json "
composed(computing=1, latency=L, bandwidth=B(1000))
near(on(0, 'computing'), 1); near(on(1, 'latency'), L); assert c['last_rank'] == 1
near(waits(1, 0, 'computing'), 0.75); assert len(j['profile']['waits']) == 1" 'late sender'

# A late receiver, of a message that waits for it.
made receiver <<'E'
rank
0 init
0 send 1 0 1000000 6
0 compute 1e9
0 finalize
rank
1 init
1 compute 2e9
1 recv 0 0 1000000 6
1 finalize
E
causes receiver
json "
composed(computing=3, latency=L, bandwidth=B(1000000))
near(on(1, 'computing'), 2); near(on(0, 'computing'), 1); near(waits(0, 1, 'computing'), 2)
assert c['last_rank'] == 0" 'late receiver'

# An eager message: the sender goes on, and the path stays with the receiver, which is later.
made eager <<'E'
rank
0 init
0 send 1 0 1000 6
0 compute 1e9
0 finalize
rank
1 init
1 compute 2e9
1 recv 0 0 1000 6
1 finalize
E
causes eager
json "
composed(computing=2, latency=L, bandwidth=B(1000)); near(on(1, 'computing'), 2)
assert not j['profile']['waits'] and [x['rank'] for x in c['ranks']] == [1]" 'an eager message'

# A message that is sent before its receive is posted has come by then, or has not.
causes eager --cfg smpi/async-small-thresh:65536
json "composed(computing=2)" 'a message that has come'
made early <<'E'
rank
0 init
0 compute 1e9
0 send 1 0 1000 6
0 finalize
rank
1 init
1 compute 1001e6
1 recv 0 0 1000 6
1 finalize
E
causes early --cfg smpi/async-small-thresh:65536
json "composed(computing=1, latency=L, bandwidth=B(1000)); near(on(0, 'computing'), 1)
assert not j['profile']['waits']" 'a message under way'

# Ping-pong, 10 times; then with overheads of sending and receiving.
{
    for rank in 0 1; do
        printf 'rank\n%d init\n' $rank
        for _ in 1 2 3 4 5 6 7 8 9 10; do
            [ $rank -eq 0 ] && printf '0 send 1 0 5000 6\n0 recv 1 0 5000 6\n'
            [ $rank -eq 1 ] && printf '1 recv 0 0 5000 6\n1 send 0 0 5000 6\n'
        done
        printf '%d finalize\n' $rank
    done
} | made pingpong
causes pingpong
json "composed(latency=20 * L, bandwidth=20 * B(5000))
near(c['sensitivities']['latency_s'], 20 * L, 4e-8); near(c['sensitivities']['bandwidth_s'], -20 * B(5000), 4e-8)
assert c['sensitivities']['speed_s'] == 0" 'ping-pong'
causes pingpong --cfg smpi/os:0:1e-3:1e-8 --cfg smpi/or:0:2e-3:0
json "composed(latency=20 * L, bandwidth=20 * B(5000), overhead=20 * (1e-3 + 5e-5 + 2e-3))" 'overheads'

# A ring of 8 ranks, each of which computes before it sends.
{
    for rank in 0 1 2 3 4 5 6 7; do
        printf 'rank\n%d init\n' $rank
        [ $rank -gt 0 ] && printf '%d recv %d 0 2000 6\n' $rank $((rank - 1))
        printf '%d compute 1e8\n%d send %d 0 2000 6\n' $rank $rank $(((rank + 1) % 8))
        [ $rank -eq 0 ] && printf '0 recv 7 0 2000 6\n'
        printf '%d finalize\n' $rank
    done
} | made ring
causes ring
json "
composed(computing=0.8, latency=8 * L, bandwidth=8 * B(2000))
for rank in range(8): near(on(rank, 'computing'), 0.1)
assert c['last_rank'] == 0
# Rank 2 waits for rank 1, which waits itself, for rank 0, and then computes.
near(waits(2, 1, 'computing'), 0.1); near(waits(2, 1, 'waiting'), 0.1); near(waits(2, 1, 'communicating'), L + B(2000))
assert {x['third'] for x in j['profile']['waits'] if x['rank'] == 2 and x['doing'] == 'waiting'} == {0}" ring

# A pipeline of 4 ranks and 20 pieces of work, of which rank 2 is the slow one.
{
    for rank in 0 1 2 3; do
        printf 'rank\n%d init\n' $rank
        for _ in {1..20}; do
            [ $rank -gt 0 ] && printf '%d recv %d 0 100 6\n' $rank $((rank - 1))
            printf '%d compute %d\n' $rank $((rank == 2 ? 50000000 : 10000000))
            [ $rank -lt 3 ] && printf '%d send %d 0 100 6\n' $rank $((rank + 1))
        done
        printf '%d finalize\n' $rank
    done
} | made pipeline
causes pipeline
# A message starts when its receive is posted, so rank 2 receives each piece after the one before.
json "
composed(computing=3 * 0.01 + 20 * 0.05, latency=22 * L, bandwidth=22 * B(100))
near(on(2, 'computing'), 1)
mean = (1 + 3 * 0.2) / 4
near(next(x['at_most_s'] for x in c['helps'] if x['what'] == 'balance'), 1 - mean)" pipeline

# A non-blocking receive: what is computed meanwhile is not on the path if the message takes longer.
made overlap <<'E'
rank
0 init
0 irecv 1 0 1000000 6
0 compute 5e6
0 wait 1 0 0
0 compute 1e6
0 finalize
rank
1 init
1 send 0 0 1000000 6
1 finalize
E
causes overlap
json "composed(computing=0.001, latency=L, bandwidth=B(1000000))" overlap
causes overlap --speed 100Mf
json "composed(computing=0.06)" 'overlap that hides the message'

# The last message that a wait for several needed.
made several <<'E'
rank
0 init
0 irecv 1 0 1000 6
0 irecv 2 0 1000 6
0 waitall 2
0 finalize
rank
1 init
1 compute 2e9
1 send 0 0 1000 6
1 finalize
rank
2 init
2 compute 1e9
2 send 0 0 1000 6
2 finalize
E
causes several
json "composed(computing=2, latency=L, bandwidth=B(1000)); near(on(1, 'computing'), 2); near(waits(0, 1, 'computing'), 2)" 'a wait for several'

# Two messages share the link of a host: each takes twice as long as alone.
made shared <<'E'
rank
0 init
0 send 2 0 1000000 6
0 finalize
rank
1 init
1 send 3 0 1000000 6
1 finalize
rank
2 init
2 recv 0 0 1000000 6
2 finalize
rank
3 init
3 recv 1 0 1000000 6
3 finalize
E
causes shared --ranks-per-host 2
json "
composed(latency=L, bandwidth=B(1000000), contention=B(1000000))
near(c['sensitivities']['bandwidth_s'], -2 * B(1000000))" contention

# A job that starts later.
causes sender --start 2s
json "composed(start=2, computing=1, latency=L, bandwidth=B(1000))" 'a late start'

# ---- collectives: to the last rank that counts ----

# A barrier each step; another rank is slow in each.
{
    for rank in 0 1 2 3; do
        printf 'rank\n%d init\n' $rank
        for step in 0 1 2 3 4 5 6 7; do
            printf '%d compute %d\n%d barrier\n' $rank $((step % 4 == rank ? 30000000 : 10000000)) $rank
        done
        printf '%d finalize\n' $rank
    done
} | made barrier
causes barrier
json "
near(path['computing_s'], 8 * 0.03); near(path['collective_s'], T - 8 * 0.03)
near(path['latency_s'] + path['bandwidth_s'], path['collective_s']); assert path['contention_s'] == 0
for rank in range(4): near(on(rank, 'computing'), 2 * 0.03)" barrier

# A broadcast from a late root, and a reduction to a root that waits for a late rank.
made roots <<'E'
rank
0 init
0 compute 1e9
0 bcast 100 0
0 reduce 100 0 0
0 finalize
rank
1 init
1 compute 2e9
1 bcast 100 0
1 reduce 100 0 0
1 finalize
rank
2 init
2 bcast 100 0
2 compute 3e9
2 reduce 100 0 0
2 finalize
E
causes roots
json "
# Rank 2 waits for the root, and the root for rank 2, not for rank 1.
near(path['computing_s'], 4); near(on(0, 'computing'), 1); near(on(2, 'computing'), 3); assert c['last_rank'] == 0
near(waits(2, 0, 'computing'), 1); assert waits(1, 0, 'computing') == 0
assert waits(0, 2, 'computing') > 2.9 and all(x['rank'] != 1 for x in j['profile']['waits'])" roots

# ---- loops: of a merged trace ----

# In the first loop, rank 0 computes and sends.  In the second one, rank 1 computes three pieces and
# sends each, and rank 0 computes and answers.
{
    printf 'rank\n0 init\n'
    for _ in {1..10}; do printf '0 compute 3e7\n0 send 1 0 1000 6\n'; done
    for _ in {1..20}; do
        printf '0 recv 1 1 2000 6\n0 recv 1 1 2000 6\n0 recv 1 1 2000 6\n'
        printf '0 compute 2e7\n0 send 1 2 100 6\n'
    done
    printf '0 compute 1e8\n0 finalize\n'
    printf 'rank\n1 init\n'
    for _ in {1..10}; do printf '1 compute 1e7\n1 recv 0 0 1000 6\n'; done
    for _ in {1..20}; do
        for _ in 1 2 3; do printf '1 compute 5e6\n1 send 0 1 2000 6\n'; done
        printf '1 recv 0 2 100 6\n'
    done
    printf '1 finalize\n'
} | made loops
causes loops
json "composed(computing=0.3 + 20 * 0.035 + 0.1, latency=40 * L, bandwidth=B(1000) + 20 * B(2000) + 19 * B(100))
assert c['loops'] == []" 'a trace without loops'
"$o/ti-info" --merge loops -o loops.tib >/dev/null 2>&1 || fail '--merge'
causes loops.tib
json "
def loop(rank, name): return next(x for x in c['loops'] if x.get('name') == name and x['ranks'] == [[rank, rank]])
def took(x, **want):
    for key in ('computing', 'latency', 'bandwidth', 'overhead', 'contention', 'start'):
        near(x[key + '_s'], want.get(key, 0), 4e-8)
    near(x['time_s'], sum(want.values()), 1e-7)
# Without call sites, loops of two ranks are not taken for the same.
assert [(x['depth'], x.get('name'), x['ranks']) for x in c['loops']] == [
    (0, 'send[1]', [[0, 0]]), (0, 'recv^', [[0, 0]]), (1, 'recv', [[0, 0]]),
    (0, 'recv[1]', [[1, 1]]), (0, 'send^', [[1, 1]]), (1, 'send', [[1, 1]]), (0, None, [[0, 0]])], c['loops']
took(loop(0, 'send[1]'), computing=0.3)
took(loop(1, 'recv[1]'), latency=L, bandwidth=B(1000))
took(loop(0, 'recv^'), computing=20 * 0.02, latency=20 * L, bandwidth=20 * B(2000))
took(loop(0, 'recv'), latency=20 * L, bandwidth=20 * B(2000))
took(loop(1, 'send^'), computing=20 * 0.015, latency=19 * L, bandwidth=19 * B(100))
took(loop(1, 'send'), computing=20 * 0.015)
took(c['loops'][-1], computing=0.1)" 'two loops'

# ---- real programs: the same time, and sensitivities ----

step=1.01   # of each value, for a second replay
most=0.0005 # of the time: the predicted and the real change differ by less
# With exact volumes, the traces are the same on a busy machine.
counter=cputime programs=$o/examples
[ "$MPI" = openmpi ] && [ -x "$o/blocks/stencil" ] && counter=blocks programs=$o/blocks
for run in cg:8 lu:8:S:10 stencil:6:48:10; do
    IFS=: read -r name np a b <<<"$run"
    # shellcheck disable=SC2086  # words are meant
    trace "$scratch/$name" "$np" $counter "$programs/$name" $a $b >traced 2>&1 || { fail "$name"; tail -n 3 traced; }
    python3 - "$o/ti-replay" "$name" $step $most <<'E' || fail "$name"
import json, math, subprocess, sys
program, trace, step, most = sys.argv[1], sys.argv[2], float(sys.argv[3]), float(sys.argv[4])
base = {'speed': 2e9, 'latency': 2e-6, 'bandwidth': 1e9}
units = {'speed': 'f', 'latency': 's', 'bandwidth': 'Bps'}
def run(*more, **values):
    words = [f'--{k}={v:.12g}{units[k]}' for k, v in (base | values).items()]
    return json.loads(subprocess.run([program, trace, '--no-progress', '--json', *more, *words],
                                     stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True).stdout)
plain, j = run(), run('--causes', '--profile')
assert plain['clock_s'] == j['clock_s'], (plain['clock_s'], j['clock_s'])
c, T = j['causes'], j['clock_s']
assert abs(sum(v for k, v in c['path'].items() if k != 'collective_s') - T) < 1e-12, c['path']
for rank, x in enumerate(j['profile']['ranks']):
    waited = sum(w['seconds'] for w in j['profile']['waits'] if w['rank'] == rank)
    assert abs(waited - x['waiting_s']) < 1e-9, (rank, waited, x)
for key, value in base.items():
    real = run(**{key: value * step})['clock_s'] - T
    predicted = c['sensitivities'][key + '_s'] * math.log(step)
    print(f'{trace}: {key}: {100 * real / T:+.4f} %, predicted {100 * predicted / T:+.4f} %')
    assert abs(real - predicted) < most * T, (key, real, predicted, T)
E
done

# The ranks of lu have different loops; those around the same calls are one, as ti-info names it.
"$o/ti-info" --merge lu -o lu.tib >/dev/null 2>&1 || fail '--merge lu'
"$o/ti-info" --phases lu.tib >phases 2>&1 || fail '--phases'
replay lu.tib --causes --json || { fail 'the loops of lu'; cat err; }
python3 - <<'E' || fail 'the loops of lu'
import json, re
c = json.load(open('out'))['causes']
names = set(re.findall(r'loop .*{  # (.*)', open('phases').read()))
shapes = int(re.search(r'(\d+) shapes', open('phases').read())[1])
assert shapes > 1 and names and all(x['name'] in names for x in c['loops'][:-1]), (shapes, names, c['loops'])
outer = [x for x in c['loops'][:-1] if x['depth'] == 0]
assert len({x['name'] for x in outer}) == len(outer), outer
ranks = [sum(last - first + 1 for first, last in x['ranks']) for x in outer]
most = max(outer, key=lambda x: x['time_s'])
assert most['time_s'] > 0.5 * c['time_s'] and max(ranks) > 1, outer
E

# ---- for people ----

replay cg --causes || { fail 'for people'; cat err; }
grep -q '^critical path, to the end of rank [0-9]' out && grep -q '^  MPI overhead ' out &&
    grep -q '^what would help most' out || { fail 'for people'; cat out; }
[ "$(sed -n '/^what would help/,$p' out | wc -l)" -le 11 ] || { fail 'more than ten'; cat out; }
! grep -q '^share of the time' out || fail '--causes prints the profile'
"$o/ti-info" --help | grep -q 'without libdw' || grep -q '(.* cg.c:[0-9]*), ranks\? ' out || { fail 'no source lines'; cat out; }
replay lu.tib --causes --width 80 || fail 'loops for people'
sed -n '/ of path /,/^$/p' out | awk 'length > 80 { print; bad = 1 } END { exit bad || NR < 4 }' && grep -q '%.* outside of loops$' out ||
    { fail 'loops for people'; cat out; }
replay cg --causes --profile --width 80 || fail 'with the profile'
sed -n '/^seconds of waiting/,$p' out | awk 'length > 80 { print; bad = 1 } NR > 5 { seen = 1 } END { exit bad || !seen }' ||
    { fail 'wider than 80 columns, or empty'; cat out; }

# ---- refused ----

refuses() { # TEXT ARGUMENT...
    local says=$1
    shift
    replay "$@"
    { [ $? -eq 2 ] && grep -q -e "$says" err; } || { fail "$*"; cat err; }
}
refuses '--causes needs --engine tiara' cg --causes --engine stock
refuses '--causes needs --wildcards matched' cg --causes --wildcards any
finish
