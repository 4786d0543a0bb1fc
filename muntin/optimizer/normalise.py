"""Rewrites the queries of a workload: what means the same is written the same, and what slices
answer only approximately is left to Spark."""

from dataclasses import replace

from muntin.model.data_windows import DataWindow, Session
from muntin.model.query import PlainQuery, Query
from muntin.model.workload import Workload
from muntin.optimizer.strategies import UNSHARED
from muntin.sql.filters import unify_filters


def normalise(work: Workload, strategy: str) -> Workload:
    """Returns the workload with equivalent filters written the same way, and with joins that differ
    only in their time bounds as one relation.

    Queries that share nothing stay as they are.
    """
    if strategy == UNSHARED or len(work.periodic_queries) < 2:
        return work
    queries = unify_filters(work.queries)
    texts = [query.source.fill().lower() for query in work.periodic_queries]
    if sum("join" in text or "," in text for text in texts) > 1:
        # Imported here, since few workloads need it.
        from muntin.sql.widen_joins import widen_joins

        queries = tuple(widen_joins(queries))
    return replace(work, queries=queries)


def leave_approximate_to_spark(work: Workload) -> Workload:
    """Returns the workload in which Spark answers every query whose answers from slices would
    equal Spark's only within an error bound, unless the user allows that."""
    if work.options.approximate:
        return work
    return replace(work, queries=tuple(map(_plain_if_approximate, work.queries)))


def _plain_if_approximate(query: Query | PlainQuery) -> Query | PlainQuery:
    # Spark has no data windows but sessions.
    if isinstance(query, PlainQuery) or (
        isinstance(query.window, DataWindow) and not isinstance(query.window, Session)
    ):
        return query
    for aggregate in query.aggregates.values():
        if aggregate.definition.is_approximate:
            return PlainQuery(
                name=query.name,
                statement=query.to_sql(),
                reason=f"{aggregate} from slices is Spark's only within its error, and shared with "
                "approximate=True",
                window=query.window,
            )
    return query
