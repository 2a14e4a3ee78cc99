#!/bin/bash
# A program that is acquired regular, folded, and folded over two sites, under an exact counter:
# its replay takes the same simulated time, to the last digit, by both engines.
# tests/run: long
. tests/testbed/lib.bash
need_acquire
command -v smpirun >/dev/null || skip 'there is no smpirun'
command -v valgrind >/dev/null || skip 'there is no valgrind'
[ -x "$o/ti-smpi-replay" ] || skip 'ti-smpi-replay was not built'
[ -x "$o/blocks/is" ] || skip "$o/blocks/is was not built (no counter 'blocks' here)"
cd "$scratch" || exit 1

# clock BUNDLE ENGINE: the simulated time, all its digits
clock() {
    "$o/ti-replay" --json --no-progress -q --topology 'fat-tree:2;4,4;1,2;1,2' --engine "$2" "$1" 2>err |
        sed -n 's/^ *"clock_s": \([0-9.e-]*\),*$/\1/p'
}

# same COUNTER PROGRAM ARGUMENT...: in all modes.  Valgrind takes seconds to start, so only lu is run under it.
same() {
    local counter=$1 program=${2##*/} mode found engine expected=''
    for mode in R F-4 F-8 'CF-(2,4)'; do
        front "$o/ti-acquire" --sites "$state/sites.conf" --np 8 --mode "$mode" --counter "$counter" \
            --mem-per-rank 64MiB --no-progress -q -o "$mode.tib" --force "${@:2}" >out 2>err </dev/null ||
            { fail "$program, $mode: status $?"; cat out err; continue; }
        for engine in stock tiara; do
            found=$(clock "$mode.tib" $engine)
            expected=${expected:-$found}
            echo "$program $mode $engine $found"
            [ "${#found}" -gt 12 ] && [ "$found" = "$expected" ] ||
                { fail "$program, $mode, $engine: '$found', not '$expected'"; cat err; }
        done
    done
}

bed_up --sites 2 --nodes 8 --cores 1 --memory 8GiB
same valgrind "$o/examples/lu" S 3
same blocks "$o/blocks/is" 4096 3
finish
