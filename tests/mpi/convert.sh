#!/bin/bash
# ti-convert on traces of programs: SimGrid's files give stock smpirun what ti-replay says, to the
# last digit, and as a trace again the same; GOAL and Dimemas's traces keep messages and bytes.
# shellcheck source=tests/mpi/lib.sh
. tests/mpi/lib.sh
tmp=$scratch o=$TI_BUILD
export TIARA_TIMES=1
example() { # NAME NP ARGUMENT...
    local name=$1 np=$2
    shift 2
    MPIRUN="$(pass TIARA_TIMES)" trace "$tmp/$name" "$np" cputime "$examples/$name" "$@" >"$tmp/log" 2>&1 ||
        { fail "$name"; cat "$tmp/log"; }
}
example ring 4
example lu 8 S 5
example stencil 6 48 10
example cg 8
example master_worker 5

time_of() { sed -n 's/.*Simulation time \([0-9.]*\).*/\1/p' "$1"; }
# (Stock replay, since actions do not have the time that communicators take.)
replay() { "$o/ti-replay" --engine stock --hosts 8 --loopback 1GBps,5us "$@" 2>"$tmp/err"; }
stock() { # DIR NP: what smpirun says of the files there, without our options
    cp "$tmp/kept/platform.xml" "$tmp/kept/hostfile" "$1" &&
        (cd "$1" && smpirun -np "$2" -platform platform.xml -hostfile hostfile -replay traces.txt) \
            >"$tmp/stock" 2>&1
    time_of "$tmp/stock"
}
convert() { "$o/ti-convert" -q "$@" 2>"$tmp/err" || { fail "ti-convert $*"; cat "$tmp/err"; }; }
# The actions but for tags, which are numbered anew.
plain() { sed -E 's/^([0-9]+ i?(send|recv) -?[0-9]+) [0-9]+/\1/; s/^([0-9]+ wait -?[0-9]+ [0-9]+) .*/\1/' "$@"; }

if command -v smpirun >/dev/null; then
    for run in ring:4 lu:8 stencil:6 master_worker:5; do
        name=${run%:*} np=${run#*:}
        rm -rf "$tmp/kept"
        said=$(replay --keep "$tmp/kept" "$tmp/$name" | sed -n 's/^simulated time: *\([0-9.]*\) s/\1/p')
        convert --to simgrid "$tmp/$name" -o "$tmp/$name.actions"
        convert --to simgrid --merged "$tmp/$name" -o "$tmp/$name.merged"
        for files in actions merged; do
            found=$(stock "$tmp/$name.$files" "$np")
            [ -n "$said" ] && [ "$found" = "$said" ] ||
                { fail "$name.$files: smpirun says '$found', ti-replay '$said'"; tail -n 3 "$tmp/stock"; }
            convert --from simgrid "$tmp/$name.$files" -o "$tmp/$name.$files.run"
            "$o/ti-info" -q --verify "$tmp/$name.$files.run" || fail "$name.$files.run is not sound"
            found=$(replay "$tmp/$name.$files.run" | sed -n 's/^simulated time: *\([0-9.]*\) s/\1/p')
            [ "$found" = "$said" ] || fail "$name.$files.run: $found, not $said"
            convert --to simgrid "$tmp/$name.$files.run" -o "$tmp/$name.$files.again"
            for ((rank = 0; rank < np; rank++)); do
                plain "$tmp/$name.$files.again/$(printf 'rank-%06d.txt' $rank)" >"$tmp/found"
                plain "$tmp/$name.actions/$(printf 'rank-%06d.txt' $rank)" >"$tmp/expected"
                same "$tmp/expected" "$tmp/found" "$name.$files: actions of rank $rank, there and back"
            done
        done
    done

    # files by hand: those of the ring, and what no trace of ours has
    printf 'node-%d\n' 0 1 2 >"$tmp/hosts"
    cp examples/ring4/platform.xml "$tmp"
    cat >"$tmp/actions" <<'END'
0 init 1
1 init 1
2 init 1
0 comm_size 3
0 bcast 5e4 1
1 bcast 5e4 1
2 bcast 5e4 1
0 reduce 5e4 5e8 2 4
1 reduce 5e4 3e8 2 4
2 reduce 5e4 5e8 2 4
0 irecv 1 3 2000
1 isend 0 3 2000
0 isend 2 0 3e4 6
2 irecv 0 0 3e4 6
0 waitall 2
1 waitall 1
2 waitall
0 sendRecv 1000 1 2e5 2 6 1
1 sendRecv 1000 2 1000 0 0 6
2 sendRecv 2e5 0 1000 1 1 0
0 allreduce 100 1e6
1 allreduce 100 2e6
2 allreduce 100 3e6
0 finalize
1 finalize
2 finalize
END
    echo "$tmp/actions" >"$tmp/list"
    for files in "$PWD/examples/ring4/list.txt:$PWD/examples/ring4/hostfile:4" "$tmp/list:$tmp/hosts:3"; do
        IFS=: read -r list hosts np <<<"$files"
        (cd "$(dirname "$list")" && smpirun -np "$np" -platform "$tmp/platform.xml" \
            -hostfile "$hosts" -replay "$list") >"$tmp/stock" 2>&1
        said=$(time_of "$tmp/stock")
        rm -rf "$tmp/hand"
        convert --from simgrid "$list" -o "$tmp/hand"
        found=$("$o/ti-replay" -q --platform "$tmp/platform.xml" --hostfile "$hosts" "$tmp/hand" 2>"$tmp/err")
        [ -n "$said" ] && [ "$found" = "simulated time: $said s" ] ||
            { fail "$list: ti-replay says '$found', smpirun '$said'"; tail -n 3 "$tmp/stock" "$tmp/err"; }
    done
fi

# small synchronous sends: where all sends are
MPIRUN="$(pass TIARA_TIMES)" trace "$tmp/p2p" 4 cputime "$built/p2p" >"$tmp/log" 2>&1 || fail p2p
"$o/ti-convert" -q --to simgrid "$tmp/p2p" -o "$tmp/p2p.actions" 2>"$tmp/err"
{ [ $? -eq 3 ] && grep -q 'no synchronous send below 65536 bytes' "$tmp/err"; } || fail 'p2p: not refused'
convert --to simgrid --eager 0 "$tmp/p2p" -o "$tmp/p2p.actions"

for name in ring lu stencil cg master_worker; do
    want=$("$o/ti-info" --verify "$tmp/$name" | sed -n 's/,//g; s/^conserved: \([0-9]*\) messages \([0-9]*\) bytes.*/\1 \2/p')
    convert --to dimemas --times "$tmp/$name" -o "$tmp/$name.dim"
    python3 tests/cli/convert_check.py dimemas "$tmp/$name.dim" >"$tmp/found" || fail "$name.dim"
    [ "$(awk '/^(messages|bytes) / { printf "%s%s", sep, $2; sep = " " }' "$tmp/found")" = "$want" ] ||
        { fail "$name.dim: not $want"; cat "$tmp/found"; }
    convert --to goal --times "$tmp/$name" -o "$tmp/$name.goal"
    python3 tests/cli/convert_check.py goal "$tmp/$name.goal" >"$tmp/goal" || fail "$name.goal"
    [ "$(awk '/^ns/' "$tmp/goal")" = "$(awk '/^ns/' "$tmp/found")" ] ||
        fail "$name: bursts of $(awk '/^ns/' "$tmp/goal"), and $(awk '/^ns/' "$tmp/found")"
done
# what is in no collective is in both
python3 tests/cli/convert_check.py goal "$tmp/ring.goal" | grep -qx 'bytes 4000000' || fail 'bytes of ring.goal'
# collectives in all forms, on all kinds of communicators of one group
for name in collectives icollectives comms; do
    MPIRUN="$(pass TIARA_TIMES)" trace "$tmp/$name" 5 cputime "$built/$name" >"$tmp/log" 2>&1 ||
        { fail "$name"; cat "$tmp/log"; }
    convert --to goal --times "$tmp/$name" -o "$tmp/$name.goal"
    python3 tests/cli/convert_check.py goal "$tmp/$name.goal" >/dev/null || fail "$name.goal"
done
# collectives that may be under way at once have tags of their own
[ "$(grep -o 'tag [0-9]*' "$tmp/icollectives.goal" | sort -u | wc -l)" -ge 20 ] || fail 'one tag for several'

# communicators of some ranks: no SimGrid, but the others
"$o/ti-convert" -q --to simgrid "$tmp/cg" -o "$tmp/cg.actions" 2>"$tmp/err"
[ $? -eq 3 ] || fail 'cg: not refused'
grep -q 'rank 0, event [0-9]*, allreduce(.*of all ranks only, this one is of 4 of 8' "$tmp/err" ||
    { fail 'cg: no reason'; cat "$tmp/err"; }
[ -z "$(find "$tmp" -maxdepth 1 '(' -name 'cg.actions*' -o -name 'tiara-*' ')')" ] || fail "cg: something is left"
finish
