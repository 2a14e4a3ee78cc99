"""What a report is made of: the output of the tools with --json, and the files that they write.

This is the only module that knows where numbers come from.  Figures ask `Inputs`; each answer is
read once and kept.
"""

import csv
import json
import os
import subprocess
import tempfile
import zipfile
from concurrent.futures import ThreadPoolExecutor

RANKS_READ = 1024  # ranks of which totals are read one by one; of more, this many, evenly spread


class Fault(Exception):
    """An input that cannot be used: the sentence names the file and the cause."""

    def __init__(self, text, status=3):
        super().__init__(text)
        self.status = status


def read_text(path):
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError as err:
        raise Fault(f"cannot read '{path}': {err.strerror}", 4 if os.path.exists(path) else 3) from err


def finite(text):
    """A number of JSON; without this, Python also takes NaN, Infinity and 1e999."""
    value = float(text)
    if value - value != 0:
        raise ValueError(f"{text} is not a number")
    return value


def parse(text, path):
    try:
        value = json.loads(text, parse_float=finite, parse_constant=finite)
    except (ValueError, RecursionError) as err:
        raise Fault(f"'{path}' is not JSON: {err}") from err
    if not isinstance(value, dict):
        raise Fault(f"'{path}' is not a JSON object")
    return value


class Inputs:
    """All inputs of one report.  Attributes are what the command line names; methods read."""

    def __init__(self, trace, tools):
        self.path = trace
        self.tools = tools  # folder of ti-info and ti-replay
        self.debug_dir = None
        self.replays = []  # (name of the file, result of ti-replay --json)
        self.studies = []  # (name of the folder, results.json)
        self.skew = None
        self.timeline = None  # path of a timeline in CSV
        self.picture = None  # path of a drawn platform in SVG
        self.warnings = []
        self._kept = {}

    # --- the trace ---

    def command(self, *options):
        """The command that prints what info() returns."""
        return " ".join(["ti-info", *options, quoted(self.path)])

    def info(self, *options):
        """The object that `ti-info OPTIONS --json TRACE` prints."""
        if options not in self._kept:
            self._kept[options] = self._run("ti-info", [*options, "--json", self.path])
        return self._kept[options]

    def _run(self, tool, arguments, output=True):
        if "--phases" in arguments or "--imbalance" in arguments:
            folder = self.debug_dir or os.path.dirname(os.path.abspath(self.path))
            arguments = ["--debug-dir", folder, *arguments]
        program = os.path.join(self.tools, tool)
        try:
            done = subprocess.run([program, "-q", "--no-progress", *arguments], capture_output=True,
                                  text=True, errors="replace", check=False)
        except OSError as err:
            raise Fault(f"cannot run '{program}': {err.strerror}", 4) from err
        # Status 1 is a result: of a trace that is not whole.  Damage has a result, too.
        if done.returncode not in (0, 1) and not done.stdout.lstrip().startswith("{"):
            said = done.stderr.strip().split("\n")[0].removeprefix(f"{tool}: ")
            raise Fault(said or f"{tool} ended with status {done.returncode}", done.returncode)
        return parse(done.stdout, f"output of {tool}") if output else None

    def manifest(self):
        """MANIFEST.json of a bundle, or RUN.json of a run directory; {} if there is none."""
        if "manifest" not in self._kept:
            self._kept["manifest"] = self._manifest()
        return self._kept["manifest"]

    def _manifest(self):
        if os.path.isdir(self.path):
            path = os.path.join(self.path, "RUN.json")
            return parse(read_text(path), path) if os.path.exists(path) else {}
        if not zipfile.is_zipfile(self.path):
            return {}
        try:
            with zipfile.ZipFile(self.path) as bundle:
                if "MANIFEST.json" not in bundle.namelist():
                    return {}
                return parse(bundle.read("MANIFEST.json").decode("utf-8", "replace"),
                             f"{self.path}: MANIFEST.json")
        except (OSError, zipfile.BadZipFile, ValueError) as err:
            raise Fault(f"'{self.path}': {err}") from err

    def run(self):
        """What RUN.json says of the acquisition, wherever it is; {} if it is not known."""
        manifest = self.manifest()
        return {**manifest.get("acquisition", {}), **({"plan": manifest["plan"]} if
                "plan" in manifest else {})} if "acquisition" in manifest else manifest

    def ranks(self):
        """Totals of ranks, by rank: `ti-info --rank N`.  Of many ranks, of some: see RANKS_READ."""
        if "ranks" not in self._kept:
            info = self.info()
            absent = {r for a, b in info.get("missing", []) for r in range(a, b + 1)}
            np = info["np"]
            step = -(-np // RANKS_READ)
            wanted = [r for r in range(0, np, step) if r not in absent]
            with ThreadPoolExecutor(os.cpu_count()) as pool:
                self._kept["ranks"] = list(pool.map(self._rank, wanted))
        return self._kept["ranks"]

    def _rank(self, rank):
        try:
            return self._run("ti-info", ["--rank", str(rank), "--json", self.path])
        except Fault:  # a damaged rank: its number says that there is one
            return {"rank": rank, "events": None, "volume": None}

    # --- results ---

    def add_replay(self, path):
        result = parse(read_text(path), path)
        if "simulated_time_s" not in result and "error" not in result and "tolerance" not in result:
            raise Fault(f"'{path}' is not a result of ti-replay --json: it has no simulated_time_s")
        self.replays.append((os.path.basename(path), result))

    def add_study(self, folder):
        path = os.path.join(folder, "results.json")
        result = parse(read_text(path), path)
        if not isinstance(result.get("points"), list) or not isinstance(result.get("sweep"), list):
            raise Fault(f"'{path}' is not the result of a sweep: it lacks points or sweep")
        self.studies.append((os.path.basename(folder.rstrip("/")), result))

    def set_skew(self, path):
        self.skew = parse(read_text(path), path)
        if not isinstance(self.skew.get("np"), list):
            raise Fault(f"'{path}' is not a result of ti-skew --json: it has no list np")

    def events(self):
        """Rows of the timeline: (rank, start, end, state, waiting, source line)."""
        columns = ["rank", "start_s", "end_s", "state", "waiting_s", "function", "file", "line"]
        try:
            with open(self.timeline, encoding="utf-8", errors="replace", newline="") as file:
                rows = csv.reader(file)
                head = next(rows, [])
                if not set(columns[:5]) <= set(head):
                    raise Fault(f"'{self.timeline}' is not a timeline in CSV of ti-replay --timeline")
                at = [head.index(c) if c in head else -1 for c in columns]
                for number, row in enumerate(rows, 2):
                    try:
                        yield (int(row[at[0]]), float(row[at[1]]), float(row[at[2]]), row[at[3]],
                               float(row[at[4]] or 0))
                    except (ValueError, IndexError) as err:
                        raise Fault(f"{self.timeline}:{number}: not a row of a timeline") from err
        except OSError as err:
            raise Fault(f"cannot read '{self.timeline}': {err.strerror}") from err

    def drawing(self):
        """The text of the drawn platform; None if it is not known."""
        if self.picture:
            return read_text(self.picture)
        for _, result in self.replays:
            text = result.get("platform", "")
            if " of " not in text or "," not in text:
                continue
            topology, rest = text.split(" of ", 1)
            values = rest.split(", ")
            options = ["--topology", topology]
            if topology == "cluster":
                options += ["--hosts", values[0].split()[0]]
            with tempfile.TemporaryDirectory() as folder:
                path = os.path.join(folder, "platform.svg")
                try:
                    self._run("ti-replay", [f"--show-platform={path}", *options,
                                            *network(values[1:])], output=False)
                    return read_text(path)
                except (Fault, IndexError):
                    continue
        return None


def network(values):
    """Options for '8Gf, 10GBps, 5GBps, 1us, 2us': speed, then bandwidth and latency of each level."""
    half = (len(values) - 1) // 2
    return ["--speed", values[0], "--bandwidth", ",".join(values[1:1 + half]),
            "--latency", ",".join(values[1 + half:])]


def quoted(path):
    """A path as the shell takes it; names of files are often plain."""
    return path if all(c.isalnum() or c in "._-/+,:=" for c in path) else \
        "'" + path.replace("'", "'\\''") + "'"
