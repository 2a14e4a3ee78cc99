#!/bin/bash
# Fat tree against reduced fat tree: fat-tree.sh [DIR].  See README.md.
# shellcheck source=examples/studies/lib.sh
. "$(dirname "$0")/lib.sh"
dir=${1:-fat-tree}
mkdir -p "$dir"
trace "$dir/is.tib" 16 is 65536 3
trace "$dir/stencil.tib" 16 stencil 512 20
for program in is stencil; do
    ti-replay "$dir/$program.tib" --speed 1000Gf --latency 1us \
        --sweep 'bandwidth=10GBps|10GBps,5GBps|10GBps,2.5GBps|10GBps,1.25GBps' \
        --sweep 'topology=fat-tree:2;4,4;1,4;1,1|fat-tree:2;4,4;1,2;1,1' \
        -o "$dir/$program"
done
