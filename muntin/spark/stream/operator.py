"""The stateful operator: takes slices of a bucket of keys, gives answers, keeps state in Spark.

Rows go in as Arrow bytes, a row per bucket: Spark hands a stateful processor its rows one by one,
through pandas, which is slow and makes floats of integers beside nulls. They come out as pandas
frames over Arrow columns, which Spark takes as they are.
"""

from collections.abc import Sequence

from pyspark.sql import DataFrame
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import (
    BinaryType,
    IntegerType,
    LongType,
    StructField,
    StructType,
    TimestampType,
)

from muntin.runtime.columns.layout import all_slots
from muntin.runtime.periodic.tree import BEGIN, NODE
from muntin.runtime.records.record_tree import END as WINDOW_END
from muntin.runtime.state.lane import Lane
from muntin.runtime.state.record_lane import RecordLane
from muntin.runtime.stream_plan.stream_plan import StreamPlan
from muntin.spark.batch.compiled_answers import slot_fields
from muntin.spark.stream.bucket_processor import BucketProcessor
from muntin.spark.stream.event_slices import key_types, watermark_metadata
from muntin.spark.stream.packing import BUCKET, END, LANE, ROWS, pack
from muntin.spark.worker import same_python


def answer_slices(
    running: StreamPlan, slices: DataFrame, records: Sequence[RecordLane] = ()
) -> DataFrame:
    """Returns answers of all lanes: lane and node number, key columns, window begin, typed slots.

    `records` are the lanes of data windows; with them, answers have the window's end, too.
    """
    same_python(slices.sparkSession)
    lanes = [lane.at_run_time(ansi=running.ansi, retain=running.retain) for lane in running.lanes]
    packed = StructType(
        [
            StructField(BUCKET, IntegerType()),
            StructField(END, TimestampType(), metadata=watermark_metadata(running)),
            StructField(ROWS, BinaryType()),
        ]
    )
    schema = _schema(running, lanes, records)
    return (
        slices.mapInArrow(pack, packed)
        .groupBy(BUCKET)
        .transformWithStateInPandas(
            BucketProcessor(lanes, to_arrow_schema(schema), records),
            schema,
            outputMode="append",
            timeMode="eventtime",
        )
    )


def _schema(running: StreamPlan, lanes: list[Lane], records: Sequence[RecordLane]) -> StructType:
    slots = dict.fromkeys(slot for lane in lanes for slot in all_slots(lane.tree, lane.layout))
    slots |= dict.fromkeys(s for lane in records for s in all_slots(lane.tree, lane.layout.layout))
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
