"""Buckets of keys, each a key of Spark's state: what they are called says where they are.

Spark puts a bucket into a partition by a hash of its label. Labels are chosen so that partitions
have equally many of them.
"""

from pyspark.sql import SparkSession

from muntin.errors import RunError

# Each costs some milliseconds a batch, whatever is in it.
_MOST = 32
_LIMIT = 1 << 16
# Numbers that are looked at for each label that is wanted: some partitions are hit late.
_TRIES = 20


def bucket_labels(session: SparkSession, buckets: int | None) -> tuple[int, ...]:
    """Labels for so many buckets, if that is a number; none: one for each partition of the state,
    while there are few of them."""
    partitions = int(session.conf.get("spark.sql.shuffle.partitions", "200") or 200)
    if buckets is None:
        buckets = min(_MOST, partitions)
    if not isinstance(buckets, int) or not 0 < buckets <= _LIMIT:
        raise RunError(f"buckets is a number from 1 to {_LIMIT}, not {buckets!r}")
    tried = range(_TRIES * buckets)
    places = _partitions_of(session, len(tried), partitions)
    room = [-(-buckets // partitions)] * partitions
    labels: list[int] = []
    for label, place in zip(tried, places, strict=True):
        if room[place] and len(labels) < buckets:
            room[place] -= 1
            labels.append(label)
    # A hash may miss a partition for very long.
    left = iter(label for label in tried if label not in set(labels))
    return (*labels, *(next(left) for _ in range(buckets - len(labels))))


def _partitions_of(session: SparkSession, labels: int, partitions: int) -> list[int]:
    """The partition that Spark would put each of the first labels into."""
    every = f"sequence(0, {labels - 1})"
    found = session.sql(f"SELECT transform({every}, x -> pmod(hash(x), {partitions})) AS places")
    return list(found.collect()[0].places)
