"""The stateful operator: takes slices of a bucket of keys, gives answers, keeps state in Spark.

Rows go in as Arrow bytes, a few for each bucket: Spark hands a stateful processor its rows one by
one, through pandas, which is slow and makes floats of integers beside nulls. They come out as
pandas frames over Arrow columns, which Spark takes as they are.
"""

from collections.abc import Mapping, Sequence

from pyspark.sql import DataFrame
from pyspark.sql.types import BinaryType, IntegerType, LongType, StructField, StructType

from muntin.runtime.periodic.tree import BEGIN, NODE
from muntin.runtime.records.record_tree import END as WINDOW_END
from muntin.runtime.slicer.packing import BUCKET, ROWS
from muntin.runtime.state.lane import Lane
from muntin.runtime.state.record_lane import RecordLane
from muntin.runtime.storage.layout import all_slots
from muntin.runtime.stream_plan.lane_definitions import LaneDefinition
from muntin.runtime.stream_plan.stream_plan import kind_of
from muntin.spark.batch.compiled_answers import slot_fields
from muntin.spark.engine.arrow_schema import arrow_schema
from muntin.spark.engine.session_kind import check_streams
from muntin.spark.stream.bucket_processor import FIGURE, LANE, BucketProcessor
from muntin.spark.stream.key_codes import KEY_TYPES


def answer_slices(
    packed: DataFrame,
    lanes: Sequence[Lane],
    records: Sequence[RecordLane],
    *,
    late: bool = False,
    definitions: Mapping[int, LaneDefinition] | None = None,
) -> DataFrame:
    """Returns answers of all lanes: lane and node number, key columns, window begin, typed slots.

    `records` are the lanes of data windows; with them, answers have the window's end, too. Rows
    that have a figure are no answers. With `late`, neither are rows of the lane
    `WHOLLY_LATE`, which have packed events. With `definitions` of the lanes, their state is found
    by these; without, by their numbers.
    """
    check_streams(packed.sparkSession)
    schema = _schema(lanes, records)
    if late:
        schema = StructType([*schema.fields, StructField(ROWS, BinaryType())])
    return packed.groupBy(BUCKET).transformWithStateInPandas(
        BucketProcessor(lanes, arrow_schema(schema), records, definitions),
        schema,
        outputMode="append",
        timeMode="eventtime",
    )


def _schema(lanes: Sequence[Lane], records: Sequence[RecordLane]) -> StructType:
    slots = dict.fromkeys(slot for lane in lanes for slot in all_slots(lane.tree, lane.layout))
    slots |= dict.fromkeys(s for lane in records for s in all_slots(lane.tree, lane.layout.layout))
    keys = dict.fromkeys(key for lane in lanes for key in lane.layout.key_columns)
    keys |= dict.fromkeys(key for lane in records for key in lane.layout.layout.key_columns)
    return StructType(
        [
            StructField(LANE, IntegerType(), False),
            StructField(NODE, IntegerType(), False),
            *(StructField(key, KEY_TYPES[kind_of(key)]) for key in keys),
            StructField(BEGIN, LongType()),
            *([StructField(WINDOW_END, LongType())] if records else []),
            *slot_fields(slots),
            StructField(FIGURE, LongType()),
        ]
    )
