# shellcheck shell=bash
# For the studies of this folder, which source it: where the tools and the programs are, and traces.
set -eu
build=$(realpath "${TI_BUILD:-$(dirname "${BASH_SOURCE[0]}")/../../build}")
PATH=$build:$PATH # in the source tree, the tools are there; else they are installed
command -v ti-replay >/dev/null && [ -x "$build/examples/is" ] ||
    { echo "nothing is built in $build: make all examples" >&2; exit 2; }

# trace BUNDLE RANKS PROGRAM ARGUMENT...: an example, folded onto this machine, unless there is the
# bundle already.  CPU time is counted, which is quick, and will do where hosts are so fast that
# communication is what takes time; COUNTER=valgrind counts instructions.
trace() {
    local bundle=$1 ranks=$2 program=$3
    shift 3
    [ -e "$bundle" ] || ti-acquire -q --np "$ranks" -c "${COUNTER:-cputime}" --pilot no \
        -o "$bundle" "$build/examples/$program" "$@"
}
