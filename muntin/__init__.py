"""muntin: many window aggregate queries over one stream, computed once, on Apache Spark."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from muntin.aggregates.aggregate import (
    Aggregate,
    avg,
    count,
    count_if,
    every,
    function_call,
    stddev,
    variance,
)
from muntin.aggregates.aggregate import any_ as any
from muntin.aggregates.aggregate import max_ as max
from muntin.aggregates.aggregate import min_ as min
from muntin.aggregates.aggregate import sum_ as sum
from muntin.aggregates.table import FUNCTIONS
from muntin.aggregates.user_aggregate import aggregate
from muntin.errors import ModelError, MuntinError, ParseError, PlanError, RunError
from muntin.model.data_windows import (
    DataWindow,
    count_window,
    custom,
    delta,
    landmark,
    punctuation,
    session,
    threshold,
)
from muntin.model.grouping_sets import (
    GroupingSets,
    Mark,
    cube,
    grouping,
    grouping_id,
    grouping_sets,
    rollup,
)
from muntin.model.plan import Plan
from muntin.model.prices import Prices
from muntin.model.query import Column, PlainQuery, Query, windows
from muntin.model.windows import Window, cumulate, hopping, tumbling
from muntin.model.workload import Workload

if TYPE_CHECKING:
    from muntin.api.batch import compare, plan, run, share
    from muntin.api.stream import start, stream
    from muntin.measure.compare import Comparison
    from muntin.optimizer.strategies import STRATEGIES
    from muntin.spark.batch.results import Results
    from muntin.spark.pipeline.pipeline import Pipeline
    from muntin.spark.pipeline.status import Status
    from muntin.spark.pipeline.stream_options import StreamOptions
    from muntin.spark.sinks.console_sink import Console
    from muntin.spark.sinks.folder_sink import Files
    from muntin.spark.sinks.sink import Sink
    from muntin.spark.sinks.tables import Tables
    from muntin.sql import parse_sql

# Loaded when first used: a Spark worker starts sooner without parser, optimizers and pipelines.
_LATER = {
    "STRATEGIES": "muntin.optimizer.strategies",
    "Comparison": "muntin.measure.compare",
    "compare": "muntin.api.batch",
    "plan": "muntin.api.batch",
    "Results": "muntin.spark.batch.results",
    "run": "muntin.api.batch",
    "share": "muntin.api.batch",
    "Pipeline": "muntin.spark.pipeline.pipeline",
    "start": "muntin.api.stream",
    "stream": "muntin.api.stream",
    "Status": "muntin.spark.pipeline.status",
    "Console": "muntin.spark.sinks.console_sink",
    "Files": "muntin.spark.sinks.folder_sink",
    "Sink": "muntin.spark.sinks.sink",
    "StreamOptions": "muntin.spark.pipeline.stream_options",
    "Tables": "muntin.spark.sinks.tables",
    "parse_sql": "muntin.sql",
}


# Names of earlier versions.
_RENAMED = {"Kind": DataWindow}


def __getattr__(name: str) -> Any:
    if name in _RENAMED:
        return _RENAMED[name]
    if name in FUNCTIONS:
        return function_call(name)
    if name not in _LATER:
        raise AttributeError(f"module 'muntin' has no attribute {name!r}")
    return getattr(import_module(_LATER[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *FUNCTIONS})


__version__ = "0.1.0"

__all__ = [
    "STRATEGIES",
    "Aggregate",
    "Column",
    "Comparison",
    "Console",
    "DataWindow",
    "Files",
    "GroupingSets",
    "Mark",
    "ModelError",
    "MuntinError",
    "ParseError",
    "Pipeline",
    "PlainQuery",
    "Plan",
    "PlanError",
    "Prices",
    "Query",
    "Results",
    "RunError",
    "Sink",
    "Status",
    "StreamOptions",
    "Tables",
    "Window",
    "Workload",
    "aggregate",
    "any",
    "avg",
    "compare",
    "count",
    "count_if",
    "count_window",
    "cube",
    "cumulate",
    "custom",
    "delta",
    "every",
    "grouping",
    "grouping_id",
    "grouping_sets",
    "hopping",
    "landmark",
    "max",
    "min",
    "parse_sql",
    "plan",
    "punctuation",
    "rollup",
    "run",
    "session",
    "share",
    "start",
    "stddev",
    "stream",
    "sum",
    "threshold",
    "tumbling",
    "variance",
    "windows",
]
