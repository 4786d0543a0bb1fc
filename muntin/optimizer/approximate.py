"""Leaves queries to Spark whose answers from slices would be its own only within an error bound."""

from dataclasses import replace

from muntin.model.query import PlainQuery, Query
from muntin.model.windows.data_windows import DataWindow, Session
from muntin.model.workload import Workload


def exact_only(workload: Workload) -> Workload:
    """Returns the workload without such queries, unless its answers may be approximate."""
    if workload.options.approximate:
        return workload
    return replace(workload, queries=tuple(map(_left_to_spark, workload.queries)))


def _has_statement(query: Query) -> bool:
    """Whether Spark could answer a query; it has no data windows but sessions."""
    return isinstance(query.window, Session) or not isinstance(query.window, DataWindow)


def _left_to_spark(query: Query | PlainQuery) -> Query | PlainQuery:
    if isinstance(query, PlainQuery) or not _has_statement(query):
        return query
    for aggregate in query.aggregates.values():
        if aggregate.definition.is_bounded:
            return PlainQuery(
                name=query.name,
                statement=query.to_sql(),
                reason=f"{aggregate} from slices is Spark's only within its error, and shared with "
                "approximate=True",
                window=query.window,
            )
    return query
