"""The kinds of faults: what each hurts, when it may strike, and how it is mended.

KINDS is the list.  A kind is a class with

  where     what it hurts: "node", "gateway", "link", "tool"
  moments   of an acquisition or a gather (MOMENTS) at which it may strike
  lasts     (least, most) seconds until it ends by itself; None: it is mended when the tool has ended
  loses     whether traces on the node are gone for ever

and the methods strike(bed) and mend(bed).  `hurt` are the nodes that may be blamed.
"""
import os
import signal

from fault_bed import BUILD

# moment: (the step in whose progress it begins, most seconds that a fault waits from then on).
# A step's name is that of "progress" objects (tiara(7)); None is the start of the tool.
MOMENTS = {
    "acquire": {"before": None, "connecting": (None, 0.6), "survey": ("looking at the nodes", 0.3),
                "launch": ("opening", 4), "running": ("running", 3), "gathering": ("fetching", 0.4)},
    "gather": {"before": None, "connecting": (None, 0.6), "fetching": ("fetching", 1.5)},
}
ANY = ("before", "connecting", "survey", "launch", "running", "gathering", "fetching")
LATER = ANY[1:]
AT_WORK = ("launch", "running", "gathering", "fetching")


class Fault:
    where, moments, lasts, loses = "node", ANY, None, False

    def __init__(self, rng, moment, bed_layout):
        self.moment = moment
        self.share = rng.random()      # of the way through what can be chosen, once that is known
        self.wait = rng.random()       # part of the most seconds of the moment
        self.seconds = rng.uniform(*self.lasts) if self.lasts else None
        self.amount = rng.random()
        self.hurt, self.target, self.struck = [], "", None

    name = property(lambda self: type(self).__name__)

    def choose(self, bed):
        if self.where == "gateway":
            site = self.pick(bed.sites)
            self.target, self.hurt = "gw." + site, ["gw." + site] + bed.of_site(site)
        elif self.where == "link":
            self.target = self.pick(["front"] + bed.sites)
            self.hurt = bed.all if self.target == "front" else \
                [n for n in bed.all if n.endswith("." + self.target)]
        elif self.where == "node":
            self.target = self.pick(bed.targets)
            self.hurt = [self.target]
        else:
            self.target, self.hurt = "front", []

    def pick(self, list_):
        return list_[int(self.share * len(list_))]

    def strike(self, bed):
        raise NotImplementedError

    def mend(self, bed):
        pass

    def __str__(self):
        return "%s %s in %s%s" % (self.name, self.target, self.moment,
                                  " for %.1f s" % self.seconds if self.seconds else "")


# --- nodes -----------------------------------------------------------------------

class Crash(Fault):
    loses = True

    def strike(self, bed):
        bed("crash", self.target)

    def mend(self, bed):
        bed.boot(self.target)


class Vanish(Crash):
    def strike(self, bed):
        bed("vanish", self.target)


class Reboot(Crash):
    """It comes back while the tool is at work."""
    lasts = (0.1, 5)


class Freeze(Fault):
    def strike(self, bed):
        bed("freeze", self.target)

    def mend(self, bed):
        bed("thaw", self.target)


class FreezeShort(Freeze):
    lasts = (1, 12)


class Cut(Fault):
    def strike(self, bed):
        bed("cut", self.target)

    def mend(self, bed):
        bed("mend", self.target)


class CutShort(Cut):
    lasts = (1, 60)


class DiskFull(Fault):
    def strike(self, bed):
        bed("fill", self.target, str(int(self.amount * 65536)))

    def mend(self, bed):
        bed.on(self.target, "rm -f /scratch/.filled")


class DirectoryLost(Fault):
    moments, loses = ("running", "gathering", "fetching"), True

    def strike(self, bed):
        bed.on(self.target, "rm -rf /scratch/tiara-*")


class LoginsDropped(Fault):
    """sshd takes few logins at a time (MaxStartups), and drops the others by chance."""
    moments = ("before",)

    def strike(self, bed):
        bed("sshd", self.target, "MaxStartups 1:%d:3" % (50 + 40 * self.amount))

    def mend(self, bed):
        bed("sshd", self.target)


class GatewayDropsLogins(LoginsDropped):
    where = "gateway"


class HostKeyChanged(Fault):
    moments = ("before",)

    def strike(self, bed):
        bed("rekey", self.target)

    def mend(self, bed):
        bed.accept_key(self.target)


class ClockWrong(Fault):
    """The node's clock is years off from some moment on: that of ti-node, which is replaced by one
    that is linked with clock.c."""

    def strike(self, bed):
        off = int((self.amount - 0.5) * 20 * 365 * 86400)
        with open("%s/node/%s/clock" % (bed.state, self.target), "w") as f:
            f.write("%d\n" % off)

    def mend(self, bed):
        os.unlink("%s/node/%s/clock" % (bed.state, self.target))


class TiNodeKilled(Fault):
    moments = LATER

    def strike(self, bed):
        if not bed.kill_on(self.target, r"^\S*ti-node serve"):
            self.struck = None


class RelayKilled(TiNodeKilled):
    """A node that has logged in to others, if there is any."""
    moments = ("connecting", "survey", "gathering", "fetching")

    def choose(self, bed):
        relays = sorted({n for n, _, c in bed.processes(True) if n in bed.nodes and
                         c.split(" ")[0].endswith("ssh")})
        self.target = self.pick(relays or bed.targets)
        self.hurt = bed.of_site(self.target.split(".")[1])


class LoginKilled(Fault):
    """sshd's process of the connection."""
    moments = LATER

    def strike(self, bed):
        if not bed.kill_on(self.target, r"^sshd: root"):
            self.struck = None


class RankKilled(Fault):
    moments = ("running",)

    def strike(self, bed):
        if not bed.kill_on(self.target, r"^\S*/blocks/"):
            self.struck = None


class DaemonKilled(Fault):
    """mpirun's, orted or prted."""
    moments = ("launch", "running")

    def strike(self, bed):
        if not bed.kill_on(self.target, r"^\S*(orted|prted) "):
            self.struck = None


# --- gateways and links ----------------------------------------------------------

class GatewayRestarts(Fault):
    where, lasts = "gateway", (0.1, 5)

    def strike(self, bed):
        bed("crash", self.target)

    def mend(self, bed):
        bed("boot", self.target)


class GatewayCut(Fault):
    where, lasts = "gateway", (1, 60)

    def strike(self, bed):
        bed("cut", self.target)

    def mend(self, bed):
        bed("mend", self.target)


class Link(Fault):
    where = "link"

    def settings(self):
        raise NotImplementedError

    def strike(self, bed):
        bed("link", self.target, *self.settings())

    def mend(self, bed):
        bed("link", self.target)


class LinkSlow(Link):
    def settings(self):
        return ["rate=1mbit"]


class LinkLate(Link):
    def settings(self):
        return ["delay=%dms" % (50 + 450 * self.amount)]


class LinkLoses(Link):
    def settings(self):
        return ["loss=%.2f%%" % (0.5 + 4.5 * self.amount)]


class LinkCut(Link):
    lasts = (1, 60)

    def settings(self):
        return ["loss=100%"]


class BytesFlipped(Link):
    """Which checksums of IP and TCP notice."""

    def settings(self):
        return ["flip=%.2f%%" % (0.5 + 2.5 * self.amount)]


class BytesForged(Link):
    """Which only SSH notices."""
    lasts = (2, 20)

    def settings(self):
        return ["forge=%.2f%%" % (0.1 + 0.9 * self.amount)]


# --- our own processes -----------------------------------------------------------

class Tool(Fault):
    where, moments, what, number = "tool", LATER, "", signal.SIGKILL

    def strike(self, bed):
        if not bed.kill_on_front(self.what, self.number):
            self.struck = None


class ToolKilled(Tool):
    what = r"^%s/ti-(acquire|gather) " % BUILD


class ToolInterrupted(ToolKilled):
    number = signal.SIGINT


class ToolStopped(ToolKilled):
    """As by Ctrl-Z, for a while."""
    number, lasts = signal.SIGSTOP, (1, 30)

    def mend(self, bed):
        bed.kill_on_front(self.what, signal.SIGCONT)


class MpirunKilled(Tool):
    moments, what = ("launch", "running"), r"^\S*mpirun "


KINDS = [Crash, Vanish, Reboot, Freeze, FreezeShort, Cut, CutShort, DiskFull, DirectoryLost,
         LoginsDropped, GatewayDropsLogins, HostKeyChanged, ClockWrong, TiNodeKilled, RelayKilled,
         LoginKilled, RankKilled, DaemonKilled, GatewayRestarts, GatewayCut, LinkSlow, LinkLate,
         LinkLoses, LinkCut, BytesFlipped, BytesForged, ToolKilled, ToolInterrupted,
         ToolStopped, MpirunKilled]


def draw(rng, tool, layout, only=None):
    """One or two faults for `tool`, "acquire" or "gather"."""
    faults = []
    for _ in range(2 if rng.random() < 0.2 else 1):
        kinds = [k for k in KINDS if (k.where != "gateway" or layout.gateways) and
                 set(k.moments) & set(MOMENTS[tool])]
        kind = rng.choice(kinds)
        if only and not faults:
            kind = only
        moment = rng.choice([m for m in MOMENTS[tool] if m in kind.moments])
        faults.append(kind(rng, moment, layout))
    return faults
