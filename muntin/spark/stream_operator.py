"""The stateful operator: slices of a bucket of keys in, answers out, in Spark's state store.

Rows go in as Arrow bytes, a row per bucket: Spark hands a stateful processor its rows one by one,
through pandas, which is slow and makes floats of integers beside nulls. They come out as pandas
frames over Arrow columns, which Spark takes as they are.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle
from pyspark.sql.types import (
    BinaryType,
    IntegerType,
    LongType,
    StructField,
    StructType,
    TimestampType,
)

from muntin.runtime.bucket import BucketRuntime, BucketState
from muntin.runtime.discretized import END as WINDOW_END
from muntin.runtime.lane import Lane
from muntin.runtime.layout import all_slots
from muntin.runtime.record_lane import RecordLane
from muntin.runtime.running import Running
from muntin.runtime.runs import from_bytes, to_bytes
from muntin.runtime.tree import BEGIN, NODE, gather
from muntin.spark.answers import slot_fields
from muntin.spark.stream_slices import BUCKET, END, LANE, key_types, watermark_metadata
from muntin.spark.worker import begin_task, same_python

_ROWS = "rows"


def answer_slices(
    running: Running, slices: DataFrame, records: Sequence[RecordLane] = ()
) -> DataFrame:
    """Answers of all lanes: lane and node number, key columns, window begin, and typed slots.

    `records` are the lanes of user-defined windows; with them, answers have the window's end, too.
    """
    same_python(slices.sparkSession)
    lanes = [
        one.at_run_time(checked=running.checked, retain=running.retain) for one in running.lanes
    ]
    packed = StructType(
        [
            StructField(BUCKET, IntegerType()),
            StructField(END, TimestampType(), metadata=watermark_metadata(running)),
            StructField(_ROWS, BinaryType()),
        ]
    )
    schema = _schema(running, lanes, records)
    return (
        slices.mapInArrow(_pack, packed)
        .groupBy(BUCKET)
        .transformWithStateInPandas(
            BucketProcessor(lanes, to_arrow_schema(schema), records),
            schema,
            outputMode="append",
            timeMode="eventtime",
        )
    )


def _schema(running: Running, lanes: list[Lane], records: Sequence[RecordLane]) -> StructType:
    slots = dict.fromkeys(slot for lane in lanes for slot in all_slots(lane.tree, lane.layout))
    slots |= dict.fromkeys(s for one in records for s in all_slots(one.tree, one.layout.layout))
    return StructType(
        [
            StructField(LANE, IntegerType(), False),
            StructField(NODE, IntegerType(), False),
            *(StructField(slot, kind) for slot, kind in key_types(running).items()),
            StructField(BEGIN, LongType()),
            *([StructField(WINDOW_END, LongType())] if records else []),
            *slot_fields(slots),
        ]
    )


def _pack(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The slices of each bucket as one row, with the latest end among them."""
    begin_task()
    for batch in gather(batches):
        table = pa.Table.from_batches([batch])
        buckets = table.column(BUCKET).to_numpy()
        order = np.argsort(buckets, kind="stable")
        table = table.take(pa.array(order))
        found, firsts = np.unique(buckets[order], return_index=True)
        parts = [
            table.slice(first, next_ - first)
            for first, next_ in zip(firsts, [*firsts[1:], len(order)], strict=True)
        ]
        yield pa.RecordBatch.from_pydict(
            {
                BUCKET: pa.array(found, pa.int32()),
                END: pa.array(
                    [pc.max(part.column(END)).as_py() for part in parts],
                    table.schema.field(END).type,
                ),
                _ROWS: pa.array(
                    [to_bytes(part.drop_columns([BUCKET, END])) for part in parts], pa.binary()
                ),
            }
        )


class BucketProcessor(StatefulProcessor):
    """Spark's calls to a `BucketRuntime`; its state is Arrow and JSON in the state store."""

    def __init__(
        self, lanes: list[Lane], schema: pa.Schema, records: Sequence[RecordLane] = ()
    ) -> None:
        """`schema` is that of the answers of all lanes."""
        self._lanes = lanes
        self._schema = schema
        self._records = records

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Called once per task, before anything else."""
        begin_task()
        self._handle = handle
        number = StructType([StructField("number", LongType())])
        data = StructType([StructField("data", BinaryType())])
        self._runs = handle.getMapState("runs", number, data)
        self._remembered = handle.getValueState("bucket", data)

    def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Iterator[pd.DataFrame]:
        """Called once a batch for each bucket that has new slices."""
        packed = [data for frame in rows for data in frame[_ROWS]]
        table = pa.concat_tables([from_bytes(data) for data in packed])
        lanes = pc.unique(table.column(LANE)).to_pylist()
        arrived = {lane: table.filter(pc.equal(table.column(LANE), lane)) for lane in lanes}
        yield from self._step(arrived, timerValues.getCurrentWatermarkInMs())

    # Spark passes these arguments by these names.
    def handleExpiredTimer(
        self, key: Any, timerValues: Any, expiredTimerInfo: Any
    ) -> Iterator[pd.DataFrame]:
        """Called when the watermark passes the end of a window of keys that may be silent."""
        yield from self._step({}, timerValues.getCurrentWatermarkInMs())

    def close(self) -> None:
        """Called at the end of a task; there is nothing to give back."""

    def _step(self, arrived: dict[int, pa.Table], watermark: int) -> Iterator[pd.DataFrame]:
        stored = self._remembered.get()
        state = BucketState() if stored is None else BucketState.from_bytes(bytes(stored[0]))
        if not arrived and state.given is not None and state.given >= watermark * 1000:
            return
        bucket = BucketRuntime(self._lanes, _Runs(self._runs), state, self._records)
        answers = (
            _answers(lane, batch, self._schema)
            for lane, batch in bucket.step(arrived, watermark * 1000)
        )
        for batch in gather(answers):
            yield batch.to_pandas(types_mapper=pd.ArrowDtype)
        self._remembered.update((bucket.state.to_bytes(),))
        due = bucket.due()
        if due is not None:
            self._handle.registerTimer(-(-due // 1000))


def _answers(lane: int, batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """Answers under the number of their lane; columns that the lane does not have are null."""
    there = {name: batch.column(name) for name in batch.schema.names}
    there[LANE] = pa.array(np.full(batch.num_rows, lane, np.int32))
    return pa.RecordBatch.from_arrays(
        [
            there[field.name] if field.name in there else pa.nulls(batch.num_rows, field.type)
            for field in schema
        ],
        schema=schema,
    )


class _Runs:
    """Runs in a map of the state store."""

    def __init__(self, state: Any) -> None:
        self._state = state

    def read(self, number: int) -> bytes:
        return bytes(self._state.getValue((number,))[0])

    def write(self, number: int, data: bytes) -> None:
        self._state.updateValue((number,), (data,))

    def remove(self, number: int) -> None:
        self._state.removeKey((number,))
