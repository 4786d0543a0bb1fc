"""Passes: who makes slices and answers, and which trees share one reading of a relation."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from muntin.errors import ModelError
from muntin.model.windows import Slicing

# The slicer folds trees from the finest slices of a chunk of events if there are at least this many
# trees, and at least this many events in a slice.
TREES_TO_FOLD = 8
EVENTS_TO_FOLD = 4


class Engine(Enum):
    """Who computes something; a plan names one for each pass, tree and query."""

    # Spark's own operators: GROUP BY, `session_window` and its aggregates.
    SPARK = "spark"
    # The compiled slicer and runtime, in Spark's Python workers.
    COMPILED = "compiled"
    # A class or functions of the user's, which the runtime calls in Python.
    USER = "user"


@dataclass(frozen=True, kw_only=True)
class Pass:
    """One reading of a relation for all trees that name it.

    A GROUP BY makes partials by `keys` and `slicing`, with the components of every tree under its
    filter. Trees with fewer keys or coarser slices fold these partials. The slicer makes the slices
    of every tree from the events themselves, or does the same with a chunk of them.
    """

    # Distinguishes passes with equal fields.
    number: int
    # Who makes the slices: Spark's own GROUP BY, or the compiled slicer, which gets the events.
    engine: Engine
    keys: tuple[str, ...]
    slicing: Slicing
    # Whether events that pass no tree's filter are dropped first. Evaluating all filters for every
    # event has a cost, too.
    drops_rows: bool = True
    # Operations per second spent on reading and cutting; what each tree costs comes on top.
    cost: float = 0.0

    def __post_init__(self) -> None:
        if self.engine is Engine.USER:
            raise ModelError("slices are made by Spark or by compiled code, not by the user's")

    def serves(self, keys: tuple[str, ...], slicing: Slicing) -> bool:
        """Whether slices by these keys and edges can be made in it."""
        return set(keys) <= set(self.keys) and self.slicing.includes(slicing)

    def filter_of(self, filters: Sequence[str | None]) -> str | None:
        """Returns the filter that events must pass first, for trees with these filters."""
        return common_filter(filters) if self.drops_rows or len(set(filters)) == 1 else None


def common_filter(filters: Sequence[str | None]) -> str | None:
    """Returns a filter that lets in every event that one of these does, or None for no filter."""
    distinct = dict.fromkeys(filters)
    if None in distinct:
        return None
    texts = [text for text in distinct if text is not None]
    return texts[0] if len(texts) == 1 else " OR ".join(f"({text})" for text in texts)
