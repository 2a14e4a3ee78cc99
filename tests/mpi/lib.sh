# shellcheck shell=bash
# For the scripts of this folder, which source it from the root of the repository.
set -u
TI_BUILD=$(realpath "${TI_BUILD:-build}")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
# Open MPI removes the folder that all its jobs share when it looks empty, also to one that
# just begins: jobs of tests beside this one have another.
export OMPI_MCA_orte_tmpdir_base=$scratch
failures=0

skip() { echo "$*"; exit 77; }
fail() { echo "FAILED: $*"; failures=$((failures + 1)); }
finish() { [ "$failures" -eq 0 ] || exit 1; exit 0; }

# The programs, and the MPI they are linked with: MPI=mpich, or mpirun's.
MPI=${MPI:-openmpi}
# shellcheck disable=SC2034  # for the scripts
built=$TI_BUILD/tests/mpi examples=$TI_BUILD/examples mpirun=mpirun
if [ "$MPI" = mpich ]; then
    # shellcheck disable=SC2034
    built=$TI_BUILD/tests/mpich examples=$built mpirun=mpirun.mpich
fi
# Programs of the standard ABI, run with the library of that MPI which has it (abi.sh).
# shellcheck disable=SC2034
[ -z "${STANDARD_ABI:-}" ] || built=$TI_BUILD/tests/abi examples=$TI_BUILD/tests/abi
command -v $mpirun >/dev/null || skip "there is no $mpirun"
[ "$MPI" = mpich ] || [ -e "$TI_BUILD/libminitrace-openmpi.so" ] || skip 'this build is without Open MPI'

# Whether programs can be run under the exact counter here.
exact_counter() {
    command -v valgrind >/dev/null && [ -x "$TI_BUILD/libexec/valgrind/ticount-amd64-linux" ]
}

# pass NAME: the words with which mpirun hands on a variable; Hydra does unasked.
pass() { [ "$MPI" = mpich ] || echo "-x $1"; }

# trace DIR NP COUNTER PROGRAM ARGUMENT...: run PROGRAM traced into DIR, with the
# counter valgrind or cputime.  MPIRUN may hold words to put before mpirun's
# options, LAUNCH words to put before mpirun itself, PRELOAD what to preload,
# VALGRIND_OPTIONS more options of ticount.
trace() {
    local dir=$1 np=$2 counter=$3 words=() set=() variable
    shift 3
    local variables=("TIARA_TRACE_DIR=$dir" "TIARA_COUNTER=$counter"
                     "LD_PRELOAD=${PRELOAD-$TI_BUILD/libminitrace.so}")
    if [ "$counter" = valgrind ]; then
        variables+=("VALGRIND_LIB=$TI_BUILD/libexec/valgrind" LD_BIND_NOW=1
                    HWLOC_COMPONENTS=-x86)
        # shellcheck disable=SC2206  # words are meant
        words=(valgrind --tool=ticount --vgdb=no ${VALGRIND_OPTIONS:-})
    fi
    for variable in "${variables[@]}"; do
        if [ "$MPI" = mpich ]; then
            set+=(-genv "${variable%%=*}" "${variable#*=}")
        else
            set+=(-x "$variable")
        fi
    done
    # shellcheck disable=SC2086  # words are meant
    ${LAUNCH:-} "$mpirun" -np "$np" ${MPIRUN:-} "${set[@]}" "${words[@]}" "$@"
}

# bare NP PROGRAM ARGUMENT...: run PROGRAM under the exact counter, without the library.
bare() {
    local np=$1
    shift
    PRELOAD='' trace "$scratch/nowhere" "$np" valgrind "$@"
}

# dump DIR RANK OPTION...: its events, without the word that volumes are an estimate.
dump() {
    local dir=$1 rank=$2
    shift 2
    "$TI_BUILD/ti-info" "$dir" --rank "$rank" --dump "$@" | sed '/^# volumes/d'
    return "${PIPESTATUS[0]}"
}

# same FILE FILE WORDS: they are equal, or WORDS failed.
same() {
    if ! diff "$1" "$2" >"$scratch/diff" 2>&1; then
        fail "$3 (< expected, > found)"
        head -n 20 "$scratch/diff"
    fi
}

# check NP PROGRAM ARGUMENT...: trace a program of this folder that says what its
# events must be (expect.h), and compare.  The ranks' traces must also be complete
# and fit together, unless GAPS is set: the ranks stopped recording where it suited.
check() {
    expected=$(mktemp -d "$scratch/XXXXXX")
    TIARA_EXPECT=$expected MPIRUN="${MPIRUN:-} $(pass TIARA_EXPECT)" check_like "$@"
}

# check_like NP PROGRAM ARGUMENT...: trace one whose events must be those of the
# program that was checked last: the same in another language.
check_like() {
    local np=$1 program=$2 dir rank
    shift 2
    dir=$(mktemp -d "$scratch/XXXXXX")
    if ! TIARA_QUIET=1 MPIRUN="${MPIRUN:-} $(pass TIARA_QUIET)" \
        trace "$dir/trace" "$np" cputime "$built/$program" "$@" >"$dir/log" 2>&1; then
        fail "$program $* on $np ranks"
        head -n 20 "$dir/log"
        return
    fi
    if [ -s "$dir/log" ]; then
        fail "$program $* on $np ranks says something"
        head -n 20 "$dir/log"
    fi
    if [ -z "${GAPS:-}" ] && ! "$TI_BUILD/ti-info" -q --verify "$dir/trace" >"$dir/log" 2>&1; then
        fail "$program $* on $np ranks: its trace is not sound"
        head -n 20 "$dir/log"
    fi
    for ((rank = 0; rank < np; rank++)); do
        dump "$dir/trace" "$rank" --no-volumes >"$dir/found" 2>&1
        same "$expected/rank-$rank" "$dir/found" "$program $*: events of rank $rank of $np"
    done
}
