"""Queries of several teams over one stream: each has keys, a filter, a window and aggregates."""

from collections.abc import Sequence
from itertools import combinations
from random import Random
from typing import TypeVar

from benchmarks.harness.minutes import draw_windows, in_minutes
from muntin.model.aggregates.aggregate import Aggregate
from muntin.model.query import Query
from muntin.model.windows.window import Window

_Item = TypeVar("_Item")
_COLUMNS = ("device", "site", "kind", "status")
_FUNCTIONS = ("min", "max", "avg", "sum", "count")
# Keys, filter, size and slide in minutes, aggregates.
_TEN: tuple[tuple[str, str | None, tuple[int, int], str], ...] = (
    ("device", None, (1, 1), "avg count"),
    ("site", None, (1, 1), "avg max"),
    ("", None, (1, 1), "count"),
    ("device", "status = 'error'", (5, 5), "count"),
    ("site", "kind = 1", (15, 1), "avg"),
    ("kind", None, (60, 1), "max"),
    ("device", "temp > 80", (60, 5), "count"),
    ("site kind", None, (10, 10), "avg"),
    ("device kind", None, (60, 60), "min max"),
    ("site", "status = 'error'", (24 * 60, 10), "count"),
)
# What a filter can ask of each column. Any three of different columns hold for some events.
_CONDITIONS = {
    "device": ("device < 'device-5'", "device >= 'device-3'", "device <> 'device-7'"),
    "site": ("site = 3", "site < 5", "site IN (1, 4, 8)"),
    "kind": ("kind = 1", "kind <> 0", "kind >= 2"),
    "status": ("status = 'error'", "status = 'ok'"),
    "temp": ("temp > 80", "temp > 22.5", "temp < 25", "temp BETWEEN 20 AND 30"),
}


def ten_teams() -> list[Query]:
    """Returns ten queries as dashboards ask them, by six sets of keys, some with a filter."""
    return [
        _query(index, keys.split(), where, in_minutes(lengths)[0], aggregates.split())
        for index, (keys, where, lengths, aggregates) in enumerate(_TEN)
    ]


def draw_teams(count: int, *, key_sets: int = 12, filters: int = 25, seed: int = 12) -> list[Query]:
    """Draws queries from a seed; each set of keys and each filter has the same number of them."""
    random = Random(seed)
    every = [keys for size in range(len(_COLUMNS) + 1) for keys in combinations(_COLUMNS, size)]
    keys = _dealt(random.sample(every, key_sets), count, random)
    wheres = _dealt(_draw_filters(filters, random), count, random)
    windows = draw_windows(count, random)
    return [
        _query(index, *asked, random.sample(_FUNCTIONS, random.randint(1, 2)))
        for index, asked in enumerate(zip(keys, wheres, windows, strict=True))
    ]


def _draw_filters(count: int, random: Random) -> list[str]:
    """Draws filters of one to three conditions; no two have the same conditions."""
    drawn: dict[frozenset[str], str] = {}
    while len(drawn) < count:
        columns = random.sample(list(_CONDITIONS), random.randint(1, 3))
        conditions = [random.choice(_CONDITIONS[column]) for column in columns]
        drawn.setdefault(frozenset(conditions), " AND ".join(conditions))
    return list(drawn.values())


def _dealt(items: Sequence[_Item], count: int, random: Random) -> list[_Item]:
    """Returns `count` items in any order, each as often as the others, or once more."""
    dealt = [items[index % len(items)] for index in range(count)]
    random.shuffle(dealt)
    return dealt


def _query(
    index: int, keys: Sequence[str], where: str | None, window: Window, functions: Sequence[str]
) -> Query:
    return Query(
        name=f"q{index}",
        window=window,
        aggregates={function: _aggregate(function) for function in functions},
        keys=keys,
        where=where,
        time="ts",
    )


def _aggregate(function: str) -> Aggregate:
    return Aggregate(function=function, argument=None if function == "count" else "temp")
