#!/usr/bin/env bash
# How ti-gather treats nodes that do not do their work, or only a part of it: nothing that
# is wrong is taken, nobody else suffers, and what came is kept.  The nodes are
# tests/cli/gather_node.py.
here=$(cd "$(dirname "$0")" && pwd) || exit 1
cd "$here/../.." || exit 1
. tests/cli/gather-lib.bash
[ -x "$o/ti-node" ] || { echo "ti-node was not built"; exit 77; }
command -v python3 >/dev/null || { echo "no python3"; exit 77; }
command -v unzip >/dev/null || { echo "there is no unzip"; exit 77; }

# nodes N NP [OPTION]...: NP ranks on N nodes, of two sites, with these options of mktrace; kept/
# has all traces
nodes() {
    local i sites=() n=$1 np=$2
    shift 2
    [ $# -gt 0 ] || set -- --iterations 200 --noise 100000
    rm -rf mode sent kept ./*.tib && mkdir mode sent kept
    traces_of "$n" "$np" "$@"
    cp -p node*/* kept/
    change 'nodes.*.host=@name' "nodes.*.via=[\"python3\", \"-IBS\", \"$here/gather_node.py\", \"{node}\"]"
    for ((i = 0; i < n; i++)); do sites[i]="nodes.$i.site=\"s$((i % 2))\""; done
    change "${sites[@]}"
}
# come RANKS...: these are here, as they were written, and no others
come() {
    local r want=$* have
    have=$(cd run && ls rank-*.ti 2>/dev/null | sed 's/rank-0*\([0-9]\+\)\.ti/\1/' | tr '\n' ' ')
    [ "$have" = "$want${want:+ }" ] || fail "here are the ranks $have, not $want"
    for r in $want; do cmp run/rank-00000$r.ti kept/rank-00000$r.ti || fail "rank $r differs"; done
}

# what makes no sense ends the node that says it, and no other
wrong() {
    nodes 3 9
    bytes=$(stat -c %s kept/rank-000001.ti)
    while IFS='|' read -r mode ranks text; do
        nodes 3 9
        echo "$mode" >mode/node0
        run 1 ti-gather --trust run -o run.tib
        says err "$text"
        run 1 ti-info --verify run.tib
        says out " missing: "
        # shellcheck disable=SC2086
        come $ranks
    done <<END
more 1|0 3 4 5 6 7 8|node 'node0' of s0, ranks 1-2: what ti-node sends makes no sense: it announced $bytes bytes of rank-000001.ti and sent $((bytes + 17))
longer 1|0 3 4 5 6 7 8|node 'node0' of s0, ranks 1-2: what ti-node sends makes no sense: it listed rank-000001.ti with $bytes bytes and sends 3221225472
other 1|0 3 4 5 6 7 8|ranks 1-2: what ti-node sends makes no sense: traces nobody asked for
twice|3 4 5 6 7 8|ranks 0-2: what ti-node sends makes no sense: a list with a rank that is none, or is there twice
beyond|3 4 5 6 7 8|a list with a rank that is none
flip|3 4 5 6 7 8|ranks 0-2: it came damaged, twice
flip 1|0 2 3 4 5 6 7 8|rank 1: it came damaged, twice
END
}

# a node is held to what it announced; nothing more of it is written
held() {
    local size part
    # a length that is seen late is no reason
    for mode in "half 1" half; do
        nodes 3 9
        echo "$mode" >mode/node0
        run 0 ti-gather --trust run -o run.tib
        come 0 1 2 3 4 5 6 7 8
    done
    # one byte of a trace that has much more comes without credit
    nodes 3 9
    head -c 1000000 /dev/urandom >>node0/rank-000001.ti
    echo uncredited >mode/node0
    run 1 ti-gather --trust run -o run.tib
    says err "ranks 1-2: what ti-node sends makes no sense: "
    says err " bytes without credit"
    part=run/rank-000001.ti.part
    size=$(stat -c %s $part 2>/dev/null || echo 0)
    [ "$size" -lt 1000000 ] || fail "$size bytes of what came without credit were written"
    # what begins again and again is not tried again for ever, though bytes come each time
    nodes 3 9
    echo "again 1" >mode/node0
    run 1 ti-gather --trust run -o run.tib
    come 0 3 4 5 6 7 8
    says err "node 'node0' of s0, ranks 1-2: "
    [ "$(grep -c "^1 0 " sent/node0)" = 3 ] || fail "sent again: $(cat sent/node0)"
}

# once is no reason: damaged, too short, or ended in the middle; what had come is not sent again
once() {
    for mode in "flip-once 1" "shorter 1" "die 1"; do
        nodes 3 9
        echo "$mode" >mode/node0
        run 0 ti-gather --trust run -o run.tib
        come 0 1 2 3 4 5 6 7 8
    done
    half=$(($(stat -c %s kept/rank-000001.ti) / 2))
    grep -qx "1 $half $(($(stat -c %s kept/rank-000001.ti) - half))" sent/node0 ||
        fail "not gone on with at byte $half: $(cat sent/node0)"
}

# what comes damaged twice is taken from another node that has the same
elsewhere() {
    local r
    for ranks in named unknown; do
        nodes 3 9
        cp -p node0/rank-000001.ti node2/
        [ $ranks = named ] || change 'nodes.*.ranks=null'
        # whoever is asked first
        echo "flip 1" >mode/node0
        [ $ranks = named ] || echo "flip-first 1" >mode/node0
        [ $ranks = named ] || echo "flip-first 1" >mode/node2
        run 0 ti-gather --trust --json run -o run.tib
        come 0 1 2 3 4 5 6 7 8
        says err "rank 1 came damaged from node 'node"
        says err "', twice: such ranks are asked of others that have them"
        says err "1 rank had to be sent again"
        r=$(cat sent/node0 sent/node2 | grep -c '^1 ')
        [ "$r" = 3 ] || fail "$ranks: sent $r times"
        run 0 ti-info --verify run.tib
    done
    # damaged whoever sends it: told of the last one, and no more than twice of each
    nodes 3 9
    cp -p node0/rank-000001.ti node2/
    echo "flip 1" >mode/node0
    echo "flip 1" >mode/node2
    run 1 ti-gather --trust --json run -o run.tib
    come 0 2 3 4 5 6 7 8
    says err "rank 1: it came damaged, twice"
    r=$(cat sent/node0 sent/node2 | grep -c '^1 ')
    [ "$r" = 4 ] || fail "sent $r times"
    wanted "done:2/2-0 done:3/3-0 done:4/3-1"
    # another one of the same length is no substitute
    nodes 3 9
    sed 's/./x/100' node0/rank-000001.ti >node2/rank-000001.ti
    echo "flip 1" >mode/node0
    run 1 ti-gather --trust run -o run.tib
    come 0 2 3 4 5 6 7 8
    says err "have different traces of it"
}

# a .part that is the beginning of the trace is gone on with, another one is not
parts() {
    nodes 1 3
    head -c 1000 kept/rank-000000.ti >run/rank-000000.ti.part
    head -c 1000 /dev/zero >run/rank-000001.ti.part
    cat kept/rank-000002.ti kept/rank-000002.ti >run/rank-000002.ti.part
    run 0 ti-gather --trust run -o run.tib
    come 0 1 2
    cut -d' ' -f1,2 sent/node0 | tr '\n' , | grep -qx '0 1000,1 0,2 0,' || fail "parts: $(cat sent/node0)"
}

# what a crash of this machine left of traces that had come: a name with nothing behind it
crashed() {
    nodes 1 3
    cp kept/rank-000002.ti run/
    : >run/rank-000000.ti
    head -c "$(stat -c %s kept/rank-000001.ti)" /dev/zero >run/rank-000001.ti
    run 0 ti-gather --trust run -o run.tib
    come 0 1 2
    [ "$(cut -d' ' -f1 sent/node0 | tr '\n' ' ')" = "0 1 " ] || fail "sent: $(cat sent/node0)"
    run 0 ti-info --verify run.tib
}

# A .part of a rank that is here is removed, whoever brought the rank; nothing else is that has
# nearly such a name, or is no file, or is of a rank that is not whole.
stale() {
    local left name
    nodes 1 6
    cp kept/rank-00000[0125].ti run/
    head -c 1000 kept/rank-000005.ti >run/rank-000005.ti # cut off
    for name in rank-000000.ti.part rank-000005.ti.part rank-1.ti.part rank-000001.ti.part.old \
        rank-000001.ti.parts xrank-000001.ti.part rank-000009.ti.part; do
        echo mine >run/$name
    done
    mkdir run/rank-000001.ti.part
    ln -s rank-1.ti.part run/rank-000002.ti.part
    head -c 1000 kept/rank-000003.ti >run/rank-000003.ti.part
    ls run >before
    run 1 ti-gather --trust --plan run
    ls run | cmp -s - before || fail "a plan removed: $(ls run | diff before -)"
    run 1 ti-gather --trust -v run -o run.tib
    says err "removed 1 .part file of ranks that are here"
    left=$(cd run && ls -d -- *.part* | tr '\n' ' ')
    [ "$left" = "rank-000001.ti.part rank-000001.ti.part.old rank-000001.ti.parts rank-000002.ti.part \
rank-000005.ti.part rank-000009.ti.part rank-1.ti.part xrank-000001.ti.part " ] || fail "left: $left"
    cmp run/rank-000003.ti kept/rank-000003.ti || fail "rank 3 differs"
    # a run directory that was never fetched into is none of our business
    rm run/RUN.json
    echo mine >run/rank-000003.ti.part
    run 1 ti-gather --trust --force run -o run.tib
    [ -e run/rank-000003.ti.part ] || fail "removed a .part that was not fetched"
}

# ranks that are not known are found; what nobody has is said
unknown() {
    nodes 3 9
    change 'nodes.*.ranks=null'
    run 0 ti-gather --trust run -o run.tib
    come 0 1 2 3 4 5 6 7 8
    rm run/rank-* node1/rank-000004.ti
    run 1 ti-gather --trust --force run -o rest.tib
    says err "rank 4: none of the nodes that could be asked has it"
    # on another node than was said
    nodes 3 9
    mv node0/rank-000001.ti node2/
    run 0 ti-gather --trust run -o run.tib
    come 0 1 2 3 4 5 6 7 8
}

# one directory that all see is sent once
shared() {
    for ranks in named unknown; do
        nodes 3 9
        mkdir node9 && mv node?/*.ti node9/
        change "nodes.*.directory=\"$PWD/node9\""
        [ $ranks = named ] || change 'nodes.*.ranks=null'
        run 0 ti-gather --trust run -o run.tib
        come 0 1 2 3 4 5 6 7 8
        [ "$(cat sent/* | cut -d' ' -f1 | sort | uniq -d)" = "" ] || fail "$ranks: sent twice: $(cat sent/*)"
    done
}

# the same on two nodes is one; two that differ are none, whatever RUN.json says
alike() {
    nodes 3 9
    cp node0/rank-000001.ti node2/
    run 0 ti-gather --trust run -o run.tib
    come 0 1 2 3 4 5 6 7 8
    nodes 3 9
    sed 's/./x/100' node0/rank-000001.ti >node2/rank-000001.ti
    cmp -s node0/rank-000001.ti node2/rank-000001.ti && fail "they are the same"
    run 1 ti-gather --trust run -o run.tib
    grep -q "rank 1: node 'node[02]' and node 'node[02]' have different traces of it" err || fail "$(cat err)"
    come 0 2 3 4 5 6 7 8
}

# Two that differ, when one had come already: it is in no bundle, not even its bytes
late() {
    nodes 3 9
    sed 's/./x/100' node0/rank-000001.ti >node2/rank-000001.ti
    echo "late 1" >mode/node2
    run 1 ti-gather --trust run -o run.tib
    says err "rank 1: node 'node0' and node 'node2' have different traces of it"
    grep -q '^1 ' sent/node0 || fail "it had not come"
    come 0 2 3 4 5 6 7 8
    grep -q rank-000002 run.tib || fail "no names of members in the bundle"
    check gather bundle_lacks_rank_1 || fail "the bundle holds a trace that is not to be in it"
    # one that was here before is kept, and it is said; what node2 has is not removed
    for change in 's/./x/100' '$a longer'; do
        rm -f node0/rank-000000.ti run/rank-* sent/*
        cp kept/rank-000000.ti kept/rank-000001.ti run/
        sed "$change" kept/rank-000001.ti >node2/rank-000001.ti
        rm mode/*
        run 1 ti-gather --trust --force --remove run -o run.tib
        says err "rank 1: node 'node2' has another trace of it than the one that was here, which is kept"
        says err "not removed"
        come 0 1 2 3 4 5 6 7 8
        [ -e node2/rank-000001.ti ] && [ -e node1/rank-000004.ti ] || fail "removed"
    done
    cp kept/rank-000001.ti node2/
    rm run/rank-000008.ti
    run 0 ti-gather --trust --force run -o run.tib
}

# whose CRC is not to be had is told of: it cannot be read there, or the node is lost
lost() {
    for how in no-crc die-crc; do
        nodes 3 9
        cp node0/rank-000001.ti node2/
        echo $how >mode/node2
        if [ $how = no-crc ]; then
            run 0 ti-gather --trust run -o run.tib
            come 0 1 2 3 4 5 6 7 8
        else # its own may have come before
            ti-gather --trust run -o run.tib >out 2>err
        fi
        says err "node 'node2' has rank 1 too: whether they are equal is not known"
    done
}

# wanted EXPECTED: how many ranks each node was to send, sent and did not, in the order of nodes;
# what is missing is the same wherever it is told
wanted() {
    check gather losses_are_told_alike "$1" || fail "$1: $(cat out err)"
}
# a node that was given up was to send what RUN.json says, or what it listed, and no less
given_up() {
    while IFS='|' read -r but mode expected; do
        nodes 3 9
        [ "$but" = - ] || change "$but"
        [ "$mode" = - ] || echo "$mode" >mode/node0
        run 1 ti-gather --trust --json run
        wanted "$expected"
        [ "$(cat mode/node0 2>/dev/null)" = dead ] || continue
        run 1 ti-gather --trust -v --force run -o again.tib
        says err "node node0: 0 of 3 ranks, 0 B, direct, never connected, given up after"
    done <<'END'
-|dead|failed:3/0-3 done:3/3-0 done:3/3-0
-|die-always 1|failed:3/1-2 done:3/3-0 done:3/3-0
-|more 1|failed:3/1-2 done:3/3-0 done:3/3-0
-|flip 1|done:3/2-1 done:3/3-0 done:3/3-0
nodes.0.directory="/no/such"|-|done:3/0-3 done:3/3-0 done:3/3-0
nodes.*.ranks=null|more 1|failed:3/1-0 done:3/3-0 done:3/3-0
END
    # what another one sent in its place is not missing
    nodes 3 9
    cp -p node0/* node2/
    echo dead >mode/node0
    run 0 ti-gather --trust --json run
    wanted "failed:3/0-0 done:3/3-0 done:6/6-0"
    # of nothing at all there is no bundle, but all of this
    nodes 1 3
    echo dead >mode/node0
    run 5 ti-gather --trust --json run
    says err "no trace could be had from any node"
    json out written=false ranks=0 'fetch.failed.0.ranks=[[0, 2]]' \
        'tree.nodes.*.wanted=[3]' 'tree.nodes.*.missing=[3]' || fail "nothing: $(cat out)"
    json out fetch.failed.0.error | grep -qF 'no such host' || fail "nothing: $(cat out)"
    check gather fetch_is_part_of_the_time || fail "nothing: $(cat out)"
}

# the bundle tells how it came, as ti-gather did, and ti-info tells it of the bundle
told() {
    nodes 3 9
    echo "flip-once 1" >mode/node0
    head -c 1536 kept/rank-000003.ti >run/rank-000003.ti.part
    for arity in 2 star; do
        run 0 ti-gather --trust --json --force --arity $arity run
        cp out said
        run 0 ti-info --json run.tib
        check gather bundle_tells_of_the_fetch $arity || fail "$arity: $(cat said out)"
        run 0 ti-info run.tib
        case $arity in
            2) text='by a tree of arity 2, 1 hop, 3 nodes in [0-9.]+ s \(predicted [0-9.]+ s\), 1 rank sent again, 1\.5 KiB from before' ;;
            *) text='by a star, 3 nodes in [0-9.]+ s \(predicted [0-9.]+ s\)' ;;
        esac
        grep -qxE "gathered     $text" out || fail "$arity: $(cat out)"
        rm -f run/rank-*
    done
}

# many that fail alike are told of together
together() {
    nodes 8 8
    for i in 1 3 5 7; do change "nodes.$i.directory=\"$PWD/node$i/no\""; done
    run 1 ti-gather --trust run -o run.tib
    come 0 2 4 6
    says err "4 nodes of s1, 4 ranks: there is no directory"
    says err ": node1, node3, node5, node7"
}

# where the bundle may take long, nodes are told to stay until their traces are removed
stays() {
    local bytes
    nodes 3 9
    change "nodes.*.bytes=200000000"
    run 0 ti-gather --trust --remove --timeout 1000 run -o run.tib
    [ "$(sort -nu mode/node0.listens)" = 1000000 ] ||
        fail "with a longer timeout it listens for $(cat mode/node0.listens) ms"
    for bytes in 1000000 200000000; do
        nodes 3 9
        change "nodes.*.bytes=$bytes"
        run 0 ti-gather --trust --remove run -o run.tib
        says out "removed 9 traces"
        sort -nu mode/node0.listens >listens
        if [ $bytes = 1000000 ]; then echo 60000; else printf '%s\n' 60000 600000; fi |
            cmp -s - listens || fail "with $bytes bytes a node it listens for $(cat listens) ms"
    done
}

# only what is what was gathered is removed: as long, and with its checksum
removed() {
    nodes 3 9
    touch node1/keep
    run 0 ti-gather --trust run -o run.tib
    printf x >>node1/rank-000004.ti
    # as long as it was, and of the same time
    sed 's/./x/100' kept/rank-000007.ti >node2/rank-000007.ti
    touch -r kept/rank-000007.ti node2/rank-000007.ti
    cmp -s kept/rank-000007.ti node2/rank-000007.ti && fail "rank 7 is the same"
    cp -p node2/rank-000007.ti other
    run 0 ti-gather --trust --remove --force run -o run.tib
    says err "rank 4 remains on node 'node1': it is not what was gathered"
    says err "rank 7 remains on node 'node2': it is not what was gathered"
    says out "removed 9 traces"
    [ "$(echo node?/*)" = "node1/keep node1/rank-000004.ti node2/rank-000007.ti" ] || fail "left: $(ls node?)"
    cmp other node2/rank-000007.ti || fail "rank 7 was changed"
    # what cannot be removed there is told of; that another one has removed it is no trouble
    nodes 3 9
    echo keeps >mode/node0
    run 0 ti-gather --trust --remove run -o run.tib
    says err "rank 0 remains on node 'node0': it could not be removed"
    [ "$(grep -c remain err)" = 1 ] || fail "$(cat err)"
    [ "$(echo node?/*)" = node0/rank-000000.ti ] || fail "left: $(ls node?)"
    # one that is seen only when others were asked for, and stays, is asked for once
    nodes 3 9
    run 0 ti-gather --trust run -o run.tib
    echo keeps-late >mode/node0
    run 0 ti-gather --trust --force --remove run -o run.tib
    says err "ranks 0-1 remain on node 'node0': it could not be removed"
    nodes 3 9
    mkdir node9 && mv node?/*.ti node9/
    change "nodes.*.directory=\"$PWD/node9\"" 'nodes.*.ranks=null'
    run 0 ti-gather --trust --remove run -o run.tib
    grep remain err && fail "removed by others"
    [ -z "$(ls node9)" ] || fail "left: $(ls node9)"
    # what cannot be compared stays, of a node that does not tell and of one that is lost; once
    # lost is not lost
    for how in no-crc die-crc die-crc-once; do
        nodes 3 9
        run 0 ti-gather --trust run -o run.tib
        echo $how >mode/node1
        run 0 ti-gather --trust --remove --force run -o run.tib
        case $how in
            no-crc) says err "ranks 3-5 remain on node 'node1': it could not be compared with what was gathered" ;;
            die-crc) says err "ranks 3-5 remain on node 'node1': " ;;
            *) [ -s err ] && fail "$how: $(cat err)" ;;
        esac
        if [ $how = die-crc-once ]; then
            [ "$(echo node?/*)" = "node?/*" ] || fail "$how left: $(ls node?)"
        else
            [ "$(echo node?/*)" = "$(echo node1/rank-00000{3,4,5}.ti)" ] || fail "$how left: $(ls node?)"
        fi
    done
}

# RUN.json that is of another run than all that is here: nothing is fetched into it
foreign() {
    nodes 3 9
    mktrace --np 9 --run-id ${id/5/6} --ranks 0-1 run || fail "mktrace"
    ls run >before
    run 3 ti-gather --trust run -o run.tib
    says err "'run/RUN.json' is of another run than the traces that are here: its \"run_id\" is $id, that of 'rank-00000"
    says err "hint: nothing was changed: mend it"
    ls run | cmp -s - before || fail "fetched: $(ls run)"
    [ -z "$(ls sent)" ] || fail "sent: $(cat sent/*)"
    # one of the run is enough
    cp kept/rank-000008.ti run/
    run 1 ti-gather --trust run -o run.tib
    says err "2 ranks are of another run: 0-1"
}

# what a node says commands no terminal, and fills none
rude() {
    nodes 3 9
    echo rude >mode/node0
    run 1 ti-gather --trust run -o run.tib
    says err "ranks 0-2: ?]0;owned? xxxx"
    [ "$(wc -c <err)" -lt 4000 ] || fail "$(wc -c <err) bytes of messages"
    ! grep -q "$(printf '\033')" err out || fail "the terminal is commanded"
}

# who lives and does nothing of what it is asked for, as with a file system that hangs, holds up
# nobody for ever, and what others have is had from them
stuck_at() {
    local nothing="it answers, but made no progress in 30 s"
    case $1 in
        merges | drips) nodes 3 9 --iterations 1 ;; # each byte gives time
        *) nodes 3 9 ;;
    esac
    [ "$1" = remove ] && run 0 ti-gather --trust run -o run.tib
    [[ $1 = remove || $1 = merges || $1 = drips ]] || cp -p node0/rank-000001.ti node2/
    node=0
    [ "$1" != crc ] || node=2
    echo "hang $1" >mode/node$node
    [ "$1" != merges ] && [ "$1" != drips ] || echo "$1" >mode/node0
    case $1 in
        merges)
            run 1 "${patient[@]}" ti-gather --trust --timeout 3 --merge node run -o run.tib
            grep -qE "ranks 0-2: it did not finish in [34][0-9] s, in which [0-9]+ bytes of traces" err || fail "$(cat err)"
            run 1 ti-info --verify run.tib
            says out "3 ranks missing: 0-2"
            ;;
        drips)
            run 1 "${patient[@]}" ti-gather --trust --timeout 3 run -o run.tib
            grep -qE "ranks 0-2: it did not finish in [34][0-9] s, in which [0-9]+ bytes of traces" err || fail "$(cat err)"
            ;;
        remove)
            run 0 "${patient[@]}" ti-gather --trust --timeout 3 --remove --force run -o run.tib
            says err "ranks 0-2 remain on node 'node0': $nothing"
            [ "$(echo node?/*)" = "$(echo node0/rank-00000{0,1,2}.ti)" ] || fail "left: $(ls node?)"
            ;;
        crc)
            run 0 "${patient[@]}" ti-gather --trust --timeout 3 run -o run.tib
            come 0 1 2 3 4 5 6 7 8
            says err "node 'node2' has rank 1 too: whether they are equal is not known"
            ;;
        *)
            run 1 "${patient[@]}" ti-gather --trust --timeout 3 run -o run.tib
            come 1 3 4 5 6 7 8
            says err "ranks 0, 2: $nothing"
            says err "file system of '$PWD/node0', stuck?"
            ;;
    esac
}
stuck() {
    local what pids=()
    for what in list send crc remove merges drips; do
        (mkdir $what && cd $what && stuck_at $what && exit $failed) &
        pids+=($!)
    done
    for what in "${pids[@]}"; do wait "$what" || failed=1; done
}

# who is slow is not stuck: a frame that takes longer than that to come, a directory in which there
# is much to look at
slow_at() {
    nodes 2 2
    echo "$1" >mode/node0
    [ "$1" != dawdle ] || sed -i 's/"np": 2/"np": 8000/' run/RUN.json
    "${patient[@]}" ti-gather --trust --timeout 3 run -o run.tib >out 2>err
    come 0 1
    ! grep "did nothing" err || fail "given up"
}
slow() {
    local what pids=()
    for what in dribble dawdle; do
        (mkdir $what && cd $what && slow_at $what && exit $failed) &
        pids+=($!)
    done
    for what in "${pids[@]}"; do wait "$what" || failed=1; done
}

# nodes that merge their ranks: nothing of a merged trace is taken that is not as it was said, and
# what cannot be had merged comes as files
merged() {
    local mode status merged files text
    while IFS='|' read -r mode status merged files text; do
        nodes 3 9
        run 0 ti-gather --trust --merge root run -o root.tib
        rm run/rank-*
        [ "$mode" = - ] || echo "$mode" >mode/node0
        run "$status" ti-gather --trust --merge node --json run -o node.tib
        says err "$text"
        # shellcheck disable=SC2086
        come $files
        [ "$(json out fetch.merged)" = "$merged" ] || fail "$mode: $(json out fetch.merged) came merged"
        if [ "$status" = 0 ]; then
            cmp <(unzip -p root.tib ranks.ti) <(unzip -p node.tib ranks.ti) || fail "$mode: another trace"
        else
            run 1 ti-info --verify node.tib
            says out "3 ranks missing: 0-2"
        fi
    done <<'END'
-|0|9||fetched 9 of 9 ranks from 3 nodes
files|0|6|0 1 2|fetched 9 of 9 ranks from 3 nodes
cannot-merge|0|6|0 1 2|node 'node0' sends files, since it could not merge its ranks: no ?[1mroom
merged-error|0|6|0 1 2|fetched 9 of 9 ranks from 3 nodes
flip-once|0|6|0 1 2|3 ranks had to be sent again
merged-lacks|0|6|0 1 2|3 ranks had to be sent again
die|0|9||fetched 9 of 9 ranks from 3 nodes
flip|1|6||ranks 0-2: it came damaged, twice
more|1|6||bytes of its merged trace and sent
merged-longer|1|6||ranks 0-2: what ti-node sends makes no sense: a merged trace of 3221225472 bytes, whose files have
merged-again|1|6||ranks 0-2: what ti-node sends makes no sense: a merged trace nobody asked for
merged-other|1|6||ranks 0-2: what ti-node sends makes no sense: a merged trace nobody asked for
END
    # only the node that merged a rank removes its file; several may see that file
    nodes 3 9
    change 'nodes.*.ranks=null'
    cp -p node0/rank-000001.ti node2/
    run 0 ti-gather --trust --merge node --remove run -o node.tib
    says out "removed 9 traces"
    grep -q "rank 1 remains on node 'node[02]': the bundle has it as another node merged it" err || fail "$(cat err)"
    [ "$(echo node[0-2]/* | sed 's/node[02]/node/')" = node/rank-000001.ti ] || fail "left: $(ls node?)"
    nodes 3 9
    mkdir node9 && mv node[0-2]/*.ti node9/
    change "nodes.*.directory=\"$PWD/node9\"" 'nodes.*.ranks=null'
    run 0 ti-gather --trust --merge node --remove run -o node.tib
    grep remain err && fail "one directory: removed by others"
    [ -z "$(ls node9)" ] || fail "one directory: left: $(ls node9)"
    # a copy of another node that differs; what a crash left here; a .part of what comes merged now
    nodes 3 9
    sed 's/./x/100' kept/rank-000001.ti >node2/rank-000001.ti
    head -c 1000 kept/rank-000004.ti >run/rank-000004.ti.part
    : >run/rank-000005.ti
    run 1 ti-gather --trust --merge node run -o node.tib
    says err "have different traces of it"
    says err "fetched 8 of 9 ranks from 3 nodes"
    run 1 ti-info --verify node.tib
    says out "1 rank missing: 1"
    [ "$(cd run && echo ./*)" = "./RUN.json ./rank-000005.ti" ] || fail "here are: $(ls run)"
}

# each in a folder of its own, some at a time: nodes that are slow are waited for
parts=(stuck slow wrong held once elsewhere parts stale unknown shared alike late lost given_up told together stays removed
    rude foreign crashed merged)
for part in "${parts[@]}"; do
    (mkdir "$part" && cd "$part" && "$part" && exit $failed) >"$part.out" 2>&1 || touch "$part.failed" &
    while [ "$(jobs -pr | wc -l)" -ge 5 ]; do wait -n; done
done
wait
for part in "${parts[@]}"; do
    [ ! -e "$part.failed" ] || { cat "$part.out"; failed=1; }
done
exit $failed
