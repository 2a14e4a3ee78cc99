#!/bin/bash
# Nothing of the library is in a burst: for every function of MPI and every binding, to
# the instruction, whichever way it is entered and left.
# shellcheck source=tests/mpi/lib.sh
. tests/mpi/lib.sh
exact_counter || skip 'no exact counter here: valgrind or ticount is missing'

mpicc=${MPICC:-mpicc} fortran=$built/sequence_f08
[ "$MPI" = openmpi ] || mpicc=${MPICC_MPICH:-mpicc.mpich}
"$mpicc" -I. -Igenerated -I"$TI_BUILD/generated" -shared -fPIC -o "$scratch/refusing.so" tests/mpi/loaded/refusing.c -ldl 2>"$scratch/err" ||
    skip 'shims are called by assembler, which is written for x86-64'
# so that its functions are there
libraries=$(ldd "$fortran" 2>/dev/null | awk '$1 ~ /mpi/ && $1 !~ /^libmpi(ch)?\.so/ { printf ":%s", $3 }')

export TIARA_QUIET=1 TIARA_THREADS=caller
MPIRUN="$(pass TIARA_QUIET) $(pass TIARA_THREADS)"
PRELOAD=$TI_BUILD/libminitrace.so:$scratch/refusing.so$libraries

# residuals TITLE COUNTER WORD...: each function, as the environment has it, with the
# program behind the words.
residuals() {
    rm -rf "$scratch/trace"
    trace "$scratch/trace" 1 "${@:2}" "$built/residuals" "$scratch/truth" >"$scratch/log" 2>&1
    case $? in
        0) ;;
        77) skip 'shims are called by assembler, which is written for x86-64' ;;
        *) fail "$1: $(cat "$scratch/log")" ;;
    esac
    dump "$scratch/trace" 0 >"$scratch/found"
    # the burst after MPI_Init, then two barriers a function, and that before MPI_Finalize
    awk -v title="$1" '
        FILENAME == ARGV[1] { name[++n] = $1; length_of[n] = $2; next }
        $2 == "init" { next }
        $2 == "finalize" { differs("MPI_Finalize", $1 - 2); next }
        { sum += $1 }
        $2 == "barrier" && !begun { begun = 1; differs("MPI_Init", $1 - 2); next }
        $2 == "barrier" && !between { between = 1; sum = 0; next }
        $2 == "barrier" { between = 0; k++; differs(name[k], (sum - length_of[k]) / 2) }
        function differs(function_name, residual) {
            if (!residual) { exact++; return }
            print function_name ": " residual
            wrong++
        }
        END {
            print title ": " exact + 0 " of " n + 2 " functions without residual"
            exit wrong || exact != n + 2 || n < 300
        }' "$scratch/truth" "$scratch/found" >"$scratch/out" || fail "$1"
    tail -n 20 "$scratch/out"
}

# The same with an event of PAPI that is ticount's count: a counter read by a function.
read_by_function() {
    VALGRIND_LIB=$TI_BUILD/libexec/valgrind LD_BIND_NOW=1 HWLOC_COMPONENTS=-x86 \
        MPIRUN="$MPIRUN $(pass VALGRIND_LIB) $(pass LD_BIND_NOW) $(pass HWLOC_COMPONENTS)" \
        residuals "$1, read by a function" papi:sde:::ti_residuals::INSTRUCTIONS \
        valgrind --tool=ticount --vgdb=no
}

residuals 'one thread' valgrind
if ldd "$built/residuals" | grep -q libsde; then
    read_by_function 'one thread'
fi
export MPIR_CVAR_DEFAULT_THREAD_LEVEL=MPI_THREAD_SERIALIZED OMPI_MPI_THREAD_LEVEL=2
residuals 'threads that share recording' valgrind
if ldd "$built/residuals" | grep -q libsde; then
    read_by_function 'threads that share recording'
fi
TIARA_THREADS=sum residuals 'volumes of all threads' valgrind
finish
