#!/bin/bash
# ti-info --imbalance of real programs, against what a script of its own makes of ti-info --dump.
# shellcheck source=tests/mpi/lib.sh
. tests/mpi/lib.sh
command -v python3 >/dev/null || skip 'there is no python3'
export TIARA_QUIET=1 TIARA_TIMES=1
MPIRUN="$(pass TIARA_QUIET) $(pass TIARA_TIMES)"

cat >"$scratch/check.py" <<'PY'
import collections, json, re, sys

folder, np, kind = sys.argv[1], int(sys.argv[2]), sys.argv[3]
number = lambda text: int(text.replace(',', ''))
MEASURES = ['volume', 'burst_ns', 'call_ns']

# From the dumps: sums of each rank by call and call site, and by function.
sites = {m: collections.defaultdict(lambda: [0] * np) for m in MEASURES}
functions = {m: collections.defaultdict(lambda: [0] * np) for m in MEASURES}
total = {m: [0] * np for m in MEASURES}
for rank in range(np):
    for line in open('%s/dump-%d' % (folder, rank)):
        volume, op, rest = (line.rstrip('\n') + ' ').split(' ', 2)
        f = dict(re.findall(r'(\w+)=("[^"]*"|\S+)', rest))
        site = f['site'].strip('"').split()[0].replace('?', '')
        if 'file' in f:
            file = f['file'].strip('"').split('/')[-1]
            site = '%s %s:%s' % (f['function'].strip('"'), file, f['line'])
        elif 'function' in f:
            site = f['function'].strip('"')
        for m in MEASURES:
            value = int(volume if m == 'volume' else f[m])
            sites[m][op, site][rank] += value
            functions[m][re.split(r'[ +]', site)[0]][rank] += value
            total[m][rank] += value

# From --imbalance: tables of rows for each measure.
tables = collections.defaultdict(lambda: collections.defaultdict(list))
averages = {}
lines = open('%s/imbalance' % folder).read().split('\n')
assert lines[0].startswith('imbalance of %d of %d ranks; volumes are an estimate, in ' % (np, np))
for line in lines[1:]:
    whole = re.match(r'(\w+): excess is the maximum less the mean, in % of what a rank has in all, ([\d,]+) on average$', line)
    head = re.match(r' *excess +max/mean +mean +minimum +rank +maximum +rank  (\w+)$', line)
    row = re.match(r' *([\d.]+) % +([\d.]+|-) +([\d,]+) +([\d,]+) +(\d+) +([\d,]+) +(\d+)  (.*)$', line)
    if whole:
        averages[whole[1]] = whole[2]
    elif head:
        measure, table = head[1], 'all'
    elif line in ('phases', 'positions'):
        table = line
    elif row:
        tables[measure][table].append(row)
    else:
        assert not line, line
assert list(tables) == list(averages) == MEASURES
assert all(averages[m] == tables[m]['all'][0][3] for m in MEASURES), averages

# The JSON has the same rows.
j = json.load(open('%s/imbalance.json' % folder))
assert (j['np'], j['ranks'], j['complete'], j['estimate']) == (np, np, True, True)
assert list(j['measures']) == MEASURES


def row_of(of):
    """What the columns of the text say."""
    ratio = '-' if of['max_to_mean'] is None else '%.3f' % of['max_to_mean']
    return ['%.2f' % (100 * of['loss']), ratio, int(of['mean'] + 0.5), of['minimum'],
            of['minimum_rank'], of['maximum'], of['maximum_rank']]


def name_of(of, phase):
    site = (of['site'] or '').split()[0].replace('?', '') if of['site'] else ''
    if of['file']:
        site = '%s %s:%d' % (of['function'], of['file'].split('/')[-1], of['line'])
    elif of['function']:
        site = None  # with an offset in the text
    name = ('loop of ' if of['loop'] else 'no loop: ') if phase else ''
    number = ' #%d' % of['number'] if of['number'] > 1 else ''
    return name + of['call'], site, number


for m in MEASURES:
    for table in 'all', 'phases', 'positions':
        found = j['measures'][m][table]
        found = [found] if table == 'all' else found
        assert len(found) == len(tables[m][table]), (m, table)
        for of, row in zip(found, tables[m][table]):
            got = [row[1], row[2], *(number(row[i]) for i in range(3, 8))]
            assert row_of(of) == got, (m, row[0], of)
            if table == 'all':
                continue
            name, site, times = name_of(of, table == 'phases')
            if site is None:
                assert row[8].startswith('%s at %s' % (name, of['function'])), (row[8], of)
            else:
                assert row[8] == name + (' at ' if site else '') + site + times, (row[8], of)


def check(m, row, values):
    mean = sum(values) / np
    all = sum(total[m]) / np
    want = ['%.2f' % (100 * (max(values) - mean) / all if all else 0),
            '%.3f' % (max(values) / mean) if mean else '-', int(mean + 0.5), min(values),
            values.index(min(values)), max(values), values.index(max(values))]
    got = [row[1], row[2], *(number(row[i]) for i in range(3, 8))]
    assert got == want, (m, row[0], want)


exact = 0
for m in MEASURES:
    check(m, tables[m]['all'][0], total[m])
    for table in 'phases', 'positions':
        losses = [float(row[1]) for row in tables[m][table]]
        assert losses == sorted(losses, reverse=True), (m, table)
        means = sum(number(row[3]) for row in tables[m][table])
        assert abs(means - sum(total[m]) / np) <= len(losses), (m, table)
    rows = collections.defaultdict(list)
    for row in tables[m]['positions']:
        op, _, site = re.sub(r' #\d+$', '', row[8]).partition(' at ')
        rows[op, site].append(row)
    assert set(rows) == set(sites[m]), set(rows) ^ set(sites[m])
    for key, some in rows.items():
        if len(some) == 1:
            check(m, some[0], sites[m][key])
            exact += 1
    if kind == 'wavefront':
        # A phase is what a function of this program calls.
        for row in tables[m]['phases']:
            name = re.split(r'[ +]', row[8].partition(' at ')[2])[0]
            if name in ('sweep', 'norm'):
                assert row[8].startswith('loop of '), row[8]
                check(m, row, functions[m][name])
if kind == 'wavefront':
    row = tables['volume']['phases'][0]
    assert re.match(r'loop of \w+ at sweep( wavefront\.c:\d+|\+0x[0-9a-f]+)$', row[8]), row[8]
    assert float(row[2]) > 1.5 and int(row[7]) == np // 2, row[0]
print('ok', exact, 'positions')
PY

# check_program NP PROGRAM ARGUMENT...: trace it, and compare.
check_program() {
    local np=$1 program=$2 rank
    dir=$(mktemp -d "$scratch/XXXXXX")
    shift 2
    trace "$dir/trace" "$np" cputime "$program" "$@" >"$dir/log" 2>&1 ||
        { fail "$program: $(head -n 5 "$dir/log")"; return; }
    for ((rank = 0; rank < np; rank++)); do
        dump "$dir/trace" $rank --call-sites >"$dir/dump-$rank"
    done
    "$TI_BUILD/ti-info" --imbalance --all "$dir/trace" >"$dir/imbalance" 2>"$dir/err" ||
        fail "$program: --imbalance: $(cat "$dir/err")"
    # ranks that share a busy machine may differ in their rates, which is said
    grep -v 'one rate does not fit them$' "$dir/err" && fail "$program: --imbalance warns"
    "$TI_BUILD/ti-info" --imbalance --json "$dir/trace" >"$dir/imbalance.json" 2>"$dir/err" ||
        fail "$program: --imbalance --json: $(cat "$dir/err")"
    python3 "$scratch/check.py" "$dir" "$np" "${program##*/}" >"$dir/found" 2>&1 ||
        fail "$program: $(tail -n 4 "$dir/found")"
    echo "# ${program##*/}: $(cat "$dir/found")"
}
check_program 4 "$examples/lu" S 10
check_program 4 "$examples/multigrid"
check_program 3 "$examples/amr" 8 60
check_program 4 "$examples/master_worker"
check_program 4 "$built/wavefront"

# A merged trace says the same; a rank that is missing is named, and the others count.
"$TI_BUILD/ti-info" --merge --extras exact "$dir/trace" -o "$dir/merged" >"$dir/log" 2>&1 ||
    fail "merge: $(cat "$dir/log")"
"$TI_BUILD/ti-info" --imbalance --all "$dir/merged" >"$dir/of-merged" 2>"$dir/err"
same "$dir/imbalance" "$dir/of-merged" 'the imbalance of a merged trace'
"$TI_BUILD/ti-info" --phases "$dir/trace" >"$dir/phases" 2>&1
"$TI_BUILD/ti-info" --phases "$dir/merged" >"$dir/of-merged" 2>&1
same "$dir/phases" "$dir/of-merged" 'the phases of a merged trace'
rm "$dir/trace/rank-000001.ti"
for mode in --imbalance --phases; do
    "$TI_BUILD/ti-info" $mode "$dir/trace" >"$dir/out" 2>"$dir/err"
    [ $? -eq 1 ] || fail "$mode: a rank is missing, and the status is not 1"
    grep -q 'warning: 1 rank missing: 1$' "$dir/err" || fail "$mode: a missing rank is not named"
    grep -q ' of 3 of 4 ranks' "$dir/out" || fail "$mode: the other ranks do not count"
    "$TI_BUILD/ti-info" $mode --json "$dir/trace" >"$dir/out" 2>"$dir/err"
    [ $? -eq 1 ] || fail "$mode --json: a rank is missing, and the status is not 1"
    python3 tests/jsonfile.py "$dir/out" ranks=3 complete=false 'missing=[[1,1]]' 'damaged=[]' ||
        fail "$mode --json: a missing rank is not named"
done
printf '\377\377\377\377' |
    dd of="$dir/trace/rank-000003.ti" bs=1 seek=900 conv=notrunc status=none
for mode in --imbalance --phases; do
    "$TI_BUILD/ti-info" $mode "$dir/trace" >"$dir/out" 2>"$dir/err"
    [ $? -eq 3 ] || fail "$mode: a rank is damaged, and the status is not 3"
    grep -q 'warning: 1 rank left out: 3; .*is damaged' "$dir/err" ||
        fail "$mode: a damaged rank is not named: $(cat "$dir/err")"
    grep -q ' of 2 of 4 ranks' "$dir/out" || fail "$mode: the other ranks do not count"
    "$TI_BUILD/ti-info" $mode --json "$dir/trace" >"$dir/out" 2>"$dir/err"
    [ $? -eq 3 ] || fail "$mode --json: a rank is damaged, and the status is not 3"
    python3 tests/jsonfile.py "$dir/out" ranks=2 complete=false 'damaged=[[3,3]]' ||
        fail "$mode --json: a damaged rank is not named"
done
finish
