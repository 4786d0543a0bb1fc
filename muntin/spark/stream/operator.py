"""The stateful operator: slices of a bucket of keys in, answers out, state in Spark's store.

Rows go in as Arrow bytes, a few for each bucket: Spark hands a stateful processor its rows one by
one, through pandas, which is slow and makes floats of integers beside nulls. They come out as
pandas frames over Arrow columns, which Spark takes as they are.
"""

from collections.abc import Mapping, Sequence

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import BinaryType, IntegerType, LongType, StructField, StructType

from muntin.errors import RunError
from muntin.model.trees import DataTree
from muntin.runtime.data_windows.tree import END as WINDOW_END
from muntin.runtime.periodic.tree import BEGIN, NODE
from muntin.runtime.slicer.packing import BUCKET, ROWS
from muntin.runtime.state.bucket import TreeDefinition
from muntin.runtime.state.figures import FIGURE, TREE
from muntin.runtime.state.stream_tree import StreamTree
from muntin.runtime.storage.layout import all_slots
from muntin.runtime.stream_plan.stored_tree import kind_of
from muntin.spark.engine.schemas import arrow_schema, slot_fields
from muntin.spark.engine.session_kind import check_streams, cores_of, is_local
from muntin.spark.stream.bucket_processor import BucketProcessor
from muntin.spark.stream.key_codes import KEY_TYPES

# Spark's setting for the number of partitions after a shuffle, those of state included.
PARTITIONS = "spark.sql.shuffle.partitions"
# A bucket costs some milliseconds a batch, whatever is in it.
_MOST_BUCKETS = 32
_BUCKET_LIMIT = 1 << 16
# How many numbers are tried for each label that is wanted: some partitions are hit late.
_TRIES_PER_LABEL = 20


def answer_slices(
    packed: DataFrame,
    trees: Sequence[StreamTree],
    *,
    late: bool = False,
    definitions: Mapping[int, TreeDefinition] | None = None,
) -> DataFrame:
    """Returns answers of all trees: tree and node number, key columns, window begin, typed slots.

    With data windows, answers have the window's end, too. Rows that have a figure are no answers.
    With `late`, neither are rows of the tree `WHOLLY_LATE`, which have packed events. With
    `definitions` of the trees, their state is found by these; without, by their numbers.
    """
    check_streams(packed.sparkSession)
    schema = _schema(trees)
    if late:
        schema = StructType([*schema.fields, StructField(ROWS, BinaryType())])
    return packed.groupBy(BUCKET).transformWithStateInPandas(
        BucketProcessor(trees, arrow_schema(schema), definitions),
        schema,
        outputMode="append",
        timeMode="eventtime",
    )


def _schema(trees: Sequence[StreamTree]) -> StructType:
    slots = dict.fromkeys(slot for each in trees for slot in all_slots(each.tree, each.layout))
    keys = dict.fromkeys(key for each in trees for key in each.layout.key_columns)
    has_ends = any(isinstance(each.tree, DataTree) for each in trees)
    return StructType(
        [
            StructField(TREE, IntegerType(), False),
            StructField(NODE, IntegerType(), False),
            *(StructField(key, KEY_TYPES[kind_of(key)]) for key in keys),
            StructField(BEGIN, LongType()),
            *([StructField(WINDOW_END, LongType())] if has_ends else []),
            *slot_fields(slots),
            StructField(FIGURE, LongType()),
        ]
    )


def bucket_labels(
    session: SparkSession, buckets: int | None, *, partitions: int
) -> tuple[int, ...]:
    """Returns the labels of this many buckets; for None, of one for each of the `partitions` of the
    state, up to a limit.

    Each bucket is a key of Spark's state, and a hash of its label decides its partition.
    """
    if buckets is None:
        return _label_per_partition(session, partitions)
    if not isinstance(buckets, int) or not 0 < buckets <= _BUCKET_LIMIT:
        raise RunError(f"buckets is a number from 1 to {_BUCKET_LIMIT}, not {buckets!r}")
    return tuple(range(buckets))


def state_partitions(session: SparkSession) -> int:
    """Returns how many partitions the state of a new stream gets.

    They are the session's shuffle partitions if someone has set these. Spark's default of 200 would
    make a task for each of them in every batch, most of them without a bucket.
    """
    if PARTITIONS in session.conf.getAll:
        return shuffle_partitions(session)
    # The number stays for as long as the checkpoint is used, and a cluster may grow.
    return cores_of(session) if is_local(session) else _MOST_BUCKETS


def shuffle_partitions(session: SparkSession) -> int:
    """Returns the number of partitions that the session shuffles rows into."""
    return int(session.conf.get(PARTITIONS, "200") or 200)


def _label_per_partition(session: SparkSession, partitions: int) -> tuple[int, ...]:
    """Returns labels that Spark puts into different partitions."""
    wanted = min(_MOST_BUCKETS, partitions)
    every = f"sequence(0, {_TRIES_PER_LABEL * wanted - 1})"
    hashed = session.sql(f"SELECT transform({every}, x -> pmod(hash(x), {partitions})) AS places")
    homes: dict[int, int] = {}
    for label, place in enumerate(hashed.collect()[0].places):
        homes.setdefault(place, label)
    # A partition that no label has hit goes without.
    return tuple(homes.values())[:wanted]
