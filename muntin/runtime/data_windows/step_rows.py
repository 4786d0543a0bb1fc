"""The rows of a step: for every key that takes part, its stored slices, then its new records.

Old and new keys get common numbers, and the new records are sorted by them.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from muntin.runtime.columns.keys import key_numbers
from muntin.runtime.columns.partials import Bools, Int64s
from muntin.runtime.data_windows.open_windows import DiscretizerWindows, OpenWindows
from muntin.runtime.data_windows.read_records import RecordLayout, lowest
from muntin.runtime.data_windows.window_stream import Discretizer, PreviousRecord, WindowEdges


@dataclass(frozen=True, kw_only=True)
class StepRecords:
    """The new records of a step in order, and the state of all keys, by key number."""

    open_windows: OpenWindows
    records: pa.RecordBatch
    # The key of each record.
    keys: Int64s

    @cached_property
    def keys_with_records(self) -> Int64s:
        """The keys that have new records."""
        return np.unique(self.keys)

    @cached_property
    def has_records(self) -> Bools:
        """Whether each key has new records."""
        mask = np.zeros(self.open_windows.count, np.bool_)
        mask[self.keys_with_records] = True
        return mask

    @cached_property
    def lows(self) -> Int64s:
        """The first record of each key that has some."""
        lows: Int64s = np.searchsorted(self.keys, self.keys_with_records)
        return lows

    @property
    def firsts(self) -> Int64s:
        """The rows at which a stretch begins: one for each key that has new records, and an empty
        one after them, so that all of them end."""
        return np.append(self.lows, len(self.keys))

    @cached_property
    def stretch(self) -> Int64s:
        """The stretch of each key that has new records; the first stretch is empty."""
        stretches = np.zeros(self.open_windows.count, np.int64)
        stretches[self.keys_with_records] = 1 + np.arange(len(self.keys_with_records))
        return stretches

    def by_stretch(self, values: Any) -> Any:
        """Returns values by key as values by stretch; the first and the last stretch have zero."""
        padded = np.zeros(len(self.keys_with_records) + 2, values.dtype)
        padded[1:-1] = values[self.keys_with_records]
        return padded


def number_keys(known: OpenWindows, records: pa.RecordBatch, layout: RecordLayout) -> StepRecords:
    """Returns the records of a step and the open windows, sorted by common key numbers."""
    columns = layout.layout.key_columns
    table = pa.Table.from_batches([records])
    if columns:
        both = pa.concat_tables(
            [known.keys, table.select(columns)], promote_options="permissive"
        ).combine_chunks()
        numbers = key_numbers(both, columns)
    else:
        both, numbers = known.keys, np.zeros(known.count + table.num_rows, np.int64)
    _, rows, ids = np.unique(numbers, return_index=True, return_inverse=True)
    old, new = ids[: known.count], ids[known.count :]
    start = layout.layout.start
    times = records.column(start).to_numpy()
    others = [name for name in records.schema.names if name not in (*columns, start)]
    order = _order_of(records, new, times, others)

    def spread(values: Any, fresh: Any) -> Any:
        all_values = fresh(len(rows))
        all_values[old] = values
        return all_values

    def zeros(values: Any) -> Any:
        return spread(values, lambda count: np.zeros(count, values.dtype))

    def texts(made: list[str | None] | None) -> list[str | None] | None:
        if made is None:
            return None
        all_texts: list[str | None] = [None] * len(rows)
        for key, text in zip(old.tolist(), made, strict=True):
            all_texts[key] = text
        return all_texts

    kinds = {sql: records.schema.field(name).type for sql, name in layout.measures.items()}
    slice_keys = old[known.slice_keys]
    by_key = np.argsort(slice_keys, kind="stable")
    place = np.empty(len(by_key), np.int64)
    place[by_key] = np.arange(len(by_key))
    return StepRecords(
        open_windows=OpenWindows(
            keys=both.take(pa.array(rows)) if columns else both,
            count=len(rows),
            before=PreviousRecord(
                lasts=zeros(known.before.lasts),
                met={sql: zeros(known.before.met[sql]) for sql in layout.conditions},
                highest={
                    sql: spread(known.before.highest[sql], lambda n, k=kind: lowest(k, n))
                    for sql, kind in kinds.items()
                },
            ),
            memory=[
                {name: zeros(values) for name, values in memory.items()} for memory in known.memory
            ],
            user_objects=[texts(made) for made in known.user_objects],
            windows=[_renumber(windows, old, place) for windows in known.windows],
            slice_keys=slice_keys[by_key],
            partials={c: column.where(by_key) for c, column in known.partials.items()},
        ),
        records=table.take(pa.array(order)).combine_chunks().to_batches()[0]
        if len(order)
        else records,
        keys=new[order],
    )


def _renumber(windows: DiscretizerWindows, keys: Int64s, slices: Int64s) -> DiscretizerWindows:
    """Returns windows with the new numbers of their keys and slices, ordered by key."""
    placed = replace(windows, keys=keys[windows.keys], slices=slices[windows.slices])
    return placed.where(np.argsort(placed.keys, kind="stable"))


def _order_of(batch: pa.RecordBatch, keys: Int64s, times: Int64s, columns: Iterable[str]) -> Int64s:
    """Returns the rows by key, by time, then by `columns`, as a batch sorts them.

    The order is Spark's: nulls first, NaN after all numbers.
    """
    order: Int64s = np.lexsort((times, keys))
    near_keys, near_times = keys[order], times[order]
    tied = (near_keys[1:] == near_keys[:-1]) & (near_times[1:] == near_times[:-1])
    if not tied.any():
        return order
    ranks = [rank for name in columns for rank in _ranks(batch.column(name))]
    # To `lexsort` the last one counts most.
    full_order: Int64s = np.lexsort((*reversed(ranks), times, keys))
    return full_order


def _ranks(column: pa.Array) -> Iterator[np.ndarray]:
    """Yields arrays that sort as a column does, the most significant first."""
    if column.null_count:
        yield column.is_valid().to_numpy(zero_copy_only=False)
    if pa.types.is_struct(column.type):
        for field in column.flatten():
            yield from _ranks(field)
        return
    if pa.types.is_floating(column.type):
        # To numpy, too, NaN comes after all numbers.
        yield column.fill_null(0).to_numpy(zero_copy_only=False)
        return
    if pa.types.is_boolean(column.type):
        column = column.cast(pa.int8())
    encoded = column.dictionary_encode()
    ranks = np.empty(len(encoded.dictionary) + 1, np.int64)
    ranks[pc.sort_indices(encoded.dictionary).to_numpy()] = np.arange(len(encoded.dictionary))
    ranks[-1] = -1
    yield ranks[encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False)]


@dataclass(frozen=True, kw_only=True)
class StepWindows:
    """A stream's windows over the rows of a step, and those that stay open after it."""

    edges: WindowEdges
    # Windows that stay open: `slices` are the rows that they begin with.
    still_open: DiscretizerWindows


class StepRows:
    """The rows of all keys that take part in a step: stored slices, then new records."""

    def __init__(self, new: StepRecords, *, active: Bools) -> None:
        """`active` has, for each key, whether it takes part."""
        self._new = new
        self.active = active
        count = new.open_windows.count
        self._slices = np.bincount(new.open_windows.slice_keys, minlength=count)
        records = np.bincount(new.keys, minlength=count)
        lengths = np.where(active, self._slices + records, 0)
        self._stops = np.cumsum(lengths)
        self._bases = self._stops - lengths
        self.count = int(self._stops[-1]) if count else 0
        # The key of each row.
        self.keys: Int64s = np.repeat(np.arange(count), lengths)
        first_slices = np.cumsum(self._slices) - self._slices
        owners = new.open_windows.slice_keys
        self._slice_rows = self._bases[owners] + np.arange(len(owners)) - first_slices[owners]
        heads = self._bases + self._slices
        nths = np.arange(len(new.keys)) - new.lows[new.stretch[new.keys] - 1]
        self._record_rows = heads[new.keys] + nths

    @cached_property
    def take(self) -> Int64s:
        """For each row, its place in the slices of active keys followed by the records."""
        slice_rows = self._slice_rows[self.active[self._new.open_windows.slice_keys]]
        places = np.empty(self.count, np.int64)
        places[np.concatenate([slice_rows, self._record_rows])] = np.arange(self.count)
        return places

    def place_windows(
        self, edges: WindowEdges, windows: DiscretizerWindows, stream: Discretizer, until: int
    ) -> StepWindows:
        """Returns a stream's windows, open and new, with `edges` translated to these rows."""
        new = self._new
        talk = new.has_records[windows.keys]
        quiet = self.active[windows.keys] & ~talk
        # Windows of keys with new records, in the order in which edges number them, then the
        # others.
        keys = np.concatenate([windows.keys[talk], new.keys[edges.begins]])
        by_key = np.argsort(keys, kind="stable")
        begun = np.concatenate(
            [self._slice_rows[windows.slices[talk]], self._record_rows[edges.begins]]
        )
        starts = np.concatenate([windows.starts[talk], edges.starts])
        keys = np.concatenate([keys[by_key], windows.keys[quiet]])
        begun = np.concatenate([begun[by_key], self._slice_rows[windows.slices[quiet]]])
        starts = np.concatenate([starts[by_key], windows.starts[quiet]])
        order = np.argsort(keys, kind="stable")
        number = np.empty(len(order), np.int64)
        number[order] = np.arange(len(order))
        read = self._all_reads(edges, windows, quiet, len(by_key))
        flushed, due = read.flushed, stream.due(read.ends) <= until
        in_turn = np.argsort(keys[read.windows], kind="stable")
        stays = (flushed & read.closes & ~due)[in_turn]
        left = read.windows[in_turn][stays]
        return StepWindows(
            edges=WindowEdges(
                begins=begun[order],
                starts=starts[order],
                reads=read.rows[in_turn],
                ends=read.ends[in_turn],
                stretches=keys[read.windows][in_turn],
                numbers=number[read.windows][in_turn],
                closes=read.closes[in_turn],
                asks=(read.asks & (due | ~flushed))[in_turn],
            ),
            still_open=DiscretizerWindows(
                keys=keys[left],
                slices=begun[left],
                starts=starts[left],
                ends=read.ends[in_turn][stays],
                asks=read.asks[in_turn][stays],
            ),
        )

    def _all_reads(
        self, edges: WindowEdges, windows: DiscretizerWindows, quiet: Bools, talking: int
    ) -> "_Reads":
        """Returns all reads: those of `edges`, and one for each window of keys without records."""
        new = self._new
        count, others = len(edges.reads), int(quiet.sum())
        # All windows end after the last record of their key. Stretches count from one: the first is
        # empty.
        homes = new.keys_with_records[edges.stretches - 1]
        lows = new.lows[edges.stretches - 1]
        rows = self._bases[homes] + self._slices[homes] + edges.reads - lows
        yes = np.ones(count, np.bool_)
        more = np.ones(others, np.bool_)
        return _Reads(
            rows=np.concatenate([rows, self._stops[windows.keys[quiet]]]),
            flushed=np.concatenate([rows == self._stops[homes], more]),
            windows=np.concatenate(
                [
                    np.arange(count) if edges.numbers is None else edges.numbers,
                    talking + np.arange(others),
                ]
            ),
            ends=np.concatenate([edges.ends, windows.ends[quiet]]),
            closes=np.concatenate([yes if edges.closes is None else edges.closes, more]),
            asks=np.concatenate([yes if edges.asks is None else edges.asks, windows.asks[quiet]]),
        )

    def slices(self, live: Int64s) -> WindowEdges:
        """Returns a window for each slice that is still needed, from its row to the next slice of
        its key."""
        stops = self._stops[self.keys[live]]
        reads = stops.copy()
        same = np.flatnonzero(stops[1:] == stops[:-1])
        reads[same] = live[same + 1]
        return WindowEdges(begins=live, starts=live, reads=reads, ends=live, stretches=live)

    def open_after(
        self, all_windows: Sequence[StepWindows], live: Int64s
    ) -> tuple[list[DiscretizerWindows], Int64s, Int64s]:
        """Returns (open windows of each stream, keys of all slices, which of the kept slices stay).

        Keys that took no part keep their slices, which come before those that were read.
        """
        known = self._new.open_windows
        stays = ~self.active[known.slice_keys]
        place = np.cumsum(stays) - 1
        idle_slices = int(stays.sum())
        windows = []
        for each, before in zip(all_windows, known.windows, strict=True):
            idle = before.where(~self.active[before.keys])
            idle = replace(idle, slices=place[idle.slices])
            rows = idle_slices + np.searchsorted(live, each.still_open.slices)
            windows.append(idle.concatenate(replace(each.still_open, slices=rows)))
        keys = np.concatenate([known.slice_keys[stays], self.keys[live]])
        return windows, keys, np.flatnonzero(stays)


@dataclass(frozen=True, kw_only=True)
class _Reads:
    """Reads of windows, by the windows' numbers."""

    rows: Int64s
    # Whether the read is only because the key has no more records in this step.
    flushed: Bools
    windows: Int64s
    ends: Int64s
    closes: Bools
    asks: Bools
