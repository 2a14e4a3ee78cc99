"""Servers for tests of lib/remote that are none, or damage what passes:
    bad_server.py silent PORT             accepts connections and says nothing; prints a line for each
    bad_server.py drop PORT               accepts connections and closes them
    bad_server.py flip PORT TARGET BYTES  passes all on to and from the port TARGET; of what
                                          TARGET sends, flips a bit of the byte after BYTES bytes
    bad_server.py stall PORT TARGET BYTES the same, but sends no more than BYTES bytes over every
                                          other connection, beginning with the first
    bad_server.py late PORT TARGET SECONDS passes all on after so many seconds of silence
"""
import socket
import sys
import threading
import time

stalled = []    # sockets that stay open


def stall(client, target, most):
    """What TARGET says first, and nothing after it."""
    server = socket.create_connection(("127.0.0.1", target))
    threading.Thread(target=pass_on, args=(client, server, -1), daemon=True).start()
    while most > 0:
        data = server.recv(most)
        if not data:
            return
        client.sendall(data)
        most -= len(data)
    stalled.append(server)


def pass_on(source, sink, flipped):
    """Until the end; FLIPPED is the number of the byte to damage, or -1."""
    while True:
        try:
            data = bytearray(source.recv(16384))
            if not data:
                sink.shutdown(socket.SHUT_WR)
                return
            if 0 <= flipped < len(data):
                data[flipped] ^= 1
            flipped -= len(data)
            sink.sendall(data)
        except OSError:
            return


def flip(client, target, at):
    server = socket.create_connection(("127.0.0.1", target))
    for source, sink, flipped in (client, server, -1), (server, client, at):
        threading.Thread(target=pass_on, args=(source, sink, flipped), daemon=True).start()


def late(client, target, seconds):
    time.sleep(seconds)
    flip(client, target, -1)


def main(what, port, *numbers):
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(("127.0.0.1", int(port)))
    listener.listen(50)
    odd = False
    while True:
        client = listener.accept()[0]
        odd = not odd
        if what == "silent":
            stalled.append(client)
            print("connection", flush=True)
        elif what == "stall" and odd:
            threading.Thread(target=stall, args=(client, *map(int, numbers)), daemon=True).start()
        elif what == "late":
            threading.Thread(target=late, args=(client, *map(int, numbers)), daemon=True).start()
        elif what == "stall":
            flip(client, int(numbers[0]), -1)
        elif what == "drop":
            client.close()
        else:
            flip(client, *map(int, numbers))


main(*sys.argv[1:])
