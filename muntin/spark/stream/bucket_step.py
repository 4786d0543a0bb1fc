"""Runs a batch of a bucket of keys: packed slices and records in, frames of answers out."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain

import numpy as np
import pandas as pd
import pyarrow as pa

from muntin.model.time import MILLISECOND
from muntin.runtime.arrow_batches import from_bytes
from muntin.runtime.periodic.tree import BEGIN, NODE, gather
from muntin.runtime.slicer.late_rows import WHOLLY_LATE
from muntin.runtime.slicer.packing import ROWS
from muntin.runtime.state.bucket import BucketRuntime, BucketState, TreeDefinition, find_state
from muntin.runtime.state.figures import (
    ALL,
    FIGURE,
    TREE,
    count_arrived,
    count_late,
    state_figures,
)
from muntin.runtime.state.segments import Store
from muntin.runtime.state.stream_tree import EVENTS, START, StreamTree
from muntin.runtime.storage.layout import cast_answer_rows

_LONG_AGO = -(1 << 63)


class BucketStep:
    """One batch of one bucket; times are milliseconds, as Spark has them."""

    def __init__(
        self,
        *,
        trees: Sequence[StreamTree],
        schema: pa.Schema,
        store: Store,
        state: bytes | None,
        definitions: Mapping[int, TreeDefinition] | None = None,
    ) -> None:
        """`schema` is that of the answers of all trees; `state` is that of the step before.

        With `definitions` of the trees, their state is found by these, not by their numbers.
        """
        known = BucketState() if state is None else BucketState.from_bytes(state)
        if definitions is not None:
            known, trees = find_state(known, trees, definitions)
        self._trees = trees
        self._bucket = BucketRuntime(trees, store, known)
        self._schema = schema
        self._columns: dict[int, tuple[str, ...]] = {ALL: (START, EVENTS)}
        self._columns |= {tree.number: tree.arriving_columns for tree in trees}

    def is_done(self, watermark: int) -> bool:
        """Whether the answers up to a watermark were given."""
        given = self._bucket.state.given
        return given is not None and given >= watermark * MILLISECOND

    def answers(
        self, packed: Mapping[int, Sequence[bytes]], watermark: int
    ) -> Iterator[pd.DataFrame]:
        """Yields the answers of windows that a watermark has passed, and counts of events and keys.

        `packed` has the slices or records of each tree.
        """
        for data in packed.get(WHOLLY_LATE, ()):
            yield self._late_row(data)
        arrived = {
            tree: self._unpack(tree, rows) for tree, rows in packed.items() if tree != WHOLLY_LATE
        }
        late = count_late(arrived, self._trees, self._bucket.given)
        counts = {**late, **count_arrived(arrived, self._trees)}
        given = self._bucket.step(arrived, watermark * MILLISECOND)
        first = [self._figure_rows(counts)] if counts else []
        for batch in gather(chain(first, self._with_counts(given))):
            yield _to_pandas(batch)
        yield from self.figures()

    def figures(self) -> Iterator[pd.DataFrame]:
        """Yields what the bucket keeps, and how much it combined."""
        figures = state_figures(self._bucket.state.trees, self._bucket.combined)
        if figures:
            yield _to_pandas(self._figure_rows(figures))

    @property
    def state(self) -> bytes:
        """The state to remember until the next step."""
        return self._bucket.state.to_bytes()

    def _unpack(self, tree: int, rows: Sequence[bytes]) -> pa.Table:
        """Returns what has arrived for a tree, in its columns."""
        table = pa.concat_tables([from_bytes(data) for data in rows])
        return table.rename_columns(self._columns[tree])

    def _with_tree(self, tree: int, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Returns answers with the number of their tree; columns that it does not have are null."""
        numbers = pa.array(np.full(batch.num_rows, tree, np.int32))
        return cast_answer_rows(batch.append_column(TREE, numbers), self._schema)

    def _with_counts(self, given: Iterable[tuple[int, pa.RecordBatch]]) -> Iterator[pa.RecordBatch]:
        """Yields answers and, behind them, how many each node has and their latest begin."""
        rows: Counter[tuple[int, int]] = Counter()
        latest: dict[tuple[int, int], int] = {}
        for tree, batch in given:
            nodes = batch.column(NODE).to_numpy()
            begins = batch.column(BEGIN).to_numpy()
            for node in np.unique(nodes).tolist():
                here = begins[nodes == node]
                rows[tree, node] += len(here)
                latest[tree, node] = max(latest.get((tree, node), _LONG_AGO), int(here.max()))
            yield self._with_tree(tree, batch)
        if rows:
            yield self._figure_rows(rows, latest)

    def _figure_rows(
        self,
        counts: Mapping[tuple[int, int], int],
        begins: Mapping[tuple[int, int], int] | None = None,
    ) -> pa.RecordBatch:
        """Returns a row for each count, by tree and node; those of answers have a begin."""
        trees = pa.array([tree for tree, _ in counts], pa.int32())
        nodes = pa.array([node for _, node in counts], pa.int32())
        there = {TREE: trees, NODE: nodes, FIGURE: pa.array(counts.values(), pa.int64())}
        if begins is not None:
            there[BEGIN] = pa.array([begins[place] for place in counts], pa.int64())
        return cast_answer_rows(pa.RecordBatch.from_pydict(there), self._schema)

    def _late_row(self, data: bytes) -> pd.DataFrame:
        """Returns a row with packed events that no window takes."""
        tree, node = pa.array([WHOLLY_LATE], pa.int32()), pa.array([0], pa.int32())
        rows = pa.array([data], pa.binary())
        batch = pa.RecordBatch.from_pydict({TREE: tree, NODE: node, ROWS: rows})
        return _to_pandas(cast_answer_rows(batch, self._schema))


def _to_pandas(batch: pa.RecordBatch) -> pd.DataFrame:
    """Returns rows over Arrow columns, which Spark takes as they are; lists as objects, since Spark
    takes no null for a list of Arrow's."""
    return batch.to_pandas(
        types_mapper=lambda kind: None if pa.types.is_list(kind) else pd.ArrowDtype(kind)
    )
