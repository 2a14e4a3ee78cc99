#!/bin/bash
# ti-acquire with programs of MPICH, which Hydra's mpiexec starts: folded, with any counter.
# shellcheck source=tests/cli/acquire-lib.bash
. tests/cli/acquire-lib.bash
[ -e "$o/libminitrace-mpich.so" ] || skip "there is no MPICH here"
command -v mpicc.mpich >/dev/null || skip "there is no mpicc.mpich"
command -v mpiexec.hydra >/dev/null || skip "there is no mpiexec.hydra"
src=$OLDPWD
mpicc.mpich -O1 -o ../mapp "$src/tests/cli/acquire-app.c" || fail "mpicc.mpich"
for mpi in mpich openmpi; do
    command -v mpicc.$mpi >/dev/null || continue
    mpicc.$mpi -O1 -I"$src" -o ../ring.$mpi "$src"/examples/{ring,example,burst}.c -lm || fail "mpicc.$mpi"
done

# Six ranks on one core; the events are those of the same program of Open MPI.
core=$(taskset -cp $$ | sed 's/.*: //; s/[-,].*//')
run 0 -c cputime --pin "$core" --np 6 --pilot no -o mpich.tib ../ring.mpich 3 1000
says out "ring: 3 turns, 6 ranks: verified"
says err "F-6: 6 ranks on 1 core"
says err "mpiexec.hydra -n 6 -env LD_PRELOAD"
"$o/ti-info" mpich.tib >../info
says info "mpi          MPICH"
says info "command      ../ring.mpich 3 1000"
json mpich.tib acquisition.mpi.name='"MPICH"' || fail "the manifest does not name MPICH"
if [ -x ../ring.openmpi ]; then
    run 0 -c cputime --np 6 --pilot no -o openmpi.tib ../ring.openmpi 3 1000
    "$o/ti-info" --compare openmpi.tib --no-volumes mpich.tib >../compared || fail "other events: $(cat ../compared)"
fi
if command -v valgrind >/dev/null && [ -x "$o/libexec/valgrind/ticount-amd64-linux" ]; then
    run 0 -q -c valgrind --np 3 --pilot no -o exact.tib ../ring.mpich 3 1000
    "$o/ti-info" exact.tib >../info
    says info "in instructions, exact"
fi

# Variables reach the ranks; values are not recorded.  Several programs; a pilot.
run 0 -c cputime --np 1 -x TOKEN=geheim --pilot no --keep -o two.tib ../mapp ok 0.1 : --np 2 ../mapp ok 0.1 0 its
[ "$(cat ../out)" = "3 ranks are done" ] || fail "stdout: $(cat ../out)"
grep -a -r geheim . && fail "a secret is recorded"
says err "TOKEN"
"$o/ti-info" two.tib >../info
says info "ranks 1-2: ../mapp ok 0.1 0 its"
run 0 -c cputime --np 1 -x TOKEN=geheim --pilot no --record-environment -o three.tib sh -c '[ "$TOKEN" = geheim ] && exec ../mapp ok 0.1' ||
    fail "-x"
run 0 -c cputime --np 4 --pilot 2 --force -o pilot.tib ../mapp ok 2 20
says err "pilot: '../mapp' first runs untraced with 2 ranks"
says err "MiB a rank"

# Failures are told, and nothing is left running.
run 6 -c cputime --np 2 --pilot no --trace-dir bad.run -o bad.tib ../mapp abort 0.1
says err "'../mapp'"
silent err "Try: mpirun"
run 6 -c cputime --np 2 --pilot no --timeout 3 --force --trace-dir bad.run -o bad.tib ../mapp still 9999
says err "it took longer than --timeout allows"
for p in /proc/[0-9]*; do
    grep -qsz "TIARA_TRACE_DIR=$PWD/bad.run" "$p/environ" && fail "left: $(tr '\0' ' ' <"$p/cmdline")"
done

# Command lines that are refused.
run 2 --np 2 --mca btl self ../mapp ok
says err "--mca is of Open MPI, and '../mapp' is of MPICH"
run 3 --np 1 ../mapp ok : --np 1 ../app ok
says err "'../mapp' and '../app' are linked with different MPIs"

# Hostfiles of either launcher are read; the one that is written is of the program's launcher.
printf 'a:2\nb:1\n' >../hosts.hydra
printf 'a slots=2\nb slots=1\n' >../hosts.open
for hosts in ../hosts.hydra ../hosts.open; do
    for app in mapp app; do
        run 0 --np 3 --hostfile $hosts --dry-run --write-hostfile - ../$app ok
        case $app in mapp) want=../hosts.hydra ;; *) want=../hosts.open ;; esac
        cmp ../out $want || fail "$app, $hosts: $(cat ../out)"
    done
done
run 0 --np 3 --hostfile ../hosts.hydra --dry-run --write-hostfile - not-here # on the nodes only
cmp ../out ../hosts.open || fail "a program that is not here: $(cat ../out)"

# This machine as the node of a hostfile.
echo "$(hostname) slots=2" >../hosts
run 0 -c cputime --np 2 --hostfile ../hosts -o nodes.tib ../mapp ok 0.1
[ "$(cat ../out)" = "2 ranks are done" ] || fail "stdout: $(cat ../out)"
"$o/ti-info" nodes.tib >../info
says info "mpi          MPICH"
finish
