"""Package tiara against what the tools print.  Arguments: folder of traces; see tests/cli/python.sh."""

import json
import os
import re
import subprocess
import sys
import threading
import unittest

import numpy as np

import tiara

BIN = os.environ["TIARA_BIN"]
SOURCES = ("a.run", "a.ti", "b.run", "b.tib")


def tool(name, *arguments):
    """What a tool prints, as text."""
    return subprocess.run([f"{BIN}/{name}", *arguments], check=True, capture_output=True,
                          text=True).stdout


def ti_info(*arguments):
    """What ti-info --json prints, parsed."""
    return json.loads(tool("ti-info", "--json", *arguments))


class Events(unittest.TestCase):
    """Events as arrays and as text."""

    def test_text_is_that_of_dump(self):
        for source in SOURCES:
            with tiara.open(source) as t:
                for rank in (0, t.ranks - 1):
                    dump = tool("ti-info", "--dump", "--rank", str(rank), source).splitlines()
                    self.assertEqual(list(t.rank(rank).texts()), dump)

    def test_arrays_have_the_values_of_the_text(self):
        names = ("op", "volume", "peer", "world_peer", "tag", "bytes", "redop", "site")
        ops = tiara.operations()
        for source in SOURCES:
            with tiara.open(source) as t:
                events = t.rank(2).events(names)
                lines = list(t.rank(2).texts())
                self.assertEqual(len(events), len(lines))
                self.assertEqual(t.rank(2).totals()[0], len(lines))
                for event, line in zip(events, lines):
                    volume, op, *rest = line.split()
                    self.assertEqual((int(volume), op), (event["volume"], ops[event["op"]]))
                    values = dict(one.split("=", 1) for one in rest)
                    for name in ("tag", "bytes"):
                        said = values.get(name)
                        number = (tiara.NONE if said is None else
                                  tiara.ANY if said == "any" else int(said))
                        self.assertEqual(event[name], number, line)
                    peer = re.fullmatch(r"([+-]\d+)\((\d+)\)", values.get("peer", ""))
                    if peer:
                        self.assertEqual((event["peer"], event["world_peer"]),
                                         (int(peer[1]), int(peer[2])))
                    else:
                        self.assertLess(event["world_peer"], 0)

    def test_parts_are_the_whole(self):
        with tiara.open("a.ti") as t:
            whole = t.rank(1).events()
            chunks = list(t.rank(1).chunks(events=7))
            self.assertTrue(all(len(c) == 7 for c in chunks[:-1]))
            np.testing.assert_array_equal(np.concatenate(chunks), whole)
            rank = t.rank(1)
            np.testing.assert_array_equal(rank.events(most=5), whole[:5])
            np.testing.assert_array_equal(rank.events(most=0), whole[:0])
            np.testing.assert_array_equal(rank.events(), whole[5:])
            self.assertEqual(len(rank.events()), 0)
            self.assertTrue(rank.seek(11))
            np.testing.assert_array_equal(rank.events(), whole[11:])
            self.assertFalse(rank.seek(len(whole) + 1))

    def test_what_belongs_to_a_rank(self):
        with tiara.open("a.run") as t:
            rank = t.rank(3)
            self.assertEqual(rank.end, "")
            rank.events()
            self.assertEqual(rank.info["unit"], ti_info("a.run")["unit"])
            self.assertEqual((rank.number, rank.end), (3, "complete"))
            comm = rank.comm(2)
            self.assertIn(3, comm.members)
            self.assertEqual(comm.members[comm.rank], 3)
            self.assertIsNone(rank.comm(99))
            self.assertTrue(rank.site(1).startswith(rank.source(1).split("[")[0].strip()))
            self.assertEqual(rank.extras, {})

    def test_wrong_columns(self):
        with tiara.open("a.run") as t:
            for name in ("nonsense", "world_tag", "burst_ns"):
                with self.assertRaisesRegex(tiara.UsageError, name):
                    t.rank(0).events(["op", name])


class Sums(unittest.TestCase):
    """What is added up over ranks."""

    def test_traffic(self):
        for source in SOURCES:
            with tiara.open(source) as t:
                traffic = t.traffic()
                said = {tuple(p[:2]): p[2:4] for p in ti_info("--traffic", source)["pairs"]}
                got = {(s, d): [m, b] for s, d, m, b in zip(
                    traffic.source.tolist(), traffic.target.tolist(), traffic.messages.tolist(),
                    traffic.bytes.tolist())}
                self.assertEqual(got, said)
                self.assertEqual(traffic.matrix().sum(), sum(b for _, b in said.values()))
                self.assertTrue(traffic.coverage.complete)
                with self.assertRaises(tiara.UsageError):
                    traffic.matrix(most=2)

    def test_histogram(self):
        for source in SOURCES:
            with tiara.open(source) as t:
                h, said = t.histogram(), ti_info("--histogram", source)
                for kind, counts, sums, key in (("bursts", h.bursts, h.volumes, "volume"),
                                                ("messages", h.messages, h.message_bytes, "bytes")):
                    got = {int(f): (int(n), int(s)) for f, n, s in zip(h.first, counts, sums) if n}
                    self.assertEqual(got, {c["from"]: (c["number"], c[key])
                                           for c in said[kind]["classes"] if c["number"]})

    def test_phases(self):
        def flat(nodes, depth=0):
            for node in nodes:
                yield depth, node.get("loop") or "", node.get("call") or "", node["events"], node["volume"]
                yield from flat(node.get("body", []), depth + 1)

        for source in ("a.ti", "b.tib"):
            with tiara.open(source) as t:
                got = [[(n.depth, n.name if n.is_loop else "", n.op, n.events, n.volume)
                        for n in shape.nodes] for shape in t.phases()]
                said = [list(flat(shape["body"])) for shape in ti_info("--phases", source)["shapes"]]
                self.assertEqual(got, said)
                self.assertTrue(t.phases().coverage.complete)

    def test_loops_of_a_rank_add_up(self):
        with tiara.open("a.ti") as t:
            nodes = t.loops(1)
            events, volume, complete = t.rank(1).totals()
            calls = [n for n in nodes if not n.is_loop]
            self.assertEqual(sum(n.passes for n in calls), events)
            self.assertEqual(sum(n.values[1] for n in calls), volume)
            self.assertTrue(complete and any(n.is_loop for n in nodes))

    def test_groups(self):
        with tiara.open("a.ti") as t:
            groups = t.groups()
            self.assertEqual(sum(len(g) for g in groups), t.ranks)
            for g in groups:
                members = [r for first, last in g.ranks for r in range(first, last + 1)]
                values = g.values(0, len(g.parts()))
                self.assertEqual(values.shape, (len(g.parts()), len(members)))
                for part, row in zip(g.parts(), values):
                    linear = re.fullmatch(r"(-?\d+)(?: \+ (-?\d+) \* rank)?", part.formula)
                    if linear and not part.is_list:
                        a, b = int(linear[1]), int(linear[2] or 0)
                        self.assertEqual(row.tolist(), [a + b * rank for rank in members])
        with tiara.open("a.run") as t:
            self.assertEqual(t.groups(), [])

    def test_verify(self):
        with tiara.open("b.tib") as t:
            verdict = t.verify()
            self.assertTrue(verdict.sound)
            self.assertEqual(verdict.messages, ti_info("--verify", "b.tib")["conserved"]["messages"])

    def test_manifest(self):
        with tiara.open("b.tib") as t:
            self.assertEqual(t.manifest["run_id"], t.run_id)
            self.assertEqual((t.kind, t.ranks, t.ranks_here, 4 in t, 5 in t),
                             ("bundle", 5, 5, True, False))
        with tiara.open("a.ti") as t:
            self.assertIsNone(t.manifest)


class Trouble(unittest.TestCase):
    """What is missing, damaged, closed, or used by several threads."""

    def test_missing_and_damaged(self):
        with self.assertRaisesRegex(tiara.Error, "nowhere"):
            tiara.open("nowhere")
        with tiara.open("hurt.run") as t:
            with self.assertRaisesRegex(tiara.DamagedError, "rank 1"):
                t.rank(1)
            with self.assertRaises(tiara.DamagedError):
                t.rank(3).events()
            coverage = t.traffic().coverage
            self.assertEqual((coverage.missing, coverage.damaged), (1, 1))
            self.assertFalse(coverage.complete or t.verify().sound)
            self.assertIn("rank", coverage.why)

    def test_closed(self):
        t = tiara.open("a.ti")
        rank = t.rank(0)
        t.close()
        t.close()
        for use in (lambda: t.ranks, rank.events, t.traffic):
            with self.assertRaisesRegex(tiara.UsageError, "closed"):
                use()
        self.assertIn("closed", repr(t))

    def test_threads(self):
        sums = []

        def add_up():
            with tiara.open("a.ti") as t:
                sums.append(sum(int(t.rank(r).events()["volume"].sum()) for r in range(t.ranks)))

        threads = [threading.Thread(target=add_up) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(len(set(sums)), 1)
        self.assertEqual(len(sums), 4)

    def test_nothing_is_left(self):
        def descriptors():
            return len(os.listdir("/proc/self/fd"))

        before = descriptors()
        for _ in range(50):
            t = tiara.open("a.run")
            t.rank(0).events()
            t.phases()
        del t
        self.assertEqual(descriptors(), before)


class Tools(unittest.TestCase):
    """Programs."""

    def test_info(self):
        self.assertEqual(tiara.info("b.tib", traffic=True), ti_info("--traffic", "b.tib"))

    def test_errors_are_the_tools(self):
        with self.assertRaisesRegex(tiara.ToolError, "no topology") as caught:
            tiara.replay("b.tib", topology="nonsense")
        self.assertTrue(caught.exception.hint)
        with self.assertRaises(tiara.ToolError):
            tiara.info("nowhere")

    @unittest.skipUnless(os.path.exists(f"{BIN}/ti-smpi-replay"), "no SimGrid")
    def test_replay_and_sweep(self):
        result = tiara.replay("r.ti", topology="torus:2,2", speed="2Gf", progress=False)
        self.assertGreater(result["clock_s"], 0)
        points = tiara.sweep("r.ti", topology="torus:2,2", sweep=["latency=1us|1ms"], o="study")
        times = [p["result"]["clock_s"] for p in points["points"]]
        self.assertEqual(len(times), 2)
        self.assertLess(times[0], times[1])

    def test_comparisons(self):
        same = tiara.replay("r.ti", versus="r.ti", progress=False)["versus"]
        self.assertEqual((same["difference_s"], same["loops"], same["np"]), (0, [], [4, 4]))
        with self.assertRaisesRegex(tiara.ToolError, "both have 4 ranks"):
            tiara.replay("r.ti", "a.ti", scaling=True)
        changes = tiara.info("a.ti", compare="r.ti")["changes"]
        self.assertEqual(changes["all"]["calls"]["change"],
                         sum(s["calls"]["change"] for s in changes["sites"]))


if __name__ == "__main__":
    sys.exit(not unittest.main(argv=sys.argv[:1], exit=False, verbosity=1).result.wasSuccessful())
