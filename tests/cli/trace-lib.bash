# shellcheck shell=bash
# For the gather-*.sh and info-*.sh scripts, which source it from the root of the
# repository: the tools, a scratch folder to work in, and what to check with.
set -u
. tests/cli/json-lib.bash

o=${TI_BUILD:-build}
case $o in /*) ;; *) o=$PWD/$o ;; esac
for p in ti-gather ti-info tests/mktrace; do
    [ -x "$o/$p" ] || { echo "$o/$p was not built"; exit 77; }
done
PATH=$o:$o/tests:$PATH
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
cd "$tmp" || exit 1
failed=0
fail() { echo "FAILED: $*"; failed=1; }
# run STATUS COMMAND...: its output goes to files out and err
run() {
    local want=$1 rc
    shift
    "$@" >out 2>err
    rc=$?
    [ $rc -eq "$want" ] && return
    fail "status $rc, not $want: $*"
    cat out err
}
# says FILE TEXT: the file holds the text
says() { grep -qF -- "$2" "$1" || { fail "$1 does not say: $2"; cat "$1"; }; }
