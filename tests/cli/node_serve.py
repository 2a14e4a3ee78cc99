"""ti-node as ti-acquire and ti-gather speak to it.  Run by node-serve.sh; to run one case:
    python3 tests/cli/node_serve.py -v Facts.test_facts_name_the_PATH_without_mpirun
"""
import fcntl
import json
import os
import shutil
import signal
import socket
import struct
import subprocess
import sys
import termios
import time
import unittest

sys.path.insert(0, os.path.dirname(__file__))
from node_driver import (BUILD, DATA, STDERR, INPUT, MESSAGE, TI_NODE, NodeTest, crc32c, frame,
                         processes_of, wait_for)


def in_pipe(pipe):
    """Bytes that wait to be read."""
    return struct.unpack("i", fcntl.ioctl(pipe.fileno(), termios.FIONREAD, b"\0" * 4))[0]


class Facts(NodeTest):
    """What a node says of itself."""

    def test_hello_names_protocol_folder_and_host(self):
        node = self.serve()
        self.assertEqual(node.hello["protocol"], 3, node.hello)
        self.assertEqual(node.hello["folder"], BUILD, node.hello)
        self.assertEqual(node.hello["host"], os.uname().nodename)
        self.assertIs(node.hello["shipped"], False)
        self.assertEqual(node.end(), 0)

    def test_facts_are_those_of_this_machine(self):
        node = self.serve()
        program = os.path.join(BUILD, "ti-info")
        facts = node.ask("facts", program=program, trace_dir=self.scratch + "/not/yet", counter="cputime",
                         sum=False, mpirun=True)
        with open("/proc/meminfo") as f:
            total = int(f.readline().split()[1]) * 1024
        self.assertEqual(facts["total_bytes"], total, facts)
        self.assertLess(0, facts["memory_bytes"], facts)
        self.assertLessEqual(facts["memory_bytes"], total, facts)
        self.assertEqual(facts["cores"], len(os.sched_getaffinity(0)), facts)
        self.assertEqual(facts["family"], os.uname().machine)
        expected = subprocess.run(["sha256sum", program], capture_output=True, check=True).stdout
        self.assertEqual(facts["program"]["sha256"], expected.decode().split()[0], facts)
        self.assertEqual(facts["program"]["bytes"], os.path.getsize(program))
        self.assertEqual(facts["program"]["mpi"], "none", facts)
        self.assertGreater(facts["trace_dir"]["free_bytes"], 0, facts)
        self.assertIs(facts["trace_dir"]["remote"], False, facts)
        self.assertEqual(facts["counter"]["backend"], "cputime", facts)
        self.assertTrue(facts["counter"]["estimate"], facts)
        self.assertEqual(facts["mpi"]["version"].count("."), 2, facts)
        self.assertEqual(node.end(), 0)

    def test_facts_of_a_program_relative_to_a_directory(self):
        program = os.path.join(BUILD, "ti-info")
        node = self.serve()
        facts = node.ask("facts", program="./ti-info", cwd=BUILD)
        self.assertIs(facts["cwd"], True, facts)
        self.assertEqual(facts["program"]["path"], program, facts)
        self.assertEqual(node.end(), 0)

    def test_facts_that_cannot_be_had_are_errors(self):
        program = os.path.join(BUILD, "ti-info")
        node = self.serve()
        facts = node.ask("facts", program="/no/such", trace_dir=program + "/x", counter="papi:NO_SUCH")
        self.assertIn("/no/such", facts["program"]["error"], facts)
        self.assertIn(program, facts["trace_dir"]["error"], facts)
        self.assertIn("NO_SUCH", facts["counter"]["error"], facts)
        self.assertEqual(node.end(), 0)

    def test_facts_name_the_PATH_without_mpirun(self):
        node = self.serve(env={"PATH": "/nowhere"})
        self.assertIn("'/nowhere'", node.ask("facts", mpirun=True)["mpi"]["error"])
        self.assertEqual(node.end(), 0)


class BadInput(NodeTest):
    """Requests and frames that make no sense."""

    def test_unknown_requests_are_errors(self):
        node = self.serve()
        self.assert_error(node.ask("dance"), "dance")
        node.write(frame(MESSAGE, 0, b"{ no JSON"))
        self.assert_error(node.told("error"), "no request")
        self.assertEqual(node.end(), 0)

    def test_requests_before_open_are_errors(self):
        node = self.serve()
        for request in ("spawn", "watch", "end", "ranks"):
            self.assert_error(node.ask(request, stream=1, command="true", every_ms=1),
                              "no run was opened")
        self.assertEqual(node.end(), 0)

    def test_open_with_bad_fields_is_an_error(self):
        node = self.serve()
        good = dict(run_id=self.run_id, trace_dir=self.scratch + "/bad", np=2, ranks=[[0, 1]], node="n")
        for key, value, says in [("run_id", "xyz", "run_id"), ("trace_dir", "relative", "absolute"),
                                 ("np", 0, "np"), ("np", 1 << 40, "np"), ("ranks", [[1, 0]], "ranks"),
                                 ("ranks", [0, 1], "ranks"), ("ranks", None, "ranks"),
                                 ("env", ["A=B", 1], "strings"), ("wrapper", "x", "strings")]:
            with self.subTest(key=key, value=value):
                self.assert_error(node.ask("open", **{**good, key: value}), says)
        self.assertFalse(os.path.exists(self.scratch + "/bad"))
        self.assertEqual(node.end(), 0)

    def test_traces_of_no_run_are_errors(self):
        node = self.serve()
        self.assert_error(node.ask("send", ranks=[[0, 1]]), "of which run")
        self.assert_error(node.ask("remove", ranks=[[0, 1]], directory=self.scratch, run_id="../"),
                          "of which run")
        self.assertEqual(node.end(), 0)

    def test_open_twice_and_bad_spawns_are_errors(self):
        node = self.serve()
        self.opened(node)
        self.assert_error(node.ask("open", run_id=self.run_id, trace_dir=self.scratch + "/bad", np=2,
                                   ranks=[[0, 1]], node="n"), "open already")
        self.assert_error(node.ask("spawn", stream=0, command="true"), "sense")
        self.assert_error(node.ask("spawn", stream=1), "sense")
        node.ask("spawn", stream=1, command="sleep 9999")
        self.assert_error(node.ask("spawn", stream=1, command="true"), "already")
        self.assertEqual(node.end(), 0)

    def test_open_that_fails_takes_back_what_it_made(self):
        """Another one is answered afterwards."""
        node = self.serve()
        bad = dict(run_id=self.run_id, trace_dir=self.scratch + "/failed", np=2, ranks=[[0, 1]], node="n",
                   scratch=[self.scratch + "/made", self.scratch + "/not/there"])
        self.assert_error(node.ask("open", **bad), "cannot create '%s/not/there'" % self.scratch)
        self.assertFalse(os.path.exists(self.scratch + "/made"))
        self.assertFalse(os.path.exists(self.scratch + "/failed"))
        directory = self.opened(node, scratch=[self.scratch + "/made"])
        self.assertEqual(node.ask("ranks")["is"], "ranks")
        self.assertEqual(node.end(), 0)
        shutil.rmtree(directory, ignore_errors=True)

    def test_bad_frame_ends_node_and_run(self):
        for bad in (b"SSH-2.0-x no frames at all", frame(MESSAGE, 0, b"{}")[:-1] + b"!",
                    frame(9, 0, b""), b"TiF1\2\0\0\0\0\0\0\0\xff\xff\xff\xff\0\0\0\0"):
            with self.subTest(bad=bad):
                node = self.serve(stderr=subprocess.PIPE)
                self.opened(node)
                node.ask("spawn", stream=1, command="sleep 9999")
                node.write(bad)
                self.assertEqual(node.process.wait(), 5)
                self.assertIn(b"is no frame", node.process.stderr.read())
                self.assertEqual(processes_of(self.run_id), [])


class Runs(NodeTest):
    """A run, its directory and its processes."""

    def test_process_has_input_output_and_status(self):
        node = self.serve()
        directory = self.opened(node)
        node.ask("spawn", stream=5, command='echo "$TIARA_NODE_NAME $TIARA_NODE_FILE $TIARA_NODE"; cat; '
                                            'echo oops >&2; exit 3')
        node.write(frame(INPUT, 5, b"one\n") + frame(INPUT, 5, b"two\n") + frame(INPUT, 5, b""))
        node.write(frame(INPUT, 99, b"to nobody"))
        self.assertEqual(os.waitstatus_to_exitcode(node.told("ended", stream=5)["status"]), 3)
        self.assertEqual(node.output(5),
                         ("n1 %s/NODE.json %s\none\ntwo\n" % (directory, TI_NODE)).encode())
        self.assertEqual(node.output(5, STDERR), b"oops\n")
        self.assertEqual(node.end(), 0)
        self.assertEqual(processes_of(self.run_id), [])

    def test_stream_of_an_ended_process_is_free_again(self):
        node = self.serve()
        self.opened(node)
        node.ask("spawn", stream=5, command="true")
        node.told("ended", stream=5)
        node.ask("spawn", stream=5, command="kill -9 $$")
        self.assertEqual(node.told("ended", stream=5)["status"], 9)
        self.assertEqual(node.end(), 0)

    def test_end_is_told_though_a_child_keeps_the_output_open(self):
        node = self.serve()
        self.opened(node)
        node.ask("spawn", stream=6, command="sleep 9999 & exit 0")
        self.assertEqual(node.told("ended", stream=6)["status"], 0)
        self.assertEqual(node.end(), 0)
        self.assertEqual(processes_of(self.run_id), [])

    def test_directory_is_the_runs_alone_and_goes_when_empty(self):
        node = self.serve()
        directory = self.opened(node, scratch=[self.scratch + "/tmp-of-run"])
        mode = os.stat(directory).st_mode & 0o777
        self.assertEqual(mode, 0o700, oct(mode))
        mode = os.stat(directory + "/NODE.json").st_mode & 0o777
        self.assertEqual(mode, 0o600, oct(mode))
        self.assertTrue(os.path.isdir(self.scratch + "/tmp-of-run"))
        open(self.scratch + "/tmp-of-run/session", "w").close()
        other = self.serve()
        self.assert_error(other.ask("open", run_id=self.run_id, trace_dir=directory, np=1,
                                    ranks=[[0, 0]], force=True), "another ti-acquire")
        self.assertEqual(node.end(), 0)
        self.assertEqual(other.end(), 0)
        # nothing was traced: nothing is left
        self.assertFalse(os.path.exists(directory))
        self.assertFalse(os.path.exists(self.scratch + "/tmp-of-run"))

    def test_directory_of_others_is_not_used(self):
        node = self.serve()
        os.mkdir(self.scratch + "/full")
        open(self.scratch + "/full/notes", "w").close()
        self.assert_error(node.ask("open", run_id=self.run_id, trace_dir=self.scratch + "/full", np=1,
                                   ranks=[[0, 0]]), "not empty")
        self.assert_error(node.ask("open", run_id=self.run_id, trace_dir="/proc/no/such", np=1,
                                   ranks=[[0, 0]]), "/proc/no/such")
        self.assertEqual(node.end(), 0)
        self.assertTrue(os.path.exists(self.scratch + "/full/notes"))

    def test_run_starts_the_program_for_ranks_of_this_node(self):
        """`ti-node run` is what mpirun starts in place of the ranks."""
        node = self.serve()
        directory = self.opened(node, env=["MINE=a b", "LD_PRELOAD=/lib/x.so"], cwd="/usr",
                           wrapper=["env", "WRAPPED=1"], idle=True, program="/bin/sh")
        show = ("-c", 'echo "$MINE|$LD_PRELOAD|$TIARA_TRACE_DIR|$TIARA_RUN_ID|$WRAPPED|$PWD"; '
                      "python3 -c 'import os; print(os.sched_getscheduler(0) == os.SCHED_IDLE)'")
        run = {**os.environ, "TIARA_NODE_FILE": directory + "/NODE.json"}
        for name, rank, status in [("OMPI_COMM_WORLD_RANK", "1", 0), ("PMIX_RANK", "6", 0),
                                   ("OMPI_COMM_WORLD_RANK", "2", 113), ("PMIX_RANK", "8", 113),
                                   ("PMIX_RANK", "x", 113), ("OTHER", "1", 113)]:
            done = subprocess.run([TI_NODE, "run", "given", *show], env={**run, name: rank},
                                  capture_output=True, text=True)
            self.assertEqual(done.returncode, status, done)
            if status == 0:
                self.assertEqual(done.stdout, "a b|/lib/x.so:%s/libminitrace.so|%s|%s|1|/usr\nTrue\n"
                                 % (BUILD, directory, self.run_id))
            else:
                self.assertEqual(done.stdout, "")
                self.assertTrue(done.stderr.startswith("ti-node: "), done)
        self.assertEqual(node.end(), 0)

    def test_dry_launch_tells_rank_and_node(self):
        node = self.serve()
        directory = self.opened(node)
        run = {**os.environ, "TIARA_NODE_FILE": directory + "/NODE.json"}
        done = subprocess.run([TI_NODE, "run", "--dry-launch"], env={**run, "PMIX_RANK": "3"},
                              capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stdout), (0, "TIARA-DRY-LAUNCH 3 n1\n"), done)
        self.assertEqual(node.end(), 0)

    def test_run_file_without_node_is_refused(self):
        node = self.serve()
        directory = self.opened(node)
        run = {**os.environ, "TIARA_NODE_FILE": directory + "/NODE.json"}
        nameless = os.path.join(os.path.dirname(directory), "nameless.json")
        for name in [None, 7]:
            with open(directory + "/NODE.json") as was, open(nameless, "w") as file:
                json.dump({**json.load(was), "node": name}, file)
            os.chmod(nameless, 0o600)
            done = subprocess.run([TI_NODE, "run", "--dry-launch"], capture_output=True, text=True,
                                  env={**run, "PMIX_RANK": "3", "TIARA_NODE_FILE": nameless})
            self.assertEqual((done.returncode, done.stdout), (113, ""), done)
            self.assertIn('("node")', done.stderr, done)
        os.unlink(nameless)
        self.assertEqual(node.end(), 0)

    def test_run_needs_a_run_file_of_our_own(self):
        node = self.serve()
        directory = self.opened(node)
        run = {**os.environ, "TIARA_NODE_FILE": directory + "/NODE.json"}
        done = subprocess.run([TI_NODE, "run", "x"], env={**os.environ, "PMIX_RANK": "1"},
                              capture_output=True, text=True)
        self.assertEqual(done.returncode, 113, done)
        self.assertIn("TIARA_NODE_FILE", done.stderr, done)
        os.chmod(directory + "/NODE.json", 0o622)
        done = subprocess.run([TI_NODE, "run", "x"], env={**run, "PMIX_RANK": "1"},
                              capture_output=True, text=True)
        self.assertEqual(done.returncode, 113, done)
        self.assertIn("by others", done.stderr, done)
        self.assertEqual(node.end(), 0)

    def test_watch_counts_processes_and_traces_until_told_to_stop(self):
        node = self.serve()
        directory = self.opened(node)
        node.ask("watch", every_ms=50)
        status = node.told("status")
        self.assertEqual((status["started"], status["finished"], status["alive"]), (0, 0, 0),
                         status)
        self.assertGreater(status["room_bytes"], 0, status)
        self.assertGreater(status["free_bytes"], 0, status)
        node.ask("spawn", stream=1, command="sleep 9999 & sleep 9999")
        wait_for(lambda: node.told("status")["alive"] == 3)
        self.assertGreater(node.told("status")["rss_bytes"], 0)
        self.traces(directory, 8)
        wait_for(lambda: node.told("status")["finished"] == 8)
        status = node.told("status")
        self.assertEqual(status["started"], 8, status)
        self.assertGreater(status["bytes"], 0, status)
        self.assertGreater(status["last_start"], 1e9, status)
        node.ask("watch", every_ms=0)
        time.sleep(0.2)
        node.read(0.1)
        node.frames.clear()
        time.sleep(0.3)
        self.assertFalse(node.read(0.2), "still watching")
        self.assertEqual(node.end(), 0)

    def test_waits_names_a_listener_that_does_not_answer(self):
        """It listens, and its backlog is full."""
        node = self.serve()
        self.assert_error(node.ask("waits"), "no run was opened")
        self.opened(node)
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
            self.assertEqual(node.ask("waits")["waits"], [], "these are not of the run")
            node.ask("spawn", stream=port, command="exec %s -c 'import socket; "
                     "socket.create_connection((\"%s\", %d))'" % (sys.executable, host, port))
            wait_for(lambda: node.ask("waits")["waits"] == [text % port])
            self.assertEqual(node.ask("kill", stream=port)["is"], "kill")
            self.assertEqual(node.told("ended")["status"], signal.SIGKILL)
            answer = node.ask("waits")
            self.assertEqual((answer["waits"], answer["alive"]), ([], 0), answer)
            for s in held + [full]:
                s.close()
        self.assertEqual(node.end(), 0)


class Ends(NodeTest):
    """What ends processes, and what does not."""

    def test_end_of_the_run_ends_all_its_processes(self):
        node = self.serve()
        self.opened(node)
        node.ask("spawn", stream=1, command="(trap '' TERM; exec sleep 9999) & setsid sleep 9999 & "
                                            "sleep 9999 & kill -STOP $$")
        wait_for(lambda: len(processes_of(self.run_id)) >= 4)
        answer = node.ask("end", grace_s=0.5)
        self.assertGreaterEqual(answer["found"], 4, answer)
        self.assertEqual(answer["left"], 0, answer)
        self.assertEqual(processes_of(self.run_id), [])
        self.assertTrue(node.told("ended", stream=1))
        self.assertEqual(node.ask("end", grace_s=0)["found"], 0)
        self.assertEqual(node.end(), 0)

    def test_kill_ends_one_process_with_its_group(self):
        node = self.serve()
        self.assert_error(node.ask("kill", stream=1), "no run")
        self.opened(node)
        node.ask("spawn", stream=1, command="sleep 9999 & exec sleep 9999")
        node.ask("spawn", stream=2, command="exec sleep 9999")
        wait_for(lambda: len(processes_of(self.run_id)) == 3)
        self.assertIs(node.ask("kill", stream=1, signal=15)["found"], True)
        self.assertEqual(os.WTERMSIG(node.told("ended", stream=1)["status"]), 15)
        wait_for(lambda: len(processes_of(self.run_id)) == 1)
        self.assertIs(node.ask("kill", stream=1)["found"], False)
        self.assertIs(node.ask("kill", stream=3)["found"], False)
        self.assert_error(node.ask("kill", stream=0), "sense")
        self.assert_error(node.ask("kill", stream=2, signal=1000), "sense")
        self.assertIs(node.ask("kill", stream=2)["found"], True)
        self.assertEqual(os.WTERMSIG(node.told("ended", stream=2)["status"]), 9)
        self.assertEqual(node.end(), 0)

    def test_nothing_of_the_run_outlives_the_channel(self):
        """Whatever ends the channel; processes of others go on."""
        bystander = subprocess.Popen(["sleep", "9999"])
        self.addCleanup(bystander.wait)
        self.addCleanup(bystander.kill)
        for how in ("eof", "TERM", "HUP", "KILL", "reader"):
            node = self.serve(stderr=subprocess.DEVNULL)
            scratch = [os.path.join(self.scratch, how + x) for x in ("-tmp", "-shm")]
            self.opened(node, scratch=scratch)
            node.ask("spawn", stream=1, command="setsid sleep 9999 & (sleep 9999 &) ; yes >&2")
            if how in ("eof", "KILL"):
                node.ask("spawn", stream=2, command="trap '' TERM; while :; do sleep 1; done")
            wait_for(lambda: len(processes_of(self.run_id)) >= (5 if how in ("eof", "KILL") else 3))
            if how == "eof":
                node.process.stdin.close()  # with its output not read
            elif how == "reader":
                node.process.stdout.close()
            else:  # the one that serves; its parent remains
                pid = node.hello["pid"] if how == "KILL" else node.process.pid
                os.kill(pid, getattr(signal, "SIG" + how))
            node.process.wait()
            self.assertEqual(processes_of(self.run_id), [], how)
            self.assertEqual([x for x in scratch if os.path.exists(x)], [], how)
        self.assertIsNone(bystander.poll())

    def test_run_ends_when_the_parent_of_the_server_is_killed(self):
        node = self.serve()
        self.opened(node)
        node.ask("spawn", stream=1, command="setsid sleep 9999")
        node.process.kill()
        wait_for(lambda: processes_of(self.run_id) == [])

    def test_leave_keeps_the_run(self):
        node = self.serve()
        directory = self.opened(node)
        self.traces(directory, 2)
        node.ask("spawn", stream=1, command="exec sleep 9999")
        node.ask("leave")
        self.assertEqual(node.end(), 0)
        self.assertEqual(len(processes_of(self.run_id)), 1)
        self.assertTrue(os.path.exists(directory + "/NODE.json"))
        os.kill(processes_of(self.run_id)[0], signal.SIGKILL)

    def test_left_names_and_removes_what_a_run_left(self):
        first = self.serve()
        directory = self.opened(first)
        self.traces(directory, 2)
        first.ask("spawn", stream=1, command="exec sleep 9999")
        node = self.serve()
        about = dict(base=os.path.dirname(directory), run_id=self.run_id)
        left = node.ask("left", remove=True, **about)  # the run goes on: nothing is removed
        self.assertEqual([(d["path"], d["np"], d["busy"]) for d in left["directories"]],
                         [(directory, 8, True)])
        self.assertEqual([p["busy"] for p in left["processes"]], [True])
        self.assertEqual(left["left"], [])
        self.assertTrue(os.path.exists(directory + "/NODE.json"))
        first.ask("leave")
        self.assertEqual(first.end(), 0)
        pids = processes_of(self.run_id)
        left = node.ask("left", **about)
        self.assertEqual([d["busy"] for d in left["directories"]], [False])
        self.assertEqual([(p["pid"], p["command"], p["busy"]) for p in left["processes"]],
                         [(pids[0], "sleep 9999", False)])
        self.assertEqual(node.ask("left", base=about["base"], run_id="0" * 12)["directories"], [])
        self.assertEqual(node.ask("left", remove=True, **about)["left"], [])
        self.assertFalse(os.path.exists(directory))
        self.assertEqual(processes_of(self.run_id), [])
        self.assertEqual(node.ask("left", **about)["processes"], [])
        for wrong in (dict(base="relative"), dict(run_id="abc"), dict(run_id="x" * 32)):
            self.assert_error(node.ask("left", **{**about, **wrong}), "base" if "base" in wrong else "12 digits")
        self.assert_error(node.ask("left", base=about["base"], remove=True), "12 digits")
        self.assertEqual(node.end(), 0)

    def test_output_that_nobody_reads_costs_no_memory(self):
        """Its writers are held up; the end of the channel is noticed."""
        node = self.serve()
        self.opened(node)
        node.ask("spawn", stream=1, command="yes tiara")
        node.ask("watch", every_ms=20)
        node.send({"do": "facts", "id": 77})
        time.sleep(2)
        with open("/proc/%d/status" % node.hello["pid"]) as f:
            kib = int([line for line in f if line.startswith("VmHWM")][0].split()[1])
        self.assertTrue(kib < 40 * 1024 or "sanitize" in BUILD or "build-" in BUILD, kib)
        node.process.stdin.close()
        node.process.wait()
        self.assertEqual(processes_of(self.run_id), [])

    def test_input_that_no_process_reads_costs_no_memory(self):
        node = self.serve()
        self.opened(node)
        read_now = self.scratch + "/read-now"
        node.ask("spawn", stream=1,
                 command="until [ -e '%s' ]; do sleep 0.1; done; wc -c" % read_now)
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
        self.assertLess(sent, 8 << 20)
        open(read_now, "w").close()
        os.set_blocking(node.process.stdin.fileno(), True)
        node.write(pending + frame(INPUT, 1, b""))
        node.told("ended")
        self.assertEqual(int(node.output(1)), sent + (100000 if pending else 0))
        self.assertEqual(node.end(), 0)

    def test_two_hundred_processes_are_seen_and_ended(self):
        node = self.serve()
        self.opened(node)
        node.ask("spawn", stream=1, command="i=0; while [ $i -lt 200 ]; do sleep 9999 & i=$((i+1)); done; wait",
                 files=4096)
        node.ask("watch", every_ms=100)
        status = {"alive": 0}
        while status["alive"] < 201:
            status = node.told("status")
            ended = [f for f in node.frames if f[0] == MESSAGE and f[2].get("is") == "ended"]
            self.assertEqual(ended, [], (status, node.output(1, STDERR)))
        self.assertEqual(status["alive"], 201, processes_of(self.run_id))
        answer = node.ask("end", grace_s=5)
        self.assertEqual(answer["found"], 201, answer)
        self.assertEqual(answer["left"], 0, answer)
        self.assertEqual(node.end(), 0)


class Traces(NodeTest):
    """Traces on the node: told of, sent, removed."""

    def large(self, directory, rank, size):
        """A trace of this run, as far as its header tells, and of any size."""
        os.makedirs(directory, exist_ok=True)
        self.traces(directory + "/few", rank + 1)
        path = "%s/rank-%06d.ti" % (directory, rank)
        shutil.copy("%s/few/rank-%06d.ti" % (directory, rank), path)
        shutil.rmtree(directory + "/few")
        with open(path, "ab") as f:
            f.write(os.urandom(1 << 16) * ((size >> 16) + 1))
            f.truncate(size)
        return path

    def test_send_and_remove_take_traces_of_the_run_only(self):
        node = self.serve()
        directory = self.scratch + "/gathered"
        self.traces(directory, 6)
        run_id, other_id = self.run_id, "0bad" * 8
        os.unlink(directory + "/rank-000004.ti")
        with open(directory + "/rank-000005.ti", "wb") as f:
            f.write(b"not a trace")
        with open(directory + "/keep", "w") as f:
            f.write("mine")
        about = dict(directory=directory, run_id=run_id)
        answer = node.ask("send", ranks=[[0, 2], [4, 5]], **about)
        self.assertEqual(answer["sent"], 3, answer)
        for rank in range(3):
            with open("%s/rank-%06d.ti" % (directory, rank), "rb") as f:
                content = f.read()
            told = node.told("sent", rank=rank)
            self.assertEqual(node.output(rank, DATA), content)
            self.assertEqual((told["bytes"], told["crc32c"]), (len(content), crc32c(content)), told)
        self.assertEqual(node.told("sent", rank=4)["error"], "no trace")
        self.assertIn("no trace of this run", node.told("sent", rank=5)["error"])
        answer = node.ask("send", ranks=[[0, 0]], directory=directory, run_id=other_id)
        self.assertEqual(answer["sent"], 0)
        self.assertIn("of this run", node.told("sent", rank=0)["error"])
        self.assert_error(node.ask("send", ranks=[[0, 0]], directory=directory + "/no",
                                   run_id=run_id), "/no")
        # a run that was opened: its ends
        run_dir = self.opened(node, run_id=run_id, ranks=[[0, 7]])
        self.traces(run_dir, 8)
        ranks = node.ask("ranks")
        self.assertEqual(ranks["with_trace"], 8, ranks)
        self.assertEqual(ranks["ends"]["complete"], [[0, 7]], ranks)
        self.assertGreater(ranks["events"], 0, ranks)
        self.assertGreater(ranks["bytes"], 0, ranks)
        # only what is of the run goes
        self.assertEqual(node.ask("remove", ranks=[[0, 5]], **about)["removed"], 4)
        self.assertEqual(sorted(os.listdir(directory)), ["keep", "rank-000005.ti"])
        self.assertEqual(node.ask("remove", ranks=[[0, 7]])["removed"], 8)
        self.assertFalse(os.path.exists(run_dir))
        # an empty directory in which nothing was of the run stays, another goes with its last file
        for what in ("nothing", "trace", "NODE.json"):
            empty = self.scratch + "/empty"
            os.mkdir(empty)
            if what == "trace":
                self.traces(empty, 1)
            elif what == "NODE.json":
                with open(empty + "/NODE.json", "w") as f:
                    json.dump({"run_id": run_id, "ranks": [[0, 0]]}, f)
            node.ask("remove", ranks=[[0, 7]], directory=empty, run_id=run_id)
            self.assertEqual(os.path.exists(empty), what == "nothing", what)
            if what == "nothing":
                os.rmdir(empty)
        self.assertEqual(node.end(), 0)

    def test_what_is_no_regular_file_is_no_trace(self):
        """It is neither waited for nor removed."""
        node = self.serve()
        directory = self.opened(node, ranks=[[0, 7]])
        self.traces(directory, 2)
        os.mkfifo(directory + "/rank-000002.ti")
        os.symlink(directory + "/rank-000002.ti", directory + "/rank-000003.ti")
        os.mkdir(directory + "/rank-000004.ti")
        node.ask("watch", every_ms=20)
        for _ in range(3):
            status = node.told("status")
            self.assertEqual((status["started"], status["finished"]), (2, 2), status)
        node.ask("watch", every_ms=0)
        ranks = node.ask("ranks")
        self.assertEqual(ranks["ends"], {"complete": [[0, 1]], "unreadable": [[2, 4]]}, ranks)
        self.assertEqual(node.ask("list")["traces"], 2)
        self.assertEqual([c[0] for c in node.ask("crc", ranks=[[0, 7]])["crc"]], [0, 1])
        self.assertEqual(node.ask("send", ranks=[[0, 7]])["sent"], 2)
        self.assertEqual(node.ask("remove", ranks=[[0, 7]])["removed"], 2)
        self.assertEqual(sorted(os.listdir(directory)),
                         ["NODE.json", "rank-000002.ti", "rank-000003.ti", "rank-000004.ti"],
                         os.listdir(directory))
        self.assertEqual(node.end(), 0)
        shutil.rmtree(directory)

    def test_remove_takes_the_folders_of_the_run(self):
        """So that none stays if ti-node is killed after that."""
        node = self.serve()
        scratch = [os.path.join(self.scratch, x) for x in ("tmp", "shm")]
        directory = self.opened(node, scratch=scratch)
        self.traces(directory, 2)
        for folder in scratch:
            os.makedirs(folder + "/ompi.n1.0/pid.1")
        other = dict(directory=directory, run_id="f" * 32)    # they are not of that run
        self.assertEqual(node.ask("remove", ranks=[[0, 7]], **other)["removed"], 0)
        self.assertEqual([x for x in scratch if not os.path.exists(x)], [])
        self.assertEqual(node.ask("remove", ranks=[[0, 7]])["removed"], 2)
        self.assertEqual([x for x in scratch if os.path.exists(x)], [])
        self.assertEqual(node.end(), 0)

    def test_remove_goes_by_what_is_there(self):
        """Millions of ranks are named; NODE.json goes with the last trace."""
        node = self.serve()
        directory = self.scratch + "/claimed"
        most = (1 << 24) - 1
        about = dict(directory=directory, run_id=self.run_id)

        def run_json(ranks):
            self.traces(directory, 6)
            with open(directory + "/NODE.json", "w") as f:
                json.dump({"run_id": self.run_id, **ranks}, f)

        run_json({"ranks": [[0, most]]})
        os.rename(directory + "/rank-000002.ti", directory + "/rank-2.ti")
        with open(directory + "/rank-000003.ti", "wb") as f:
            f.write(b"not a trace")
        # backwards, and again and again
        self.assertEqual(node.ask("remove", ranks=[[4, 10], [1, 4], [1, 1], [3, 4]], **about)["removed"],
                         3)
        left = ["NODE.json", "rank-000000.ti", "rank-000003.ti", "rank-2.ti"]
        self.assertEqual(sorted(os.listdir(directory)), left)
        self.assertEqual(node.ask("remove", ranks=[[1, most]], **about)["removed"], 0)
        self.assertEqual(sorted(os.listdir(directory)), left)
        # NODE.json stays as long as a file has the name of one of its traces
        self.assertEqual(node.ask("remove", ranks=[[0, most]], **about)["removed"], 1)
        self.assertEqual(sorted(os.listdir(directory)), ["NODE.json"] + left[2:])
        os.unlink(directory + "/rank-000003.ti")
        self.assertEqual(node.ask("remove", ranks=[[0, most]], **about)["removed"], 0)
        self.assertEqual(os.listdir(directory), ["rank-2.ti"])
        # ... of any, if it does not say which
        for ranks in ({}, {"ranks": [[0, 1 << 60]]}, {"ranks": "all"}):
            run_json(ranks)
            self.assertEqual(node.ask("remove", ranks=[[0, 4]], **about)["removed"], 5)
            self.assertEqual(sorted(os.listdir(directory)),
                             ["NODE.json", "rank-000005.ti", "rank-2.ti"])
            self.assertEqual(node.ask("remove", ranks=[[5, 5]], **about)["removed"], 1)
            self.assertEqual(os.listdir(directory), ["rank-2.ti"])
        # ... and traces of others
        run_json({"ranks": [[0, 2]]})
        self.assertEqual(node.ask("remove", ranks=[[0, 2]], **about)["removed"], 3)
        self.assertNotIn("NODE.json", os.listdir(directory))
        # Other requests are answered meanwhile.
        for rank in range(6, 20000):
            os.link(directory + "/rank-000005.ti", "%s/rank-%06d.ti" % (directory, rank))
        node.write(b"".join(frame(MESSAGE, 0, json.dumps(r).encode()) for r in (
            {"do": "remove", "id": 500, "ranks": [[0, most]], **about},
            {"do": "beat", "id": 501, "every_ms": 0})))
        first = node.wait(lambda f: f[2].get("id") in (500, 501))[2]
        self.assertEqual(first["is"], "beat", first)
        self.assertEqual(node.told("remove", id=500)["removed"], 20000 - 3)
        self.assertEqual(os.listdir(directory), ["rank-2.ti"])
        self.assert_error(node.ask("remove", ranks=[[0, most], [0, 0]], **about), "ranks")
        self.assert_error(node.ask("remove", ranks=[[0, 0]], directory=directory + "/no",
                                   run_id=self.run_id), "/no")
        self.assertEqual(node.end(), 0)

    def test_list_and_crc_tell_of_traces_of_the_run(self):
        node = self.serve()
        directory = self.scratch + "/listed"
        self.traces(directory, 1203)
        about = dict(directory=directory, run_id=self.run_id)
        os.truncate(directory + "/rank-000007.ti", 100)
        with open(directory + "/rank-000009.ti", "wb") as f:
            f.write(b"not a trace")
        os.rename(directory + "/rank-000011.ti", directory + "/rank-11.ti")
        os.unlink(directory + "/rank-000012.ti")
        os.symlink("/etc/passwd", directory + "/rank-000012.ti")
        answer = node.ask("list", **about)
        self.assertEqual(answer["traces"], 1200, answer)
        self.assertIs(answer["exists"], True, answer)
        parts = [f[2] for f in node.frames if f[0] == MESSAGE and f[2]["is"] == "listed"]
        self.assertEqual([len(p["traces"]) for p in parts], [1000, 200])
        self.assertEqual(parts[0]["id"], answer["id"])
        found = {t[0]: t[1:] for p in parts for t in p["traces"]}
        self.assertEqual(list(found), [r for r in range(1203) if r not in (9, 11, 12)])
        for rank in (0, 7, 1202):
            st = os.stat("%s/rank-%06d.ti" % (directory, rank))
            self.assertEqual(found[rank], [st.st_size, st.st_ino, st.st_mtime_ns, rank != 7])
        node.frames.clear()
        answer = node.ask("list", directory=directory, run_id="0bad" * 8)
        self.assertEqual(answer["traces"], 0, answer)
        self.assertIs(answer["exists"], True, answer)
        answer = node.ask("list", directory=directory + "/no", run_id=self.run_id)
        self.assertEqual(answer["traces"], 0, answer)
        self.assertIs(answer["exists"], False, answer)
        self.assert_error(node.ask("list", directory=directory + "/keep"), "of which run")
        self.assert_error(node.ask("list", directory=directory + "/rank-000000.ti", run_id=self.run_id),
                          "rank-000000")
        answer = node.ask("crc", ranks=[[0, 2], [9, 9], [1202, 1300]], **about)
        self.assertEqual([c[0] for c in answer["crc"]], [0, 1, 2, 1202], answer)
        for rank, size, crc in answer["crc"]:
            with open("%s/rank-%06d.ti" % (directory, rank), "rb") as f:
                content = f.read()
            self.assertEqual((size, crc), (len(content), crc32c(content)))
        self.assert_error(node.ask("crc", ranks=[[0, 1000]], **about), "1000 ranks")
        self.assert_error(node.ask("crc", **about), "ranks")
        self.assert_error(node.ask("crc", ranks=[[0, 0]], directory=directory + "/no",
                                   run_id=self.run_id), "/no")
        self.assertEqual(node.end(), 0)

    def test_other_requests_are_answered_during_crc(self):
        node = self.serve()
        os.truncate(self.large(self.scratch + "/slow", 0, 1 << 16), 1 << 28)
        node.write(b"".join(frame(MESSAGE, 0, json.dumps(r).encode()) for r in (
            {"do": "crc", "id": 500, "ranks": [[0, 0]], "directory": self.scratch + "/slow", "run_id": self.run_id},
            {"do": "beat", "id": 501, "every_ms": 0})))
        first = node.wait(lambda f: f[2].get("id") in (500, 501))[2]
        self.assertEqual(first["is"], "beat", first)
        self.assertEqual(node.wait(lambda f: f[2].get("id") == 500)[2]["crc"][0][1], 1 << 28)
        os.unlink(self.scratch + "/slow/rank-000000.ti")
        self.assertEqual(node.end(), 0)

    def test_send_resumes_what_is_there_already(self):
        """Only if its checksum is the same."""
        node = self.serve()
        directory = self.scratch + "/from"
        self.traces(directory, 5)
        path = self.large(directory, 5, 300000)
        contents = []
        for rank in range(6):
            with open("%s/rank-%06d.ti" % (directory, rank), "rb") as f:
                contents.append(f.read())
        self.assertEqual(len(contents[5]), 300000)
        self.assertTrue(path)
        cut = 70001
        start = [[5, cut, crc32c(contents[5][:cut])], [0, 10, crc32c(contents[0][:10])],
                 [1, 10, 12345], [2, len(contents[2]), crc32c(contents[2])],
                 [3, 1 << 40, 0], [4, 0, 0], [77, 5, 5]]
        answer = node.ask("send", ranks=[[0, 5]], directory=directory, run_id=self.run_id, **{"from": start})
        self.assertEqual(answer["sent"], 6, answer)
        for rank, at in ((0, 10), (1, 0), (2, len(contents[2])), (3, 0), (4, 0), (5, cut)):
            told = node.told("sending", rank=rank)
            self.assertEqual((told["from"], told["bytes"]), (at, len(contents[rank])), told)
            self.assertEqual(node.output(rank, DATA), contents[rank][at:], rank)
            told = node.told("sent", rank=rank)
            self.assertEqual((told["bytes"], told["crc32c"]),
                             (len(contents[rank]), crc32c(contents[rank])))
        for bad in ({}, [1], [[1, 2]], [[1, -1, 0]], [[-1, 1, 0]], [[1, 1, 1 << 32]], [["1", 1, 1]]):
            self.assert_error(node.ask("send", ranks=[[0, 0]], directory=directory, run_id=self.run_id,
                                       **{"from": bad}), "from")
        self.assertEqual(node.end(), 0)

    def test_send_of_thousands_of_ranks_finds_what_is_there(self):
        node = self.serve()
        directory = self.scratch + "/many-named"
        self.traces(directory, 3)
        for rank in 1500, 2600, 4000:
            os.link(directory + "/rank-000001.ti", "%s/rank-%06d.ti" % (directory, rank))
        os.symlink("rank-000001.ti", directory + "/rank-002700.ti")
        os.mkdir(directory + "/rank-002800.ti")
        answer = node.ask("send", ranks=[[0, 3000], [1500, 1500], [4000, 4000]], directory=directory,
                          run_id=self.run_id)
        self.assertEqual(answer["sent"], 7, answer)
        told = [f[2] for f in node.frames if f[0] == MESSAGE and f[2]["is"] == "sent"]
        self.assertEqual([t["rank"] for t in told], list(range(3001)) + [1500, 4000])
        self.assertEqual([t["rank"] for t in told if "crc32c" in t],
                         [0, 1, 2, 1500, 2600, 1500, 4000])
        self.assertEqual({t["error"] for t in told if "crc32c" not in t and t["rank"] not in (2700, 2800)},
                         {"no trace"})
        self.assertEqual([t["error"] != "no trace" for t in told if t["rank"] in (2700, 2800)],
                         [True, True])
        self.assertEqual(node.end(), 0)

    def test_send_notices_files_that_change(self):
        node = self.serve()
        directory = self.scratch + "/noticed"
        self.large(directory, 0, 64 << 20)
        about = dict(directory=directory, run_id=self.run_id)
        for what in ("shorter", "changed"):
            node.frames.clear()
            path = self.large(directory, 0, 64 << 20)
            node.send({"do": "send", "id": 600, "ranks": [[0, 0]], **about})
            node.told("sending", rank=0)
            time.sleep(0.3)  # it is stuck
            if what == "shorter":
                os.truncate(path, 40 << 20)
            else:
                with open(path, "r+b") as f:
                    f.seek(50 << 20)
                    f.write(b"other")
            self.assertIn(what, node.told("sent", rank=0)["error"])
            self.assertEqual(node.wait(lambda f: f[0] == MESSAGE and f[2].get("id") == 600)[2]["sent"],
                             0)
        self.assertEqual(node.end(), 0)

    def test_send_of_a_file_removed_meanwhile_is_whole(self):
        node = self.serve()
        directory = self.scratch + "/unlinked"
        about = dict(directory=directory, run_id=self.run_id)
        path = self.large(directory, 0, 8 << 20)
        node.send({"do": "send", "id": 600, "ranks": [[0, 0]], **about})
        node.told("sending", rank=0)
        os.unlink(path)
        self.assertEqual(node.told("sent", rank=0)["bytes"], 8 << 20)
        self.assertEqual(node.end(), 0)

    def test_send_keeps_to_its_credit(self):
        node = self.serve()
        directory = self.scratch + "/credit"
        path = self.large(directory, 0, 1 << 20)
        self.large(directory, 1, 100)
        about = dict(directory=directory, run_id=self.run_id)

        def came(rank=0):
            return len(node.output(rank, DATA))
        for bad in (-1, "much", 1.5):
            self.assert_error(node.ask("send", ranks=[[0, 0]], credit=bad, **about), "credit")
        node.send({"do": "send", "id": 600, "ranks": [[0, 1]], "credit": 100000, **about})
        while came() < 100000:
            self.assertTrue(node.read())
        self.assertFalse(node.read(0.3))
        self.assertEqual(came(), 100000)
        self.assertGreater(len([f for f in node.frames if f[0] == DATA]), 3,
                           "not a piece at a time")
        for nothing in ({"credit": 0}, {"credit": -5}, {"credit": "all"}, {}):
            node.send({"do": "more", "id": 601, **nothing})
        self.assertFalse(node.read(0.3))
        self.assertEqual(came(), 100000)
        node.send({"do": "more", "id": 601, "credit": (1 << 20) - 100000})
        with open(path, "rb") as f:
            content = f.read()
        self.assertEqual(node.told("sent", rank=0)["crc32c"], crc32c(content))
        self.assertEqual(node.output(0, DATA), content)
        node.told("sending", rank=1)
        self.assertFalse(node.read(0.3))
        self.assertEqual(came(1), 0)
        node.send({"do": "more", "id": 601, "credit": (1 << 63) - 1})
        node.send({"do": "more", "id": 601, "credit": (1 << 63) - 1})
        self.assertEqual(node.told("sent", rank=1)["bytes"], 100)
        self.assertEqual(node.wait(lambda f: f[0] == MESSAGE and f[2].get("id") == 600)[2]["sent"],
                         2)
        node.send({"do": "more", "id": 601, "credit": 5})  # of nothing: nobody minds
        self.assertEqual(node.ask("beat", every_ms=0)["is"], "beat")
        self.assertFalse([f for f in node.frames if f[0] == MESSAGE and f[2].get("id") == 601])
        self.assertEqual(node.end(), 0)


def children(pid):
    """Processes that a process started, and that these did."""
    with open("/proc/%d/task/%d/children" % (pid, pid)) as f:
        found = [int(child) for child in f.read().split()]
    return found + [below for child in found for below in children(child)]


class Merged(NodeTest):
    """Ranks that are merged before they are sent."""

    def long_traces(self):
        """Traces that take a second or more to be merged; what names them in a request."""
        directory = self.scratch + "/long"
        os.mkdir(directory)
        subprocess.run([os.path.join(BUILD, "tests/mktrace"), "--np", "8", "--run-id", self.run_id,
                        "--iterations", "20000", "--noise", "1000000000", directory], check=True)
        return dict(directory=directory, run_id=self.run_id)

    def at_work(self, node):
        """The process that merges."""
        found = []

        def started():
            node.read(0)
            self.assertFalse([f for f in node.frames if f[0] == MESSAGE and f[2]["is"] == "sending"],
                             "merged before it was seen")
            found[:] = [pid for pid in children(node.process.pid)
                        if os.getpriority(os.PRIO_PROCESS, pid) >
                        os.getpriority(os.PRIO_PROCESS, node.process.pid)]
            return found
        wait_for(started)
        return found[0]

    def assert_files(self, node, directory):
        """All came as files, in spite of what happened."""
        for name in sorted(os.listdir(directory)):
            with open("%s/%s" % (directory, name), "rb") as f:
                content = f.read()
            told = node.told("sent", rank=int(name[5:11]))
            self.assertEqual((told["bytes"], node.output(int(name[5:11]), DATA)),
                             (len(content), content))

    def test_sound_ranks_come_merged_and_others_as_before(self):
        node = self.serve()
        directory = self.scratch + "/merged"
        self.traces(directory, 8)
        os.unlink(directory + "/rank-000004.ti")
        os.rename(directory + "/rank-000006.ti", directory + "/rank-000005.ti")
        with open(directory + "/rank-000006.ti", "wb") as f:
            f.write(b"not a trace")
        os.truncate(directory + "/rank-000007.ti", 400)
        there = sorted(os.listdir(directory))
        answer = node.ask("send", ranks=[[0, 1], [3, 7]], merge=True, directory=directory,
                          run_id=self.run_id)
        self.assertNotIn("not_merged", answer)
        listed = []
        for rank in 0, 1, 3, 7:
            with open("%s/rank-%06d.ti" % (directory, rank), "rb") as f:
                content = f.read()
            listed.append([rank, len(content), crc32c(content)])
        sending = node.told("sending", rank=0)
        self.assertEqual(sending["merged"], listed)
        subprocess.run([os.path.join(BUILD, "ti-info"), "-q", "--merge", "-o", self.scratch + "/want"] +
                       ["%s/rank-%06d.ti" % (directory, rank) for rank, _, _ in listed], check=True)
        with open(self.scratch + "/want", "rb") as f:
            want = f.read()
        told = node.told("sent", rank=0)
        self.assertEqual(node.output(0, DATA), want)
        self.assertEqual((sending["bytes"], told["bytes"], told["crc32c"]),
                         (len(want), len(want), crc32c(want)))
        self.assertEqual(node.told("sent", rank=4)["error"], "no trace")
        self.assertIn("no trace of this run", node.told("sent", rank=6)["error"])
        # one that is not what its name says is sent as it is
        with open(directory + "/rank-000005.ti", "rb") as f:
            self.assertEqual(node.output(5, DATA), f.read())
        self.assertEqual(answer["sent"], 5, answer)
        self.assertFalse([f for f in node.frames if f[0] == MESSAGE and f[2].get("rank") in (1, 3, 7)])
        # nothing to merge is no trouble
        answer = node.ask("send", ranks=[[4, 4], [6, 6]], merge=True, directory=directory, run_id=self.run_id)
        self.assertEqual((answer["sent"], answer.get("not_merged")), (0, None), answer)
        self.assertEqual(sorted(os.listdir(directory)), there)
        self.assertEqual(node.end(), 0)

    def test_ranks_to_be_merged_ascend_and_are_few(self):
        node = self.serve()
        directory = self.scratch + "/few"
        self.traces(directory, 2)
        for ranks in ([[1, 1], [0, 0]], [[0, 1], [1, 1]], [[0, 1000]]):
            self.assert_error(node.ask("send", ranks=ranks, merge=True, directory=directory,
                                       run_id=self.run_id), "to be merged must ascend")
        self.assertEqual(node.ask("send", ranks=[[0, 999]], merge=True, directory=directory,
                                  run_id=self.run_id)["sent"], 2)
        self.assertEqual(node.end(), 0)

    def test_merging_delays_nobody_and_tells_of_itself(self):
        node = self.serve()
        about = self.long_traces()
        node.send({"do": "send", "id": 600, "ranks": [[0, 7]], "merge": True, "credit": 0, **about})
        worker = self.at_work(node)
        os.kill(worker, signal.SIGSTOP)
        self.assertEqual(node.ask("list", **about)["traces"], 8)
        self.assert_error(node.ask("send", ranks=[[0, 7]], **about), "one \"send\" at a time")
        os.kill(worker, signal.SIGCONT)
        node.told("merging")
        node.told("sending", rank=0)
        node.send({"do": "more", "id": 601, "credit": 1 << 30})
        node.told("sent", rank=0)
        self.assertEqual(node.wait(lambda f: f[0] == MESSAGE and f[2].get("id") == 600)[2]["sent"], 8)
        self.assertEqual(node.end(), 0)

    def test_process_that_is_killed_costs_no_trace(self):
        node = self.serve()
        about = self.long_traces()
        node.send({"do": "send", "id": 600, "ranks": [[0, 7]], "merge": True, **about})
        os.kill(self.at_work(node), signal.SIGKILL)
        answer = node.wait(lambda f: f[0] == MESSAGE and f[2].get("id") == 600)[2]
        self.assertEqual(answer["sent"], 8, answer)
        self.assertIn("died", answer["not_merged"])
        self.assert_files(node, about["directory"])
        self.assertEqual(node.end(), 0)

    def test_merging_ends_with_the_channel_and_with_the_server(self):
        for end in ("channel", "server"):
            with self.subTest(end):
                node = self.serve()
                about = self.long_traces()
                node.send({"do": "send", "id": 600, "ranks": [[0, 7]], "merge": True, **about})
                worker = self.at_work(node)
                if end == "channel":
                    self.assertEqual(node.end(), 0)
                else:
                    os.kill(children(node.process.pid)[0], signal.SIGKILL)
                    node.process.wait()
                wait_for(lambda pid=worker: not os.path.exists("/proc/%d" % pid))
                self.assertEqual(len(os.listdir(about["directory"])), 8)
                shutil.rmtree(about["directory"])

    def test_full_disk_costs_no_trace(self):
        node = self.serve()
        about = self.long_traces()
        disk = self.scratch + "/disk"
        os.mkdir(disk)
        if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16m", "none", disk],
                          stderr=subprocess.DEVNULL).returncode:
            self.skipTest("not root")
        try:
            for name in os.listdir(about["directory"]):
                shutil.copy(about["directory"] + "/" + name, disk)
            room = os.statvfs(disk).f_bavail * os.statvfs(disk).f_bsize - 65536
            with open(disk + "/fill", "wb") as f:
                f.write(b"x" * room)
            about["directory"] = disk
            node.send({"do": "send", "id": 600, "ranks": [[0, 7]], "merge": True, **about})
            answer = node.wait(lambda f: f[0] == MESSAGE and f[2].get("id") == 600)[2]
            self.assertIn("No space left", answer["not_merged"])
            os.unlink(disk + "/fill")
            self.assert_files(node, disk)
            self.assertEqual(node.end(), 0)
        finally:
            subprocess.run(["umount", disk], check=True)


class Heartbeats(NodeTest):
    """Heartbeats, in both directions."""

    def test_heartbeats_come_and_do_not_pile_up(self):
        node = self.serve()
        self.opened(node)
        self.assert_error(node.ask("beat", every_ms=-1), "every_ms")
        self.assertEqual(node.ask("beat", every_ms=20)["is"], "beat")
        for _ in range(3):
            self.assertNotIn("id", node.told("beat"))
        # nobody reads for a while: they do not pile up
        begin = time.monotonic()
        node.ask("spawn", stream=1, command="exec yes")
        node.ask("beat", every_ms=20)
        wait_for(lambda: in_pipe(node.process.stdout) > 40000)  # and it takes little more
        slept = time.monotonic()
        time.sleep(1.5)
        slept = time.monotonic() - slept
        node.ask("kill", stream=1)
        node.told("ended")
        read = (time.monotonic() - begin - slept) / 0.02  # as many as may have come while we read
        self.assertLess(len([f for f in node.frames if f[0] == MESSAGE and f[2]["is"] == "beat"]),
                        20 + read)
        node.ask("beat", every_ms=0)
        node.frames.clear()
        self.assertFalse(node.read(0.2), "still beating")
        self.assertEqual(node.end(), 0)

    def test_node_ends_when_nothing_is_said_to_it(self):
        node = self.serve()
        self.opened(node)
        self.assert_error(node.ask("beat", every_ms=20, listen_ms=-1), "listen_ms")
        pid = node.ask("spawn", stream=1, command="exec sleep 9999")["pid"]
        node.ask("beat", every_ms=20, listen_ms=60000)
        node.told("beat")
        # from now on nothing is said to it, and its input stays open
        node.ask("beat", every_ms=20, listen_ms=700)
        while node.read():
            pass
        self.assertEqual(node.process.wait(), 0)
        self.assertFalse(os.path.exists("/proc/%d" % pid), "what it ran is still there")


class Disk(NodeTest):
    """A disk without room."""

    def test_full_disk_is_an_error_and_leaves_nothing(self):
        disk = self.scratch + "/disk"
        os.mkdir(disk)
        if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "none", disk],
                          stderr=subprocess.DEVNULL).returncode:
            self.skipTest("not root")
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
            node = self.serve()
            self.assert_error(node.ask("open", run_id=self.run_id, trace_dir=disk + "/run", np=1,
                                       ranks=[[0, 0]], node="n"), "No space left")
            self.assertFalse(os.path.exists(disk + "/run/NODE.json"))
            self.assertEqual(node.ask("facts", trace_dir=disk)["trace_dir"]["free_bytes"], 0)
            self.assertEqual(node.end(), 0)
        finally:
            subprocess.run(["umount", disk], check=True)


if __name__ == "__main__":
    unittest.main()
