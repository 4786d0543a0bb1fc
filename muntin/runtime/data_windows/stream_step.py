"""Runs a tree of data windows in a stream: takes records step by step, answers closed windows.

To the engine each step is a batch of its own. For every key that takes part, the partials of its
open windows' slices come first, as records with which those windows begin, then its new records.
After the last record all windows end. Those that a record or the watermark ended are answered; the
slices of the others are read, and kept for the next step.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from muntin.aggregates.aggregate import Component
from muntin.model.trees import DataTree
from muntin.runtime.columns.partials import Bools, Column, Int64s
from muntin.runtime.data_windows.custom_windows import CustomDiscretizer, restore, save
from muntin.runtime.data_windows.open_windows import (
    DiscretizerWindows,
    OpenWindows,
    from_state,
    no_open_windows,
    stream_names,
    to_state,
)
from muntin.runtime.data_windows.read_records import (
    RecordLayout,
    no_records,
    read_records,
    read_values,
)
from muntin.runtime.data_windows.step_rows import StepRecords, StepRows, number_keys
from muntin.runtime.data_windows.tree import (
    answers_of,
    columns_of,
    read_windows,
    tree_discretizers,
    window_readers,
)
from muntin.runtime.data_windows.window_stream import (
    NEVER,
    Discretizer,
    DiscretizerState,
    Records,
    WindowEdges,
    WindowReads,
)
from muntin.runtime.storage.layout import all_slots


@dataclass(frozen=True, kw_only=True)
class StepResult:
    """The answers of a step, and the state after it."""

    answers: list[pa.RecordBatch]
    # None if no key has a state.
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
            state=to_state(outcome.open_windows, names, entries)
            if outcome.open_windows.count
            else None,
            due=_due(finders, outcome.open_windows),
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
    open_windows: OpenWindows


class _Step:
    """One step of a tree."""

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
        self._known = new.open_windows

    def run(self, until: int) -> _Outcome:
        """Finds windows, cuts slices, and returns the answers of windows that have closed and the
        state of those that stay open."""
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
        live = np.unique(np.concatenate([each.still_open.slices for each in all_windows]))
        values = self._values(rows)
        # The last stream reads the slices that the next step needs.
        edges = [*(each.edges for each in all_windows), rows.slices(live)]
        layout, also = self._layout.layout, (len(all_windows),)
        readers = window_readers(self._tree, layout, self._streams, also=also)
        *reads, slice_reads = read_windows(readers, rows.keys, edges, values)
        answers = self._answers(reads, rows)
        windows, slice_keys, order = rows.open_after(all_windows, live)
        slices = {
            component: known.partials[component].where(order).concatenate(column)
            for component, column in columns_of(slice_reads).items()
        }
        return _Outcome(
            answers=answers, open_windows=self._state_after(windows, slice_keys, slices)
        )

    def _records(self) -> Records:
        """Returns the new records, a stretch for each key that has some, between two empty ones."""
        new, before = self._new, self._known.before
        by_stretch = before.each(new.by_stretch)
        records = read_records(new.records, self._layout, new.firsts, by_stretch)
        before.update(new.keys_with_records, records.after().each(lambda facts: facts[1:-1]))
        return records

    def _find(self, number: int, records: Records) -> WindowEdges:
        """Returns where windows of a stream begin and end, and updates its state of keys."""
        new, stream = self._new, self._streams[number][1]
        windows, memory = self._known.windows[number], self._known.memory[number]
        talk = new.has_records[windows.keys]
        made = self._known.user_objects[number]
        carried = DiscretizerState(
            open=np.bincount(new.stretch[windows.keys[talk]], minlength=records.stretches),
            starts=windows.starts[talk],
            memory={name: new.by_stretch(values) for name, values in memory.items()},
        )
        if isinstance(stream, CustomDiscretizer):
            assert made is not None
            texts = [made[key] for key in new.keys_with_records]
            objects = [None if text is None else restore(text, stream.window) for text in texts]
            carried.user_objects = [None, *objects, None]
        edges = stream.find(records, carried)
        for name, values in memory.items():
            values[new.keys_with_records] = carried.memory[name][1:-1]
        if isinstance(stream, CustomDiscretizer):
            assert made is not None
            for key, custom in zip(new.keys_with_records, carried.user_objects[1:-1], strict=True):
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

    def _answers(self, reads: list[list[WindowReads]], rows: StepRows) -> list[pa.RecordBatch]:
        answers = []
        for (number, _), parts in zip(self._streams, reads, strict=True):
            if not len(parts[0].rows):
                continue
            # A window's key is that of the row before its read.
            keys = self._known.keys.take(pa.array(rows.keys[parts[0].rows - 1])).combine_chunks()
            columns = {name: keys.column(name).combine_chunks() for name in keys.column_names}
            node, layout = self._tree.nodes[number], self._layout.layout
            answers.append(answers_of(number, node, layout, self._slots, columns, parts))
        return answers

    def _state_after(
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
            before=known.before.each(lambda facts: facts[chosen]),
            memory=[{name: memory[name][chosen] for name in memory} for memory in known.memory],
            user_objects=[
                None if texts is None else [texts[key] for key in chosen]
                for texts in known.user_objects
            ],
            windows=[replace(opened, keys=place[opened.keys]) for opened in windows],
            slice_keys=place[slice_keys],
            partials=partials,
        )
