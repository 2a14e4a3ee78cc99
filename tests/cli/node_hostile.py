"""ti-node and a front end that means harm.  Run by node-hostile.sh; to run one case:
    python3 tests/cli/node_hostile.py -v Hostile.test_answer_without_room_is_an_error
"""
import json
import os
import sys
import time
import unittest

sys.path.insert(0, os.path.dirname(__file__))
from node_driver import INPUT, NodeTest, frame, processes_of


def fill(node, data):
    """Writes the data until ti-node takes no more for a while; how many bytes it took."""
    fd = node.process.stdin.fileno()
    os.set_blocking(fd, False)
    taken = 0
    idle = 0
    while taken < len(data) and idle < 20:
        try:
            taken += os.write(fd, data[taken:taken + (1 << 16)])
            idle = 0
        except BlockingIOError:
            idle += 1
            time.sleep(0.05)
    os.set_blocking(fd, True)
    return taken


class Hostile(NodeTest):
    """Each bound."""

    def test_input_of_many_processes_waits_in_the_channel(self):
        """Each process leaves less unread than one may; together it would be 36 MB."""
        node = self.serve()
        self.opened(node)
        for stream in range(1, 41):
            node.ask("spawn", stream=stream, command="exec sleep 9999")
        data = b"".join(frame(INPUT, stream, b"x" * 50000) for stream in range(1, 41)) * 18
        self.assertLess(fill(node, data), 12 << 20)
        node.process.stdin.close()
        node.process.wait()
        self.assertEqual(processes_of(self.run_id), [])

    def test_answer_without_room_is_an_error(self):
        """And no end of the connection."""
        base = self.scratch + "/many"
        for i in range(700):
            os.makedirs("%s/%03d-%s" % (base, i, "x" * 200))
            with open("%s/%03d-%s/NODE.json" % (base, i, "x" * 200), "w") as f:
                json.dump({"run_id": self.run_id, "np": 1}, f)
        node = self.serve()
        self.assert_error(node.ask("left", base=base, run_id=self.run_id), "a message has room for")
        self.assertEqual(node.ask("beat", every_ms=0)["is"], "beat")
        self.assertEqual(node.end(), 0)

    def test_directory_with_a_name_too_long_is_not_begun(self):
        node = self.serve()
        self.assert_error(node.ask("open", run_id=self.run_id, trace_dir=self.scratch + "/d" * 1500,
                                   np=1, ranks=[[0, 0]], node="n"), "too long")
        self.assertEqual(os.listdir(self.scratch), [])
        self.assertEqual(node.end(), 0)


if __name__ == "__main__":
    unittest.main()
