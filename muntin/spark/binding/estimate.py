"""Estimates what a plan depends on: sizes, rate, live keys and filters, from a few rows."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import combinations
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame

from muntin.errors import RefusedError
from muntin.model.query import Family, Grouping, Query, parts_of
from muntin.model.time import SECOND
from muntin.model.windows import Window
from muntin.model.workload import Workload
from muntin.optimizer.lower_bounds import depends_on_data
from muntin.optimizer.optimize import may_share
from muntin.optimizer.strategies import DEFAULT, UNSHARED
from muntin.spark.binding.relations import Relations
from muntin.spark.engine.catalyst import (
    bytes_read,
    operators_of,
    partition_columns,
    rows_of,
    rows_read,
)
from muntin.spark.error_text import JOB_ERRORS
from muntin.sql_text import case_when

# Rows that are looked at.
ROWS = 10_000
# With fewer rows, fixed costs are most of what any plan costs.
MANY_ROWS = 500_000
# The live keys of all subsets of so many keys are counted.
_FEW_KEYS = 6
# Fewer rows of a key do not show whether rows are in order of time.
_ENOUGH = 8
# Operators that pass rows on one by one. Below any other, the first rows may cost as much as all.
_CHEAP = {"Project", "Union", "SubqueryAlias", "View"}

Int64s = NDArray[np.int64]

# The facts about a DataFrame's rows, by groupings.
_FACTS: "WeakKeyDictionary[DataFrame, dict[object, Facts | None]]" = WeakKeyDictionary()


@dataclass(frozen=True, kw_only=True)
class Facts:
    """Events per second of event time, live keys of sets of keys, and shares of filters."""

    rate: float
    live_keys: Mapping[frozenset[str], float]
    shares: Mapping[str, float]


def estimate(
    work: Workload, relations: Relations, strategy: str, *, has_figures: bool = False
) -> Workload:
    """Returns the workload with the facts about its data that the plan depends on.

    These are the relations that Spark computes rather than reads and, for the strategy `auto`, the
    number of events and the rate and keys of a sample. With `has_figures` the user gave them.
    """
    if strategy != UNSHARED and len(work.queries_by_grouping) > 1:
        readings = Counter(grouping.relation for grouping in work.queries_by_grouping)
        with suppress(PySparkException):
            # If a query is wrong, the error is raised when it is bound to its data.
            work = replace(work, computed=relations.relations_to_store(readings))
    several = max(len(work.periodic_queries), len(work.data_window_queries)) > 1
    if strategy == DEFAULT and not has_figures and several:
        work = _with_reading(work, relations)
        if may_share(work):
            # Who makes the slices depends on the data, too, but matters only for many rows.
            least = 0 if depends_on_data(work) else MANY_ROWS
            work = with_facts(work, relations, least_rows=least)
    return work


def with_facts(work: Workload, relations: Relations, *, least_rows: float = 0) -> Workload:
    """Returns the workload with the facts of a sample: one small Spark job for each family.

    The workload stays as it is if a sample is not cheap, or if Spark knows that there are fewer
    rows than `least_rows`. The rate, and the keys of queries without facts, are those of the
    grouping with the most queries.
    """
    groupings = work.queries_by_grouping or {
        part.grouping: part.data_window_queries for part in work.split_by_grouping
    }
    is_small = work.seconds is not None and work.seconds * work.rate < least_rows
    if is_small or not groupings:
        return work
    main = max(groupings, key=lambda grouping: len(groupings[grouping]))
    families: dict[Family, list[Grouping]] = {}
    for grouping in groupings:
        families.setdefault(grouping.family, []).append(grouping)
    values = {
        grouping: frozenset(value for query in queries for value in query.values_in_sets)
        for grouping, queries in groupings.items()
    }
    facts = {
        family: _cached_facts({each: values[each] for each in asked}, relations, least_rows)
        for family, asked in families.items()
    }
    chosen = facts[main.family]
    if chosen is None:
        return work
    known = [each for each in facts.values() if each is not None]
    return replace(
        work,
        rate=chosen.rate,
        keys=chosen.live_keys.get(frozenset(main.keys), 1.0),
        rate_known=True,
        keys_known=True,
        live_keys={keys: count for each in known for keys, count in each.live_keys.items()},
        # The first rows are from one folder.
        shares={**{w: share for each in known for w, share in each.shares.items()}, **work.reads},
        # A batch has as many events as before.
        seconds=work.seconds and work.seconds * work.rate / chosen.rate,
    )


def _with_reading(work: Workload, relations: Relations) -> Workload:
    """Returns the workload with the seconds of events that Spark will read, and the share of them
    that is left after partition pruning by each filter.

    Nothing depends on that for a single grouping of periodic windows.
    """
    families: dict[Family, dict[Grouping, Query]] = {}
    for query in parts_of(work.queries):
        families.setdefault(query.grouping.family, {})[query.grouping] = query
    sizes: list[float | None] = []
    reads: dict[str, float] = {}
    for family, groupings in families.items():
        if len(groupings) > 1 or len(work.data_window_queries) > 1:
            try:
                events = relations.rows(family.relation)
                sizes.append(rows_read(events))
                reads |= _filter_shares(events, groupings, relations)
            except (*JOB_ERRORS, RefusedError):
                # If a query is wrong, the error is raised when it is bound to its data. Other
                # versions of Spark may not tell what they read.
                return work
    rows = [size for size in sizes if size is not None]
    is_known = bool(rows) and len(rows) == len(sizes)
    return replace(
        work,
        reads=reads,
        shares={**work.shares, **reads},
        seconds=max(1.0, *rows) / work.rate if is_known else None,
    )


def _filter_shares(
    events: DataFrame, groupings: Mapping[Grouping, Query], relations: Relations
) -> dict[str, float]:
    """Returns the share of a source's bytes that Spark reads for each filter on partitions."""
    queries = {each.where: query for each, query in groupings.items() if each.where is not None}
    folders = partition_columns(events) if queries else []
    whole = bytes_read(events) if folders else None
    shares = {}
    for where, query in queries.items():
        if whole and any(column.lower() in where.lower() for column in folders):
            read = bytes_read(_filter_statement(query, relations))
            if read is not None and read < whole:
                # Never zero: the share of no event has no cost to compare.
                shares[where] = max(read, 1.0) / whole
    return shares


def _filter_statement(query: Query, relations: Relations) -> DataFrame:
    """Returns a statement with the filter of a query: the query itself if Spark may answer it
    alone, so that it is not analysed again."""
    if isinstance(query.window, Window) and query.window.is_tumbling:
        return relations.check(query.whole_query)
    return relations.sql(query.source.surround("SELECT 1 FROM ", f" WHERE {query.where}"))


def _cached_facts(
    groupings: Mapping[Grouping, frozenset[str]], relations: Relations, least_rows: float
) -> Facts | None:
    """Returns the facts of a family, sampled once for as long as its DataFrame lives."""
    frame = relations.frame(next(iter(groupings)).relation)
    if frame is None:
        return sample_facts(groupings, relations, least_rows)
    known = _FACTS.setdefault(frame, {})
    asked = (frozenset(groupings.items()), least_rows > 0)
    if asked not in known:
        known[asked] = sample_facts(groupings, relations, least_rows)
    return known[asked]


def sample_facts(
    groupings: Mapping[Grouping, frozenset[str]], relations: Relations, least_rows: float = 0
) -> Facts | None:
    """Returns the facts that the first rows show; None if they are too few, or not cheap to get.

    `groupings` of one family have the values that their slices store in sets: those are counted
    like keys. Filters are applied to the first rows; the job does not search for rows that pass.
    """
    family = next(iter(groupings)).family
    keys = sorted({key for grouping in groupings for key in grouping.keys})
    values = sorted({value for asked in groupings.values() for value in asked} - {*keys})
    filters = sorted({grouping.where for grouping in groupings if grouping.where is not None})
    columns = [
        f"unix_micros(CAST({family.time} AS TIMESTAMP)) AS t",
        *(f"xxhash64(CAST({key} AS STRING)) AS k{index}" for index, key in enumerate(keys)),
        *(
            f"xxhash64(CAST({_guard_value(value, groupings)} AS STRING)) AS k{index}"
            for index, value in enumerate(values, len(keys))
        ),
        *(f"coalesce({where}, false) AS f{index}" for index, where in enumerate(filters)),
    ]
    try:
        frame = relations.sql(family.relation.surround(f"SELECT {', '.join(columns)} FROM ", ""))
        if not is_cheap(frame):
            return None
        in_all = rows_of(frame)
        if in_all is not None and in_all < least_rows:
            return None
        # `take` goes from partition to partition until it has enough.
        rows = frame.take(ROWS)
    except PySparkException:
        # If a query is wrong, the error is raised when it is bound to its data.
        return None
    events = [row for row in rows if row["t"] is not None]
    if len(events) < 2:
        return None
    times = np.array([row["t"] for row in events], np.int64)
    hashes = {
        key: np.array([row[f"k{index}"] for row in events], np.int64)
        for index, key in enumerate((*keys, *values))
    }
    more = 1.0
    whole = _mix_hashes((hashes[key] for key in keys), len(events))
    if len(rows) == ROWS and in_all is not None and is_shuffled(times, whole):
        # The rows are spread over all of the time, with more events between them.
        more = max(1.0, in_all / ROWS)
    rate = _event_rate(times, more)
    if rate is None:
        return None
    return Facts(
        rate=rate,
        live_keys={
            of: live_keys(_mix_hashes((hashes[key] for key in of), len(events)), in_all)
            for of in {*_key_sets(groupings, keys), *_keys_with_values(groupings)}
        },
        shares={
            # Never zero: what a few rows do not have may still come.
            where: max(sum(row[f"f{index}"] for row in events), 0.5) / len(events)
            for index, where in enumerate(filters)
        },
    )


def _guard_value(value: str, groupings: Mapping[Grouping, frozenset[str]]) -> str:
    """Returns a value, computed only where the filter of a grouping that needs it holds."""
    filters = {grouping.where for grouping, values in groupings.items() if value in values}
    if None in filters:
        return f"({value})"
    return case_when(" OR ".join(f"({where})" for where in filters), value)


def _keys_with_values(groupings: Mapping[Grouping, frozenset[str]]) -> Iterable[frozenset[str]]:
    """Returns the keys of each grouping with each of its values."""
    return (
        frozenset({*grouping.keys, value})
        for grouping, values in groupings.items()
        for value in values
    )


def _key_sets(groupings: Iterable[Grouping], keys: Sequence[str]) -> set[frozenset[str]]:
    """Returns the sets of keys that a pass may have: all of a few keys, else unions of two."""
    if len(keys) <= _FEW_KEYS:
        sizes = range(1, len(keys) + 1)
        return {frozenset(few) for size in sizes for few in combinations(keys, size)}
    asked = {frozenset(grouping.keys) for grouping in groupings}
    return {one | other for one in asked for other in asked} | {frozenset(keys)} - {frozenset()}


def _mix_hashes(columns: Iterable[Int64s], rows: int) -> Int64s:
    """Returns one hash for several of each row."""
    mixed = np.zeros(rows, np.int64)
    for column in columns:
        mixed = mixed * 31 + column
    return mixed


def live_keys(hashes: Int64s, in_all: float | None) -> float:
    """Estimates how many keys there are from those of a few rows (Chao's estimator).

    The number of keys with one row shows how many have none. There are at most as many as rows.
    """
    counts = np.unique(hashes, return_counts=True)[1]
    once, twice = int((counts == 1).sum()), int((counts == 2).sum())
    estimate = len(counts) + once * (once - 1) / (2 * (twice + 1))
    return float(min(estimate, max(in_all or len(hashes), len(counts))))


def _event_rate(times: Int64s, more: float) -> float | None:
    """Returns events per second, where each row of a sample represents `more` events."""
    span = float(np.quantile(times, 0.95) - np.quantile(times, 0.05)) / 0.9
    return None if span <= 0 else more * len(times) * SECOND / span


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
    operators = operators_of(frame)
    return operators is not None and operators <= _CHEAP
