#!/bin/bash
# Results of ti-replay beside the time: shares of ranks, operations, call sites, links, timelines;
# and several jobs in one simulation.
# shellcheck source=tests/mpi/lib.sh
. tests/mpi/lib.sh
command -v smpirun >/dev/null || skip 'there is no smpirun'
o=$TI_BUILD
[ -x "$o/ti-smpi-replay" ] || skip 'ti-smpi-replay was not built'
cd "$scratch" || exit 1
replay() { "$o/ti-replay" --no-progress "$@" >out 2>err; }
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
def near(a, b, least=1e-9): assert abs(a - b) <= least, (a, b)
def r(rank, key): return j['profile']['ranks'][rank][key + '_s']
$1" || fail "${2:-$1}"
}

# ---- who waits for whom, to the last digit of what is known ----

# A late sender: rank 1 waits a second.  A late receiver of a message that is not eager: rank 0 waits
# two.  An eager message: rank 0 does not wait for the receiver, which is 4 seconds late.
made late <<'E'
rank
0 init
0 compute 1e9
0 send 1 0 1000 2
0 send 1 0 1000000 2
0 send 1 0 1000 2
0 finalize
rank
1 init
1 recv 0 0 1000 2
1 compute 2e9
1 recv 0 0 1000000 2
1 compute 4e9
1 recv 0 0 1000 2
1 finalize
E
replay late --json --profile || { fail late; cat err; }
json "
near(r(0, 'computing'), 1); near(r(1, 'computing'), 6)
near(r(1, 'waiting'), 1, 1e-4)
near(r(0, 'waiting'), 2, 3e-3)
for rank in j['profile']['ranks']: assert rank['communicating_s'] < 0.02
near(sum(r(1, k) for k in ('computing', 'communicating', 'waiting')), j['clock_s'])" 'late partners'

# Operations without a call site are not put together.
json "assert {(x['operation'], x['calls']) for x in j['profile']['sites']} >= {('recv', 3), ('send', 3)}" 'no call sites'
replay late --profile
[ "$(grep -c '^[a-z]* of all ranks' out)" -eq 1 ] || { fail 'a table of no call sites'; cat out; }

# A converted trace may have any call site.
made quoted <<'E'
rank
0 init
0 location "a,b".c 1
0 barrier
0 finalize
E
replay quoted --timeline quoted.csv || { fail quoted; cat err; }
python3 -c "
import csv
assert [x['site'] for x in csv.DictReader(open('quoted.csv')) if x['state'] == 'barrier'] == ['\"a,b\".c:1']" || fail 'quotes in a timeline'

# smpirun takes names that a shell would quote, split or expand.
for name in "it's" 'a b' 'a*[b]?' 'a(b)' $'a\\b' 'ä~#'; do
    cp -r late "$name"
    replay "$name" --json --profile --timeline "$name.csv" || { fail "a trace named $name"; cat err; }
    json "near(r(1, 'waiting'), 1, 1e-4)" "the result of $name"
    grep -q ',recv,' "$name.csv" || fail "the timeline of $name"
done

# A name that JSON cannot hold does not take the result with it.
cp -r late $'no\xffUTF-8'
replay $'no\xffUTF-8' --json || { fail 'a trace whose name is no UTF-8'; cat err; }
json "assert j['trace'] == 'no?UTF-8' and j['clock_s'] > 7" 'a name that is no UTF-8'
"$o/ti-convert" -q --json --to dimemas --times $'no\xffUTF-8' -o dimemas >out 2>err
json "assert j['input'] == 'no?UTF-8' and 'error' in j" 'ti-convert of a name that is no UTF-8'
replay nowhere --json
json "assert 'engine' not in j" 'an engine without a trace'

# All options hold for the points of a sweep; --cfg wins over --collectives.
replay late --sweep speed=1Gf,2Gf --links -o study --json || { fail study; cat err; }
json "assert j['common'].get('links') or all(x['result']['links'] for x in j['points'])" 'links of a sweep'
replay late --collectives tree --cfg smpi/allreduce:lr --keep tree
sed 's/.*smpi.allreduce://' tree/command | grep -q "^lr'" || { fail 'collectives by --cfg'; cat tree/command; }

# All wait for rank 2 in an allreduce, for the root in a broadcast; at a reduction only the root
# waits; and who comes last does not wait.
made meet <<'E'
rank
0 init
0 allreduce 8 0
0 bcast 8 2
0 reduce 8 0 0
0 finalize
rank
1 init
1 allreduce 8 0
1 bcast 8 2
1 reduce 8 0 0
1 finalize
rank
2 init
2 compute 1e9
2 allreduce 8 0
2 compute 2e9
2 bcast 8 2
2 compute 4e9
2 reduce 8 0 0
2 finalize
E
replay meet --json --profile || { fail meet; cat err; }
json "
near(r(0, 'waiting'), 7, 2e-3); near(r(1, 'waiting'), 3, 2e-3); near(r(2, 'waiting'), 0, 1e-3)
by = {x['operation']: x for x in j['profile']['operations']}
near(by['allreduce']['waiting_s'], 2, 1e-3); near(by['bcast']['waiting_s'], 4, 2e-3)
near(by['reduce']['waiting_s'], 4, 2e-3); assert by['allreduce']['calls'] == 3" 'collectives'

"$o/ti-info" --help >help
# Real programs: nothing is lost, and the time is the same to the last digit.
for run in cg:8 lu:8:S:3 master_worker:5 stencil:6:48:10 hybrid:2; do
    IFS=: read -r name np a b <<<"$run"
    # shellcheck disable=SC2086  # words are meant
    trace "$scratch/$name" "$np" cputime "$o/examples/$name" $a $b >out 2>&1 || { fail "$name"; tail -n 3 out; }
    replay "$name" --json && cp out plain
    replay "$name" --json --profile --links --timeline "$name.csv" || { fail "$name --profile"; cat err; }
    json "
plain = json.load(open('plain'))
assert plain['clock_s'] == j['clock_s'], (plain['clock_s'], j['clock_s'])
p = j['profile']
keys = ('computing_s', 'communicating_s', 'waiting_s')
for rank in p['ranks']:
    for k in keys: assert rank[k] >= 0, rank
for k in keys + ('calls',):
    sums = [sum(x[k] for x in p[table]) for table in ('ranks', 'operations', 'sites')]
    near(sums[0], sums[1], 1e-6); near(sums[0], sums[2], 1e-6)
near(max(sum(rank[k] for k in keys) for rank in p['ranks']), j['clock_s'], 1e-6)
assert sum(x['calls'] for x in p['operations']) == j['events']
import csv
spent = [0] * j['np']; waited = [0] * j['np']; last = 0
for row in csv.DictReader(open('$name.csv')):
    start, end = float(row['start_s']), float(row['end_s'])
    assert start <= end and last <= end, row
    last = end
    spent[int(row['rank'])] += end - start
    waited[int(row['rank'])] += float(row['waiting_s'])
for rank in range(j['np']):
    near(spent[rank], sum(p['ranks'][rank][k] for k in keys), 1e-6)
    near(waited[rank], p['ranks'][rank]['waiting_s'], 1e-6)
assert all(a['use'] >= b['use'] for a, b in zip(j['links'], j['links'][1:]))" "$name: the profile"
    # Call sites have the names that ti-info gives them.
    "$o/ti-info" --phases --json "$name" >phases || fail "$name: phases"
    json "
import csv
known = {}
def walk(body):
    for node in body:
        if node.get('site'): known[node['site']] = [node[k] for k in ('function', 'file', 'line')]
        walk(node.get('body', []))
for shape in json.load(open('phases'))['shapes']: walk(shape['body'])
found = 0
for x in j['profile']['sites']:
    names = [x[k] for k in ('function', 'file', 'line')]
    assert names == known.get(x['site'], [None] * 3), x
    found += names[1] is not None
assert found or 'without libdw' in open('help').read(), 'no names'
for x in csv.DictReader(open('$name.csv')):
    assert [x[k] for k in ('function', 'file', 'line')] == \\
        ['' if v is None else str(v) for v in known.get(x['site'], [None] * 3)], x" "$name: source lines"
done
replay cg --profile --links || fail 'for people'
grep -q '^  computing  *[0-9.]* %' out && grep -q '^  allreduce ' out && grep -q ' nodes_link_0_UP$' out ||
    { fail 'for people'; cat out; }

# ---- loops ----

# A loop of ten trips of 0.25 s and of five times 0.1 s, after two seconds: rank 0 computes, and rank 1
# waits for it.
{
    echo rank
    echo '0 init'
    echo '0 compute 2e9'
    echo '0 allreduce 8 0'
    for ((i = 0; i < 10; i++)); do
        for ((k = 0; k < 5; k++)); do printf '0 compute 1e8\n0 send 1 0 8 2\n'; done
        printf '0 compute 25e7\n0 barrier\n'
    done
    printf '0 finalize\nrank\n1 init\n1 allreduce 8 0\n'
    for ((i = 0; i < 10; i++)); do
        for ((k = 0; k < 5; k++)); do echo '1 recv 0 0 8 2'; done
        echo '1 barrier'
    done
    echo '1 finalize'
} | made loops
replay loops --json --profile || { fail loops; cat err; }
json "assert j['profile']['loops'] == []" 'a trace that is not merged has loops'
"$o/ti-info" -q --merge loops -o loops.merged
replay loops.merged --json --profile || { fail loops.merged; cat err; }
json "
found = {(x['ranks'][0][0], x['depth']): x for x in j['profile']['loops']}
assert len(found) == len(j['profile']['loops']) == 4, found
for rank, key in (0, 'computing_s'), (1, 'waiting_s'):
    # (a message is on its way while the sender computes: the receiver waits that much less)
    near(found[rank, 0][key], 10 * (0.25 + 5 * 0.1), 0.02); near(found[rank, 1][key], 10 * 5 * 0.1, 0.02)
    for depth, trips, calls in (0, 10, 60), (1, 5, 50):
        x = found[rank, depth]
        assert x['ranks'] == [[rank, rank]] and x['calls'] == calls, x
        assert x['trips'] == {'minimum': trips, 'maximum': trips} and x['all_trips'] == trips * x['passes'], x
near(found[0, 1]['computing_s'], 5, 1e-9); near(found[0, 0]['computing_s'], 7.5, 1e-9)" 'times of loops'
replay loops.merged --profile
grep -qE '^  rank 0 +10 .* 7\.5000  send$' out || { fail 'loops for people'; cat out; }

# Loops are those of ti-info --phases.
for name in lu cg hybrid; do
    "$o/ti-info" -q --merge "$name" -o "$name.merged" >out 2>err || { fail "$name: merge"; cat err; }
    "$o/ti-info" --phases --json "$name.merged" >phases 2>err
    replay "$name.merged" --json --profile || { fail "$name.merged"; cat err; }
    json "
phases = []
def walk(body, depth, ranks):
    for node in body:
        if 'body' in node:
            phases.append([str(ranks), depth, node['trips'], node['all_trips'], node['events']])
            walk(node['body'], depth + 1, ranks)
for shape in json.load(open('phases'))['shapes']: walk(shape['body'], 0, shape['ranks'])
own = [[str(x['ranks']), x['depth'], x['trips'], x['all_trips'], x['calls']] for x in j['profile']['loops']]
assert own and sorted(own, key=str) == sorted(phases, key=str), (own, phases)
keys = ('computing_s', 'communicating_s', 'waiting_s')
for k in keys:
    outer = sum(x[k] for x in j['profile']['loops'] if not x['depth'])
    assert 0 <= outer <= sum(x[k] for x in j['profile']['ranks']) + 1e-9, k
assert any(x['file'] for x in j['profile']['loops']) or 'without libdw' in open('help').read()" "$name: loops"
done

for width in 80 100; do
    replay lu --profile --links --width $width
    [ "$(sed -n '/^share of the time/,$p' out | awk '{ n = length($0) > n ? length($0) : n } END { print n + 0 }')" -le $width ] ||
        { fail "tables wider than $width"; cat out; }
    grep -q 'lu.c:[0-9]*$' out || [ "$(grep -c 'without libdw' help)" -gt 0 ] || { fail 'source lines are cut'; cat out; }
done

# Where the program is not found, ti-replay says how it would be; a converted trace has names of its own.
mkdir -p elsewhere/sub
cp "$o/examples/ring" elsewhere
(cd elsewhere && TIARA_QUIET=1 trace "$PWD/run" 2 cputime ./ring 2 100 1000) >out 2>&1 || { fail ring; cat out; }
if ! grep -q 'without libdw' help; then
    replay elsewhere/run --profile
    grep -q "warning: no symbols of 'ring' were found" err && grep -q '^hint: --debug-dir DIR ' err ||
        { fail 'no hint'; cat err; }
    grep -q ' ring+0x[0-9a-f]*$' out || { fail 'call sites without names'; cat out; }
    replay elsewhere/run --profile --debug-dir elsewhere/sub:elsewhere
    grep -q ' main ring.c:[0-9]*$' out && ! grep -q 'no symbols' err || { fail --debug-dir; cat out err; }
fi
replay quoted --profile --timeline quoted.csv || { fail 'the profile of quoted'; cat err; }
grep -q 'no symbols' err && { fail 'a hint about a converted trace'; cat err; }
grep -q ' "a,b".c:1$' out || { fail 'a converted call site'; cat out; }
python3 -c "
import csv
row, = [x for x in csv.DictReader(open('quoted.csv')) if x['state'] == 'barrier']
assert row['site'] == '\"a,b\".c:1' and row['function'] == row['file'] == row['line'] == ''" || fail 'a quoted call site'
# A link to a timeline stays one.
ln -s linked-to.csv linked.csv
replay quoted --timeline linked.csv && [ -L linked.csv ] && grep -q ',peer,bytes$' linked-to.csv || fail 'a link'
for file in linked.csv?* linked-to.csv?*; do [ -e "$file" ] && fail "$file is left over"; done

# A cancelled receive takes no message, in the simulation and in the profile.
trace "$scratch/cancelled" 2 cputime "$built/cancelled" >out 2>&1 || { fail cancelled; tail -n 3 out; }
replay cancelled --json --profile || { fail 'replay of cancelled'; cat err; }
json "assert r(1, 'waiting') > 0.45, j['profile']['ranks']" 'who waits after a cancelled receive'

# ---- links ----

# Ten messages from rank 0 to rank 1, and a broadcast of 1000 bytes among eight: seven more.
{
    for rank in 0 1 2 3 4 5 6 7; do
        printf 'rank\n%d init\n' $rank
        for _ in 1 2 3 4 5 6 7 8 9 10; do
            [ $rank -eq 0 ] && echo "0 send 1 0 100000 2"
            [ $rank -eq 1 ] && echo "1 recv 0 0 100000 2"
        done
        printf '%d bcast 1000 0\n%d finalize\n' $rank $rank
    done
} | made carry
for engine in stock tiara; do
    replay carry --json --links --engine $engine || { fail "links, $engine"; cat err; }
    json "
up = sum(x['bytes'] for x in j['links'] if x['link'].endswith('_UP'))
down = sum(x['bytes'] for x in j['links'] if x['link'].endswith('_DOWN'))
assert up == down == 10 * 100000 + 7 * 1000, (up, down)
first = j['links'][0]
assert first['bytes'] >= 1000000 and first['link'] in ('nodes_link_0_UP', 'nodes_link_1_DOWN'), first
near(first['use'], first['bytes'] / 125e6 / j['clock_s'], 1e-12)
assert 'slices' not in first and 'link_slice_s' not in j" "links, $engine"
done

# A message, a second without any, and one that takes a second on its link.
printf '%s\n' rank '0 init' '0 send 1 0 1000000 2' '0 compute 1e9' '0 send 1 0 125000000 2' '0 finalize' \
    rank '1 init' '1 recv 0 0 1000000 2' '1 recv 0 0 125000000 2' '1 finalize' | made paused
for engine in stock tiara; do
    for slices in 2 8 100; do
        replay paused --speed 1Gf --json --links=$slices --engine $engine || { fail "links=$slices"; cat err; }
        json "
width, n, clock = j['link_slice_s'], len(j['links'][0]['slices']), j['clock_s']
assert 2 < clock < 2.5 and (n - 1) * width < clock <= n * width and $slices / 2 <= n <= $slices, (width, n, clock)
for link in j['links']:
    assert sum(link['slices']) == link['bytes'] and len(link['slices']) == n, link
    assert all(b <= link['bandwidth'] * width for b in link['slices'][:-1]), link
if n > 4:
    link = j['links'][0]
    quiet = [b for i, b in enumerate(link['slices']) if width * i > 0.1 and width * (i + 1) < 1]
    busy = [b for i, b in enumerate(link['slices']) if width * i > 1.1 and width * (i + 2) < 2]
    assert link['slices'][0] == 1000000 and quiet and busy, link
    assert not any(quiet) and all(near(b, link['bandwidth'] * width, 1) is None for b in busy), link
" "links=$slices, $engine"
    done
done
for slices in 1 0 -2 10001 x 3x ''; do
    replay paused --links=$slices && fail "--links=$slices"
    grep -q 'a number of slices from 2 to 10000' err || { fail "--links=$slices"; cat err; }
done

# ---- timelines ----

# A named pipe has one writer, the replay, so its reader gets all; it stays where it is, also if it
# never gets a reader.
mkfifo pipe.csv
for later in 0 1; do
    (sleep $later && cat pipe.csv >piped) &
    replay quoted --timeline pipe.csv || { fail 'a named pipe'; cat err; }
    wait $!
    cmp piped linked-to.csv && [ -p pipe.csv ] || { fail 'a named pipe'; cat piped; }
done
timeout -s INT 2 "$o/ti-replay" --no-progress quoted --timeline pipe.csv >out 2>err
{ [ $? -eq 124 ] && [ -p pipe.csv ] && grep -q interrupted err; } || { fail 'a named pipe without a reader'; cat err; }

replay cg --timeline 'a line.paje' || { fail Paje; cat err; }
awk '$1 == "%EventDef" { n[$2] = $3; next }
    /^%/ { next }
    $1 == n["PajeSetState"] || $1 == n["PajeDestroyContainer"] {
        if ($2 < last) { print "goes back in time: " $0; bad = 1 }
        last = $2
        states += $1 == n["PajeSetState"]
    }
    END { print states " states until " last; exit bad || states < 1000 }' 'a line.paje' >out || { fail 'Paje'; cat out; }
if command -v pj_dump >/dev/null; then
    pj_dump 'a line.paje' >dump 2>&1 || { fail pj_dump; tail -n 3 dump; }
    [ "$(grep -c '^Container.*rank [0-9]' dump)" -eq 8 ] || fail 'pj_dump: not 8 ranks'
fi
replay cg --timeline x.txt
[ $? -eq 2 ] || fail 'a timeline of no kind'
replay cg --timeline nowhere/x.csv
{ [ $? -eq 4 ] && grep -q 'nowhere/x.csv' err; } || fail 'a timeline nowhere'

replay cg --lint --timeline lint.csv || fail 'lint with a timeline'
! grep -q lint.csv err || fail 'tells of a timeline that is not there'

# Files are removed where nobody reads what is printed.
mkdir tmp
TMPDIR=$PWD/tmp "$o/ti-replay" cg --json --profile 2>err | true
[ "${PIPESTATUS[0]}" -eq 141 ] || { fail 'a pipe without a reader'; cat err; }
[ -z "$(ls tmp)" ] || fail 'leaves files behind a pipe without a reader'

# ---- jobs ----

# On hosts of their own, jobs take the time that they take alone, but for SimGrid's precision: it takes
# moments for one that are 1e-9 s apart.
alone() { replay "$@" --json && python3 -c "import json; print(json.load(open('out'))['clock_s'])"; }
lu=$(alone lu) cg=$(alone cg)
replay lu cg lu --start 0s,5ms,1s --json || { fail jobs; cat err; }
json "
assert j['np'] == 24 and [x['first_rank'] for x in j['jobs']] == [0, 8, 16]
for job, time, start in zip(j['jobs'], ($lu, $cg, $lu), (0, 0.005, 1)):
    near(job['time_s'], time, 1e-7); near(job['start_s'], start); near(job['end_s'], start + time, 1e-7)
near(j['clock_s'], max(x['end_s'] for x in j['jobs']), 1e-7)
assert j['jobs'][1]['trace'] == 'cg'" jobs
replay cg --copies 2 --ranks-per-host 2 --placement round-robin --json || { fail copies; cat err; }
json "assert all(x['time_s'] > $cg * 1.01 for x in j['jobs'])" 'jobs that share hosts'
replay lu cg --profile --json --timeline two.csv || { fail 'profile of jobs'; cat err; }
json "near(sum(j['profile']['ranks'][8][k + '_s'] for k in ('computing', 'communicating', 'waiting')), j['jobs'][1]['time_s'], 0.1)
assert len(j['profile']['ranks']) == 16" 'profile of jobs'
replay lu cg --keep kept && said=$(sed -n 's/^job 2 *\([0-9.]*\) s.*/\1/p' out)
(cd kept && smpirun -np 16 -platform platform.xml -hostfile hostfile --cfg=smpi/simulate-computation:no \
    "$o/ti-smpi-replay" --start 0s,2s "$scratch/lu" "$scratch/cg") >out 2>&1
awk -v said="$said" '/^job 2: from 2.0* s to/ { d = $7 - 2 - said; seen = d < 2e-6 && d > -2e-6 } END { exit !seen }' out ||
    { fail "by hand: not $said"; tail -n 3 out; }

# Timelines have the times that are told of jobs; a job that has not started does nothing.
replay late late --start 0s,10s --json --timeline jobs.csv || { fail 'timeline of jobs'; cat err; }
json "
import csv
rows = list(csv.DictReader(open('jobs.csv')))
for rank, job in enumerate((j['jobs'][0], j['jobs'][0], j['jobs'][1], j['jobs'][1])):
    near(min(float(x['start_s']) for x in rows if int(x['rank']) == rank), job['start_s'])
near(max(float(x['end_s']) for x in rows), j['clock_s'])" 'timeline of jobs'
replay late late --start 0s,10s --timeline jobs.paje || { fail 'Paje of jobs'; cat err; }
awk '$1 == "%EventDef" { n[$2] = $3 }
    $1 == n["PajeSetState"] && $4 ~ /^r[23]$/ && $2 < 10 { print "too early: " $0; bad = 1 }
    $1 == n["PajeSetState"] && $4 == "r2" && $5 == "c" { seen = 1 }
    END { exit bad || !seen }' jobs.paje >out || { fail 'Paje of jobs'; cat out; }

# Readers that run ahead of ranks have files of their own; where there are too few, that is said.
(ulimit -Sn 256 && replay cancelled --copies 150) || { fail 'a file for each reader'; cat err; }
(ulimit -n 256 && replay cancelled --copies 150)
{ [ $? -eq 4 ] && grep -q 'Too many open files' err && ! grep -q deadlock err; } || { fail 'too few files'; cat err; }

(cd kept && smpirun -np 8 -platform platform.xml -hostfile hostfile --cfg=smpi/simulate-computation:no \
    "$o/ti-smpi-replay" --wildcards any --profile by-hand "$scratch/cg") >out 2>&1
{ [ $? -eq 2 ] && grep -q 'need --wildcards matched' out && [ ! -e kept/by-hand ]; } || { fail 'a profile of any'; cat out; }

# A job that cannot end does not hide behind another.
made good <<'E'
rank
0 init
0 compute 1e6
0 finalize
E
made stuck <<'E'
rank
0 init
0 send 1 0 1000 2
0 recv 1 0 1000 2
0 finalize
rank
1 init
1 send 0 0 1000 2
1 recv 0 0 1000 2
1 finalize
E
replay good stuck --cfg smpi/send-is-detached-thresh:100
[ $? -eq 3 ] || fail 'a deadlock of the second job is no error'
grep -q 'job 2, rank 1 is at event 1, send' err || { fail 'does not say which job waits'; cat err; }

# ---- bursts drawn from statistics: that the error is not known stands beside the time ----

"$o/tests/mktrace" --np 4 --iterations 300 --noise 1000000 --times --exact loud || fail 'mktrace'
"$o/ti-info" -q --merge --volumes stats --extras exact loud -o volumes.ti || fail '--volumes stats'
"$o/ti-info" -q --merge --extras stats loud -o extras.ti || fail '--extras stats'
# drawn RANKS ARGUMENT...: so many ranks are drawn
drawn() {
    local ranks=$1
    shift
    replay "$@" || { fail "replay $*"; cat err; }
    if [ "$ranks" = 0 ]; then
        grep -q '^bursts:' out && fail "$*: says that bursts are drawn"
    else
        grep -q "^bursts: *of $ranks ranks drawn from statistics, without their order: the error is not known" out ||
            { fail "$*: does not say that bursts are drawn"; cat out; }
    fi
    replay --json "$@"
    json "assert sum(t.get('drawn_ranks', 0) for t in j.get('jobs', [j])) == $ranks
for t in j.get('jobs', [j]):
    drawn = 'drawn_ranks' in t
    assert t.get('expected_error_pct', 'absent') == (None if drawn else 'absent'), t
    assert ('order' in t.get('expected_error_reason', '')) == drawn, t" "$*"
}
drawn 0 loud
drawn 4 volumes.ti
drawn 0 volumes.ti --no-compute
"$o/ti-replay" volumes.ti --sweep copies=1,2 -o drawn.sweep >out 2>err || { fail 'a sweep of drawn bursts'; cat err; }
grep -q '^bursts: *drawn from statistics in 2 of 2 points, without their order: the error is not known' out ||
    { fail 'a sweep does not say that bursts are drawn'; cat out; }
drawn 0 volumes.ti --times
drawn 0 extras.ti
drawn 4 extras.ti --times
drawn 8 volumes.ti --copies 2
drawn 4 loud volumes.ti

refuses() { # STATUS TEXT ARGUMENT...
    local status=$1 says=$2
    shift 2
    replay "$@"
    [ $? -eq "$status" ] || fail "status: $*"
    grep -qF -- "$says" err || { fail "does not say: $says"; cat err; }
}
refuses 2 'more than one job needs --engine tiara' lu cg --engine stock
refuses 2 '--debug-dir is for --profile, --causes, --timeline, --trips, --versus and --scaling' lu --debug-dir .
refuses 2 '--profile needs --engine tiara' lu --profile --engine stock
refuses 2 '2 times for 1 job' lu --start 0s,1s
refuses 2 "'1'" lu --start 1
refuses 2 'for one trace, not for 2' lu cg --copies 2
refuses 2 'against' lu cg --against nothing
refuses 2 'matched' lu --profile --wildcards any
refuses 4 nothing lu nothing
# ---- what engine stock gives no time: the result says how much that is ----

"$o/tests/mkscript" 4 made <<'E' || fail mkscript
* init level=0
* COMM 2 d 0,1,2,3
* comm_dup newcomm=2
0-1 COMM 3 p 0,1
2-3 COMM 3 p 2,3
0-1 comm_split comm=2 color=0 key=0 newcomm=3
2-3 comm_split comm=2 color=1 key=0 newcomm=3
0 COMM 4 p 0
0 comm_split color=0 key=0 newcomm=4
1-3 comm_split color=null key=0 newcomm=null
0 send comm=3 peer=1 tag=1 bytes=8
1 probe comm=3 peer=-1 tag=1
1 recv comm=3 peer=-1 tag=1 bytes=8
* finalize
E
replay --engine stock made || fail 'communicators, engine stock'
grep -qF 'not timed:      making 4 communicators and 1 probe (engine stock; engine tiara times them)' out ||
    { fail 'does not say what takes no time'; cat out; }
replay --engine stock --json made || fail 'communicators, engine stock, --json'
json 'assert j["untimed"] == {"communicators": 4, "probes": 1}, j["untimed"]'
sweep_says='not timed: making 4 communicators and 1 probe, in 1 of 2 points (engine stock; engine tiara times them)'
"$o/ti-replay" made --sweep engine=stock,tiara -o made.sweep >out 2>err || { fail sweep; cat err; }
grep -qF "$sweep_says" out || { fail 'a sweep does not say what takes no time'; cat out; }
python3 - <<'E' || { fail 'results.csv: what takes no time'; cat made.sweep/results.csv; }
import csv
rows = {r["engine"]: (r["untimed_communicators"], r["untimed_probes"])
        for r in csv.DictReader(open("made.sweep/results.csv"))}
assert rows == {"stock": ("4", "1"), "tiara": ("0", "0")}, rows
E
"$o/ti-convert" --to simgrid made -o made.actions --json >out 2>err || { fail 'ti-convert'; cat err; }
grep -qF 'not timed: making 4 communicators and 1 probe' err || { fail 'ti-convert: what takes no time'; cat err; }
json 'assert j["untimed"] == {"communicators": 4, "probes": 1}, j["untimed"]'
replay --engine tiara made || { fail 'communicators, engine tiara'; cat err; }
grep -q 'not timed' out && fail 'engine tiara times communicators'
replay --engine stock late || fail 'late, engine stock'
grep -q 'not timed' out && fail 'says that nothing is not timed'
finish
