#!/bin/bash
# The library never harms the application: whatever happens to it or to the
# trace, outputs, status and results are as without it.
# tests/run: waits
# shellcheck source=tests/mpi/lib.sh
. tests/mpi/lib.sh

program=$TI_BUILD/tests/mpi/harmless
library=$TI_BUILD/libminitrace.so

# Run PROGRAM ARGUMENT... untraced into $scratch/bare.{out,err,rc}.
bare() {
    mpirun -np 2 "$@" >"$scratch/bare.out" 2>"$scratch/bare.err"
    echo $? >"$scratch/bare.rc"
}

# The same traced into $dir, into $scratch/traced.{out,err,rc}.
dir=$scratch/trace
traced() {
    rm -rf "$dir"
    trace "$dir" 2 cputime "$@" >"$scratch/traced.out" 2>"$scratch/traced.err"
    echo $? >"$scratch/traced.rc"
}

# How the library says on stderr what went wrong, once.
says() {
    local lines
    lines=$(grep -c '^tiara: ' "$scratch/traced.err")
    [ "$lines" = 1 ] || fail "$2: $lines lines on stderr"
    grep -q "^tiara: .*$1" "$scratch/traced.err" || fail "$2: stderr does not say '$1'"
}

ends() { # WORDS RANK TITLE: what ti-info says of the end of RANK's trace
    dump "$dir" "$2" >"$scratch/events" 2>"$scratch/end"
    [ -s "$scratch/events" ] || fail "$3: no events of rank $2"
    if [ -n "$1" ]; then
        grep -q "$1" "$scratch/end" || fail "$3: the trace of rank $2 does not end by '$1'"
    elif [ -s "$scratch/end" ]; then
        fail "$3: the trace of rank $2: $(cat "$scratch/end")"
    fi
}

# Programs without MPI, and MPI programs that do not start it.
for run in "/bin/echo hello" "sh -c 'echo hello; echo hi >&2; exit 3'" \
    "sh -c 'true | cat; ls /none'" "$program no-mpi"; do
    bash -c "$run" >"$scratch/bare.out" 2>"$scratch/bare.err"
    echo $? >"$scratch/bare.rc"
    LD_PRELOAD=$library TIARA_TRACE_DIR=$dir bash -c "$run" >"$scratch/traced.out" \
        2>"$scratch/traced.err"
    echo $? >"$scratch/traced.rc"
    for what in out err rc; do
        same "$scratch/bare.$what" "$scratch/traced.$what" "$run: $what"
    done
    [ ! -e "$dir" ] || fail "$run: a trace"
done

# Good runs: outputs, status, and which calls change errno, to the byte.
for what in output children funneled errno single multiple descriptor; do
    bare "$program" $what
    traced "$program" $what
    for file in out err rc; do
        same "$scratch/bare.$file" "$scratch/traced.$file" "$what: $file"
    done
    [ "$(cat "$scratch/bare.rc")" = 0 ] || fail "$what: not even untraced"
    ends '' 0 $what
    ends '' 1 $what
done

# Errors that MPI returns.
for how in '' handler; do
    # shellcheck disable=SC2086  # none or one
    bare "$TI_BUILD/tests/mpi/errors" $how
    # shellcheck disable=SC2086
    traced "$TI_BUILD/tests/mpi/errors" $how
    for file in out err rc; do
        same "$scratch/bare.$file" "$scratch/traced.$file" "errors $how: $file"
    done
done

# The level of threads is in the trace.
for level in single:0 funneled:1 serialized:2 multiple:3; do
    mkdir "$scratch/$level"
    TIARA_EXPECT=$scratch/$level MPIRUN='-x TIARA_EXPECT' traced "$program" ${level%:*}
    dump "$dir" 0 --no-volumes | head -n 1 >"$scratch/found"
    same <(head -n 1 "$scratch/$level/rank-0") "$scratch/found" "level $level"
done

# Ends of all kinds.  mpirun ends other ranks when one fails, so np is 1 in what
# is asked of the trace.
for end in return:5:without exit:6:without _exit:7:cut orphan:7:cut kill:134:cut abort:8:Abort; do
    IFS=: read -r what status words <<<"$end"
    rm -rf "$dir"
    trace "$dir" 1 cputime "$program" "$what" >"$scratch/out" 2>&1
    rc=$?
    [ $rc = "$status" ] || fail "$what: status $rc"
    if grep '^tiara:' "$scratch/out"; then fail "$what: the library says something"; fi
    dump "$dir" 0 >"$scratch/events" 2>"$scratch/end"
    grep -q "$words" "$scratch/end" || fail "$what: the trace ends by: $(cat "$scratch/end")"
    events=$(wc -l <"$scratch/events")
    case $what in
        return | exit) [ "$events" = 301 ] || fail "$what: $events events" ;;
        abort) [ "$(tail -n 1 "$scratch/events" | cut -d' ' -f2-)" = "abort comm=0 level=8" ] ||
            fail "abort: ends with $(tail -n 1 "$scratch/events")" ;;
        *) [ "$events" -ge 128 ] || fail "$what: only $events events" ;;
    esac
done

# MPI_Abort in a signal handler, at any time: events are missing, none is damaged.
for _ in 1 2 3 4 5 6; do
    rm -rf "$dir"
    trace "$dir" 1 cputime "$program" alarmed >"$scratch/out" 2>&1
    dump "$dir" 0 >"$scratch/events" 2>"$scratch/end"
    if grep -q damaged "$scratch/end"; then fail "alarmed: $(cat "$scratch/end")"; fi
    [ "$(wc -l <"$scratch/events")" -ge 128 ] || fail "alarmed: next to no events"
done

# MPI calls from two threads at a time.
for _ in 1 2 3; do
    traced "$program" threads
    [ "$(cat "$scratch/traced.rc")" = 0 ] || fail "threads: status $(cat "$scratch/traced.rc")"
    says 'second thread' threads
    ends 'stopped' 0 threads
done

# Calls that cannot be followed.
traced "$program" strangers
[ "$(cat "$scratch/traced.rc")" = 0 ] || fail "strangers: status $(cat "$scratch/traced.rc")"
says 'MPI_Waitall, after event 1: a request that no traced call made' strangers
ends 'stopped' 0 strangers

traced "$program" huge
[ "$(cat "$scratch/traced.rc")" = 0 ] || fail "huge: status $(cat "$scratch/traced.rc")"
says 'MPI_Send, after event 6: 2^63 bytes or more' huge
ends 'stopped' 0 huge

# No trace can be written at all.
fruitless() { # TITLE
    [ "$(cat "$scratch/traced.rc")" = 0 ] || fail "$1: status $(cat "$scratch/traced.rc")"
    same "$scratch/bare.out" "$scratch/traced.out" "$1: out"
    grep -v '^tiara: ' "$scratch/traced.err" >"$scratch/rest"
    same "$scratch/bare.err" "$scratch/rest" "$1: err"
}
bare "$program" output
dir=$scratch/no/such/folder traced "$program" output
fruitless 'missing folder'
says "nothing is recorded.*No such file" 'missing folder'
echo >"$scratch/file"
trace "$scratch/file" 2 cputime "$program" output >"$scratch/traced.out" 2>"$scratch/traced.err"
echo $? >"$scratch/traced.rc"
fruitless 'a file'
says 'nothing is recorded.*Not a directory' 'a file'
traced "$program" output
cp -a "$dir" "$scratch/kept"
trace "$dir" 2 cputime "$program" output >"$scratch/traced.out" 2>"$scratch/traced.err"
echo $? >"$scratch/traced.rc"
fruitless 'a used folder'
says 'nothing is recorded.*holds the traces of another run; hint: remove it' 'a used folder'
diff -r "$dir" "$scratch/kept" || fail 'a used folder: its traces changed'
trace "$dir" 3 cputime "$program" output >/dev/null 2>&1
diff -r "$dir" "$scratch/kept" || fail 'a used folder, more ranks: its traces changed'
rm -rf "$dir"
trace "$dir" 2 abacus "$program" output >"$scratch/traced.out" 2>"$scratch/traced.err"
echo $? >"$scratch/traced.rc"
fruitless 'an unknown counter'
says "nothing is recorded: unknown counter 'abacus'; hint: choose auto" 'an unknown counter'

# A limit on the size of files.
rm -rf "$dir"
traced "$program" limited
[ "$(cat "$scratch/traced.rc")" = 0 ] || fail "limited files: status $(cat "$scratch/traced.rc")"
says 'recording stopped.*File too large' 'limited files'
ends 'incomplete' 0 'limited files'

# The disk fills up, at once or after a while.
if [ "$(id -u)" = 0 ] && mkdir "$scratch/small" &&
    mount -t tmpfs -o size=256k tmpfs "$scratch/small" 2>/dev/null; then
    trap 'umount "$scratch/small"; rm -rf "$scratch"' EXIT
    dir=$scratch/small/trace
    for size in 24K 4K 16M; do
        TIARA_BUFFER=$size MPIRUN="-x TIARA_BUFFER" traced "$program" noisy
        [ "$(cat "$scratch/traced.rc")" = 0 ] || fail "full disk, $size: status $(cat "$scratch/traced.rc")"
        same <(echo 'errno was changed 0 times') "$scratch/traced.out" "full disk, $size: out"
        says 'recording stopped.*No space left' "full disk, $size"
        for rank in 0 1; do
            ends 'incomplete' $rank "full disk, $size"
            head -n 1 "$scratch/events" | grep -q ' init level=0$' || fail "full disk, $size: no beginning"
            [ "$(wc -l <"$scratch/events")" -gt 1000 ] || fail "full disk, $size: next to nothing is left"
        done
    done
    rm -rf "$dir"
    dd if=/dev/zero of="$scratch/small/filler" bs=4096 2>/dev/null
    bare "$program" output
    traced "$program" output
    fruitless 'full from the start'
    says 'No space left' 'full from the start'
else
    echo 'not tried: a full disk, which takes root and mount'
fi
finish
