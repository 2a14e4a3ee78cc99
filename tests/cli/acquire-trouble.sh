#!/bin/bash
# ti-acquire: what cannot work is said before anything runs, and what goes wrong
# afterwards leaves what can be used.
# shellcheck source=tests/cli/acquire-lib.bash
. tests/cli/acquire-lib.bash
c="-c cputime --mem-per-rank 10M"

# Command lines.
run 2
says err "which program?"
run 2 ../app
says err "how many ranks?"
run 2 --np 0 ../app
run 2 --np 2 --mca pml
run 2 --np 2 -x TIARA_RUN_ID=0 ../app
run 2 --np 2 --pin 1-0 ../app
run 2 --np 2 -c sundial ../app
run 2 --np 2 ../app -- -np 3
says err "has an option of its own"
run 2 --np 2 ../app -- --host a,b
run 2 --np 2 --transport opensh ../app
says err "--transport must be auto, libssh2 or openssh, not 'opensh'"

core=$(taskset -cp $$ | sed 's/.*: //; s/[-,].*//')
# shellcheck disable=SC2086  # words are meant
{
    run 3 $c --np 4 --mode F-5 --pin "$core" --dry-run ../app
    says err "5 ranks on each core cannot be had: 4 ranks on the 1 core here are 4 a core"
    says err "--np 5 has 5 on each core"
    run 3 $c --np 4 --fold 3 --pin "$core" ../app
    run 0 $c --np 4 --fold 4 --pin "$core" --dry-run ../app
}

# Programs.
cp ../app app
run 3 --np 2 app
says err "write ./app"
run 3 --np 2 ./nothing
run 3 --np 2 .
touch file
run 3 --np 2 ./file
says err "not executable"
printf 'int main(void) { return 0; }\n' >one.c
if cc -static -o static one.c 2>/dev/null; then
    run 3 --np 2 ./static
    says err "statically linked"
fi
printf 'int x;\n' >other.c
cc -shared -fPIC -Wl,-soname,libmvapich.so.12 -o libmvapich.so.12 other.c
cc -o other one.c -Wl,--no-as-needed ./libmvapich.so.12
run 3 --np 2 ./other
says err "'libmvapich.so.12', which is not Open MPI's or MPICH's"
cc -shared -fPIC -Wl,-soname,libmpich.so.12 -o libmpich.so.12 other.c
cc -o mpich one.c -Wl,--no-as-needed ./libmpich.so.12
# (A library of the standard ABI that needs none of Open MPI's is started as MPICH's.)
cc -shared -fPIC -Wl,-soname,libmpi_abi.so.1 -o libmpi_abi.so.1 other.c
cc -o abi one.c -Wl,--no-as-needed ./libmpi_abi.so.1
mkdir without
cp "$o"/{ti-acquire,ti-node,libminitrace.so,libminitrace-openmpi.so} without
o=$PWD/without run 3 -c cputime --np 2 ./abi
says err "'./abi' is linked with 'libmpi_abi.so.1', and there is no '$PWD/without/libminitrace-abi.so'"
says err "build Tiara where the mpi.h of the standard ABI is"
mkdir bare
for p in valgrind mpirun; do ln -s "$(type -P $p || type -P true)" bare/; done
PATH=$PWD/bare run 3 -c cputime --np 2 ./mpich
says err "cannot find MPICH's 'mpiexec.hydra' or 'mpiexec' on PATH"
# shellcheck disable=SC2086  # words are meant
{
    run 6 $c --np 2 true
    says err "names no MPI library"
    says err "no rank wrote a trace"
    run 6 $c --np 2 ../app early 'two words'
    says err "before any rank was through MPI_Init"
    says err "Try: mpirun -np 2 ../app early 'two words'"
}
find . -name '*.run' | grep -q . && fail "a run directory without traces is left"
clean
find . -mindepth 1 -delete

# Counters, memory, directories.
run 3 -c papi:NO_SUCH_EVENT --np 2 ../app
if "$o/ti-acquire" -c cputime --also perf::PAGE-FAULTS --np 2 --dry-run ../app >/dev/null 2>&1; then
    run 3 -c papi:perf::PAGE-FALTS --np 2 ../app
    says err "is the name right?"
    run 3 -c papi:perf::PAGE-FAULTS --np 2 ../app
    says err "counted beside"
fi
mkdir ../bin
ln -s "$(command -v mpirun)" ../bin/mpirun
PATH=$tmp/bin "$o/ti-acquire" --np 2 --dry-run ../app >../out 2>../err
case $? in # no valgrind there; a hardware counter may do
0) says out "counter   papi" ;;
3) says err "no exact counter works here" && says err "it is not installed" ;;
*) fail "without valgrind: status $?: $(cat ../err)" ;;
esac
PATH=$tmp/none run 3 -c cputime --np 2 ../app
says err "cannot find 'mpirun'"
run 3 -c cputime --np 1000 --mem-per-rank 1T ../app
says err "1000 ranks need"
says err "not even one rank fits"
run 3 -c cputime --np 4000 --mem-per-rank 200M ../app
says err "ranks fit"
run 4 -c cputime --np 2 --trace-dir no/where ../app
run 4 -c cputime --np 2 -o no/where.tib ../app
holds ""

# A file of the same name that is not ours is not replaced.
# shellcheck disable=SC2086
{
    mkdir d
    for f in RUN.json rank-000000.ti RUN.json.part; do
        echo '["mine"]' >d/$f
        run 3 $c --np 2 --force --trace-dir d ../app
        says err "'d/$f' is not ti-acquire's"
        run 3 $c --np 2 --trace-dir d ../app
        says err "'$f' in it is not ti-acquire's"
        [ "$(cat d/$f)" = '["mine"]' ] || fail "d/$f was touched"
        rm d/$f
    done
    mkdir d/mpi-tmp
    echo mine >d/mpi-tmp/notes
    run 3 $c --np 2 --force --trace-dir d ../app
    says err "'d/mpi-tmp' is not ti-acquire's"
    [ -f d/mpi-tmp/notes ] || fail "d/mpi-tmp was removed"
    mkdir b.tib
    mkfifo b.fifo
    echo mine >b.txt
    for x in b.tib b.fifo b.txt; do
        run 4 $c --np 2 --force -o $x ../app
        says err "and is not replaced"
        silent out "ranks are done"
    done
    [ "$(cat b.txt)" = mine ] || fail "b.txt was replaced"
}
holds b.fifo b.tib b.txt d

# When mpirun fails, that is not the program's fault.
# shellcheck disable=SC2086
{
    run 2 $c --np 2 ../app -- --no-such-option
    says err "mpirun did not start the program '../app'"
    says err "mpirun says above"
    holds ""
}
run 2 -c cputime --np 2 --pin 1023 ../app
says err "only on "

# How a program ends.
# shellcheck disable=SC2086
{
    run 6 $c --np 3 ../app abort
    says err "called MPI_Abort (status 7)"
    says err "rank 2: ended by MPI_Abort"
    says err "the traces are in 'app.3.run'"
    grep -q '"state": "failed"' app.3.run/RUN.json || fail "$(cat app.3.run/RUN.json)"
    "$o/ti-gather" -q app.3.run >/dev/null 2>&1
    [ $? -eq 1 ] || fail "what an abort left cannot be gathered"
    holds app.3.run app.3.tib
    run 6 $c --np 3 ../app abort256 # of which a status of 0 is left
    says err "called MPI_Abort (status 0)"
    holds app.3.run
    run 6 $c --np 3 ../app crash
    says err "was killed by signal 11"
    says err "cut off: no end was written"
    holds app.3.run
    run 6 $c --np 2 ../app leave
    says err "ended with status 1"
    says err "and are removed"
    holds
    run 6 $c --np 2 ../app status
    says err "ended with status 3"
    says err "the trace is complete"
    holds app.2.tib
}
clean

# A process left behind is ended.
# shellcheck disable=SC2086
run 0 $c --np 2 ../app child
says err "outlived mpirun"
clean
holds app.2.tib

# No space for the traces: the program is not harmed, the bundle says what is missing.
mkdir small
if mount -t tmpfs -o size=64k tmpfs small 2>/dev/null; then
    dd if=/dev/zero of=small/fill bs=1k count=52 2>/dev/null
    # shellcheck disable=SC2086
    run 1 $c --np 8 --trace-dir small/run ../app ok 1
    says out "8 ranks are done"
    says err "no space is left"
    # not even for RUN.json: a directory that we made goes
    rm -rf small/run
    dd if=/dev/zero of=small/more bs=1k 2>/dev/null
    # shellcheck disable=SC2086
    run 4 $c --np 2 --trace-dir small/run ../app
    says err "cannot write 'small/run/RUN.json'"
    [ -e small/run ] && fail "an empty run directory is left"
    umount small
fi
finish
