"""A test bed as the trials of `faults` use it: hurt, mended, and searched for what is left.

Nothing here decides whether a trial passed.
"""
import glob
import os
import re
import shutil
import signal
import subprocess
import time

HERE = os.path.dirname(os.path.realpath(__file__))
REPO = os.path.dirname(os.path.dirname(HERE))
BED = os.path.join(HERE, "bed")
BUILD = os.path.realpath(os.environ.get("TI_BUILD") or os.path.join(REPO, "build"))
HOME = os.path.expanduser("~root")


class NoBed(Exception):
    """Beds cannot be made here."""


class Harness(Exception):
    """The trial itself failed, not the product."""


CROWDED_LOGIN_S = 60    # ConnectTimeout of ssh on crowded beds (Layout)


class Layout:
    """What `bed up` is told: so many nodes at so many sites, and who may log in where."""

    def __init__(self, sites, nodes, gateways, inner):
        self.sites, self.nodes, self.gateways, self.inner = sites, nodes, gateways, inner
        self.crowded = sites * nodes > 100    # a node has so little of a core that logins are slow

    def __str__(self):
        return "%dx%d%s%s" % (self.sites, self.nodes, "+gateways" if self.gateways else "",
                              "+inner" if self.inner else "")

    def options(self):
        words = ["--sites", str(self.sites), "--nodes", str(self.nodes), "--memory", "8GiB",
                 "--delay", "200us", "--front-delay", "200us"]
        return words + ["--gateways"] * self.gateways + ["--inner-ssh"] * self.inner


class Bed:
    """One bed, used for many trials of its layout."""

    def __init__(self, layout, name, share):
        self.layout, self.name, self.share = layout, name, share
        self.env = dict(os.environ, TI_BED=name, TI_BUILD=BUILD)
        for unwanted in ("SSH_AUTH_SOCK", "LD_PRELOAD", "TI_BED_ROOT"):
            self.env.pop(unwanted, None)
        self.state, self.with_ranks = None, []

    def __call__(self, *args, check=True):
        done = subprocess.run([BED, *args], env=self.env, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if check and done.returncode:
            if args[0] == "up" and done.returncode == 77:
                raise NoBed(done.stdout.strip())
            raise Harness("bed %s: %s" % (" ".join(args), done.stdout.strip()))
        return done.stdout

    def up(self):
        if self.state:
            return
        self("down")
        self.state = self("up", *self.layout.options(), "--share", self.share).strip()
        if self.layout.crowded:
            with open(self.state + "/front/home/.ssh/config", "a") as f:
                f.write("    ConnectTimeout %d\n" % CROWDED_LOGIN_S)
        with open(self.state + "/nodes") as f:
            self.nodes = self.targets = f.read().split()
        with open(self.state + "/all") as f:
            self.all = f.read().split()
        self.gateways = [n for n in self.all if n.startswith("gw.")]
        self.sites = sorted({n.split(".")[1] for n in self.nodes})
        self.keys = {}
        for name in ("front/home/.ssh/known_hosts", "inner/known_hosts"):
            if os.path.exists(os.path.join(self.state, name)):
                with open(os.path.join(self.state, name)) as f:
                    self.keys[name] = f.read()

    def down(self):
        self("down", check=False)
        self.state = None

    def boot(self, node):
        self("boot", node)

    def of_site(self, site):
        return [n for n in self.nodes if n.endswith("." + site)]

    def front(self, *words, **more):
        """A process on the front: `bed front` becomes the command."""
        return subprocess.Popen([BED, "front", *words], env=self.env, stdin=subprocess.DEVNULL, **more)

    def on(self, node, script, *args, check=True):
        return self("node", node, "sh", "-c", script, "sh", *args, check=check)

    def accept_key(self, node):
        """The person has found out that the node's new host key is right."""
        with open("%s/node/%s/host_key.pub" % (self.state, node)) as f:
            key = " ".join(f.read().split()[:2])
        for name, was in self.keys.items():
            lines = []
            for line in was.splitlines():
                names = line.split()[0]
                lines.append(names + " " + key if names.startswith(node + ",") else line)
            self.keys[name] = "\n".join(lines) + "\n"
            with open(os.path.join(self.state, name), "w") as f:
                f.write(self.keys[name])

    # --- Tiara on nodes

    def installed(self):
        """Paths of Tiara's cache on nodes that are up, as seen from here."""
        return [root + HOME + "/.cache/tiara" for root in map(self.root, self.nodes) if root]

    def remove_tiara(self):
        for folder in self.installed():
            shutil.rmtree(folder, ignore_errors=True)

    def install_clocks(self):
        """Every ti-node that is there becomes one that takes its time from /run/bed/clock."""
        clock = os.path.join(BUILD, "tests", "testbed", "ti-node-clock")
        for folder in self.installed():
            for f in glob.glob(folder + "/*/ti-node"):
                shutil.copy(clock, f + ".new")
                os.rename(f + ".new", f)

    # --- processes

    def processes(self, all_=False):
        """[(node, pid, command)] on nodes; without sshd's unless all_."""
        nodes = {self.of(n, "pidns"): n for n in self.all}
        nodes.pop(None, None)
        found = []
        for p in filter(str.isdigit, os.listdir("/proc")):
            try:
                node = nodes.get(os.readlink("/proc/%s/ns/pid" % p))
                command = node and command_of(p)
            except OSError:
                continue
            if command and (all_ or not re.match(r"sshd:|/usr/sbin/sshd ", command)):
                found.append((node, int(p), command))
        return sorted(found)

    def of(self, node, what):
        """The text of a file about a node, as "pid"; None: there is none."""
        try:
            with open("%s/node/%s/%s" % (self.state, node, what)) as f:
                return f.read().strip()
        except FileNotFoundError:
            return None

    def root(self, node):
        """The path of a node's / as seen from here; None: it is down."""
        pid = self.of(node, "pid")
        try:
            up = pid and os.readlink("/proc/%s/ns/pid" % pid) == self.of(node, "pidns")
        except OSError:
            return None
        return "/proc/%s/root" % pid if up else None

    def on_the_front(self):
        """[(pid, command)] of all that lives on the front."""
        with open(self.state + "/front/net") as f:
            net = f.read().strip()
        with open(self.state + "/front/pid") as f:
            keeper = f.read().strip()
        found = []
        for p in os.listdir("/proc"):
            try:
                if not p.isdigit() or p == keeper or os.readlink("/proc/%s/ns/net" % p) != net:
                    continue
                command = command_of(p)
            except OSError:
                continue
            if command:
                found.append((int(p), command))
        return found

    def kill_on(self, node, what, number=signal.SIGKILL):
        """Processes of the node whose command matches; how many they were."""
        found = [(p, c) for n, p, c in self.processes(True) if n == node and re.search(what, c)]
        return sum(kill(p, c, number) for p, c in found)

    def kill_on_front(self, what, number=signal.SIGKILL):
        return sum(kill(p, c, number) for p, c in self.on_the_front() if re.search(what, c))

    def wait_until_idle(self, seconds):
        """Until no process is left; (seconds it took, what is still there)."""
        start = time.monotonic()
        while True:
            left = ["%s %d %s" % x for x in self.processes()]
            left += ["front %d %s" % x for x in self.on_the_front()]
            if not left or time.monotonic() - start > seconds:
                return time.monotonic() - start, left
            time.sleep(0.2)

    # --- files

    def files(self, traces):
        """Files on nodes that are up and on the front; run directories only if `traces`."""
        cache = HOME + "/.cache"
        there = set()
        for node in self.all:
            root = self.root(node)
            for f in below(root, ["/tmp", "/var/tmp", "/dev/shm", HOME, "/scratch"]) if root else ():
                is_traces = f.startswith("/scratch/tiara") and not traces
                if not is_traces and f != cache and not f.startswith(cache + "/tiara") and \
                        f != "/scratch/.filled":
                    there.add("%s %s" % (node, f))
        there |= {"front " + f for f in below("", [self.state + "/front/tmp"])}
        with open(self.state + "/front/pid") as f:
            root = "/proc/%s/root" % f.read().strip()
        return there | {"front " + f for f in below(root, ["/dev/shm"])}


def below(root, folders):
    """Paths of all that is in `folders` of that root, on the same file systems."""
    for folder in folders:
        try:
            device = os.lstat(root + folder).st_dev
        except OSError:
            continue
        for at, inner, files in os.walk(root + folder):
            inner[:] = [d for d in inner if same_device(os.path.join(at, d), device)]
            for name in inner + files:
                yield os.path.join(at, name)[len(root):]


def same_device(path, device):
    try:
        return os.lstat(path).st_dev == device
    except OSError:
        return False


def command_of(pid):
    """A process's command; "" if it is a zombie."""
    with open("/proc/%s/cmdline" % pid, "rb") as f:
        return f.read().replace(b"\0", b" ").decode(errors="replace").strip()


def kill(pid, command, number):
    """Send a signal to the process if it still is the one with that command: on a busy machine
    another one may have its number by now."""
    try:
        process = os.pidfd_open(pid)
    except ProcessLookupError:
        return False
    try:
        is_it = command_of(pid) == command.strip()
        if is_it:
            signal.pidfd_send_signal(process, number)
        return is_it
    except (FileNotFoundError, ProcessLookupError):
        return False
    finally:
        os.close(process)
