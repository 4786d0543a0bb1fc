"""Buckets of keys, each a key of Spark's state: what they are called says where they are.

Spark puts a bucket into a partition by a hash of its label. Where their number is not given, there
is one for each partition, by labels that are chosen so.
"""

from pyspark.sql import SparkSession

from muntin.errors import RunError

# Each costs some milliseconds a batch, whatever is in it.
_MOST = 32
_LIMIT = 1 << 16
# Numbers that are looked at for each label that is wanted: some partitions are hit late.
_TRIES = 20


def bucket_labels(session: SparkSession, buckets: int | None) -> tuple[int, ...]:
    """The labels of so many buckets, whatever the session; none: of one for each partition of the
    state, while these are few."""
    if buckets is None:
        return _apart(session)
    if not isinstance(buckets, int) or not 0 < buckets <= _LIMIT:
        raise RunError(f"buckets is a number from 1 to {_LIMIT}, not {buckets!r}")
    return tuple(range(buckets))


def _apart(session: SparkSession) -> tuple[int, ...]:
    """Labels that Spark puts into a partition each."""
    partitions = int(session.conf.get("spark.sql.shuffle.partitions", "200") or 200)
    wanted = min(_MOST, partitions)
    every = f"sequence(0, {_TRIES * wanted - 1})"
    found = session.sql(f"SELECT transform({every}, x -> pmod(hash(x), {partitions})) AS places")
    homes: dict[int, int] = {}
    for label, place in enumerate(found.collect()[0].places):
        homes.setdefault(place, label)
    # A partition that no label has hit goes without.
    return tuple(homes.values())[:wanted]
