#!/bin/bash
# Programs of the standard ABI of MPI-5, built once, run with each library here that has it: the events
# that their calls must leave, and those of the same program built for Open MPI.
# tests/run: long
# shellcheck source=tests/mpi/lib.sh
. tests/mpi/lib.sh
abi=$TI_BUILD/tests/abi
[ -e "$TI_BUILD/libminitrace-abi.so" ] || skip 'no MPI library here has the standard ABI'

# The libraries of Debian lie side by side; the one that programs find is a link to one of them.
found=$(ldd "$abi/ring" | sed -n 's/.*libmpi_abi.so.1 => \([^ ]*\).*/\1/p')
for mpi in openmpi mpich; do
    for library in "${found%/*}/libmpi_abi_$mpi".so.1.*; do
        [ -e "$library" ] || continue
        mkdir -p "$scratch/$mpi"
        ln -sf "$library" "$scratch/$mpi/libmpi_abi.so.1"
    done
done

# with MPI COMMAND...: with that MPI's library
with() { LD_LIBRARY_PATH=$scratch/$1 MPI=$1 STANDARD_ABI=1 "${@:2}"; }

# (Without UCX, which in Open MPI 6.0.0rc2 prints messages of its own.)
export OMPI_MCA_pml=ob1 OMPI_MCA_osc=^ucx
libraries=0
for mpi in openmpi mpich; do
    [ -e "$scratch/$mpi" ] || continue
    libraries=$((libraries + 1))
    # shellcheck disable=SC2016  # for the inner shell
    with $mpi bash -c '
        . tests/mpi/lib.sh
        [ "$MPI" != mpich ] || mpirun=mpirun.mpich
        # Where the library itself fails, there is nothing to look at.
        try() {
            local np=$1 program=$2
            shift 2
            mkdir -p "$scratch/files"
            if timeout 600 "$mpirun" -np $np "$built/$program" "$@" ${1:+"$scratch/files"} >/dev/null 2>&1; then
                check $np $program "$@" ${1:+"$scratch/files"}
                echo "$program"
            else
                echo "# $program fails without us" >&2
            fi
        }
        for program in p2p requests persistent matched cancel creations datatypes collectives \
            icollectives neighbors mpi4 mpi41; do
            try 3 $program
        done
        try 4 comms
        try 5 intercoll
        try 3 rma all
        finish' >"$scratch/log" 2>"$scratch/alone" ||
        fail "with $mpi: $(cat "$scratch/log")"
    cat "$scratch/alone"
    [ "$(grep -c '^[a-z0-9]*$' "$scratch/log")" -ge 8 ] || fail "only these run with $mpi: $(cat "$scratch/log")"

    # ti-acquire finds out whose library it is, and takes the launcher of that.
    # shellcheck disable=SC2086  # words are meant
    while read -r program args; do
        with $mpi "$TI_BUILD/ti-acquire" -q -c cputime --pilot no --np 8 -o "$scratch/$mpi-$program.tib" \
            "$abi/$program" $args >"$scratch/log" 2>&1 || fail "$program with $mpi: $(cat "$scratch/log")"
        [ -e "$scratch/own-$program.tib" ] ||
            "$TI_BUILD/ti-acquire" -q -c cputime --pilot no --np 8 -o "$scratch/own-$program.tib" \
                "$examples/$program" $args >"$scratch/log" 2>&1 || fail "$program: $(cat "$scratch/log")"
        "$TI_BUILD/ti-info" --no-volumes --compare "$scratch/own-$program.tib" "$scratch/$mpi-$program.tib" \
            >"$scratch/log" 2>&1 || fail "$program with $mpi: other events: $(cat "$scratch/log")"
    done <<'END'
lu S 5
stencil 64 20
cg
ring 3 1000
END
done
[ $libraries -ge 1 ] || fail "neither of '${found%/*}/libmpi_abi_*' is there"
echo "$libraries libraries"
finish
