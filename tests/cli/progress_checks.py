"""What --progress json wrote: progress_checks.py steps FILE, or left or last FILE TOOL STEP."""
import json
import sys

PREFIX = '{"progress":{"tool":'


def objects(path):
    """All objects; fails if one stands in another line."""
    with open(path, encoding="utf-8") as file:
        for line in file:
            if '{"progress"' not in line:
                continue
            if not line.startswith(PREFIX) or not line.endswith("}\n"):
                sys.exit("FAILED: an object in a line of others: %r" % line)
            yield json.loads(line)["progress"]


def steps(path):
    """The last object of each step, in their order; fails if `done` falls."""
    last = None
    for one in objects(path):
        if last and (one["tool"], one["step"]) == (last["tool"], last["step"]):
            if one["seconds"] < last["seconds"] or one.get("done", 0) < last.get("done", 0):
                if last.get("left_s") != 0:
                    sys.exit("FAILED: it goes back: %s after %s" % (one, last))
                yield last
        elif last:
            yield last
        last = one
    if last:
        yield last


def text(one):
    left = "" if one.get("left_s") == 0 and one.get("done") == one.get("of") else ", not completed"
    counted = ": %d of %s %s" % (one["done"], one.get("of", "?"), one["unit"]) if "unit" in one else ""
    return "%s %s%s%s" % (one["tool"], one["step"], counted, left)


def main(what, path, *of):
    if what == "steps":
        for one in steps(path):
            print(text(one))
    elif what == "left":  # the times left of a step, and how much it will be
        for one in objects(path):
            if (one["tool"], one["step"]) == of:
                print(one.get("left_s", "?"), one.get("of", "?"))
    elif what == "last":  # the last object of a step
        print(json.dumps([one for one in objects(path) if (one["tool"], one["step"]) == of][-1]))


main(*sys.argv[1:])
