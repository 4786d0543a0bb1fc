"""Reads, from Spark's report of a batch, what the operator's buckets keep and have combined."""

from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import Column
from pyspark.sql.functions import expr
from pyspark.sql.functions import sum as sum_of

from muntin.runtime.periodic.tree import NODE
from muntin.runtime.state.figures import COMBINED, bytes_at, rows_at
from muntin.runtime.stream_plan.stream_plan import RunningLane
from muntin.spark.pipeline.reports import Report
from muntin.spark.stream.bucket_processor import FIGURE, LANE

# What Spark's reports call the sums of figures.
OBSERVED_FIGURES = "muntin_figures"


@dataclass(frozen=True, kw_only=True)
class LevelStatus:
    """What a stream keeps in one level of the state of some queries."""

    queries: tuple[str, ...]
    # The window whose partials are kept, or "slices".
    level: str
    rows: int
    bytes: int


@dataclass(frozen=True, kw_only=True)
class StateReport:
    """What is kept after a batch, and how many partials the batch combined."""

    levels: tuple[LevelStatus, ...] = ()
    combined: int = 0


def figure(lane: int, place: int) -> Column:
    """Returns the sum of a figure over all buckets."""
    return sum_of(expr(f"CASE WHEN {LANE} = {lane} AND {NODE} = {place} THEN {FIGURE} END"))


def state_figures(lanes: Sequence[RunningLane]) -> list[Column]:
    """Returns the sums that `state_in` reads."""
    columns = []
    for lane in lanes:
        columns.append(figure(lane.number, COMBINED).alias(f"combined{lane.number}"))
        for number in range(len(lane.tree.levels) + 1):
            name = f"{lane.number}_{number}"
            columns.append(figure(lane.number, rows_at(number)).alias(f"rows{name}"))
            columns.append(figure(lane.number, bytes_at(number)).alias(f"bytes{name}"))
    return columns


def state_in(report: Report, lanes: Sequence[RunningLane]) -> StateReport:
    """Returns what a report says of the state."""
    # Spark leaves nulls out of a report.
    told = report.get("observedMetrics", {}).get(OBSERVED_FIGURES, {})
    levels = []
    for lane in lanes:
        for number, window in enumerate((None, *lane.tree.levels)):
            name = f"{lane.number}_{number}"
            levels.append(
                LevelStatus(
                    queries=lane.tree.queries,
                    level="slices" if window is None else str(window),
                    rows=told.get(f"rows{name}") or 0,
                    bytes=told.get(f"bytes{name}") or 0,
                )
            )
    combined = sum(told.get(f"combined{lane.number}") or 0 for lane in lanes)
    return StateReport(levels=tuple(levels), combined=combined)
