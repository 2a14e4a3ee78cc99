"""ti-node as ti-acquire and ti-gather speak to it.  Run by node-serve.sh."""
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
from node_driver import (DATA, ERRPUT, HELLO, INPUT, MESSAGE, OUTPUT, Node, crc32c, frame,
                         processes_of, wait_for)

BUILD = os.path.abspath(os.environ.get("TI_BUILD", "build"))
TI_NODE = os.path.join(BUILD, "ti-node")
MKTRACE = os.path.join(BUILD, "tests/mktrace")
RUN_ID = os.urandom(16).hex()  # whoever ends a run ends all processes that carry it
scratch = tempfile.mkdtemp(prefix="ti-node-")
number = 0


def serve(**more):
    node = Node([TI_NODE, "serve"], **more)
    node.start()
    return node


def opened(node, run_id=RUN_ID, **more):
    """A run on it; its directory."""
    global number
    number += 1
    request = dict(run_id=run_id, trace_dir="%s/run-%d" % (scratch, number), np=8,
                   ranks=[[0, 1], [6, 7]], force=False, env=[], node="n1")
    request.update(more)
    answer = node.ask("open", **request)
    assert answer["is"] == "open", answer
    return answer["directory"]


def is_error(answer, text):
    assert answer["is"] == "error" and text in answer["error"], answer


def traces(directory, np):
    """Traces as the library writes them."""
    os.makedirs(directory, exist_ok=True)
    subprocess.run([MKTRACE, "--np", str(np), "--run-id", RUN_ID, directory], check=True)


# --- tests -----------------------------------------------------------------

def test_hello():
    node = serve()
    assert node.hello["protocol"] == 3 and node.hello["folder"] == BUILD, node.hello
    assert node.hello["host"] == os.uname().nodename and node.hello["shipped"] is False
    assert node.end() == 0


def test_facts():
    node = serve()
    program = os.path.join(BUILD, "ti-info")
    facts = node.ask("facts", program=program, trace_dir=scratch + "/not/yet", counter="cputime",
                     sum=False, mpirun=True)
    with open("/proc/meminfo") as f:
        total = int(f.readline().split()[1]) * 1024
    assert facts["total_bytes"] == total and 0 < facts["memory_bytes"] <= total, facts
    assert facts["cores"] == len(os.sched_getaffinity(0)), facts
    assert facts["family"] == os.uname().machine
    expected = subprocess.run(["sha256sum", program], capture_output=True, check=True).stdout
    assert facts["program"]["sha256"] == expected.decode().split()[0], facts
    assert facts["program"]["bytes"] == os.path.getsize(program)
    assert facts["program"]["mpi"] == "none", facts
    assert facts["trace_dir"]["free_bytes"] > 0 and facts["trace_dir"]["remote"] is False, facts
    assert facts["counter"]["backend"] == "cputime" and facts["counter"]["estimate"], facts
    assert facts["mpi"]["version"].count(".") == 2, facts
    # relative to a directory, and what is not there
    facts = node.ask("facts", program="./ti-info", cwd=BUILD)
    assert facts["cwd"] is True and facts["program"]["path"] == program, facts
    facts = node.ask("facts", program="/no/such", trace_dir=program + "/x", counter="papi:NO_SUCH")
    assert "/no/such" in facts["program"]["error"], facts
    assert program in facts["trace_dir"]["error"], facts
    assert "NO_SUCH" in facts["counter"]["error"], facts
    assert node.end() == 0
    # PATH as a command gets it is named
    node = Node([TI_NODE, "serve"], env={"PATH": "/nowhere"})
    node.start()
    assert "'/nowhere'" in node.ask("facts", mpirun=True)["mpi"]["error"]
    assert node.end() == 0


def test_bad_requests():
    node = serve()
    is_error(node.ask("dance"), "dance")
    node.write(frame(MESSAGE, 0, b"{ no JSON"))
    is_error(node.told("error"), "no request")
    for request in ("spawn", "watch", "end", "ranks"):
        is_error(node.ask(request, stream=1, command="true", every_ms=1), "no run was opened")
    good = dict(run_id=RUN_ID, trace_dir=scratch + "/bad", np=2, ranks=[[0, 1]], node="n")
    for key, value, says in [("run_id", "xyz", "run_id"), ("trace_dir", "relative", "absolute"),
                             ("np", 0, "np"), ("np", 1 << 40, "np"), ("ranks", [[1, 0]], "ranks"),
                             ("ranks", [0, 1], "ranks"), ("ranks", None, "ranks"),
                             ("env", ["A=B", 1], "strings"), ("wrapper", "x", "strings")]:
        is_error(node.ask("open", **{**good, key: value}), says)
    assert not os.path.exists(scratch + "/bad")
    is_error(node.ask("send", ranks=[[0, 1]]), "of which run")
    is_error(node.ask("remove", ranks=[[0, 1]], directory=scratch, run_id="../"), "of which run")
    opened(node)
    is_error(node.ask("open", **good), "open already")
    is_error(node.ask("spawn", stream=0, command="true"), "sense")
    is_error(node.ask("spawn", stream=1), "sense")
    node.ask("spawn", stream=1, command="sleep 9")
    is_error(node.ask("spawn", stream=1, command="true"), "already")
    assert node.end() == 0


def test_failed_open():
    """It takes back what it made, and no more: another one is answered."""
    node = serve()
    bad = dict(run_id=RUN_ID, trace_dir=scratch + "/failed", np=2, ranks=[[0, 1]], node="n",
               scratch=[scratch + "/made", scratch + "/not/there"])
    is_error(node.ask("open", **bad), "cannot create '%s/not/there'" % scratch)
    assert not os.path.exists(scratch + "/made") and not os.path.exists(scratch + "/failed")
    directory = opened(node, scratch=[scratch + "/made"])
    assert node.ask("ranks", 10)["is"] == "ranks"
    assert node.end() == 0
    shutil.rmtree(directory, ignore_errors=True)


def test_bad_frames():
    for bad in (b"SSH-2.0-x no frames at all", frame(MESSAGE, 0, b"{}")[:-1] + b"!",
                frame(9, 0, b""), b"TiF1\2\0\0\0\0\0\0\0\xff\xff\xff\xff\0\0\0\0"):
        node = serve(stderr=subprocess.PIPE)
        opened(node)
        node.ask("spawn", stream=1, command="sleep 100")
        node.write(bad)
        node.wait_ended = node.process.wait(20)
        assert node.wait_ended == 5, node.wait_ended
        assert b"is no frame" in node.process.stderr.read()
        assert processes_of(RUN_ID) == []


def test_spawn():
    node = serve()
    directory = opened(node)
    node.ask("spawn", stream=5, command='echo "$TIARA_NODE_NAME $TIARA_RUN_FILE $TIARA_NODE"; cat; '
                                        'echo oops >&2; exit 3')
    node.write(frame(INPUT, 5, b"one\n") + frame(INPUT, 5, b"two\n") + frame(INPUT, 5, b""))
    node.write(frame(INPUT, 99, b"to nobody"))
    assert os.waitstatus_to_exitcode(node.told("ended", stream=5)["status"]) == 3
    assert node.output(5) == ("n1 %s/RUN.json %s\none\ntwo\n" % (directory, TI_NODE)).encode()
    assert node.output(5, ERRPUT) == b"oops\n"
    node.ask("spawn", stream=5, command="kill -9 $$")  # the number is free again
    assert node.told("ended", stream=5)["status"] == 9
    # who is left behind keeps the output open, the end is told nevertheless
    node.ask("spawn", stream=6, command="sleep 100 & exit 0")
    assert node.told("ended", stream=6, seconds=10)["status"] == 0
    assert node.end() == 0
    assert processes_of(RUN_ID) == []


def test_directory():
    node = serve()
    directory = opened(node, scratch=[scratch + "/tmp-of-run"])
    mode = os.stat(directory + "/RUN.json").st_mode & 0o777
    assert mode == 0o600, oct(mode)
    assert os.path.isdir(scratch + "/tmp-of-run")
    open(scratch + "/tmp-of-run/session", "w").close()
    other = serve()
    is_error(other.ask("open", run_id=RUN_ID, trace_dir=directory, np=1, ranks=[[0, 0]],
                       force=True), "another ti-acquire")
    assert node.end() == 0 and other.end() == 0
    # nothing was traced: nothing is left
    assert not os.path.exists(directory) and not os.path.exists(scratch + "/tmp-of-run")
    node = serve()
    os.mkdir(scratch + "/full")
    open(scratch + "/full/notes", "w").close()
    is_error(node.ask("open", run_id=RUN_ID, trace_dir=scratch + "/full", np=1, ranks=[[0, 0]]),
             "not empty")
    is_error(node.ask("open", run_id=RUN_ID, trace_dir="/proc/no/such", np=1, ranks=[[0, 0]]),
             "/proc/no/such")
    assert node.end() == 0
    assert os.path.exists(scratch + "/full/notes")


def test_run():
    """What mpirun starts in place of the ranks."""
    node = serve()
    directory = opened(node, env=["MINE=a b", "LD_PRELOAD=/lib/x.so"], cwd="/usr",
                       wrapper=["env", "WRAPPED=1"], idle=True, program="/bin/sh")
    show = ("-c", 'echo "$MINE|$LD_PRELOAD|$TIARA_TRACE_DIR|$TIARA_RUN_ID|$WRAPPED|$PWD"; '
                  "python3 -c 'import os; print(os.sched_getscheduler(0) == os.SCHED_IDLE)'")
    run = {**os.environ, "TIARA_RUN_FILE": directory + "/RUN.json"}
    for name, rank, status in [("OMPI_COMM_WORLD_RANK", "1", 0), ("PMIX_RANK", "6", 0),
                               ("OMPI_COMM_WORLD_RANK", "2", 113), ("PMIX_RANK", "8", 113),
                               ("PMIX_RANK", "x", 113), ("OTHER", "1", 113)]:
        done = subprocess.run([TI_NODE, "run", "given", *show], env={**run, name: rank},
                              capture_output=True, text=True)
        assert done.returncode == status, done
        assert status or done.stdout == ("a b|/lib/x.so:%s/libminitrace.so|%s|%s|1|/usr\nTrue\n"
                                         % (BUILD, directory, RUN_ID)), done
        assert not status or (done.stdout == "" and done.stderr.startswith("ti-node: ")), done
    done = subprocess.run([TI_NODE, "run", "--census"], env={**run, "PMIX_RANK": "3"},
                          capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "TIARA-CENSUS 3 n1\n"), done
    nameless = os.path.join(os.path.dirname(directory), "nameless.json")
    for name in [None, 7]:
        with open(directory + "/RUN.json") as was, open(nameless, "w") as file:
            json.dump({**json.load(was), "node": name}, file)
        os.chmod(nameless, 0o600)
        done = subprocess.run([TI_NODE, "run", "--census"], capture_output=True, text=True,
                              env={**run, "PMIX_RANK": "3", "TIARA_RUN_FILE": nameless})
        assert (done.returncode, done.stdout) == (113, "") and '("node")' in done.stderr, done
    os.unlink(nameless)
    done = subprocess.run([TI_NODE, "run", "x"], env={**os.environ, "PMIX_RANK": "1"},
                          capture_output=True, text=True)
    assert done.returncode == 113 and "TIARA_RUN_FILE" in done.stderr, done
    os.chmod(directory + "/RUN.json", 0o622)
    done = subprocess.run([TI_NODE, "run", "x"], env={**run, "PMIX_RANK": "1"},
                          capture_output=True, text=True)
    assert done.returncode == 113 and "by others" in done.stderr, done
    assert node.end() == 0


def test_watch():
    node = serve()
    directory = opened(node)
    node.ask("watch", every_ms=50)
    status = node.told("status")
    assert (status["started"], status["finished"], status["alive"]) == (0, 0, 0), status
    assert status["room_bytes"] > 0 and status["free_bytes"] > 0, status
    node.ask("spawn", stream=1, command="sleep 100 & sleep 100")
    wait_for(lambda: node.told("status")["alive"] == 3, "three processes are not seen")
    assert node.told("status")["rss_bytes"] > 0
    traces(directory, 8)
    wait_for(lambda: node.told("status")["finished"] == 8, "eight traces are not seen")
    status = node.told("status")
    assert status["started"] == 8 and status["bytes"] > 0 and status["last_start"] > 1e9, status
    node.ask("watch", every_ms=0)
    time.sleep(0.2)
    node.read(0.1)
    node.frames.clear()
    time.sleep(0.3)
    assert not node.read(0.2), "still watching"
    assert node.end() == 0


def test_waits():
    """Who listens and takes no one more does not answer."""
    node = serve()
    is_error(node.ask("waits"), "no run was opened")
    opened(node)
    for family, host, text in ((socket.AF_INET, "127.0.0.1", "127.0.0.1:%d"),
                               (socket.AF_INET6, "::1", "[::1]:%d")):
        full = socket.socket(family)
        try:
            full.bind((host, 0))
        except OSError:  # this machine has no IPv6
            continue
        full.listen(0)
        port = full.getsockname()[1]
        held = [socket.socket(family) for _ in range(3)]
        for s in held:
            s.setblocking(False)
            s.connect_ex((host, port))
        assert node.ask("waits")["waits"] == [], "these are not of the run"
        node.ask("spawn", stream=port, command="exec %s -c 'import socket; "
                 "socket.create_connection((\"%s\", %d))'" % (sys.executable, host, port))
        wait_for(lambda: node.ask("waits")["waits"] == [text % port], "it is not seen")
        assert node.ask("kill", stream=port)["is"] == "kill"
        assert node.told("ended")["status"] == signal.SIGKILL
        answer = node.ask("waits")
        assert (answer["waits"], answer["alive"]) == ([], 0), answer
        for s in held + [full]:
            s.close()
    assert node.end() == 0


def test_end():
    node = serve()
    opened(node)
    node.ask("spawn", stream=1, command="(trap '' TERM; while :; do sleep 1; done) & setsid sleep 100 & "
                                        "kill -STOP $$")
    wait_for(lambda: len(processes_of(RUN_ID)) >= 4, "they do not start")
    answer = node.ask("end", grace_s=0.5)
    assert answer["found"] >= 4 and answer["left"] == 0, answer
    assert processes_of(RUN_ID) == []
    assert node.told("ended", stream=1)
    assert node.ask("end", grace_s=0)["found"] == 0
    assert node.end() == 0


def test_kill():
    """One process, with what is in its group; others go on."""
    node = serve()
    is_error(node.ask("kill", stream=1), "no run")
    opened(node)
    node.ask("spawn", stream=1, command="sleep 100 & exec sleep 100")
    node.ask("spawn", stream=2, command="exec sleep 100")
    wait_for(lambda: len(processes_of(RUN_ID)) == 3, "they do not start")
    assert node.ask("kill", stream=1, signal=15)["found"] is True
    assert os.WTERMSIG(node.told("ended", stream=1)["status"]) == 15
    wait_for(lambda: len(processes_of(RUN_ID)) == 1, "what it started is left")
    assert node.ask("kill", stream=1)["found"] is False  # it has ended
    assert node.ask("kill", stream=3)["found"] is False
    is_error(node.ask("kill", stream=0), "sense")
    is_error(node.ask("kill", stream=2, signal=1000), "sense")
    assert node.ask("kill", stream=2)["found"] is True
    assert os.WTERMSIG(node.told("ended", stream=2)["status"]) == 9
    assert node.end() == 0


def test_what_ends_the_channel():
    """Nothing of the run outlives it, whatever ends it; other processes do."""
    bystander = subprocess.Popen(["sleep", "100"])
    for how in ("eof", "TERM", "HUP", "KILL", "reader"):
        node = serve(stderr=subprocess.DEVNULL)
        opened(node)
        node.ask("spawn", stream=1, command="setsid sleep 100 & (sleep 100 &) ; yes >&2")
        if how in ("eof", "KILL"):
            node.ask("spawn", stream=2, command="trap '' TERM; while :; do sleep 1; done")
        wait_for(lambda: len(processes_of(RUN_ID)) >= (5 if how in ("eof", "KILL") else 3),
                 "they do not start")
        if how == "eof":
            node.process.stdin.close()  # with its output not read
        elif how == "reader":
            node.process.stdout.close()
        else:  # the one that serves; its parent remains
            pid = node.hello["pid"] if how == "KILL" else node.process.pid
            os.kill(pid, getattr(signal, "SIG" + how))
        node.process.wait(30)
        assert processes_of(RUN_ID) == [], how
    assert bystander.poll() is None
    bystander.kill()
    bystander.wait()


def test_the_other_process_is_killed():
    node = serve()
    opened(node)
    node.ask("spawn", stream=1, command="setsid sleep 100")
    node.process.kill()
    wait_for(lambda: processes_of(RUN_ID) == [], "the run goes on")


def test_leave():
    node = serve()
    directory = opened(node)
    traces(directory, 2)
    node.ask("spawn", stream=1, command="exec sleep 100")
    node.ask("leave")
    assert node.end() == 0
    left = processes_of(RUN_ID)
    assert len(left) == 1 and os.path.exists(directory + "/RUN.json")
    os.kill(left[0], signal.SIGKILL)


def test_slow_channel():
    """Who does not read holds processes up, and costs no memory; an end is noticed."""
    node = serve()
    opened(node)
    node.ask("spawn", stream=1, command="yes tiara")
    node.ask("watch", every_ms=20)
    node.send({"do": "facts", "id": 77})
    time.sleep(2)
    with open("/proc/%d/status" % node.hello["pid"]) as f:
        kib = int([line for line in f if line.startswith("VmHWM")][0].split()[1])
    assert kib < 40 * 1024 or "sanitize" in BUILD or "build-" in BUILD, kib
    node.process.stdin.close()
    node.process.wait(30)
    assert processes_of(RUN_ID) == []
    # and of input that is not read
    node = serve()
    opened(node)
    node.ask("spawn", stream=1, command="sleep 3; wc -c")
    sent = 0
    os.set_blocking(node.process.stdin.fileno(), False)
    piece = frame(INPUT, 1, b"x" * 100000)
    until = time.monotonic() + 1
    pending = b""
    while time.monotonic() < until:
        try:
            pending = pending or piece
            n = os.write(node.process.stdin.fileno(), pending)
            pending = pending[n:]
            sent += 100000 if not pending else 0
        except BlockingIOError:
            time.sleep(0.05)
    assert sent < 8 << 20, sent
    os.set_blocking(node.process.stdin.fileno(), True)
    node.write(pending + frame(INPUT, 1, b""))
    node.told("ended")
    assert int(node.output(1)) == sent + (100000 if pending else 0)
    assert node.end() == 0


def test_many_processes():
    node = serve()
    opened(node)
    node.ask("spawn", stream=1, command="i=0; while [ $i -lt 200 ]; do sleep 100 & i=$((i+1)); done; wait",
             files=4096)
    node.ask("watch", every_ms=100)
    wait_for(lambda: node.told("status")["alive"] == 201, "201 are not seen", 30)
    answer = node.ask("end", grace_s=5)
    assert answer["found"] == 201 and answer["left"] == 0, answer
    assert node.end() == 0


def test_ranks_send_remove():
    node = serve()
    directory = scratch + "/gathered"
    traces(directory, 6)
    run_id, other_id = RUN_ID, "0bad" * 8
    os.unlink(directory + "/rank-000004.ti")
    with open(directory + "/rank-000005.ti", "wb") as f:
        f.write(b"not a trace")
    with open(directory + "/keep", "w") as f:
        f.write("mine")
    about = dict(directory=directory, run_id=run_id)
    answer = node.ask("send", ranks=[[0, 2], [4, 5]], **about)
    assert answer["sent"] == 3, answer
    for rank in range(3):
        with open("%s/rank-%06d.ti" % (directory, rank), "rb") as f:
            content = f.read()
        told = node.told("sent", rank=rank)
        assert node.output(rank, DATA) == content
        assert (told["bytes"], told["crc32c"]) == (len(content), crc32c(content)), told
    assert node.told("sent", rank=4)["error"] == "no trace"
    assert "no trace of this run" in node.told("sent", rank=5)["error"]
    answer = node.ask("send", ranks=[[0, 0]], directory=directory, run_id=other_id)
    assert answer["sent"] == 0 and "of this run" in node.told("sent", rank=0)["error"]
    is_error(node.ask("send", ranks=[[0, 0]], directory=directory + "/no", run_id=run_id), "/no")
    # a run that was opened: its ends
    run_dir = opened(node, run_id=run_id, ranks=[[0, 7]])
    traces(run_dir, 8)
    ranks = node.ask("ranks")
    assert ranks["with_trace"] == 8 and ranks["ends"]["complete"] == [[0, 7]], ranks
    assert ranks["events"] > 0 and ranks["bytes"] > 0, ranks
    # only what is of the run goes
    assert node.ask("remove", ranks=[[0, 5]], **about)["removed"] == 4
    assert sorted(os.listdir(directory)) == ["keep", "rank-000005.ti"]
    assert node.ask("remove", ranks=[[0, 7]])["removed"] == 8
    assert not os.path.exists(run_dir)
    assert node.end() == 0


def test_no_files():
    """What has the name of a trace may be anything: nothing is waited for, nor taken away."""
    node = serve()
    directory = opened(node, ranks=[[0, 7]])
    traces(directory, 2)
    os.mkfifo(directory + "/rank-000002.ti")
    os.symlink(directory + "/rank-000002.ti", directory + "/rank-000003.ti")
    os.mkdir(directory + "/rank-000004.ti")
    node.ask("watch", every_ms=20)
    for _ in range(3):
        status = node.told("status", 10)
        assert (status["started"], status["finished"]) == (2, 2), status
    node.ask("watch", every_ms=0)
    ranks = node.ask("ranks", 10)
    assert ranks["ends"] == {"complete": [[0, 1]], "unreadable": [[2, 4]]}, ranks
    assert node.ask("list", 10)["traces"] == 2
    assert [c[0] for c in node.ask("crc", 10, ranks=[[0, 7]])["crc"]] == [0, 1]
    assert node.ask("send", 10, ranks=[[0, 7]])["sent"] == 2
    assert node.ask("remove", 10, ranks=[[0, 7]])["removed"] == 2
    assert sorted(os.listdir(directory)) == ["RUN.json", "rank-000002.ti", "rank-000003.ti",
                                             "rank-000004.ti"], os.listdir(directory)
    assert node.end() == 0
    shutil.rmtree(directory)


def test_remove_claimed():
    """Of millions that are named, what is there; and others are answered meanwhile."""
    node = serve()
    directory = scratch + "/claimed"
    most = (1 << 24) - 1
    about = dict(directory=directory, run_id=RUN_ID)

    def run_json(ranks):
        traces(directory, 6)
        with open(directory + "/RUN.json", "w") as f:
            json.dump({"run_id": RUN_ID, **ranks}, f)

    run_json({"ranks": [[0, most]]})
    os.rename(directory + "/rank-000002.ti", directory + "/rank-2.ti")
    with open(directory + "/rank-000003.ti", "wb") as f:
        f.write(b"not a trace")
    # backwards, and again and again
    assert node.ask("remove", ranks=[[4, 10], [1, 4], [1, 1], [3, 4]], **about)["removed"] == 3
    left = ["RUN.json", "rank-000000.ti", "rank-000003.ti", "rank-2.ti"]
    assert sorted(os.listdir(directory)) == left
    assert node.ask("remove", ranks=[[1, most]], **about)["removed"] == 0
    assert sorted(os.listdir(directory)) == left
    # RUN.json stays as long as a file has the name of one of its traces
    assert node.ask("remove", ranks=[[0, most]], **about)["removed"] == 1
    assert sorted(os.listdir(directory)) == ["RUN.json"] + left[2:]
    os.unlink(directory + "/rank-000003.ti")
    assert node.ask("remove", ranks=[[0, most]], **about)["removed"] == 0
    assert os.listdir(directory) == ["rank-2.ti"]
    # ... of any, if it does not say which
    for ranks in ({}, {"ranks": [[0, 1 << 60]]}, {"ranks": "all"}):
        run_json(ranks)
        assert node.ask("remove", ranks=[[0, 4]], **about)["removed"] == 5
        assert sorted(os.listdir(directory)) == ["RUN.json", "rank-000005.ti", "rank-2.ti"]
        assert node.ask("remove", ranks=[[5, 5]], **about)["removed"] == 1
        assert os.listdir(directory) == ["rank-2.ti"]
    # ... and traces of others
    run_json({"ranks": [[0, 2]]})
    assert node.ask("remove", ranks=[[0, 2]], **about)["removed"] == 3
    assert "RUN.json" not in os.listdir(directory)
    # not so fast that nothing else could be answered
    for rank in range(6, 20000):
        os.link(directory + "/rank-000005.ti", "%s/rank-%06d.ti" % (directory, rank))
    node.write(b"".join(frame(MESSAGE, 0, json.dumps(r).encode()) for r in (
        {"do": "remove", "id": 500, "ranks": [[0, most]], **about},
        {"do": "beat", "id": 501, "every_ms": 0})))
    first = node.wait(lambda f: f[2].get("id") in (500, 501))[2]
    assert first["is"] == "beat", first
    assert node.told("remove", id=500)["removed"] == 20000 - 3
    assert os.listdir(directory) == ["rank-2.ti"]
    is_error(node.ask("remove", ranks=[[0, most], [0, 0]], **about), "ranks")
    is_error(node.ask("remove", ranks=[[0, 0]], directory=directory + "/no", run_id=RUN_ID), "/no")
    assert node.end() == 0


def large(directory, rank, size):
    """A trace of this run, as far as its header tells, and of any size."""
    os.makedirs(directory, exist_ok=True)
    traces(directory + "/few", rank + 1)
    path = "%s/rank-%06d.ti" % (directory, rank)
    shutil.copy("%s/few/rank-%06d.ti" % (directory, rank), path)
    shutil.rmtree(directory + "/few")
    with open(path, "ab") as f:
        f.write(os.urandom(1 << 16) * ((size >> 16) + 1))
        f.truncate(size)
    return path


def test_list_and_crc():
    node = serve()
    directory = scratch + "/listed"
    traces(directory, 1203)
    about = dict(directory=directory, run_id=RUN_ID)
    os.truncate(directory + "/rank-000007.ti", 100)
    with open(directory + "/rank-000009.ti", "wb") as f:
        f.write(b"not a trace")
    os.rename(directory + "/rank-000011.ti", directory + "/rank-11.ti")
    os.unlink(directory + "/rank-000012.ti")
    os.symlink("/etc/passwd", directory + "/rank-000012.ti")
    answer = node.ask("list", **about)
    assert answer["traces"] == 1200 and answer["exists"] is True, answer
    parts = [f[2] for f in node.frames if f[0] == MESSAGE and f[2]["is"] == "listed"]
    assert [len(p["traces"]) for p in parts] == [1000, 200] and parts[0]["id"] == answer["id"]
    found = {t[0]: t[1:] for p in parts for t in p["traces"]}
    assert list(found) == [r for r in range(1203) if r not in (9, 11, 12)]
    for rank in (0, 7, 1202):
        st = os.stat("%s/rank-%06d.ti" % (directory, rank))
        assert found[rank] == [st.st_size, st.st_ino, st.st_mtime_ns, rank != 7], found[rank]
    node.frames.clear()
    answer = node.ask("list", directory=directory, run_id="0bad" * 8)
    assert answer["traces"] == 0 and answer["exists"] is True, answer
    answer = node.ask("list", directory=directory + "/no", run_id=RUN_ID)
    assert answer["traces"] == 0 and answer["exists"] is False, answer
    is_error(node.ask("list", directory=directory + "/keep"), "of which run")
    is_error(node.ask("list", directory=directory + "/rank-000000.ti", run_id=RUN_ID), "rank-000000")
    answer = node.ask("crc", ranks=[[0, 2], [9, 9], [1202, 1300]], **about)
    assert [c[0] for c in answer["crc"]] == [0, 1, 2, 1202], answer
    for rank, size, crc in answer["crc"]:
        with open("%s/rank-%06d.ti" % (directory, rank), "rb") as f:
            content = f.read()
        assert (size, crc) == (len(content), crc32c(content))
    is_error(node.ask("crc", ranks=[[0, 1000]], **about), "1000 ranks")
    is_error(node.ask("crc", **about), "ranks")
    is_error(node.ask("crc", ranks=[[0, 0]], directory=directory + "/no", run_id=RUN_ID), "/no")
    # meanwhile the node answers others
    os.truncate(large(scratch + "/slow", 0, 1 << 16), 1 << 28)
    node.write(b"".join(frame(MESSAGE, 0, json.dumps(r).encode()) for r in (
        {"do": "crc", "id": 500, "ranks": [[0, 0]], "directory": scratch + "/slow", "run_id": RUN_ID},
        {"do": "beat", "id": 501, "every_ms": 0})))
    first = node.wait(lambda f: f[2].get("id") in (500, 501))[2]
    assert first["is"] == "beat", first
    assert node.wait(lambda f: f[2].get("id") == 500)[2]["crc"][0][1] == 1 << 28
    os.unlink(scratch + "/slow/rank-000000.ti")
    assert node.end() == 0


def test_send_from():
    """What is there already is not sent again, if it is the same."""
    node = serve()
    directory = scratch + "/from"
    traces(directory, 5)
    path = large(directory, 5, 300000)
    contents = []
    for rank in range(6):
        with open("%s/rank-%06d.ti" % (directory, rank), "rb") as f:
            contents.append(f.read())
    assert len(contents[5]) == 300000 and path
    cut = 70001
    start = [[5, cut, crc32c(contents[5][:cut])], [0, 10, crc32c(contents[0][:10])],
             [1, 10, 12345], [2, len(contents[2]), crc32c(contents[2])],
             [3, 1 << 40, 0], [4, 0, 0], [77, 5, 5]]
    answer = node.ask("send", ranks=[[0, 5]], directory=directory, run_id=RUN_ID, **{"from": start})
    assert answer["sent"] == 6, answer
    for rank, at in ((0, 10), (1, 0), (2, len(contents[2])), (3, 0), (4, 0), (5, cut)):
        told = node.told("sending", rank=rank)
        assert (told["from"], told["bytes"]) == (at, len(contents[rank])), told
        assert node.output(rank, DATA) == contents[rank][at:], rank
        told = node.told("sent", rank=rank)
        assert (told["bytes"], told["crc32c"]) == (len(contents[rank]), crc32c(contents[rank]))
    for bad in ({}, [1], [[1, 2]], [[1, -1, 0]], [[-1, 1, 0]], [[1, 1, 1 << 32]], [["1", 1, 1]]):
        is_error(node.ask("send", ranks=[[0, 0]], directory=directory, run_id=RUN_ID,
                          **{"from": bad}), "from")
    assert node.end() == 0


def test_send_many():
    """Of thousands that are named: what is there is sent, behind many that are not as well."""
    node = serve()
    directory = scratch + "/many-named"
    traces(directory, 3)
    for rank in 1500, 2600, 4000:
        os.link(directory + "/rank-000001.ti", "%s/rank-%06d.ti" % (directory, rank))
    os.symlink("rank-000001.ti", directory + "/rank-002700.ti")
    os.mkdir(directory + "/rank-002800.ti")
    answer = node.ask("send", ranks=[[0, 3000], [1500, 1500], [4000, 4000]], directory=directory,
                      run_id=RUN_ID)
    assert answer["sent"] == 7, answer
    told = [f[2] for f in node.frames if f[0] == MESSAGE and f[2]["is"] == "sent"]
    assert [t["rank"] for t in told] == list(range(3001)) + [1500, 4000]
    assert [t["rank"] for t in told if "crc32c" in t] == [0, 1, 2, 1500, 2600, 1500, 4000]
    assert {t["error"] for t in told if "crc32c" not in t and t["rank"] not in (2700, 2800)} == {"no trace"}
    assert [t["error"] != "no trace" for t in told if t["rank"] in (2700, 2800)] == [True, True]
    assert node.end() == 0


def test_send_notices():
    """Files that change or shrink while they are sent are no files."""
    node = serve()
    directory = scratch + "/noticed"
    large(directory, 0, 64 << 20)
    about = dict(directory=directory, run_id=RUN_ID)
    for what in ("shorter", "changed"):
        node.frames.clear()
        path = large(directory, 0, 64 << 20)
        node.send({"do": "send", "id": 600, "ranks": [[0, 0]], **about})
        node.told("sending", rank=0)
        time.sleep(0.3)  # it is stuck
        if what == "shorter":
            os.truncate(path, 40 << 20)
        else:
            with open(path, "r+b") as f:
                f.seek(50 << 20)
                f.write(b"other")
        assert what in node.told("sent", rank=0)["error"]
        assert node.wait(lambda f: f[0] == MESSAGE and f[2].get("id") == 600)[2]["sent"] == 0
    # gone meanwhile: what was opened is whole
    node.frames.clear()
    path = large(directory, 0, 8 << 20)
    node.send({"do": "send", "id": 600, "ranks": [[0, 0]], **about})
    node.told("sending", rank=0)
    os.unlink(path)
    assert node.told("sent", rank=0)["bytes"] == 8 << 20
    assert node.end() == 0


def test_send_credit():
    """No more is sent than it was let; what ends a file needs none."""
    node = serve()
    directory = scratch + "/credit"
    path = large(directory, 0, 1 << 20)
    large(directory, 1, 100)
    about = dict(directory=directory, run_id=RUN_ID)

    def came(rank=0):
        return len(node.output(rank, DATA))
    for bad in (-1, "much", 1.5):
        is_error(node.ask("send", ranks=[[0, 0]], credit=bad, **about), "credit")
    node.send({"do": "send", "id": 600, "ranks": [[0, 1]], "credit": 100000, **about})
    while came() < 100000:
        assert node.read(30)
    assert not node.read(0.3) and came() == 100000
    assert len([f for f in node.frames if f[0] == DATA]) > 3, "not a piece at a time"
    for nothing in ({"credit": 0}, {"credit": -5}, {"credit": "all"}, {}):
        node.send({"do": "more", "id": 601, **nothing})
    assert not node.read(0.3) and came() == 100000
    node.send({"do": "more", "id": 601, "credit": (1 << 20) - 100000})
    with open(path, "rb") as f:
        content = f.read()
    assert node.told("sent", rank=0)["crc32c"] == crc32c(content)
    assert node.output(0, DATA) == content
    node.told("sending", rank=1)
    assert not node.read(0.3) and came(1) == 0
    node.send({"do": "more", "id": 601, "credit": (1 << 63) - 1})
    node.send({"do": "more", "id": 601, "credit": (1 << 63) - 1})
    assert node.told("sent", rank=1)["bytes"] == 100
    assert node.wait(lambda f: f[0] == MESSAGE and f[2].get("id") == 600)[2]["sent"] == 2
    node.send({"do": "more", "id": 601, "credit": 5})  # of nothing: nobody minds
    assert node.ask("beat", every_ms=0)["is"] == "beat"
    assert not [f for f in node.frames if f[0] == MESSAGE and f[2].get("id") == 601]
    assert node.end() == 0


def test_beat():
    node = serve()
    opened(node)
    is_error(node.ask("beat", every_ms=-1), "every_ms")
    assert node.ask("beat", every_ms=20)["is"] == "beat"
    for _ in range(3):
        assert "id" not in node.told("beat", 5)
    # nobody reads for a while: they do not pile up
    node.ask("spawn", stream=1, command="exec yes")
    time.sleep(1.5)
    begin = time.monotonic()
    node.ask("kill", stream=1)
    node.told("ended")
    since = (time.monotonic() - begin) / 0.02  # as many as may have come while we read
    assert len([f for f in node.frames if f[0] == MESSAGE and f[2]["is"] == "beat"]) < 20 + since
    node.ask("beat", every_ms=0)
    node.frames.clear()
    assert not node.read(0.2), "still beating"
    assert node.end() == 0


def test_listen():
    node = serve()
    opened(node)
    is_error(node.ask("beat", every_ms=20, listen_ms=-1), "listen_ms")
    pid = node.ask("spawn", stream=1, command="exec sleep 1000")["pid"]
    node.ask("beat", every_ms=20, listen_ms=60000)
    node.told("beat", 5)
    # from now on nothing is said to it, and its input stays open
    node.ask("beat", every_ms=20, listen_ms=700)
    while node.read(20):
        pass
    assert node.process.wait(20) == 0
    assert not os.path.exists("/proc/%d" % pid), "what it ran is still there"


def test_full_disk():
    disk = scratch + "/disk"
    os.mkdir(disk)
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "none", disk],
                      stderr=subprocess.DEVNULL).returncode:
        print("not root: no full disk")
        return
    try:
        with open(disk + "/fill", "wb") as f:
            try:
                f.write(b"x" * (1 << 20))
                f.flush()
            except OSError:
                pass
            else:
                raise AssertionError("the disk is not full")
    except OSError:
        pass
    try:
        node = serve()
        is_error(node.ask("open", run_id=RUN_ID, trace_dir=disk + "/run", np=1, ranks=[[0, 0]],
                          node="n"), "No space left")
        assert not os.path.exists(disk + "/run/RUN.json")
        assert node.ask("facts", trace_dir=disk)["trace_dir"]["free_bytes"] == 0
        assert node.end() == 0
    finally:
        subprocess.run(["umount", disk], check=True)


def main():
    failed = 0
    chosen = sys.argv[1:]
    tests = [(name, test) for name, test in globals().items()
             if name.startswith("test_") and (not chosen or name in chosen)]
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
            for pid in processes_of(RUN_ID):
                os.kill(pid, signal.SIGKILL)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    sys.exit(failed)


main()
