"""What skew.sh checks with more than `json`: skew_checks.py FUNCTION ARGUMENT..."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import jsonfile  # noqa: E402


def figures_add_up(path):
    """The JSON of three runs of two ranks on one core; the figures follow from the runs."""
    j = jsonfile.read(path)
    assert j["status"] == 0 and j["runs"] == 3 and j["counter"]["backend"] == "cputime", j
    assert j["counter"]["estimate"] and not j["counter"]["exact"], j
    np, = j["np"]
    assert np["np"] == 2 and np["folding"] == 2 and len(np["runs"]) == 6, np
    assert np["burst_skew_pct"] is None and np["event_instructions"] is None, np
    for r in np["runs"]:
        assert r["seconds"] >= 0.05 and r["whole"] > 0, r
    traced = [r for r in np["runs"] if r["kind"] == "traced"]
    bare = [r for r in np["runs"] if r["kind"] == "bare"]
    assert [r["kind"] for r in np["runs"]] == ["bare", "traced"] * 3, np
    skews = sorted(100 * (t["whole"] / b["whole"] - 1) for t, b in zip(traced, bare))
    for is_, should in zip(("least", "median", "most"), skews):
        assert abs(np["whole_skew_pct"][is_] - should) < 1e-6, (np["whole_skew_pct"], skews)
    assert np["bytes"]["most"] == max(r["bytes"] for r in traced), np
    assert np["events_differ"] == (len({r["events"] for r in traced}) > 1), np
    # a folding of four ranks a core is one of two, which is all there are
    fold, = np["fold"]
    assert (fold["factor"], fold["cores"]) == (2, 1) and fold["slowdown"]["median"] == 1, fold


if __name__ == "__main__":
    jsonfile.run_function(globals())
