#!/bin/bash
# Eager messages under way: without the list that SimGrid 3.32 keeps of them, simulated times are
# those of SimGrid alone, in all digits.
# shellcheck source=tests/mpi/lib.sh
. tests/mpi/lib.sh
command -v smpirun >/dev/null || skip 'there is no smpirun'
[ -x "$TI_BUILD/ti-smpi-replay" ] || skip 'there is no ti-smpi-replay'
tmp=$scratch o=$TI_BUILD

# Says which nodes libti-smpi-preload.so leaves out of lists, since it stands before it.
cat >"$tmp/watch.c" <<'END'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
struct node { struct node *next, *prev; };
static long linked, left_out;
void _ZNSt8__detail15_List_node_base7_M_hookEPS0_(struct node *node, struct node *before)
{
    static void (*hook)(struct node *, struct node *);
    if (!hook)
        *(void **)&hook = dlsym(RTLD_NEXT, __func__);
    hook(node, before);
    *(before->prev == node ? &linked : &left_out) += 1;
}
__attribute__((destructor)) static void say(void)
{
    if (linked)
        printf("nodes left out: %ld\n", left_out);
}
END
cc -O1 -fPIC -shared -o "$tmp/watch.so" "$tmp/watch.c" 2>"$tmp/err" || { fail cc; cat "$tmp/err"; }

# Rank 0 is ahead of rank 1 by 300 messages, of which the last are received first, and ends before
# it.  Some receives are posted first; one message is above the eager limit, one is synchronous, and
# some are received from any rank.
script() {
    echo '* init level=0'
    for ((i = 0; i < 300; i++)); do
        echo "0 send peer=1 tag=$((i % 100)) bytes=$((100 + 7 * i)) esize=1 v=$((1000 + i))"
        echo "2 isend peer=-1 tag=500 bytes=$((90 + i)) esize=1 req=$i"
    done
    echo '0 send peer=1 tag=900 bytes=100000 esize=1'
    echo '0 ssend peer=1 tag=901 bytes=100 esize=1'
    echo '1 irecv peer=-1 tag=900 bytes=100000 esize=1 req=0 v=9000000'
    for ((tag = 99; tag >= 0; tag--)); do
        for ((i = tag; i < 300; i += 100)); do
            echo "1 recv peer=-1 tag=$tag bytes=$((100 + 7 * i)) esize=1 v=500"
            echo '1 recv peer=any from=1 tag=500 bytes=4000 esize=1'
        done
    done
    echo '1 wait req=0'
    echo '1 recv peer=-1 tag=901 bytes=100 esize=1'
    for ((i = 0; i < 300; i++)); do echo "2 wait req=$i"; done
    echo '* finalize'
}
script >"$tmp/script"
"$o/tests/mkscript" 3 "$tmp/t" <"$tmp/script" >"$tmp/out" 2>&1 || { fail mkscript; cat "$tmp/out"; }

# clock: the end on the clock, in the output of a replay
clock() { sed -n 's/^clock at end: *\([0-9.]*\) s$/\1/p' "$tmp/out"; }
# same OPTION...: the kept command with the library, and without, says the same
same() {
    local with without
    rm -rf "$tmp/kept"
    "$o/ti-replay" "$tmp/t" --keep "$tmp/kept" "$@" >"$tmp/out" 2>&1 || { fail "replay $*"; cat "$tmp/out"; }
    with=$(clock)
    sed 's/env LD_PRELOAD=[^ ]*//' "$tmp/kept/command" >"$tmp/kept/alone"
    cmp -s "$tmp/kept/command" "$tmp/kept/alone" && fail 'nothing was preloaded'
    sh "$tmp/kept/alone" >"$tmp/out" 2>&1 || { fail "SimGrid alone, $*"; cat "$tmp/out"; }
    without=$(clock)
    [ -n "$with" ] && [ "$with" = "$without" ] || fail "$*: '$with', SimGrid alone '$without'"
}
same
same --cfg smpi/async-small-thresh:2000
same --wildcards any
same --ranks-per-host 2 --cfg smpi/send-is-detached-thresh:150000

# SimGrid 3.32 makes a node for each of the 601 eager sends here; later versions make none.
sed "s|env LD_PRELOAD='|&$tmp/watch.so:|" "$tmp/kept/command" >"$tmp/kept/watched"
sh "$tmp/kept/watched" >"$tmp/out" 2>&1 || { fail watched; cat "$tmp/out"; }
out=$(sed -n 's/^nodes left out: //p' "$tmp/out" | sort -g | tail -n 1)
version=$(smpirun --version 2>&1 | sed -n 's/^SimGrid version //p')
case $version in
    3.32*) [ "$out" = 601 ] || fail "SimGrid $version: ${out:-no} nodes were left out" ;;
    *) echo "SimGrid $version: ${out:-no} nodes were left out" ;;
esac
finish
