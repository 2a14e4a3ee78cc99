"""Mutated traces: what `ti-replay --lint` passes, the replayers replay and `ti-info --verify` finds sound.

    replay_mutants.py BUILD FOLDER NUMBER [SEED]

What no check promises is left out: that ranks cannot block each other (a replay that ends in a deadlock
says so), that the mode of an epoch allows what is called in it (so modes stay as they are), and
that a transfer fits into the window of its target (another rank's trace has its size).

NUMBER mutants of the programs below are made, each with one change: another value of a field or in a
vector, an event left out, given twice or in another place.  They are scripts (tests/unit/script.h).
"""
import concurrent.futures
import os
import random
import shutil
import signal
import subprocess
import sys

PROGRAMS = {
    'messages': (3, """
0-1 send peer=1 tag=1 bytes=800 esize=8
1-2 recv peer=-1 tag=1 bytes=800 esize=8
0 isend peer=2 tag=2 bytes=70000 esize=4 req=0
2 irecv peer=any tag=2 bytes=80000 esize=4 req=0
0 wait req=0
2 wait req=0 from=-2 fromtag=2
0 isend peer=2 tag=7 bytes=8 esize=8 req=0
2 probe peer=-2 tag=7
2 iprobe peer=any tag=any from=-2 fromtag=7
0 recv peer=2 tag=8 bytes=8 esize=8
2 send peer=-2 tag=8 bytes=8 esize=8
2 recv peer=-2 tag=7 bytes=8 esize=8
0 wait req=0
0 ssend peer=1 tag=3 bytes=12 esize=12
1 mprobe peer=-1 tag=3 msg=0
1 mrecv peer=-1 tag=3 msg=0 bytes=12 esize=12
0 send_init peer=1 tag=4 bytes=100 esize=1 req=0
1 recv_init peer=-1 tag=4 bytes=100 esize=1 req=0
0-1 start req=0
0-1 wait req=0
0-1 startall v0=0
0-1 waitall v0=0
0-1 request_free req=0
* sendrecv peer=0 tag=5 bytes=16 esize=8 rpeer=0 rtag=5 rbytes=24 resize=8
0 bsend peer=2 tag=6 bytes=10
2 recv peer=-2 tag=6 bytes=10
"""),
    'collectives': (4, """
* barrier
* bcast root=1 bytes=4096 esize=8
* reduce root=2 bytes=800 esize=8 redop=1
* allreduce bytes=24 esize=8 redop=3
* gather root=0 bytes=40 esize=4 rbytes=40 resize=4
* scatter root=3 bytes=40 esize=4 rbytes=40 resize=4
* allgather bytes=16 esize=8 rbytes=16 resize=8
* alltoall bytes=16 esize=8 rbytes=16 resize=8
* alltoallv esize=4 resize=4 v0=1,2,3,4 v1=1,1,1,1
* alltoallw esize=1 resize=1 v0=4,4,4,4 v1=4,4,4,4
* allgatherv bytes=8 esize=4 resize=4 v0=2,2,2,2
* reduce_scatter redop=1 esize=8 v0=1,2,3,4
* reduce_scatter_block redop=2 esize=8 bytes=80
* scan redop=1 bytes=48 esize=12
* exscan redop=15 bytes=48 esize=16
* iallreduce bytes=80 esize=8 redop=1 req=0
* ibcast root=0 bytes=4 esize=4 req=1
* waitall v0=0,1
* bcast_init root=0 bytes=40 esize=4 req=0
* start req=0
* wait req=0
* request_free req=0
"""),
    'communicators': (4, """
* COMM 2 d 0,1,2,3
* comm_dup newcomm=2
0-1 COMM 3 p 0,1
2-3 COMM 3 p 2,3
0-1 comm_split comm=2 color=0 key=0 newcomm=3
2-3 comm_split comm=2 color=1 key=0 newcomm=3
* allreduce comm=3 bytes=8 esize=8 redop=1
* COMM 4 c 0,1,2,3
* cart_create comm=0 newcomm=4 reorder=0 v0=2,2 v1=1,1
* neighbor_allgather comm=4 bytes=8 esize=8 rbytes=8 resize=8
0 send comm=2 peer=3 tag=9 bytes=8 esize=8
3 recv comm=2 peer=-3 tag=9 bytes=8 esize=8
* comm_free comm=3
* comm_free comm=2
"""),
    'windows': (2, """
* win_create bytes=1024 esize=8 win=0
* win_fence win=0 mode=0
0 put win=0 peer=1 bytes=64 esize=8 rbytes=64 resize=8
1 accumulate win=0 peer=-1 bytes=64 esize=8 rbytes=64 resize=8 redop=1
* win_fence win=0 mode=0
0 win_lock win=0 peer=1 mode=0
0 get win=0 peer=1 bytes=24 esize=8 rbytes=24 resize=8
0 fetch_and_op win=0 peer=1 bytes=8 esize=8 redop=1
0 win_unlock win=0 peer=1
0 win_start win=0 mode=0 v0=1
1 win_post win=0 mode=0 v0=-1
0 put win=0 peer=1 bytes=8 esize=8 rbytes=8 resize=8
0 win_complete win=0
1 win_wait win=0
* win_lock_all win=0 mode=0
1 get win=0 peer=-1 bytes=8 esize=8 rbytes=8 resize=8
* win_unlock_all win=0
* win_free win=0
* file_open file=0 name=a mode=4
* file_set_view file=0 bytes=8 esize=8 offset=0
* file_write_all file=0 bytes=800 esize=8
0 file_read file=0 bytes=80 esize=8
* file_close file=0
"""),
}
LONGEST = 300  # seconds: far more than a mutant takes
ODD = ['-1', '0', '1', '2', '3', '7', '17', '99', '1000', '65536', '65537', '4831838208', '4831838209',
       '-4831838208', '9223372036854775807', '-9223372036854775808', 'any', 'null', 'self']


def expand(ranks, script):
    """The lines of each rank, so that a change is that of one rank."""
    lines = []
    for line in script.strip().split('\n'):
        who, rest = line.split(' ', 1)
        first, last = (0, ranks - 1) if who == '*' else (int(who.split('-')[0]), int(who.split('-')[-1]))
        lines += [line] if rest.startswith('COMM') else [f'{r} {rest}' for r in range(first, last + 1)]
    return lines


def change_value(chance, lines):
    """Another value of a field, or of an element of a vector."""
    at = chance.choice([i for i, line in enumerate(lines) if '=' in line and ' COMM ' not in line])
    words = lines[at].split(' ')
    which = chance.choice([i for i, word in enumerate(words) if '=' in word])
    key, value = words[which].split('=')
    if key in ('name', 'mode'):
        return lines[:at] + lines[at + 1:]
    values = value.split(',')
    element = chance.randrange(len(values))
    near = [str(int(values[element]) + d) for d in (-1, 1, 4)] if values[element].lstrip('-').isdigit() else []
    values[element] = chance.choice(ODD + 3 * near)
    words[which] = f'{key}={",".join(values)}'
    return lines[:at] + [' '.join(words)] + lines[at + 1:]


def change_everywhere(chance, lines):
    """The same change on all ranks that make the call: they still agree."""
    changed = change_value(chance, lines)
    at = next((i for i, line in enumerate(lines) if line != changed[i]), 0)
    old, new = lines[at].split(' ', 1)[1], changed[at].split(' ', 1)[1]
    return [f'{line.split(" ", 1)[0]} {new}' if line.split(' ', 1)[1] == old else line for line in lines]


def events(lines):
    return [i for i, line in enumerate(lines) if ' COMM ' not in line]


def leave_out(chance, lines):
    at = chance.choice(events(lines))
    return lines[:at] + lines[at + 1:]


def give_twice(chance, lines):
    at = chance.choice(events(lines))
    return lines[:at] + [lines[at]] + lines[at:]


def move(chance, lines):
    at = chance.choice(events(lines))
    rest = lines[:at] + lines[at + 1:]
    to = chance.choice(events(rest))
    return rest[:to] + [lines[at]] + rest[to:]


CHANGES = [change_value] * 3 + [change_everywhere] * 5 + [leave_out, give_twice, move]


def run(*command):
    """A process group of its own, so that a simulation that does not end is ended with ti-replay."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors='replace',
                          start_new_session=True) as process:
        try:
            out, err = process.communicate(timeout=LONGEST)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            out, err = process.communicate()
            err += 'it did not end'
    return subprocess.CompletedProcess(command, process.returncode, out, err)


def judge(build, folder, number, seed):
    """What is wrong with the verdicts about mutant `number`; None if they agree.  Whether it passed."""
    chance = random.Random(f'{seed} {number}')
    name = chance.choice(sorted(PROGRAMS))
    ranks, script = PROGRAMS[name]
    lines = expand(ranks, script)
    if number:  # the first one is as it was
        lines = chance.choice(CHANGES)(chance, lines)
    trace = os.path.join(folder, str(number))
    text = '\n'.join(['* init level=0'] + lines + ['* finalize', ''])
    made = subprocess.run([f'{build}/tests/mkscript', str(ranks), trace], input=text, capture_output=True,
                          text=True, check=False)
    if made.returncode:
        return f'mkscript: {made.stdout}{made.stderr}', False
    wrong = None
    replay = run(f'{build}/ti-replay', '--no-progress', trace)
    refused = replay.returncode == 3 and 'cannot be replayed' in replay.stderr
    if not refused:
        verify = run(f'{build}/ti-info', '-q', '--verify', trace)
        deadlock = replay.returncode == 3 and 'ran into a deadlock' in replay.stderr
        range_of_window = 'MPI_ERR_RMA_RANGE' in replay.stderr
        if replay.returncode and not deadlock and not range_of_window:
            wrong = f'status {replay.returncode}: {replay.stderr}'
        elif verify.returncode:
            wrong = f'--verify: {verify.stdout}'
    shutil.rmtree(trace, ignore_errors=True)
    if wrong:
        base = expand(ranks, script)
        wrong = f'mutant {number} of {name}, ' + '; '.join(sorted(set(lines) ^ set(base))) + f'\n    {wrong}'
    return wrong, not refused


def main():
    build, folder, number = sys.argv[1], sys.argv[2], int(sys.argv[3])
    seed = sys.argv[4] if len(sys.argv) > 4 else '1'
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        results = list(pool.map(lambda i: judge(build, folder, i, seed), range(number)))
    passed = sum(ok for _, ok in results)
    for wrong, _ in results:
        if wrong:
            print(wrong)
    print(f'{number} mutants, {passed} passed the check')
    if any(wrong for wrong, _ in results) or not 10 <= passed < number:
        sys.exit(1)


main()
