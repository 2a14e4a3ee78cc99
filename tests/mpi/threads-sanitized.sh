#!/bin/bash
# The library and a program with threads, both under the thread sanitizer: what
# threads share in the library they share properly, whatever they do.
# shellcheck source=tests/mpi/lib.sh
. tests/mpi/lib.sh
# shellcheck source=tests/mpi/threads-lib.bash
. tests/mpi/threads-lib.bash
[ -n "${TI_SANITIZE:-}" ] || skip 'builds the library again, for minutes: set TI_SANITIZE to run it'
build=$scratch/build
flags='-O1 -g -fsanitize=thread'

echo 'int main(void) { return 0; }' >"$scratch/empty.c"
# shellcheck disable=SC2086  # words are meant
{ ${MPICC:-mpicc} $flags -o "$scratch/empty" "$scratch/empty.c" &&
    setarch -R "$scratch/empty"; } >"$scratch/log" 2>&1 || skip 'no thread sanitizer works here'
env -u MAKEFLAGS -u MAKELEVEL make -s O="$build" CFLAGS="$flags" "$build/libminitrace.so" \
    "$build/libminitrace-openmpi.so" "$build/tests/mpi/threads" >"$scratch/log" 2>&1 ||
    skip "not built: $(tail -n 1 "$scratch/log")"
TI_BUILD_TOOLS=$TI_BUILD
TI_BUILD=$build
program=$build/tests/mpi/threads
LAUNCH='setarch -R'
export TSAN_OPTIONS='ignore_noninstrumented_modules=1 exitcode=66'
for what in 'allowed serialized' 'allowed multiple' 'second multiple' 'finalize funneled' overlap \
    serialized blocked storm; do
    # shellcheck disable=SC2086
    run cputime $what
    if grep 'WARNING: ThreadSanitizer' -A 12 "$scratch/err"; then fail "$what"; fi
    [ -n "$("$TI_BUILD_TOOLS/ti-info" "$dir" --rank 0 --dump --no-volumes 2>/dev/null)" ] || fail "$what: no trace"
done
finish
