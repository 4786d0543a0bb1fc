"""The sets of window queries that `bench sharing` and `bench streaming` run."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random

from benchmarks.harness.minutes import draw_windows, in_minutes
from benchmarks.harness.teams import draw_teams, ten_teams
from muntin.model.aggregates.aggregate import Aggregate
from muntin.model.aggregates.table import FUNCTIONS
from muntin.model.query import Query
from muntin.model.time import SECOND
from muntin.model.windows.data_windows import Session
from muntin.model.windows.window import Window


def _queries(
    windows: Sequence[Window | Session], aggregates: Mapping[str, Aggregate]
) -> list[Query]:
    """Returns a query for each window, all with the same aggregates."""
    return [
        Query(
            name=f"q{index}",
            window=window,
            aggregates=aggregates,
            keys=["device"],
            time="ts",
        )
        for index, window in enumerate(windows)
    ]


def _of_temp(function: str) -> dict[str, Aggregate]:
    return {function: Aggregate(function=function, argument="temp")}


def _minimum(*lengths: tuple[int, int]) -> list[Query]:
    return _queries(in_minutes(*lengths), _of_temp("min"))


def _sessions(*seconds: int) -> list[Query]:
    windows = [Session(gap * SECOND) for gap in seconds]
    return _queries(windows, _of_temp("min"))


def mix(count: int, seed: int = 11) -> list[Query]:
    """Draws windows from a seed: half tumbling up to an hour, half hopping up to a day."""
    random = Random(seed)
    functions = ["min", "max", "avg", "sum", "count"]
    assert set(functions) <= set(FUNCTIONS)
    windows = draw_windows(count, random)
    return [
        replace(query, name=f"q{index}")
        for index, window in enumerate(windows)
        for query in _queries([window], _of_temp(random.choice(functions)))
    ]


def _minute(aggregate: Aggregate) -> list[Query]:
    return _queries(in_minutes((1, 1)), {"answer": aggregate})


def _dashboard(aggregate: Aggregate | None = None) -> list[Query]:
    tumbling = ((m, m) for m in (1, 2, 5, 10, 15, 30, 60))
    windows = in_minutes(*tumbling, (60, 1), (15, 1), (1440, 10))
    return _queries(windows, _of_temp("min") if aggregate is None else {"answer": aggregate})


_USERS = Aggregate(function="count_distinct", argument="user")
_QUANTILE = Aggregate(function="percentile", argument="temp", parameters=("0.95",))
_SKETCH = Aggregate(function="approx_count_distinct", argument="user")

SETS: dict[str, Callable[[], list[Query]]] = {
    "one": lambda: _minimum((1, 1)),
    "tumb5": lambda: _minimum(*((m, m) for m in (1, 2, 3, 5, 10))),
    "slide3": lambda: _minimum((60, 1), (30, 1), (15, 5)),
    "dash10": _dashboard,
    "mix100": lambda: mix(100),
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
# Sets that plain Spark does not run in full: it would take hours.
TOO_LONG_FOR_PLAIN = {"mix100", "teams100"}
# Sets that plain Spark runs over the events of one key in so many: each key has all its windows, so
# that plain Spark's cost grows with the keys.
FEW_KEYS_FOR_PLAIN = {"distinct10", "quantile10", "sketch10"}
ONE_KEY_IN = 20
# The set of one query, of one minute, that plain Spark's cost of is a measure for another set.
_ONE_QUERY = {
    "sess10": "sess",
    "distinct10": "distinct1",
    "quantile10": "quantile1",
    "sketch10": "sketch1",
}


def one_query_of(name: str) -> str:
    """Returns the set with one query of the same aggregate: `one`, if there is no other."""
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
    # Each key has an event every 160 seconds, so most slices of a minute hold none or one.
    return Scale(events=max(1, usual.events * 2 // 5), keys=8_000)
