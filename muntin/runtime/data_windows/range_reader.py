"""Answers windows from their records, for components whose partials no store of slices combines.

These are sets of values, registers of sketches, and values that others choose. Windows of a stream
begin and end in one order, so a sweep over the records answers all of them, as it does for periodic
windows over slices. Between batches the records of open windows are united into slices, one for
each record that an open window begins with.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from muntin.model.aggregates.aggregate import Component
from muntin.model.aggregates.monoids import Monoid
from muntin.model.aggregates.user_aggregate import UserComponent
from muntin.runtime.columns.fold_ranges import Folding, folding
from muntin.runtime.columns.join_partials import concatenate
from muntin.runtime.columns.partials import Column, Int64s, Partials
from muntin.runtime.data_windows.record_batch import WindowEdges
from muntin.runtime.data_windows.waiting_windows import Read, WaitingWindows
from muntin.runtime.entries.entry_ranges import EntryFolding

# What folds the rows of windows, where a sweep does not.
_TECHNIQUE = "two_stacks_lite"


def is_read_from_records(component: Component, monoid: Monoid) -> bool:
    """Whether windows of a component are answered from records, and not from a store of slices."""
    if isinstance(component, UserComponent):
        return False
    return monoid.sweep is not None or monoid.only is not None or component.part.is_chosen


class RangeReader:
    """Answers some streams of windows, and keeps the slices of those that are open."""

    def __init__(self, monoids: Mapping[Component, Monoid], streams: int) -> None:
        self._monoids = monoids
        self.kept: Partials | None = None
        self._waiting = [WaitingWindows() for _ in range(streams)]

    def feed(
        self, keys: Int64s, marks: Sequence[WindowEdges], values: Mapping[Component, Column]
    ) -> list[Read]:
        """Take a batch of rows, given where each stream's windows begin and are read.

        `keys` has a number for each row's key. Rows of a key follow each other.
        """
        rows = Partials(
            keys=keys,
            starts=np.zeros(len(keys), np.int64),
            columns={component: values[component] for component in self._monoids},
        )
        older = 0
        if self.kept is not None:
            older = len(self.kept)
            rows = concatenate(self.kept, rows)
        foldings = {
            component: folding(rows.columns[component], monoid, rows.keys)
            for component, monoid in self._monoids.items()
        }
        reads = []
        for waiting, stream_marks in zip(self._waiting, marks, strict=True):
            taken = waiting.take(stream_marks, older + stream_marks.begins)
            lows = taken.slices[taken.asks]
            highs = stream_marks.reads[taken.asks] + older
            reads.append(
                Read(
                    rows=stream_marks.reads[taken.asks],
                    starts=taken.starts[taken.asks],
                    ends=stream_marks.ends[taken.asks],
                    columns={
                        component: each.over(lows, highs, _TECHNIQUE)
                        for component, each in foldings.items()
                    },
                )
            )
        self._keep(rows, foldings)
        return reads

    def _keep(self, rows: Partials, foldings: Mapping[Component, Folding | EntryFolding]) -> None:
        """Keep a slice from each row that an open window begins with up to the next."""
        live = np.unique(np.concatenate([waiting.slices for waiting in self._waiting]))
        if not len(live):
            self.kept = None
            return
        highs = np.append(live[1:], len(rows))
        self.kept = Partials(
            keys=rows.keys[live],
            starts=rows.starts[live],
            columns={
                # Copies, so that a few rows do not keep the whole batch in memory.
                component: each.over(live, highs, _TECHNIQUE).copy()
                for component, each in foldings.items()
            },
        )
        for waiting in self._waiting:
            waiting.slices = np.searchsorted(live, waiting.slices)
