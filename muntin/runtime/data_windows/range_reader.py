"""Answers windows from their records, for components whose partials no store of slices combines.

These are sets of values, registers of sketches, and values that others choose. Windows of a stream
begin and end in one order, so a sweep over the records answers all of them, as it does for periodic
windows over slices. Between batches the records of open windows are united into slices, one for
each record that an open window begins with.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from muntin.aggregates.aggregate import Component
from muntin.runtime.columns.partials import Column, Int64s, Partials
from muntin.runtime.data_windows.window_stream import WaitingWindows, WindowEdges, WindowReads
from muntin.runtime.storage.component_storage import ComponentStorage, Folding

# The technique for components that have no sweep.
_TECHNIQUE = "two_stacks_lite"


class RangeReader:
    """Answers some streams of windows, and keeps the slices of those that are open."""

    def __init__(self, storages: Mapping[Component, ComponentStorage], streams: int) -> None:
        self._storages = storages
        self.open_slices: Partials | None = None
        self._waiting = [WaitingWindows() for _ in range(streams)]

    def read(
        self, keys: Int64s, edges: Sequence[WindowEdges], values: Mapping[Component, Column]
    ) -> list[WindowReads]:
        """Returns the windows that are read in a batch of rows, one object per stream.

        `edges` say where the windows of each stream begin and are read. `keys` has a number for
        each row's key; rows of a key follow each other.
        """
        rows = Partials(
            keys=keys,
            starts=np.zeros(len(keys), np.int64),
            columns={component: values[component] for component in self._storages},
        )
        older = 0
        if self.open_slices is not None:
            older = len(self.open_slices)
            rows = self.open_slices.concatenate(rows)
        foldings = {
            component: storage.folding(rows.columns[component], rows.keys)
            for component, storage in self._storages.items()
        }
        reads = []
        for waiting, stream_edges in zip(self._waiting, edges, strict=True):
            taken = waiting.take(stream_edges, older + stream_edges.begins)
            lows = taken.slices[taken.asks]
            highs = stream_edges.reads[taken.asks] + older
            reads.append(
                WindowReads(
                    rows=stream_edges.reads[taken.asks],
                    starts=taken.starts[taken.asks],
                    ends=stream_edges.ends[taken.asks],
                    columns={
                        component: each.over(lows, highs, _TECHNIQUE)
                        for component, each in foldings.items()
                    },
                )
            )
        self._keep(rows, foldings)
        return reads

    def _keep(self, rows: Partials, foldings: Mapping[Component, Folding]) -> None:
        """Unites the rows between the first rows of open windows into slices for the next batch."""
        live = np.unique(np.concatenate([waiting.slices for waiting in self._waiting]))
        if not len(live):
            self.open_slices = None
            return
        highs = np.append(live[1:], len(rows))
        self.open_slices = Partials(
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
