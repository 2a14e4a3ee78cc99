# shellcheck shell=bash
# For the acquire-*.sh scripts, which source it from the root of the repository.
set -u
# Where one may mount, the test has a /dev/shm of its own: others kill runs and leave folders there.
if [ -z "${own_shm:-}" ] && unshare --mount mount -t tmpfs none /dev/shm 2>/dev/null; then
    # shellcheck disable=SC2016
    own_shm=yes exec unshare --mount sh -c 'mount -t tmpfs none /dev/shm; exec "$@"' \
        sh bash "$0" "$@"
fi
. tests/cli/json-lib.bash
o=${TI_BUILD:-build}
case $o in /*) ;; *) o=$PWD/$o ;; esac

skip() { echo "$*"; exit 77; }
for p in "${tool:-ti-acquire}" ti-gather libminitrace.so; do
    [ -e "$o/$p" ] || skip "$o/$p was not built"
done
command -v mpirun >/dev/null || skip "there is no mpirun"
command -v "${MPICC:-mpicc}" >/dev/null || skip "there is no MPI compiler"
unset LD_PRELOAD "${!TIARA_@}"
for v in "${!OMPI_MCA_@}" "${!PRTE_MCA_@}" "${!PMIX_MCA_@}"; do unset "$v"; done

# Short: Open MPI's sockets want short names.
tmp=$(mktemp -d /tmp/tia-XXXXXX) || exit 1
trap 'rm -rf "$tmp"' EXIT
"${MPICC:-mpicc}" -O1 -o "$tmp/app" tests/cli/acquire-app.c || exit 1
mkdir "$tmp/w"
cd "$tmp/w" || exit 1

failed=0
fail() { echo "FAILED: $*"; failed=1; }
finish() { [ $failed -eq 0 ] && echo "ok"; exit $failed; }

# run STATUS OPTION...: the tool with them; its output goes to ../out, ../err
run() {
    local want=$1 rc
    shift
    "$o/${tool:-ti-acquire}" "$@" >../out 2>../err </dev/null
    rc=$?
    [ $rc -eq "$want" ] && return
    fail "status $rc, not $want: $*"
    cat ../out ../err
}
# says FILE TEXT: ../FILE holds the text
says() { grep -qF -- "$2" "../$1" || { fail "$1 does not say: $2"; cat "../$1"; }; }
silent() { ! grep -qF -- "$2" "../$1" || { fail "$1 says: $2"; cat "../$1"; }; }
# joined says|silent TEXT: the same of the output with the lines of commands joined
joined() { sed -z 's/ \\\n */ /g' ../out >../joined; "$1" joined "$2"; }
# holds NAME...: they are what is in the directory; removes them
holds() {
    local want have
    want=$(printf '%s\n' "$@" | sort | tr '\n' ' ')
    have=$(find . -mindepth 1 -maxdepth 1 -printf '%f\n' | sort | tr '\n' ' ')
    [ "${want# }" = "$have" ] || fail "there is '$have', not '$want'"
    find . -mindepth 1 -delete
}

# The processes of runs whose traces go below our directory.
ours() {
    local p
    for p in /proc/[0-9]*; do
        grep -qazF "TIARA_TRACE_DIR=$tmp/" "$p/environ" 2>/dev/null &&
            [ "$(cut -d' ' -f3 <"$p/stat" 2>/dev/null)" != Z ] && echo "${p#/proc/}"
    done
}
# The process that is rank $1 of such a run.
rank_process() {
    local p
    for p in $(ours); do
        grep -qazxF "OMPI_COMM_WORLD_RANK=$1" "/proc/$p/environ" 2>/dev/null && echo "$p"
    done | head -n 1
}
# Folders outside the run directory that nobody holds, see common/folder.h.
abandoned() {
    local f
    for f in {/tmp,/dev/shm,"${TMPDIR:-/tmp}"}/tiara-??????; do
        [ -O "$f/lock" ] && flock -n "$f/lock" true && echo "$f"
    done | sort -u
}
abandoned_before=$(abandoned)
# Nothing of the run is left, here or elsewhere.
clean() {
    local left
    left=$(ours)
    [ -z "$left" ] || fail "processes are left: $left"
    left=$(comm -13 <(printf '%s\n' "$abandoned_before") <(abandoned))
    [ -z "$left" ] || fail "left: $left"
    for f in */mpi-tmp; do [ -e "$f" ] && fail "$f is left"; done
}
