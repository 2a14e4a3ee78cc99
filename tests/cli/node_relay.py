"""ti-node as a relay.  Run by node-relay.sh; to run one case:
    python3 tests/cli/node_relay.py -v Relay.test_missing_tiara_is_told
"""
import getpass
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, os.path.dirname(__file__))
from free_port import free_port
from node_driver import (BUILD, DATA, INPUT, MESSAGE, OUTPUT, TI_NODE, Far, NodeTest, frame,
                         wait_for)

scratch = tempfile.mkdtemp(prefix="ti-relay-")
home = scratch + "/home"  # of the relay and of those behind the first server; home2 of the others
silent = socket.create_server(("127.0.0.1", 0), backlog=64)  # nobody accepts
ssh_path = ""  # PATH of all nodes: the first ssh there reads our configuration


# --- nodes -----------------------------------------------------------------

def write(name, text, mode=0o600):
    with open("%s/%s" % (scratch, name), "w") as f:
        f.write(text)
    os.chmod("%s/%s" % (scratch, name), mode)


def read(name):
    with open("%s/%s" % (scratch, name)) as f:
        return f.read()


def key(name):
    return " ".join(read(name + ".pub").split()[:2])


def start_sshd(name, place, port, path):
    """One of the two, which differ in HOME."""
    os.mkdir(place)
    write(name + ".conf", """Port %d
ListenAddress 127.0.0.1
HostKey %s/host
StrictModes no
AuthorizedKeysFile %s/user.pub
PidFile none
PermitRootLogin yes
UsePAM no
PasswordAuthentication no
LogLevel VERBOSE
MaxStartups 100
SetEnv PATH=%s HOME=%s TMPDIR=%s
""" % (port, scratch, scratch, path, place, scratch))
    log = "%s/%s.log" % (scratch, name)
    daemon = subprocess.Popen(["/usr/sbin/sshd", "-D", "-f", "%s/%s.conf" % (scratch, name), "-E", log])
    unittest.addModuleCleanup(daemon.wait)
    unittest.addModuleCleanup(daemon.kill)
    wait_for(lambda: os.path.exists(log) and "listening" in read(name + ".log"))


def start_sshds():
    """Servers, and an ssh whose hosts differ in what is known of their keys; PATH with that ssh."""
    for name in ("host", "other", "user"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "", "-f",
                        "%s/%s" % (scratch, name)], check=True)
    port = free_port()
    second = free_port()
    os.mkdir(scratch + "/bin")
    write("bin/ssh", '#!/bin/sh\nexec %s -F %s/config "$@"\n' % (shutil.which("ssh"), scratch), 0o700)
    path = "%s/bin:%s" % (scratch, os.environ["PATH"])
    write("known", "one,two,three,nokey %s\nwrong %s\n" % (key("host"), key("other")))
    write("config", "".join("Host %s\n HostKeyAlias %s\n" % (h, h) for h in
                            ("one", "two", "three", "wrong", "nokey", "unknown")) + """Host two
 Port %d
Host noname
 HostName no-such-host.invalid
Host closed
 Port %d
Host silent
 Port %d
Host nokey
 IdentityFile %s/other
Host * !nokey
 IdentityFile %s/user
Host *
 HostName 127.0.0.1
 Port %d
 User %s
 IdentitiesOnly yes
 UserKnownHostsFile %s/known
 GlobalKnownHostsFile /dev/null
""" % (second, free_port(), silent.getsockname()[1], scratch, scratch, port, getpass.getuser(), scratch))
    start_sshd("first", home, port, path)
    start_sshd("second", home + "2", second, path)
    return path


def of_sshd():
    """Our sshd's sessions, and what they run; ssh clients of this test."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open("/proc/%s/cmdline" % pid, "rb") as f:
                words = f.read()
            with open("/proc/%s/environ" % pid, "rb") as f:
                environ = f.read()
        except OSError:
            continue
        if scratch.encode() in environ and int(pid) != os.getpid() and words:
            found.append(int(pid))
    return found


def memory_kib(node, what="VmHWM"):
    with open("/proc/%d/status" % node.hello["pid"]) as f:
        return int([line for line in f if line.startswith(what)][0].split()[1])


def written(node):
    with open("/proc/%d/io" % node.hello["pid"]) as f:
        return int([line for line in f if line.startswith("wchar")][0].split()[1])


def state(node):
    with open("/proc/%d/stat" % node.hello["pid"]) as f:
        return f.read().split()[2]


def setUpModule():
    global ssh_path
    unittest.addModuleCleanup(shutil.rmtree, scratch, ignore_errors=True)
    unittest.addModuleCleanup(silent.close)
    ssh_path = start_sshds()


# An ssh that connects, has ti-node ask to be sent, and takes nothing.
MUTE_SSH = r"""#!/bin/bash
case " $* " in *' -G '*) exec %s -F %s/config "$@" ;; esac
while [ $# -gt 1 ]; do [ "$1" != -E ] || log=$2; shift; done
hash=${1#*h=}
printf 'debug1: %%s\r\n' 'Remote protocol version 2.0' 'Authentication succeeded (publickey).' >"$log"
printf 'debug2: exec request accepted on channel 0\r\n' >"$log"
echo "TIARA-SEND ${hash%%%% *} 1"
exec sleep 9999
"""


# --- tests -----------------------------------------------------------------

class Relay(NodeTest):
    """Nodes behind a node."""

    def setUp(self):
        super().setUp()
        for place in home, home + "2":  # Tiara was not sent there
            shutil.rmtree(place + "/.cache", ignore_errors=True)

    def tearDown(self):
        super().tearDown()
        for pid in of_sshd():
            os.kill(pid, signal.SIGKILL)

    def serve(self, command=TI_NODE, PATH=None):
        return super().serve(command, env={**os.environ, "PATH": PATH or ssh_path, "TMPDIR": scratch,
                                           "HOME": home})

    def reached(self, relay, stream, host, **more):
        far = Far(relay, stream, host, **more)
        far.start()
        return far

    def test_nodes_without_tiara_are_sent_it_by_nodes_that_were_sent_it(self):
        """Three levels; one that ends takes those behind it along."""
        node = self.serve()
        one = self.reached(node, 1, "one")
        self.assertIs(one.hello["shipped"], True, one.hello)
        self.assertIn(home, one.hello["folder"], one.hello)
        two = self.reached(one, 9, "two")
        self.assertIs(two.hello["shipped"], True, two.hello)
        self.assertIn(home + "2", two.hello["folder"], two.hello)
        three = self.reached(two, 4000000000, "three", tiara=BUILD)
        self.assertEqual(three.hello["folder"], BUILD, three.hello)
        self.assertIs(three.hello["shipped"], False, three.hello)
        directory = scratch + "/traces"
        self.traces(directory, 3)
        self.assertEqual(three.ask("list", directory=directory, run_id=self.run_id)["traces"], 3)
        self.assertEqual(three.ask("send", ranks=[[0, 2]], directory=directory, run_id=self.run_id)["sent"],
                         3)
        for rank in range(3):
            with open("%s/rank-%06d.ti" % (directory, rank), "rb") as f:
                self.assertEqual(three.output(rank, DATA), f.read())
        # one that ends takes those behind it along, and nobody else
        self.assertIs(two.ask("unreach", stream=4000000000)["found"], True)
        self.assertEqual(three.ended()["end"], "CLOSED")
        os.kill(two.hello["pid"], signal.SIGKILL)
        told = two.ended()
        self.assertEqual(told["end"], "EXITED", told)
        self.assertIn("killed by signal 9", told["error"], told)
        self.assertEqual(one.ask("beat", every_ms=0)["is"], "beat")
        # the number is free again
        two = self.reached(one, 9, "two")
        self.assertEqual(node.end(), 0)
        wait_for(lambda: not of_sshd())

    def test_bad_reach_is_an_error_and_starts_nothing(self):
        node = self.serve()
        for key_, value, says in [("stream", 0, "stream"), ("stream", 1 << 32, "stream"),
                                  ("host", "-oProxyCommand=touch /tmp/x", "host"), ("host", "a b", "host"),
                                  ("host", "a\nb", "host"), ("host", "", "host"), ("host", None, "host"),
                                  ("host", "x" * 600, "host"), ("host", "a:0", "host"),
                                  ("tiara", 1, "tiara"), ("tiara", "/a'b", "tiara"),
                                  ("tiara", "relative", "tiara"),
                                  ("known", "x", "known"), ("known", ["a\nb"], "known"),
                                  ("known", [1], "known"), ("known", ["x"] * 300, "known"),
                                  ("connect_s", -1, "connect_s"), ("silence_s", "x", "silence_s"),
                                  ("answer_s", -1, "answer_s"),
                                  ("forward_agent", 1, "forward_agent")]:
            answer = node.ask("reach", **{**dict(stream=1, host="one"), key_: value})
            self.assertEqual(answer["is"], "error", answer)
            self.assertIn(says, answer["error"], answer)
        self.assertIs(node.ask("unreach", stream=1)["found"], False)
        self.assertEqual(node.ask("unreach", stream=0)["is"], "error")
        self.assertLessEqual(set(of_sshd()), {node.hello["pid"], node.process.pid},
                        "something was started")
        self.assertEqual(node.end(), 0)

    def test_flooding_slow_and_frozen_nodes_do_not_hold_up_others(self):
        node = self.serve()
        far = [self.reached(node, i + 1, ("one", "two")[i % 2], silence_s=20 if i == 1 else 600)
               for i in range(4)]
        directory = scratch + "/large"
        self.traces(directory, 4)
        for rank in range(4):
            os.truncate("%s/rank-%06d.ti" % (directory, rank), 40 << 20)
        about = dict(directory=directory, run_id=self.run_id)
        base = memory_kib(node)
        for i, one in enumerate(far):
            one.send({"do": "send", "id": 700, "ranks": [[i, i]], **about})
        node.send({"do": "send", "id": 700, "ranks": [[0, 0]], **about})
        time.sleep(1)  # nobody reads
        self.assertLess(memory_kib(node) - base, 8 << 10, (base, memory_kib(node)))
        for i in range(160):  # everybody gets somewhere; what waited already does not count
            time.sleep(0.05)  # slower than they are
            node.read(1)
            if i == 40:
                node.frames.clear()
        shares = {i: sum(len(f[2]) for f in node.frames if f[0] == OUTPUT and f[1] == i) for i in range(1, 5)}
        shares[0] = sum(len(f[2]) for f in node.frames if f[0] == DATA)
        self.assertGreater(min(shares.values()), max(shares.values()) / 4, shares)
        node.frames = [f for f in node.frames if f[0] == MESSAGE]
        # its session's sshd is frozen: ssh notices
        with open("/proc/%d/status" % far[1].hello["pid"]) as f:
            parent = int([line for line in f if line.startswith("PPid")][0].split()[1])
        with open("/proc/%d/status" % parent) as f:
            session = int([line for line in f if line.startswith("PPid")][0].split()[1])
        with open("/proc/%d/cmdline" % session) as f:
            self.assertIn("sshd", f.read())
        os.kill(session, signal.SIGSTOP)
        told = None
        while not told:
            node.read(1)
            told = [f[2] for f in node.frames if f[0] == MESSAGE and f[2]["is"] == "ended"]
            node.frames = [f for f in node.frames if f[0] == MESSAGE]
        os.kill(session, signal.SIGKILL)
        self.assertTrue(told, told)
        self.assertEqual(told[0]["stream"], 2, told)
        self.assertEqual(told[0]["end"], "LOST", told)
        # frozen itself, it does not take what it is sent
        os.kill(far[2].hello["pid"], signal.SIGSTOP)
        told = None
        while not told:
            node.write(frame(INPUT, 3, b" " * 100000))
            node.read(0.01)
            told = [f[2] for f in node.frames if f[0] == MESSAGE and f[2]["is"] == "ended"
                    and f[2]["stream"] == 3]
            node.frames = [f for f in node.frames if f[0] == MESSAGE]
        self.assertTrue(told, told)
        self.assertIn("does not take", told[0]["error"], told)
        os.kill(far[2].hello["pid"], signal.SIGKILL)
        self.assertEqual(node.ask("beat", every_ms=0)["is"], "beat")
        self.assertLess(memory_kib(node) - base, 16 << 10, (base, memory_kib(node)))
        node.process.stdin.close()
        node.process.wait()
        wait_for(lambda: not of_sshd())

    def test_a_node_that_ends_while_it_waits_for_its_turn_holds_up_nobody(self):
        """The relay sends a trace itself, and so takes turns with the nodes behind it."""
        node = self.serve()
        other, *those = [self.reached(node, i + 1, "one") for i in range(9)]
        directory = scratch + "/turns"
        self.traces(directory, 2)
        for rank in range(2):
            os.truncate("%s/rank-%06d.ti" % (directory, rank), (1, 60)[rank] << 20)
        about = dict(directory=directory, run_id=self.run_id)
        node.send({"do": "send", "id": 700, "ranks": [[1, 1]], **about})
        for one in those:
            one.send({"do": "send", "id": 700, "ranks": [[1, 1]], **about})
            for _ in range(40 + one.stream):  # the last turn is the relay's or the node's
                node.read(1)
                time.sleep(0.05)  # slower than they are
            time.sleep(0.5)
            node.send({"do": "unreach", "id": 701, "stream": one.stream})
            before = written(other)
            other.send({"do": "send", "id": one.stream, "ranks": [[0, 0]], **about})
            wait_for(lambda n=before: written(other) > n + (256 << 10))  # while nobody reads
            time.sleep(0.5)
            other.wait(lambda f, n=one.stream: f[0] == MESSAGE and f[2]["is"] == "send" and f[2]["id"] == n)
            node.frames = [f for f in node.frames if f[0] == MESSAGE]
        node.wait(lambda f: f[0] == MESSAGE and f[2]["is"] == "send")
        self.assertEqual(node.end(), 0)

    def test_failures_are_told_with_cause_and_hint(self):
        node = self.serve()
        for host, end, says in [("unknown", "HOST_KEY_UNKNOWN", "known_hosts"),
                                ("wrong", "HOST_KEY_CHANGED", "known_hosts"),
                                ("nokey", "NO_AUTH", "ermission denied"),
                                ("noname", "NO_NAME", "resolve"),
                                ("closed", "REFUSED", "refused")]:
            told = Far(node, 7, host).ended()
            self.assertEqual(told["end"], end, told)
            self.assertIn(host, told["error"], told)
            self.assertIn(says, told["error"], told)
            self.assertTrue(told["hint"], told)
        self.assertEqual(node.end(), 0)

    def test_host_keys_of_the_asker_count(self):
        node = self.serve()
        far = self.reached(node, 7, "unknown", known=["# ours", "unknown " + key("host")])
        keys = [name for folder in os.listdir(scratch) if folder.startswith("tiara-")
                for name in os.listdir("%s/%s" % (scratch, folder)) if name.startswith("k")]
        self.assertEqual(keys, [], "files of keys are left")
        far.relay.ask("unreach", stream=7)
        far.ended()
        told = Far(node, 7, "unknown", known=["unknown " + key("other")]).ended()
        self.assertEqual(told["end"], "HOST_KEY_CHANGED", told)
        self.assertIn("ti-gather", told["hint"], told)
        self.assertEqual(node.end(), 0)

    def test_missing_tiara_is_told(self):
        node = self.serve()
        told = Far(node, 7, "one", tiara="/nowhere").ended()
        self.assertEqual(told["end"], "EXITED", told)
        self.assertIn("/nowhere", told["error"], told)
        # No node is left to wait for: the relay sleeps.
        wait_for(lambda: all(state(node) == "S" for _ in range(20)))
        self.assertEqual(node.end(), 0)

    def test_noise_without_end_is_given_up(self):
        node = self.serve()
        for name, where, says in [("loud", "", "other output"), ("shrill", ">&2", "standard error")]:
            os.mkdir("%s/%s" % (scratch, name))
            write(name + "/ti-node", "#!/bin/sh\nexec yes %s\n" % where, 0o700)
            told = Far(node, 7, "one", tiara="%s/%s" % (scratch, name)).ended()
            self.assertEqual(told["end"], "NO_COMMAND", told)
            self.assertIn(says, told["error"], told)
            self.assertTrue(told["hint"], told)
        self.assertEqual(node.end(), 0)

    def test_nodes_that_do_not_answer_time_out(self):
        node = self.serve()
        told = Far(node, 7, "silent", answer_s=1).ended()
        self.assertEqual(told["end"], "TIMED_OUT", told)
        self.assertIn("no answer in 1 s", told["error"], told)
        os.mkdir(scratch + "/hangs")
        write("hangs/ti-node", "#!/bin/sh\nexec sleep 9999\n", 0o700)
        told = Far(node, 7, "one", tiara=scratch + "/hangs", answer_s=60).ended()
        self.assertEqual(told["end"], "TIMED_OUT", told)
        self.assertIn("did not start within 60 s", told["error"], told)
        self.assertEqual(node.end(), 0)

    def test_silent_nodes_keep_no_other_waiting(self):
        node = self.serve()
        asked = [Far(node, i + 1, "silent", connect_s=600, answer_s=600) for i in range(10)]
        self.reached(node, 100, "one")
        for far in asked:
            self.assertIs(node.ask("unreach", stream=far.stream)["found"], True)
            self.assertEqual(far.ended()["end"], "CLOSED")
        self.assertEqual(node.end(), 0)

    def test_many_that_take_nothing_cost_little_memory(self):
        """As many as may be reached ask for Tiara, and do not read it."""
        os.mkdir(scratch + "/mute")
        write("mute/ssh", MUTE_SSH % (shutil.which("ssh"), scratch), 0o700)
        node = self.serve(PATH="%s/mute:%s" % (scratch, os.environ["PATH"]))
        for stream in range(1, 251):
            node.ask("reach", stream=stream, host="n%d.invalid" % stream, tiara=None, connect_s=500,
                     answer_s=500, silence_s=500)
        children = "/proc/%d/task/%d/children" % (node.hello["pid"], node.hello["pid"])

        def asleep():
            with open(children) as f:
                found = f.read().split()
            names = []
            for pid in found:
                try:
                    with open("/proc/%s/comm" % pid) as f:
                        names.append(f.read().strip())
                except (FileNotFoundError, ProcessLookupError):
                    pass
            return names.count("sleep") == 250
        wait_for(asleep)
        time.sleep(1)
        if "-" not in os.path.basename(BUILD):
            self.assertLess(memory_kib(node), 48 * 1024, "%d KiB" % memory_kib(node))
        self.assertEqual(node.end(), 0)

    def test_changed_files_are_not_passed_on(self):
        """A relay passes on what it was sent, and nothing else under that name."""
        cache = home + "/.cache/tiara"
        node = self.serve()
        self.reached(node, 1, "one")
        self.assertEqual(node.end(), 0)
        folder = os.path.join(cache, [name for name in os.listdir(cache) if name[0] != "."][0])
        shutil.rmtree(home + "2/.cache/tiara", ignore_errors=True)
        with open(folder + "/libminitrace.so", "ab") as f:
            f.write(b"x")
        node = self.serve(folder + "/ti-node")
        told = Far(node, 1, "two").ended()
        self.assertEqual(told["end"], "LOCAL", told)
        self.assertIn("others than they were", told["error"], told)
        self.assertIn(folder, told["error"], told)
        self.assertTrue(told["hint"], told)
        wait_for(lambda: not [name for name in os.listdir(home + "2/.cache/tiara") if name[0] != "."])
        os.truncate(folder + "/libminitrace.so", os.path.getsize(folder + "/libminitrace.so") - 1)
        far = self.reached(node, 2, "two")
        self.assertIs(far.hello["shipped"], True, far.hello)
        self.assertIn(os.path.basename(folder), far.hello["folder"], far.hello)
        self.assertEqual(node.end(), 0)


if __name__ == "__main__":
    unittest.main()
