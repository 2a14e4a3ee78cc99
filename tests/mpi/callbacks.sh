#!/bin/bash
# Bursts around calls of MPI that call the application, signal handlers, calls that
# are left by longjmp(), and MPI_Pcontrol: to the instruction.
# shellcheck source=tests/mpi/lib.sh
. tests/mpi/lib.sh
export OMPI_MCA_osc=${OMPI_MCA_osc:-^rdma} # see rma.sh

# around COUNTER NP PROGRAM
around() {
    local counter=$1 np=$2 program=$3 rank
    rm -rf "$scratch/trace" "$scratch"/truth*
    TIARA_QUIET=1 MPIRUN=$(pass TIARA_QUIET) \
        trace "$scratch/trace" "$np" "$counter" "$program" "$scratch/truth" >"$scratch/log" 2>&1
    case $? in
        0) ;;
        77) skip 'bursts of known length are written for x86-64' ;;
        *) fail "$counter on $np: $(tail -n 20 "$scratch/log")"; return ;;
    esac
    for ((rank = 0; rank < np; rank++)); do
        dump "$scratch/trace" $rank >"$scratch/all" 2>"$scratch/end"
        [ ! -s "$scratch/end" ] || fail "rank $rank: $(cat "$scratch/end")"
        sed 1d "$scratch/all" | cut -d' ' -f1,2 | paste -d' ' "$scratch/truth.$rank" - | awk '
            $1 != $4 || ($2 != "-" && $2 != $3) { print NR ": " $0; bad = 1 }
            $2 != "-" { n++ }
            END { print n + 0; exit bad || n < 40 }' >"$scratch/out" ||
            fail "$counter, rank $rank of $np: $(cat "$scratch/out")"
        echo "$counter, rank $rank of $np: $(tail -n 1 "$scratch/out") bursts"
    done
}

tried=
if exact_counter; then
    for np in 1 2; do around valgrind $np "$built/callbacks"; done
    tried=1
fi
if [ "$MPI" = openmpi ] && [ -x "$TI_BUILD/blocks/callbacks" ]; then
    for np in 1 3; do around blocks $np "$TI_BUILD/blocks/callbacks"; done
    tried=1
fi
[ "$tried" ] || skip 'no exact counter here'
finish
