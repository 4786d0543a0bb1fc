"""The sets of window queries that `bench sharing` and `bench streaming` run."""

from collections.abc import Callable, Sequence
from random import Random

from muntin.model.aggregates.aggregate import Aggregate
from muntin.model.aggregates.table import FUNCTIONS
from muntin.model.query import Query
from muntin.model.time import MINUTE, SECOND
from muntin.model.windows.data_windows import Session
from muntin.model.windows.window import Window

_Minutes = tuple[int, int]


def _windows(*minutes: _Minutes) -> list[Window]:
    return [Window(size=size * MINUTE, slide=slide * MINUTE) for size, slide in minutes]


def _queries(windows: Sequence[Window | Session], functions: list[str]) -> list[Query]:
    return [
        Query(
            name=f"q{index}",
            window=window,
            aggregates={function: Aggregate(function=function, argument="temp")},
            keys=["device"],
            time="ts",
        )
        for index, (window, function) in enumerate(zip(windows, functions, strict=True))
    ]


def _minimum(*minutes: _Minutes) -> list[Query]:
    windows = _windows(*minutes)
    return _queries(windows, ["min"] * len(windows))


def _sessions(*seconds: int) -> list[Query]:
    windows = [Session(gap * SECOND) for gap in seconds]
    return _queries(windows, ["min"] * len(windows))


def mix(count: int, seed: int = 11) -> list[Query]:
    """Draws windows from a seed: half tumbling up to an hour, half hopping up to a day."""
    random = Random(seed)
    functions = ["min", "max", "avg", "sum", "count"]
    assert set(functions) <= set(FUNCTIONS)
    windows = []
    for index in range(count):
        slide = random.randint(1, 60)
        size = slide if index % 2 == 0 else random.randint(slide, 24 * 60)
        windows.append((size, slide))
    return _queries(_windows(*windows), [random.choice(functions) for _ in windows])


SETS: dict[str, Callable[[], list[Query]]] = {
    "one": lambda: _minimum((1, 1)),
    "tumb5": lambda: _minimum(*((m, m) for m in (1, 2, 3, 5, 10))),
    "slide3": lambda: _minimum((60, 1), (30, 1), (15, 5)),
    "dash10": lambda: _minimum(
        *((m, m) for m in (1, 2, 5, 10, 15, 30, 60)), (60, 1), (15, 1), (1440, 10)
    ),
    "mix100": lambda: mix(100),
    "sess": lambda: _sessions(60),
    "sess10": lambda: _sessions(5, 10, 20, 30, 60, 90, 120, 300, 600, 900),
}
# The sets that run if none are named.
PERIODIC = ("one", "tumb5", "slide3", "dash10", "mix100")
# Sets that plain Spark does not run in full: it would take hours.
TOO_LONG_FOR_PLAIN = {"mix100"}
