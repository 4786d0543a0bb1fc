"""Runs a batch of a bucket of keys: takes packed slices, gives frames of answers."""

from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd
import pyarrow as pa

from muntin.model.time import MILLISECOND
from muntin.runtime.periodic.tree import gather
from muntin.runtime.state.bucket import BucketRuntime, BucketState
from muntin.runtime.state.lane import Lane
from muntin.runtime.state.record_lane import RecordLane
from muntin.runtime.state.segments import Store
from muntin.spark.stream.packing import LANE, unpacked


class BucketStep:
    """One batch of one bucket; times are milliseconds, as Spark has them."""

    def __init__(
        self,
        *,
        lanes: list[Lane],
        records: Sequence[RecordLane],
        schema: pa.Schema,
        store: Store,
        state: bytes | None,
    ) -> None:
        """`schema` is that of the answers of all lanes; `state` is that of the step before."""
        known = BucketState() if state is None else BucketState.from_bytes(state)
        self._bucket = BucketRuntime(lanes, store, known, records)
        self._schema = schema

    def is_done(self, watermark: int) -> bool:
        """Whether the answers up to a watermark were given."""
        given = self._bucket.state.given
        return given is not None and given >= watermark * MILLISECOND

    def answers(self, packed: Sequence[bytes], watermark: int) -> Iterator[pd.DataFrame]:
        """Yields the answers of windows that a watermark has passed."""
        given = self._bucket.step(unpacked(packed), watermark * MILLISECOND)
        batches = (self._under(lane, batch) for lane, batch in given)
        for batch in gather(batches):
            yield batch.to_pandas(types_mapper=pd.ArrowDtype)

    @property
    def state(self) -> bytes:
        """The state to remember until the next step."""
        return self._bucket.state.to_bytes()

    def due(self) -> int | None:
        """Returns when there is something to do even if nothing arrives."""
        due = self._bucket.due()
        return None if due is None else -(-due // MILLISECOND)

    def _under(self, lane: int, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Returns answers with the number of their lane; columns that it does not have are null."""
        there = {name: batch.column(name) for name in batch.schema.names}
        there[LANE] = pa.array(np.full(batch.num_rows, lane, np.int32))
        return pa.RecordBatch.from_arrays(
            [
                there[field.name] if field.name in there else pa.nulls(batch.num_rows, field.type)
                for field in self._schema
            ],
            schema=self._schema,
        )
