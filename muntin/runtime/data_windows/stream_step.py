"""Runs a tree of data windows in a stream: takes records step by step, answers closed windows.

To the engine each step is a batch of its own. For every key that takes part, the partials of its
open windows' slices come first, as records with which those windows begin, then its new records.
After the last record all windows end. Those that a record or the watermark ended are answered; the
slices of the others are read, and kept for the next step.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from muntin.aggregates.aggregate import Component
from muntin.model.trees import DataTree
from muntin.runtime.columns.partials import Bools, Column, Int64s, Partials
from muntin.runtime.data_windows.custom_state import restore, save
from muntin.runtime.data_windows.custom_windows import CustomDiscretizer
from muntin.runtime.data_windows.cutter import Cutter
from muntin.runtime.data_windows.new_records import StepRecords, number_keys
from muntin.runtime.data_windows.open_windows import (
    DiscretizerWindows,
    OpenWindows,
    from_state,
    no_open_windows,
    stream_names,
    to_state,
)
from muntin.runtime.data_windows.range_reader import RangeReader
from muntin.runtime.data_windows.read_records import (
    RecordLayout,
    no_records,
    read_records,
    read_values,
)
from muntin.runtime.data_windows.record_batch import (
    DiscretizerState,
    PreviousRecord,
    Records,
    WindowEdges,
)
from muntin.runtime.data_windows.step_rows import StepRows
from muntin.runtime.data_windows.tree import (
    answers_of,
    cut_groups,
    swept_groups,
    tree_discretizers,
)
from muntin.runtime.data_windows.waiting_windows import WindowReads
from muntin.runtime.data_windows.window_stream import NEVER, Discretizer
from muntin.runtime.storage.layout import all_slots


@dataclass(frozen=True, kw_only=True)
class StepResult:
    """The answers of a step, and the state after it."""

    answers: list[pa.RecordBatch]
    # None if nothing is left to remember.
    state: bytes | None
    # The least watermark that closes an open window.
    due: int | None


class StreamSteps:
    """Runs the steps of one tree; each starts from the state that the one before returned."""

    def __init__(self, tree: DataTree, layout: RecordLayout) -> None:
        self._tree = tree
        self._layout = layout

    def step(self, state: bytes | None, records: pa.RecordBatch | None, until: int) -> StepResult:
        """Runs a step; later ones have no records from before `until`. Records are in any order."""
        streams = tree_discretizers(self._tree)
        names = stream_names(self._tree, streams)
        finders = [stream for _, stream in streams]
        entries = self._layout.layout.storages
        if state is not None:
            known = from_state(state, names, finders, self._layout)
            if records is None:
                records = no_records(self._layout, known.keys.schema, known.before.highest)
        elif records is not None:
            known = no_open_windows(self._layout, records, finders)
        else:
            return StepResult(answers=[], state=None, due=None)
        new = number_keys(known, records, self._layout)
        outcome = _Step(self._tree, self._layout, streams, new).run(until)
        return StepResult(
            answers=outcome.answers,
            state=to_state(outcome.left, names, entries) if outcome.left.count else None,
            due=_due(finders, outcome.left),
        )


def _due(streams: Sequence[Discretizer], left: OpenWindows) -> int | None:
    dues = [stream.due(windows.ends) for stream, windows in zip(streams, left.windows, strict=True)]
    first = min(
        (int(stream_dues.min()) for stream_dues in dues if len(stream_dues)), default=int(NEVER)
    )
    return None if first == NEVER else first


@dataclass(frozen=True, kw_only=True)
class _Outcome:
    answers: list[pa.RecordBatch]
    left: OpenWindows


class _Step:
    """One step; the state of keys is in arrays with an element for each key."""

    def __init__(
        self,
        tree: DataTree,
        layout: RecordLayout,
        streams: Sequence[tuple[int, Discretizer]],
        new: StepRecords,
    ) -> None:
        self._tree = tree
        self._layout = layout
        self._slots = all_slots(tree, layout.layout)
        self._streams = streams
        self._new = new
        self._known = new.known

    def run(self, until: int) -> _Outcome:
        """Find windows, cut slices, answer what has closed, and keep what stays open."""
        new, known = self._new, self._known
        records = self._records()
        all_edges = [self._find(number, records) for number in range(len(self._streams))]
        due = np.zeros(known.count, np.bool_)
        for (_, stream), opened in zip(self._streams, known.windows, strict=True):
            due[opened.keys[stream.due(opened.ends) <= until]] = True
        rows = StepRows(new, active=new.has_records | due)
        all_windows = [
            rows.place_windows(edges, opened, stream, until)
            for edges, opened, (_, stream) in zip(
                all_edges, known.windows, self._streams, strict=True
            )
        ]
        live = np.unique(np.concatenate([each.left_rows for each in all_windows]))
        values = self._values(rows)
        reads, partials = self._cut([each.edges for each in all_windows], rows, live, values)
        answers = self._answers(reads, rows)
        windows, slice_keys, order = rows.left(all_windows, live)
        slices = {
            component: known.partials[component].where(order).concatenate(column)
            for component, column in partials.items()
        }
        return _Outcome(answers=answers, left=self._left(windows, slice_keys, slices))

    def _records(self) -> Records:
        """Returns the new records, a stretch for each key that has some, between two empty ones."""
        new, before = self._new, self._known.before
        by_stretch = PreviousRecord(
            lasts=new.by_stretch(before.lasts),
            met={sql: new.by_stretch(met) for sql, met in before.met.items()},
            highest={sql: new.by_stretch(values) for sql, values in before.highest.items()},
        )
        records = read_records(new.records, self._layout, new.firsts, by_stretch)
        after = records.after()
        before.lasts[new.keys_with_records] = after.lasts[1:-1]
        for sql, met in before.met.items():
            met[new.keys_with_records] = after.met[sql][1:-1]
        for sql, values in before.highest.items():
            values[new.keys_with_records] = after.highest[sql][1:-1]
        return records

    def _find(self, number: int, records: Records) -> WindowEdges:
        """Returns where windows of a stream begin and end, and updates its state of keys."""
        new, stream = self._new, self._streams[number][1]
        windows, memory = self._known.windows[number], self._known.memory[number]
        talk = new.has_records[windows.keys]
        made = self._known.made[number]
        carried = DiscretizerState(
            open=np.bincount(new.stretch[windows.keys[talk]], minlength=records.stretches),
            starts=windows.starts[talk],
            memory={name: new.by_stretch(values) for name, values in memory.items()},
        )
        if isinstance(stream, CustomDiscretizer):
            assert made is not None
            texts = [made[key] for key in new.keys_with_records]
            objects = [None if text is None else restore(text, stream.window) for text in texts]
            carried.made = [None, *objects, None]
        edges = stream.find(records, carried)
        for name, values in memory.items():
            values[new.keys_with_records] = carried.memory[name][1:-1]
        if isinstance(stream, CustomDiscretizer):
            assert made is not None
            for key, custom in zip(new.keys_with_records, carried.made[1:-1], strict=True):
                made[key] = save(custom, stream.window)
        return edges

    def _values(self, rows: StepRows) -> dict[Component, Column]:
        """Returns each component's partials in all rows, of stored slices and of records."""
        slices = np.flatnonzero(rows.active[self._known.slice_keys])
        fresh = read_values(self._new.records, self._layout)
        return {
            component: self._known.partials[component]
            .where(slices)
            .concatenate(column)
            .where(rows.take)
            for component, column in fresh.items()
        }

    def _cut(
        self,
        edges: Sequence[WindowEdges],
        rows: StepRows,
        live: Int64s,
        values: Mapping[Component, Column],
    ) -> tuple[list[list[WindowReads]], dict[Component, Column]]:
        """Returns the reads of every stream, by cutter, and the partials of slices that stay."""
        slices = rows.slices(live)
        reads: list[list[WindowReads]] = [[] for _ in edges]
        partials: dict[Component, Column] = {}
        for members, monoids in cut_groups(self._tree, self._layout.layout, self._streams):
            cutter = Cutter(monoids, len(members) + 1)
            *stream_reads, last = cutter.feed(
                rows.count, [*(edges[member] for member in members), slices], values
            )
            for member, read in zip(members, stream_reads, strict=True):
                reads[member].append(read)
            for component in monoids:
                partials.setdefault(component, last.columns[component])
        for members, of_records in swept_groups(self._tree, self._layout.layout, self._streams):
            reader = RangeReader(of_records, len(members) + 1)
            *stream_reads, last = reader.feed(
                rows.keys, [*(edges[member] for member in members), slices], values
            )
            for member, read in zip(members, stream_reads, strict=True):
                reads[member].append(read)
            partials |= last.columns
        return reads, partials

    def _answers(self, reads: list[list[WindowReads]], rows: StepRows) -> list[pa.RecordBatch]:
        answers = []
        for (number, _), parts in zip(self._streams, reads, strict=True):
            first = parts[0]
            if not len(first.rows):
                continue
            partials = Partials(
                # The key of the record before.
                keys=rows.keys[first.rows - 1],
                starts=first.starts,
                columns={c: column for part in parts for c, column in part.columns.items()},
            )
            keys = self._known.keys.take(pa.array(partials.keys)).combine_chunks()
            columns = {name: keys.column(name).combine_chunks() for name in keys.column_names}
            node, layout = self._tree.nodes[number], self._layout.layout
            answers.append(
                answers_of(number, node, layout, self._slots, columns, partials, first.ends)
            )
        return answers

    def _left(
        self,
        windows: Sequence[DiscretizerWindows],
        slice_keys: Int64s,
        partials: Mapping[Component, Column],
    ) -> OpenWindows:
        """Returns the state after the step, without keys that have none."""
        known = self._known
        stays: Bools = np.zeros(known.count, np.bool_)
        stays[slice_keys] = True
        if not all(stream.forgets for _, stream in self._streams):
            stays[:] = True
        place = np.cumsum(stays) - 1
        chosen = np.flatnonzero(stays)
        return OpenWindows(
            keys=known.keys.take(pa.array(chosen)),
            count=len(chosen),
            before=PreviousRecord(
                lasts=known.before.lasts[chosen],
                met={sql: met[chosen] for sql, met in known.before.met.items()},
                highest={sql: values[chosen] for sql, values in known.before.highest.items()},
            ),
            memory=[{name: memory[name][chosen] for name in memory} for memory in known.memory],
            made=[
                None if texts is None else [texts[key] for key in chosen] for texts in known.made
            ],
            windows=[
                DiscretizerWindows(
                    keys=place[opened.keys],
                    slices=opened.slices,
                    starts=opened.starts,
                    ends=opened.ends,
                    asks=opened.asks,
                )
                for opened in windows
            ],
            slice_keys=place[slice_keys],
            partials=partials,
        )
