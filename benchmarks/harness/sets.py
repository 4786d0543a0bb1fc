"""The sets of window queries that `sharing` and `streaming` run."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from random import Random
from typing import TypeVar

from muntin.aggregates.aggregate import Aggregate
from muntin.model.data_windows import Session
from muntin.model.query import Query
from muntin.model.time import MINUTE, SECOND
from muntin.model.windows import Window

_Item = TypeVar("_Item")
_FUNCTIONS = ("min", "max", "avg", "sum", "count")
_COLUMNS = ("device", "site", "kind", "status")
# Keys, filter, size and slide in minutes, and aggregates of ten teams.
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
# Conditions on each column. Any three of different columns hold for some events.
_CONDITIONS = {
    "device": ("device < 'device-5'", "device >= 'device-3'", "device <> 'device-7'"),
    "site": ("site = 3", "site < 5", "site IN (1, 4, 8)"),
    "kind": ("kind = 1", "kind <> 0", "kind >= 2"),
    "status": ("status = 'error'", "status = 'ok'"),
    "temp": ("temp > 80", "temp > 22.5", "temp < 25", "temp BETWEEN 20 AND 30"),
}


def in_minutes(*lengths: tuple[int, int]) -> list[Window]:
    """Returns a window for each size and slide."""
    return [Window(size=size * MINUTE, slide=slide * MINUTE) for size, slide in lengths]


def draw_windows(count: int, random: Random) -> list[Window]:
    """Draws windows: in turns tumbling up to an hour, and hopping up to a day."""
    lengths = []
    for index in range(count):
        slide = random.randint(1, 60)
        size = slide if index % 2 == 0 else random.randint(slide, 24 * 60)
        lengths.append((size, slide))
    return in_minutes(*lengths)


def _query(
    number: int,
    window: Window | Session,
    aggregates: Aggregate | str,
    keys: Sequence[str] = ("device",),
    where: str | None = None,
) -> Query:
    """Returns a query of one aggregate, or of the functions in a text, of `temp`."""
    name = f"q{number}"
    if isinstance(aggregates, Aggregate):
        asked = {"answer": aggregates}
    else:
        asked = {function: _of_temp(function) for function in aggregates.split()}
    return Query(name=name, window=window, aggregates=asked, keys=keys, where=where, time="ts")


def _of_temp(function: str) -> Aggregate:
    return Aggregate(function=function, argument=None if function == "count" else "temp")


def _queries(
    windows: Iterable[Window | Session], aggregates: Aggregate | str = "min"
) -> list[Query]:
    return [_query(number, window, aggregates) for number, window in enumerate(windows)]


def _minimum(*lengths: tuple[int, int]) -> list[Query]:
    return _queries(in_minutes(*lengths))


def _sessions(*seconds: int) -> list[Query]:
    return _queries(Session(gap * SECOND) for gap in seconds)


def _minute(aggregate: Aggregate) -> list[Query]:
    return _queries(in_minutes((1, 1)), aggregate)


def _dashboard(aggregate: Aggregate | str = "min") -> list[Query]:
    tumbling = ((m, m) for m in (1, 2, 5, 10, 15, 30, 60))
    return _queries(in_minutes(*tumbling, (60, 1), (15, 1), (1440, 10)), aggregate)


def draw_mix(count: int, seed: int = 11) -> list[Query]:
    """Draws queries from a seed, each with one window and one aggregate of `temp`."""
    random = Random(seed)
    queries = []
    for number, window in enumerate(draw_windows(count, random)):
        function = random.choice(_FUNCTIONS)
        aggregates = {function: Aggregate(function=function, argument="temp")}
        queries.append(replace(_query(number, window, function), aggregates=aggregates))
    return queries


def ten_teams() -> list[Query]:
    """Returns ten queries as dashboards ask them, by six sets of keys, some with a filter."""
    return [
        _query(number, in_minutes(lengths)[0], functions, keys.split(), where)
        for number, (keys, where, lengths, functions) in enumerate(_TEN)
    ]


def draw_teams(count: int, *, key_sets: int = 12, filters: int = 25, seed: int = 12) -> list[Query]:
    """Draws queries from a seed; each set of keys and each filter has the same number of them."""
    random = Random(seed)
    every = [keys for size in range(len(_COLUMNS) + 1) for keys in combinations(_COLUMNS, size)]
    keys = _deal(random.sample(every, key_sets), count, random)
    wheres = _deal(_draw_filters(filters, random), count, random)
    queries = []
    for number, window in enumerate(draw_windows(count, random)):
        functions = " ".join(random.sample(_FUNCTIONS, random.randint(1, 2)))
        queries.append(_query(number, window, functions, keys[number], wheres[number]))
    return queries


def _draw_filters(count: int, random: Random) -> list[str]:
    """Draws different filters of one to three conditions."""
    filters: dict[frozenset[str], str] = {}
    while len(filters) < count:
        columns = random.sample(list(_CONDITIONS), random.randint(1, 3))
        conditions = [random.choice(_CONDITIONS[column]) for column in columns]
        filters.setdefault(frozenset(conditions), " AND ".join(conditions))
    return list(filters.values())


def _deal(items: Sequence[_Item], count: int, random: Random) -> list[_Item]:
    """Returns `count` items in random order, each as often as the others, or once more."""
    dealt = [items[index % len(items)] for index in range(count)]
    random.shuffle(dealt)
    return dealt


_USERS = Aggregate(function="count_distinct", argument="user")
_QUANTILE = Aggregate(function="percentile", argument="temp", parameters=("0.95",))
_SKETCH = Aggregate(function="approx_count_distinct", argument="user")

SETS: dict[str, Callable[[], list[Query]]] = {
    "one": lambda: _minimum((1, 1)),
    "tumb5": lambda: _minimum(*((m, m) for m in (1, 2, 3, 5, 10))),
    "slide3": lambda: _minimum((60, 1), (30, 1), (15, 5)),
    "dash10": _dashboard,
    "mix100": lambda: draw_mix(100),
    "teams10": ten_teams,
    "teams100": lambda: draw_teams(100),
    "sparse10": _dashboard,
    "distinct1": lambda: _minute(_USERS),
    "distinct10": lambda: _dashboard(_USERS),
    "quantile1": lambda: _minute(_QUANTILE),
    "quantile10": lambda: _dashboard(_QUANTILE),
    "sketch1": lambda: _minute(_SKETCH),
    "sketch10": lambda: _dashboard(_SKETCH),
    "sess": lambda: _sessions(60),
    "sess10": lambda: _sessions(5, 10, 20, 30, 60, 90, 120, 300, 600, 900),
}
# The sets that run if none are named.
PERIODIC = ("one", "tumb5", "slide3", "dash10", "mix100", "teams10", "teams100", "sparse10")
# Sets that plain Spark does not run in full, because it would take hours.
TOO_LONG_FOR_PLAIN = {"mix100", "teams100"}
# Sets that plain Spark runs over the events of one key in twenty. Each key has all windows, so its
# cost grows with the keys.
FEW_KEYS_FOR_PLAIN = {"distinct10", "quantile10", "sketch10"}
ONE_KEY_IN = 20
# Sets with one query that is the measure for another set.
_ONE_QUERY = {
    "sess10": "sess",
    "distinct10": "distinct1",
    "quantile10": "quantile1",
    "sketch10": "sketch1",
}


def one_query_of(name: str) -> str:
    """Returns the set with one query of the same aggregate; `one` if there is no other."""
    return _ONE_QUERY.get(name, name if name in _ONE_QUERY.values() else "one")


@dataclass(frozen=True, kw_only=True)
class Scale:
    """How many events a set runs over, and how many keys they have."""

    events: int
    keys: int


def scale_of(name: str, usual: Scale) -> Scale:
    """Returns the usual scale, or for sparse10 two fifths of its events, with 8,000 keys."""
    if name != "sparse10":
        return usual
    # Each key has an event every 160 seconds, so most slices of a minute have none or one.
    return Scale(events=max(1, usual.events * 2 // 5), keys=8_000)
