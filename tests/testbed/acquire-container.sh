#!/bin/bash
# ti-acquire --container on nodes: the containers of Podman are on each node, whose storage of images
# is its own here.
# tests/run: waits
. tests/testbed/lib.bash
need_acquire
. tests/cli/image-lib.bash
command -v podman >/dev/null || skip "there is no podman"
command -v ompi_info >/dev/null || skip "there is no ompi_info, which says what belongs into the image"
case $o in *build) ;; *) skip "not with sanitizers, whose libraries the image lacks" ;; esac
[ -e /usr/share/containers/containers.conf ] || skip "there is no containers.conf to replace on nodes"
cd "$scratch" || exit 1
image=localhost/tiara-test
root=$scratch/root
image_folders "$root"
mpicc -O1 -I"$top" -o "$root/usr/bin/ring" "$top"/examples/{ring,example,burst}.c -lm || { fail "mpicc"; finish; }
cp "$root/usr/bin/ring" .
fill_image "$root" log || { fail "the image"; cat log; finish; }
tar -c -C "$root" -f image.tar . && rm -r "$root"
bed_up --nodes 3

# Podman on a node: its storage is on the disk of /tmp, and the groups of the machine are mounted.
cat >containers.conf <<.
[containers]
default_ulimits = ["nofile=1024:$(ulimit -Hn)", "nproc=8192:8192"]
[engine]
cgroup_manager = "cgroupfs"
events_logger = "none"
.
groups=$(awk '$3 == "cgroup" { n = split($2, part, "/"); print part[n] }' /proc/mounts | grep -v systemd)
while read -r n; do
    "$bed" replace "$n" /usr/share/containers/containers.conf "$scratch/containers.conf"
    # shellcheck disable=SC2086,SC2016
    "$bed" node "$n" sh -c 'mkdir -p /tmp/store /var/lib/containers; mount --bind /tmp/store /var/lib/containers
        [ $# -gt 0 ] || { mount -t cgroup2 cgroup2 /sys/fs/cgroup; exit; }
        mount -t tmpfs -o mode=755 tmpfs /sys/fs/cgroup
        for c; do mkdir /sys/fs/cgroup/$c; mount -t cgroup -o $c cgroup /sys/fs/cgroup/$c; done' sh $groups || skip "no groups on nodes"
done <"$state/nodes"
"$bed" node n1.site1 podman import - $image <image.tar >said 2>&1 || skip "podman import: $(tail -n 1 said)"
"$bed" node n1.site1 podman save $image >saved.tar 2>said && "$bed" node n2.site1 podman load <saved.tar >said 2>&1 ||
    { fail "podman save, load"; cat said; finish; }
for n in n1.site1 n2.site1; do
    "$bed" node $n podman run --rm --network=host --pid=host $image true >said 2>&1 ||
        skip "podman runs no container on a node: $(tail -n 1 said)"
done
acquire=(front "$o/ti-acquire" --sites "$state/sites.conf" --no-progress --mem-per-rank 200MiB --container "$image")

# A node without the image, and one with another image of that name.
"${acquire[@]}" -c cputime --np 6 -o bad.tib ring 1 >out 2>err
[ $? -eq 3 ] && grep -q "n3.site1.*: Podman has no image '$image'" err || { fail "n3.site1 lacks the image"; cat err; }
grep -q 'n[12].site1 (' err && { fail "a node with the image is refused"; cat err; }
"$bed" node n3.site1 podman import - $image <image.tar >said 2>&1
"${acquire[@]}" -c cputime --np 6 -o bad.tib ring 1 >out 2>err
[ $? -eq 3 ] && grep -q 'n3.site1.*is another one: not .* as on 2 nodes' err || { fail "n3.site1 has another image"; cat err; }
acquire+=(--exclude n3.site1)

# Six ranks on two nodes of two cores: the events are those without containers and nodes.
"${acquire[@]}" -c cputime --np 6 -o nodes.tib ring 3 1000 >out 2>err || { fail "the run"; cat out err; finish; }
grep -q 'ring: 3 turns, 6 ranks: verified' out || { fail "ring says nothing"; cat out; }
grep -q 'F-2: 6 ranks on 2 nodes' err || { fail "another plan"; cat err; }
"$o/ti-info" -q --verify nodes.tib || fail "the bundle is not sound"
"$o/ti-acquire" --local -q -c cputime --pilot no --np 6 -o one.tib ./ring 3 1000 >out 2>err || { fail "without"; cat out err; }
"$o/ti-info" -q --compare one.tib --no-volumes nodes.tib || fail "the traces differ"
if [ -x "$o/libexec/valgrind/ticount-amd64-linux" ] && command -v valgrind >/dev/null; then
    "${acquire[@]}" -q -c valgrind --np 4 -o exact.tib ring 3 1000 >out 2>err || { fail "valgrind"; cat out err; }
    "$o/ti-acquire" --local -q -c valgrind --pilot no --np 4 -o one-exact.tib ./ring 3 1000 >out 2>err
    "$o/ti-info" -q --compare one-exact.tib exact.tib || fail "the volumes differ"
fi

# Variables reach the program, by several programs, too.  What is missing in the image is told.
# shellcheck disable=SC2016  # for the inner shell
"${acquire[@]}" -q -c cputime --np 1 -x TOKEN=geheim --keep -o two.tib sh -c '[ "${#TOKEN}" = 6 ] && exec ring 1' : \
    --np 3 ring 1 >out 2>err || { fail "two programs"; cat out err; }
grep -a -r geheim . && fail "a secret is recorded"
"${acquire[@]}" -c cputime --np 2 -o bad.tib nonesuch >out 2>err
[ $? -eq 3 ] && grep -q "n\[1-2\].site1.*in '$image': cannot find the program 'nonesuch' on PATH" err ||
    { fail "a program that is not in the image"; cat err; }

# Whatever ends a run, no container is left.
"${acquire[@]}" -q -c cputime --np 2 --timeout 3 -o bad.tib sh -c 'trap "" TERM; while :; do :; done' >out 2>err
[ $? -eq 6 ] || { fail "a run that is ended"; cat err; }
for n in n1.site1 n2.site1; do
    for ((i = 0; i < 100; i++)); do
        [ -n "$("$bed" node $n podman ps --all --quiet)" ] || break
        sleep 0.1
    done
    [ -z "$("$bed" node $n podman ps --all --quiet)" ] || fail "a container is left on $n"
done
[ -z "$("$bed" ps)" ] || { fail "left on nodes:"; "$bed" ps; }
finish
