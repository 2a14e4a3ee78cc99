# shellcheck shell=bash
# The plan over nodes of a sites file, with --dry-run: on the testbed of the paper, it is
# what it has to be, recomputed from the sites file by place-check.py; nothing of this
# machine is needed for it.
set -u
o=${TI_BUILD:-build}
case $o in /*) ;; *) o=$PWD/$o ;; esac
skip() { echo "$*"; exit 77; }
[ -x "$o/ti-acquire" ] || skip "$o/ti-acquire was not built"
command -v python3 >/dev/null || skip "there is no python3"
python=$(command -v python3)
check=$PWD/tests/cli/place-check.py
g5k=$PWD/hostfiles/g5k.conf
g5k_2026=$PWD/hostfiles/g5k-2026.conf

tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
mkdir "$tmp/w"
cd "$tmp/w" || exit 1
unset "${!SLURM_@}" "${!OAR_@}" "${!PBS_@}" "${!LSB_@}"

failed=0
fail() { echo "FAILED: $*"; failed=1; }
# run STATUS OPTION...: no other program can be found, and none is needed
run() {
    local want=$1 rc
    shift
    PATH=/nonexistent "$o/ti-acquire" "$@" >../out 2>../err </dev/null
    rc=$?
    [ $rc -eq "$want" ] && return
    fail "status $rc, not $want: $*"
    cat ../out ../err
}
says() { grep -qF -- "$2" "../$1" || { fail "$1 does not say: $2"; cat "../$1"; }; }
# sound OPTION...: the plan as JSON, checked against the sites file
sound() {
    run 0 --sites "$g5k" --dry-run --json "$@" ./lu.E
    "$python" "$check" "$g5k" ../out "$@" >../checked || { fail "$*"; cat ../checked; }
}

# --- the paper's largest run ---
run 0 --sites "$g5k" --np 16384 --mem-per-rank 64MiB --dry-run ./lu.E
says out "plan for ./lu.E"
says out "CF-(10,x): 16,384 ranks on 1,169 nodes of 24 clusters at 10 sites,"
says out "no node was asked"
! grep -q "planned in" ../err || fail "it tells a time that nobody asked for"
awk 'length > 80 { print "too wide: " $0; bad = 1 } END { exit bad }' ../out || fail "the table"
# 24 clusters, each with its folding factor
rows=$(grep -cE ' [0-9]+/[0-9]+ .* [0-9]+\.[0-9](-[0-9]+\.[0-9])? .*%$' ../out)
[ "$rows" -eq 25 ] || { fail "$rows rows"; cat ../out; }

run 0 -v --sites "$g5k" --np 16384 --mem-per-rank 64MiB --dry-run ./lu.E
says err "planned in"

for policy in memory speed compact; do
    for np in 1 24 16384 200000; do
        sound --np $np --policy $policy --mem-per-rank 64MiB
    done
    sound --np 1000 --policy $policy --mem-per-rank 1GiB --reserve 1GiB
    sound --np 4000 --policy $policy --mem-per-rank 64MiB --max-fold 2
    sound --np 4001 --policy $policy --mem-per-rank 64MiB --fold 4
    sound --np 400 --policy $policy --mem-per-rank 64MiB --mode R
    sound --np 3000 --policy $policy --mem-per-rank 64MiB --mode F-8
    sound --np 2000 --policy $policy --mem-per-rank 64MiB --mode C-3
    sound --np 9000 --policy $policy --mem-per-rank 64MiB --mode 'CF-(9,x)'
    sound --np 16384 --policy $policy --mem-per-rank 64MiB --mode 'CF-(9,4)'
done
sound --np 16384
sound --np 16384 --policy speed
says out '"bytes_per_rank": null'

# --- a node of the target lies on one node here ---
for policy in memory speed compact; do
    for n in 1 7 16 48 100; do
        run 0 --sites "$g5k" --np 16384 --policy $policy --mem-per-rank 64MiB --dry-run \
            --write-hostfile - --target-ranks-per-node $n ./lu.E
        sed -n 's/.*slots=\([0-9]*\).*/\1/p' ../out | awk -v n=$n '
            first % n { bad++ } { first += $1 } END { exit bad || first != 16384 }' ||
            { fail "$n ranks a node of the target, by $policy"; head -n 40 ../out; }
    done
done
run 3 --sites "$g5k" --np 16384 --mem-per-rank 64MiB --mode F-4 --dry-run --target-ranks-per-node 997 ./lu.E
{ printf '[target]\nranks_per_node = 3000\n'; cat "$g5k"; } >../target.conf
run 0 --check-sites --sites ../target.conf
says out 'target: 3000 ranks a node'
run 3 --sites ../target.conf --np 3000 --mem-per-rank 64MiB --dry-run ./lu.E
says err "the ranks cannot be placed so that each 3000 of them, a node of the target, are on one node"
run 0 --sites ../target.conf --np 3000 --mem-per-rank 64MiB --dry-run --target-ranks-per-node 4 ./lu.E
run 3 --sites "$g5k" --np 3000 --mem-per-rank 64MiB --dry-run --target-ranks-per-node 3000 ./lu.E
says err "the ranks cannot be placed so that each 3000 of them, a node of the target, are on one node"

# --- a start-up that takes long is told, and why ---
run 0 --sites "$g5k" --np 1000000 --mem-per-rank 10MiB --dry-run ./lu.E
says out "until all ranks are through MPI_Init"
says out "it grows with the square of the ranks on a node"
run 0 --sites "$g5k" --np 16384 --mem-per-rank 64MiB --dry-run ./lu.E
! grep -q "through MPI_Init" ../out || fail "a start-up of seconds is told"

# --- exclusions ---
sound --np 16384 --mem-per-rank 64MiB --exclude 'graphene-[1-100],suno'
grep -qE '"graphene-(1|57|100)\.|"suno-' ../out && fail "an excluded node has ranks"
grep -q '"graphene-101\.' ../out || fail "a node that is not excluded has none"
run 3 --sites "$g5k" --np 4 --dry-run --exclude graphene-145 ./lu.E
says err "graphene-145"

# --- too many ---
run 3 --sites "$g5k" --np 10000000 --mem-per-rank 64MiB --dry-run ./lu.E
says err "10,000,000 ranks need"
says err "the 1,169 nodes hold at most"
says err "missing is room for"
[ -s ../out ] && fail "a plan is printed that cannot be"
most=$(sed -n 's/^hint: .*--np \([0-9]*\) fits$/\1/p' ../err)
sound --np "${most:-1}" --mem-per-rank 64MiB
run 3 --sites "$g5k" --np $((most + 1)) --mem-per-rank 64MiB --dry-run ./lu.E
run 3 --sites "$g5k" --np 10000000 --mem-per-rank 64MiB --dry-run --json ./lu.E
says out "\"largest_np\": $most"
says out '"status": 3'

# --- hostfile ---
run 0 --sites "$g5k" --np 5000 --mem-per-rank 64MiB --dry-run --write-hostfile hosts ./lu.E
sum=$(awk -F'slots=' '{ n += $2 } END { print n }' hosts)
[ "$sum" = 5000 ] || fail "the hostfile has $sum slots"
# and the same from it: its slots are exact
run 0 --hostfile hosts --np 5000 --dry-run --write-hostfile - ./lu.E
cmp hosts ../out || fail "the hostfile's plan is another"
run 3 --hostfile hosts --np 5001 --dry-run ./lu.E
says err "hold at most 5,000"

# --- contradictions ---
run 2 --sites "$g5k" --np 4 --dry-run --mode F ./lu.E
says err "--mode is not 'F'"
run 2 --sites "$g5k" --np 4 --dry-run --mode F-4 --fold 3 ./lu.E
run 2 --sites "$g5k" --np 4 --dry-run --fold 4 --max-fold 3 ./lu.E
run 2 --sites "$g5k" --np 4 --dry-run --policy best ./lu.E
run 3 --sites "$g5k" --np 40 --dry-run --mode C-11 ./lu.E
says err "11 sites are asked for"

# --- three families of processors ---
run 3 --sites "$g5k_2026" --np 16384 --mem-per-rank 64MiB --dry-run ./lu.E
says err "processors of 3 families: x86_64"
says err "aarch64 ("
says err "pyxis"
says err "ppc64le ("
says err "drac"
says err "--family x86_64"
g5k=$g5k_2026
sound --np 16384 --mem-per-rank 64MiB --family x86_64
run 3 --sites "$g5k_2026" --np 16 --dry-run --family amd64 ./lu.E
says err "'amd64'"

[ $failed -eq 0 ] && echo "ok"
exit $failed
