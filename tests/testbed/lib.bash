# shellcheck shell=bash
# For the scripts of this folder, which source it from the root of the repository.
set -u
o=$(realpath "${TI_BUILD:-build}")
top=$PWD
unset LD_PRELOAD "${!TIARA_@}" SSH_AUTH_SOCK
for v in "${!OMPI_MCA_@}" "${!PRTE_MCA_@}" "${!PMIX_MCA_@}"; do unset "$v"; done
export TI_BUILD=$o

skip() { echo "$*"; exit 77; }
failed=0
fail() { echo "FAILED: $*"; failed=1; }
finish() { [ $failed -eq 0 ] && echo "ok"; exit $failed; }

# A bed and a folder for this script alone; both go when it ends.
export TI_BED=${TI_BED:-t$$}
bed=$top/tests/testbed/bed
scratch=$(mktemp -d /tmp/tib-XXXXXX) || exit 1
trap '"$bed" down; rm -rf "$scratch"' EXIT

# bed_up OPTION...: sets `state`, the bed's folder.
bed_up() {
    state=$("$bed" up "$@")
    case $? in
        0) ;;
        77) skip "$state" ;;
        *) fail "bed up $*"; finish ;;
    esac
}

# front COMMAND...: on the front.  The limit is for one that hangs, below the one of tests/run.
front() { timeout -k 30 3000 "$bed" front "$@"; }

# Words before mpirun's program that make plain Open MPI run well on the bed.
# shellcheck disable=SC2034  # for the scripts
plain_mpirun=(mpirun --bind-to none --mca mpi_yield_when_idle 1
    --mca orte_keep_fqdn_hostnames 1 --mca plm_rsh_no_tree_spawn 1
    --mca btl_tcp_if_include 10.0.0.0/8 --mca oob_tcp_if_include 10.0.0.0/8
    --mca btl_vader_single_copy_mechanism none)

# What a script needs that runs ti-acquire.
need_acquire() {
    local p
    for p in ti-acquire ti-gather ti-node libminitrace.so; do
        [ -e "$o/$p" ] || skip "$o/$p was not built"
    done
    command -v mpirun >/dev/null || skip "there is no mpirun"
    command -v "${MPICC:-mpicc}" >/dev/null || skip "there is no MPI compiler"
}
