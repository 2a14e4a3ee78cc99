"""What the info-*.sh scripts check with more than `json`: info_checks.py FUNCTION ARGUMENT..."""
import math
import os
import re
import shutil
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import jsonfile  # noqa: E402


def pairs_have_their_messages():
    """traffic.json: messages of each pair of ranks, and collectives."""
    t = jsonfile.read('traffic.json')
    assert t['np'] == t['ranks'] == 5 and t['complete'] is True
    assert t['missing'] == t['incomplete'] == t['damaged'] == []
    assert t['messages']['number'] == 27 and t['messages']['bytes'] == 3024768
    assert t['pairs_with_messages'] == len(t['pairs']) == 7
    rows = [dict(zip(t['columns'], row)) for row in t['pairs']]
    pair = next(r for r in rows if (r['from'], r['to']) == (2, 3))
    sizes = [1000, 2000, 3000, 64, 64, 64]
    mean = sum(sizes) / 6
    assert pair['messages'] == 6 and pair['bytes'] == sum(sizes) and pair['mean'] == mean
    assert abs(pair['deviation'] - math.sqrt(sum((s - mean) ** 2 for s in sizes) / 6)) < 1e-9
    assert (pair['minimum'], pair['maximum'], pair['one_sided']) == (64, 3000, 0)
    assert t['collectives']['bcast'] == dict(number=5, bytes=80, mean=16, deviation=0, minimum=16,
                                             maximum=16)


def sizes_are_counted():
    """histogram.json: messages and bursts by size."""
    h = jsonfile.read('histogram.json')
    classes = {c['from']: c for c in h['messages']['classes']}
    assert min(classes) == 64 and max(classes) == 524288 and len(classes) == 14
    assert classes[1024] == {'from': 1024, 'number': 4, 'bytes': 8000}
    assert sum(c['number'] for c in classes.values()) == h['messages']['number'] == 27
    assert h['volume_unit'] == 'instructions' and h['one_sided']['number'] == 0
    assert sum(c['volume'] for c in h['bursts']['classes']) == h['bursts']['volume'] == 18053520


def rates_are_those_of_events():
    """rates.json and the file h.rates, once more from the events in h.dump."""
    bursts = []
    for line in open('h.dump'):
        bursts.append((int(line.split()[0]), int(re.search(r' burst_ns=(\d+)', line).group(1)),
                       re.search(r' site="([^"]*)"', line).group(1)))

    def close(a, b):
        return abs(a - b) <= 1e-5 * abs(b) + 1e-6

    def check(rate, of):
        volume, ns = sum(v for v, n, s in of), sum(n for v, n, s in of)
        mean = volume * 1e9 / ns
        spread = math.sqrt(sum(n * (v * 1e9 / n - mean) ** 2 for v, n, s in of if n) / ns)
        assert close(rate['rate'], mean) and close(rate['deviation'], spread), (rate, mean, spread)
        assert rate['bursts'] == len(of) and close(rate['seconds'], ns / 1e9)

    r = jsonfile.read('rates.json')
    check(dict(r, seconds=r['seconds']), bursts)
    assert 250e6 < r['rate'] < 500e6 and r['deviation'] > 1e8
    assert r['hosts'] == ['node-0', 'node-1'] and r['counter'] == 'papi'
    for c in r['classes']:
        check(c, [b for b in bursts if c['from'] <= b[0] < 2 * c['from']])
    assert sum(c['bursts'] for c in r['classes']) == sum(b[0] > 0 for b in bursts)
    assert sorted(s['site'] for s in r['sites']) == ['app+0x1010', 'app+0x1020', 'app+0x1030']
    for s in r['sites']:
        check(s, [b for b in bursts if b[2] == s['site']])

    # The file has what the JSON has.
    def number(text):
        return float(text.rstrip('kMGTP')) * 1000 ** ' kMGTP'.index((text + ' ')[-2] if text[-1] in
                                                                   'kMGTP' else ' ')

    sections = open('h.rates').read().split('\n[')
    seen = 0
    for section in sections[2:]:
        head, _, rest = section.partition(']')
        keys = dict(re.findall(r'(\w+) = "?([^"\n]*)', rest))
        of = [c for c in r['classes'] if head == 'class %d' % c['from']] + \
             [s for s in r['sites'] if head == 'site' and keys['site'] == s['site']]
        assert len(of) == 1, section
        assert close(number(keys['rate']), of[0]['rate']) and keys['bursts'] == str(of[0]['bursts'])
        assert close(number(keys['deviation']), of[0]['deviation'])
        seen += 1
    assert seen == len(r['classes']) + len(r['sites'])


def extra_columns():
    """Extra columns and rates of `out` (t.tib) beside a.json, which has none."""
    a, t = jsonfile.read('a.json'), jsonfile.read('out')
    assert a['volume'] == t['volume'] and 'extra' not in a and 'rate' not in a
    assert [(c['name'], c['unit'], c['total']) for c in t['extra']] == [
        ('burst_ns', 'ns', 2 * t['volume']), ('call_ns', 'ns', 100 * t['events']),
        ('a\x1b::b', 'events', 12)]
    r = t['rate']
    assert r['overall'] == 5e8 and r['volume_unit'] == 'instructions' and r['slowed'] is False
    assert set(r['per_rank'].values()) == {5e8}
    b = r['per_burst']
    # of 1,000,000: a send of ranks 0 and 1, and a waitall an iteration; the next ones take 6 us
    assert b['bursts'] == 2 + 4 * 3 and b['of'] == t['events'] and b['at_least_ns'] == 10000
    assert abs(b['share_of_time'] - 2e6 * b['bursts'] / (2 * t['volume'])) < 1e-9
    assert b['minimum'] == b['median'] == b['maximum'] == 5e8


def damage_extra():
    """Flips a byte of the first extra column of rank 0 of d.run."""
    with open('d.run/rank-000000.ti', 'r+b') as file:
        trace, at = file.read(), 48
        while trace[at] != 8:  # XTR
            at += 32 + struct.unpack_from('<I', trace, at + 24)[0] + 4
        file.seek(at + 40)
        file.write(bytes([trace[at + 40] ^ 255]))


def unmatched_message_is_told():
    """`out` names the message that nobody receives, and counts those that are received."""
    j = jsonfile.read('out')
    assert j['verified'] is False and j['unsound_count'] == 1 and j['leaked_count'] == 0
    assert j['conserved'] == dict(messages=19, bytes=3012512, collectives=8)
    assert j['problems'][0]['rank'] == 1 and j['problems'][0]['event'] == 17
    pairs = {(a, b): rest for a, b, *rest in j['pairs']}
    assert pairs[1, 0] == [1, 100, 0, 0] and pairs[0, 2] == [1, 1000000, 1, 1000000]
    assert sum(p[0] for p in pairs.values()) == 20
    assert sum(p[3] for p in pairs.values()) == 3012512


def edit_manifest(keypath):
    """Another value of the same type at this key: x.tib becomes y.tib."""
    key = keypath.split('.')
    manifest = jsonfile.read('x.tib')
    at = jsonfile.find(manifest, key[:-1])
    was = at.get(key[-1])
    at[key[-1]] = not was if isinstance(was, bool) else was + 1 if isinstance(was, int) else \
        '0' * 32 if keypath == 'run_id' else 'other' if isinstance(was, str) else 7
    shutil.copy('x.tib', 'y.tib')
    jsonfile.write('y.tib', manifest)


def merged():
    """`out` is what --merge says of json.ti, made of a merged trace."""
    r = jsonfile.read('out')
    assert r['ranks'] == 6 and r['copies'] == 0 and 1 <= r['groups'] <= 6, r
    assert r['bytes'] == os.path.getsize('json.ti') == r['bytes_before'], r


def summary_adds_up():
    """`out` is the summary of a.run."""
    j = jsonfile.read('out')
    assert j['np'] == j['ranks'] == 5 and j['complete'] is True and j['exact'] is False
    assert j['events'] == sum(o['events'] for o in j['operations'].values()) == 126
    assert j['per_rank']['events'] == dict(minimum=25, median=25, maximum=26)
    assert abs(j['bytes_per_action'] * 2 * j['events'] - j['bytes']) < 1e-6
    assert j['negative_bursts'] == 10 and j['calibration'] == dict(least=40, most=44, spread=1)
    assert j['untraced'] == {'MPI_Put': 5} and j['messages'] == 27


if __name__ == "__main__":
    jsonfile.run_function(globals())
