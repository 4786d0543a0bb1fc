"""A tree of data windows in a stream: records step by step, answers of windows that closed.

A step is a batch of its own to the engine: of every key that has something to say, the partials of
its open windows' slices stand as records before its new ones, and those windows begin with them.
Behind the last record all windows are ended. Those that a record or the watermark ended are
answered; of the others the slices are read, and kept for the next step.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from muntin.model.aggregates.aggregate import Component
from muntin.model.record_tree import RecordTree
from muntin.runtime.columns.layout import all_slots
from muntin.runtime.columns.partials import Bools, Int64s, PartialColumn, Partials, joined
from muntin.runtime.record_steps.custom_state import restore, save
from muntin.runtime.record_steps.new_records import Arrived, arrived
from muntin.runtime.record_steps.open_windows import (
    DiscretizerWindows,
    OpenWindows,
    from_state,
    nothing_known,
    stream_names,
    to_state,
)
from muntin.runtime.record_steps.step_rows import Rows
from muntin.runtime.records.custom_windows import CustomDiscretizer
from muntin.runtime.records.cutter import Cutter, Read
from muntin.runtime.records.read_records import RecordLayout, no_records, read_records, read_values
from muntin.runtime.records.record_batch import Before, Carried, Marks, Records
from muntin.runtime.records.record_tree import answers_of, cut_together, tree_discretizers
from muntin.runtime.records.window_stream import NEVER, Discretizer


@dataclass(frozen=True, kw_only=True)
class Stepped:
    """What a step comes to: answers, and what is known behind it."""

    answers: list[pa.RecordBatch]
    # None where nothing is left to remember.
    state: bytes | None
    # The least watermark that closes one of the windows that are open.
    due: int | None


class Stepper:
    """Steps of one tree, each given what the one before knew."""

    def __init__(self, tree: RecordTree, layout: RecordLayout) -> None:
        self._tree = tree
        self._layout = layout

    def step(self, state: bytes | None, records: pa.RecordBatch | None, until: int) -> Stepped:
        """Take in records, in any order, of which none before `until` will follow."""
        streams = tree_discretizers(self._tree)
        names = stream_names(self._tree, streams)
        finders = [stream for _, stream in streams]
        kept = self._layout.layout.kept
        if state is not None:
            known = from_state(state, names, finders, kept)
            if records is None:
                records = no_records(self._layout, known.keys.schema, known.before.highest)
        elif records is not None:
            known = nothing_known(self._layout, records, finders)
        else:
            return Stepped(answers=[], state=None, due=None)
        new = arrived(known, records, self._layout)
        found = _Step(self._tree, self._layout, streams, new).run(until)
        return Stepped(
            answers=found.answers,
            state=to_state(found.left, names) if found.left.count else None,
            due=_due(finders, found.left),
        )


def _due(streams: Sequence[Discretizer], left: OpenWindows) -> int | None:
    dues = [stream.due(one.ends) for stream, one in zip(streams, left.windows, strict=True)]
    first = min((int(one.min()) for one in dues if len(one)), default=int(NEVER))
    return None if first == NEVER else first


@dataclass(frozen=True, kw_only=True)
class _Found:
    answers: list[pa.RecordBatch]
    left: OpenWindows


class _Step:
    """One step: everything about keys is an array with a place for each of them."""

    def __init__(
        self,
        tree: RecordTree,
        layout: RecordLayout,
        streams: Sequence[tuple[int, Discretizer]],
        new: Arrived,
    ) -> None:
        self._tree = tree
        self._layout = layout
        self._slots = all_slots(tree, layout.layout)
        self._streams = streams
        self._new = new
        self._known = new.known

    def run(self, until: int) -> _Found:
        """Find, cut, and sort out what stays open."""
        new, known = self._new, self._known
        records = self._records()
        found = [self._find(number, records) for number in range(len(self._streams))]
        due = np.zeros(known.count, np.bool_)
        for (_, stream), one in zip(self._streams, known.windows, strict=True):
            due[one.keys[stream.due(one.ends) <= until]] = True
        rows = Rows(new, active=new.talks | due)
        laid = [
            rows.lay(marks, one, stream, until)
            for marks, one, (_, stream) in zip(found, known.windows, self._streams, strict=True)
        ]
        live = np.unique(np.concatenate([one.left_rows for one in laid]))
        values = self._values(rows)
        reads, partials = self._cut([one.marks for one in laid], rows, live, values)
        answers = self._answers(reads, rows)
        windows, slice_keys, order = rows.left(laid, live)
        slices = {
            component: joined(known.partials[component].where(order), column)
            for component, column in partials.items()
        }
        return _Found(answers=answers, left=self._left(windows, slice_keys, slices))

    def _records(self) -> Records:
        """The new records, a stretch for each key that has some, and one around them."""
        new, before = self._new, self._known.before
        around = Before(
            lasts=new.around(before.lasts),
            met={sql: new.around(held) for sql, held in before.met.items()},
            highest={sql: new.around(values) for sql, values in before.highest.items()},
        )
        records = read_records(new.records, self._layout, new.firsts, around)
        after = records.after()
        before.lasts[new.talkers] = after.lasts[1:-1]
        for sql, held in before.met.items():
            held[new.talkers] = after.met[sql][1:-1]
        for sql, values in before.highest.items():
            values[new.talkers] = after.highest[sql][1:-1]
        return records

    def _find(self, number: int, records: Records) -> Marks:
        """Where windows of a stream begin and end; what it knows of keys is brought up to date."""
        new, stream = self._new, self._streams[number][1]
        windows, memory = self._known.windows[number], self._known.memory[number]
        talk = new.talks[windows.keys]
        made = self._known.made[number]
        carried = Carried(
            open=np.bincount(new.stretch[windows.keys[talk]], minlength=records.stretches),
            starts=windows.starts[talk],
            memory={name: new.around(values) for name, values in memory.items()},
        )
        if isinstance(stream, CustomDiscretizer):
            assert made is not None
            texts = [made[key] for key in new.talkers]
            objects = [None if text is None else restore(text, stream.window) for text in texts]
            carried.made = [None, *objects, None]
        marks = stream.find(records, carried)
        for name, values in memory.items():
            values[new.talkers] = carried.memory[name][1:-1]
        if isinstance(stream, CustomDiscretizer):
            assert made is not None
            for key, one in zip(new.talkers, carried.made[1:-1], strict=True):
                made[key] = save(one, stream.window)
        return marks

    def _values(self, rows: Rows) -> dict[Component, PartialColumn]:
        """What each component has in each row: kept partials of slices, then those of records."""
        kept = np.flatnonzero(rows.active[self._known.slice_keys])
        fresh = read_values(self._new.records, self._layout)
        return {
            component: joined(self._known.partials[component].where(kept), column).where(rows.take)
            for component, column in fresh.items()
        }

    def _cut(
        self,
        marks: Sequence[Marks],
        rows: Rows,
        live: Int64s,
        values: Mapping[Component, PartialColumn],
    ) -> tuple[list[list[Read]], dict[Component, PartialColumn]]:
        """The answers of every stream, each from its cutters; the partials of slices that stay."""
        slices = rows.slices(live)
        reads: list[list[Read]] = [[] for _ in marks]
        partials: dict[Component, PartialColumn] = {}
        for members, monoids in cut_together(self._tree, self._layout.layout, self._streams):
            cutter = Cutter(monoids, len(members) + 1)
            *found, last = cutter.feed(
                rows.count, [*(marks[one] for one in members), slices], values
            )
            for one, read in zip(members, found, strict=True):
                reads[one].append(read)
            for component in monoids:
                partials.setdefault(component, last.columns[component])
        return reads, partials

    def _answers(self, reads: list[list[Read]], rows: Rows) -> list[pa.RecordBatch]:
        found = []
        for (number, _), parts in zip(self._streams, reads, strict=True):
            first = parts[0]
            if not len(first.rows):
                continue
            partials = Partials(
                # The key of the record before.
                keys=rows.keys[first.rows - 1],
                starts=first.starts,
                columns={c: column for one in parts for c, column in one.columns.items()},
            )
            keys = self._known.keys.take(pa.array(partials.keys)).combine_chunks()
            columns = {name: keys.column(name).combine_chunks() for name in keys.column_names}
            node, layout = self._tree.nodes[number], self._layout.layout
            found.append(
                answers_of(number, node, layout, self._slots, columns, partials, first.ends)
            )
        return found

    def _left(
        self,
        windows: Sequence[DiscretizerWindows],
        slice_keys: Int64s,
        partials: Mapping[Component, PartialColumn],
    ) -> OpenWindows:
        """What is known now, without keys that are as good as new."""
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
            before=Before(
                lasts=known.before.lasts[chosen],
                met={sql: held[chosen] for sql, held in known.before.met.items()},
                highest={sql: values[chosen] for sql, values in known.before.highest.items()},
            ),
            memory=[{name: one[name][chosen] for name in one} for one in known.memory],
            made=[None if one is None else [one[key] for key in chosen] for one in known.made],
            windows=[
                DiscretizerWindows(
                    keys=place[one.keys],
                    slices=one.slices,
                    starts=one.starts,
                    ends=one.ends,
                    asks=one.asks,
                )
                for one in windows
            ],
            slice_keys=place[slice_keys],
            partials=partials,
        )
