#!/bin/bash
# The application's results are its own: programs that check theirs run with
# AddressSanitizer, and under the exact counter, traced; and under memcheck, which
# names our library in no error.
# shellcheck source=tests/mpi/lib.sh
. tests/mpi/lib.sh

export OMPI_MCA_osc=${OMPI_MCA_osc:-^rdma} # as in rma.sh
programs='p2p requests persistent matched cancel creations collectives icollectives neighbors rma'

# Arguments that a program needs.
arguments() {
    case $1 in
        rma) mkdir -p "$scratch/$1.$2"; echo "all $scratch/$1.$2" ;;
    esac
}

cc=${MPICC:-mpicc}
libasan=$("$cc" -print-file-name=libasan.so)
if [ -e "$libasan" ]; then
    mkdir "$scratch/asan"
    for program in $programs; do
        "$cc" -g -w -pthread -fsanitize=address,undefined -I. -o "$scratch/asan/$program" \
            "tests/mpi/$program.c" || fail "$program does not compile with AddressSanitizer"
        # leaks are the MPI library's
        # shellcheck disable=SC2046  # words are meant
        ASAN_OPTIONS=detect_leaks=0 PRELOAD=$libasan:$TI_BUILD/libminitrace.so built=$scratch/asan \
            check 3 "$program" $(arguments "$program" asan)
    done
fi

if exact_counter; then
    for program in requests collectives rma; do
        # shellcheck disable=SC2046
        trace "$scratch/exact.$program" 2 valgrind "$built/$program" \
            $(arguments "$program" exact) >"$scratch/log" 2>&1 ||
            fail "$program under the exact counter: $(tail -n 20 "$scratch/log")"
        "$TI_BUILD/ti-info" -q --verify "$scratch/exact.$program" || fail "$program: its trace is not sound"
    done
fi

if command -v valgrind >/dev/null; then
    trace "$scratch/memcheck" 2 cputime valgrind -q --vgdb=no --log-file="$scratch/memcheck.%p" \
        "$built/requests" >"$scratch/log" 2>&1 || fail "requests under memcheck: $(cat "$scratch/log")"
    if grep -l minitrace "$scratch"/memcheck.[0-9]* >"$scratch/named"; then
        fail "memcheck names the library: $(grep -h -B 3 -A 6 minitrace "$scratch"/memcheck.[0-9]* | head -n 40)"
    fi
fi
finish
