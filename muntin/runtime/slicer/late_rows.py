"""Finds late rows: all windows that contain them have been answered.

The windows that end up to the watermark of the previous batch have been answered. So a row's time,
and the filters that it passes, decide whether it is late.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from muntin.model.windows import Window
from muntin.runtime.columns.arrow_arrays import integers_of
from muntin.runtime.columns.partials import Bools, Int64s
from muntin.runtime.slicer.packing import BUCKET, ROWS, TREE

# The tree number under which late rows are packed.
WHOLLY_LATE = -2


@dataclass(frozen=True, kw_only=True)
class OpenWindowFilter:
    """Selects the rows that have all bits of `masks` and are in an open window."""

    masks: Mapping[str, int] = field(default_factory=dict)
    windows: tuple[Window, ...] = ()
    # Data windows take no row behind the watermark, rounded down to a multiple of this.
    step: int | None = None

    def takes(self, batch: pa.RecordBatch) -> Bools:
        """Returns which rows pass its masks."""
        taken = np.ones(batch.num_rows, np.bool_)
        for name, mask in self.masks.items():
            taken &= (integers_of(batch.column(name)) & mask) == mask
        return taken

    def is_open(self, times: Int64s, given: int) -> Bools:
        """Returns which instants are in a window that has not been answered."""
        opened = np.zeros(len(times), np.bool_)
        for window in self.windows:
            opened |= window.last_end(times) > given
        if self.step is not None:
            opened |= times >= given - given % self.step
        return opened


class LateRows:
    """Packs the late rows of batches: those that a filter selects, but in no open window."""

    def __init__(
        self,
        filters: Sequence[OpenWindowFilter],
        *,
        time: str,
        column: str,
        buckets: Sequence[int],
        given: int,
    ) -> None:
        """`column` has a row as a struct; windows that end up to `given` have been answered."""
        self._filters = filters
        self._time, self._column = time, column
        self._buckets = buckets
        self._given = given
        self.packed: list[pa.RecordBatch] = []
        self._count = 0

    def without(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yields the batches without the column of whole rows, and packs those that are late."""
        for batch in batches:
            late = self._late(batch)
            if len(late):
                self._pack(batch.column(self._column).take(pa.array(late)))
            yield batch.drop_columns([self._column])

    def _late(self, batch: pa.RecordBatch) -> Int64s:
        times = integers_of(batch.column(self._time))
        late = batch.column(self._time).is_valid().to_numpy(zero_copy_only=False)
        # No row at or after the watermark is late.
        late &= times < self._given
        if late.any():
            wanted = np.zeros(len(times), np.bool_)
            for window_filter in self._filters:
                taken = window_filter.takes(batch)
                wanted |= taken
                late &= ~(taken & window_filter.is_open(times, self._given))
            late &= wanted
        return np.flatnonzero(late)

    def _pack(self, rows: pa.StructArray) -> None:
        table = pa.Table.from_batches([pa.RecordBatch.from_struct_array(rows)])
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table)
        bucket = self._buckets[self._count % len(self._buckets)]
        self._count += 1
        self.packed.append(
            pa.RecordBatch.from_pydict(
                {
                    BUCKET: pa.array([bucket], pa.int32()),
                    TREE: pa.array([WHOLLY_LATE], pa.int32()),
                    ROWS: pa.array([sink.getvalue().to_pybytes()], pa.binary()),
                }
            )
        )
