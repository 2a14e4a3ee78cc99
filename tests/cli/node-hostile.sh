#!/usr/bin/env bash
# ti-node and a front end that means harm: memory, processes and files keep to their bounds.
# tests/run: waits
set -u
cd "$(dirname "$0")/../.." || exit 1
command -v python3 >/dev/null || { echo "no python3"; exit 77; }
[ -x "${TI_BUILD:-build}/ti-node" ] || { echo "ti-node was not built"; exit 77; }
exec python3 -B tests/cli/node_hostile.py -v
