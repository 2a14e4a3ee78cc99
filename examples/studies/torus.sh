#!/bin/bash
# Placement on a torus: torus.sh [DIR].  See README.md.
# shellcheck source=examples/studies/lib.sh
. "$(dirname "$0")/lib.sh"
dir=${1:-torus}
mkdir -p "$dir"
trace "$dir/stencil.tib" 64 stencil 512 20
ti-replay "$dir/stencil.tib" --speed 1000Gf --bandwidth 1GBps --latency 1us \
    --ranks-per-host 2 --loopback 20GBps,200ns \
    --sweep 'topology=torus:4,8|torus:8,4|torus:4,4,2' \
    --sweep placement=block,round-robin,random:1..5 \
    -o "$dir/stencil"
