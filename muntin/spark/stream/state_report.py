"""Reads, from Spark's report of a batch, what the operator's buckets keep and have combined."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import Column
from pyspark.sql.functions import collect_list, expr

from muntin.model.trees import PeriodicTree
from muntin.runtime.periodic.tree import BEGIN, NODE
from muntin.runtime.state.figures import COMBINED, FIGURE, TREE, bytes_at, rows_at
from muntin.runtime.stream_plan.stored_tree import StoredTree
from muntin.spark.engine.listeners import Report

# What Spark's reports call the figures.
OBSERVED_FIGURES, _FIGURES = "muntin_figures", "told"


@dataclass(frozen=True, kw_only=True)
class LevelStatus:
    """What a stream keeps in one level of the state of some queries."""

    queries: tuple[str, ...]
    # The window whose partials are kept, "slices", or "two stacks".
    level: str
    rows: int
    bytes: int


@dataclass(frozen=True, kw_only=True)
class StateReport:
    """What is kept after a batch, and how many partials the batch combined."""

    levels: tuple[LevelStatus, ...] = ()
    combined: int = 0


def figures_column() -> Column:
    """Returns all figures of a batch in one list.

    Spark takes seconds to plan and compute some aggregates for each of a hundred queries.
    """
    figure = f"CASE WHEN {FIGURE} IS NOT NULL THEN struct({TREE}, {NODE}, {FIGURE}, {BEGIN}) END"
    return collect_list(expr(figure)).alias(_FIGURES)


def figures_in(report: Report) -> dict[tuple[int, int], int]:
    """Returns the sums of figures over all buckets, by tree and what they are of."""
    found: Counter[tuple[int, int]] = Counter()
    for each in _figures_of(report):
        # Spark leaves nulls out of a report. The figures of answers have a begin.
        if each.get(BEGIN) is None:
            found[each[TREE], each[NODE]] += each[FIGURE]
    return dict(found)


def answers_in(report: Report) -> dict[tuple[int, int], tuple[int, int]]:
    """Returns how many answers each tree and node gave, and their latest begin."""
    found: dict[tuple[int, int], tuple[int, int]] = {}
    for each in _figures_of(report):
        if (begin := each.get(BEGIN)) is not None:
            rows, last = found.get((each[TREE], each[NODE]), (0, begin))
            found[each[TREE], each[NODE]] = rows + each[FIGURE], max(last, begin)
    return found


def _figures_of(report: Report) -> Sequence[Report]:
    figures: Sequence[Report] = (
        report.get("observedMetrics", {}).get(OBSERVED_FIGURES, {}).get(_FIGURES, ())
    )
    return figures


def state_in(report: Report, trees: Sequence[StoredTree]) -> StateReport:
    """Returns what a report says of the state."""
    figures = figures_in(report)
    levels = []
    for stored in trees:
        names = stored.tree.level_names
        if isinstance(stored.tree, PeriodicTree) and any(n.has_stacks for n in stored.tree.nodes):
            names = (*names, "two stacks")
        for number, level in enumerate(names):
            levels.append(
                LevelStatus(
                    queries=stored.tree.queries,
                    level=level,
                    rows=figures.get((stored.number, rows_at(number)), 0),
                    bytes=figures.get((stored.number, bytes_at(number)), 0),
                )
            )
    combined = sum(figures.get((stored.number, COMBINED), 0) for stored in trees)
    return StateReport(levels=tuple(levels), combined=combined)
