"""Estimates rate and live keys from a few rows of the data: one small Spark job, if it is cheap."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame

from muntin.model.query import Grouping, Workload
from muntin.model.time import SECOND
from muntin.spark.binding.relations import Relations

# Rows that are looked at.
ROWS = 10_000
# With fewer rows of a key it cannot be told whether they are in order of time.
_ENOUGH = 8
# Above this a size is Spark's default for what it knows nothing of.
_UNKNOWN = 1e15
# Operators that hand rows on one by one; with others the first rows may cost as much as all.
_CHEAP = {"Project", "Union", "SubqueryAlias", "View"}

Int64s = NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class Facts:
    """Events per second of event time, and keys that are live at a time."""

    rate: float
    keys: float


def with_facts(work: Workload, relations: Relations) -> Workload:
    """Returns the workload with the facts of the data; unchanged if they are not cheap to find.

    If it has several groupings, the one with the most queries is sampled.
    """
    groupings = work.groupings
    if not groupings:
        return work
    grouping = max(groupings, key=lambda grouping: len(groupings[grouping]))
    facts = sample(grouping, relations)
    if facts is None:
        return work
    return replace(work, rate=facts.rate, keys=facts.keys, keys_known=True)


def sample(grouping: Grouping, relations: Relations) -> Facts | None:
    """Returns what the first rows say about a grouping's events; None if they say nothing.

    A filter is applied to these rows rather than looking for rows that pass it.
    """
    keys = [f"CAST({key} AS STRING)" for key in grouping.keys]
    columns = [
        f"unix_micros(CAST({grouping.time} AS TIMESTAMP)) AS t",
        f"xxhash64({', '.join(keys or ['0'])}) AS k",
        f"coalesce({grouping.where or 'true'}, false) AS c",
    ]
    try:
        frame = relations.sql(grouping.relation.inside(f"SELECT {', '.join(columns)} FROM ", ""))
        if not is_cheap(frame):
            return None
        # `take` goes from partition to partition until it has enough.
        rows = frame.take(ROWS)
        in_all = _rows_in_all(frame)
    except PySparkException:
        # What is wrong with a query is said when it is bound to its data.
        return None
    events = [(row["t"], row["k"]) for row in rows if row["c"] and row["t"] is not None]
    if len(events) < 2:
        return None
    times, hashes = np.array(events, np.int64).T
    more = 1.0
    if len(rows) == ROWS and in_all is not None and is_shuffled(times, hashes):
        # The rows are from all over the time, with more events between them.
        more = max(1.0, in_all / ROWS)
    return facts_of(times, hashes, more)


def facts_of(times: Int64s, hashes: Int64s, more: float) -> Facts | None:
    """Returns the rate and keys of rows, each of which stands for `more` events."""
    span = float(np.quantile(times, 0.95) - np.quantile(times, 0.05)) / 0.9
    if span <= 0:
        return None
    return Facts(rate=more * len(times) * SECOND / span, keys=float(len(np.unique(hashes))))


def is_shuffled(times: Int64s, hashes: Int64s) -> bool:
    """Whether the rows of each key are in random order, rather than about in that of time.

    Neighbours in random order are a third of the whole span apart on average.
    """
    order = np.argsort(hashes, kind="stable")
    times, hashes = times[order], hashes[order]
    firsts = np.flatnonzero(np.concatenate([[True], hashes[1:] != hashes[:-1]]))
    counts = np.diff(np.append(firsts, len(times)))
    spans = np.maximum.reduceat(times, firsts) - np.minimum.reduceat(times, firsts)
    steps = np.where(hashes[1:] == hashes[:-1], np.abs(np.diff(times)), 0)
    walked = np.add.reduceat(np.append(steps, 0), firsts)
    many = (counts >= _ENOUGH) & (spans > 0)
    if not many.any():
        return False
    return bool(np.median(walked[many] / (spans[many] * (counts[many] - 1))) > 1 / 6)


def is_cheap(frame: DataFrame) -> bool:
    """Whether Spark can give the first rows of a frame without computing the others."""
    if frame.isStreaming:
        return False
    waiting = [frame._jdf.queryExecution().optimizedPlan()]
    while waiting:
        node = waiting.pop()
        children = node.children()
        if children.size() and node.nodeName() not in _CHEAP:
            return False
        waiting += [children.apply(index) for index in range(children.size())]
    return True


def _rows_in_all(frame: DataFrame) -> float | None:
    """Estimates how many rows there are by the size of files; None if Spark does not know."""
    stats = frame._jdf.queryExecution().optimizedPlan().stats()
    rows, size = stats.rowCount(), float(str(stats.sizeInBytes()))
    if rows.isDefined():
        return float(str(rows.get()))
    # Spark counts eight bytes for each row beside its columns.
    return size / (frame._jdf.schema().defaultSize() + 8) if size < _UNKNOWN else None
