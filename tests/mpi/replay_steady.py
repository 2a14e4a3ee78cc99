"""Loops whose trips ti-replay --steady leaves out, and loops that it must simulate.

Usage: replay_steady.py BUILD FOLDER

Each case is a program, written as a script (tests/unit/script.h), with the trips that are left out
or the reason why none are.  It is replayed whole, too: the two times must not differ by more than
the error that is to be expected.  Where a closed form is known, the times are compared with it.
"""

import json
import os
import random
import subprocess
import sys

build, folder = sys.argv[1:3]
failures = 0


def fail(text):
    global failures
    failures += 1
    print('FAILED:', text)


def tool(name, *arguments, status=0, text=None):
    done = subprocess.run([f'{build}/{name}', *arguments], input=text, capture_output=True,
                          text=True, check=False)
    if done.returncode != status:
        fail(f'{name} {" ".join(arguments)}: status {done.returncode}\n{done.stdout}{done.stderr}')
    return done


def replay(trace, *options):
    speed = [] if '--no-compute' in options else ['--speed', '1Gf']
    out = tool('ti-replay', '--json', '--no-progress', *speed, '--latency', '10us',
               '--bandwidth', '1GBps', *options, trace).stdout
    return json.loads(out) if out else {}


def trace_of(name, ranks, lines):
    run, merged = f'{folder}/{name}', f'{folder}/{name}.m'
    text = '\n'.join(['* init level=0 site=init', *lines, '* finalize site=end', ''])
    tool('tests/mkscript', str(ranks), run, text=text)
    tool('ti-info', '-q', '--merge', '--extras', 'exact', run, '-o', merged)
    return merged


def calls(result):
    return [rank['calls'] for rank in result['profile']['ranks']]


def case(name, ranks, lines, left_out=None, reason=None, seconds=None, options=(), mean=False,
         period=None):
    """At least `left_out` trips are left out, or none are for `reason`; `period` is among the
    periods."""
    trace = trace_of(name, ranks, lines)
    whole = replay(trace, '--profile', *(o for o in options if '--steady' not in o))
    for more in ('--steady',), ('--steady', '--profile'):
        result = replay(trace, *more, *options)
        if 'clock_s' not in whole or 'steady' not in result:
            return
        steady = result['steady']
        apart = abs(result['clock_s'] - whole['clock_s'])
        print(f'{name}: {whole["clock_s"]} s, {result["clock_s"]} s, {steady}')
        if apart > steady['expected_error_s'] + 1e-11:
            fail(f'{name}: {apart} s apart, {steady["expected_error_s"]} s were expected')
        if seconds and abs(result['clock_s'] - seconds) > 1e-9:
            fail(f'{name}: {result["clock_s"]} s, not {seconds} s')
        if steady['events_simulated'] + steady['events_left_out'] != whole['events']:
            fail(f'{name}: events do not add up: {steady}')
        if reason and (steady['trips_left_out'] or reason not in steady['reason']):
            fail(f'{name}: left out {steady}, not "{reason}"')
        if reason and apart:
            fail(f'{name}: another time, though nothing was left out')
        if left_out and steady['trips_left_out'] < left_out:
            fail(f'{name}: too few trips are left out: {steady}')
        if left_out and steady['loops'] and steady['loops'][0]['mean'] != mean:
            fail(f'{name}: mean is not {mean}')
        if period and all(loop['period'] != period for loop in steady['loops']):
            fail(f'{name}: no period of {period}')
        if 'profile' in result and calls(result) != calls(whole):
            fail(f'{name}: profile of {calls(result)} calls, not {calls(whole)}')


def times(trips, body):
    """The lines of so many trips; body(i) are those of trip i."""
    return [line for i in range(trips) for line in body(i)]


# ---- closed loops ----

def ring(rank, ranks, i, bursts=10**5):
    """A shift to the right, and every tenth time an allreduce: a loop in a loop."""
    right, left = (rank + 1) % ranks - rank, (rank - 1) % ranks - rank
    return [f'{rank} irecv peer={left} tag=1 bytes=2000 req=0 site=irecv v={bursts}',
            f'{rank} isend peer={right} tag=1 bytes=2000 req=1 site=isend',
            f'{rank} waitall all=1 site=waitall'] + (
                [f'{rank} allreduce bytes=8 redop=sum site=sum v=1000'] if i % 10 == 9 else [])


def doubled(rank, i):
    """Receives are posted a trip before they complete, by two requests in turns."""
    peer = 1 - 2 * rank
    return [f'{rank} irecv peer={peer} tag=2 bytes=70000 req={1 - i % 2} site=irecv v=20000',
            f'{rank} send peer={peer} tag=2 bytes=70000 site=send',
            f'{rank} wait req={i % 2} site=wait{i % 2}']


def pipeline(rank, ranks, i):
    """Each rank waits for the one before it; a barrier keeps the first one from running ahead."""
    return ([f'{rank} recv peer=-1 tag=3 bytes=500 site=recv'] if rank else []) + [
        f'{rank} pcontrol level=1 v=50000 site=here'] + (
            [f'{rank} send peer=1 tag=3 bytes=500 site=send'] if rank + 1 < ranks else []) + (
                [f'{rank} barrier site=barrier'] if i % 5 == 0 else [])


case('computing', 2, times(200, lambda i: ['* pcontrol level=1 v=1000000 site=here']),
     left_out=190, seconds=0.2)
case('ring', 4, [line for r in range(4) for line in times(300, lambda i, r=r: ring(r, 4, i))],
     left_out=20)
case('doubled', 2,
     [line for r in range(2) for line in
      [f'{r} irecv peer={1 - 2 * r} tag=2 bytes=70000 req=0 site=first'] +
      times(200, lambda i, r=r: doubled(r, i)) +
      [f'{r} send peer={1 - 2 * r} tag=2 bytes=70000 site=last', f'{r} wait req=0 site=end0']],
     left_out=80)
case('rotated', 2,
     ['0 send peer=1 tag=1 bytes=9 site=a'] +
     times(150, lambda i: ['0 recv peer=1 tag=1 bytes=9 site=b v=7000',
                           '0 send peer=1 tag=1 bytes=9 site=a']) +
     ['0 recv peer=1 tag=1 bytes=9 site=b'] +
     times(151, lambda i: ['1 recv peer=-1 tag=1 bytes=9 site=c',
                           '1 send peer=-1 tag=1 bytes=9 site=d v=9000']), left_out=130)
case('pipeline', 4,
     [line for r in range(4) for line in times(200, lambda i, r=r: pipeline(r, 4, i))], left_out=25)
case('matched', 3,
     times(100, lambda i: ['0 recv peer=any tag=1 bytes=9 from=1 fromtag=1 site=a v=4000',
                           '0 recv peer=any tag=1 bytes=9 from=2 fromtag=1 site=a',
                           '0 bcast bytes=4 root=0 site=b',
                           '1 send peer=-1 tag=1 bytes=9 site=c v=1000',
                           '1 bcast bytes=4 root=0 site=b',
                           '2 send peer=-2 tag=1 bytes=9 site=c v=2000',
                           '2 bcast bytes=4 root=0 site=b']), left_out=80)
case('groups', 4,
     ['0-1 COMM 2 c 0,1', '2-3 COMM 2 c 2,3',
      '* comm_split comm=0 color=0 key=0 newcomm=2 site=split'] +
     times(100, lambda i: ['* allreduce comm=2 bytes=80 redop=sum site=a v=30000']), left_out=80)

def each(trips, *body):
    """So many trips of these lines."""
    return times(trips, lambda i: body)


case('nonblocking', 2, each(100, '0 irecv peer=any tag=1 bytes=9 req=0 site=a v=4000',
                            '0 wait req=0 from=1 fromtag=1 site=b',
                            '1 send peer=-1 tag=1 bytes=9 site=c v=1000',
                            '* iallreduce bytes=80 redop=sum req=0 site=d', '* wait req=0 site=e'),
     left_out=90)
case('persistent', 2,
     ['0 send_init peer=1 tag=1 bytes=90 req=0 site=a', '1 recv_init peer=-1 tag=1 bytes=90 req=0 '
      'site=b'] + each(100, '* start req=0 site=c v=3000', '* wait req=0 site=d',
                       '* barrier site=e') + ['* request_free req=0 site=f'], left_out=90)
case('probed', 2, each(100, '0 send peer=1 tag=1 bytes=9 site=a v=50000',
                       '1 probe peer=-1 tag=1 site=b', '1 recv peer=-1 tag=1 bytes=9 site=c',
                       '* barrier site=d'), left_out=80)
case('cancelled', 2,
     ['1 irecv peer=-1 tag=9 bytes=9 req=0 site=a', '1 cancel req=0 site=b',
      f'1 wait req=0 from={-2**63 + 1} fromtag={-2**63 + 1} site=c'] +
     each(100, '0 send peer=1 tag=1 bytes=9 site=d v=50000',
          '1 irecv peer=-1 tag=1 bytes=9 req=0 site=a', '1 wait req=0 site=c', '* barrier site=e'),
     left_out=90)


# ---- trips that differ and come again ----

def inner(rank, trips, period, short=None):
    """Steps that end with a sum; before it, ranks 0 and 1 exchange 21 messages.  These are 3 in one
    step of each period: the last one, or number `short`."""
    peer = 1 - 2 * rank
    short = period - 1 if short is None else short
    return times(trips, lambda i: (
        [] if rank > 1 else [
            f'{rank} irecv peer={peer} tag=1 bytes=2000 req=0 site=irecv v={1000 + 500 * rank}',
            f'{rank} isend peer={peer} tag=1 bytes=2000 req=1 site=isend',
            f'{rank} waitall all=1 site=waitall'] * (3 if i % period == short else 21)) + [
                f'{rank} allreduce bytes=8 redop=sum site=sum v=3000'])


case('inner', 2, [line for r in range(2) for line in inner(r, 200, 10)], left_out=120, period=10)
case('inner-some', 3, [line for r in range(3) for line in inner(r, 200, 10)], left_out=90,
     period=10)
case('inner-odd', 2, [line for r in range(2) for line in inner(r, 150, 7)], left_out=80, period=7)
for name, short in ('first-short', 0), ('last-short', 19):
    case(name, 2, [line for r in range(2) for line in inner(r, 20, 20, short)], left_out=250,
         period=1, options=('--trips', 'sum=300'))
random.seed(2)
draws = [random.randrange(1, 6) for _ in range(200)]
case('inner-apart', 2,
     [line for r in range(2) for line in times(200, lambda i, r=r: [
         f'{r} {["send", "recv"][r]} peer={1 - 2 * r} tag=1 bytes=9 site=a v={5000 + r}'] * draws[i]
         + [f'{r} barrier site=barrier'])])


def made_up(seed):
    """A program of 3 ranks that consists of closed steps, in loops within a loop."""
    draw = random.Random(seed)

    def step():
        a, b = draw.sample(range(3), 2)
        tag, size, burst = draw.randrange(3), draw.choice([8, 3000, 70000]), draw.randrange(10**5)
        kind = draw.choice(['message', 'exchange', 'sum', 'bcast', 'gather', 'compute'])
        if kind == 'message':
            return [f'{a} send peer={b - a} tag={tag} bytes={size} site=send v={burst}',
                    f'{b} recv peer={a - b} tag={tag} bytes={size} site=recv']
        if kind == 'exchange':
            return [line for x, y in ((a, b), (b, a)) for line in
                    (f'{x} irecv peer={y - x} tag={tag} bytes={size} req=0 site=irecv v={burst}',
                     f'{x} isend peer={y - x} tag={tag} bytes={size} req=1 site=isend',
                     f'{x} waitall all=1 site=waitall')]
        if kind == 'compute':
            return [f'{a} pcontrol level=1 v={burst} site=here']
        return [{'sum': f'* allreduce bytes={size} redop=sum site=sum v={burst}',
                 'bcast': f'* bcast bytes={size} root={a} site=bcast',
                 'gather': f'* gather bytes=40 rbytes=40 root={b} site=gather'}[kind]]

    parts = [(draw.choice([1, 1, 3, 12]), [line for _ in range(draw.randint(1, 3))
                                           for line in step()]) for _ in range(3)]
    return each(60, *(line for trips, body in parts for line in body * trips),
                '* barrier site=barrier')


for seed in range(12):
    case(f'made-up-{seed}', 3, made_up(seed), left_out=1)

# ---- bursts that differ ----

random.seed(1)
bursts = [[round(random.gauss(10**6, 3 * 10**4)) for _ in range(400)] for _ in range(2)]
noisy = times(400, lambda i: [f'{r} barrier site=here v={bursts[r][i]}' for r in range(2)])
case('noise', 2, noisy, left_out=300, options=('--steady=2%',), mean=True)
case('strict', 2, noisy, reason='did not converge', options=('--steady=0.01%',))
case('growing', 2, times(200, lambda i: [f'* barrier site=here v={1000000 + 10000 * i}']),
     reason='did not converge')
same = each(400, '* barrier site=here v=1000000')
case('drawn', 2, same, left_out=300, options=('--steady=2%', '--noise', 'burst:3%'), mean=True)
case('lasting', 2, same, left_out=390, options=('--noise', 'core:3%'))
case('free', 2, noisy, left_out=380, options=('--no-compute', '--steady'))

# ---- what must be simulated ----

case('changing', 2, times(100, lambda i: [f'0 send peer=1 tag=1 bytes={i * i} site=a v=500',
                                          f'1 recv peer=-1 tag=1 bytes={i * i} site=b']),
     reason='alike')
case('unmatched', 3,
     times(100, lambda i: [f'0 recv peer=any tag=1 bytes=9 from={1 + i * i // 7 % 2} fromtag=1 '
                           'site=a v=400']) +
     times(100, lambda i: [f'{1 + i * i // 7 % 2} send peer={-1 - i * i // 7 % 2} tag=1 bytes=9 '
                           'site=c']), reason='at the same time')
case('periods', 2,
     times(100, lambda i: ['0 send peer=1 tag=1 bytes=9 site=a v=500',
                           '0 send peer=1 tag=2 bytes=9 site=b v=500']) +
     times(100, lambda i: ['1 recv peer=-1 tag=1 bytes=9 site=a v=1000']) +
     times(100, lambda i: ['1 recv peer=-1 tag=2 bytes=9 site=b v=1000']), reason='complete')
case('makes', 2, ['* COMM 2 d 0,1'] +
     times(50, lambda i: ['* comm_dup comm=0 newcomm=2 site=a', '* barrier comm=2 site=b v=9000',
                          '* comm_free comm=2 site=c']), reason='make communicators')
case('windows', 2,
     ['* win_create comm=0 win=0 bytes=100 site=a', '* win_fence win=0 site=e'] +
     each(50, '0 put win=0 peer=1 bytes=8 site=b', '* win_fence win=0 site=c v=9000') +
     ['* win_free win=0 site=d'], reason='use files or windows')
case('open-wildcards', 2,
     ['0 irecv peer=any tag=1 bytes=9 req=0 site=a'] +
     times(100, lambda i: [f'0 irecv peer=any tag=1 bytes=9 req={1 - i % 2} site=a v=4000',
                           f'0 wait req={i % 2} from=1 fromtag=1 site=b',
                           '1 send peer=-1 tag=1 bytes=9 site=c v=4000', '* barrier site=d']) +
     ['1 send peer=-1 tag=1 bytes=9 site=e', '0 wait req=0 from=1 fromtag=1 site=f'],
     reason='complete')
case('idle', 3, times(100, lambda i: ['0-1 pcontrol level=1 v=10000 site=a']) + ['* barrier site=b'],
     reason='at the same time')
case('runs-ahead', 2, times(100, lambda i: ['0 send peer=1 tag=1 bytes=9 site=a v=50000',
                                            '1 recv peer=-1 tag=1 bytes=9 site=b v=100000']),
     reason='did not converge')
case('apart', 4, times(100, lambda i: ['0-1 COMM 2 c 0,1', '2-3 COMM 2 c 2,3',
                                       '* comm_split comm=0 color=0 key=0 newcomm=2 site=split']
                       if i == 0 else
                       ['0-1 allreduce comm=2 bytes=8 redop=sum site=a v=30000',
                        '2-3 allreduce comm=2 bytes=8 redop=sum site=a v=20000']),
     reason='did not converge')

# ---- what --steady cannot be given with ----

for options, word in ((('--engine', 'stock'), '--engine tiara'), (('--copies', '2'), 'one job'),
                      (('--links',), 'counts each message'), (('--wildcards', 'any'), 'alike'),
                      (('--steady=0',), 'not a share')):
    done = tool('ti-replay', '--steady', *options, f'{folder}/ring.m', status=2)
    if word not in done.stderr:
        fail(f'{options}: {done.stderr}')
done = tool('ti-replay', '--steady', f'{folder}/ring', status=3)
if 'ti-info --merge' not in done.stderr:
    fail(f'rank files: {done.stderr}')
sys.exit(failures > 0)
