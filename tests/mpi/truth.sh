#!/bin/bash
# Bursts of known length before every call of programs that call everything, in every
# binding: recorded to the instruction, on all ranks.  loaded/known.c makes them.
#
# TRUTH=all: more programs, 1 to 8 ranks, and bursts of up to 10^7 instructions, in some
# minutes.
# shellcheck source=tests/mpi/lib.sh
. tests/mpi/lib.sh
exact_counter || skip 'no exact counter here: valgrind or ticount is missing'
export OMPI_MCA_osc=${OMPI_MCA_osc:-^rdma} # see rma.sh

mpicc=${MPICC:-mpicc}
[ "$MPI" = openmpi ] || mpicc=${MPICC_MPICH:-mpicc.mpich}
"$mpicc" -O1 -I. -Igenerated -I"$TI_BUILD/generated" -shared -fPIC -o "$scratch/known.so" tests/mpi/loaded/known.c -ldl 2>"$scratch/err" ||
    skip 'bursts of known length are written for x86-64'

# true_on NP PROGRAM ARGUMENT...
true_on() {
    local np=$1 program=$2 rank
    shift 2
    [ -x "$built/$program" ] || return
    rm -rf "$scratch/trace"
    mkdir -p "$scratch/expect"
    if ! TIARA_QUIET=1 TIARA_EXPECT=$scratch/expect \
        MPIRUN="$(pass TIARA_QUIET) $(pass TIARA_EXPECT) $(pass KNOWN_MOST)" \
        PRELOAD=$scratch/known.so:$TI_BUILD/libminitrace.so \
        trace "$scratch/trace" "$np" valgrind "$built/$program" "$@" >"$scratch/log" 2>&1; then
        fail "$program $* on $np ranks: $(tail -n 5 "$scratch/log")"
        return
    fi
    for ((rank = 0; rank < np; rank++)); do
        dump "$scratch/trace" $rank >"$scratch/found" 2>&1
        awk -v kinds="$scratch/kinds" '
            $2 == "pcontrol" { split($3, level, "="); truth = level[2]; next }
            $2 == "init" { next }
            truth == "" || $1 != truth { print (truth == "" ? "none" : truth) " became " $0; wrong++ }
            { truth = ""; bursts++; print $2 >kinds }
            END { print bursts + 0, wrong + 0; exit wrong || bursts < 10 }' "$scratch/found" \
            >"$scratch/out" || fail "$program $*, rank $rank of $np: $(tail -n 20 "$scratch/out")"
        bursts=$((bursts + $(tail -n 1 "$scratch/out" | cut -d' ' -f1)))
        sort -u "$scratch/kinds" >>"$scratch/all"
    done
}

bursts=0
export KNOWN_MOST=10000
mkdir "$scratch/files"
true_on 2 collectives
true_on 2 rma all "$scratch/files"
true_on 3 sequence_f08
OMPI_MPI_THREAD_LEVEL=2 true_on 2 io all "$scratch/files"
if [ "${TRUTH:-}" = all ]; then
    for np in 1 2 4 8; do
        for program in p2p requests persistent matched cancel neighbors collectives icollectives \
            intercoll comms datatypes; do
            # what a program needs, and what would take too long
            case $program$np in
                intercoll1 | comms1 | p2p1) continue ;;
                datatypes8) KNOWN_MOST=100000 ;;
                *) KNOWN_MOST=10000000 ;;
            esac
            true_on $np $program
        done
        KNOWN_MOST=10000000
        for program in rma io; do
            rm -f "$scratch/files"/*
            true_on $np $program all "$scratch/files"
        done
    done
    if [ "$MPI" = mpich ]; then true_on 3 mpi4; fi
    true_on 1 random 1 2000
    true_on 2 polling 0 1
    for binding in '' _mpifh _usempi _f08; do
        true_on 3 sequence$binding # which is written for 3 ranks
        for np in 1 2 3 4; do
            true_on $np reqseq$binding
            true_on $np collseq$binding
            [ -n "$binding" ] || continue # above
            true_on $np rma$binding
            true_on $np io$binding "$scratch/files"
        done
    done
fi
kinds=$(sort -u "$scratch/all" | wc -l)
echo "$bursts bursts before $kinds kinds of operation are as long as they were"
[ "$kinds" -ge 90 ] || fail 'too few kinds'
finish
