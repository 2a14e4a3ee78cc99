#!/usr/bin/env bash
# remote/ against sshds of our own on the loopback: both transports give the same
# output and the same ends, each with host, cause and hint.
# tests/run: long
# shellcheck disable=SC2016,SC2317  # expressions for the other side; a trap
set -u
try=$(realpath "$TI_BUILD")/tests/remote-try
sshd=$(command -v sshd || echo /usr/sbin/sshd)
skip() { echo "$1"; exit 77; }
[ -x "$sshd" ] || skip 'no sshd here'
[ "$(id -u)" -ne 0 ] || mkdir -p /run/sshd || skip 'sshd wants /run/sshd'
d=$(mktemp -d) || exit 1
export TMPDIR=$d # sockets and fifos are seen to go away
unset SSH_AUTH_SOCK XDG_RUNTIME_DIR
pids=() failed=0
stop() {
    [ ${#pids[@]} -eq 0 ] || kill -9 "${pids[@]}" 2>/dev/null
    [ ! -s "$d/frozen" ] || kill -9 "$(cat "$d/frozen")" 2>/dev/null
    wait 2>/dev/null
    rm -rf "$d"
}
trap stop EXIT

# --- hosts -------------------------------------------------------------------

for k in host other user stranger authority certified; do ssh-keygen -q -t ed25519 -N '' -C '' -f "$d/$k" || exit 1; done
ssh-keygen -q -t rsa -N '' -C '' -f "$d/rsa" || exit 1
cat "$d/user.pub" "$d/rsa.pub" >"$d/authorized"
ssh-keygen -q -s "$d/authority" -I test -n "$(id -un)" "$d/certified.pub" 2>/dev/null || exit 1
serve() { # NAME PORT [LINE]...
    local name=$1 port=$2
    shift 2
    printf '%s\n' "Port $port" 'ListenAddress 127.0.0.1' "HostKey $d/host" 'StrictModes no' \
        "AuthorizedKeysFile $d/authorized" 'PidFile none' 'PermitRootLogin yes' 'UsePAM no' \
        'PasswordAuthentication no' 'KexAlgorithms curve25519-sha256' 'LogLevel VERBOSE' \
        "SetEnv HOME=$d" "$@" >"$d/$name.conf" # not the user's ~/.bashrc, which can take a second
    "$sshd" -D -f "$d/$name.conf" -E "$d/$name.log" &
    pids+=($!)
    for _ in $(seq 300); do
        grep -qs 'Server listening' "$d/$name.log" && return
        sleep 0.1
    done
    cat "$d/$name.log"
    skip 'sshd does not start here'
}
# A server of tests/cli/bad_server.py
bad_server() { # silent|drop|flip|stall|late PORT [ARGUMENT]...
    python3 tests/cli/bad_server.py "$@" >>"$d/connections" &
    pids+=($!)
}
{ read -r node; read -r gate; read -r gate2; read -r closed; read -r silent; read -r drop; read -r flipped; read -r stalls; read -r late; } \
    < <(python3 tests/cli/free_port.py 9)
serve node "$node" 'MaxStartups 10:30:100' "TrustedUserCAKeys $d/authority.pub"
serve gate "$gate"
serve gate2 "$gate2"
bad_server silent "$silent"
bad_server drop "$drop"
bad_server flip "$flipped" "$node" 1000000
bad_server stall "$stalls" "$node" 60
bad_server late "$late" "$node" 2

key() { cut -d' ' -f1,2 "$d/$1.pub"; }
{
    echo '# a comment'
    echo "[127.0.0.1]:$node $(key host)"
    echo "plain,gate $(key host)"
    echo "changed $(key other)"
    echo "@revoked revoked $(key host)"
    echo "revoked $(key host)"
    echo "*.wild,!n9.wild $(key host)"
} >"$d/known"
echo "hashed $(key host)" >"$d/hashed"
ssh-keygen -q -H -f "$d/hashed" >/dev/null 2>&1
rm -f "$d/hashed.old"
for h in unknown changed revoked hashed n1.wild n9.wild plain; do
    printf 'Host %s\n HostKeyAlias %s\n' "$h" "$h"
done >"$d/config"
printf 'Host proxied envy certified variable people umac blacklist flipped\n HostKeyAlias plain\n' >>"$d/config"
printf '%s\n' "@revoked [127.0.0.1]:$node $(key host)" "127.0.0.1 $(key host)" >"$d/known2"
cat >>"$d/config" <<EOF
Host proxied
 ProxyCommand ssh -F $d/config -W %h:%p gate
Host envy
 ProxyCommand sh -c 'env >$d/env; exec ssh -F $d/config -W %h:%p gate'
Host rsa
 IdentityFile $d/rsa
Host gate
 Port $gate
 HostKeyAlias gate
Host gate2
 Port $gate2
 HostKeyAlias gate
Host closed
 Port $closed
Host silent
 Port $silent
Host late
 Port $late
 HostKeyAlias plain
Host patient
 Port $late
 HostKeyAlias plain
 ConnectTimeout 100
Host stalls
 Port $stalls
 HostKeyAlias plain
Host drop
 Port $drop
Host revport
 UserKnownHostsFile $d/known2
Match originalhost hangs exec "sleep 60"
Host noname
 HostName no-such-host.invalid
Host nowhere
 HostName 255.255.255.255
Host stranger
 IdentityFile $d/stranger
Host far
 ProxyJump gate,gate2
Host certified
 IdentityFile $d/certified
Host variable
 IdentityFile \${TI_TEST_FOLDER}/user
Host people
 IgnoreUnknown SessionType,StdinNull
 RemoteCommand echo remote command
 SessionType none
 StdinNull yes
Host umac
 Ciphers aes128-ctr
 MACs umac-64@openssh.com
Host blacklist
 ProxyCommand false
 RevokedHostKeys $d/host.pub
Host flipped
 Port $flipped
Host keyring
 HostKeyAlias plain
 IdentitiesOnly no
Host * !stranger !rsa !certified !variable
 IdentityFile $d/user
Host *
 HostName 127.0.0.1
 Port $node
 User $(id -un)
 IdentitiesOnly yes
 UserKnownHostsFile $d/known $d/hashed
 GlobalKnownHostsFile /dev/null
EOF
# --- what is expected ----------------------------------------------------------

run() { # remote-try's arguments; leaves $d/out and $d/err
    "$try" -F "$d/config" -t "$transport" -C "${connect:-120}" "$@" >"$d/out" 2>"$d/err"
}
bad() {
    echo "$transport: $1"
    head -n 20 "$d/err"
    failed=1
}
# END [PATTERN]: the last channel ended so, by the transport, with such a sentence
ended() {
    grep -qE "^[^ ]+ $1 [^|]*$name \|" "$d/err" || bad "no end $1: $2"
    [ -z "${3:-}" ] || grep -qE "$3" "$d/err" || bad "no '$3': $2"
}

for transport in libssh2 openssh; do
    name=libssh2
    [ $transport = libssh2 ] || name=OpenSSH

    # what it says, how it ends
    run plain 'echo out; echo err >&2; exit 3'
    ended 'EXITED 3 -' 'exit status'
    [ "$(cat "$d/out")" = out ] || bad 'output'
    grep -qx err "$d/err" || bad 'error output'
    run plain 'exit 255'
    ended 'EXITED 255 -' 'status of 255'
    run plain 'exec 2>&-; exec >&-; sleep 0.3; exit 7'
    ended 'EXITED 7 -' 'output closed early'
    run plain 'kill -TERM $$'
    ended 'SIGNALLED 0' 'signal'
    run plain 'no-such-command-here'
    ended 'EXITED 127 -' 'no such command'
    run plain "printf '%s' 'a b  \"c\" \$HOME'"
    [ "$(cat "$d/out")" = 'a b  "c" $HOME' ] || bad 'quoting'

    # 64 MiB there and back; input that ends; input that nobody reads
    run -c -s 67108864 plain cat
    grep -q '^plain 67108864 b37ad216 0$' "$d/out" || bad "64 MiB: $(cat "$d/out")"
    printf 'some input\n' | run -i plain 'cat; echo end'
    [ "$(cat "$d/out")" = "$(printf 'some input\nend')" ] || bad 'input'
    run -c -s 8388608 plain 'sleep 0.2; exit 4'
    ended 'EXITED 4 -' 'input that nobody reads'

    # no turn for 2 s, which only OpenSSH's channels take: no output meanwhile, all of it afterwards, in
    # little memory
    pause='-p 2'
    [ $transport = openssh ] || pause=
    # shellcheck disable=SC2086
    run -c $pause plain 'head -c 67108864 /dev/zero'
    grep -q '^plain 67108864 ' "$d/out" || bad "paused: $(cat "$d/out")"
    ! grep -q 'while paused' "$d/err" || bad 'output while paused'
    kib=$(sed -n 's/.*, \([0-9]*\) KiB$/\1/p' "$d/out")
    case $TI_BUILD in *-*) ;; *) [ "$kib" -lt 32768 ] || bad "paused: $kib KiB" ;; esac

    # descriptors that who started us has closed
    run plain 'echo out; exit 5' <&-
    ended 'EXITED 5 -' 'without a standard input'

    # closed by us
    run -q -x 1000000 plain 'yes'
    ended CLOSED 'closed in the middle'

    # many at one sshd that takes few at a time
    run -r 12 'plain*60' 'echo hello'
    [ "$(grep -c '^hello$' "$d/out")" -eq 60 ] || bad "60 channels: $(grep -c hello "$d/out")"

    # host keys
    run hashed true; ended 'EXITED 0' 'hashed name'
    run n1.wild true; ended 'EXITED 0' 'pattern'
    run n9.wild true; ended HOST_KEY_UNKNOWN 'excluded by a pattern'
    run unknown true; ended HOST_KEY_UNKNOWN 'unknown key' 'hint|add it by: ssh unknown true'
    run changed true; ended HOST_KEY_CHANGED 'changed key' "$d/known:4"
    run revoked true; ended HOST_KEY_CHANGED 'revoked key' revoked
    run revport true; ended HOST_KEY_CHANGED 'revoked for the port alone' revoked

    # who does not let us in, or is not there
    run stranger true; ended NO_AUTH 'refused key' "$d/stranger"
    run noname true; ended NO_NAME 'no name' no-such-host.invalid
    run nowhere true; ended UNREACHABLE 'no route' "'nowhere'"
    run -r 2 closed true; ended REFUSED 'refused' "'closed'.*port $closed"
    run -r 2 drop true; ended BUSY 'dropped'
    # dead, and waited for once; slow, and tried again
    : >"$d/connections"
    connect=3; run silent true; ended TIMED_OUT 'silent'
    [ "$(grep -c . "$d/connections")" -eq 1 ] || bad 'a host that said nothing was tried again'
    connect=2; run -g silent plain true; ended GATEWAY 'silent gateway' 'ssh silent true; ConnectTimeout'
    connect=6; run -r 4 stalls 'exit 9'; ended 'EXITED 9' 'stalled once'; connect=
    # slow, and waited for as ssh's configuration says
    connect=1; run -r 1 late 'exit 7'; ended TIMED_OUT 'late'
    run -r 1 patient 'exit 7'; ended 'EXITED 7' 'ConnectTimeout'; connect=
    # stopped while the host answers: its time does not run meanwhile
    "$try" -F "$d/config" -t "$transport" -C 8 -r 1 late 'exit 7' >"$d/out" 2>"$d/err" &
    stopped=$!
    sleep 1; kill -STOP $stopped; sleep 10; kill -CONT $stopped
    wait $stopped; ended 'EXITED 7' 'stopped while it connects'
    connect=2; run hangs true; grep -q '^hangs LOCAL .*ssh -G' "$d/err" || bad 'ssh -G hangs'; connect=

    # names that a shell would take for commands, directly and where ssh has a shell
    for h in "x';touch $d/taken;'" "x\$(touch $d/taken)" '-oProxyCommand=false' "x y"; do
        run -- "$h" true; grep -q ' LOCAL .*is no \[USER@\]HOST' "$d/err" || bad "name '$h'"
        run -g "$h" plain true; grep -q "is no \[USER@\]HOST" "$d/err" || bad "gateway '$h'"
        run -g "$h,gate" plain true; grep -q "is no \[USER@\]HOST" "$d/err" || bad "first gateway '$h'"
    done
    [ ! -e "$d/taken" ] || bad 'a name was executed'

    # lost on the way
    run plain 'kill -9 $PPID; sleep 9'
    ended LOST 'its sshd killed'
    run -S 4 plain "echo \$PPID >'$d/frozen'; kill -STOP \$PPID; exec sleep 9"
    ended LOST 'its sshd stopped'
    kill -9 "$(cat "$d/frozen")" 2>/dev/null
    rm -f "$d/frozen"

    run -c flipped 'head -c 8000000 /dev/zero'
    ended LOST 'a bit flipped on the way'

    # what is meant for people
    printf 'some input' | run -i people cat
    ended 'EXITED 0' 'RemoteCommand, SessionType, StdinNull'
    [ "$(cat "$d/out")" = 'some input' ] || bad "not our command: $(cat "$d/out")"
    run -g people plain true; ended 'EXITED 0' 'a gateway with RemoteCommand'

    # gateways: one connection for all
    : >"$d/gate.log"
    run -g gate -r 12 'plain*40' 'echo hello'
    [ "$(grep -c '^hello$' "$d/out")" -eq 40 ] || bad "40 through a gateway: $(grep -c hello "$d/out")"
    n=$(grep -c 'Accepted publickey' "$d/gate.log")
    [ "$n" -eq 1 ] || bad "$n connections to the gateway"
    run far 'echo two hops'; ended 'EXITED 0' 'two hops'
    grep -q 'Accepted publickey' "$d/gate2.log" || bad 'not through the second hop'
    : >"$d/gate2.log"
    run -g gate closed true; ended UNREACHABLE 'refused behind the gateway' "through 'gate'"
    run -g gate unknown true; ended HOST_KEY_UNKNOWN 'unknown behind the gateway'
    run -r 1 -g closed plain true; ended GATEWAY 'gateway down' "through 'closed'.*refused"
    run -g unknown plain true; ended GATEWAY 'unknown gateway' 'host key'
    run -g noname plain true; ended GATEWAY 'gateway without a name'
    # (of newer OpenSSH, a connection is two processes)
    run -g gate plain "for p in \$(ps -o pid= --ppid ${pids[1]}); do kill -9 \$(ps -o pid= --ppid \$p) \$p; done; sleep 9"
    ended LOST 'gateway drops' "through 'gate'"
done

# --- what comes while the other stream is looked for -------------------------------

# No event tells of it.  The next one would be an answer to "are you there", seconds later.
transport=libssh2 name=libssh2
LD_PRELOAD=${try%/*}/late.so "$try" -F "$d/config" -t libssh2 -S 400 -x 8 plain \
    'sleep 3; echo one; sleep 1.5; echo two; exec sleep 200' >"$d/out" 2>"$d/err" ||
    bad 'what came between looking for output and for errors is not handed on'
[ "$(tr '\n' ' ' <"$d/out")" = 'one two ' ] || bad "came: $(cat "$d/out")"

# --- which transport, and why ----------------------------------------------------

transport=auto name=libssh2
run plain true; ended 'EXITED 0' 'auto'
name=OpenSSH
run proxied true; ended 'EXITED 0' 'ProxyCommand' 'why OpenSSH: ProxyCommand'
case $("$TI_BUILD/ti-gather" --version) in
    *'libssh2 1.10.'*) run rsa true; ended 'EXITED 0' 'RSA key' 'why OpenSSH: keys that libssh2 cannot use' ;;
    *) run rsa true; name=libssh2 ended 'EXITED 0' 'RSA key' ;; # with SHA-2, which servers ask for
esac
run certified true; ended 'EXITED 0' 'a certificate beside the key' 'why OpenSSH: keys that libssh2 cannot use'
TI_TEST_FOLDER=$d run variable true; ended 'EXITED 0' 'a variable in IdentityFile' 'why OpenSSH: tokens in IdentityFile'
run -g gate umac true; ended 'EXITED 0' 'no MAC in common, behind a gateway' 'why OpenSSH: no method'
run -g gate blacklist true
ended HOST_KEY_CHANGED 'RevokedHostKeys beside ProxyCommand, behind a gateway' 'why OpenSSH: RevokedHostKeys'
transport=libssh2 name=OpenSSH
run proxied true; ended NO_METHOD 'ProxyCommand with libssh2 alone' 'ProxyCommand'

# An agent with more keys than a server lets try: the one that IdentityFile names comes first.
eval "$(ssh-agent -s -a "$d/agent")" >/dev/null
pids+=("$SSH_AGENT_PID")
for i in 1 2 3 4 5 6 7 8; do
    ssh-keygen -q -t ed25519 -N '' -C "key $i" -f "$d/other$i"
    ssh-add -q "$d/other$i"
done
ssh-add -q "$d/user"
for transport in libssh2 openssh; do
    name=libssh2
    [ $transport = libssh2 ] || name=OpenSSH
    run keyring true; ended 'EXITED 0' 'the ninth key of an agent'
done
unset SSH_AUTH_SOCK

# --- hosts that are alike are asked of once ---------------------------------------

mkdir "$d/bin"
cat >"$d/bin/ssh" <<EOF
#!/bin/sh
case " \$* " in *' -G '*) echo "\$*" >>'$d/asked' ;; esac
exec '$(command -v ssh)' "\$@"
EOF
chmod +x "$d/bin/ssh"
cat >"$d/same" <<EOF
Host a7.*
 User nobody
Host *
 Port $node
 HostKeyAlias plain
 IdentityFile $d/user
 IdentitiesOnly yes
 UserKnownHostsFile $d/known
 GlobalKnownHostsFile /dev/null
EOF
asked() { # N HOSTS WHAT: so often, and the last of them is reached
    : >"$d/asked"
    PATH=$d/bin:$PATH "$try" -F "$d/same" -t "$transport" -C 120 -r 1 "$2" true >"$d/out" 2>"$d/err"
    [ "$(wc -l <"$d/asked")" -eq "$1" ] || bad "$3: asked $(wc -l <"$d/asked") times, not $1"
    grep -q "^${2##*,} EXITED 0 " "$d/err" || bad "$3: not reached"
}
for transport in libssh2 openssh; do
    asked 1 a1.invalid,a2.invalid,a3.invalid,a4.invalid,localhost 'all alike'
    asked 2 a1.invalid,a7.invalid,a2.invalid,localhost 'one with a section of its own'
    asked 2 "$(id -un)@a1.invalid,a2.invalid,localhost" 'another user'
    asked 2 A1.invalid,a2.invalid,localhost 'a name in capitals'
    echo 'Match exec true' >>"$d/same"
    asked 3 a1.invalid,a2.invalid,localhost 'Match exec'
    sed -i '$d' "$d/same"
    echo ' SetEnv X=%h' >>"$d/same"
    asked 3 a1.invalid,a2.invalid,localhost 'a token in it'
    sed -i '$d' "$d/same"
done

# --- what ssh has in its environment, and nobody else ------------------------------

transport=openssh name=OpenSSH
run envy env; ended 'EXITED 0' 'environment'
[ "$(grep -c '^MALLOC_[A-Z]*_THRESHOLD_=[0-9]' "$d/env")" -eq 2 ] || bad "environment of ssh: $(grep MALLOC "$d/env")"
! grep MALLOC_ "$d/out" || bad 'the other side has it, too'
MALLOC_TRIM_THRESHOLD_=4711 run envy true
grep -qx 'MALLOC_TRIM_THRESHOLD_=4711' "$d/env" || bad "the user's own is lost"
run -l here env
! grep MALLOC_ "$d/out" || bad 'other children have it, too'

# --- folders of those who were killed ----------------------------------------------

mkdir -m 700 "$d/tiara-abcdef" "$d/tiara-ABCDEF" "$d/tiara-locked" "$d/tiara-empty0"
touch "$d/tiara-abcdef/lock" "$d/tiara-abcdef/l0" "$d/tiara-locked/lock" "$d/tiara-ABCDEF/file"
touch -d '1 hour ago' "$d"/tiara-*
exec 9<"$d/tiara-locked/lock"
flock 9
transport=openssh name=OpenSSH
run plain true; ended 'EXITED 0' 'with old folders'
[ ! -e "$d/tiara-abcdef" ] || { echo 'a folder of a dead process is left'; failed=1; }
[ -d "$d/tiara-locked" ] || { echo 'a folder of a living process was removed'; failed=1; }
[ ! -e "$d/tiara-empty0" ] || { echo 'an empty folder of a dead process is left'; failed=1; }
[ -e "$d/tiara-ABCDEF/file" ] || { echo "a folder that may be somebody else's was removed"; failed=1; }
exec 9<&-
rm -r "$d/tiara-ABCDEF" "$d/tiara-locked"

ls -d "$d"/tiara-* >/dev/null 2>&1 && { echo 'folders are left'; failed=1; }
exit $failed
