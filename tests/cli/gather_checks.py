"""What the gather-*.sh scripts check with more than `json`: gather_checks.py FUNCTION ARGUMENT...

The output of ti-gather --json is in the file `out` of the working directory."""
import os
import random
import re
import sys
import zipfile
import zlib

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import jsonfile  # noqa: E402


def write_big_run():
    """A run of eight sites behind gateways and one without; one node is this machine."""
    sizes = [120, 64, 144, 92, 38, 80, 110, 60, 69, 1]
    nodes, rank = [], 0
    for s, size in enumerate(sizes):
        for i in range(size):
            n = 16384 // 778 + (len(nodes) < 16384 % 778)
            here = s == 9
            nodes.append({"name": "here" if here else "c%d-%d" % (s, i + 1),
                          "site": "site%d" % min(s, 8), "host": None if here else "c%d-%d" % (s, i + 1),
                          "gateway": "access.site%d" % s if s < 8 else None, "via": None,
                          "tiara": None, "directory": "/no/such/%d" % i, "ranks": [[rank, rank + n - 1]]})
            rank += n
    assert rank == 16384 and len(nodes) == 778
    jsonfile.write("big.run/RUN.json", {"run_id": "5eed" * 8, "np": 16384, "nodes": nodes})


def tree_is_as_documented(arity):
    """The tree of big.run is what gather/fetch/tree.h says, reckoned otherwise than gather/fetch/tree.c does."""
    run, out = jsonfile.read("big.run/RUN.json"), jsonfile.read("out")
    tree = out["tree"]
    names = [x["name"] for x in run["nodes"]]
    assert out["written"] is False and out["fetch"]["wanted"] == 16384 and out["fetch"]["nodes"] == 778
    assert [x["name"] for x in tree["nodes"]] == names
    assert sum(x["wanted"] for x in tree["nodes"]) == 16384
    assert arity == "auto" or str(tree["arity"]) == arity, tree["arity"]

    def parent(i, base):  # the last digit that is not 0, made 0
        digits, k = [], i
        while k:
            digits.append(k % base)
            k //= base
        digits[next(d for d, x in enumerate(digits) if x)] = 0
        return sum(x * base ** d for d, x in enumerate(digits))

    expected, rounds = {}, 1
    for s in range(9):
        site = [x for x in run["nodes"] if x["site"] == "site%d" % s and x["host"]]
        group = ([None] if s == 8 else []) + [x["name"] for x in site]
        for i, name in enumerate(group):
            if tree["arity"] == "star" or i == 0:
                expected[name] = None
            else:
                expected[name] = group[parent(i, tree["arity"] + 1)]
        n = 0
        while tree["arity"] != "star" and (tree["arity"] + 1) ** n < len(group):
            n += 1
        rounds = max(rounds, n)
    expected["here"] = None
    assert {x["name"]: x["parent"] for x in tree["nodes"]} == {n: expected[n] for n in names}

    def hops(name):
        return 1 if expected[name] is None else 1 + hops(expected[name])

    assert all(x["depth"] == hops(x["name"]) for x in tree["nodes"])
    assert tree["rounds"] == rounds and tree["depth"] == max(hops(n) for n in names)
    assert tree["connections"] == sum(expected[n] is None for n in names)
    of = list(expected.values())
    assert tree["most_children"] == max([of.count(n) for n in names])
    p = tree["predicted"]
    assert p["connect_seconds"] > 0 and p["total_seconds"] >= p["connect_seconds"]
    print(tree["arity"], p["connect_seconds"])


def plan_in_words_is_the_json():
    """The file `all` has each node below the one that it sends to."""
    tree = {x["name"]: x for x in jsonfile.read("out")["tree"]["nodes"]}
    above, seen, passes = [], {}, {}
    for line in open("all"):
        m = re.fullmatch(r"( +)([\w.-]+): (\d+) ranks?(?:; passes on (\d+) nodes?)?\n", line)
        if not m:
            continue
        level = len(m[1]) // 2 - 1
        above[level:] = [m[2]]
        assert m[2] not in seen
        seen[m[2]] = above[level - 1] if level else None
        assert int(m[3]) == tree[m[2]]["wanted"]
        passes[m[2]] = int(m[4] or 0)
    assert seen == {n: x["parent"] for n, x in tree.items()}
    below = dict.fromkeys(tree, 0)
    for n in tree:
        up = tree[n]["parent"]
        while up is not None:
            below[up] += 1
            up = tree[up]["parent"]
    assert passes == below


def write_sized_runs():
    """big.run with sizes: 100 MB a rank, and in many.json one that is no number."""
    run = jsonfile.read("big.run/RUN.json")
    for x in run["nodes"]:
        x["bytes"] = 10**8 * (x["ranks"][0][1] - x["ranks"][0][0] + 1)
    jsonfile.write("big.json", run)
    run["nodes"][3]["bytes"] = "many"
    jsonfile.write("many.json", run)


def sizes_bound_the_time():
    """Links of 100 Mbit/s at sites and of 1 Gbit/s here are the bound."""
    run, tree = jsonfile.read("sized.run/RUN.json"), jsonfile.read("out")["tree"]
    want = {x["name"]: x["bytes"] if x["host"] else 0 for x in run["nodes"]}
    assert {x["name"]: x["wanted_bytes"] for x in tree["nodes"]} == want
    sites = {x["site"] for x in run["nodes"]}
    site = max(sum(want[x["name"]] for x in run["nodes"] if x["site"] == s) for s in sites) / 12.5e6
    bound = max(site, sum(want.values()) / 125e6)
    p = tree["predicted"]
    assert abs(p["bound_seconds"] - bound) < 0.01, (p, bound)
    assert bound < p["total_seconds"] < 1.01 * bound + p["connect_seconds"], (p, bound)


def drawing_is_a_graph(path, nodes, edges):
    """The file is what Graphviz reads, and has so many nodes and edges."""
    text = open(path, encoding="utf-8").read()
    token = re.compile(r'\s*(?:("(?:[^"\\]|\\.)*")|(->|[{}\[\]=;,])|([A-Za-z_0-9.]+))', re.S)
    tokens, at = [], 0
    while text[at:].strip():
        m = token.match(text, at)
        assert m, "no token at %r" % text[at:at + 40]
        tokens.append(m[1] or m[2] or m[3])
        at = m.end()
    pos = 0
    found, links = set(), []

    def take(want=None):
        nonlocal pos
        t = tokens[pos]
        assert want is None or t == want, (t, want, tokens[pos - 5:pos + 5])
        pos += 1
        return t

    def attributes():
        while tokens[pos] != "]":
            assert re.fullmatch(r"\w+", take())
            take("=")
            take()
            if tokens[pos] == ",":
                take()
        take("]")

    def body():
        take("{")
        while tokens[pos] != "}":
            word = take()
            if word == "subgraph":
                take()
                body()
                continue
            if tokens[pos] == "=":
                take()
                take()
            else:
                if tokens[pos] == "->":
                    take()
                    links.append((word, take()))
                elif word not in ("node", "edge"):
                    found.add(word)
                if tokens[pos] == "[":
                    take()
                    attributes()
            take(";")
        take("}")

    take("digraph")
    take()
    body()
    assert pos == len(tokens)
    assert all(a in found and b in found for a, b in links)
    assert (len(found), len(links)) == (int(nodes), int(edges)), (len(found), len(links))


def write_claimed_run():
    """Many nodes that name many ranks, most of them the same."""
    nodes = [{"name": "n%d" % i, "site": "s%d" % (i % 10), "host": "n%d" % i, "gateway": None,
              "via": None, "tiara": None, "directory": "/no/such", "ranks": [[i, 999999]]}
             for i in range(10000)]
    jsonfile.write("claimed.run/RUN.json", {"run_id": "5eed" * 8, "np": 1000000, "nodes": nodes})


def claimed_ranks_are_wanted_once():
    """What nodes of claimed.run are asked for is what they name."""
    out = jsonfile.read("out")
    assert out["fetch"]["wanted"] == 1000000 and out["fetch"]["nodes"] == 10000
    assert [x["wanted"] for x in out["tree"]["nodes"]] == [1000000 - i for i in range(10000)]


def write_some_run():
    """Of some.run some ranks are here; a few are no traces, named otherwise, or links."""
    random.seed(7)
    np, here = 300, set(random.sample(range(300), 90))
    for r in range(np):
        path = "some.run/rank-%06d.ti" % r
        if r not in here:
            os.unlink(path)
        if r % 50 == 0:  # none of these is a trace that is here
            here.discard(r)
            with open(path, "wb") as f:
                f.write(b"short")
        elif r % 50 == 1:
            here.discard(r)
            if os.path.exists(path):
                os.rename(path, "some.run/rank-%d.ti" % r)
        elif r % 50 == 2:
            here.discard(r)
            if os.path.exists(path):
                os.unlink(path)
            os.symlink("/etc/passwd", path)
    nodes, claims = [], []
    for i in range(60):
        ranks = []
        for _ in range(random.randrange(4)):
            a = random.randrange(np)
            ranks.append([a, min(np - 1, a + random.choice([0, 1, 5, 40, 299]))])
        if i == 20:  # what is here is wanted from nobody
            ranks = [[r, r] for r in sorted(here)]
        nodes.append({"name": "n%d" % i, "site": None, "host": None if i == 7 else "n%d" % i,
                      "gateway": None, "via": None, "tiara": None,
                      "directory": os.path.realpath("some.run") if i == 7 else "/no/such",
                      "ranks": [[0, np - 1]] if i == 7 else ranks})
        named = {r for a, b in nodes[-1]["ranks"] for r in range(a, b + 1)}
        claims.append(set() if i == 7 else named - here)
    jsonfile.write("some.run/RUN.json", {"run_id": "5eed" * 8, "np": np, "nodes": nodes})
    expected = {"wanted": len(set().union(*claims)), "nodes": sum(bool(c) for c in claims)}
    jsonfile.write("expected", [expected, [len(c) for c in claims]])


def ranks_of_some_run_are_known():
    """What is here is wanted from nobody."""
    out, (fetch, wanted) = jsonfile.read("out"), jsonfile.read("expected")
    assert {k: out["fetch"][k] for k in fetch} == fetch, (out["fetch"], fetch)
    assert {x["name"]: x["wanted"] for x in out["tree"]["nodes"]} == {
        "n%d" % i: n for i, n in enumerate(wanted) if n}
    assert 0 < fetch["wanted"] < 300 and wanted[20] == wanted[7] == 0


def write_rude_run():
    """Names with sequences that a terminal would execute."""
    nodes = [{"name": "n%d" % i, "site": "s\x1b[31m\u009b1m", "gateway": "gate", "host": "n%d" % i, "via": None,
              "tiara": None, "directory": "/x", "ranks": [[i, i]]} for i in range(4)]
    jsonfile.write("escape/RUN.json", {"run_id": "5eed" * 8, "np": 4, "nodes": nodes})


def bundle_lacks_rank_1():
    """Not even bytes of a trace that was taken out again are in the bundle."""
    bundle, trace = open("run.tib", "rb").read(), open("kept/rank-000001.ti", "rb").read()
    assert trace[-5000:-4000] not in bundle
    assert open("kept/rank-000002.ti", "rb").read()[-5000:-4000] in bundle


def losses_are_told_alike(expected):
    """The same ranks are missing wherever the JSON tells of them; EXPECTED has for each node how
    many ranks it was to send, sent and did not."""
    j = jsonfile.read("out")
    nodes = j.get("tree", {}).get("nodes", [])
    told = " ".join("%s:%d/%d-%d" % (x["state"], x["wanted"], x["ranks"], x["missing"]) for x in nodes)
    assert told == expected, told
    fetch = j["fetch"]

    def ranks(ranges):
        return [r for first, last in ranges for r in range(first, last + 1)]

    missing = sorted(r for m in j["missing"] for r in ranks(m["ranks"]))
    assert sorted(r for x in fetch["failed"] for r in ranks(x["ranks"])) == missing
    for x in nodes:
        lost = [f for f in fetch["failed"] if f["node"] == x["name"]]
        assert sum(len(ranks(f["ranks"])) for f in lost) == x["missing"], (x, lost)
        assert not lost or x["error"], x
        for m in j["missing"]:
            for f in lost:
                if set(ranks(m["ranks"])) & set(ranks(f["ranks"])):
                    assert m["reason"] == "not fetched from node '%s': %s" % (x["name"], f["error"]), m
    nobodys = sum(len(ranks(f["ranks"])) for f in fetch["failed"] if f["node"] is None)
    assert sum(x["missing"] for x in nodes) + nobodys == fetch["wanted"] - fetch["ranks"] == len(missing)
    assert sum(x["ranks"] for x in nodes) == fetch["ranks"]
    assert abs(fetch["seconds"] - j["tree"]["seconds"]) < 0.001
    assert j["seconds"] >= fetch["seconds"] >= max(x["done_seconds"] for x in nodes) - 0.001 > 0


def fetch_is_part_of_the_time():
    """The seconds of the fetch are among those of the whole."""
    j = jsonfile.read("out")
    assert j["seconds"] >= j["fetch"]["seconds"], j


def bundle_tells_of_the_fetch(arity):
    """The file `said` is the output of ti-gather, `out` that of ti-info for the bundle."""
    tree, was = jsonfile.read("said")["tree"], jsonfile.read("out")["gathering"]
    assert str(was["arity"]) == arity
    alike = {k: v for k, v in was.items() if k not in ("links", "transports")}
    assert alike == {k: v for k, v in tree.items() if k != "nodes"}, alike
    assert [x[:3] for x in was["links"]] == [[x["name"], x["parent"], x["link_bytes"]] for x in tree["nodes"]]
    assert was["transports"] == {"via": 3}
    first = arity == "2"
    assert (was["ranks_again"], was["resumed_bytes"]) == ((1, 1536) if first else (0, 0)), was


def manifest_holds_all():
    """The manifest of lu.tib has what RUN.json and the traces say."""
    z = zipfile.ZipFile('lu.tib')
    assert z.testzip() is None
    m = jsonfile.read('lu.tib')
    assert m['format'] == 'tiara-bundle' and m['version'] == 1 and m['np'] == 6
    assert m['complete'] is True and m['missing'] == [] and m['incomplete'] == []
    assert m['command'] == 'lu -x' and m['application'] == 'app' and m['plan'] == {'folding': 3}
    assert m['counter'] == dict(backend='papi', event='PAPI_TOT_INS', unit='instructions', exact=False,
                                estimate=False,
                                calibration=dict(least=40, most=45, spread=1))
    assert m['acquisition']['note'] == 'tab\there'
    steps = m['acquisition']['steps']
    assert steps['run'] == 12.5 and steps['gather']['seconds'] >= steps['gather']['check_seconds'] >= 0
    assert [n['ranks'] for n in m['nodes']] == ['0-1', '2-3', '4-5']
    assert sum(r['events'] for r in m['ranks']) == m['totals']['events']
    for r in m['ranks']:
        data = z.read('rank-%06d.ti' % r['rank'])
        assert len(data) == r['bytes'] and '%08x' % zlib.crc32(data) == r['crc32']


if __name__ == "__main__":
    jsonfile.run_function(globals())
