#!/bin/bash
# ti-info --phases of real programs, against what a script of its own makes of ti-info --dump.
# shellcheck source=tests/mpi/lib.sh
. tests/mpi/lib.sh
command -v python3 >/dev/null || skip 'there is no python3'
export TIARA_QUIET=1
MPIRUN="$(pass TIARA_QUIET)"

cat >"$scratch/check.py" <<'PY'
import collections, json, re, sys

folder, np, only = sys.argv[1], int(sys.argv[2]), sys.argv[3:]
number = lambda text: int(text.replace(',', ''))

# From the dump: of each call site the volumes, and the bytes that are sent.
volumes, sent = collections.defaultdict(list), collections.Counter()
for rank in map(int, only or range(np)):
    for line in open('%s/dump-%d' % (folder, rank)):
        volume, op, rest = (line.rstrip('\n') + ' ').split(' ', 2)
        f = dict(re.findall(r'(\w+)=("[^"]*"|\S+)', rest))
        site = f['site'].strip('"').split()[0].replace('?', '')
        if 'file' in f:
            file = f['file'].strip('"').split('/')[-1]
            site = '%s %s:%s' % (f['function'].strip('"'), file, f['line'])
        elif 'function' in f:
            site = f['function'].strip('"')
        volumes[op, site].append(int(volume))
        if re.match(r'(i?[bsr]?send|i?sendrecv(_replace)?)$', op) and f['peer'] != 'null':
            sent[op, site] += int(f['bytes'])


def text_of(name, value):
    """A value of the JSON as the text has it; what differs is '...' there."""
    if value is None:
        return name
    if isinstance(value, str):
        return '%s=%s' % (name, value)
    ends = [value['minimum'], value['maximum']]
    if name in ('peer', 'rpeer', 'from'):
        ends = ['%+d' % v if isinstance(v, int) else v for v in ends]
    return '%s=%s' % (name, '..'.join(map(str, ends if ends[0] != ends[1] else ends[:1])))


def flat(body, depth=0):
    """The nodes of the JSON in the order of the text's lines, with their depths."""
    for node in body:
        yield depth, node
        yield from flat(node.get('body', []), depth + 1)


# From the phases: calls and loops with the passes and sums that follow from them.
j = json.load(open('%s/phases.json' % folder))
assert j['np'] == np and j['complete'] is True and j['missing'] == j['damaged'] == []
assert j['ranks'] == (1 if only else np) and j['estimate'] is True
same = iter([(d, n) for shape in j['shapes'] for d, n in flat([shape])])
found, shown = collections.defaultdict(list), collections.Counter()
stack, ranks, nodes = [], 0, 0
for line in open('%s/phases' % folder).read().split('\n')[1:]:
    head = re.match(r'ranks? ([-0-9, ]+): volume ([\d,]+), ([\d,]+) events?, ([\d,]+) bytes in messages$', line)
    if head:
        assert not stack
        names = set()  # of loops: each is that of one loop
        own = sum(int(r.split('-')[-1]) - int(r.split('-')[0]) + 1 for r in head[1].split(','))
        ranks += own
        stack = [dict(left=[number(head[i]) for i in (2, 3, 4)], passes=own)]
        total = number(head[2])
        depth, node = next(same)
        assert [node[k] for k in ('volume', 'events', 'message_bytes')] == stack[0]['left']
        assert node['ranks'] == [[int(r.split('-')[0]), int(r.split('-')[-1])]
                                 for r in head[1].split(',')], line
        continue
    if line.split()[:1] == ['share']:
        continue
    if not line:
        if stack:
            assert len(stack) == 1 and stack[0]['left'] == [0, 0, 0], stack
            stack = []
        continue
    assert stack, line
    if line.strip() == '}':  # below its loop
        loop = stack.pop()
        assert loop['left'] == [0, 0, 0] and line == ' ' * loop['at'] + '}', line
        continue
    row = re.match(r' *([\d.]+) %  +([\d,]+) +([\d,]+) +([\d,]+)  ( *)(.*)$', line)
    assert row and len(row[5]) == 4 * (len(stack) - 1), line
    figures = [number(row[i]) for i in (2, 3, 4)]
    assert row[1] == '%.1f' % (100 * figures[0] / total if total else 0), line
    stack[-1]['left'] = [a - b for a, b in zip(stack[-1]['left'], figures)]
    depth, node = next(same)
    assert [node[k] for k in ('volume', 'events', 'message_bytes')] == figures, (line, node)
    assert depth == len(stack), line
    passes, nodes = stack[-1]['passes'], nodes + 1
    loop = re.match(r'loop ([\d,]+)(?: to ([\d,]+) times, ([\d,]+) in all| times?) {  # (.+)$', row[6])
    if loop:
        assert loop[4] == node['loop'] and loop[4] not in names, line
        names.add(loop[4])
        trips = number(loop[3]) if loop[3] else passes * number(loop[1])
        if loop[3]:
            assert number(loop[1]) * passes < trips < number(loop[2]) * passes, line
        stack.append(dict(left=figures, passes=trips, at=row.start(6)))
        assert (node['passes'], node['all_trips']) == (passes, trips), (line, node)
        assert node['trips'] == dict(minimum=number(loop[1]), maximum=number(loop[2] or loop[1]))
        continue
    assert figures[1] == passes, (line, passes)
    code, _, remark = row[6].partition('  # ')
    values, _, site = remark.rpartition('; ')
    if not values and re.match(r'[\d,]+( \(|,|$)', site):
        values, site = site, ''
    fields = re.sub(r'\(\d+\)|"', '', code).split(' ')
    for name, text in zip(node['fields'], fields[1:]):
        assert (text if node['fields'][name] else text.split('=')[0]) == \
            text_of(name, node['fields'][name]), (line, node)
    assert node['call'] == fields[0] and len(node['fields']) == len(fields) - 1, (line, node)
    named = node['function'] or (node['site'] or '').split()[:1]
    assert site.startswith(named if isinstance(named, str) else ''.join(named)), (line, node)
    assert node['file'] is None or \
        site.endswith(' %s:%d' % (node['file'].split('/')[-1], node['line'])), (line, node)
    key = code.split()[0], site
    found[key].append((figures, values))
    shown[key] += figures[2]
assert not stack and next(same, None) is None and ranks == (1 if only else np)

assert set(found) == set(volumes), (set(found) ^ set(volumes))
for key, rows in found.items():
    of = volumes[key]
    assert sum(f[0] for f, _ in rows) == sum(of), key
    assert sum(f[1] for f, _ in rows) == len(of), key
    assert shown[key] == sent[key], key
    low, high = [], []
    for (volume, events, _), values in rows:
        if events == 1:
            assert not values, (key, values)
            low.append(volume), high.append(volume)
            continue
        v = re.match(r'([\d,]+)(?: \(([\d,]+) to ([\d,]+)\))?(?:, a rank ([\d,]+) to ([\d,]+))?$', values)
        assert v and number(v[1]) == volume // events, (key, values, volume, events)
        low.append(number(v[2] or v[1])), high.append(number(v[3] or v[1]))
        assert low[-1] <= number(v[1]) <= high[-1]
    assert (min(low), max(high)) == (min(of), max(of)), (key, low, high)
print('ok', nodes, 'nodes for', sum(map(len, volumes.values())), 'events')
PY

# --top N: the N calls with the largest volumes, in the loops around them; the rest is summed up.
cat >"$scratch/top.py" <<'PY'
import json, re, sys
j, text, n = json.load(open(sys.argv[1])), open(sys.argv[2]).read().split('\n'), int(sys.argv[3])
number = lambda text: int(text.replace(',', ''))
calls = []
def walk(body):
    for node in body:
        walk(node['body']) if 'body' in node else calls.append(node['volume'])
for shape in j['shapes']: walk(shape['body'])
calls.sort(reverse=True)
shown, sums, stack = [], {}, []
for line in text[1:]:
    row = re.match(r' *[\d.]+ %  +([\d,]+) +[\d,]+ +[\d,]+  ( *)(.*)$', line)
    if line.startswith('rank'):
        assert not stack or stack == [0], line
        stack = [number(re.search('volume ([\d,]+)', line)[1])]
    elif line.strip() == '}':
        assert stack.pop() == 0, line
    elif row:
        stack[-1] -= number(row[1])
        if row[3].startswith('loop '):
            stack.append(number(row[1]))
        elif not row[3].startswith('... '):
            shown.append(number(row[1]))
assert stack == [0] and sorted(shown, reverse=True) == calls[:n], (shown, calls[:n])
PY

# check_program NP PROGRAM ARGUMENT...: trace it, and compare.
check_program() {
    local np=$1 program=$2 dir rank
    dir=$(mktemp -d "$scratch/XXXXXX")
    shift 2
    trace "$dir/trace" "$np" cputime "$program" "$@" >"$dir/log" 2>&1 ||
        { fail "$program: $(head -n 5 "$dir/log")"; return; }
    for ((rank = 0; rank < np; rank++)); do
        dump "$dir/trace" $rank --call-sites >"$dir/dump-$rank"
    done
    for rank in '' 0 $((np - 1)); do
        "$TI_BUILD/ti-info" --phases --all ${rank:+--rank $rank} "$dir/trace" >"$dir/phases" 2>"$dir/err" ||
            fail "$program: --phases: $(cat "$dir/err")"
        [ -s "$dir/err" ] && fail "$program: --phases warns: $(cat "$dir/err")"
        "$TI_BUILD/ti-info" --phases --json ${rank:+--rank $rank} "$dir/trace" >"$dir/phases.json" 2>"$dir/err" ||
            fail "$program: --phases --json: $(cat "$dir/err")"
        python3 "$scratch/check.py" "$dir" "$np" $rank >"$dir/found" 2>&1 ||
            fail "$program, rank ${rank:-all}: $(tail -n 4 "$dir/found")"
        echo "# ${program##*/}, rank ${rank:-all}: $(cat "$dir/found")"
    done
    for n in 1 3 10 1000; do
        "$TI_BUILD/ti-info" --phases --json "$dir/trace" >"$dir/phases.json"
        "$TI_BUILD/ti-info" --phases --top $n "$dir/trace" >"$dir/top"
        python3 "$scratch/top.py" "$dir/phases.json" "$dir/top" $n >"$dir/found" 2>&1 ||
            fail "$program, --top $n: $(tail -n 4 "$dir/found")"
    done
    last=$dir
}
check_program 4 "$examples/lu" S 10
check_program 4 "$examples/multigrid"
check_program 4 "$examples/amr"
check_program 4 "$examples/master_worker"
check_program 4 "$built/persistent"
check_program 2 "$examples/ring" 1000 8 100

# A ring is one loop, in one shape for rank 0, and another for the others.
says() { grep -qE -- "$2" "$1" || { fail "$1 does not say: $2"; cat "$1"; }; }
"$TI_BUILD/ti-info" --phases --rank 0 "$last/trace" >"$scratch/ring"
says "$scratch/ring" '^phases of 1 of 2 ranks, 1 shape; volumes are an estimate, in '
says "$scratch/ring" ' 2,000 +8,000  loop 1,000 times \{  # main ring.c:[0-9]+$'
says "$scratch/ring" ' 1,000 +8,000      send comm=0 peer=\+1\(1\) tag=0 bytes=8 esize=1  # '
says "$scratch/ring" ' 1,000 +0      recv comm=0 peer=-?\+?1\(1\) tag=0 bytes=8 esize=1  # '
finish
