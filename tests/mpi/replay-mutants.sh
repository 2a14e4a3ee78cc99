#!/bin/bash
# Traces with one thing changed: the check before a replay, the replayer and ti-info --verify agree
# on them.
# shellcheck source=tests/mpi/lib.sh
. tests/mpi/lib.sh
command -v smpirun >/dev/null || skip 'there is no smpirun'
[ -x "$TI_BUILD/ti-smpi-replay" ] || skip 'there is no ti-smpi-replay'
python3 tests/mpi/replay_mutants.py "$TI_BUILD" "$scratch" "${MUTANTS:-120}" || fail 'mutants'
finish
