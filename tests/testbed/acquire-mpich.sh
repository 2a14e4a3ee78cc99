#!/bin/bash
# A program of MPICH on three nodes, which Hydra starts by ti-rsh: folded, several programs, a
# program that is on the nodes only, and what nodes may lack.  MPICH 4.0 may hang in MPI_Finalize,
# so ti-acquire may end a run here, and what a program prints after MPI_Finalize may be missing.
# tests/run: waits
. tests/testbed/lib.bash
need_acquire
[ -e "$o/libminitrace-mpich.so" ] || skip "there is no MPICH here"
command -v mpicc.mpich >/dev/null || skip "there is no mpicc.mpich"
hydra=$(command -v mpiexec.hydra) || skip "there is no mpiexec.hydra"
cd "$scratch" || exit 1
mpicc.mpich -O1 -I"$top" -o ring "$top"/examples/{ring,example,burst}.c -lm || { fail "mpicc.mpich"; finish; }
bed_up --nodes 3 --share "$scratch"
acquire=(front "$o/ti-acquire" --sites "$state/sites.conf" --counter cputime --mem-per-rank 200MiB --no-progress)

# Twelve ranks on six cores.  The events are those of a run on one machine.
"${acquire[@]}" --np 12 -o nodes.tib ./ring 3 1000 >out 2>err || { fail "the run"; cat out err; finish; }
grep -q 'F-2: 12 ranks on 3 nodes' err || { fail "another plan"; cat err; }
"$o/ti-info" -q --verify nodes.tib || fail "the bundle is not sound"
"$o/ti-info" nodes.tib >info
grep -q '^mpi  *MPICH' info || { fail "ti-info: no MPICH"; cat info; }
"$o/ti-acquire" --local -q --counter cputime --pilot no --np 12 -o one.tib ./ring 3 1000 >out 2>err ||
    { fail "the run on one machine"; cat out err; }
"$o/ti-info" -q --compare one.tib --no-volumes nodes.tib || fail "the traces differ"
[ -z "$("$bed" ps)" ] || { fail "left on nodes:"; "$bed" ps; }
left=$(while read -r n; do "$bed" node "$n" find /scratch /dev/shm -mindepth 1 -type f -print; done <"$state/nodes")
[ -z "$left" ] || fail "files are left on the nodes: $(head -n 5 <<<"$left")"

# Two programs have one host file.  Variables reach the ranks by -x; the front's others do not, but
# for MPICH's own.
cat >says.c <<'.'
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
int main(void)
{
    const char *foreign = getenv("FOREIGN");
    MPI_Init(NULL, NULL);
    printf("%s-%s-%s\n", getenv("GIVEN"), getenv("MPIR_CVAR_MINE"), foreign ? foreign : "none");
    MPI_Finalize();
}
.
mpicc.mpich -o says says.c || fail "mpicc.mpich says.c"
front env MPIR_CVAR_MINE=m FOREIGN=f "${acquire[@]:1}" --np 2 -x GIVEN=g -o two.tib ./says : \
    --np 4 ./says again >out 2>err || { fail "two programs"; cat out err; }
[ "$(grep -c '^g-m-none$' out)" -eq 6 ] || { fail "the variables"; cat out; }
"$o/ti-info" -q --verify two.tib || fail "the bundle of two programs is not sound"
"$o/ti-info" two.tib | grep -q '^ *ranks 2-5: ./says again' || { fail "ti-info: not two programs"; "$o/ti-info" two.tib; }

# A program that is on the nodes only: they say that it is MPICH's.
while read -r n; do "$bed" node "$n" cp "$scratch/ring" /scratch/there; done <"$state/nodes"
"${acquire[@]}" --np 3 --write-hostfile hosts -o there.tib /scratch/there 1 >out 2>err ||
    { fail "a program of the nodes"; cat out err; }
"$o/ti-info" there.tib | grep -q '^mpi  *MPICH' || fail "a program of the nodes: no MPICH"
[ "$(cat hosts)" = $'n1.site1:1\nn2.site1:1\nn3.site1:1' ] || { fail "Hydra's host file"; cat hosts; }

# A program that does not end behind MPI_Finalize is ended where that of MPICH may hang: before 4.2.
cat >hangs.c <<'.'
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
int main(int argc, char **argv)
{
    int rank;
    MPI_Init(NULL, NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    printf("rank %d was here\n", rank);
    MPI_Finalize();
    if (rank == 1)
        sleep((unsigned)atoi(argv[argc - 1]));
}
.
mpicc.mpich -o hangs hangs.c || fail "mpicc.mpich hangs.c"
release=$("$hydra" --version | sed -n 's/^ *Version: *\([0-9]*\)\.\([0-9]*\).*/\1 \2/p')
read -r major minor <<<"$release"
stays=600
[ $((major * 100 + minor)) -lt 402 ] || stays=40
"${acquire[@]}" --np 3 -o hangs.tib ./hangs $stays >out 2>err || { fail "a program that hangs"; cat out err; }
if [ $stays -eq 600 ]; then
    grep -q 'all traces are complete, and the program has not ended for 30 s: ending the run' err ||
        { fail "it was not ended"; cat out err; }
else
    grep -q 'ending the run' err && { fail "MPICH $release: it was ended"; cat out err; }
fi
[ "$(grep -c '^rank [012] was here$' out)" -eq 3 ] || { fail "its output is lost"; cat out; }
"$o/ti-info" -q --verify hangs.tib || fail "the bundle of a program that hangs is not sound"
[ -z "$("$bed" ps)" ] || { fail "left on nodes:"; "$bed" ps; }

# Nodes that lack MPICH, or have another one, are named before anything starts.
"$bed" hide n2.site1 "${hydra%/*}/hydra_pmi_proxy"
printf '#!/bin/sh\nprintf "HYDRA build details:\\n    Version:  3.4\\n"\n' >other
chmod +x other
"$bed" replace n3.site1 "$(realpath "$hydra")" "$scratch/other"
"${acquire[@]}" --np 6 -o bad.tib ./ring 1 >out 2>err
[ $? -eq 3 ] || { fail "nodes without MPICH are accepted"; cat out err; }
grep -q "n2.site1.*cannot execute MPICH's '.*/hydra_pmi_proxy': No such file" err || { fail "n2.site1 is not named"; cat err; }
grep -q "n3.site1.*its MPICH is 3.4, ours is " err || { fail "n3.site1 is not named"; cat err; }
finish
