"""The ways to share slices that `bench udw` compares, their figures, and our targets."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks.harness.targets import Target
from muntin.runtime.columns.partials import Int64s

_NONE = np.empty(0, np.int64)


@dataclass(frozen=True, kw_only=True)
class Way:
    """A way to share: where slices start, and how they are stored."""

    name: str
    store: str
    # Returns further starts of slices, beside begins of windows, from their ends and the row count.
    edges: Callable[[Int64s, int], Int64s]


WAYS = (
    Way(name="Pairs", store="lazy", edges=lambda ends, rows: ends),
    Way(name="Pairs, eager store", store="flat_fat", edges=lambda ends, rows: ends),
    Way(name="Pairs, our store", store="suffixes", edges=lambda ends, rows: ends),
    Way(name="Reactive Aggregator", store="flat_fat", edges=lambda ends, rows: np.arange(rows)),
    Way(name="Cutty, lazy store", store="lazy", edges=lambda ends, rows: _NONE),
    Way(name="Cutty, eager store", store="flat_fat", edges=lambda ends, rows: _NONE),
    Way(name="Cutty, our store", store="suffixes", edges=lambda ends, rows: _NONE),
)
OURS, CUTTY, REACTIVE = WAYS[6].name, WAYS[5].name, WAYS[3].name
PAIRS, PAIRS_OURS = WAYS[1].name, WAYS[2].name


@dataclass(frozen=True, kw_only=True)
class Figure:
    """The figures of one way for some queries; `folds` are combines into the open slice."""

    windows: str
    way: str
    queries: int
    combines: int
    folds: int
    stored: int
    # The most stored partials beyond the number of open windows.
    beyond: int
    per_second: float


def aims(figures: Sequence[Figure], queries: int, per_second: float) -> list[Target]:
    """Returns the targets for periodic windows of `queries` queries, and for the runtime's speed.

    Cutty has our store; where the paper's own eager store, a tree, gives another figure, that is a
    target too.
    """

    def of(way: str) -> Figure:
        wanted = ("periodic", way, queries)
        return next(
            figure for figure in figures if (figure.windows, figure.way, figure.queries) == wanted
        )

    ours, theirs = of(OURS), of(PAIRS)
    return [
        Target(
            name="combines, Cutty / Pairs with the paper's eager store",
            found=ours.combines / theirs.combines,
            most=0.6,
        ),
        Target(
            name="the same, the paper's eager store for both",
            found=of(CUTTY).combines / theirs.combines,
            most=0.6,
        ),
        Target(
            name="the same, our store for both",
            found=ours.combines / of(PAIRS_OURS).combines,
            most=0.6,
        ),
        Target(
            name="combines, Reactive Aggregator / Cutty",
            found=of(REACTIVE).combines / ours.combines,
            least=100,
        ),
        Target(
            name="the same, Cutty with the paper's eager store",
            found=of(REACTIVE).combines / of(CUTTY).combines,
            least=100,
        ),
        Target(name="stored slices beyond live windows, Cutty", found=ours.beyond, most=1),
        Target(name="the same, with the paper's eager store", found=of(CUTTY).beyond, most=1),
        Target(
            name="records a second, whole runtime, all built-in kinds", found=per_second, least=1e6
        ),
    ]
