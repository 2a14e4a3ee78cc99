"""Runs a command on a terminal of its own: on_terminal.py STATUS RAW LINES COMMAND...

Everything that is written to the terminal goes to the file RAW, and the lines that a person sees to
the file LINES.  Fails unless the command ends with STATUS.  With SLOW in the environment the
terminal takes the output slowly; with COLUMNS it is that wide.
"""
import fcntl
import os
import pty
import re
import struct
import sys
import termios
import threading
import time

END = b"\0end"


def start(command, line):
    pid = os.fork()
    if pid == 0:
        os.setsid()
        fcntl.ioctl(line, termios.TIOCSCTTY, 0)
        for fd in range(3):
            os.dup2(line, fd)
        os.closerange(3, line + 1)
        width = int(os.environ.pop("COLUMNS", 0))
        if width:
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("4H", 24, width, 0, 0))
        os.execv(command[0], command)
    return pid


def read_all(terminal, slow):
    """All up to END.  A terminal that is closed may lose what was written last."""
    raw = b""
    while not raw.endswith(END):
        if slow:
            time.sleep(0.01)
        raw += os.read(terminal, 1024 if slow else 4096)
    return raw[:-len(END)]


def write(path, text):
    with open(path, "w", encoding="utf-8", newline="") as file:
        file.write(text)


def main(wanted, raw, lines, *command):
    terminal, line = pty.openpty()
    pid = start(command, line)
    ended = []

    def wait():
        ended.append(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
        os.write(line, END)

    threading.Thread(target=wait).start()
    text = read_all(terminal, os.environ.get("SLOW")).decode().replace("\r\n", "\n")
    status = ended[0]
    write(raw, text)
    # A carriage return and "erase to the end of the line" leave what comes behind them.
    write(lines, "\n".join(re.sub(r".*\r\x1b\[K", "", line) for line in text.split("\n")))
    if status != int(wanted):
        sys.exit("FAILED: status %d, not %s: %s" % (status, wanted, text))


main(*sys.argv[1:])
