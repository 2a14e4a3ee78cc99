#!/bin/bash
# Failures on nodes: each case is named with its node and a remedy, ends
# with the right status, and leaves nothing but what the manual says, on no node and
# not on the front: neither processes nor files.
#
#   failures.sh [CASE...]      those cases; all of them without
# tests/run: waits
. tests/testbed/lib.bash
need_acquire
daemon=$(command -v orted || command -v prted) # mpirun's: of Open MPI 4, or of PRRTE

# A case is a function.  It makes a bed, hurts it, and says what has to come of it.
cases=(
    # before anything runs
    dead_before_probe dead_tolerated silent_before_probe frozen_before_probe unknown_host
    login_hangs login_chatters host_key_unknown host_key_changed gateway_key_changed key_refused
    max_startups gateway_down
    disk_full program_missing_on_a_site another_program_on_a_node open_mpi_missing np_too_large
    hangs_when_asked
    # between the probe and the launch
    dead_after_probe retried_after_probe ti_node_killed_after_probe firewall_before_the_front
    daemon_ends_at_once
    # while it runs
    killed_running frozen_running cut_running gateway_dies_running disk_fills_running
    memory_runs_out_running retried_without_the_node interrupted ti_acquire_killed
    # while traces are gathered
    ti_node_killed_gathering
)
# These wait for what says nothing: they run beside the others, all begun at once.  So what is
# silence for them is long: on a loaded machine it takes a while until nodes that are well speak.
slow=(login_hangs hangs_when_asked frozen_before_probe silent_before_probe firewall_before_the_front
    daemon_ends_at_once frozen_running cut_running)

# --- what they are made of ----------------------------------------------------

# Two sites with two nodes each, behind gateways unless told otherwise.
two_sites() {
    bed_up --sites 2 --nodes 2 --memory 8GiB --share "$programs" "$@"
    files | sort >before
}

# acquire STATUS OPTION... PROGRAM...: ti-acquire ends with STATUS.
acquire() {
    local want=$1
    shift
    front "$o/ti-acquire" --sites "$state/sites.conf" --counter cputime \
        --mem-per-rank 64MiB --no-progress -v "$@" >out 2>err </dev/null
    ended $? "$want"
}
# The same in the background, to be hurt meanwhile: once `err` holds TEXT.
acquire_until() {
    local text=$1
    shift
    : >err # here, not when it runs: or what the one before it said is read
    front "$o/ti-acquire" --sites "$state/sites.conf" --counter cputime \
        --mem-per-rank 64MiB --no-progress -v "$@" >out 2>>err </dev/null &
    running=$!
    while kill -0 $running 2>/dev/null; do
        grep -qF -- "$text" err 2>/dev/null && return
        sleep 0.05
    done
    fail "it does not come to say: $text"
}
and_ends() { wait $running; ended $? "$1"; } # and_ends STATUS
ended() { [ "$1" -eq "$2" ] || fail "status $1, not $2"; }
says() {
    local text
    for text in "$@"; do grep -qF -- "$text" err || fail "it does not say: $text"; done
}
# names NODES CAUSE REMEDY: among the nodes that cannot be used, and only there
names() {
    awk -v nodes="$1" -v cause="$2" -v remedy="$3" '
        /^  [^ ]/ { on = index($0, "  " nodes " (") == 1 }
        /^[^ ]/ { on = 0 }
        on && (cause == "" || index($0, cause)) { caused = 1 }
        on && /^    hint: / && (remedy == "" || index($0, remedy)) { remedied = 1 }
        END { exit !(caused && remedied) }' err || fail "$1 is not named with '$2' and hint '$3'"
    [ "$(grep -c '^  [^ ].* (cluster ' err)" -eq 1 ] || fail "it names others than $1"
}
# The error at the end names WHAT, and a hint follows it.
ends_with() {
    tail -n 2 err | head -n 1 | grep -qF -- "$1" || fail "the last message does not name '$1'"
    tail -n 1 err | grep -qE "^hint: .*${2:-}" || fail "no hint '${2:-}' at the end"
}
# The processes on nodes that are there, and on the front.
processes() {
    "$bed" ps
    local net p
    net=$(cat "$state/front/net")
    find /proc/[0-9]*/ns -maxdepth 1 -name net -lname "${net//[][]/?}" -printf '%h\n' 2>/dev/null |
        while IFS=/ read -r _ _ p _; do
            [ "$p" = "$(cat "$state/front/pid")" ] && continue
            grep -q '^State:.Z' "/proc/$p/status" 2>/dev/null && continue
            echo "front $p $(2>/dev/null tr '\0' ' ' <"/proc/$p/cmdline")"
        done
}
# Files on nodes that are there, but for the cache, what fills the disk, and traces where
# there may be some; and on the front, in TMPDIR, /dev/shm, and the current folder.
files() {
    local n keep=(! -path "$HOME/.cache" ! -path "$HOME/.cache/tiara" ! -path "$HOME/.cache/tiara/*"
        ! -path /scratch/.filled)
    [ -z "$traces" ] || keep+=(! -path '/scratch/tiara*')
    for n in $("$bed" list); do
        "$bed" node "$n" find /tmp /var/tmp /dev/shm "$HOME" /scratch -xdev -mindepth 1 "${keep[@]}" \
            2>/dev/null | sed "s/^/$n /"
    done
    front find "$state/front/tmp" /dev/shm -xdev -mindepth 1 | sed 's/^/front /'
    [ "$traces" ] || find . -mindepth 1 ! -name out ! -name err ! -name before ! -name '*.tib' |
        sed 's/^/front /'
}
# Processes end by and by; a node whose link was cut notices by itself, after a while.
nothing_left() {
    local left
    while [ "$(processes)" ]; do sleep 0.1; done
    left=$(files | sort | comm -13 before -)
    [ -z "$left" ] || fail "files that were left: $left"
}
# All ranks wait; nothing computes.
app=(still 9999)
started='all 8 ranks started'

# --- the cases ----------------------------------------------------------------

dead_before_probe() {
    two_sites --gateways
    "$bed" crash n2.site1
    acquire 5 --np 8 "$program" ok
    names n2.site1 "cannot be reached" "ssh -J gw.site1 n2.site1 true"
    ends_with n2.site1 --tolerate
}
silent_before_probe() {
    two_sites --gateways
    "$bed" cut n2.site1
    acquire 5 --np 8 "$program" ok
    names n2.site1 "" "ssh -J gw.site1 n2.site1 true"
    ends_with n2.site1 --tolerate
}
frozen_before_probe() {
    two_sites --gateways
    "$bed" freeze n2.site1
    acquire 5 --np 8 "$program" ok
    names n2.site1 "" "ssh -J gw.site1 n2.site1 true"
    ends_with n2.site1 --tolerate
    "$bed" thaw n2.site1
}
dead_tolerated() {
    two_sites
    "$bed" crash n2.site1
    acquire 0 --tolerate 1 --np 6 -o dead.tib "$program" ok
    names n2.site1 "cannot be reached" "ssh n2.site1 true"
    says '1 node is left out'
    "$o/ti-info" -q --verify dead.tib || fail "its bundle is not sound"
    [ "$("$o/ti-info" --json dead.tib | grep -c '"n2.site1"')" -eq 0 ] || fail "n2.site1 took part"
}
unknown_host() {
    two_sites
    sed -i 's/n\[1-2\]/n[1-3]/' "$state/sites.conf"
    acquire 5 --np 8 "$program" ok
    says n3.site1 resolve hint:
    ends_with n3
}
login_hangs() {
    two_sites --gateways
    "$bed" sshd n2.site1 'ForceCommand sleep 9999'
    acquire 5 --silence 40 --np 8 "$program" ok # within which the others are sent ti-node
    says "node 'n2.site1' cannot be used: the login succeeded" \
        'ti-node did not start within 40 s' hint:
    names n2.site1 'ti-node did not start within 40 s' ""
    ends_with n2.site1
    "$bed" node n2.site1 pkill -x sleep # sshd leaves it, whoever disconnects
}
login_chatters() {
    two_sites --gateways
    "$bed" sshd n2.site1 'ForceCommand yes welcome'
    acquire 5 --np 8 "$program" ok
    names n2.site1 'no frame' 'login scripts'
    ends_with n2.site1
}
host_key_unknown() {
    two_sites --gateways
    "$bed" forget n2.site1
    acquire 5 --np 8 "$program" ok
    names n2.site1 "not in known_hosts" "ssh -J gw.site1 n2.site1 true"
    ends_with n2.site1 ssh
}
host_key_changed() {
    two_sites --gateways
    "$bed" rekey n1.site2
    acquire 5 --np 8 "$program" ok
    names n1.site2 "is not the one in known_hosts" "remove its old key"
    ends_with n1.site2 'old key'
}
gateway_key_changed() {
    two_sites --gateways
    "$bed" rekey gw.site2
    acquire 5 --np 8 "$program" ok
    says gw.site2 known_hosts
    names 'n[1-2].site2' gw.site2 ""
    ends_with gw.site2
}
key_refused() {
    two_sites --gateways
    "$bed" sshd n1.site1 'AuthorizedKeysFile none'
    acquire 5 --np 8 "$program" ok
    names n1.site1 keys ""
    ends_with n1.site1
}
max_startups() {
    two_sites
    "$bed" sshd n1.site2 'MaxStartups 1:100:1' 'LoginGraceTime 300'
    # One that never says who it is takes the only place.
    "$bed" front bash -c 'exec 3<>/dev/tcp/n1.site2/22; read -r _ <&3; echo; exec sleep 9999' >taken &
    local holder=$! i
    for ((i = 0; i < 100; i++)); do [ -s taken ] && break; sleep 0.05; done
    acquire 5 --np 8 "$program" ok
    names n1.site2 'Exceeded MaxStartups' 'raise MaxStartups'
    ends_with n1.site2 MaxStartups
    # it is no more than that: with the place free the same command runs
    kill $holder
    wait $holder 2>/dev/null
    rm taken
    acquire 0 --np 8 -o then.tib "$program" ok
}
gateway_down() {
    two_sites --gateways
    "$bed" crash gw.site2
    acquire 5 --np 8 "$program" ok
    names 'n[1-2].site2' "host gw.site2 port 22" "ssh gw.site2 true"
    ends_with gw.site2
}
disk_full() {
    two_sites
    "$bed" fill n2.site2
    acquire 3 --np 8 "$program" ok
    names n2.site2 /scratch ""
    ends_with n2.site2
}
program_missing_on_a_site() {
    two_sites
    "$bed" hide site2 "$program"
    acquire 3 --np 8 "$program" ok
    names 'n[1-2].site2' "$program" "copy it"
    ends_with "$program"
}
another_program_on_a_node() {
    two_sites
    "$bed" replace n2.site1 "$program" "$o/examples/ring"
    acquire 3 --np 8 "$program" ok
    names n2.site1 "is another one" ""
    ends_with n2.site1
}
open_mpi_missing() {
    two_sites
    "$bed" hide n1.site1 "$daemon"
    acquire 3 --np 8 "$program" ok
    names n1.site1 'Open MPI' ""
    ends_with n1.site1
}
np_too_large() {
    two_sites
    acquire 3 --np 10000 "$program" ok
    ends_with 'at most'
    acquire 3 --np 10000 --dry-run "$program" ok
    ends_with 'at most'
}
hangs_when_asked() {
    two_sites
    printf '#!/bin/sh\nexec sleep 9999\n' >hangs && chmod +x hangs
    "$bed" replace n2.site1 "$(command -v mpirun)" "$PWD/hangs"
    acquire 5 --silence 30 --np 8 "$program" ok
    names n2.site1 'no answer within' 'mpirun --version'
    rm hangs
}
dead_after_probe() {
    two_sites
    acquire_until 'plan for' --np 8 "$program" "${app[@]}"
    "$bed" crash n2.site2
    and_ends 5
    ends_with n2.site2
    traces=some
}
retried_after_probe() {
    two_sites
    acquire_until 'plan for' --np 6 --exclude n1.site2 --retry 1 -o again.tib "$program" still 5
    "$bed" crash n2.site2
    and_ends 0
    says 'trying again without 1 node' '--clean'
    [ "$(grep -c "may stay on 'n2.site2'" err)" -eq 1 ] || fail 'it says more than once what may stay'
}
kill_ti_node() { "$bed" ps | awk '$1 == "n2.site2" && $3 ~ /ti-node$/ { print $2 }' | xargs kill -KILL; }
clean_as_said() {
    local id
    id=$(sed -n "s/.* folders of this try may stay on 'n2.site2': .* --clean \\([0-9a-f]*\\)\" removes them/\\1/p" err)
    [ "$id" ] || fail 'it does not say how to remove what stays'
    front "$o/ti-acquire" --sites "$state/sites.conf" --clean "$id" >out 2>err
    ended $? 0
}
ti_node_killed_after_probe() { # which can remove nothing any more
    two_sites
    acquire_until 'plan for' --np 8 "$program" "${app[@]}"
    kill_ti_node
    and_ends 5
    ends_with n2.site2
    clean_as_said
    rm -r ./*.run
}
ti_node_killed_gathering() {
    two_sites --front-delay 1ms
    acquire_until "$started" --np 8 -o whole.tib "$o/examples/lu" W 300
    "$bed" link front rate=1mbit # 600 KB come
    while ! grep -q 'had left MPI_Init' err && kill -0 $running; do sleep 0.05; done
    kill_ti_node
    and_ends 0
    clean_as_said
    "$o/ti-info" -q --verify whole.tib || fail 'its bundle is not sound'
    "$bed" link front rate=1gbit
}
running() { # running OPTION...: eight ranks that wait
    acquire_until "$started" --np 8 "$@" "$program" "${app[@]}"
    traces=some
}
firewall_before_the_front() { # SSH is let through, what mpirun's daemons say is not
    two_sites
    front ip rule add pref 10 to 10.2.0.0/16 ipproto tcp dport 22 lookup main
    front ip rule add pref 11 to 10.2.0.0/16 ipproto tcp blackhole
    # The connections of this daemon are seen later than those of the other daemon.
    cp "$daemon" "$programs/orted"
    printf '#!/bin/sh\nsleep 6\nexec %s "$@"\n' "$programs/orted" >late
    chmod +x late
    "$bed" replace n2.site2 "$daemon" late
    acquire 5 --np 8 "$program" ok
    says "mpirun's daemon on 'n1.site2', 'n2.site2' gets no answer, for instance from 10.0.0.2:" oob_tcp_if_include hint:
    ends_with n1.site2
    rm late
    traces=some
}
daemon_ends_at_once() { # as one that went into the background, and then failed
    two_sites
    printf '#!/bin/sh\nexit 0\n' >orted
    chmod +x orted
    "$bed" replace n2.site1 "$daemon" orted
    acquire 5 --np 8 "$program" ok
    says "mpirun's daemon on 'n2.site1' ended without a word" hint:
    rm orted
    traces=some # the log, which the hint names
}
killed_running() {
    two_sites --gateways
    running
    "$bed" crash n2.site2
    and_ends 5
    ends_with n2.site2 --retry
}
frozen_running() {
    two_sites --gateways
    running --silence 30
    "$bed" freeze n2.site2
    and_ends 5
    ends_with n2.site2 --retry
    "$bed" thaw n2.site2
}
cut_running() {
    two_sites --gateways
    running --silence 30
    "$bed" cut n1.site1
    and_ends 5
    ends_with n1.site1 --retry
}
gateway_dies_running() {
    two_sites --gateways
    running
    "$bed" crash gw.site1
    and_ends 5
    says gw.site1
    ends_with site1
}
disk_fills_running() {
    two_sites
    acquire_until "$started" --np 8 --buffer 4K -o fills.tib "$o/examples/lu" W 100
    traces=some
    "$bed" fill n1.site2
    and_ends 1
    says "node 'n1.site2'"
}
memory_runs_out_running() {
    two_sites
    running
    "$bed" memory n1.site2 16MiB
    and_ends 6 # as where it happens on one machine
    ends_with n1.site2 'fewer ranks'
}
retried_without_the_node() {
    two_sites
    acquire_until 'all 6 ranks started' --np 6 --exclude n1.site2 --retry 1 -o again.tib \
        "$program" still 5
    "$bed" crash n2.site2
    and_ends 0
    says n2.site2 'trying again without 1 node' "may stay on 'n2.site2'" "--clean"
    "$o/ti-info" -q --verify again.tib || fail "its bundle is not sound"
    "$o/ti-info" --json again.tib >info
    python3 -c 'import json; assert json.load(open("info"))["nodes"] == ["n1.site1", "n2.site1"]' ||
        fail "not on the two nodes that were left"
    [ "$(grep -c 'site2"' info)" -eq 0 ] || fail "a node of site2 took part"
    python3 -m zipfile -e again.tib again && python3 - again/MANIFEST.json <<'END' || fail "the first try"
import json, sys
m = json.load(open(sys.argv[1]))
[first] = m["acquisition"]["former_tries"]
assert first["lost_nodes"] == ["n2.site2"] and "n2.site2" in first["error"], first
assert first["run_id"] != m["run_id"] and first["seconds"] > 0, first
assert m["complete"] and m["acquisition"]["state"] == "complete", m["acquisition"]
END
    rm -r again info
}
ti_acquire_of() { # the process behind `front` and its timeout
    pgrep -s 0 -x ti-acquire | while read -r p; do
        [ "$(readlink "/proc/$p/ns/net")" = "$(cat "$state/front/net")" ] && echo "$p"
    done
}
interrupted() {
    two_sites --gateways
    running
    kill -INT "$(ti_acquire_of)"
    and_ends 130
    says Interrupt ti-gather
    front "$o/ti-gather" ./*.run -o part.tib >out 2>err
    ended $? 1
}
ti_acquire_killed() { # as with the front's machine
    two_sites --gateways
    running
    kill -KILL "$(ti_acquire_of)"
    and_ends 137
    # ti-acquire could not remove the files on the front.
    files | grep '^front ' | sort -o before - before
}

# --- run them -----------------------------------------------------------------

programs=$scratch/programs
program=$programs/app
mkdir "$programs"
"${MPICC:-mpicc}" -O1 -o "$program" tests/cli/acquire-app.c || exit 1

# one CASE: with a bed and a folder of its own.
one() (
    failed=0
    TI_BED=$TI_BED-$(printf '%s\n' "${cases[@]}" | grep -nx -- "$1" | cut -d: -f1)
    scratch=$scratch/$1
    trap '"$bed" down' EXIT
    mkdir "$scratch"
    cd "$scratch" || exit 1
    traces= # not empty: some may be left
    "$1"
    nothing_left
    [ $failed -eq 0 ] || cat out err
    exit $failed
)
tell() { # tell CASE STATUS
    if [ "$2" -eq 0 ]; then
        echo "ok: $1"
    else
        echo "not ok: $1"
        sed 's/^/    /' "$scratch/$1.log" | cut -c -300
        failed=1
    fi
}

wanted=("$@")
[ $# -gt 0 ] || wanted=("${cases[@]}")
# Their status is in a file: the shell forgets a child if a later one has the same number.
begun=()
for c in "${wanted[@]}"; do
    case " ${slow[*]} " in
        *" $c "*)
            { one "$c" >"$scratch/$c.log" 2>&1; echo $? >"$scratch/$c.status"; } &
            begun+=("$c")
            ;;
    esac
done
for c in "${wanted[@]}"; do
    case " ${begun[*]} " in *" $c "*) continue ;; esac
    one "$c" >"$scratch/$c.log" 2>&1
    tell "$c" $?
done
wait
for c in "${begun[@]}"; do
    tell "$c" "$(cat "$scratch/$c.status" || echo 2)"
done
finish
