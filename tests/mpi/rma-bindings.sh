#!/bin/bash
# One sequence of one-sided communication in every binding.
# shellcheck source=tests/mpi/lib.sh
. tests/mpi/lib.sh
[ -x "$TI_BUILD/tests/mpi/rma_f08" ] || skip 'no MPI for Fortran here'
export OMPI_MCA_osc=${OMPI_MCA_osc:-^rdma} # see rma.sh

for np in 1 2 3 5 8; do
    check $np rma sequence
    for binding in mpifh usempi f08; do
        check_like $np rma_$binding
    done
done
finish
