"""Ports of the loopback for servers of a test: free_port.py [N] prints N of them, one a line.

They are none of those that the kernel gives to whoever names no port, as MPI's processes in a
test beside this one: what is free stays so, until it is listened at and, where nobody is to
listen, all the time.
"""
import random
import socket
import sys

FIRST, LAST = 10000, 32767


def ephemeral():
    try:
        with open("/proc/sys/net/ipv4/ip_local_port_range") as f:
            first, last = map(int, f.read().split())
    except OSError:
        first, last = 32768, 60999
    return range(first, last + 1)


def free_port():
    given = ephemeral()
    ports = [p for p in range(FIRST, LAST + 1) if p not in given] or given
    while True:
        with socket.socket() as s:
            port = random.choice(ports)
            try:
                s.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port


if __name__ == "__main__":
    for _ in range(int(sys.argv[1]) if len(sys.argv) > 1 else 1):
        print(free_port())
