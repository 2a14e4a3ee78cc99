#!/bin/bash
# A dozen gathers that something goes wrong with; `make check-gather-faults` runs hundreds.
# tests/run: long
# shellcheck source=tests/testbed/lib.bash
. tests/testbed/lib.bash
command -v python3 >/dev/null || skip "there is no python3"
tests/testbed/gather-faults --runs 12 --jobs 4 --seed "${FAULTS_SEED:-6}" \
    undisturbed relay_killed relay_frozen leaf_killed gateway_restarted root_killed root_disk_full \
    connection_cut wrong_host_key source_truncated bit_flipped duplicate_different
exit
