#!/bin/bash
# ti-replay --steady: trips that are left out do not change the time by more than what is said, and
# loops with trips that cannot be left out are simulated.
# shellcheck source=tests/mpi/lib.sh
. tests/mpi/lib.sh
command -v smpirun >/dev/null || skip 'there is no smpirun'
[ -x "$TI_BUILD/ti-smpi-replay" ] || skip 'ti-smpi-replay was not built'
command -v python3 >/dev/null || skip 'there is no python3'
python3 tests/mpi/replay_steady.py "$TI_BUILD" "$scratch" || failures=$((failures + 1))
finish
