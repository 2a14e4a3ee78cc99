#!/bin/bash
# Traffic, histograms and rates of real programs, against what a script of its own makes of
# ti-info --dump.
# shellcheck source=tests/mpi/lib.sh
. tests/mpi/lib.sh
command -v python3 >/dev/null || skip 'there is no python3'
export OMPI_MCA_osc=${OMPI_MCA_osc:-^rdma} TIARA_TIMES=1 TIARA_QUIET=1
MPIRUN="$(pass TIARA_TIMES) $(pass TIARA_QUIET)"

cat >"$scratch/check.py" <<'PY'
import collections, json, math, re, sys

folder, np = sys.argv[1], int(sys.argv[2])
read = lambda name: json.load(open('%s/%s.json' % (folder, name)))
traffic, histogram, rates, summary = map(read, ('traffic', 'histogram', 'rates', 'summary'))

sends = re.compile(r'(i?[bsr]?send|i?sendrecv(_replace)?)$')
onesided = re.compile(r'r?(put|get|accumulate|get_accumulate)$|fetch_and_op$|compare_and_swap$')
pairs, moved = collections.defaultdict(list), collections.defaultdict(list)
calls, bursts = collections.Counter(), []
for rank in range(np):
    init = {}
    for line in open('%s/dump-%d' % (folder, rank)):
        if line.startswith('#'):
            continue
        volume, op, rest = (line.rstrip('\n') + ' ').split(' ', 2)
        f = dict(re.findall(r'(\w+)=("[^"]*"|\S+)', rest))
        world = lambda: int(re.search(r'\((\d+)\)', f['peer']).group(1))
        bursts.append((int(volume), int(f['burst_ns']), f['site'].strip('"')))
        if re.match(r'[bsr]?send_init$', op):
            init[f['req']] = None if f['peer'] == 'null' else (world(), int(f['bytes']))
        elif op in ('start', 'startall'):
            for req in f.get('requests', '[%s]' % f.get('req')).strip('[]').split(','):
                if init.get(req):
                    pairs[rank, init[req][0]].append(init[req][1])
        elif op == 'request_free':
            init.pop(f['req'], None)
        elif sends.match(op) and f['peer'] != 'null':
            pairs[rank, world()].append(int(f['bytes']))
        elif onesided.match(op) and f['peer'] != 'null':
            reads = 'get' in op or 'fetch' in op or 'compare' in op
            writes = op not in ('get', 'rget') and f.get('redop') != 'no_op'
            if writes:
                moved[rank, world()].append(int(f['bytes']))
            if reads:
                moved[world(), rank].append(int(f.get('rbytes', f['bytes'])))
        calls[op] += 1

def close(a, b):
    return abs(a - b) <= 1e-9 * abs(b) + 1e-6
def check_sizes(row, v):
    mean = sum(v) / len(v)
    assert (row['messages'], row['bytes'], row['minimum'], row['maximum']) == \
        (len(v), sum(v), min(v), max(v)), (row, v)
    assert close(row['mean'], mean)
    assert close(row['deviation'], math.sqrt(sum((x - mean) ** 2 for x in v) / len(v)))
rows = [dict(zip(traffic['columns'], row)) for row in traffic['pairs']]
assert sorted((r['from'], r['to']) for r in rows) == sorted(set(pairs) | set(moved))
for r in rows:
    key = r['from'], r['to']
    assert (r['one_sided'], r['one_sided_bytes']) == (len(moved[key]), sum(moved[key])), r
    if pairs[key]:
        check_sizes(r, pairs[key])
    else:
        assert r['messages'] == r['bytes'] == 0
volume = [r['bytes'] + r['one_sided_bytes'] for r in rows]
assert volume == sorted(volume, reverse=True)
assert traffic['messages']['number'] == summary['messages'] == sum(map(len, pairs.values()))

# Collectives: calls by the dump, bytes by the summary.
ops = summary['operations']
for name, c in traffic['collectives'].items():
    forms = [name, 'i' + name]
    assert c['number'] == sum(calls[f] for f in forms), name
    assert c['bytes'] == sum(ops[f]['bytes'] for f in forms if f in ops), name
for name in 'barrier', 'allreduce', 'alltoall', 'alltoallv', 'bcast':
    assert (calls[name] > 0) == (name in traffic['collectives']), name

def check_classes(h, key, values):
    assert h['number'] == len(values) and h[key] == sum(values)
    for c in h['classes']:
        top = max(2 * c['from'], 1)
        inside = [v for v in values if c['from'] <= v < top]
        assert (c['number'], c[key]) == (len(inside), sum(inside)), (c, inside)
    assert sum(c['number'] for c in h['classes']) == len(values)
check_classes(histogram['messages'], 'bytes', sum(pairs.values(), []))
check_classes(histogram['one_sided'], 'bytes', sum(moved.values(), []))
check_classes(histogram['bursts'], 'volume', [b[0] for b in bursts])
assert histogram['collectives']['number'] == sum(c['number'] for c in
                                                 traffic['collectives'].values())

def check_rate(rate, of):
    volume, ns = sum(b[0] for b in of), sum(b[1] for b in of)
    assert rate['bursts'] == len(of) and close(rate['seconds'], ns / 1e9)
    assert close(rate['rate'], volume * 1e9 / ns), rate
check_rate(rates, bursts)
for c in rates['classes']:
    check_rate(c, [b for b in bursts if c['from'] <= b[0] < 2 * c['from']])
for s in rates['sites']:
    check_rate(s, [b for b in bursts if b[2] == s['site']])
known = {s['site'] for s in rates['sites']}
assert all(b[2] in known for b in bursts if b[0] and b[2] != '?')
print('ok', len(rows), traffic['messages']['number'], traffic['one_sided']['number'],
      len(rates['classes']), len(rates['sites']))
PY

# check_program NP PROGRAM ARGUMENT...: trace it, and compare.
check_program() {
    local np=$1 program=$2 dir mode rank
    dir=$(mktemp -d "$scratch/XXXXXX")
    shift 2
    trace "$dir/trace" "$np" cputime "$program" "$@" >"$dir/log" 2>&1 ||
        { fail "$program: $(head -n 5 "$dir/log")"; return; }
    for mode in traffic histogram; do
        "$TI_BUILD/ti-info" --$mode --json "$dir/trace" >"$dir/$mode.json" || fail "$program: --$mode"
    done
    "$TI_BUILD/ti-info" --json "$dir/trace" >"$dir/summary.json" || fail "$program: summary"
    "$TI_BUILD/ti-info" --rates "$dir/rates" --json "$dir/trace" >"$dir/rates.json" 2>"$dir/err" ||
        fail "$program: --rates"
    grep -q 'volumes are an estimate' "$dir/err" || fail "$program: what --rates warns of"
    for ((rank = 0; rank < np; rank++)); do
        dump "$dir/trace" $rank --call-sites >"$dir/dump-$rank"
    done
    python3 "$scratch/check.py" "$dir" "$np" >"$dir/found" 2>&1 ||
        fail "$program: $(tail -n 4 "$dir/found")"
    echo "# ${program##*/}: $(cat "$dir/found")"
}
check_program 4 "$examples/ring" 3 1000 1000
check_program 4 "$examples/stencil" 48 20
check_program 4 "$examples/is" 5000 3
check_program 4 "$examples/master_worker"
check_program 4 "$built/persistent"
mkdir "$scratch/windows"
[ "$MPI" = mpich ] || check_program 3 "$built/rma" all "$scratch/windows"
finish
