#!/bin/bash
# What `make install` put somewhere runs over two nodes of a hostfile that have neither
# it nor the build folder.
. tests/testbed/lib.bash
need_acquire
to=$scratch/dest/usr/local

env -u MAKEFLAGS -u MAKELEVEL make -s install O="$o" DESTDIR="$scratch/dest" prefix=/usr/local \
    >"$scratch/log" 2>&1 || { fail "make install"; cat "$scratch/log"; finish; }
mkdir "$scratch/programs"
"${MPICC:-mpicc}" -O1 -o "$scratch/programs/app" tests/cli/acquire-app.c || exit 1
cd "$scratch" || exit 1

bed_up --sites 2 --nodes 1 --memory 8GiB --share "$scratch/programs"
"$bed" hide all "$o"
"$bed" front mount -t tmpfs none "$o" || skip "a folder cannot be hidden on the front"
"$bed" node n1.site1 test ! -e "$o/ti-node" || fail "the build folder is on the nodes"
"$bed" front test ! -e "$o/ti-acquire" || fail "the build folder is on the front"
sed 's/$/ slots=2/' "$state/nodes" >hosts

counter=cputime
[ ! -e "$to/libexec/tiara/valgrind/ticount-amd64-linux" ] || counter=valgrind
front "$to/bin/ti-acquire" --hostfile hosts --np 4 -c $counter --mem-per-rank 64MiB --no-progress \
    -o app.tib programs/app ok >out 2>err </dev/null || { fail "ti-acquire: status $?"; cat out err; }
grep -q 'sent our files to 2 nodes' err || { fail "nothing was sent"; cat err; }
front "$to/bin/ti-info" -q --verify app.tib || fail "the bundle is not sound"
front "$to/bin/ti-info" --json app.tib >info
for n in n1.site1 n1.site2; do grep -q "\"$n\"" info || fail "$n took no part"; done
left=$("$bed" ps)
[ -z "$left" ] || fail "left on nodes: $left"
finish
