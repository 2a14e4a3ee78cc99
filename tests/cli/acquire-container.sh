#!/bin/bash
# ti-acquire --container: ranks in containers of Podman.  The image is made out of this machine's
# Open MPI, so nothing is downloaded.
# tests/run: long
# shellcheck source=tests/cli/acquire-lib.bash
. tests/cli/acquire-lib.bash
command -v podman >/dev/null || skip "there is no podman"
command -v ompi_info >/dev/null || skip "there is no ompi_info, which says what belongs into the image"
case $o in *build) ;; *) skip "not with sanitizers, whose libraries the image lacks" ;; esac
src=$OLDPWD
# shellcheck source=tests/cli/image-lib.bash
. "$src/tests/cli/image-lib.bash"

# --- the image ------------------------------------------------------------------
root=$tmp/root
image_folders "$root"
mv ../app "$root/usr/bin/app"
mpicc -O1 -I"$src" -o "$root/usr/bin/ring" "$src"/examples/{ring,example,burst}.c -lm || fail "mpicc"
[ ! -x "$o/ti-mpicc" ] || "$o/ti-mpicc" -O1 -o "$root/usr/bin/counted" "$src/tests/cli/acquire-app.c" || fail "ti-mpicc"
echo 'int main(void) { return 0; }' >static.c
cc -static -o "$root/usr/bin/static" static.c || fail "cc -static"
fill_image "$root" tar.log || fail "the image: $(cat tar.log)"
rm static.c tar.log

# Podman's storage, locks and networks are in our folder.
export CONTAINERS_STORAGE_CONF=$tmp/storage.conf CONTAINERS_CONF=$tmp/containers.conf
printf '[storage]\ndriver = "vfs"\ngraphroot = "%s"\nrunroot = "%s"\n' "$tmp/store" "$tmp/runroot" >"$tmp/storage.conf"
image=localhost/tiara-test
gone() {
    podman rm --all --force >/dev/null 2>&1
    find /sys/fs/cgroup/*/libpod_parent -depth -type d -exec rmdir {} \; 2>/dev/null
    rm -rf "$tmp"
}
trap gone EXIT
for runtime in crun runc ''; do
    [ -n "$runtime" ] || skip "podman runs no container here: $(tail -n 1 ../said)"
    cat >"$tmp/containers.conf" <<.
[containers]
default_ulimits = ["nofile=1024:$(ulimit -Hn)", "nproc=8192:8192"]
[network]
network_config_dir = "$tmp/networks"
[engine]
runtime = "$runtime"
cgroup_manager = "cgroupfs"
events_logger = "none"
tmp_dir = "$tmp/libpod"
volume_path = "$tmp/volumes"
.
    command -v "$runtime" >/dev/null || { echo "there is no $runtime" >../said; continue; }
    podman image exists $image || tar -c -C "$root" . | podman import - $image >../said 2>&1 || skip "podman import: $(cat ../said)"
    podman run --rm --network=host --pid=host $image true >../said 2>&1 && break
done
outside=$PATH:$root/usr/bin

# --- the same trace as without a container --------------------------------------
counter=cputime volumes=--no-volumes
if [ -x "$o/libexec/valgrind/ticount-amd64-linux" ] && command -v valgrind >/dev/null; then counter=valgrind volumes=; fi
run 0 --container $image -c $counter --np 4 --pilot no -o in.tib ring 3 1000
says out "ring: 3 turns, 4 ranks: verified"
says err "  container $image"
PATH=$outside run 0 -q -c $counter --np 4 --pilot no -o out.tib ring 3 1000
# shellcheck disable=SC2086
"$o/ti-info" --compare out.tib $volumes in.tib >../compared || fail "another trace: $(cat ../compared)"
json in.tib acquisition.container="\"$image\"" || fail "the manifest does not name the image"
clean
if [ -x "$root/usr/bin/counted" ]; then
    run 0 -q --container $image -c blocks --np 2 --pilot no -o blocks.tib counted ok
    "$o/ti-info" blocks.tib >../info
    says info "counter      blocks"
fi
run 0 --container $image -c cputime --np 4 --pilot 2 --force -o in.tib app ok 2 20
says err "pilot: 'app' first runs untraced with 2 ranks"
says err "MiB a rank"

# Our library is for the program alone.  Variables, the working directory and standard input reach it.
run 0 --container $image -c cputime --np 2 --pilot no --dry-run -o dry.tib app ok
joined says " --env=LD_PRELOAD=/.tiara/lib/libminitrace.so $image app ok"
joined silent "-x LD_PRELOAD"
echo content >here.txt
# shellcheck disable=SC2016  # for the inner shell
run 0 -q --container $image -c cputime --np 1 --pilot no -x TOKEN=geheim --keep -o vars.tib \
    sh -c '[ "${#TOKEN}" = 6 ] && read -r word <here.txt && [ "$word" = content ] && exec app ok'
grep -a -r geheim . && fail "a secret is recorded"
echo asked | "$o/ti-acquire" -q --container $image -c cputime --np 2 --pilot no -o stdin.tib \
    sh -c 'if [ "$OMPI_COMM_WORLD_RANK" = 0 ]; then read -r word; echo "heard $word"; fi; exec app ok' >../out 2>../err
says out "heard asked"

# --- failures -------------------------------------------------------------------
run 3 --container $image --np 1 nonesuch
says err "in '$image': cannot find the program 'nonesuch' on PATH"
run 3 --container $image --np 1 static
says err "in '$image': 'static' is statically linked"
run 3 --container localhost/nonesuch --np 1 app
says err "cannot start a container of 'localhost/nonesuch': podman failed"
run 3 --container ./nonesuch.sif --np 1 app
says err "cannot open the image './nonesuch.sif'"
PATH=$tmp run 3 --container $image --np 1 app
says err "cannot find 'podman' on PATH"
run 6 -q --container $image -c cputime --np 2 --pilot no --force -o bad.tib app abort 0.1
says err "'app' called MPI_Abort (status 7)"

# Whatever ends a run, no container is left.
# shellcheck disable=SC2016
for program in 'exec app still 9999' 'trap "" TERM; exec app still 9999'; do
    run 6 -q --container $image -c cputime --np 2 --pilot no --timeout 3 --force -o bad.tib sh -c "$program"
    says err "it took longer than --timeout allows"
    [ -z "$(podman ps --all --quiet)" ] || fail "left: $(podman ps --all)"
done
clean
finish
