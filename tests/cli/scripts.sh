#!/bin/bash
# Every script of ours passes shellcheck.
set -u
command -v shellcheck >/dev/null || { echo 'there is no shellcheck'; exit 77; }
scripts=(.ci/run tests/run tools/install-deps tools/demo tools/distcheck tools/check-reproducible tools/check-packages
         tools/write-built tools/check-symbols bench/run bench/compact bench/modes bench/testbed
         tests/testbed/bed tests/testbed/demo tests/testbed/slurm tests/pmu/system tests/pmu/run tests/pmu/guest-init)
shellcheck -S warning -x -P SCRIPTDIR:. "${scripts[@]}" tests/*/*.sh examples/studies/*.sh
