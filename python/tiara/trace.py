"""Traces: events, loops, groups of ranks, and sums over all ranks."""

from __future__ import annotations

import json
import weakref
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tiara._ffi import Failure, ffi, lib, text_of
from tiara.errors import PartialError, UsageError

if TYPE_CHECKING:
    import pandas

ANY = -(2**63)
"""MPI_ANY_SOURCE or MPI_ANY_TAG, as the value of a field."""
NULL = ANY + 1
"""MPI_PROC_NULL, MPI_UNDEFINED or MPI_COMM_NULL."""
SELF = ANY + 2
"""MPI_ROOT: this rank is the root, in the other group."""
NONE = ANY + 3
"""The event lacks the field."""

Array = np.ndarray[Any, Any]

_READ_FIELD, _READ_WORLD, _READ_EXTRA = 1000, 2000, 3000
_DEFAULT = ("op", "volume", "comm", "peer", "tag", "bytes", "site")
_PEERS = ("peer", "rpeer", "from")


def version() -> str:
    """The version of the library."""
    return text_of(lib.tiara_version())


def operations() -> list[str]:
    """The names of all operations; column "op" of events has indices of this list."""
    return [text_of(lib.tiara_op_name(op)) for op in range(lib.tiara_ops())]


def fields() -> list[str]:
    """The names of all fields of events; tiara-trace(5) describes them."""
    return [text_of(lib.tiara_field_name(field)) for field in range(lib.tiara_fields())]


def open(path: str, debug_dir: str | None = None) -> Trace:  # pylint: disable=redefined-builtin
    """Open a bundle, a run directory, a merged trace, or the trace of one rank.

    debug_dir: folders, separated by ":", with the traced program or its debug information, for the
    source lines of call sites; "" looks only where the program was, and where debuggers look.
    """
    return Trace(path, debug_dir)


# --- small results -----------------------------------------------------------------


@dataclass(frozen=True)
class Coverage:
    """The ranks that a sum is of.  Missing, incomplete and damaged ranks are no error: what can be
    read of them is summed up, and `why` describes the first of them."""

    ranks: int
    read: int
    missing: int
    incomplete: int
    damaged: int
    unsound: int
    why: str

    @property
    def complete(self) -> bool:
        """Whether all ranks were read to their end, and all events make sense."""
        return not (self.missing or self.incomplete or self.damaged or self.unsound)


def _coverage(c: Any) -> Coverage:
    return Coverage(c.ranks, c.read, c.missing, c.incomplete, c.damaged, c.unsound, text_of(c.why))


@dataclass(frozen=True)
class Comm:
    """A communicator, as a rank sees it: its rank, and the world ranks of the members; of an
    intercommunicator also those of the other group."""

    rank: int
    members: Array
    remote: Array


@dataclass(frozen=True)
class Node:
    """A loop or call of one rank.  The body of loop `i` are the nodes i + 1 to end - 1.

    values: (number, sum, least, most) of a loop's trips, one for each pass, or of a call's volumes.
    fields: of a call, (least, most) of each field.
    """

    end: int
    depth: int
    is_loop: bool
    op: str
    name: str
    passes: int
    values: tuple[int, int, int, int]
    fields: dict[str, tuple[int, int]]


@dataclass(frozen=True)
class Phase:
    """A loop or call of ranks with equal loops.  The body of loop `i` are nodes i + 1 to end - 1.

    name: of a loop its name, as `ti-info --trips` takes it; of a call its call site.
    events, bytes, volume: of all ranks; those of a loop are those of its body.  bytes: of messages
    sent.  least, most: volumes of single ranks, which least_rank and most_rank are.
    values: as in Node, over all ranks.
    """

    end: int
    depth: int
    is_loop: bool
    op: str
    name: str
    events: int
    bytes: int
    volume: int
    least: int
    most: int
    least_rank: int
    most_rank: int
    values: tuple[int, int, int, int]


@dataclass(frozen=True)
class Shape:
    """Ranks with equal loops, as ranges (first, last), and their loops and calls in preorder."""

    ranks: list[tuple[int, int]]
    nodes: list[Phase]

    def loops(self) -> list[Phase]:
        """The loops among the nodes."""
        return [node for node in self.nodes if node.is_loop]


class Phases(list[Shape]):
    """The loops and calls of all ranks: a list of shapes.  coverage: the ranks that were read."""

    coverage: Coverage

    def frame(self) -> pandas.DataFrame:
        """A pandas frame with a row for each node."""
        import pandas

        rows = [{"shape": number, **node.__dict__}
                for number, shape in enumerate(self) for node in shape.nodes]
        return pandas.DataFrame(rows)


@dataclass(frozen=True)
class Traffic:
    """Messages and one-sided transfers between pairs of ranks; pairs without any are left out.
    The arrays have one element for each pair."""

    ranks: int
    source: Array
    target: Array
    messages: Array
    bytes: Array
    one_sided: Array
    one_sided_bytes: Array
    coverage: Coverage

    def matrix(self, what: str = "bytes", most: int = 4096) -> Array:
        """A dense matrix of [source, target]; UsageError above `most` ranks, since it would have
        the square of their number."""
        if self.ranks > most:
            raise UsageError(f"a matrix of {self.ranks} ranks squared was asked for",
                             "sparse() takes the memory of the pairs; most=... allows it")
        dense = np.zeros((self.ranks, self.ranks), dtype=np.uint64)
        dense[self.source, self.target] = getattr(self, what)
        return dense

    def sparse(self, what: str = "bytes") -> Any:
        """A scipy.sparse.coo_array of [source, target]."""
        from scipy.sparse import coo_array

        return coo_array((getattr(self, what), (self.source, self.target)),
                         shape=(self.ranks, self.ranks))

    def frame(self) -> pandas.DataFrame:
        """A pandas frame with a row for each pair."""
        import pandas

        names = ("source", "target", "messages", "bytes", "one_sided", "one_sided_bytes")
        return pandas.DataFrame({name: getattr(self, name) for name in names})


@dataclass(frozen=True)
class Histogram:
    """Numbers of values, and their sums, in classes by powers of two: class 0 has the values 0,
    class n > 0 those from 2^(n - 1) on.  unit: of the volumes of bursts."""

    first: Array
    messages: Array
    message_bytes: Array
    one_sided: Array
    one_sided_bytes: Array
    collectives: Array
    collective_bytes: Array
    bursts: Array
    volumes: Array
    unit: str
    coverage: Coverage


@dataclass(frozen=True)
class Problem:
    """What makes a trace unsound.  event: from 0; None: none in particular.  more: further problems
    with the same words."""

    rank: int
    event: int | None
    call: str
    why: str
    more: int


@dataclass(frozen=True)
class Verdict:
    """The result of a check.  problems: the first few; `count` is the number of all."""

    count: int
    problems: list[Problem]
    events: int
    messages: int
    bytes: int
    collectives: int
    coverage: Coverage

    @property
    def sound(self) -> bool:
        """Whether all ranks are there, complete and intact, and no problem was found."""
        return self.count == 0 and self.coverage.complete


@dataclass(frozen=True)
class Part:
    """One number of all members of a group, or one list (is_list), and how it depends on the rank:
    formula, in words.  kind, of, arrival, which: see struct tiara_part in tiara.h."""

    index: int
    kind: str
    of: int
    arrival: int
    which: int
    is_list: bool
    formula: str


# --- what is open ----------------------------------------------------------------------


class _Handle:
    """Something of the library that is open: it is closed once, and not used afterwards."""

    def __init__(self, pointer: Any, close: Any, owner: _Handle | None = None) -> None:
        self._pointer = pointer
        self._close = close
        self._owner = owner
        self._children: weakref.WeakSet[_Handle] = weakref.WeakSet()
        if owner:
            owner._children.add(self)

    @property
    def _p(self) -> Any:
        if self._pointer is None:
            raise UsageError("it was closed")
        return self._pointer

    def close(self) -> None:
        """Release it, and what was opened of it.  It may not be used afterwards."""
        if getattr(self, "_pointer", None) is None:
            return
        for child in list(self._children):
            child.close()
        self._close(self._pointer)
        self._pointer = None

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        self.close()


def _open(function: Any, kind: str, *arguments: Any) -> Any:
    out, failure = ffi.new(f"struct {kind} **"), Failure()
    failure.check(function(*arguments, out, failure.pointer))
    return out[0]


def _ranges(pointer: Any, n: int) -> list[tuple[int, int]]:
    return [(pointer[i].first, pointer[i].last) for i in range(n)]


def _stats(s: Any) -> tuple[int, int, int, int]:
    return (s.n, s.sum, s.least, s.most)


def _array(pointer: Any, n: int, kind: Any) -> Array:
    if not n:
        return np.empty(0, dtype=kind)
    return np.frombuffer(ffi.buffer(pointer, n * np.dtype(kind).itemsize), dtype=kind).copy()


class _Depths:
    """The depth of nodes that come in preorder."""

    def __init__(self) -> None:
        self._ends: list[int] = []

    def of(self, index: int, end: int, is_loop: bool) -> int:
        """The depth of the next node."""
        while self._ends and self._ends[-1] <= index:
            self._ends.pop()
        depth = len(self._ends)
        if is_loop:
            self._ends.append(end)
        return depth


class Trace(_Handle):
    """A source of traces; open() makes one.  For one thread at a time: open it once for each."""

    def __init__(self, path: str, debug_dir: str | None = None) -> None:
        super().__init__(_open(lib.tiara_open, "tiara_trace", str(path).encode()), lib.tiara_close)
        if debug_dir is not None:
            failure = Failure()
            folders = debug_dir.encode() if debug_dir else ffi.NULL
            failure.check(lib.tiara_find_sources(self._p, folders, failure.pointer))

    def __repr__(self) -> str:
        if self._pointer is None:
            return "<tiara.Trace, closed>"
        return f"<tiara.Trace '{self.path}', {self.kind} of {self.ranks} ranks>"

    @property
    def path(self) -> str:
        """The path that was opened."""
        return text_of(lib.tiara_path(self._p))

    @property
    def kind(self) -> str:
        """"bundle", "run directory", "merged trace" or "rank file"."""
        return text_of(lib.tiara_kind(self._p))

    @property
    def ranks(self) -> int:
        """Ranks of the run, whether their traces are here or not."""
        return int(lib.tiara_ranks(self._p))

    @property
    def ranks_here(self) -> int:
        """Ranks whose traces are here."""
        return int(lib.tiara_ranks_here(self._p))

    def __contains__(self, rank: int) -> bool:
        return bool(lib.tiara_has(self._p, rank))

    @property
    def stored_bytes(self) -> int:
        """Bytes of all traces, as they are stored."""
        return int(lib.tiara_stored_bytes(self._p))

    @property
    def run_id(self) -> str:
        """The id of the run, which all its traces share."""
        return text_of(lib.tiara_run_id(self._p))

    @property
    def manifest(self) -> dict[str, Any] | None:
        """MANIFEST.json of a bundle, or RUN.json of a run directory: see tiara-bundle(5)."""
        out, failure = ffi.new("char **"), Failure()
        failure.check(lib.tiara_manifest(self._p, out, failure.pointer))
        return json.loads(text_of(out[0])) if out[0] else None

    def seed(self, seed: int) -> None:
        """Ranks that are opened from now on draw values by this seed, where the trace has
        statistics only.  It is 0 at first."""
        lib.tiara_seed(self._p, seed)

    def rank(self, rank: int, extras: bool = False) -> Rank:
        """Open the trace of a rank.  extras: with its extra columns, such as durations."""
        return Rank(self, rank, extras)

    def loops(self, rank: int) -> list[Node]:
        """The loops and calls of a rank in preorder, without expanding them."""
        shape = _open(lib.tiara_shape_open, "tiara_shape", self._p, rank)
        try:
            return list(self._nodes(shape))
        finally:
            lib.tiara_shape_close(shape)

    @staticmethod
    def _nodes(shape: Any) -> Iterator[Node]:
        node, stats, failure = ffi.new("struct tiara_node *"), ffi.new("struct tiara_stats *"), Failure()
        depths, names = _Depths(), fields()
        for i in range(lib.tiara_shape_nodes(shape)):
            failure.check(lib.tiara_shape_node(shape, i, node, failure.pointer))
            ranges = {}
            for field, name in enumerate(names):
                if not node.is_loop and node.fields >> field & 1:
                    failure.check(lib.tiara_shape_field(shape, i, field, stats, failure.pointer))
                    ranges[name] = (stats.least, stats.most)
            yield Node(node.end, depths.of(i, node.end, node.is_loop), bool(node.is_loop),
                       "" if node.is_loop else text_of(lib.tiara_op_name(node.op)),
                       text_of(lib.tiara_shape_name(shape, i)), node.passes, _stats(node.values),
                       ranges)

    def groups(self) -> list[Group]:
        """Open the groups of ranks of a merged trace; [] if each rank has a file of its own."""
        return [Group(self, number) for number in range(lib.tiara_groups(self._p))]

    def phases(self) -> Phases:
        """The loops and calls of all ranks: ranks with equal ones together."""
        pointer = _open(lib.tiara_phases, "tiara_phases", self._p)
        try:
            phases = Phases(self._shape(pointer, i) for i in range(lib.tiara_phases_shapes(pointer)))
            phases.coverage = _coverage(lib.tiara_phases_coverage(pointer))
            return phases
        finally:
            lib.tiara_phases_free(pointer)

    @staticmethod
    def _shape(pointer: Any, shape: int) -> Shape:
        n, node, depths, nodes = ffi.new("size_t *"), ffi.new("struct tiara_phase *"), _Depths(), []
        ranges = lib.tiara_phases_ranges(pointer, shape, n)
        for i in range(lib.tiara_phases_nodes(pointer, shape)):
            lib.tiara_phases_node(pointer, shape, i, node)
            nodes.append(Phase(
                node.end, depths.of(i, node.end, node.is_loop), bool(node.is_loop),
                "" if node.is_loop else text_of(lib.tiara_op_name(node.op)), text_of(node.name),
                node.events, node.bytes, node.volume, node.least, node.most, node.least_rank,
                node.most_rank, _stats(node.values)))
        return Shape(_ranges(ranges, n[0]), nodes)

    def traffic(self) -> Traffic:
        """Messages and one-sided transfers by pairs of ranks."""
        t = _open(lib.tiara_traffic, "tiara_traffic", self._p)
        try:
            return Traffic(
                self.ranks, _array(getattr(t, "from"), t.n, np.int64), _array(t.to, t.n, np.int64),
                _array(t.messages, t.n, np.uint64), _array(t.bytes, t.n, np.uint64),
                _array(t.one_sided, t.n, np.uint64), _array(t.one_sided_bytes, t.n, np.uint64),
                _coverage(t.of))
        finally:
            lib.tiara_traffic_free(t)

    def histogram(self) -> Histogram:
        """Sizes of messages and volumes of bursts, in powers of two."""
        h, failure = ffi.new("struct tiara_histogram *"), Failure()
        failure.check(lib.tiara_histogram(self._p, h, failure.pointer))

        def count(kind: Any) -> Array:
            return _array(kind.count, len(kind.count), np.uint64)

        def total(kind: Any) -> Array:
            return _array(kind.class_sum, len(kind.class_sum), np.uint64)

        first = np.array([0] + [1 << n for n in range(len(h.bursts.count) - 1)], dtype=np.uint64)
        return Histogram(first, count(h.messages), total(h.messages), count(h.one_sided),
                         total(h.one_sided), count(h.collectives), total(h.collectives),
                         count(h.bursts), total(h.bursts), text_of(h.unit), _coverage(h.of))

    def verify(self) -> Verdict:
        """Check that the trace is intact and sound: see tiara_verify() in tiara.h."""
        v = _open(lib.tiara_verify, "tiara_verdict", self._p)
        try:
            problems = [Problem(p.rank, None if p.event < 0 else p.event, text_of(p.call),
                                text_of(p.why), p.more)
                        for p in (v.problem[i] for i in range(v.n))]
            return Verdict(v.problems, problems, v.events, v.messages, v.bytes, v.collectives,
                           _coverage(v.of))
        finally:
            lib.tiara_verdict_free(v)


class Rank(_Handle):
    """The trace of a rank; Trace.rank() makes one.  It has a place, which reading moves on."""

    def __init__(self, trace: Trace, rank: int, extras: bool = False) -> None:
        pointer = _open(lib.tiara_rank_open, "tiara_rank", trace._p, rank, 1 if extras else 0)
        super().__init__(pointer, lib.tiara_rank_close, trace)
        self._extras = extras

    @property
    def number(self) -> int:
        """The rank."""
        return int(lib.tiara_rank_number(self._p))

    @property
    def info(self) -> dict[str, str]:
        """Metadata of the rank, by the keys of tiara-trace(5).  Some are at the end of the trace,
        and are there once it was read."""
        out, key, value = {}, ffi.new("char **"), ffi.new("char **")
        i = 0
        while lib.tiara_rank_info_at(self._p, i, key, value):
            out[text_of(key[0])] = text_of(value[0])
            i += 1
        return out

    @property
    def extras(self) -> dict[str, str]:
        """The extra columns and their units."""
        return {text_of(lib.tiara_rank_extra_name(self._p, i)):
                text_of(lib.tiara_rank_extra_unit(self._p, i))
                for i in range(lib.tiara_rank_extras(self._p))}

    def totals(self) -> tuple[int, int, bool]:
        """Events and volume of the whole trace, and whether it is complete.  The place is at its
        end then."""
        events, volume, complete = (ffi.new("uint64_t *"), ffi.new("uint64_t *"), ffi.new("bool *"))
        failure = Failure()
        failure.check(lib.tiara_rank_totals(self._p, events, volume, complete, failure.pointer))
        return events[0], volume[0], bool(complete[0])

    @property
    def end(self) -> str:
        """How the trace ended, once it was read to its end: "complete", or why not."""
        return text_of(lib.tiara_rank_end_text(self._p))

    def seek(self, event: int) -> bool:
        """Go to an event, from 0; False if there are no so many."""
        failure = Failure()
        found = lib.tiara_seek(self._p, event, failure.pointer)
        if found < 0:
            raise failure.exception()
        return bool(found)

    def _members(self, names: Sequence[str]) -> tuple[Any, np.dtype[Any]]:
        known, extras = fields(), list(self.extras)
        fixed = {"op": 0, "site": 1, "volume": 2}
        members = ffi.new("struct tiara_member[]", max(len(names), 1))
        kinds = []
        for i, name in enumerate(names):
            kind: Any = np.int64
            if name in fixed:
                what = fixed[name]
                kind = np.uint64 if name == "volume" else np.int64
            elif name in known:
                what = _READ_FIELD + known.index(name)
            elif name.startswith("world_") and name[6:] in _PEERS:
                what = _READ_WORLD + known.index(name[6:])
            elif self._extras and name in extras:
                what, kind = _READ_EXTRA + extras.index(name), np.uint64
            else:
                hint = "extra columns need rank(..., extras=True)" if name in extras else \
                    "it is op, site, volume, a field, world_ with a peer, or an extra column"
                raise UsageError(f"events have no column '{name}'", hint)
            members[i].what, members[i].offset = what, 8 * i
            kinds.append((name, kind))
        return members, np.dtype(kinds)

    def events(self, columns: Sequence[str] = _DEFAULT, most: int | None = None) -> Array:
        """The next events as a structured array: all that are left, or `most` of them.

        columns: "op" (an index of operations()), "site" (see source()), "volume" (uint64), a field
        ("peer", "tag", "bytes", ...: see fields()), "world_peer", "world_rpeer" or "world_from" (the
        world rank of a peer), or an extra column.  Fields that an event lacks are NONE.
        """
        members, dtype = self._members(columns)
        room = self._left() if most is None else most
        out = np.empty(room, dtype=dtype)
        used = 0
        while most is None or used < most:
            used += self._read(members, len(columns), out[used:])
            if used < len(out):
                break
            more = np.empty(1, dtype=dtype)
            if most is not None or not self._read(members, len(columns), more):
                break
            out = np.concatenate((out, more, np.empty(used // 2 + (1 << 16), dtype=dtype)))
            used += 1
        return out[:used] if used > len(out) // 8 * 7 else out[:used].copy()

    def _left(self) -> int:
        """Room for the events to come: those that the trace says it has, or less, since what it
        says may be wrong."""
        with Rank(self._owner, self.number) as again:  # type: ignore[arg-type]
            try:
                return min(again.totals()[0], 1 << 26)
            except PartialError:
                return 1 << 16

    def chunks(self, columns: Sequence[str] = _DEFAULT, events: int = 1 << 18) -> Iterator[Array]:
        """The next events in arrays of at most so many, for traces that are larger than memory."""
        members, dtype = self._members(columns)
        while True:
            out = np.empty(events, dtype=dtype)
            filled = self._read(members, len(columns), out)
            if filled:
                yield out if filled == events else out[:filled].copy()
            if filled < events:
                return

    def _read(self, members: Any, n: int, out: Array) -> int:
        """Fill an array; returns how many events there were, less than its length at the end."""
        failure = Failure()
        records = ffi.cast("char *", out.ctypes.data)
        filled = lib.tiara_read(self._p, members, n, records, out.dtype.itemsize, len(out),
                                failure.pointer)
        if filled < 0:
            raise failure.exception()
        return int(filled)

    def texts(self) -> Iterator[str]:
        """The next events as `ti-info --dump` prints them."""
        event, failure = ffi.new("struct tiara_event **"), Failure()
        while (more := lib.tiara_next(self._p, event, failure.pointer)) > 0:
            yield text_of(lib.tiara_event_text(self._p))
        if more < 0:
            raise failure.exception()

    def site(self, number: int) -> str:
        """A call site by its number, as the trace has it; "" if it is not known (yet)."""
        return text_of(lib.tiara_rank_site(self._p, number))

    def source(self, number: int) -> str:
        """A call site by its number, for people: "exchange lu.c:120", or "lu+0x1f30" if its source
        line is not known."""
        return text_of(lib.tiara_rank_source(self._p, number))

    def comm(self, number: int) -> Comm | None:
        """A communicator by its number, among those met so far."""
        c = ffi.new("struct tiara_comm *")
        if not lib.tiara_rank_comm(self._p, number, c):
            return None
        return Comm(c.rank, _array(c.member, c.size, np.int32),
                    _array(c.remote, c.remote_size, np.int32))


class Group(_Handle):
    """Ranks of a merged trace with the same calls in the same loops; Trace.groups() opens them."""

    def __init__(self, trace: Trace, number: int) -> None:
        super().__init__(_open(lib.tiara_group_open, "tiara_group", trace._p, number),
                         lib.tiara_group_close, trace)

    @property
    def ranks(self) -> list[tuple[int, int]]:
        """The members, as ranges (first, last)."""
        n = ffi.new("size_t *")
        pointer = lib.tiara_group_ranges(self._p, n)
        return _ranges(pointer, n[0])

    def __len__(self) -> int:
        return int(lib.tiara_group_size(self._p))

    def parts(self) -> list[Part]:
        """All numbers and lists of the members, with their formulas."""
        part, out = ffi.new("struct tiara_part *"), []
        for i in range(lib.tiara_group_parts(self._p)):
            lib.tiara_group_part(self._p, i, part)
            out.append(Part(i, text_of(part.kind), part.of, part.arrival, part.which,
                            bool(part.is_list), text_of(part.formula)))
        return out

    def values(self, first: int, n: int = 1) -> Array:
        """The values of `n` parts from `first` on: an array of [part, member]."""
        out, failure = np.empty((n, len(self)), dtype=np.int64), Failure()
        failure.check(lib.tiara_group_values(self._p, first, n,
                                             ffi.cast("int64_t *", ffi.from_buffer(out)),
                                             failure.pointer))
        return out
