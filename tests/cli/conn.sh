#!/usr/bin/env bash
# session/conn.h: connections to ti-nodes through our own sshds on the loopback, direct, through one
# relay and through two; how they end, which node is the cause, and what a fake ti-node can do.
# All timeouts are 600 s.  Where one has to pass, the test turns conn-try's clock.  Waits have no
# limit of their own; ended by tests/run's, the test says where it stood (hung).
# tests/run: waits
set -u
sshd=$(command -v sshd || echo /usr/sbin/sshd)
skip() { echo "$1"; exit 77; }
command -v python3 >/dev/null || skip 'no python3'
[ -x "$TI_BUILD/ti-node" ] || skip 'ti-node was not built'
d=$(mktemp -d) || exit 1
build=$(realpath "$TI_BUILD") here=$PWD
export TMPDIR=$d
unset SSH_AUTH_SOCK XDG_RUNTIME_DIR
pids=() failed=0
stop() {
    local pid
    for pid in $(ours); do kill -9 "$pid" 2>/dev/null; done
    [ ${#pids[@]} -eq 0 ] || kill -9 "${pids[@]}" 2>/dev/null
    [ -z "${tried:-}" ] || kill "$tried" 2>/dev/null
    wait 2>/dev/null
    rm -rf "$d"
}
# ours [NODE]: processes of the sessions on that node, or on any
ours() {
    local f
    for f in $(grep -lszE "^WAY_NODE=$d/${1:-.*}\$" /proc/[0-9]*/environ 2>/dev/null); do
        basename "${f%/environ}"
    done
}
# tell NODE SIGNAL: its ti-nodes.  If there is none, conn-try ends, and with it what waits for it.
tell() {
    local pid told=
    for pid in $(ours "$1"); do
        [ "$(cat "/proc/$pid/comm" 2>/dev/null)" = ti-node ] && kill -"$2" "$pid" && told=1
    done
    [ -n "$told" ] || { bad "no ti-node on $1 for SIG$2"; kill "$tried"; }
}
# The event that the test waits for, said by hung().
waits_for=
hung() {
    echo "ended while it waited for $waits_for, in ${FUNCNAME[1]}, called at line ${BASH_LINENO[1]}"
    echo "the last lines of conn-try's output:"
    tail -n 30 "$d/out"
    echo "processes of the test, and of its nodes:"
    # shellcheck disable=SC2046  # words are meant
    ps -o pid,ppid,stat,wchan:20,etime,args -s $$ --ppid "${tried:-$$}" \
        -p "$(echo $$ $(ours) "${pids[@]}" | tr ' ' ,)"
    exit 1
}
trap stop EXIT
trap hung TERM
bad() {
    echo "$1"
    tail -n 15 "$d/out"
    failed=1
}
said() { grep -qE "$1" "$d/out" || bad "no '$1': $2"; }
silent() { ! grep -qE "$1" "$d/out" || bad "'$1': $2"; }

# --- this machine, and what is no ti-node ----------------------------------------

mkdir -p "$d/prog" "$d/home" "$d/run" "$d/evil" "$d/bin"
cp "$build/tests/conn-try" "$d/prog/"
for f in ti-node ti-node-counter libminitrace.so; do ln -s "$build/$f" "$d/prog/$f"; done
id=5eed5eed5eed5eed5eed5eed5eed5eed
"$build/tests/mktrace" --np 3 --bytes 3000000 --noise 100 --run-id $id "$d/run" || exit 1
conn_try=(env "HOME=$d/home" "$d/prog/conn-try" -S 600 -C 600)
try() { # conn-try's arguments; in the background, since bash would trap no signal meanwhile
    waits_for="conn-try $*"
    "${conn_try[@]}" "$@" >"$d/out" 2>&1 &
    tried=$!
    wait "$tried"
    silent 'Sanitizer|runtime error' "$*"
}

try -d "$d/run" -r $id -k 3 a=:.
grep ' rank ' "$d/out" | cut -d' ' -f2- >"$d/wanted"
for r in 0 1 2; do
    said "^a rank $r $(stat -c %s "$d/run/rank-00000$r.ti") [0-9a-f]{8}$" 'bytes of a rank'
done
said '^a ready local$' 'this machine'

# begin ARGUMENT...: in the background; order COMMAND
begin() {
    rm -f "$d/orders"
    mkfifo "$d/orders"
    exec 7<>"$d/orders"
    : >"$d/out" # here, not when it runs: or await reads what the one before it printed
    "${conn_try[@]}" -n -w "$@" >>"$d/out" 2>&1 <"$d/orders" 7<&- &
    tried=$!
}
# await NAME WHAT: until it prints "NAME WHAT", or the connection NAME, or conn-try, has ended
await() {
    local over=
    waits_for="'$1 $2'"
    until grep -qsE "^$1 $2" "$d/out"; do
        [ -z "$over" ] || { bad "no '$1 $2', and it has ended"; return; }
        if grep -qs "^$1 ended" "$d/out" || ! kill -0 "$tried" 2>/dev/null; then
            over=1 # look once more
        fi
        sleep 0.1
    done
}
order() { echo "$1" >&7; }
# later: by its clock, the timeout passes once more
later() { await turned "$(($(grep -c '^turned' "$d/out") + 1))$"; }
ends() { # by itself
    waits_for="the end of conn-try"
    wait "$tried"
}
finish() { # end it
    kill "$tried" 2>/dev/null
    ends
}

# a heartbeat keeps it, and time in which we are stopped does not count; a frozen one is said to hang
begin a=:.
await a pid
order turn
later
order jump
later
later
silent ended 'it has a heartbeat'
own=$(sed -n 's/^a pid //p' "$d/out")
frozen=("$own" "$(ps -o ppid= -p "$own" | tr -d ' ')")
kill -STOP "${frozen[@]}"
order 'turn a'
ends
said "^a ended SILENT own \\| 'this machine' said nothing for 600 s: it hangs, or the network to it is down \\|" frozen
kill -9 "${frozen[@]}" 2>/dev/null

# evil LINE [END]: a ti-node made of Python, and how the way to it ends
evils=() expected=()
evil() {
    local dir=$d/evil/${#evils[@]}
    mkdir -p "$dir"
    cat >"$dir/ti-node" <<END
#!/usr/bin/env python3
import json, os, sys, time
sys.path.insert(0, "$here/tests/cli")
from node_driver import *
def put(b):
    while b:
        b = b[os.write(1, b):]
def say(**m):
    put(frame(MESSAGE, 0, json.dumps(m).encode()))
def hello(protocol=3, tiara="1"):
    put(frame(HELLO, 0, json.dumps({"tiara": tiara, "protocol": protocol}).encode()))
def asked(word):
    data = b""
    while b'"' + word + b'"' not in data:
        data += os.read(0, 65536)
    return data
$1
while True:
    time.sleep(0.5)
    say(**{"is": "beat"})
END
    chmod +x "$dir/ti-node"
    expected+=("$2")
    evils+=("evil${#evils[@]}=:.+$dir")
}
# slow LINE END: an evil one that only a timeout ends
slow=()
slow() {
    slow+=("evil${#evils[@]}")
    evil "$@"
}
late='TIMED_OUT own \| the login succeeded, but ti-node did not start within 600 s'
nonsense='LOST own \| what ti-node sends makes no sense: '
evil 'hello(4, "\x1b[31m9")' 'NO_METHOD own \| ti-node there is of Tiara .\[31m9, this is '
evil 'put(frame(HELLO, 0, b"[" * 9000))' 'NO_METHOD own '
evil 'hello(); hello()' "${nonsense}it begins again"
evil 'hello(); put(frame(MESSAGE, 0, b"{"))' "${nonsense}a message that is none"
evil 'hello(); put(frame(MESSAGE, 0, b"[[]]"))' "$nonsense"
evil 'hello(); put(frame(MESSAGE, 0, b"[" * 131072))' "$nonsense"
evil 'hello(); say(id=1)' "$nonsense"
evil 'hello(); put(frame(OUTPUT, 1, frame(HELLO, 0, b"{}")))' "${nonsense}output of what nobody asked for"
evil 'hello(); put(frame(OUTPUT, 0, b""))' "$nonsense"
evil 'hello(); say(**{"is": "ended", "stream": 1})' "${nonsense}the end of what"
evil 'hello(); put(frame(INPUT, 0, b"x"))' "$nonsense"
evil 'hello(); put(frame(STDERR, 1, b"x"))' "$nonsense"
evil 'hello(); put(frame(DATA, 1, b"x")[:-1] + b"y" + b"z" * 20)' 'LOST own \| what came is no frame'
evil 'hello(); put(b"TiF1\6\0\0\0\0\0\0\0\0\0\0\377aaaa")' 'LOST own \| .*it is too large'
evil 'put(b"y\n" * 600000)' 'NO_COMMAND own \| 1 MiB of other output came'
evil 'while True: os.write(2, b"y\n" * 9999)' 'NO_COMMAND own \| 1 MiB came on standard error'
evil 'hello(); sys.exit(3)' 'EXITED own \| its ti-node ended with status 3 \|'
slow 'hello(); time.sleep(9999)' "SILENT own \| 'this machine' said nothing for 600 s: it hangs"
slow 'print("Welcome", flush=True); time.sleep(9999)' "$late"
slow 'while True: print(".", end="", flush=True); time.sleep(1)' "$late"
slow 'while True: os.write(2, b"."); time.sleep(1)' "$late"
# relays, whose children these are
children=() childs_end=() lasting=()
relay() { # LINE CHILD'S_END [RELAY'S_END]
    evil "hello(); asked(b'reach'); $1" "${3:-}"
    children+=("child$((${#evils[@]} - 1))=evil$((${#evils[@]} - 1)):nobody")
    childs_end[${#evils[@]} - 1]=$2
}
relay 'put(frame(OUTPUT, 1, frame(HELLO, 0, b"{}")))' 'NO_METHOD own \| ti-node there is of Tiara \?'
good='put(frame(OUTPUT, 1, frame(HELLO, 0, b"{\"protocol\": 3}")))'
relay "$good; put(frame(OUTPUT, 1, b'rubbish' * 9)); asked(b'unreach'); sys.exit(9)" \
    'LOST own \| what came is no frame' 'EXITED own .*status 9'
relay "$good; put(frame(OUTPUT, 1, frame(OUTPUT, 1, b'x')))" "${nonsense}output of what nobody asked for"
relay "$good; put(frame(OUTPUT, 2, b'x'))" "LOST relay \| lost with its relay 'this machine': what ti-node" "$nonsense"
relay "$good; sys.exit(8)" "EXITED relay \| lost with its relay 'this machine': .*status 8" 'EXITED own'
relay 'say(**{"is": "error", "id": -1, "error": "no ssh", "hint": "get one"})' \
    "NO_COMMAND own \| cannot connect to 'nobody' from 'this machine': no ssh \| on 'this machine': get one"
relay 'say(**{"is": "ended", "stream": 1, "end": "NO_AUTH",
    "error": "cannot run a command on \x27nobody\x27: \x1b[31mno\nno"})' \
    "NO_AUTH own \| cannot connect to 'nobody' from 'this machine': [?]\[31mno[?]no \|"
relay "$good; say(**{'is': 'ended', 'stream': 1, 'end': 'NONE', 'error': 7})" \
    "LOST own \| lost 'nobody' from 'this machine': the connection was lost"
relay 'say(**{"is": "ended", "stream": -1})' 'LOST relay' "${nonsense}the end of what"
# one that its relay was not asked for yet
evil 'put(frame(HELLO, 0, b"{\"protocol\": 3}") + frame(OUTPUT, 0, frame(HELLO, 0, b"{\"protocol\": 3}")))' \
    "${nonsense}output of what nobody asked for"
children+=("child$((${#evils[@]} - 1))=evil$((${#evils[@]} - 1)):nobody")
childs_end[${#evils[@]} - 1]='LOST relay'
# they live on
for i in "${!expected[@]}"; do [ -n "${expected[i]}" ] || lasting+=("$i"); done
begin -d "$d/run" -r $id -k 3 a=:. "${evils[@]}" "${children[@]}"
await a 'rank 2 '
for i in "${!childs_end[@]}"; do await "child$i" ended; done
await "${slow[0]}" ready # it says HELLO, and nothing else
for i in "${!expected[@]}"; do
    [ -z "${expected[i]}" ] || [[ " ${slow[*]} " == *" evil$i "* ]] || await "evil$i" ended
done
order "turn $(IFS=,; echo "${slow[*]}")"
for one in "${slow[@]}"; do await "$one" ended; done
finish
silent 'Sanitizer|runtime error' 'ways to those that are evil'
for i in "${!childs_end[@]}"; do
    said "^child$i ended ${childs_end[i]}" "$(grep -A 2 ^hello "$d/evil/$i/ti-node")"
done
for i in "${lasting[@]}"; do silent "^evil$i ended" 'a relay whose child is evil'; done
for i in "${!expected[@]}"; do
    [ -z "${expected[i]}" ] || said "^evil$i ended ${expected[i]}" "$(grep -A 1 ^hello "$d/evil/$i/ti-node")"
done
grep '^a rank ' "$d/out" | cut -d' ' -f2- | cmp -s - "$d/wanted" || bad 'what others sent, beside all that'

# A relay says for ever that it sends Tiara's files to a node; a node takes a few of them for ever.
# Their timeouts are short, because the clock is turned for half an hour.
evil "hello(); asked(b'reach')
while True: say(**{'is': 'moved', 'stream': 1}); time.sleep(0.003)" ''
begin -S 6 -C 6 "e=${evils[-1]#*=}" c=e:nobody
await e ready
order 'turn c'
await c ended
finish
said '^c ended TIMED_OUT own \| its relay does not say whether it connects to it' 'moved for ever'
silent '^e ended' 'moved for ever'
# Relays are told ConnectTimeout, where that is longer.
printf 'Host slow\n ConnectTimeout 7000\n' >"$d/slow"
evil "hello(); told = asked(b'reach')
sys.exit(8 if b'\"connect_s\":7000' in told and b'\"answer_s\":7000' in told else 9)" ''
try -F "$d/slow" "e=${evils[-1]#*=}" c=e:slow
said '^e ended EXITED own .*status 8' 'a relay is told ConnectTimeout'
mkdir "$d/taking"
cat >"$d/taking/ssh" <<END
#!/usr/bin/env bash
case " \$* " in *' -G '*) exec $(command -v ssh) -F /dev/null "\$@" ;; esac
while [ \$# -gt 1 ]; do [ "\$1" != -E ] || log=\$2; shift; done
hash=\${1#*h=}
printf 'debug1: %s\r\n' 'Remote protocol version 2.0' 'Authentication succeeded (publickey).' >"\$log"
printf 'debug2: exec request accepted on channel 0\r\n' >"\$log"
touch "$d/taking/begun"
echo "TIARA-SEND \${hash%% *} 1"
while head -c 4096 >/dev/null; do sleep 0.01; done
END
chmod +x "$d/taking/ssh"
PATH=$d/taking:$PATH begin -S 60 -C 60 -t openssh e=:slow
waits_for='the login' # it says nothing
until [ -e "$d/taking/begun" ] || ! kill -0 "$tried"; do sleep 0.1; done
order turn
await e ended
finish
said "^e ended TIMED_OUT own \\| the login succeeded, but ti-node did not start within [0-9]" 'taken for ever'

# --- by SSH ------------------------------------------------------------------------

[ -x "$sshd" ] || { echo 'no sshd here: the rest is not tried'; exit $failed; }
[ "$(id -u)" -ne 0 ] || mkdir -p /run/sshd || exit 1
for k in host other user stranger; do ssh-keygen -q -t ed25519 -N '' -C '' -f "$d/$k" || exit 1; done
key() { cut -d' ' -f1,2 "$d/$1.pub"; }
# Options of relays' ssh: it knows no host key of itself.
cat >"$d/bin/ssh" <<END
#!/bin/sh
exec $(command -v ssh) -F "$d/inner" "\$@"
END
chmod +x "$d/bin/ssh"
free_port() { python3 tests/cli/free_port.py; }
serve() { # NAME: an sshd whose sessions are a node's
    port[${1#n}]=$(free_port)
    printf '%s\n' "Port ${port[${1#n}]}" 'ListenAddress 127.0.0.1' "HostKey $d/host" 'StrictModes no' \
        "AuthorizedKeysFile $d/user.pub" 'PidFile none' 'PermitRootLogin yes' 'UsePAM no' \
        'PasswordAuthentication no' 'KexAlgorithms curve25519-sha256' 'MaxStartups 30:30:100' \
        'AllowAgentForwarding yes' \
        "SetEnv WAY_NODE=$d/$1 HOME=$d/home PATH=$d/bin:$PATH TMPDIR=$d" >"$d/$1.conf"
    "$sshd" -D -f "$d/$1.conf" -E "$d/$1.log" &
    pids+=($!)
    while kill -0 $! 2>/dev/null; do
        grep -qs 'Server listening' "$d/$1.log" && return
        sleep 0.1
    done
    cat "$d/$1.log"
    echo 'sshd does not start here: the rest is not tried'
    exit $failed
}
port=()
for n in 1 2 3; do serve n$n; done
# n3 under other names, that are known hashed, not, or otherwise; k1 to k12: n2
{
    for n in 1 2 3; do printf 'Host n%s\n Port %s\n' $n "${port[n]}"; done
    printf 'Host hashed unknown changed denied agent\n Port %s\n' "${port[3]}"
    printf 'Host k*\n Port %s\n' "${port[2]}"
    printf 'Host closed\n Port %s\n' "$(free_port)"
    printf 'Host nowhere\n HostName no-such-host.invalid\n'
    printf 'Host denied\n IdentityFile %s\n' "$d/stranger"
    printf 'Host agent\n IdentityFile none\n IdentitiesOnly no\n'
} >"$d/hosts"
echo "hashed $(key host)" >"$d/hashed"
ssh-keygen -q -H -f "$d/hashed" >/dev/null 2>&1
{
    for n in 1 2 3; do echo "n$n $(key host)"; done
    echo "k*,denied,agent,closed,nowhere $(key host)"
    echo "changed $(key other)"
} >"$d/known"
for side in outer inner; do
    {
        echo "Include $d/hosts"
        printf 'Host *\n HostName 127.0.0.1\n User %s\n IdentitiesOnly yes\n' "$(id -un)"
        printf ' GlobalKnownHostsFile /dev/null\n'
        if [ $side = outer ]; then echo " UserKnownHostsFile $d/known $d/hashed"; else echo " UserKnownHostsFile $d/nothing"; fi
    } >"$d/$side"
    printf 'Host * !denied !agent\n IdentityFile %s\n' "$d/user" >>"$d/$side"
    for h in n2 hashed unknown changed denied agent closed nowhere; do printf 'Host %s\n HostKeyAlias %s\n' $h $h; done >>"$d/$side"
done
for h in n1 n3 k{1..12}; do printf 'Host %s\n HostKeyAlias %s\n' "$h" "$h"; done >>"$d/outer"

for transport in libssh2 openssh; do
    name=libssh2
    [ $transport = libssh2 ] || name=OpenSSH
    ssh=(-F "$d/outer" -t "$transport")

    # direct, one relay, a relay of a relay: the same bytes
    try "${ssh[@]}" -d "$d/run" -r $id -k 3 a=:n1 b=a:n2 c=b:n3
    said "^a ready $name$" direct
    for w in a b c; do
        [ $w = a ] || said "^$w ready relay$" "a relay, $name"
        grep "^$w rank " "$d/out" | cut -d' ' -f2- | cmp -s - "$d/wanted" || bad "$w: other bytes, $name"
    done
    read -r _ _ a_own a_link <<<"$(grep '^a bytes' "$d/out")"
    read -r _ _ b_own b_link <<<"$(grep '^b bytes' "$d/out")"
    read -r _ _ c_own c_link <<<"$(grep '^c bytes' "$d/out")"
    whole=$(cat "$d"/run/rank-* | wc -c)
    [ "$c_own" -eq "$c_link" ] && [ "$c_own" -gt "$whole" ] && [ "$b_link" -eq $((b_own + c_link)) ] &&
        [ "$a_link" -eq $((a_own + b_link)) ] && [ "$a_link" -gt $((3 * whole)) ] &&
        [ "$a_link" -lt $((31 * whole / 10)) ] || bad "bytes of each, $name"
    waits_for='the end of all that ran on the nodes'
    while [ -n "$(ours)" ]; do sleep 0.1; done # nothing may be left behind
done

# many through one, more than are begun at a time
mapfile -t many < <(for i in $(seq 12); do echo "k$i=a:k$i"; done)
try "${ssh[@]}" a=:n1 "${many[@]}"
[ "$(grep -c 'ready relay' "$d/out")" -eq 12 ] || bad '12 through one'

# why a relay cannot connect: it says so, and lives on
try "${ssh[@]}" a=:n1 h=a:hashed u=a:unknown x=a:changed d=a:denied r=a:closed n=a:nowhere b=a:n2
said '^h ready relay$' 'a hashed name'
said '^b ready relay$' 'another one'
said "^u ended HOST_KEY_UNKNOWN own \| cannot connect to 'unknown' from 'n1': " 'unknown key'
said "^x ended HOST_KEY_CHANGED own \| cannot connect to 'changed' from 'n1': " 'another key'
said "^d ended NO_AUTH own \| cannot connect to 'denied' from 'n1': .*[Pp]ermission denied" 'no login'
said "^r ended REFUSED own \| cannot connect to 'closed' from 'n1': " 'no sshd'
said "^n ended NO_NAME own \| cannot connect to 'nowhere' from 'n1': " 'no such host'
silent '^a ended' 'a relay that cannot connect'

# the agent is there when it is asked for
eval "$(ssh-agent -s -a "$d/agent")" >/dev/null
pids+=("$SSH_AGENT_PID")
ssh-add -q "$d/user"
try "${ssh[@]}" a=:n1 b=a:agent
said '^b ended NO_AUTH own' 'no agent'
try -F "$d/outer" -A a=:n1 b=a:agent
said '^a ready OpenSSH$' 'the agent is forwarded'
said '^b ready relay$' 'the agent is forwarded'
unset SSH_AUTH_SOCK

# closed, the relay first told
begin "${ssh[@]}" -c b a=:n1 b=a:n2
await b ended
said '^b ended CLOSED own' closed
order turn
later
silent '^a ended' 'a child was closed'
finish

# child killed, relay killed, relay frozen, child frozen
begin "${ssh[@]}" a=:n1 b=a:n2 c=b:n3
await c ready
tell n3 KILL
await c ended
said "^c ended [A-Z]* own \| lost 'n3' from 'n2': " 'child killed'
silent '^[ab] ended' 'child killed'
tell n1 KILL
ends
said '^a ended [A-Z]* own \| ' 'relay killed'
said "^b ended [A-Z]* relay \| lost with its relay 'n1': " 'relay killed'
begin "${ssh[@]}" a=:n1 b=a:n2 c=b:n3
await c ready
tell n2 STOP
order 'turn b,c'
await c ended
said "^b ended SILENT own \\| 'n2' said nothing by way of 'n1' for 600 s" 'relay frozen'
said "^c ended SILENT relay \\| lost with its relay 'n2'" 'relay frozen'
later
silent '^a ended' 'relay frozen'
tell n2 KILL
finish

exit $failed
