"""What tests of ti-node have in common: frames that are made by hand, as session/frame.h and
session/messages.h describe them; nodes that are spoken to so; the base of the test cases.

What has to come is waited for without a limit: how long it takes is the machine's affair, and
tests/run ends a test that hangs."""
import faulthandler
import json
import os
import select
import shutil
import signal
import struct
import subprocess
import tempfile
import time
import unittest

BUILD = os.path.abspath(os.environ.get("TI_BUILD", "build"))
TI_NODE = os.path.join(BUILD, "ti-node")

HELLO, MESSAGE, INPUT, OUTPUT, STDERR, DATA = range(1, 7)

TABLE = []
for value in range(256):
    for _ in range(8):
        value = value >> 1 ^ (0x82F63B78 if value & 1 else 0)
    TABLE.append(value)


def crc32c(data, crc=0):
    crc ^= 0xFFFFFFFF
    for byte in data:
        crc = TABLE[(crc ^ byte) & 255] ^ crc >> 8
    return crc ^ 0xFFFFFFFF


def frame(kind, stream, payload):
    head = b"TiF1" + bytes([kind, 0, 0, 0]) + struct.pack("<II", stream, len(payload))
    return head + struct.pack("<I", crc32c(head + payload)) + payload


class Node:
    """A ti-node, or what becomes one; its frames, in order, as they are asked for."""

    def __init__(self, command, **more):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        **more)
        self.buffer = b""
        self.frames = []
        self.next_id = 1

    def start(self):
        self.hello = self.wait(lambda f: f[0] == HELLO)[2]
        return self.hello

    def write(self, data):
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def send(self, request):
        self.write(frame(MESSAGE, 0, json.dumps(request).encode()))

    def ask(self, name, **fields):
        """The answer to a request; what else came stays in self.frames."""
        number = self.next_id
        self.next_id += 1
        self.send({"do": name, "id": number, **fields})
        return self.wait(lambda f: f[0] == MESSAGE and f[2].get("id") == number
                         and f[2]["is"] != "listed")[2]

    def told(self, word, **fields):
        """What comes unasked: {"is": word}."""
        return self.wait(lambda f: f[0] == MESSAGE and f[2].get("is") == word
                         and all(f[2].get(k) == v for k, v in fields.items()))[2]

    def output(self, stream, kind=OUTPUT):
        return b"".join(f[2] for f in self.frames if f[0] == kind and f[1] == stream)

    def wait(self, wanted):
        looked = 0
        while True:
            for i in range(looked, len(self.frames)):
                if wanted(self.frames[i]):
                    return self.frames.pop(i)
            looked = len(self.frames)
            if not self.read():
                raise AssertionError("it has ended; came: %.2000r" % (self.frames[-5:],))

    def read(self, seconds=None):
        """Take what is there; False at the end, or when nothing comes for so long."""
        fd = self.process.stdout.fileno()
        if not select.select([fd], [], [], seconds)[0]:
            return False
        data = os.read(fd, 1 << 20)
        self.take(data)
        return bool(data)

    def take(self, data):
        self.buffer += data
        while True:
            if not self.frames and not hasattr(self, "hello"):
                at = self.buffer.find(b"TiF1")
                if at > 0:
                    self.buffer = self.buffer[at:]
            if len(self.buffer) < 20 or self.buffer[:4] != b"TiF1":
                break
            stream, size, crc = struct.unpack("<III", self.buffer[8:20])
            if len(self.buffer) < 20 + size:
                break
            payload = self.buffer[20:20 + size]
            # in Python that is slow: large ones are not looked at
            assert size > 4096 or crc32c(self.buffer[:16] + payload) == crc, "a wrong checksum"
            kind = self.buffer[4]
            self.buffer = self.buffer[20 + size:]
            self.frames.append((kind, stream,
                                json.loads(payload) if kind in (HELLO, MESSAGE) else payload))

    def discard(self):
        """Ends what a test may have left."""
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        for pipe in self.process.stdin, self.process.stdout, self.process.stderr:
            if pipe:
                try:
                    pipe.close()
                except BrokenPipeError:
                    pass

    def end(self):
        """Close the channel; its status."""
        self.process.stdin.close()
        while self.read():
            pass
        return self.process.wait()


class Far(Node):
    """A ti-node that another one, `relay`, reached: the same, in its stream."""

    def __init__(self, relay, stream, host, **more):  # pylint: disable=super-init-not-called
        self.relay = relay
        self.stream = stream
        self.buffer = b""
        self.frames = []
        self.next_id = 1
        answer = relay.ask("reach", stream=stream, host=host,
                           **{**dict(connect_s=600, answer_s=600, silence_s=600), **more})
        assert answer["is"] == "reach", answer

    def write(self, data):
        for at in range(0, len(data), 100000):
            self.relay.write(frame(INPUT, self.stream, data[at:at + 100000]))

    def read(self, seconds=None):
        came = self.relay.read(seconds)
        mine = [f for f in self.relay.frames if f[:2] == (OUTPUT, self.stream)]
        if mine:
            self.relay.frames = [f for f in self.relay.frames if f[:2] != (OUTPUT, self.stream)]
            self.take(b"".join(f[2] for f in mine))
        return came or bool(mine)

    def ended(self):
        """What the relay says of its end."""
        return self.relay.told("ended", stream=self.stream)


def environment_of(pid):
    """Of a process that lives, also of one that replaces its program: it has none for a moment."""
    while True:
        with open("/proc/%s/environ" % pid, "rb") as f:
            environ = f.read()
        with open("/proc/%s/stat" % pid) as f:
            state, *fields = f.read().rsplit(")", 1)[1].split()
        # flags: a kernel thread, or about to end; the last one is the end of its environment
        if state in "ZX" or environ or int(fields[5]) & 0x200004 or int(fields[47]) != 0:
            return b"" if state in "ZX" else environ
        time.sleep(0.001)


def processes_of(run_id):
    """Living processes that carry the run id."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            environ = environment_of(pid)
        except OSError:
            continue
        if b"TIARA_RUN_ID=" + run_id.encode() in environ.split(b"\0"):
            found.append(int(pid))
    return found


def wait_for(condition):
    while not condition():
        time.sleep(0.05)


class NodeTest(unittest.TestCase):
    """A test with ti-nodes: none of its processes outlives it.  self.scratch is a folder of its own."""

    def setUp(self):
        faulthandler.register(signal.SIGTERM, chain=True)  # of tests/run's limit: tells where it hangs
        # all processes of a run carry its id; a node of another test may still end its own
        self.run_id = os.urandom(16).hex()
        self.scratch = tempfile.mkdtemp(prefix="ti-node-")
        self.addCleanup(shutil.rmtree, self.scratch, ignore_errors=True)
        self.runs = 0

    def tearDown(self):
        for pid in processes_of(self.run_id):
            os.kill(pid, signal.SIGKILL)

    def traces(self, directory, np):
        """Traces of this run as the library writes them."""
        os.makedirs(directory, exist_ok=True)
        subprocess.run([os.path.join(BUILD, "tests/mktrace"), "--np", str(np), "--run-id", self.run_id,
                        directory], check=True)

    def serve(self, command=TI_NODE, **more):
        """A ti-node that has said its HELLO; MORE is for Popen."""
        node = Node([command, "serve"], **more)
        self.addCleanup(node.discard)
        node.start()
        return node

    def opened(self, node, **more):
        """Opens a run of eight ranks on the node, four of them here; its directory."""
        self.runs += 1
        request = dict(run_id=self.run_id, trace_dir="%s/run-%d" % (self.scratch, self.runs), np=8,
                       ranks=[[0, 1], [6, 7]], force=False, env=[], node="n1")
        request.update(more)
        answer = node.ask("open", **request)
        self.assertEqual(answer["is"], "open", answer)
        return answer["directory"]

    def assert_error(self, answer, text):
        """The answer is an error whose sentence has the text."""
        self.assertEqual(answer["is"], "error", answer)
        self.assertIn(text, answer["error"])
