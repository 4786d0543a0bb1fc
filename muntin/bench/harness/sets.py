"""The sets of window queries that `bench sharing` and `bench streaming` run."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from random import Random

from muntin.bench.harness.minutes import draw_windows, in_minutes
from muntin.bench.harness.teams import draw_teams, ten_teams
from muntin.model.aggregates.aggregate import Aggregate
from muntin.model.aggregates.table import FUNCTIONS
from muntin.model.query import Query
from muntin.model.time import SECOND
from muntin.model.windows.data_windows import Session
from muntin.model.windows.window import Window


def _queries(
    windows: Sequence[Window | Session], functions: list[str], argument: str = "temp"
) -> list[Query]:
    return [
        Query(
            name=f"q{index}",
            window=window,
            aggregates={function: Aggregate(function=function, argument=argument)},
            keys=["device"],
            time="ts",
        )
        for index, (window, function) in enumerate(zip(windows, functions, strict=True))
    ]


def _minimum(*lengths: tuple[int, int]) -> list[Query]:
    windows = in_minutes(*lengths)
    return _queries(windows, ["min"] * len(windows))


def _of(aggregate: Aggregate, queries: Sequence[Query]) -> list[Query]:
    """Returns the queries with another aggregate."""
    return [replace(query, aggregates={"answer": aggregate}) for query in queries]


def _sessions(*seconds: int) -> list[Query]:
    windows = [Session(gap * SECOND) for gap in seconds]
    return _queries(windows, ["min"] * len(windows))


def mix(count: int, seed: int = 11) -> list[Query]:
    """Draws windows from a seed: half tumbling up to an hour, half hopping up to a day."""
    random = Random(seed)
    functions = ["min", "max", "avg", "sum", "count"]
    assert set(functions) <= set(FUNCTIONS)
    windows = draw_windows(count, random)
    return _queries(windows, [random.choice(functions) for _ in windows])


def _dashboard(function: str = "min", argument: str = "temp") -> list[Query]:
    tumbling = ((m, m) for m in (1, 2, 5, 10, 15, 30, 60))
    windows = in_minutes(*tumbling, (60, 1), (15, 1), (1440, 10))
    return _queries(windows, [function] * len(windows), argument)


_USERS = Aggregate(function="count_distinct", argument="user")
_QUANTILE = Aggregate(function="percentile", argument="temp", parameters=("0.95",))

SETS: dict[str, Callable[[], list[Query]]] = {
    "one": lambda: _minimum((1, 1)),
    "tumb5": lambda: _minimum(*((m, m) for m in (1, 2, 3, 5, 10))),
    "slide3": lambda: _minimum((60, 1), (30, 1), (15, 5)),
    "dash10": _dashboard,
    "mix100": lambda: mix(100),
    "teams10": ten_teams,
    "teams100": lambda: draw_teams(100),
    "sparse10": _dashboard,
    "distinct1": lambda: _of(_USERS, _minimum((1, 1))),
    "distinct10": lambda: _of(_USERS, _dashboard()),
    "quantile10": lambda: _of(_QUANTILE, _dashboard()),
    "sketch10": lambda: _dashboard("approx_count_distinct", "user"),
    "sess": lambda: _sessions(60),
    "sess10": lambda: _sessions(5, 10, 20, 30, 60, 90, 120, 300, 600, 900),
}
# The sets that run if none are named.
PERIODIC = ("one", "tumb5", "slide3", "dash10", "mix100", "teams10", "teams100", "sparse10")
# Sets that plain Spark does not run in full: it would take hours.
TOO_LONG_FOR_PLAIN = {"mix100", "teams100", "distinct10", "quantile10"}


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
