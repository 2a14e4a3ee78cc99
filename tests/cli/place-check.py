"""What ti-acquire --dry-run --json planned for the nodes of a sites file, checked against
that file, read and reckoned anew.

place-check.py SITES JSON OPTION...
"""
import json
import re
import sys

UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}
MIB = 1 << 20


def size(text):
    m = re.fullmatch(r"\s*([0-9.]+)\s*([KMGTkmgt]?)i?[Bb]?\s*", text)
    return int(float(m[1]) * UNITS[m[2].lower()])


def expand(text):
    """graphene-[1-144]; commas only between brackets or inside them."""
    names = []
    for part in re.findall(r"(?:[^,\[]|\[[^\]]*\])+", text):
        m = re.fullmatch(r"\s*([^\[]*)\[([^\]]*)\](.*?)\s*", part)
        if not m:
            names.append(part.strip())
            continue
        for r in m[2].split(","):
            low, _, high = r.partition("-")
            for i in range(int(low), int(high or low) + 1):
                names.append(m[1] + str(i).zfill(len(low) if low[0] == "0" else 0) + m[3])
    return names


def read(path):
    """name -> (site, cluster, cores, memory, reserve, family), in the order of the file."""
    sections, defaults = [], {}
    for line in open(path):
        line = re.split(r"\s[;#]|^[;#]", line)[0].strip()
        if not line:
            continue
        if line.startswith("["):
            kind, _, name = line[1:-1].partition(" ")
            sections.append((kind, name.strip(), defaults if kind == "defaults" else {}))
        else:
            key, _, value = line.partition("=")
            sections[-1][2][key.strip()] = value.strip()
    sites = {name: keys for kind, name, keys in sections if kind == "site"}
    nodes = {}
    for kind, name, keys in sections:
        if kind != "cluster":
            continue
        keys = {**defaults, **keys}
        domain = sites[keys["site"]].get("domain", defaults.get("domain"))
        for node in expand(keys["nodes"]):
            if "." not in node and domain:
                node += "." + domain
            nodes[node] = (keys["site"], name, int(keys["cores"]), size(keys["memory"]),
                           size(keys["reserve"]) if "reserve" in keys else None,
                           keys.get("family"))
    return nodes


def option(name, default=None):
    return sys.argv[sys.argv.index(name) + 1] if name in sys.argv else default


def check(what, ok):
    if not ok:
        print("not so: " + what)
        sys.exit(1)


nodes = read(sys.argv[1])
answer = json.load(open(sys.argv[2]))
plan = answer["plan"]
np = int(option("--np"))
rank = plan["bytes_per_rank"]
mode = option("--mode", "")
folding = re.search(r"F-(?:\(\d+,)?(\d+)\)?$", mode)
fold = int(option("--fold", folding[1] if folding else 0))
most = int(option("--max-fold", 1 if mode[:1] == "R" or mode[:2] == "C-" else 0))
sites = re.match(r"CF?-\(?(\d+)", mode)

if "--mem-per-rank" in sys.argv:
    check("a rank has what tracing takes", size(option("--mem-per-rank")) < rank <
          size(option("--mem-per-rank")) + MIB)


def capacity(node):
    _, _, cores, memory, reserve, family = node
    if option("--family") not in (None, family):
        return 0
    if reserve is None:
        reserve = size(option("--reserve")) if option("--reserve") else max(256 * MIB, memory // 16)
    room = max(0, memory - reserve) // rank if rank else 1 << 60
    if most:
        room = min(room, cores * most)
    if fold:
        room = cores * fold if cores * fold <= room else 0
    return room


next_rank = 0
used = {}
places = []
order = list(nodes)
for n in plan["nodes"]:
    name, ranks = n["name"], n["ranks"]
    check(name + " is once in the plan, and in the file", name in nodes and name not in used)
    site, cluster, cores, memory, _, family = nodes[name]
    used[name] = ranks
    check(name + " is at its place", (n["site"], n["cluster"], n["cores"], n["memory_bytes"]) ==
          (site, cluster, cores, memory))
    check(name + " has ranks, from the next on", ranks > 0 and n["first_rank"] == next_rank)
    check(name + " holds its ranks", ranks <= capacity(nodes[name]))
    next_rank += ranks
    if not places or places[-1] != (site, cluster):
        places.append((site, cluster))
check("the sum of the ranks", next_rank == np == plan["np"] == answer["np"])
check("ranks are contiguous in a cluster", len(places) == len(set(places)))
runs = [s for i, (s, _) in enumerate(places) if i == 0 or places[i - 1][0] != s]
check("and at a site", len(runs) == len(set(runs)))
check("one family", len({nodes[n][5] for n in used}) == 1)
check("the number of sites", plan["sites_used"] == len(runs) ==
      (int(sites[1]) if sites else 1 if mode else len(runs)))
check("the number of nodes", plan["nodes_used"] == len(used))
foldings = [ranks / nodes[n][2] for n, ranks in used.items()]
check("folding factors", abs(plan["folding_least"] - min(foldings)) < 1e-6 and
      abs(plan["folding_most"] - max(foldings)) < 1e-6)
if fold:
    partial = [n for n, ranks in used.items() if ranks != fold * nodes[n][2]]
    check("at most one node with less than its fold", len(partial) <= 1)
for c in plan["clusters"]:
    mine = [ranks for n, ranks in used.items() if nodes[n][:2] == (c["site"], c["name"])]
    check("ranks of " + c["name"], sum(mine) == c["ranks"] and len(mine) == c["nodes_used"])
    check("nodes of " + c["name"], "--exclude" in sys.argv or c["nodes"] ==
          sum(n[:2] == (c["site"], c["name"]) for n in nodes.values()))
    if mine:
        check("folding of " + c["name"], abs(c["folding_most"] * nodes[next(
            n for n in used if nodes[n][:2] == (c["site"], c["name"]))][2] - max(mine)) < 1e-6)
        if not fold and option("--policy", "memory") != "compact":
            check("the same on all nodes of " + c["name"] + ", up to one",
                  max(mine) - min(mine) <= 1 if len(mine) == c["nodes"] else max(mine) <= 1)
if option("--policy") == "compact" and not sites and not mode:
    room, few = 0, 0
    for c in sorted(map(capacity, nodes.values()), reverse=True):
        if room >= np:
            break
        room, few = room + c, few + 1
    check("the fewest nodes, %d" % few, len(used) == few)
if rank and not sites and not mode and "--exclude" not in sys.argv:
    check("the largest number of ranks", plan["largest_np"] == sum(map(capacity, nodes.values())))
