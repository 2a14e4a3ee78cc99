"""One trial of `faults`: what is run, what is done to it, and what must hold afterwards."""
import collections
import json
import os
import random
import re
import shutil
import subprocess
import threading
import time
import zipfile

import fault_kinds
from fault_bed import BUILD, CROWDED_LOGIN_S, Harness, Layout

ACQUIRE, GATHER, INFO = (os.path.join(BUILD, "ti-" + t) for t in ("acquire", "gather", "info"))

# Arguments that keep two ranks a node busy for some seconds, and give short traces.
PROGRAMS = {"ring": ["150", "2000", "100000"], "lu": ["16x16x24", "60"], "stencil": ["96", "250"],
            "cg": ["2048", "3"], "is": ["2000", "40"], "multigrid": ["16", "12"], "ep": ["4000000"]}
LAYOUTS = [Layout(1, 8, False, True), Layout(1, 8, False, False), Layout(2, 4, True, True),
           Layout(2, 4, True, False), Layout(3, 4, True, True), Layout(4, 3, True, True),
           Layout(2, 8, True, True), Layout(4, 8, True, True)]
LARGE = Layout(9, 87, True, True)    # the beds of every tenth seed
LARGE_NP = 64                        # ranks there, on as many of the nodes

# What nobody may exceed, from the end of all faults on.  An acquisition: its dry launch ends after
# 300 s and 0.5 s a rank; before it come logins (20 s, three retries) and the survey (2 x silence),
# behind it a gather.  A gather: ten timeouts without progress, and twice logins.  On a large bed each
# node has 1/400 of a core of this machine, so timeouts and logins may be longer.
class Times:
    def __init__(self, large):
        self.silence = 120 if large else 20   # --silence of ti-acquire
        self.timeout = 80 if large else 8     # --timeout of ti-gather
        logins = 4 * (CROWDED_LOGIN_S if large else 20)
        self.acquire = 300 + logins + 2 * self.silence + 240
        self.gather = 10 * self.timeout + 2 * logins + 30
        # Nodes that hear nothing end their processes (lib/session/times.h).
        self.nodes_end = max(self.silence, 60) + 10 + 20


# So long the kernel remembers that a node gave no answer to ARP ("No route to host").
NO_ROUTE_S = 3


class Wrong(Exception):
    """What must not be."""


def file_text(path):
    try:
        with open(path, errors="replace") as f:
            return f.read()
    except FileNotFoundError:
        return ""


def dump(trace):
    """{rank: [event, ...]} of all ranks in a bundle or run directory."""
    done = subprocess.run([INFO, "--dump", trace], stdin=subprocess.DEVNULL, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    ranks, now = {}, []
    for line in done.stdout.splitlines():
        at = re.match(r"# rank (\d+)", line)
        if at:
            now = ranks.setdefault(int(at[1]), [])
        elif not line.startswith("#"):
            now.append(line)
    return ranks, done


class References:
    """Traces of undisturbed runs on this machine, made once for each program and number of ranks."""

    def __init__(self, folder):
        self.folder, self.lock, self.known = folder, threading.Lock(), {}

    def get(self, program, np):
        with self.lock:
            if (program, np) not in self.known:
                self.known[program, np] = self.make(program, np)
            return self.known[program, np]

    def make(self, program, np):
        path = os.path.join(self.folder, "%s.%d.tib" % (program, np))
        if not os.path.exists(path):
            words = [ACQUIRE, "-q", "--local", "--pilot", "no", "--mem-per-rank", "32M", "-c", "blocks",
                     "--np", str(np), "--trace-dir", path + ".run", "--force", "-o", path,
                     os.path.join(BUILD, "blocks", program), *PROGRAMS[program]]
            done = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
                                  stderr=subprocess.STDOUT,
                                  env=dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1",
                                           OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1"))
            if done.returncode:
                raise Harness("no reference of %s: %s" % (program, done.stdout[-2000:]))
        return dump(path)[0]


class Setting:
    """All that a seed decides."""

    def __init__(self, seed, layout=None, only=None):
        rng = random.Random(seed)
        drawn = rng.choice(LAYOUTS)
        self.seed, self.layout = seed, layout or (LARGE if seed % 10 == 0 else drawn)
        nodes = self.layout.sites * self.layout.nodes
        self.large = nodes > 100
        self.times = Times(self.large)
        self.np = nodes * rng.choice([1, 1, 2] if nodes > 12 else [1, 2, 3])
        if self.large:
            self.np = LARGE_NP
        names = sorted(PROGRAMS)
        if self.np & (self.np - 1):
            names.remove("cg")
        self.program = rng.choice(names)
        self.tool = rng.choice(["acquire", "acquire", "gather"])
        self.merge = rng.choice(["auto", "auto", "root", "node", "none"])
        self.arity = rng.choice(["star", "1", "2", "4", "auto"])
        self.transport = rng.choice(["auto", "auto", "libssh2", "openssh"])
        self.more = rng.choice([[], [], ["--keep-going"], ["--retry", "1"], ["--tolerate", "1"],
                                ["--no-dry-launch"], ["--keep"]])
        self.fresh = rng.random() < 0.3    # nodes lack Tiara
        self.faults = fault_kinds.draw(rng, self.tool, self.layout, only)
        # 2 MB a node take long at 1 Mbit/s, and are no fault; a ti-node with a wrong clock is not sent
        self.sent_before = any(f.name in ("LinkSlow", "ClockWrong") for f in self.faults)
        self.fresh = self.fresh and not self.sent_before

    def __str__(self):
        return "%s %s%s %d ranks of %s, merge %s, %s%s" % (
            self.layout, self.tool, " to fresh nodes" if self.fresh else "", self.np, self.program,
            self.merge, self.transport,
            ", arity " + self.arity if self.tool == "gather" else "".join(" " + m for m in self.more))


class Trial:
    def __init__(self, setting, bed, references, folder):
        self.s, self.bed, self.folder = setting, bed, folder
        self.references = references
        self.reference = references.get(setting.program, setting.np)
        self.run = os.path.join(folder, "t.run")
        self.out = os.path.join(folder, "t.tib")
        self.outcome, self.noticed, self.idle, self.log = "", 0.0, 0.0, []
        self.told = []    # runs that a message said to clean

    # --- running tools

    def acquire(self, *more):
        s = self.s
        return [ACQUIRE, "--sites", self.bed.state + "/sites.conf", "--np", str(s.np), "-c", "blocks",
                "--mem-per-rank", "64MiB", "--silence", str(s.times.silence), "--transport", s.transport,
                "--merge", s.merge, "--trace-dir", self.run, "-o", self.out, "--progress", "json", *more,
                os.path.join(BUILD, "blocks", s.program), *PROGRAMS[s.program]]

    def gather(self, *more):
        s = self.s
        return [GATHER, "--trust", "--timeout", str(s.times.timeout), "--arity", s.arity, "--transport",
                s.transport, "--merge", s.merge, "--progress", "json", "--force", *more, self.run, "-o",
                self.out]

    def start(self, words):
        self.err = os.path.join(self.folder, "err.%d" % len(self.log))
        with open(self.err, "w") as err, open(os.path.join(self.folder, "out"), "w") as out:
            return self.bed.front(*words, cwd=self.folder, stdout=out, stderr=err)

    def said(self):
        return "\n".join(x for x in file_text(self.err).splitlines() if not x.startswith('{"progress"'))

    def undisturbed(self, what, words, limit):
        """Runs a tool to its end; its status."""
        tool = self.start(words)
        try:
            status = tool.wait(limit)
        except subprocess.TimeoutExpired:
            tool.kill()
            tool.wait()
            raise Wrong("%s did not end within %d s" % (what, limit))
        self.log.append("%s: status %d" % (what, status))
        return status

    # --- faults

    def due(self, fault, started, seen):
        """When the fault is to strike, or None as long as that is not known."""
        after = fault_kinds.MOMENTS[self.s.tool][fault.moment]
        if after is None:
            return started
        step, most = after
        begun = started if step is None else seen.get(step)
        return None if begun is None else begun + fault.wait * most

    def targets(self, fault):
        """Nodes that may be hurt.  Few of a large bed have ranks: once a gather has told which,
        another one is hurt only while an acquisition has not chosen yet."""
        early = self.s.tool == "acquire" and fault.moment in ("before", "connecting", "survey")
        return self.bed.nodes if early or not self.s.large else self.bed.with_ranks or self.bed.nodes

    def strike(self, fault):
        self.bed.targets = self.targets(fault)
        fault.choose(self.bed)
        if fault.where != "tool" and any(f.target == fault.target for f in self.struck()):
            return    # what is hurt already is left alone
        fault.struck = time.monotonic()
        fault.strike(self.bed)
        if fault.struck is not None:
            self.log.append("%s (struck)" % fault)

    def mend(self, fault):
        if fault.struck is not None and not getattr(fault, "mended", None):
            fault.mended = time.monotonic()
            fault.mend(self.bed)
            self.log.append("%s (mended)" % fault)

    def disturbed(self, words, limit):
        """Runs the tool and the faults; its status."""
        waiting, seen = list(self.s.faults), {}
        for fault in [f for f in waiting if f.moment == "before"]:
            self.strike(fault)
            waiting.remove(fault)
        started = last = time.monotonic()
        tool = self.start(words)
        with open(self.err, errors="replace") as err:
            line = ""
            while tool.poll() is None:
                now = time.monotonic()
                line += err.read()
                *whole, line = line.split("\n")
                for step in re.findall(r'"step":"([^"]*)"(?=.*ranks_started":%d\b|(?!.*ranks_started))'
                                       % self.s.np, "\n".join(whole)):
                    seen.setdefault(step, now)
                for fault in list(waiting):
                    due = self.due(fault, started, seen)
                    if due is not None and now >= due:
                        self.strike(fault)
                        waiting.remove(fault)
                for fault in self.s.faults:
                    if fault.struck is not None and fault.seconds and \
                            time.monotonic() > fault.struck + fault.seconds:
                        self.mend(fault)
                last = max([last] + [f.mended for f in self.s.faults if getattr(f, "mended", None)] +
                           [f.struck for f in self.s.faults if f.struck])
                if time.monotonic() - last > limit:
                    tool.kill()
                    tool.wait()
                    raise Wrong("hangs: it did not end within %d s" % limit)
                time.sleep(0.02)
        ended = time.monotonic()
        struck = [f.struck for f in self.s.faults if f.struck is not None]
        self.noticed = ended - min(struck) if struck and tool.returncode else 0.0
        self.log.append("disturbed: status %d after %.1f s" % (tool.returncode, ended - started))
        return tool.returncode

    def struck(self):
        return [f for f in self.s.faults if f.struck is not None]

    # --- what must hold

    def names(self):
        """Hosts that the tool's messages name, ranges spelt out."""
        text, found = self.said(), set(re.findall(r"\b(?:n\d+|gw)\.site\d+\b", self.said()))
        for list_, site in re.findall(r"\bn\[([\d,-]+)\]\.(site\d+)", text):
            for part in list_.split(","):
                first, _, last = part.partition("-")
                found |= {"n%d.%s" % (i, site) for i in range(int(first), int(last or first) + 1)}
        return found

    def look_at_bundle(self, status):
        """What is in it is true.  The ranks that are not whole in it."""
        with zipfile.ZipFile(self.out) as z:
            manifest = json.loads(z.read("MANIFEST.json"))
        listed = {k: {r for x in manifest.get(k) or [] for first, last in x["ranks"]
                      for r in range(first, last + 1)} for k in ("missing", "incomplete")}
        ranks, done = dump(self.out)
        if done.returncode not in (0, 1):    # 1: ranks are missing
            raise Wrong("ti-info cannot read the bundle: %s" % done.stderr[-500:])
        for r, want in self.reference.items():
            got = ranks.get(r)
            if got is None and r not in listed["missing"]:
                raise Wrong("rank %d is not in the bundle, whose manifest does not miss it" % r)
            if got is not None and got != want and r not in listed["incomplete"]:
                raise Wrong("the trace of rank %d is not that of an undisturbed run" % r)
            if got is not None and got != want[:len(got)]:
                raise Wrong("the incomplete trace of rank %d is no beginning of an undisturbed one" % r)
        lacks = listed["missing"] | listed["incomplete"]
        if manifest["complete"] == bool(lacks):
            raise Wrong('the manifest says "complete": %s, and lacks %s' % (manifest["complete"], lacks))
        if not lacks:
            done = subprocess.run([INFO, "-q", "--verify", self.out], stdin=subprocess.DEVNULL, text=True,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            if done.returncode:
                raise Wrong("a complete bundle does not verify: %s" % done.stdout[-500:])
        elif status == 0:
            raise Wrong("status 0, and the bundle lacks %s" % sorted(lacks))
        elif status == 1:    # else the bundle is an earlier one
            self.must_name(lacks)
        return lacks

    def must_name(self, lacks):
        """All ranks that are missing or incomplete are named on stderr."""
        said = set()
        text = self.said()
        for list_ in re.findall(r"\branks? (\d[\d, -]*)", text) + \
                re.findall(r"ranks? (?:is|are) [^:\n]*: ([\d, -]*)", text) + \
                re.findall(r": (\d[\d, -]*)(?:\s|$|\.)", text):
            for first, last in re.findall(r"(\d+)(?:-(\d+))?", list_):
                said |= set(range(int(first), int(last or first) + 1))
        if "..." not in text and not lacks <= said:
            raise Wrong("ranks %s are missing and not named" % sorted(lacks - said))

    def judge(self, status):
        """What an ended tool says and left; what came of it in a word."""
        there = os.path.exists(self.out)
        lacks = self.look_at_bundle(status) if there else None
        if status == 0:
            if not there:
                raise Wrong("status 0, and there is no bundle")
            return "complete"
        if not self.struck():
            raise Wrong("status %d, and no fault had struck" % status)
        if status < 0 or status > 128:
            if not any(f.name in ("ToolKilled", "ToolInterrupted") for f in self.struck()):
                raise Wrong("it was ended by signal %d" % (-status if status < 0 else status - 128))
            return "killed"
        if status not in (1, 3, 4, 5, 6):
            raise Wrong("status %d" % status)
        own = [x for x in self.said().splitlines()
               if re.match(r"(ti-acquire|ti-gather): (?!warning)", x)]
        if not own:
            raise Wrong("status %d, and no message" % status)
        blamed = set().union(*[f.hurt for f in self.struck()])
        only_tool = all(f.where == "tool" for f in self.struck())
        if not only_tool and not self.names() & blamed:
            raise Wrong("it does not name what was hurt: %s" % ", ".join(sorted(blamed)[:4]))
        return "partial" if there and lacks else "gathered" if there else "failed"

    def left(self, traces):
        """Files that were not there before the trial.  Folders of a tool that was killed are removed
        by a run that begins a minute later; so are those of a ti-node, and --clean removes what it
        made for its run."""
        files = self.bed.files(traces) - self.files
        for node in {f.target for f in self.struck() if f.name in ("TiNodeKilled", "RelayKilled")}:
            own = r"/(tmp|dev/shm)/tiara-\w{6}(/lock)?"
            if not traces:
                own += r"|/(tmp/ompi|dev/shm/tiara)-[0-9a-f]{12}\..*"
            files = {f for f in files if not re.fullmatch("%s (%s)" % (re.escape(node), own), f)}
        if any(f.name == "ToolKilled" for f in self.struck()):
            files = {f for f in files if not re.match(r"front /.*/tiara-\w{6}(/\S*)?$", f)}
        return files

    def nothing_left(self, when, ended_by_signal=False):
        """No process within the nodes' timeout; no file but run directories, or after SIGKILL those
        that --clean removes."""
        took, left = self.bed.wait_until_idle(self.s.times.nodes_end)
        self.idle = max(self.idle, took)
        if left:
            raise Wrong("%s: still running after %d s: %s" % (when, took, "; ".join(left[:4])))
        if not ended_by_signal:
            files = self.left(False)
            if files:
                raise Wrong("%s: files are left: %s" % (when, "; ".join(sorted(files)[:6])))

    # --- the trial

    def prepare(self):
        """Before the faults: traces on nodes, for a gather."""
        self.files = self.bed.files(True)
        if self.s.tool == "gather":
            status = self.undisturbed("acquisition", self.acquire("--no-gather"),
                                      self.s.times.acquire)
            if status:
                raise Harness("the acquisition of an undisturbed run fails: %s" % self.said()[-1500:])
            with open(os.path.join(self.run, "RUN.json")) as f:
                self.bed.with_ranks = [n["name"] for n in json.load(f)["nodes"]]
        elif self.s.sent_before:
            status = self.undisturbed("probe", self.acquire("--probe"), self.s.times.acquire)
            if status:
                raise Harness("the probe of undisturbed nodes fails: %s" % self.said()[-1500:])
        if self.s.fresh:
            self.bed.remove_tiara()
        if any(f.name == "ClockWrong" for f in self.s.faults):
            self.bed.install_clocks()

    def finish(self, killed):
        """Once all is well again, the same command completes it, or a new run does."""
        whole = None
        if os.path.exists(os.path.join(self.run, "RUN.json")) and os.path.isdir(self.run):
            status = self.undisturbed("gather again", self.gather(), self.s.times.gather)
            if os.path.exists(self.out):
                whole = not self.look_at_bundle(status)
            if status not in (0, 1, 3, 4, 5):
                raise Wrong("gathering again ends with status %d" % status)
            self.nothing_left("after gathering again", killed)
        lost = any(f.loses for f in self.struck())
        if whole:
            how = "completed"
        elif self.s.tool == "gather" and not lost:
            raise Wrong("gathering again does not complete it: %s" % self.said()[-1500:])
        else:
            how = "run again"
        self.clean()
        if not whole:
            status = self.undisturbed("run again", self.acquire("--force"), self.s.times.acquire)
            if status or self.look_at_bundle(status):
                raise Wrong("running again ends with status %d: %s" % (status, self.said()[-1500:]))
            self.nothing_left("after running again")
        return how

    def clean(self):
        """What the run left is removed by --clean, here and on nodes."""
        for run in ([self.run] if os.path.isdir(self.run) else []) + self.told:
            words = [ACQUIRE, "--sites", self.bed.state + "/sites.conf", "--silence",
                     str(self.s.times.silence), "--clean", run]
            status = self.undisturbed("clean", words, self.s.times.gather)
            if status:
                raise Wrong("--clean ends with status %d: %s" % (status, self.said()[-1500:]))
        self.told = []
        files = self.left(True)
        if files:
            raise Wrong("after --clean: files are left: %s" % "; ".join(sorted(files)[:6]))

    def go(self):
        s = self.s
        self.prepare()
        words, limit = (self.acquire(*s.more), self.s.times.acquire) if s.tool == "acquire" else \
            (self.gather(), self.s.times.gather)
        try:
            status = self.disturbed(words, limit)
        finally:
            for fault in reversed(s.faults):
                self.mend(fault)
        self.told = re.findall(r"--clean ([0-9a-f]{12,})", self.said())
        if re.search("remains? on node|traces that are not in it stay", self.said()):
            with zipfile.ZipFile(self.out) as z:
                self.told.append(json.loads(z.read("MANIFEST.json"))["run_id"])
        outcome = self.judge(status)
        self.nothing_left("after the fault", outcome == "killed")
        time.sleep(NO_ROUTE_S)
        if outcome == "complete" and s.tool == "acquire" and "--keep" not in s.more:
            files = self.left(True)
            if os.path.isdir(self.run) or files:
                # a node that was away may keep its traces; --clean must find them
                self.log.append("traces stay: %s" % "; ".join(sorted(files)[:3]))
                if not self.told:
                    raise Wrong("traces stay, and nothing says so: %s" % "; ".join(sorted(files)[:3]))
                self.clean()
        elif outcome == "complete":
            self.clean()
        else:
            outcome += ", " + self.finish(outcome == "killed")
        self.outcome = outcome
        return outcome


def row(trial, setting, outcome, seconds):
    """The line of the log."""
    return collections.OrderedDict(
        seed=setting.seed, setting=str(setting),
        faults=[{"kind": f.name, "target": f.target, "moment": f.moment, "struck": f.struck is not None,
                 "seconds": round(f.seconds, 1) if f.seconds else None} for f in setting.faults],
        outcome=outcome, seconds=round(seconds, 1), noticed_s=round(trial.noticed, 1) if trial else 0,
        idle_s=round(trial.idle, 1) if trial else 0)


def remove(folder):
    shutil.rmtree(folder, ignore_errors=True)
