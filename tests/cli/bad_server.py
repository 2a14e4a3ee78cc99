"""Servers for tests of lib/remote that are none, or damage what passes:
    bad_server.py silent PORT             accepts connections and says nothing
    bad_server.py drop PORT               accepts connections and closes them
    bad_server.py flip PORT TARGET BYTES  passes all on to and from the port TARGET; of what
                                          TARGET sends, flips a bit of the byte after BYTES bytes
"""
import socket
import sys
import threading


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


def main(what, port, *numbers):
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(("127.0.0.1", int(port)))
    listener.listen(50)
    silent = []
    while True:
        client = listener.accept()[0]
        if what == "silent":
            silent.append(client)
        elif what == "drop":
            client.close()
        else:
            flip(client, *map(int, numbers))


main(*sys.argv[1:])
