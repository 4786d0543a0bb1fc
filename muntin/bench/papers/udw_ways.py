"""Ways to share slices that `bench udw` compares, what it found of each, and what is aimed at."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from muntin.bench.papers.techniques import Target
from muntin.runtime.columns.partials import Int64s

_NONE = np.empty(0, np.int64)


@dataclass(frozen=True, kw_only=True)
class Way:
    """A way to share: where slices start, and how they are stored."""

    name: str
    store: str
    # Where slices start beside the begins of windows, given their ends and the number of rows.
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
    """What one way did for some queries. Combines of records into the open slice are apart."""

    windows: str
    way: str
    queries: int
    combines: int
    folds: int
    stored: int
    # Stored partials beyond the windows that were open, at most.
    beyond: int
    per_second: float


def aims(figures: Sequence[Figure], queries: int, per_second: float) -> list[Target]:
    """What periodic windows of so many queries should show, and the whole runtime's speed.

    Cutty is ours, in the store that it runs with; where the paper's own eager store, a tree, gives
    another figure, that one stands beside it.
    """

    def of(way: str) -> Figure:
        found = ("periodic", way, queries)
        return next(one for one in figures if (one.windows, one.way, one.queries) == found)

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
