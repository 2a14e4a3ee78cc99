#!/bin/bash
# The counter `blocks`: bursts of known length to the instruction, on every rank and
# in every run; and what it counts of the examples is what valgrind counts of the same
# sources compiled plainly, burst by burst, but for what libraries execute.
# tests/run: long
# shellcheck source=tests/mpi/lib.sh
. tests/mpi/lib.sh
wrapped=$TI_BUILD/blocks
[ -x "$wrapped/bursts" ] || skip 'no counter blocks here'

# -------------------------------------------------------- known lengths --

# known NAME NP: all bursts of all ranks are what the program says, with MPI's.
known() {
    local name=$1 np=$2 dir=$scratch/known rank
    rm -rf "$dir"
    if ! trace "$dir" "$np" blocks "$wrapped/$name" "$scratch/truth" >"$scratch/log" 2>&1; then
        fail "$name on $np: $(cat "$scratch/log")"
        return
    fi
    for ((rank = 0; rank < np; rank++)); do
        dump "$dir" "$rank" | sed -e 1d -e '$d' | cut -d' ' -f1,2 >"$scratch/found"
        paste -d' ' "$scratch/truth" "$scratch/found" | awk '
            $1 != $4 || ($2 != "-" && $2 != $3) { print; bad = 1 }
            $2 != "-" { n++ }
            END { if (n < 80) print n + 0 " bursts"; exit bad || n < 80 }' >"$scratch/bad" ||
            fail "$name, rank $rank of $np: $(head -n 3 "$scratch/bad")"
        # and the rest is the same every time
        if [ -e "$scratch/$name.$np.$rank" ]; then
            same "$scratch/$name.$np.$rank" "$scratch/found" "$name, rank $rank of $np, once more"
        fi
        cp "$scratch/found" "$scratch/$name.$np.$rank"
    done
}
for np in 1 2 2 3 4; do known bursts $np; done
"$TI_BUILD/ti-info" "$scratch/known" | grep -q '^counter *blocks, .*, in instructions, exact\( for that code\)*$' ||
    fail "ti-info: $("$TI_BUILD/ti-info" "$scratch/known" | grep '^counter')"
if [ -x "$wrapped/bursts.mpich" ]; then
    MPI=mpich mpirun=mpirun.mpich known bursts.mpich 2
else
    echo 'not tried: MPICH, which is not here'
fi

# Each thread has its own count.
for np in 1 2; do
    rm -rf "$scratch/threads"
    trace "$scratch/threads" $np blocks "$wrapped/threads" serialized "$scratch/truth" \
        >"$scratch/log" 2>&1 || fail "threads on $np: $(cat "$scratch/log")"
    grep -v '^total' "$scratch/truth" >"$scratch/each"
    dump "$scratch/threads" 0 | sed -e 1d -e '$d' | cut -d' ' -f1,2 | paste -d' ' - "$scratch/each" |
        awk '$2 != $3 || ($4 != "-" && ($1 < $4 || $1 > $5)) { print; bad = 1 }
            $4 != "-" { n++ } END { exit bad || n < 9 }' >"$scratch/bad" ||
        fail "threads on $np: $(head -n 3 "$scratch/bad")"
done

# ------------------------------------------------------------ uncounted --

# uncounted LIBRARY OWN [GENERATED [CALLS]]: trace `misses` with such work, into $share the percentage that is said
# to be uncounted, and into $first the object that has most of it.
uncounted() {
    rm -rf "$scratch/misses"
    trace "$scratch/misses" 2 blocks "$wrapped/misses" "$@" >"$scratch/log" 2>&1 ||
        fail "misses: $(tail -n 5 "$scratch/log")"
    [ "$(grep -c '^interrupted 0$' "$scratch/log")" = 2 ] ||
        fail "system calls were interrupted: $(cat "$scratch/log")"
    "$TI_BUILD/ti-info" "$scratch/misses" >"$scratch/info"
    share=$(sed -n 's/^uncounted *\([0-9.]*\) %.*/\1/p' "$scratch/info")
    first=$(sed -n 's/^uncounted [^:]*: \([^ ]*\) .*/\1/p' "$scratch/info")
}
# between LOW HIGH
between() { awk -v is="$share" "BEGIN { exit !(is != \"\" && is >= $1 && is <= $2) }"; }
has() { grep -q "$1" "$scratch/info" || { fail "no '$1'"; cat "$scratch/info"; }; }

uncounted 3000000 1000000
between 60 100 || fail "in libm: $share %"
case $first in libm*) ;; *) fail "mostly in $first" ;; esac
has '^counter .*, not of all code$'
has '^CAVEAT .* is in no volume.*: libm'
"$TI_BUILD/ti-info" --json "$scratch/misses" | grep -q '"exact": false' || fail 'JSON: exact'
TIARA_SAMPLE=0 MPIRUN='-x TIARA_SAMPLE' uncounted 30000 1000
[ -z "$share" ] || fail "there are samples with TIARA_SAMPLE=0"
uncounted 0 100000000
between 0 1 || fail "in its own code: $share %, in $first"
has '^counter .*, exact'
if grep '^CAVEAT.* is in no volume' "$scratch/info"; then fail 'a caveat'; fi
# The library's own code, where calls begin and end, is no part of the program.  The linker's code
# between the program and a function (its PLT) is, and no compiler counts it: so there is more work
# than calls, and than system calls, whose time is libc's.
uncounted 0 40000000 0 2000000
if grep '^uncounted.*libminitrace' "$scratch/info"; then fail 'our own library is in the samples'; fi
has '^counter .*, exact'
uncounted 0 150000000 150000000
between 0 1 || fail "beside generated code: $share %, in $first"
has '^uncounted .*; not known of'
has '^counter .*, not of all code$'
has '^CAVEAT .* may be in no volume'

# ------------------------------------------------------ against valgrind --

# Lines "VALGRIND BLOCKS OPERATION" of what a rank did, in $scratch/pairs.
pairs() {
    dump "$scratch/valgrind" "$1" | cut -d' ' -f1,2 >"$scratch/plain"
    dump "$scratch/blocks" "$1" | cut -d' ' -f1,2 >"$scratch/counted"
    paste -d' ' "$scratch/plain" "$scratch/counted" | awk '
        $2 != $4 { bad = 1 } { print $1, $3, $2 } END { exit bad }' >"$scratch/pairs"
}

# against PROGRAM ARGUMENT...: the bursts that call no function of a library, which are
# most, are the same to the instruction; in none does blocks count more.  Leaves how
# many instructions of libraries there are, in all ranks.
against() {
    local program=$1 rank
    shift
    rm -rf "$scratch/valgrind" "$scratch/blocks"
    trace "$scratch/valgrind" 2 valgrind "$examples/$program" "$@" >"$scratch/log" 2>&1 ||
        fail "$program under valgrind: $(tail -n 5 "$scratch/log")"
    trace "$scratch/blocks" 2 blocks "$wrapped/$program" "$@" >"$scratch/log" 2>&1 ||
        fail "$program: $(tail -n 5 "$scratch/log")"
    library=0
    for rank in 0 1; do
        pairs $rank || fail "$program: other events"
        awk '{ d = $1 - $2; n++; total += $1; lib += d }
            d < 0 { print "valgrind counts less: " $0; bad = 1 }
            d == 0 { equal++ }
            END {
                printf "%d of %d bursts equal, in libraries: %d\n", equal, n, lib
                exit bad || equal < 0.5 * n || lib > 0.05 * total
            }' "$scratch/pairs" >"$scratch/said" || fail "$program: $(cat "$scratch/said")"
        echo "$program, rank $rank: $(tail -n 1 "$scratch/said")"
        library=$((library + $(tail -n 1 "$scratch/said" | sed 's/.*: //')))
    done
}

# total DIR KEY: of all ranks.
total() { "$TI_BUILD/ti-info" --json "$1" | sed -n "s/^ \"$2\": \([0-9]*\),*/\1/p"; }

if exact_counter; then
    against is 4096 5
    against lu S 5
    # The same from one run: what valgrind counts outside MPI of a program that counts
    # itself, and what it executes for that, is what it counts and what libraries execute.
    trace "$scratch/audit" 2 valgrind "$wrapped/audit/lu" S 5 >"$scratch/log" 2>&1 ||
        fail "audit: $(tail -n 5 "$scratch/log")"
    found=$(($(total "$scratch/audit" volume) - $(total "$scratch/audit" blocks) - \
        $(total "$scratch/audit" blocks_own)))
    [ "$found" = "$library" ] || fail "audit: $found instructions in libraries instead of $library"
    "$TI_BUILD/ti-info" "$scratch/audit" | grep '^whole run .* compiled with ti-mpicc and .* in counting' ||
        fail 'ti-info does not say what was counted'
else
    echo 'not tried: against valgrind, which is not here'
fi

# In Fortran: what comes on top of a burst is the same for every length and on every
# rank but the first; and all between Init and Finalize is what valgrind counts.
# events COUNTER NP PROGRAM LENGTH: "RANK VOLUME OPERATION" of all ranks
events() {
    local rank
    rm -rf "$scratch/ring"
    trace "$scratch/ring" "$2" "$1" "$3" 4 1000 "$4" >"$scratch/log" 2>&1 ||
        fail "$(basename "$3") on $2: $(cat "$scratch/log")"
    for ((rank = 0; rank < $2; rank++)); do
        dump "$scratch/ring" "$rank" | sed -e 1d -e '$d' | awk -v rank=$rank '{ print rank, $1, $2 }'
    done
}
for ring in "$wrapped"/ring_*; do
    [ -x "$ring" ] || continue
    for run in 2:10 3:1000 4:1000000; do
        events blocks ${run%:*} "$ring" ${run#*:} >"$scratch/found"
        # of rank 0 there is more to do; the most before it begins
        awk -v length_of=${run#*:} '$3 == "send" { print !$1, !$1 && !begun++, $2 - length_of }' "$scratch/found"
        [ $run != 2:10 ] || cp "$scratch/found" "$scratch/first"
    done | sort | uniq -c >"$scratch/beside"
    awk '$1 != ($3 ? 3 : $2 ? 9 : 24) || $4 < 0 || $4 > 100 { bad = 1 } END { exit bad || NR != 3 }' \
        "$scratch/beside" || fail "$(basename "$ring"): beside its bursts $(cat "$scratch/beside")"
    if exact_counter; then
        events valgrind 2 "$examples/$(basename "$ring")" 10 >"$scratch/found"
        same "$scratch/found" "$scratch/first" "$(basename "$ring"): by valgrind and by blocks"
    fi
done

# The same of 10 to 10^6 instructions, on 1 to 4 ranks.
cat >"$scratch/calls.f90" <<'F'
program calls
    use, intrinsic :: iso_c_binding
    use mpi_f08
    implicit none
    interface
        subroutine burst(instructions) bind(c, name='burst')
            import :: c_int64_t
            integer(c_int64_t), value :: instructions
        end subroutine
    end interface
    integer(c_int64_t) :: n = 10
    integer :: power, rank, np, a(4) = 1, b(4)

    call MPI_Init()
    call MPI_Comm_rank(MPI_COMM_WORLD, rank)
    call MPI_Comm_size(MPI_COMM_WORLD, np)
    do power = 1, 6
        call burst(n)
        call MPI_Barrier(MPI_COMM_WORLD)
        call burst(n)
        call MPI_Allreduce(a, b, 4, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
        call burst(n)
        call MPI_Sendrecv(a, 4, MPI_INTEGER, mod(rank + 1, np), 1, b, 4, MPI_INTEGER, &
                          mod(rank + np - 1, np), 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
        n = n * 10
    end do
    call MPI_Finalize()
end program
F
if [ -x "$wrapped/ring_f08" ]; then
    "$TI_BUILD/ti-mpifort" -O1 -o "$scratch/calls" -J"$scratch" "$scratch/calls.f90" "$wrapped/burst.o" \
        2>"$scratch/err" || fail "calls.f90: $(cat "$scratch/err")"
    for np in 1 2 3 4; do
        rm -rf "$scratch/ring"
        trace "$scratch/ring" $np blocks "$scratch/calls" >"$scratch/log" 2>&1 ||
            fail "calls on $np: $(cat "$scratch/log")"
        for ((rank = 0; rank < np; rank++)); do
            # before the first there is what the loop begins with
            dump "$scratch/ring" $rank | awk 'NR > 2 && $2 != "finalize" {
                print $2, $1 - 10 ^ int((NR + 1) / 3) }'
        done
    done | sort | uniq -c >"$scratch/beside"
    awk '$1 != ($2 == "barrier" ? 50 : 60) || $3 < 0 || $3 > 100 { bad = 1 } END { exit bad || NR != 3 }' \
        "$scratch/beside" || fail "calls: beside its bursts $(cat "$scratch/beside")"
fi
finish
