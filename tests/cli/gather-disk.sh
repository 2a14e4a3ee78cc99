#!/bin/bash
# ti-gather: a full disk, a limit, a signal: no .part and no half bundle stay.
# shellcheck source=tests/cli/trace-lib.bash
. tests/cli/trace-lib.bash

clean() { ls ./*.part >/dev/null 2>&1 && fail "$1: a .part stays"; [ -e a.tib ] && fail "$1: a bundle"; }

mktrace --np 40 --iterations 300 --noise 100000 a.run
(ulimit -f 100; run 4 ti-gather a.run; exit $failed) || failed=1
says err "cannot write 'a.tib.part': File too large"
clean "file size limit"

# a disk of 256 KiB, where one may make it
mkdir disk
if mount -t tmpfs -o size=256k tiara-test disk 2>/dev/null; then
    run 4 ti-gather -o disk/a.tib a.run
    says err "No space left on device"
    says err "hint: make room"
    [ -z "$(ls disk)" ] || fail "left on the full disk: $(ls disk)"
    umount disk
fi

# interrupted: dies of the signal, and cleans up
if command -v timeout >/dev/null; then
    mktrace --np 400 --iterations 1000 --noise 100000 b.run
    # whenever it comes: before, while or after writing
    for t in 0.01 0.05 0.2 0.4; do
        timeout -s INT "$t" ti-gather b.run >out 2>err
        rc=$?
        [ $rc -eq 0 ] || [ $rc -eq 124 ] || fail "interrupted: status $rc"
        ls ./*.part >/dev/null 2>&1 && fail "interrupted after $t s: a .part stays"
        [ $rc -eq 124 ] && [ -e b.tib ] && { ti-info -q --verify b.tib || fail "half a bundle"; }
        rm -f b.tib
    done
fi

run 4 ti-gather -o /nonexistent/a.tib a.run
says err "cannot create '/nonexistent/a.tib.part'"
(run 4 ti-gather -q --json a.run >/dev/null; ti-gather --json --force a.run >/dev/full 2>err2
 [ $? -eq 4 ] || fail "a full standard output is no error"; exit 0)
exit $failed
