#!/usr/bin/env bash
# ti-gather --plan: who sends to whom, of 778 nodes at 9 sites, reckoned once more by a few
# lines of Python; --arity, --assume, --dot; and that no node is connected to.
cd "$(dirname "$0")/../.." || exit 1
. tests/cli/trace-lib.bash
command -v python3 >/dev/null || { echo "no python3"; exit 77; }
export HOME=$tmp/home
mkdir -p "$HOME" bin
# whoever connects all the same is found out
printf '#!/bin/sh\ntouch %s/connected\nexit 255\n' "$tmp" >bin/ssh
chmod +x bin/ssh
PATH=$tmp/bin:$PATH

# Eight sites behind gateways, one without; one node is this machine.
mkdir big.run
python3 - <<'END' || exit 1
import json
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
json.dump({"run_id": "5eed" * 8, "np": 16384, "nodes": nodes}, open("big.run/RUN.json", "w"))
END

# As gather/tree.h says it, and otherwise than gather/tree.c does it.
cat >reckon.py <<'END'
import json, sys
arity = sys.argv[1]
run, out = json.load(open("big.run/RUN.json")), json.load(open("out"))
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
END
for arity in 1 2 4 8 64 star auto; do
    run 0 ti-gather --plan --json --arity $arity big.run
    python3 reckon.py $arity || fail "arity $arity"
done
run 0 ti-gather --plan --json big.run
python3 reckon.py 4 || fail "the default is not 4"
run 0 ti-gather --plan --json --arity star --assume login-cpu=0.27s big.run
python3 - <<'END' || fail "what is assumed does not count: $(head -c 600 out)"
import json
p = json.load(open("out"))["tree"]["predicted"]
assert p["connect_seconds"] > 0.27 * 778 and "login-cpu=270ms" in p["assumed"], p
END

# for people: all of them, each below the one it sends to, in as many ranks as it has
run 0 ti-gather --plan -v big.run
says err "16384 ranks would be fetched first, from 778 nodes"
says out "site0: 120 nodes through access.site0"
says out "site8: 70 nodes, from here"
grep -qE '^arity 4: 4 rounds, 4 hops at most, [0-9]+ connections from here, 13 from a node at most$' out ||
    fail "rounds: $(tail -n 5 out)"
says out "predicted: all nodes connected after"
says out "assumed: rtt=20ms,"
cp out all
run 0 ti-gather --plan --json big.run
python3 - <<'END' || fail "the plan in words is not that in JSON"
import json, re
tree = {x["name"]: x for x in json.load(open("out"))["tree"]["nodes"]}
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
END
# ... unless -v, those that are like another one in a line
run 0 ti-gather --plan big.run
[ "$(wc -l <out)" -lt 90 ] || fail "a long plan: $(wc -l <out) lines"
says out "c0-[11,16,21]: 22 ranks each; pass on 4 nodes each, as c0-6"
run 0 ti-gather --plan --arity star big.run
says out "star: 778 connections from here"
# quiet, it is what was asked for, and nothing else
run 0 ti-gather --plan big.run
[ -s err ] || fail "not a word beside the plan"
cp out plan
run 0 ti-gather -q --plan big.run
cmp -s out plan || fail "another plan if quiet: $(diff plan out)"
[ -s err ] && fail "quiet, and says: $(cat err)"
run 0 ti-gather --plan --json big.run
sed '/^ "seconds"/d; /^  "seconds"/d' out >plan
run 0 ti-gather -q --plan --json big.run
sed '/^ "seconds"/d; /^  "seconds"/d' out | cmp -s - plan || fail "another plan in JSON if quiet: $(cat out)"
[ -s err ] && fail "quiet, and says: $(cat err)"
mktrace --np 3 here.run
run 0 ti-gather -q --plan here.run
says out "here.tib: would hold 3 of 3 ranks"
[ -s err ] && fail "quiet, and says: $(cat err)"
# what is here and what is to be fetched; what nobody has is missing
python3 - <<'END'
import json
json.dump({"np": 5, "run_id": "5eed" * 8, "nodes": [
    {"name": "a", "host": "a", "directory": "/a", "ranks": [[0, 2], [4, 4]]}]}, open("part.json", "w"))
END
mktrace --np 5 --run-id 5eed5eed5eed5eed5eed5eed5eed5eed part.run
rm part.run/rank-00000[14].ti
cp part.json part.run/RUN.json
run 0 ti-gather --plan part.run
says err "2 ranks would be fetched first, from 1 node"
says out "part.tib: would hold 5 of 5 ranks"
says out ", 2 of them to be fetched; here are 3 from 2 nodes, "
grep -q missing err && fail "missing, and to be fetched: $(cat err)"
rm part.run/rank-000003.ti
run 1 ti-gather --plan --json part.run
says err "1 rank is missing: 3"
python3 - <<'END' || fail "a plan of a part: $(cat out)"
import json
j = json.load(open("out"))
assert (j["ranks"], j["np"], j["complete"], j["fetch"]["wanted"]) == (2, 5, False, 2), j
assert j["missing"] == [{"ranks": [[1, 1], [4, 4]], "state": "on a node, to be fetched"},
                        {"ranks": [[3, 3]], "state": "missing", "reason": "no file"}], j["missing"]
END

# how long it takes, where RUN.json says how much nodes have: 100 MB a rank
run 0 ti-gather --plan big.run
says out "RUN.json does not say how much they have to send"
python3 - <<'END'
import json
run = json.load(open("big.run/RUN.json"))
for x in run["nodes"]:
    x["bytes"] = 10**8 * (x["ranks"][0][1] - x["ranks"][0][0] + 1)
json.dump(run, open("big.json", "w"))
run["nodes"][3]["bytes"] = "many"
json.dump(run, open("many.json", "w"))
END
mkdir sized.run many.run
cp big.json sized.run/RUN.json
cp many.json many.run/RUN.json
for arity in star 4 auto; do
    run 0 ti-gather --plan --json --arity $arity --assume site-rate=100mbit,headers=0% sized.run
    python3 - <<'END' || fail "sizes, arity $arity: $(head -c 2000 out)"
import json
run, tree = json.load(open("sized.run/RUN.json")), json.load(open("out"))["tree"]
want = {x["name"]: x["bytes"] if x["host"] else 0 for x in run["nodes"]}
assert {x["name"]: x["wanted_bytes"] for x in tree["nodes"]} == want
sites = {x["site"] for x in run["nodes"]}
site = max(sum(want[x["name"]] for x in run["nodes"] if x["site"] == s) for s in sites) / 12.5e6
bound = max(site, sum(want.values()) / 125e6)
p = tree["predicted"]
assert abs(p["bound_seconds"] - bound) < 0.01, (p, bound)
assert bound < p["total_seconds"] < 1.01 * bound + p["connect_seconds"], (p, bound)
END
done
run 0 ti-gather --plan --assume site-rate=100mbit sized.run
grep -qE '^predicted: all nodes connected after [0-9.]+ s, the last byte after [0-9.]+ s; the links alone take [0-9.]+ s$' out ||
    fail "times: $(tail -n 5 out)"
for bytes in '"many"' -1 1e3 35184372088833; do # of 100,000 nodes, that sum would be no number
    sed "s/\"many\"/$bytes/" many.json >many.run/RUN.json
    run 3 ti-gather --plan many.run
    says err "\"bytes\" is no number of bytes"
done
# of what is here already, nothing has to be sent
python3 - <<'END'
import json
run = json.load(open("part.json"))
run["nodes"][0]["bytes"] = 4000
json.dump(run, open("part.run/RUN.json", "w"))
END
run 1 ti-gather --plan --json part.run
grep -q '"wanted_bytes": 2000' out || fail "half of the ranks are here: $(cat out)"

# a drawing: each node, each link, and nothing that Graphviz would not take
cat >dot.py <<'END'
import re, sys
text = open(sys.argv[1]).read()
token = re.compile(r'\s*(?:("(?:[^"\\]|\\.)*")|(->|[{}\[\]=;,])|([A-Za-z_0-9.]+))', re.S)
tokens, at = [], 0
while text[at:].strip():
    m = token.match(text, at)
    assert m, "no token at %r" % text[at:at + 40]
    tokens.append(m[1] or m[2] or m[3])
    at = m.end()
pos = 0
nodes, edges = set(), []
def take(want=None):
    global pos
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
                edges.append((word, take()))
            elif word not in ("node", "edge"):
                nodes.add(word)
            if tokens[pos] == "[":
                take()
                attributes()
        take(";")
    take("}")
take("digraph")
take()
body()
assert pos == len(tokens)
assert all(a in nodes and b in nodes for a, b in edges)
print(len(nodes), len(edges))
END
run 0 ti-gather -q --plan --dot tree.dot big.run
[ "$(python3 dot.py tree.dot)" = "779 778" ] || fail "the drawing: $(python3 dot.py tree.dot)"
if command -v dot >/dev/null; then
    dot -Tcanon tree.dot >/dev/null || fail "Graphviz does not take the drawing"
fi
rm -f lonely.dot
run 0 ti-gather -q --dot lonely.dot here.run
[ "$(python3 dot.py lonely.dot)" = "1 0" ] || fail "a drawing without nodes: $(cat lonely.dot)"
run 4 ti-gather -q --plan --dot no/such/tree.dot big.run
says err "cannot write the drawing 'no/such/tree.dot'"

# Many nodes that name many ranks, most of them the same: a matter of what there is, not of
# what is named.  (Rank by rank it is some minutes, and each rank would be looked for here.)
mkdir claimed.run
python3 - <<'END'
import json
nodes = [{"name": "n%d" % i, "site": "s%d" % (i % 10), "host": "n%d" % i, "gateway": None,
          "via": None, "tiara": None, "directory": "/no/such", "ranks": [[i, 999999]]}
         for i in range(10000)]
json.dump({"run_id": "5eed" * 8, "np": 1000000, "nodes": nodes}, open("claimed.run/RUN.json", "w"))
END
run 0 timeout 60 ti-gather --plan --json claimed.run
python3 - <<'END' || fail "what nodes name is not what is wanted: $(head -c 600 out)"
import json
out = json.load(open("out"))
assert out["fetch"]["wanted"] == 1000000 and out["fetch"]["nodes"] == 10000
assert [x["wanted"] for x in out["tree"]["nodes"]] == [1000000 - i for i in range(10000)]
END
mktrace --np 1000000 --ranks 500-501 --run-id 5eed5eed5eed5eed5eed5eed5eed5eed claimed.run >/dev/null
run 0 timeout 60 ti-gather --plan claimed.run
says err "999998 ranks would be fetched first, from 10000 nodes"
says out "claimed.tib: would hold 1000000 of 1000000 ranks"
run 0 timeout 60 ti-gather --plan --json claimed.run
python3 - <<'END' || fail "what is to be fetched: $(head -c 600 out)"
import json
assert json.load(open("out"))["missing"] == [
    {"ranks": [[0, 499], [502, 999999]], "state": "on a node, to be fetched"}]
END
# ... of which some are here, whole as far as one can see, some nowhere, some said to be here
mkdir some.run
mktrace --np 300 --run-id 5eed5eed5eed5eed5eed5eed5eed5eed some.run >/dev/null
cat >some.py <<'END'
import json, os, random, sys
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
json.dump({"run_id": "5eed" * 8, "np": np, "nodes": nodes}, open("some.run/RUN.json", "w"))
expected = {"wanted": len(set().union(*claims)), "nodes": sum(bool(c) for c in claims)}
json.dump([expected, [len(c) for c in claims]], open("expected", "w"))
END
python3 some.py || fail "some.py"
run 1 ti-gather --plan --json some.run
python3 - <<'END' || fail "what is here is not known: $(head -c 600 out)"
import json
out, (fetch, wanted) = json.load(open("out")), json.load(open("expected"))
assert {k: out["fetch"][k] for k in fetch} == fetch, (out["fetch"], fetch)
assert {x["name"]: x["wanted"] for x in out["tree"]["nodes"]} == {
    "n%d" % i: n for i, n in enumerate(wanted) if n}
assert 0 < fetch["wanted"] < 300 and wanted[20] == wanted[7] == 0
END

# options that make no sense
while IFS='|' read -r options text; do
    # shellcheck disable=SC2086  # words are meant
    run 2 ti-gather $options --plan big.run
    says err "$text"
    says err "try 'ti-gather --help'"
done <<'END'
--arity 0|--arity must be 1 to 64, auto or star, not '0'
--arity 65|--arity must be 1 to 64, auto or star, not '65'
--arity many|--arity must be 1 to 64, auto or star, not 'many'
--assume rtt|--assume: 'rtt' must be a time in us, ms or s
--assume rtt=20|--assume: 'rtt' must be a time in us, ms or s
--assume rate=-1mbit|--assume: 'rate' must be a rate in kbit, mbit
--assume rtt=1ms,speed=2|--assume: 'speed' is nothing that can be assumed
--transport pigeon|--transport must be auto, libssh2 or openssh, not 'pigeon'
--transport libssh2 --forward-agent|--forward-agent needs OpenSSH
--timeout 0|--timeout
END
# What RUN.json says commands no terminal.
rm -rf escape && mkdir escape
python3 -IBS - <<'END'
import json
nodes = [{"name": "n%d" % i, "site": "s\x1b[31m\u009b1m", "gateway": "gate", "host": "n%d" % i, "via": None,
          "tiara": None, "directory": "/x", "ranks": [[i, i]]} for i in range(4)]
json.dump({"run_id": "5eed" * 8, "np": 4, "nodes": nodes}, open("escape/RUN.json", "w"))
END
run 0 ti-gather -n escape
says out 's?[31m??1m: 4 nodes through gate'
[ -e connected ] && fail "a plan connected to a node"
[ -e big.tib ] && fail "a plan wrote a bundle"
exit $failed
