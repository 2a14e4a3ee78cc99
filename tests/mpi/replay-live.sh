#!/bin/bash
# Round trips: what a program does is recorded, replayed live, and recorded again in the replay.
# The second trace is the first but for volumes.  With each MPI library; and what the replay
# refuses, its volumes, and its files.
# tests/run: long
# shellcheck source=tests/mpi/lib.sh
. tests/mpi/lib.sh
tmp=$scratch o=$TI_BUILD
replayer=$o/ti-live-replay
if [ "$MPI" = mpich ]; then replayer=$built/ti-live-replay; fi
[ -x "$replayer" ] || skip "$replayer was not built"
export OMPI_MCA_osc=${OMPI_MCA_osc:-^rdma} # see rma.sh
export TIARA_QUIET=1
MPIRUN=$(pass TIARA_QUIET)
[ "$MPI" = mpich ] || MPIRUN="$MPIRUN --oversubscribe"
mkdir "$tmp/windows" "$tmp/cwd"

# replay NP OPTION... TRACE: live, in a folder of its own, traced into $tmp/two.
replay() {
    local np=$1
    shift
    rm -rf "$tmp/two"
    (cd "$tmp/cwd" && trace "$tmp/two" "$np" cputime "$replayer" "$@") >"$tmp/out" 2>&1
}

# alike NP WORDS: both traces are equal but for volumes, and where the files are.
alike() {
    local rank
    for ((rank = 0; rank < $1; rank++)); do
        dump "$tmp/one" $rank --no-volumes | sed 's|name="/*|name="|' >"$tmp/expected"
        dump "$tmp/two" $rank --no-volumes | sed 's|name="ti-live-replay.files/|name="|' >"$tmp/found"
        same "$tmp/expected" "$tmp/found" "$2: events of rank $rank"
    done
}

# resolve FILE...: events, as if each receive with a wildcard had named what it matched, to
# FILE.resolved.  Persistent receives keep theirs, since each of their starts can match another
# message.
resolve() {
    python3 - "$@" <<'END'
import re, sys
def field(text, name):
    found = re.search(r'(?<= )%s=(\S+)' % name, text)
    return found and found.group(1)
def resolved(file):
    lines, open_ = [], {}
    def name(at, peer, tag):
        r = 'r' if 'rpeer=' in lines[at] else ''
        lines[at] = re.sub(r' %speer=any' % r, ' %speer=%s' % (r, peer), lines[at])
        lines[at] = re.sub(r' %stag=any' % r, ' %stag=%s' % (r, tag), lines[at])
    for text in file:
        text = re.sub(r'((peer|from)=[-+]\d+)\(\d+\)', r'\1', text.rstrip('\n'))
        op, at = text.split(' ')[0], len(lines)
        lines.append(text)
        wild = re.search(r'(peer|tag)=any', text)
        if field(text, 'req') and field(text, 'comm'):
            open_[field(text, 'req')] = at if wild and not op.endswith('_init') else None
        source = field(text, 'from')
        if wild and source:
            lines[at] = re.sub(r' from=\S+ fromtag=\S+', '', lines[at])
            name(at, source, field(text, 'fromtag'))
        elif source and source != 'null' and open_.get(field(text, 'req')) is not None:
            lines[at] = re.sub(r' from=\S+ fromtag=\S+', '', lines[at])
            name(open_[field(text, 'req')], source, field(text, 'fromtag'))
        kept = []
        for triple in (re.search(r' matched=\[(.*)\]', text) or [0, ''])[1].split(','):
            req, _, match = triple.partition(':')
            if triple and (match.startswith('null') or open_.get(req) is None):
                kept.append(triple)
            elif triple:
                name(open_[req], *match.split(':'))
        new = ' matched=[%s]' % ','.join(kept) if kept else ''
        lines[at] = re.sub(r' matched=\[.*\]', new, lines[at])
    answered = set()  # a probe that finds the same again is no event (event/event.h)
    for text in lines:
        if not text.startswith(('probe ', 'iprobe ')):
            answered = set()
        elif text in answered:
            continue
        answered.add(text)
        yield text
for path in sys.argv[1:]:
    with open(path) as file, open(path + '.resolved', 'w') as out:
        out.writelines(text + '\n' for text in resolved(file))
END
}

# alike_resolved NP WORDS: the same, where the replay posted the sources that matched.
alike_resolved() {
    local rank
    rm -rf "$tmp/events"
    mkdir "$tmp/events"
    for ((rank = 0; rank < $1; rank++)); do
        dump "$tmp/one" $rank --no-volumes >"$tmp/events/$rank.expected"
        dump "$tmp/two" $rank --no-volumes >"$tmp/events/$rank.found"
    done
    resolve "$tmp/events"/*
    for ((rank = 0; rank < $1; rank++)); do
        same "$tmp/events/$rank.expected.resolved" "$tmp/events/$rank.found.resolved" \
            "$2: events of rank $rank, resolved"
    done
}

# acquire NP PROGRAM ARGUMENT...: into $tmp/one; false where MPICH's own faults end the program.
acquire() {
    local np=$1
    shift
    rm -rf "$tmp/one" "$tmp/files"
    mkdir "$tmp/files"
    trace "$tmp/one" "$np" cputime "$@" >"$tmp/out" 2>&1 && return
    if [ "$MPI" = mpich ]; then
        echo "$(basename "$1"): MPICH fails"
        return 1
    fi
    fail "$* on $np ranks"
    tail -n 5 "$tmp/out"
    return 1
}

trips=0
# trip NP PROGRAM ARGUMENT...: one round trip with the wildcards of the program; false if it was none.
trip() {
    local what
    what="$(basename "$2") ${*:3}"
    acquire "$@" || return 1
    if ! replay "$1" -q --bursts none --wildcards any "$tmp/one"; then
        fail "$what: the replay"
        tail -n 5 "$tmp/out"
        return 1
    fi
    alike "$1" "$what"
    [ -z "$(ls -A "$tmp/cwd")" ] || { fail "$what leaves $(ls -A "$tmp/cwd")"; rm -rf "$tmp/cwd/"*; }
    trips=$((trips + 1))
}

# once_more NP WORDS: of what was just acquired, with the sources that matched.
once_more() {
    replay "$1" -q --bursts none "$tmp/one" || { fail "$2: --wildcards matched"; tail -n 5 "$tmp/out"; return; }
    alike_resolved "$1" "$2, matched"
}

# ---- the programs of this folder ----

cat >"$tmp/list" <<END
3 bottom
2 bursts $tmp/bursts
2 callbacks $tmp/callbacks
3 cancel
3 collectives
3 collseq
3 comms
3 completions
4 creations
3 datatypes
3 disk split 1000 $tmp/files
3 disk iwrite 1000 $tmp/files
4 faces 8 8 8
3 regular plain
3 regular fork
2 foreign alternate
3 fork
2 harmless output
3 icollectives
4 intercoll
3 interp2p
3 io all $tmp/files
3 io sequence $tmp/files
2 jump handler
2 late_idup
3 matched
3 neighbors
3 nodes 0
1 outstanding 500
3 p2p
3 persistent
2 polling 1 1
1 random 1 60
1 random 2 60
1 random 3 60
3 reqseq
3 requests
3 rma sequence
3 rma shown $tmp/windows
3 sequence
2 threads second serialized
2 threads allowed multiple
3 times
3 wavefront
END
[ "$MPI" = openmpi ] || cat >"$tmp/list" <<END
3 cancel
3 comms
3 creations
3 datatypes
3 collectives
3 icollectives
4 intercoll
3 io all $tmp/files
3 matched
3 mpi4
3 neighbors
3 nodes 0
3 p2p
3 persistent
1 random 1 60
3 requests
3 rma shown $tmp/windows
3 sequence
3 ring
END
# Programs without a round trip here, and why:
#   anybody                      what its wildcards match is a matter of time: see below
#   cancelled                    its ranks meet by PMPI, which is not traced
#   errors, completions errors   calls that fail leave no event, so messages lack their partner
#   jump nested, ...             recording stops: the trace is not complete
#   killed, regular abort, ...   ranks do not come to their end
#   mpi4, mpi41                  Open MPI 4 has nothing of them
#   outside, residuals, misses   not without valgrind, an MPI library of their own, other arguments
#   papi                         the same calls as others, and PAPI need not be there
#   pcontrol, random SEED 5000   what MPI_Pcontrol(0) hides is missing to the rest: messages
#   rma all                      the same: a lock
#   io short                     Open MPI's ompio never comes back from it (io.sh)
#   stranger                     recording stops
#   untraced                     untraced calls
# Programs in Fortran leave the events of those in C (bindings.sh and others).
none='anybody cancelled errors killed mpi4 mpi41 outside residuals misses papi pcontrol stranger untraced'
for program in tests/mpi/*.c; do
    name=$(basename "$program" .c)
    [ "$MPI" = mpich ] || grep -q "^[0-9]* $name\>" "$tmp/list" || grep -q "\<$name\>" <<<"$none" ||
        fail "$name: no round trip, and no reason"
done
while read -r np program arguments; do
    [ -x "$built/$program" ] || { fail "$program was not built"; continue; }
    # shellcheck disable=SC2086  # words are meant
    trip "$np" "$built/$program" $arguments </dev/null || continue
    case $program in
        p2p | requests | persistent | matched | completions | interp2p | reqseq | cancel)
            once_more "$np" "$program" </dev/null ;;
    esac
done <"$tmp/list"
echo "$trips round trips with $MPI"
if [ "$MPI" = mpich ]; then
    [ $trips -ge 12 ] || fail "only $trips programs run with this MPICH"
    finish
fi

acquire 3 "$built/anybody" && once_more 3 anybody

# A trace that cannot be replayed is refused by rank 0, before it begins.
refuses() { # STATUS TEXT NP OPTION... TRACE
    local want=$1 text=$2 rc
    shift 2
    replay "$@"
    rc=$?
    [ $rc -eq "$want" ] || fail "status $rc, not $want: $*"
    [ "$(grep -c -- "$text" "$tmp/out")" -eq 1 ] || { fail "does not say once '$text': $*"; cat "$tmp/out"; }
    [ -z "$(ls -A "$tmp/cwd")" ] || fail "leaves $(ls -A "$tmp/cwd"): $*"
}
for what in untraced pcontrol 'jump nested' 'completions errors' 'rma stranger'; do
    # shellcheck disable=SC2086  # words are meant
    trace "$tmp/refused" 2 cputime $built/$what >/dev/null 2>&1
    refuses 3 'cannot be replayed$' 2 "$tmp/refused"
    rm -rf "$tmp/refused"
done
trace "$tmp/refused" 1 cputime "$built/jump" abort >/dev/null 2>&1
refuses 3 'cannot be replayed$' 1 "$tmp/refused"

# ---- the examples, with their computation and without ----

for example in ring:4 lu:8:S:3 stencil:4:48:10 is:8 cg:4 master_worker:5 hybrid:4; do
    IFS=: read -r name np a b <<<"$example"
    # shellcheck disable=SC2086  # words are meant
    acquire "$np" "$examples/$name" $a $b || continue
    for how in none loop; do
        replay "$np" --bursts $how "$tmp/one" || { fail "$name, $how"; tail -n 5 "$tmp/out"; }
        [ "$(grep -c '^wall time: [0-9.]* s$' "$tmp/out")" = 1 ] || { fail "$name, $how"; cat "$tmp/out"; }
        alike_resolved "$np" "$name, $how"
    done
done

# ---- bursts ----

# A burst is executed as so many instructions, and what the replay does for an event is added: some
# 750.  The first burst has the start of the replay in it, and the last one its end.
allowed=1500
if exact_counter; then
    trace "$tmp/exact" 2 valgrind "$examples/ring" 5 1000 100000 >"$tmp/out" 2>&1 || fail 'ring, counted'
    trace "$tmp/again" 2 valgrind "$replayer" -q "$tmp/exact" >"$tmp/out" 2>&1 || fail 'its replay, counted'
    for rank in 0 1; do
        dump "$tmp/exact" $rank | cut -d' ' -f1,2 >"$tmp/expected"
        dump "$tmp/again" $rank | cut -d' ' -f1,2 >"$tmp/found"
        paste -d' ' "$tmp/expected" "$tmp/found" | sed -e 1,2d -e '$d' | awk -v allowed=$allowed '
            { d = $3 - $1; if (d > worst) worst = d; if (d < 0 || d > allowed || $2 != $4) bad = 1; n++ }
            END { print n " bursts, up to " worst " instructions more"; exit bad || n < 9 }' ||
            { fail "volumes of rank $rank"; paste -d' ' "$tmp/expected" "$tmp/found"; }
    done
else
    echo 'volumes were not compared: no exact counter here'
fi

# Sleeping and measured times take as long as they must.
trace "$tmp/ns" 2 cputime "$examples/ring" 1 1000 20000000 >"$tmp/out" 2>&1 || fail 'ring'
replay 2 --bursts sleep --speed 1e7 "$tmp/ns" || fail '--bursts sleep'
awk '/^wall time/ { seen = $3 > 0.2 } END { exit !seen }' "$tmp/out" || { fail 'does not sleep'; cat "$tmp/out"; }

# ---- memory ----

# What is offered to MPI is not touched: 1 GiB for buffered sends, and dynamic windows.
"$o/tests/mkscript" 1 "$tmp/offers" <<'END' || fail mkscript
0 init level=0
0 bsend peer=0 tag=1 bytes=8 esize=8
0 recv peer=0 tag=1 bytes=8 esize=8
0 win_create_dynamic win=0
0 win_free win=0
0 finalize
END
cat >"$tmp/most.py" <<'END'
import resource, subprocess, sys
status = subprocess.run(sys.argv[2:]).returncode
with open(sys.argv[1], "w") as out:
    print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024, file=out)
sys.exit(status)
END
LAUNCH="python3 $tmp/most.py $tmp/mib" replay 1 "$tmp/offers" || { fail 'buffered sends'; cat "$tmp/out"; }
[ "$(cat "$tmp/mib")" -lt 512 ] || fail "a rank takes $(cat "$tmp/mib") MiB"

# ---- what is wrong ----

one=$tmp/exact.run
trace "$one" 4 cputime "$examples/stencil" 48 10 >"$tmp/out" 2>&1 || fail stencil
"$o/ti-gather" -q "$one" -o "$tmp/one.tib" || fail ti-gather
replay 4 -q "$tmp/one.tib" || fail 'a bundle is not replayed'
[ ! -s "$tmp/out" ] || { fail '--quiet says something'; cat "$tmp/out"; }
refuses 3 'trace of 4 ranks, it cannot be replayed by 3$' 3 "$one"
refuses 2 "option '--no-such'" 2 --no-such "$one"
refuses 2 'no trace given' 3
refuses 2 "not 'run'" 2 --bursts run "$one"
refuses 2 "'-1' is not a positive number" 2 --bursts sleep --speed -1 "$one"
refuses 4 'nothing.*No such file' 3 "$tmp/nothing"
head -c -1000 "$tmp/one.tib" >"$tmp/cut.tib"
refuses 3 'no central directory' 4 "$tmp/cut.tib"
cp -r "$one" "$tmp/short"
truncate -s -40 "$tmp/short/rank-000001.ti"
refuses 3 'rank 1: its trace is not complete' 4 "$tmp/short"
refuses 3 'rank 1: its trace was cut off' 4 --no-check "$tmp/short"
"$o/tests/mkscript" 2 "$tmp/beyond" <<'END' || fail mkscript
* init level=0
* win_create bytes=8 esize=8 win=0
* win_fence win=0 mode=0
0 put win=0 peer=1 bytes=16 esize=8 rbytes=16 resize=8
* win_fence win=0 mode=0
* win_free win=0
* finalize
END
refuses 3 "rank 0, event 3 (put): its target's window has 8 bytes only" 2 "$tmp/beyond"
rm "$tmp/short/rank-000001.ti"
refuses 3 'rank 1: its trace is missing' 4 "$tmp/short"

# ---- files ----

# Nothing is touched but what is below one folder, which stays if it was there.
acquire 2 "$built/io" all "$tmp/files" || fail io
rm -rf "$tmp/files"
mkdir "$tmp/cwd/mine"
replay 2 -q --bursts none --files mine "$tmp/one" || { fail '--files'; tail -n 5 "$tmp/out"; }
[ -s "$tmp/cwd/mine$tmp/files/data" ] || fail '--files: there is no file'
[ "$(ls -A "$tmp/cwd")" = mine ] || fail "--files leaves $(ls -A "$tmp/cwd")"
[ ! -e "$tmp/files" ] || fail 'the replay wrote where the program did'
rm -r "$tmp/cwd/mine"
replay 2 -q --bursts none --files "$tmp/cwd/yours" "$tmp/one" || fail '--files, a new folder'
[ -z "$(ls -A "$tmp/cwd")" ] || fail "--files: a new folder is not removed"
# A link of another user in a folder that everybody can write to is not followed.
if [ "$(id -u)" = 0 ]; then
    mkdir -m 1777 "$tmp/open"
    ln -s ../cwd "$tmp/open/link"
    chown -h 65534 "$tmp/open/link"
    replay 2 -q --bursts none --files "$tmp/open/link" "$tmp/one" && fail "--files: another user's link"
    grep -qF "'$tmp/open/link' belongs to another user, in a folder that everybody can write to" "$tmp/out" ||
        fail "--files, another user's link: $(cat "$tmp/out")"
    [ -z "$(ls -A "$tmp/cwd")" ] || fail "--files: another user's link was followed"
fi

# ---- with the other MPI library ----

# (What MPICH's programs preload would have to come behind a sanitizer's library.)
if [ -x "$o/tests/mpich/ti-live-replay" ] && command -v mpirun.mpich >/dev/null &&
    ! ldd "$o/tests/mpich/ti-live-replay" | grep -q libasan; then
    MPI=mpich bash "$0" || fail 'the same with MPICH'
fi
finish
