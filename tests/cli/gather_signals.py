"""ti-gather told to end, by SIGINT, SIGTERM and SIGHUP.  gather-signals.sh runs it in a folder with
bin/silent, which stands for commands that reach nodes and get no answer.
"""
import glob
import json
import os
import re
import shutil
import signal
import subprocess
import time
import unittest

SIGNALS = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]
NODE = {"site": None, "gateway": None, "via": None, "tiara": None, "directory": "/no/such"}


def write(run, nodes):
    with open(run + "/RUN.json", "w") as file:
        json.dump({"run_id": "5eed" * 8, "np": 1000000, "nodes": nodes}, file)


def twenty_nodes(**more):
    """Nodes of silent.run, each with 50,000 of the million ranks."""
    return [{**NODE, "name": "n%d" % i, "host": "n%d" % i,
             "ranks": [[50000 * i, 50000 * i + 49999]], **more} for i in range(20)]


def content(path):
    with open(path, "rb") as file:
        return file.read()


def contents():
    """Of all files that ti-gather could write, but for a drawing, which an interrupted gather has, too."""
    return {f: content(f) for d in ("*.run/*", "*.tib*") for f in glob.glob(d)}


def sleeps(pid):
    try:
        return b"sleep" in content("/proc/%s/cmdline" % pid)
    except OSError:
        return False


def left():
    """Whether processes that were started are there yet."""
    return any(sleeps(p) for p in os.listdir("pids"))


def plain(out):
    """Its standard output, without how long that took."""
    return re.sub(rb'"seconds": [0-9.e-]*', b"", out)


class Signals(unittest.TestCase):
    """ti-gather dies of the signal, leaves no process, and writes nothing."""

    def end(self, args, number, wait):
        """Starts ti-gather, calls wait(process), and ends it.  Returns its output and errors."""
        before = contents()
        for name in os.listdir("pids"):
            os.unlink("pids/" + name)
        with open("out", "wb") as out, open("err", "wb") as err:
            process = subprocess.Popen(["ti-gather"] + args, stdin=subprocess.DEVNULL, stdout=out,
                                       stderr=err)
            wait(process)
            process.send_signal(number)
            status = process.wait()
        out, err = content("out"), content("err").decode()
        self.assertIn(status, (-number, 0 if "--plan" in args else -number), err)
        self.assertEqual(list(contents()), list(before), "files were written")
        self.assertTrue(contents() == before, "a file was changed")
        while left():  # they end by and by
            time.sleep(0.1)
        return out, err

    def started(self, process):
        """Waits until some process was started for a node."""
        while not os.listdir("pids"):
            self.assertIsNone(process.poll(), "it ended by itself")
            time.sleep(0.01)

    def test_plan_is_printed_whole_or_not_at_all(self):
        write("claimed.run", [{**NODE, "name": "n%d" % i, "site": "s%d" % (i % 10), "host": "n%d" % i,
                               "ranks": [[i, 999999]]} for i in range(10000)])
        for args in ["--plan", "claimed.run"], ["--plan", "--json", "claimed.run"]:
            began = time.time()
            whole = plain(subprocess.run(["ti-gather"] + args, stdout=subprocess.PIPE, check=True,
                                         stderr=subprocess.DEVNULL).stdout)
            took, interrupted = time.time() - began, 0
            for i in range(9):
                with self.subTest(args=args, i=i):
                    out, err = self.end(args, SIGNALS[i % 3], lambda p: time.sleep(took * i / 9))
                    interrupted += not out
                    self.assertTrue(not out or plain(out) == whole, "half a plan: %s" % out[-200:])
                    self.assertNotIn("goes on", err, "a plan does not go on")
            self.assertGreater(interrupted, 0, "no plan was interrupted")

    def test_gather_without_answers_prints_nothing_but_the_interruption(self):
        write("silent.run", twenty_nodes(via=["silent", "{node}"]))
        for number in SIGNALS:
            for more in [], ["--arity", "1"], ["--dot", "tree.dot"], ["--json"]:
                with self.subTest(signal=number.name, more=more):
                    out, err = self.end(["--trust", "silent.run"] + more, number, self.started)
                    self.assertEqual(out, b"")
                    self.assertIn("interrupted", err)

    def end_with_ssh(self, script):
        """Ends gathers whose ssh is this script."""
        write("silent.run", twenty_nodes(site="s", gateway="gate"))
        with open("bin/ssh", "w") as file:
            file.write("#!/bin/sh\n" + script + "\n")
        os.chmod("bin/ssh", 0o755)
        self.addCleanup(os.unlink, "bin/ssh")
        for number in SIGNALS:
            with self.subTest(signal=number.name):
                self.end(["--transport", "openssh", "silent.run"], number, self.started)

    def test_ssh_does_not_say_how_a_host_is_reached(self):
        self.end_with_ssh('exec silent "$@"')

    def test_ssh_does_not_connect(self):
        ssh = shutil.which("ssh")
        if not ssh:
            self.skipTest("no ssh")
        self.end_with_ssh('case " $* " in *" -G "*) exec "%s" "$@" ;; esac; exec silent "$@"' % ssh)


if __name__ == "__main__":
    unittest.main()
