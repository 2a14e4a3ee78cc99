#!/usr/bin/env bash
# ti-node as a relay: nodes behind nodes, through an sshd of our own on the loopback.
# tests/run: waits
set -u
cd "$(dirname "$0")/../.." || exit 1
command -v python3 >/dev/null || { echo "no python3"; exit 77; }
[ -x "${TI_BUILD:-build}/ti-node" ] || { echo "ti-node was not built"; exit 77; }
command -v ssh >/dev/null || { echo "no ssh"; exit 77; }
[ -x /usr/sbin/sshd ] || { echo 'no sshd here'; exit 77; }
[ "$(id -u)" -ne 0 ] || mkdir -p /run/sshd || { echo 'sshd wants /run/sshd'; exit 77; }
exec python3 -B tests/cli/node_relay.py -v
