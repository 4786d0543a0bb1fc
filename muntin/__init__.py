"""muntin: many window aggregate queries over one stream, computed once, on Apache Spark."""

from importlib import import_module
from typing import TYPE_CHECKING

from muntin.errors import ModelError, MuntinError, ParseError, PlanError, RunError
from muntin.model.aggregate import Aggregate, avg, count, count_if, every, stddev, variance
from muntin.model.aggregate import any_ as any
from muntin.model.aggregate import max_ as max
from muntin.model.aggregate import min_ as min
from muntin.model.aggregate import sum_ as sum
from muntin.model.kinds import (
    Kind,
    count_window,
    custom,
    delta,
    landmark,
    punctuation,
    session,
    threshold,
)
from muntin.model.plan import Plan
from muntin.model.prices import Prices
from muntin.model.query import Column, PlainQuery, Query, Workload
from muntin.model.user_aggregate import aggregate
from muntin.model.window import Window, hopping, tumbling

if TYPE_CHECKING:
    from muntin.share.optimizer import STRATEGIES
    from muntin.spark.batch import Results, run
    from muntin.spark.pipeline import Pipeline, start
    from muntin.spark.planning import plan
    from muntin.spark.stream import stream
    from muntin.spark.tables import Tables
    from muntin.sql import parse_sql

# Loaded when first used: a Spark worker starts sooner without parser, optimizers and pipelines.
_LATER = {
    "STRATEGIES": "muntin.share.optimizer",
    "plan": "muntin.spark.planning",
    "Results": "muntin.spark.batch",
    "run": "muntin.spark.batch",
    "Pipeline": "muntin.spark.pipeline",
    "start": "muntin.spark.pipeline",
    "stream": "muntin.spark.stream",
    "Tables": "muntin.spark.tables",
    "parse_sql": "muntin.sql",
}


def __getattr__(name: str) -> object:
    if name not in _LATER:
        raise AttributeError(f"module 'muntin' has no attribute {name!r}")
    return getattr(import_module(_LATER[name]), name)


__version__ = "0.1.0"

__all__ = [
    "STRATEGIES",
    "Aggregate",
    "Column",
    "Kind",
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
    "Tables",
    "Window",
    "Workload",
    "aggregate",
    "any",
    "avg",
    "count",
    "count_if",
    "count_window",
    "custom",
    "delta",
    "every",
    "hopping",
    "landmark",
    "max",
    "min",
    "parse_sql",
    "plan",
    "punctuation",
    "run",
    "session",
    "start",
    "stddev",
    "stream",
    "sum",
    "threshold",
    "tumbling",
    "variance",
]
