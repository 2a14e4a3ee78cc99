"""A simulated machine in words: what ti-replay calls its platform, and SimGrid calls its links."""

import re

SCALES = ((1e18, "quintillion"), (1e15, "quadrillion"), (1e12, "trillion"), (1e9, "billion"), (1e6, "million"))
POWERS = {"": 1, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15, "E": 1e18, "Ki": 2 ** 10, "Mi": 2 ** 20,
          "Gi": 2 ** 30, "Ti": 2 ** 40}
SECONDS = {"s": 1, "ms": 1e-3, "us": 1e-6, "ns": 1e-9, "ps": 1e-12}
QUANTITY = re.compile(r"^([0-9.]+(?:e[-+]?[0-9]+)?)([a-zA-Z]*)$")
GENERATED = re.compile(r"^((?:cluster|fat-tree|torus|dragonfly|hierarchical)(?::[0-9,;]+)?) of (\d+) hosts, (.+)$")


def large(value):
    """A number with its scale in words: 8 billion."""
    for factor, name in SCALES:
        if value >= factor:
            return f"{value / factor:.3g} {name}"
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"


def parsed(text):
    """The value of such an option, and its kind: s, B (a second) or f (a second); (None, "") if it is none."""
    found = QUANTITY.match(text)
    number, unit = (float(found[1]), found[2]) if found else (0, "")
    if unit in SECONDS:
        return number * SECONDS[unit], "s"
    if unit[-3:] in ("bps", "Bps") and unit[:-3] in POWERS:
        return number * POWERS[unit[:-3]] / (8 if unit[-3] == "b" else 1), "B"
    if unit[-1:] == "f" and unit[:-1] in POWERS:
        return number * POWERS[unit[:-1]], "f"
    return None, ""


def quantity(text):
    """A speed, bandwidth or latency of an option in words; the text itself if it is none."""
    value, of = parsed(text)
    return {"s": time, "B": rate, "f": lambda v: f"{large(v)} operations/s"}[of](value) if of else text


def time(seconds):
    for unit, factor in (("s", 1), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= factor:
            return f"{seconds / factor:.4g} {unit}"
    return f"{seconds * 1e9:.4g} ns"


def rate(bytes_per_second):
    for unit, factor in (("TB/s", 1e12), ("GB/s", 1e9), ("MB/s", 1e6), ("kB/s", 1e3)):
        if bytes_per_second >= factor:
            return f"{bytes_per_second / factor:.4g} {unit}"
    return f"{bytes_per_second:.4g} B/s"


class Machine:
    """A generated platform: its topology, and its speed, bandwidths and latencies as options have them."""

    def __init__(self, topology, hosts, values):
        self.topology, self.hosts = topology, hosts
        self.kind, _, parameters = topology.partition(":")
        self.parameters = [[int(n) for n in part.split(",") if n] for part in parameters.split(";")]
        self.speed, self.bandwidths, self.latencies = (
            [v for v in values if parsed(v)[1] == kind] for kind in ("f", "B", "s"))

    def options(self):
        """The options of ti-replay that make this machine."""
        hosts = ["--hosts", str(self.hosts)] if self.kind == "cluster" else []
        return ["--topology", self.topology, *hosts, "--speed", self.speed[0], "--bandwidth",
                ",".join(self.bandwidths), "--latency", ",".join(self.latencies)]

    def option_text(self):
        """These options as the shell takes them."""
        return " ".join(f"'{word}'" if ";" in word else word for word in self.options())

    def network(self):
        first = self.parameters[0] or [0]
        return {"cluster": "behind one switch",
                "fat-tree": f"in a fat tree of {first[0]} level{'s' * (first[0] != 1)}",
                "torus": f"in a torus of {' x '.join(map(str, first))}",
                "dragonfly": f"in a dragonfly of {first[0]} groups",
                "hierarchical": f"in a hierarchical network of {first[-1]} supergroups"}[self.kind]

    def name(self):
        return f"{self.hosts:,} host{'s' * (self.hosts != 1)} {self.network()}"

    def values(self, unit=None, rates=False):
        """Cores and links.  unit: of the volumes that a core works off."""
        speed = parsed(self.speed[0])[0]
        work = f"of {large(speed)} {unit or 'operations'} a second"
        if rates:
            work = "as fast as the machine of the rate file"
        elif unit == "nanoseconds":  # a volume is then the time that a burst took where it was traced
            factor = "" if speed == 1e9 else f"{speed / 1e9:.3g} times "
            work = f"{factor}as fast as the machine that traced"
        each = [f"{quantity(self.bandwidths[min(i, len(self.bandwidths) - 1)])} and "
                f"{quantity(self.latencies[min(i, len(self.latencies) - 1)])}"
                for i in range(max(len(self.bandwidths), len(self.latencies)))]
        where = [""] if len(each) == 1 else [f" at level {i + 1}" for i in range(len(each))]
        return f"cores {work} and links of " + ", ".join(a + b for a, b in zip(each, where))

    # --- the links ---

    def switches(self):
        """The switches of a fat tree by level, from the hosts up: how many each has."""
        _, down, up, _ = self.parameters
        out = []
        for level in range(1, len(down) + 1):
            count = 1
            for i in range(len(down)):
                count *= up[i] if i < level else down[i]
            out.append(count)
        return out

    def ends(self, link):
        """The two ends of a link as the picture of the platform names them, and whether the link carries
        what the first end sends.  None if they cannot be told."""
        name, _, way = link.rpartition("_")
        if way not in ("UP", "DOWN"):
            return None
        found = self._ends(name)
        return found and (*found, way == "UP")

    def _ends(self, name):
        if self.kind == "cluster" and (found := re.match(r"nodes_link_(\d+)$", name)):
            return f"node-{found[1]}", "switch"
        if self.kind == "torus" and (found := re.match(r"nodes_link_from_(\d+)_to_(\d+)$", name)):
            return f"node-{found[1]}", f"node-{found[2]}"
        if self.kind == "hierarchical" and (found := re.match(r"(remote-)?(\d+):(\d+)$", name)):
            kind = "supergroup" if found[1] else "node"
            return f"{kind}-{found[2]}", f"{kind}-{found[3]}"
        if self.kind == "dragonfly":
            return self._dragonfly(name)
        if self.kind == "fat-tree" and (found := re.match(r"link_from_(\d+)_(\d+)_\d+$", name)):
            # SimGrid numbers switches downwards from twice the number of hosts.  The second end is
            # always one; a number below that of the hosts is a host only beneath the first level.
            parent = self._switch(2 * self.hosts - 1 - int(found[2]))
            child = f"node-{found[1]}" if parent and parent.startswith("switch-1-") else \
                self._switch(2 * self.hosts - 1 - int(found[1]))
            return (child, parent) if child and parent else None
        if self.kind == "fat-tree" and (found := re.match(r"l(\d+)$", name)):
            return self._numbered(int(found[1]))
        return None

    def _switch(self, number):
        for level, count in enumerate(self.switches(), 1):
            if 0 <= number < count:
                return f"switch-{level}-{number}"
            number -= count
        return None

    def _numbered(self, number):
        """Link N of a fat tree whose levels differ: from the hosts up, each child's links together."""
        _, down, up, cables = self.parameters
        counts = [self.hosts, *self.switches()]
        for level, count in enumerate(counts[:-1]):
            links = count * up[level] * cables[level]
            if number < links:
                child, parent = number // (up[level] * cables[level]), number // cables[level] % up[level]
                below = 1  # the digits of a position: parents below this level, children from it on
                for i in range(level):
                    below *= up[i]
                position = child // below // down[level] * below * up[level] + parent * below + child % below
                return (f"switch-{level}-{child}" if level else f"node-{child}"), f"switch-{level + 1}-{position}"
            number -= links
        return None

    def _dragonfly(self, name):
        if found := re.match(r"local_link_from_router_(\d+)_to_node_\d+_(\d+)$", name):
            return f"node-{found[2]}", f"router-{found[1]}"
        if found := re.match(r"green_link_in_chassis_(\d+)_between_routers_(\d+)_and_(\d+)_\d+$", name):
            return f"router-{found[2]} of chassis {found[1]}", f"router-{found[3]}"
        if found := re.match(r"black_link_in_group_(\d+)_between_chassis_(\d+)_and_(\d+)_blade_(\d+)_\d+$", name):
            return f"chassis-{found[2]} of group {found[1]}", f"chassis-{found[3]}, by router {found[4]}"
        if found := re.match(r"blue_link_between_group_(\d+)_and_(\d+)_", name):
            return f"group-{found[1]}", f"group-{found[2]}"
        return None

    def link(self, name):
        """A link in words, from the end that sends to the one that receives: 'host 7 to switch 1 of
        level 1'; and its kind: 'hosts to level 1'.  None if the name tells neither."""
        ends = self.ends(name)
        if not ends:
            return None
        first, second = ends[:2] if ends[2] else (ends[1], ends[0])
        return f"{node(first)} to {node(second)}", f"{kind(first)} to {kind(second)}"


def node(name):
    """An end of a link in words."""
    if name == "switch":
        return "the switch"
    if found := re.match(r"switch-(\d+)-(\d+)$", name):
        return f"switch {found[2]} of level {found[1]}"
    return re.sub(r"^node-", "host ", re.sub(r"^(router|chassis|group|supergroup)-", r"\1 ", name))


def kind(name):
    """What such ends are, in words."""
    if found := re.match(r"switch-(\d+)-", name):
        return f"level {found[1]}"
    word = name.split("-")[0]
    return {"node": "hosts", "switch": "the switch", "chassis": "chassis"}.get(word, word + "s")


def machine_of(result):
    """The generated platform of a replay; None if it was another one, or is not told."""
    text = result.get("platform")
    found = GENERATED.match(text) if isinstance(text, str) else None
    if not found:
        return None
    try:
        made = Machine(found[1], int(found[2]), found[3].split(", "))
        sound = made.kind != "fat-tree" or [len(p) for p in made.parameters[1:]] == 3 * [made.parameters[0][0]]
    except (ValueError, IndexError):
        return None
    return made if sound and len(made.speed) == 1 and made.bandwidths and made.latencies else None


def in_words(result):
    """The machine of a result in a phrase, and the options that make it, or ''."""
    made = machine_of(result)
    if not made:
        return str(result.get("platform") or "the platform"), ""
    return f"{made.name()}, with {made.values(result.get('unit'), bool(result.get('rates')))}", made.option_text()
