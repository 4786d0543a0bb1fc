"""Chooses the labels of buckets of keys; a label decides the bucket's partition.

Each bucket is a key of Spark's state, and Spark puts it into a partition by a hash of its label. If
their number is not given, labels are chosen so that each partition has one.
"""

from pyspark.sql import SparkSession

from muntin.errors import RunError

# Each costs some milliseconds a batch, whatever is in it.
_MOST = 32
_LIMIT = 1 << 16
# How many numbers are tried for each label that is wanted: some partitions are hit late.
_TRIES = 20


def bucket_labels(session: SparkSession, buckets: int | None) -> tuple[int, ...]:
    """Returns the labels of this many buckets; for None, of one for each partition of the state, up
    to a limit."""
    if buckets is None:
        return _apart(session)
    if not isinstance(buckets, int) or not 0 < buckets <= _LIMIT:
        raise RunError(f"buckets is a number from 1 to {_LIMIT}, not {buckets!r}")
    return tuple(range(buckets))


def _apart(session: SparkSession) -> tuple[int, ...]:
    """Returns labels that Spark puts into different partitions."""
    partitions = int(session.conf.get("spark.sql.shuffle.partitions", "200") or 200)
    wanted = min(_MOST, partitions)
    every = f"sequence(0, {_TRIES * wanted - 1})"
    hashed = session.sql(f"SELECT transform({every}, x -> pmod(hash(x), {partitions})) AS places")
    homes: dict[int, int] = {}
    for label, place in enumerate(hashed.collect()[0].places):
        homes.setdefault(place, label)
    # A partition that no label has hit goes without.
    return tuple(homes.values())[:wanted]
