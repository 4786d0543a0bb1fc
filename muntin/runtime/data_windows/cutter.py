"""Cuts records into slices and stores their partials, for streams of the same components."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import ModuleType
from typing import Any

import numpy as np

from muntin.aggregates.aggregate import Component
from muntin.aggregates.monoids import Monoid
from muntin.runtime.columns.partials import (
    Bools,
    Column,
    Int64s,
    PartialColumn,
    Scalars,
    scalars_of,
)
from muntin.runtime.data_windows.window_stream import (
    NOTHING,
    WaitingWindows,
    WindowEdges,
    WindowReads,
)
from muntin.runtime.storage.numbers import without_gaps
from muntin.techniques import b_int, cutty, flat_fat, panes, suffixes
from muntin.techniques.kernels.compile import bind, bind_python

# How slices are stored: the paper's eager and lazy store, and two that need fewer combines.
STORES: dict[str, ModuleType] = {
    "suffixes": suffixes,
    "b_int": b_int,
    "flat_fat": flat_fat,
    "lazy": panes,
}
DEFAULT = "suffixes"


@dataclass
class _Column:
    """One component's store of slices, its open partial, and the number of values it has seen."""

    component: Component
    monoid: Monoid
    kernel: Any
    memory: Any
    cursor: Any
    opened: Any
    # The number of values so far, and when each slice began; nulls do not count.
    seen: int = 0
    seen_at: Int64s = field(default_factory=lambda: NOTHING)
    # An empty column in the codes of the partials in the store.
    stored: PartialColumn | None = None

    def in_codes_of_store(self, given: PartialColumn) -> PartialColumn:
        """Returns partials in codes that are common with the store, which is recoded if needed."""
        if self.stored is not None:
            given, codes = given.in_codes_of(self.stored)
            if codes is not None:
                for partials in (*self.memory, self.opened):
                    _recode(partials, codes)
        self.stored = given.where(NOTHING)
        return given


class Cutter:
    """Runs algorithm 1 of Cutty for some streams and the components that all of them need.

    `tally`, if given, counts combines and inverses.
    """

    def __init__(
        self,
        monoids: Mapping[Component, tuple[Monoid, Any]],
        streams: int,
        *,
        store: str = DEFAULT,
        tally: Int64s | None = None,
    ) -> None:
        """`monoids` has each component's monoid and the type of its scalars, `object` for any."""
        self._tally = tally
        algorithm = STORES[store]
        self._columns = [
            _column(component, *kind, algorithm, tally) for component, kind in monoids.items()
        ]
        self.state = np.zeros(cutty.STATE, np.int64)
        # For every slice since the oldest that is needed, whose number is `_base`.
        self._leaves: Int64s = NOTHING
        self._alive: Int64s = NOTHING
        self._base = 0
        self._waiting = [WaitingWindows() for _ in range(streams)]

    def read(
        self,
        keys: Int64s,
        edges: Sequence[WindowEdges],
        values: Mapping[Component, Column],
        further_cuts: Int64s = NOTHING,
    ) -> list[WindowReads]:
        """Returns the windows that are read in a batch of records, one object per stream.

        `edges` say where the windows of each stream begin and are read. `keys` has a number for
        each record's key. `further_cuts` are rows at which a slice starts although no window begins
        there, which other ways of slicing need.
        """
        rows = len(keys)
        begins = np.concatenate([stream_edges.begins for stream_edges in edges])
        is_cut = np.zeros(rows, np.bool_)
        is_cut[begins] = is_cut[further_cuts] = True
        cuts = np.flatnonzero(is_cut)
        place = (np.cumsum(is_cut) - 1)[begins]
        begun = np.bincount(place, minlength=len(cuts))
        known = self._base + len(self._leaves)
        splits = np.cumsum([len(stream_edges.begins) for stream_edges in edges])[:-1]
        pairs = zip(self._waiting, edges, np.split(known + place, splits), strict=True)
        read = [waiting.take(stream_edges, slices) for waiting, stream_edges, slices in pairs]
        reads = np.concatenate([stream_edges.reads for stream_edges in edges])
        order = np.argsort(reads, kind="stable")
        slices = np.concatenate([taken.slices for taken in read])[order] - self._base
        closes = np.concatenate([taken.closes for taken in read])[order]
        asks = np.concatenate([taken.asks for taken in read])[order]
        back = np.empty(len(order), np.int64)
        back[order] = np.arange(len(order))
        where = (cuts, begun, reads[order], slices, closes, asks)
        partials = self._answer_reads(rows, where, values)
        limits = np.cumsum([len(stream_edges.reads) for stream_edges in edges])[:-1]
        chosen = [
            part[taken.asks] for part, taken in zip(np.split(back, limits), read, strict=True)
        ]
        return [
            WindowReads(
                rows=stream_edges.reads[taken.asks],
                starts=taken.starts[taken.asks],
                ends=stream_edges.ends[taken.asks],
                columns={component: column.where(part) for component, column in partials.items()},
            )
            for stream_edges, taken, part in zip(edges, read, chosen, strict=True)
        ]

    def _answer_reads(
        self, rows: int, where: tuple[Any, ...], values: Mapping[Component, Column]
    ) -> dict[Component, PartialColumn]:
        cuts, _, reads, slices, _, _ = where
        leaves = np.concatenate([self._leaves, np.empty(len(cuts), np.int64)])
        alive = np.concatenate([self._alive, np.empty(len(cuts), np.int64)])
        partials = {}
        for column in self._columns:
            given = column.in_codes_of_store(scalars_of(values[column.component]))
            # Every component makes the same decisions; keep those of the last.
            state, after, living = self.state.copy(), leaves.copy(), alive.copy()
            scalars, answers = _scalars(column.monoid, given, len(reads), column.opened)
            if self._tally is not None:
                scalars, answers = (scalars, self._tally), (answers, self._tally)
            column.memory, column.cursor = column.kernel(
                column.memory,
                column.cursor,
                column.opened,
                state,
                after,
                living,
                scalars,
                rows,
                *where,
                answers,
            )
            if self._tally is not None:
                answers = answers[0]
            partials[column.component] = replace(
                given,
                scalars=_arrays(column.monoid, answers),
                present=_present(column, given, rows, cuts, reads, slices),
            )
        oldest = int(state[cutty.OLDEST])
        state[cutty.SLICES] -= oldest
        state[cutty.OLDEST] = 0
        self.state, self._leaves, self._alive = state, after[oldest:], living[oldest:]
        self._base += oldest
        for column in self._columns:
            column.seen_at = column.seen_at[oldest:]
        return partials


def _recode(codes: Int64s, new_codes: Int64s) -> None:
    """Replaces codes by their new ones; other integers stand for no value."""
    is_code = (codes >= 0) & (codes < len(new_codes))
    codes[is_code] = new_codes[codes[is_code]]


def _column(
    component: Component, monoid: Monoid, dtype: Any, store: ModuleType, tally: Int64s | None
) -> _Column:
    counted = tally is not None

    def bound(function: Any) -> Any:
        if dtype is object:
            return bind_python(function, monoid.combine, algorithm=store, counted=counted)
        return bind(function, monoid, algorithm=store, counted=counted)

    if dtype is object:
        opened: Any = [None]
    elif monoid.width == 1:
        opened = np.empty(1, dtype)
    else:
        opened = tuple(np.empty(1, dtype) for _ in range(monoid.width))
    if counted:
        opened = (opened, tally)
    memory, cursor = bound(cutty.new_store)(opened)
    return _Column(
        component=component,
        monoid=monoid,
        kernel=bound(cutty.cut),
        memory=memory,
        cursor=cursor,
        opened=opened,
    )


def _scalars(monoid: Monoid, given: PartialColumn, reads: int, opened: Any) -> tuple[Any, Any]:
    """Returns a column's partials, the identity where one is missing, and arrays for answers."""
    scalars = given.scalars
    if isinstance(opened, list):
        # Combined as Python objects.
        parts = [scalar.tolist() for scalar in scalars]
        return parts[0] if monoid.width == 1 else list(zip(*parts, strict=True)), [None] * reads
    scalars = without_gaps(given, monoid).scalars
    answers = tuple(np.zeros(reads, scalar.dtype) for scalar in scalars)
    return (scalars, answers) if monoid.width > 1 else (scalars[0], answers[0])


def _arrays(monoid: Monoid, answers: Any) -> Scalars:
    """Returns answers as an array for each scalar; reads that ask for none have any number."""
    if not isinstance(answers, list):
        return answers if isinstance(answers, tuple) else (answers,)
    nothing = 0.0 if monoid.width == 1 else (0.0,) * monoid.width
    filled = np.array([nothing if answer is None else answer for answer in answers], np.float64)
    return tuple(filled.reshape(len(answers), monoid.width).T)


def _present(
    column: _Column, given: PartialColumn, rows: int, cuts: Int64s, reads: Int64s, slices: Int64s
) -> Bools | None:
    """Returns for each read whether its window has a value; None if missing ones count as zero."""
    if column.component.part.is_never_null:
        return None
    if given.present is None:
        counts = column.seen + np.arange(rows + 1)
    else:
        counts = column.seen + np.concatenate([[0], np.cumsum(given.present)])
    column.seen = int(counts[-1])
    column.seen_at = np.concatenate([column.seen_at, counts[cuts]])
    present: Bools = counts[reads] > column.seen_at[slices]
    return present
