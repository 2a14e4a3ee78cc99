"""ti-node as a relay.  Run by node-relay.sh."""
import getpass
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(__file__))
from free_port import free_port
from node_driver import (DATA, HELLO, INPUT, MESSAGE, OUTPUT, Far, Node, crc32c, frame, wait_for)

BUILD = os.path.abspath(os.environ.get("TI_BUILD", "build"))
TI_NODE = os.path.join(BUILD, "ti-node")
MKTRACE = os.path.join(BUILD, "tests/mktrace")
RUN_ID = os.urandom(16).hex()  # whoever ends a run ends all processes that carry it
scratch = tempfile.mkdtemp(prefix="ti-relay-")
home = scratch + "/home"
silent = socket.create_server(("127.0.0.1", 0), backlog=64)  # nobody accepts


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
    wait_for(lambda: os.path.exists(log) and "listening" in read(name + ".log"),
             "sshd does not start")
    return daemon


def start_sshds():
    """All the nodes; their names differ in what is known of their keys."""
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
    return [start_sshd("first", home, port, path), start_sshd("second", home + "2", second, path)], path


def serve(**more):
    node = Node([TI_NODE, "serve"],
                env={**os.environ, "PATH": PATH, "TMPDIR": scratch, "HOME": home}, **more)
    node.start()
    return node


def reached(relay, stream, host, **more):
    far = Far(relay, stream, host, **more)
    far.start()
    return far


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


def state(node):
    with open("/proc/%d/stat" % node.hello["pid"]) as f:
        return f.read().split()[2]


# --- tests -----------------------------------------------------------------

def test_two_levels():
    """Nobody has Tiara there: it is sent, by a node that was sent it itself."""
    node = serve()
    one = reached(node, 1, "one")
    assert one.hello["shipped"] is True and home in one.hello["folder"], one.hello
    two = reached(one, 9, "two")
    assert two.hello["shipped"] is True and home + "2" in two.hello["folder"], two.hello
    three = reached(two, 4000000000, "three", tiara=BUILD)
    assert three.hello["folder"] == BUILD and three.hello["shipped"] is False, three.hello
    directory = scratch + "/traces"
    os.mkdir(directory)
    subprocess.run([MKTRACE, "--np", "3", "--run-id", RUN_ID, directory], check=True)
    assert three.ask("list", directory=directory, run_id=RUN_ID)["traces"] == 3
    assert three.ask("send", ranks=[[0, 2]], directory=directory, run_id=RUN_ID)["sent"] == 3
    for rank in range(3):
        with open("%s/rank-%06d.ti" % (directory, rank), "rb") as f:
            assert three.output(rank, DATA) == f.read()
    # one that ends takes those behind it along, and nobody else
    assert two.ask("unreach", stream=4000000000)["found"] is True
    assert three.ended()["end"] == "CLOSED"
    os.kill(two.hello["pid"], signal.SIGKILL)
    told = two.ended()
    assert told["end"] == "EXITED" and "killed by signal 9" in told["error"], told
    assert one.ask("beat", every_ms=0)["is"] == "beat"
    # the number is free again
    two = reached(one, 9, "two")
    assert node.end() == 0
    wait_for(lambda: not of_sshd(), "something is left: %r" % of_sshd())


def test_bad_requests():
    node = serve()
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
        assert answer["is"] == "error" and says in answer["error"], answer
    assert node.ask("unreach", stream=1)["found"] is False
    assert node.ask("unreach", stream=0)["is"] == "error"
    assert not of_sshd() or all(pid == node.hello["pid"] or pid == node.process.pid
                                for pid in of_sshd()), "something was started"
    assert node.end() == 0


def test_floods_and_frozen():
    """One that floods, one that is slow to be read, one that is frozen; the others go on."""
    node = serve()
    far = [reached(node, i + 1, ("one", "two")[i % 2], silence_s=3) for i in range(4)]
    directory = scratch + "/large"
    os.mkdir(directory)
    subprocess.run([MKTRACE, "--np", "4", "--run-id", RUN_ID, directory], check=True)
    for rank in range(4):
        os.truncate("%s/rank-%06d.ti" % (directory, rank), 40 << 20)
    about = dict(directory=directory, run_id=RUN_ID)
    base = memory_kib(node)
    for i, one in enumerate(far):
        one.send({"do": "send", "id": 700, "ranks": [[i, i]], **about})
    node.send({"do": "send", "id": 700, "ranks": [[0, 0]], **about})
    time.sleep(1)  # nobody reads
    assert memory_kib(node) - base < 8 << 10, (base, memory_kib(node))
    for i in range(160):  # everybody gets somewhere; what waited already does not count
        time.sleep(0.02)  # slower than they are
        node.read(1)
        if i == 40:
            node.frames.clear()
    shares = {i: sum(len(f[2]) for f in node.frames if f[0] == OUTPUT and f[1] == i) for i in range(1, 5)}
    shares[0] = sum(len(f[2]) for f in node.frames if f[0] == DATA)
    assert min(shares.values()) > max(shares.values()) / 4, shares
    node.frames = [f for f in node.frames if f[0] == MESSAGE]
    # its session's sshd is frozen: ssh notices
    with open("/proc/%d/status" % far[1].hello["pid"]) as f:
        parent = int([line for line in f if line.startswith("PPid")][0].split()[1])
    with open("/proc/%d/status" % parent) as f:
        session = int([line for line in f if line.startswith("PPid")][0].split()[1])
    with open("/proc/%d/cmdline" % session) as f:
        assert "sshd" in f.read()
    os.kill(session, signal.SIGSTOP)
    until = time.monotonic() + 40
    told = None
    while not told and time.monotonic() < until:
        node.read(1)
        told = [f[2] for f in node.frames if f[0] == MESSAGE and f[2]["is"] == "ended"]
        node.frames = [f for f in node.frames if f[0] == MESSAGE]
    os.kill(session, signal.SIGKILL)
    assert told and told[0]["stream"] == 2 and told[0]["end"] == "LOST", told
    # frozen itself, it does not take what it is sent
    os.kill(far[2].hello["pid"], signal.SIGSTOP)
    until = time.monotonic() + 40
    told = None
    while not told and time.monotonic() < until:
        node.write(frame(INPUT, 3, b" " * 100000))
        node.read(0.01)
        told = [f[2] for f in node.frames if f[0] == MESSAGE and f[2]["is"] == "ended"
                and f[2]["stream"] == 3]
        node.frames = [f for f in node.frames if f[0] == MESSAGE]
    assert told and "does not take" in told[0]["error"], told
    os.kill(far[2].hello["pid"], signal.SIGKILL)
    assert node.ask("beat", every_ms=0)["is"] == "beat"
    assert memory_kib(node) - base < 16 << 10, (base, memory_kib(node))
    node.process.stdin.close()
    node.process.wait(20)
    wait_for(lambda: not of_sshd(), "something is left: %r" % of_sshd())


def test_keys_and_other_failures():
    node = serve()
    for host, end, says in [("unknown", "HOST_KEY_UNKNOWN", "known_hosts"),
                            ("wrong", "HOST_KEY_CHANGED", "known_hosts"),
                            ("nokey", "NO_AUTH", "ermission denied"),
                            ("noname", "NO_NAME", "resolve"),
                            ("closed", "REFUSED", "refused")]:
        told = Far(node, 7, host).ended()
        assert told["end"] == end and host in told["error"] and says in told["error"], told
        assert told["hint"], told
    # told by who asks
    far = reached(node, 7, "unknown", known=["# ours", "unknown " + key("host")])
    assert not [f for f in os.listdir(scratch) if f.startswith("tiara-")
                and [g for g in os.listdir(scratch + "/" + f) if g.startswith("k")]]
    far.relay.ask("unreach", stream=7)
    far.ended()
    told = Far(node, 7, "unknown", known=["unknown " + key("other")]).ended()
    assert told["end"] == "HOST_KEY_CHANGED" and "ti-gather" in told["hint"], told
    told = Far(node, 7, "one", tiara="/nowhere").ended()
    assert told["end"] == "EXITED" and "/nowhere" in told["error"], told
    # nobody is left to wait for: it sleeps
    wait_for(lambda: all(state(node) == "S" for _ in range(20)), "it does not come to rest")
    # noise without end before its HELLO
    for name, where, says in [("loud", "", "other output"), ("shrill", ">&2", "standard error")]:
        os.mkdir("%s/%s" % (scratch, name))
        write(name + "/ti-node", "#!/bin/sh\nexec yes %s\n" % where, 0o700)
        told = Far(node, 7, "one", tiara="%s/%s" % (scratch, name)).ended()
        assert told["end"] == "NO_COMMAND" and says in told["error"] and told["hint"], told
    assert node.end() == 0


def test_who_does_not_answer():
    node = serve()
    told = Far(node, 7, "silent", answer_s=1).ended()
    assert told["end"] == "TIMED_OUT" and "no answer in 1 s" in told["error"], told
    os.mkdir(scratch + "/hangs")
    write("hangs/ti-node", "#!/bin/sh\nexec sleep 60\n", 0o700)
    told = Far(node, 7, "one", tiara=scratch + "/hangs", answer_s=6).ended()
    assert told["end"] == "TIMED_OUT" and "did not start within 6 s" in told["error"], told
    # who says nothing keeps nobody else waiting, however many they are
    asked = [Far(node, i + 1, "silent", connect_s=600, answer_s=600) for i in range(10)]
    reached(node, 100, "one")
    for far in asked:
        assert node.ask("unreach", stream=far.stream)["found"] is True
        assert far.ended()["end"] == "CLOSED"
    assert node.end() == 0


def test_many_that_take_nothing():
    """All that may be reached ask for Tiara, and do not take it: little waits for each."""
    os.mkdir(scratch + "/mute")
    write("mute/ssh", r"""#!/bin/bash
case " $* " in *' -G '*) exec %s -F %s/config "$@" ;; esac
while [ $# -gt 1 ]; do [ "$1" != -E ] || log=$2; shift; done
hash=${1#*h=}
printf 'debug1: %%s\r\n' 'Remote protocol version 2.0' 'Authentication succeeded (publickey).' >"$log"
printf 'debug2: exec request accepted on channel 0\r\n' >"$log"
echo "TIARA-SEND ${hash%%%% *} 1"
exec sleep 600
""" % (shutil.which("ssh"), scratch), 0o700)
    node = Node([TI_NODE, "serve"], env={**os.environ, "PATH": scratch + "/mute:" + os.environ["PATH"],
                                         "TMPDIR": scratch, "HOME": home})
    node.start()
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
            except FileNotFoundError:
                pass
        return names.count("sleep") == 250
    wait_for(asleep, "not all were started")
    time.sleep(1)
    if "-" not in os.path.basename(BUILD):
        assert memory_kib(node) < 48 * 1024, "%d KiB" % memory_kib(node)
    assert node.end() == 0


def test_files_that_were_changed():
    """A relay passes on what it was sent, and nothing else under that name."""
    cache = home + "/.cache/tiara"
    node = serve()
    reached(node, 1, "one")
    assert node.end() == 0
    folder = os.path.join(cache, [name for name in os.listdir(cache) if name[0] != "."][0])
    shutil.rmtree(home + "2/.cache/tiara", ignore_errors=True)
    with open(folder + "/libminitrace.so", "ab") as f:
        f.write(b"x")
    node = Node([folder + "/ti-node", "serve"],
                env={**os.environ, "PATH": PATH, "TMPDIR": scratch, "HOME": home})
    node.start()
    told = Far(node, 1, "two").ended()
    assert told["end"] == "LOCAL" and "others than they were" in told["error"], told
    assert folder in told["error"] and told["hint"], told
    wait_for(lambda: not [name for name in os.listdir(home + "2/.cache/tiara") if name[0] != "."],
             "they were installed nevertheless")
    os.truncate(folder + "/libminitrace.so", os.path.getsize(folder + "/libminitrace.so") - 1)
    far = reached(node, 2, "two")
    assert far.hello["shipped"] is True and os.path.basename(folder) in far.hello["folder"], far.hello
    assert node.end() == 0


def main():
    global PATH
    failed = 0
    chosen = sys.argv[1:]
    tests = [(name, test) for name, test in globals().items()
             if name.startswith("test_") and (not chosen or name in chosen)]
    sshds, PATH = start_sshds()
    try:
        for name, test in tests:
            start = time.monotonic()
            try:
                test()
                print("ok %s %.1f s" % (name, time.monotonic() - start))
            except Exception as error:  # pylint: disable=broad-except
                import traceback
                traceback.print_exc()
                print("FAILED: %s: %s" % (name, error))
                failed = 1
            for pid in of_sshd():
                os.kill(pid, signal.SIGKILL)
    finally:
        for sshd in sshds:
            sshd.kill()
            sshd.wait()
        shutil.rmtree(scratch, ignore_errors=True)
    sys.exit(failed)


main()
