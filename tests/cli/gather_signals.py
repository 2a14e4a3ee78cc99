"""ti-gather told to end, by SIGINT, SIGTERM and SIGHUP.  gather-signals.sh runs it in a folder with
bin/silent, which it puts in place of commands that reach nodes: gather_signals.py SSH
"""
import glob
import json
import os
import re
import signal
import subprocess
import sys
import time


def write(run, nodes):
    json.dump({"run_id": "5eed" * 8, "np": 1000000, "nodes": nodes}, open(run + "/RUN.json", "w"))


def contents():
    """Of all files that ti-gather could write, but for a drawing, which an interrupted gather has, too."""
    return {f: open(f, "rb").read() for d in ("*.run/*", "*.tib*") for f in glob.glob(d)}


def sleeps(pid):
    try:
        return b"sleep" in open("/proc/%s/cmdline" % pid, "rb").read()
    except OSError:
        return False


def left():
    """The pids of processes that were started and are there yet, also after a moment."""
    for _ in range(100):
        alive = [p for p in os.listdir("pids") if sleeps(p)]
        if not alive:
            break
        time.sleep(0.1)
    return alive


def plain(out):
    """Its standard output, without how long that took."""
    return re.sub(rb'"seconds": [0-9.e-]*', b"", out)


def end(args, number, wait):
    """Begin, wait(process), and end it: what it said."""
    for p in os.listdir("pids"):
        os.unlink("pids/" + p)
    with open("out", "wb") as out, open("err", "wb") as err:
        p = subprocess.Popen(["ti-gather"] + args, stdin=subprocess.DEVNULL, stdout=out, stderr=err)
        wait(p)
        p.send_signal(number)
        status = p.wait(timeout=60)
    what = "%s, %s: " % (" ".join(args), number.name)
    said = open("out", "rb").read(), open("err").read()
    assert status in (-number, 0 if "--plan" in args else -number), what + "status %d, %s" % (status, said[1])
    assert contents() == before, what + "something was written: %s" % list(contents())
    assert not left(), what + "processes are left: %s" % left()
    return said


def started(p):
    """Wait until somebody was started."""
    while not os.listdir("pids"):
        assert p.poll() is None, "it ended by itself: " + open("err").read()
        time.sleep(0.01)

signals = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]
node = {"site": None, "gateway": None, "via": None, "tiara": None, "directory": "/no/such"}
write("claimed.run", [{**node, "name": "n%d" % i, "site": "s%d" % (i % 10), "host": "n%d" % i,
                       "ranks": [[i, 999999]]} for i in range(10000)])
write("silent.run", [{**node, "name": "n%d" % i, "host": "n%d" % i, "ranks": [[50000 * i, 50000 * i + 49999]],
                      "via": ["silent", "{node}"]} for i in range(20)])
before = contents()

# A plan: all of it is said, or nothing; at any time.
for args in ["--plan", "claimed.run"], ["--plan", "--json", "claimed.run"]:
    began = time.time()
    whole = plain(subprocess.run(["ti-gather"] + args, stdout=subprocess.PIPE, check=True,
                                 stderr=subprocess.DEVNULL).stdout)
    took, cut = time.time() - began, 0
    for i in range(9):
        out, err = end(args, signals[i % 3], lambda p: time.sleep(took * i / 9))
        cut += not out
        assert not out or plain(out) == whole, "half a plan: %s" % out[-200:]
        assert "goes on" not in err, "a plan does not go on: " + err
    assert cut, "no plan was interrupted"

# A gather, whose nodes do not answer.
for number in signals:
    for more in [], ["--arity", "1"], ["--dot", "tree.dot"], ["--json"]:
        out, err = end(["--trust", "silent.run"] + more, number, started)
        assert out == b"", "interrupted, it said: %s" % out[-200:]
        assert "interrupted" in err, "it does not say that it was interrupted: " + err

# ssh says nothing: not how a host is to be reached, nor when it was.
write("silent.run", [{**node, "name": "n%d" % i, "site": "s", "host": "n%d" % i, "gateway": "gate",
                      "ranks": [[50000 * i, 50000 * i + 49999]]} for i in range(20)])
before = contents()
silence = ['exec silent "$@"']
if sys.argv[1]:
    silence.append('case " $* " in *" -G "*) exec "%s" "$@" ;; esac; exec silent "$@"' % sys.argv[1])
for ssh in silence:
    with open("bin/ssh", "w") as f:
        f.write("#!/bin/sh\n" + ssh + "\n")
    os.chmod("bin/ssh", 0o755)
    for number in signals:
        end(["--transport", "openssh", "silent.run"], number, started)
