"""Takes Spark's calls to the operator of a bucket of keys.

To start a query, Spark unpickles the processor in a new process, only to ask for its states. So
this module is light: trees stay pickled, and what computes (`bucket_step`) is not loaded, until the
first rows are there.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle
from pyspark.sql.types import BinaryType, LongType, StructField, StructType

from muntin.spark.engine.worker import begin_task, pickle_value, receive_kernels, unpickle_value

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

    from muntin.runtime.state.bucket import TreeDefinition
    from muntin.runtime.state.stream_tree import StreamTree


class BucketProcessor(StatefulProcessor):
    """The operator as Spark knows it; its state is Arrow and JSON in the state store."""

    def __init__(
        self,
        trees: "Sequence[StreamTree]",
        schema: "pa.Schema",
        definitions: "Mapping[int, TreeDefinition] | None" = None,
    ) -> None:
        """`schema` is that of the answers of all trees; see `BucketStep` for `definitions`."""
        self._pickled = pickle_value((trees, schema, definitions))

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Called once per task, before anything else."""
        begin_task()
        self._handle = handle
        # The buckets that had input.
        self._called: set[Any] = set()
        number = StructType([StructField("number", LongType())])
        data = StructType([StructField("data", BinaryType())])
        self._segments = handle.getMapState("runs", number, data)
        self._remembered = handle.getValueState("bucket", data)

    def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> "Iterator[pd.DataFrame]":
        """Called once for each bucket in a batch that has input."""
        self._called.add(key)
        yield from self._step(rows, timerValues.getCurrentWatermarkInMs())

    # Spark passes these arguments by these names.
    def handleExpiredTimer(
        self, key: Any, timerValues: Any, expiredTimerInfo: Any
    ) -> "Iterator[pd.DataFrame]":
        """Called if the watermark is another than in the batch before, after the input if any."""
        if key not in self._called:
            yield from self._step([], timerValues.getCurrentWatermarkInMs())

    def close(self) -> None:
        """Called at the end of a task; there is nothing to give back."""

    def _step(self, rows: "Iterable[pd.DataFrame]", watermark: int) -> "Iterator[pd.DataFrame]":
        from muntin.runtime.slicer.packing import ROWS, TREE
        from muntin.spark.stream.bucket_step import BucketStep

        receive_kernels()
        packed: dict[int, list[bytes]] = {}
        for frame in rows:
            for tree, data in zip(frame[TREE], frame[ROWS], strict=True):
                # A row without data only has the bucket called.
                if data:
                    packed.setdefault(tree, []).append(data)
        stored = self._remembered.get()
        trees, schema, definitions = unpickle_value(self._pickled)
        step = BucketStep(
            trees=trees,
            schema=schema,
            store=_SegmentStore(self._segments),
            state=None if stored is None else bytes(stored[0]),
            definitions=definitions,
        )
        if not packed and step.is_done(watermark):
            yield from step.figures()
            return
        yield from step.answers(packed, watermark)
        self._remembered.update((step.state,))
        # Every bucket follows the watermark: what is behind the one before is too late.
        self._handle.registerTimer(watermark + 1)


class _SegmentStore:
    """Keeps segments in a map of the state store."""

    def __init__(self, state: Any) -> None:
        self._state = state

    def read(self, number: int) -> bytes:
        return bytes(self._state.getValue((number,))[0])

    def write(self, number: int, data: bytes) -> None:
        self._state.updateValue((number,), (data,))

    def remove(self, number: int) -> None:
        self._state.removeKey((number,))
