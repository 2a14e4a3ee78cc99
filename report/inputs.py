"""What a report is made of: a trace, read by the Python package tiara and by ti-info --json, and the
files that other tools write.

This is the only module that knows where numbers come from.  Figures ask `Inputs`; each answer is
read once and kept.
"""

import csv
import json
import os
import subprocess
import sys
import tempfile
import zipfile

from machine import machine_of

RANKS_READ = 1024  # ranks of which totals are read one by one; of more, this many, evenly spread


class Fault(Exception):
    """An input that cannot be used: the sentence names the file and the cause."""

    def __init__(self, text, status=3):
        super().__init__(text)
        self.status = status


def read_text(path, option=None):
    """The text of a file, which an option may have named."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError as err:
        raise Fault(f"cannot read '{path}': {err.strerror}" + HINTS.get(option, ""),
                    4 if os.path.exists(path) else 3) from err


def finite(text):
    """A number of JSON; without this, Python also takes NaN, Infinity and 1e999."""
    value = float(text)
    if value - value != 0:
        raise ValueError(f"{text} is not a number")
    return value


def parse(text, path, option=None):
    try:
        value = json.loads(text, parse_float=finite, parse_constant=finite)
    except (ValueError, RecursionError) as err:
        raise Fault(f"'{path}' is not JSON: {err}" + HINTS.get(option, "")) from err
    if not isinstance(value, dict):
        raise Fault(f"'{path}' is not a JSON object" + HINTS.get(option, ""))
    return value


HINTS = {  # the command that makes what an option takes
    "replay": "\nhint: ti-replay TRACE ... --profile --causes --links --json >FILE makes one",
    "study": "\nhint: ti-replay TRACE ... --sweep OPTION=VALUES -o DIR makes one",
    "skew": "\nhint: ti-skew --np N --json PROGRAM >FILE makes one",
    "comparison": "\nhint: ti-replay TRACE --versus OTHER ... --json >FILE makes one",
    "timeline": "\nhint: ti-replay TRACE ... --timeline FILE.csv makes one",
    "platform": "\nhint: ti-replay ... --show-platform=FILE.svg makes one"}


def package():
    """The Python package tiara, which ti-report found."""
    try:
        import tiara
    except ImportError as err:
        hint = "Tiara's package python3-tiara" if err.name == "tiara" else \
            "Debian's packages python3-cffi and python3-numpy"
        raise Fault(f"cannot load the Python package tiara: {sys.executable}: {err}\n"
                    f"hint: install {hint}", 4) from err
    except Exception as err:  # tiara.Error, which cannot be imported: there is no libtiara
        raise Fault(str(err), 4) from err
    return tiara


class Inputs:
    """All inputs of one report.  Attributes are what the command line names; methods read."""

    def __init__(self, trace, tools):
        self.path = trace
        self.tools = tools  # folder of ti-info and ti-replay
        self.debug_dir = None
        self.replays = []  # (name of the file, result of ti-replay --json)
        self.studies = []  # (name of the folder, results.json)
        self.versus = []  # (name of the file, result of ti-replay --versus --json)
        self.scaling = []  # the same of --scaling
        self.changes = []  # the same of ti-info --compare --json
        self.skew = None
        self.timeline = None  # path of a timeline in CSV
        self.picture = None  # path of a drawn platform in SVG
        self.warnings = []
        self._trace = None
        self._kept = {}

    # --- the trace ---

    def read(self, what, *arguments):
        """What a method of tiara.Trace returns, such as read("traffic")."""
        tiara = package()
        try:
            if self._trace is None:
                self._trace = tiara.open(self.path)
            if (what, arguments) not in self._kept:
                self._kept[what, arguments] = getattr(self._trace, what)(*arguments)
            return self._kept[what, arguments]
        except tiara.Error as err:
            raise Fault(str(err), err.status or 3) from err

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

    def parts(self):
        """The parts of a bundle or run directory as they are stored: {kind: bytes}."""
        out, sizes = {}, {}
        try:
            if os.path.isdir(self.path):
                sizes = {e.name: e.stat().st_size for e in os.scandir(self.path) if e.is_file()}
            elif zipfile.is_zipfile(self.path):
                with zipfile.ZipFile(self.path) as bundle:
                    sizes = {m.filename: m.compress_size for m in bundle.infolist()}
                sizes["zip directory"] = os.path.getsize(self.path) - sum(sizes.values())
        except (OSError, zipfile.BadZipFile) as err:
            raise Fault(f"'{self.path}': {err}") from err
        for name, size in sorted(sizes.items()):
            kind = "traces" if name.endswith(".ti") else \
                name if name in ("MANIFEST.json", "RUN.json", "zip directory") else "other files"
            out[kind] = out.get(kind, 0) + size
        return out

    def run(self):
        """What RUN.json says of the acquisition, wherever it is; {} if it is not known."""
        manifest = self.manifest()
        return {**manifest.get("acquisition", {}), **({"plan": manifest["plan"]} if
                "plan" in manifest else {})} if "acquisition" in manifest else manifest

    def ranks(self):
        """Totals of ranks, by rank: `ti-info --rank N`.  Of many ranks, of some: see RANKS_READ."""
        if "ranks" not in self._kept:
            np, traffic = self.info()["np"], self.read("traffic")
            sent = [0] * np
            for source, size in zip(traffic.source.tolist(), traffic.bytes.tolist()):
                sent[source] += size
            self._kept["ranks"] = [self._rank(r, sent[r]) for r in range(0, np, -(-np // RANKS_READ))
                                   if r in self._trace]
        return self._kept["ranks"]

    def _rank(self, rank, sent):
        try:
            with self._trace.rank(rank) as one:
                events, volume, _ = one.totals()
            return {"rank": rank, "events": events, "volume": volume, "message_bytes": sent}
        except package().Error:  # a damaged rank: its number says that there is one
            return {"rank": rank, "events": None, "volume": None}

    # --- results ---

    def add_replay(self, path):
        result = parse(read_text(path, "replay"), path, "replay")
        if "simulated_time_s" not in result and "error" not in result and "tolerance" not in result:
            raise Fault(f"'{path}' is not a result of ti-replay --json: it has no simulated_time_s"
                        + HINTS["replay"])
        self.replays.append((os.path.basename(path), result))

    def best(self, part=None):
        """The first replay that succeeded and has a part; None if there is none."""
        for _, result in self.replays:
            if result.get("simulated_time_s") is not None and (part is None or result.get(part)):
                return result
        return None

    def add_study(self, folder):
        path = os.path.join(folder, "results.json")
        result = parse(read_text(path, "study"), path, "study")
        if not isinstance(result.get("points"), list) or not isinstance(result.get("sweep"), list):
            raise Fault(f"'{path}' is not the result of a sweep: it lacks points or sweep"
                        + HINTS["study"])
        self.studies.append((os.path.basename(folder.rstrip("/")), result))

    def add_comparison(self, path):
        result = parse(read_text(path, "comparison"), path, "comparison")
        for kind in ("versus", "scaling", "changes"):
            if isinstance(result.get(kind), dict):
                getattr(self, kind).append((os.path.basename(path), result))
                return
        raise Fault(f"'{path}' is not a result of ti-replay --versus or --scaling, nor of ti-info --compare"
                    + HINTS["comparison"])

    def set_skew(self, path):
        self.skew = parse(read_text(path, "skew"), path, "skew")
        if not isinstance(self.skew.get("np"), list):
            raise Fault(f"'{path}' is not a result of ti-skew --json: it has no list np" + HINTS["skew"])

    def events(self, step=1):
        """Rows of the timeline: (rank, start, end, state, waiting); of each `step`-th rank only."""
        columns = ["rank", "start_s", "end_s", "state", "waiting_s"]
        try:
            with open(self.timeline, encoding="utf-8", errors="replace", newline="") as file:
                rows = csv.reader(file)
                head = next(rows, [])
                if not set(columns) <= set(head):
                    raise Fault(f"'{self.timeline}' is not a timeline in CSV of ti-replay --timeline")
                at = [head.index(c) for c in columns]
                for number, row in enumerate(rows, 2):
                    try:
                        rank = int(row[at[0]])
                        if rank % step == 0:
                            yield (rank, float(row[at[1]]), float(row[at[2]]), row[at[3]],
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
            made = machine_of(result)
            if not made:
                continue
            with tempfile.TemporaryDirectory() as folder:
                path = os.path.join(folder, "platform.svg")
                try:
                    self._run("ti-replay", [f"--show-platform={path}", *made.options()], output=False)
                    return read_text(path)
                except Fault:
                    continue
        return None


def quoted(path):
    """A path as the shell takes it; names of files are often plain."""
    return path if all(c.isalnum() or c in "._-/+,:=" for c in path) else \
        "'" + path.replace("'", "'\\''") + "'"
