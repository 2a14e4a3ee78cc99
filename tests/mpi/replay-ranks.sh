#!/bin/bash
# Both engines simulate the same time, to the last digit, at 4, 8, 64 and 1,024 ranks.  Runs of so
# many ranks take too long here: the traces are made, of what SimGrid's own replay can express.
# shellcheck source=tests/mpi/lib.sh
. tests/mpi/lib.sh
command -v smpirun >/dev/null || skip 'there is no smpirun'
tmp=$scratch o=$TI_BUILD
[ -x "$o/ti-smpi-replay" ] || skip 'ti-smpi-replay was not built'

# Actions of n ranks.  Messages are eager, up to 65536 bytes, and longer.  An alltoall has the
# square of n messages.
cat >"$tmp/actions.awk" <<'END'
function round(r, i) {
    print r, "irecv", (r + n - i) % n, i, 60000 * i - 59000
    print r, "isend", (r + i) % n, i, 60000 * i - 59000
    print r, "compute", 1000 * (r % 7 + 1)
    print r, "waitall 2"
    if (r % 2) {
        print r, "recv", r - 1, 9, 300
        print r, "send", r - 1, 9, 90000
    } else {
        print r, "send", r + 1, 9, 300
        print r, "recv", r + 1, 9, 90000
    }
    print r, "sendRecv", 5000, (r + 1) % n, 5000, (r + n - 1) % n
    print r, "bcast", 1000, i % n
    print r, "allreduce 500 0"
    print r, "compute 5000"
    print r, "reduce 200 0", (n - i) % n
    print r, "barrier"
    print r, "gather 10 10 0"
    print r, "scatter 10 10 0"
    if (n > 64) return
    print r, "allgather 100 100"
    print r, "alltoall 1000 1000"
}
BEGIN {
    for (r = 0; r < n; r++) {
        print r, "init"
        print r, "compute 100000"
        for (i = 1; i <= 2; i++) round(r, i)
        print r, "finalize"
    }
}
END

# time_by ENGINE OPTION... TRACE: the simulated time, all its digits
time_by() {
    "$o/ti-replay" --json --no-progress --engine "$@" 2>"$tmp/err" |
        sed -n 's/^ *"clock_s": \([0-9.e-]*\),*$/\1/p'
}
agree() { # OPTION... TRACE
    local stock tiara
    stock=$(time_by stock "$@")
    tiara=$(time_by tiara "$@")
    [ "${#stock}" -ge 12 ] && [ "$stock" = "$tiara" ] ||
        { fail "$*: stock '$stock', tiara '$tiara'"; cat "$tmp/err"; }
    echo "${*//"$tmp/"/} $tiara"
}

while read -r np tree torus; do
    awk -v n="$np" -f "$tmp/actions.awk" >"$tmp/actions-$np"
    "$o/ti-convert" -q --from simgrid "$tmp/actions-$np" -o "$tmp/mix-$np" || fail "actions of $np ranks"
    "$o/bench/wavefront" "$np" 4 "$tmp/wave-$np" || fail "wavefront of $np ranks"
    for topology in cluster "fat-tree:$tree" "torus:$torus"; do
        agree --topology "$topology" "$tmp/mix-$np"
    done
    agree --topology "fat-tree:$tree" "$tmp/wave-$np"
    agree --collectives tree --no-compute "$tmp/mix-$np"
done <<'END'
4 2;2,2;1,2;1,1 2,2
8 2;4,2;1,2;1,2 2,2,2
64 2;8,8;1,4;1,1 4,4,4
1024 2;32,32;1,8;1,1 16,8,8
END
finish
