"""Rewrites the queries of a workload so that those that mean the same share."""

from dataclasses import replace

from muntin.model.workload import Workload
from muntin.optimizer.strategies import UNSHARED
from muntin.sql.filters import unify_filters


def normalise(work: Workload, strategy: str) -> Workload:
    """Returns the workload, with filters of one meaning spelled alike, and joins that differ only
    in their time bounds made one relation.

    A query that shares nothing is better off as it is.
    """
    if strategy == UNSHARED or len(work.shared) < 2:
        return work
    queries = unify_filters(work.queries)
    texts = [query.source.fill().lower() for query in work.shared]
    if sum("join" in text or "," in text for text in texts) > 1:
        # Fetched here, since few workloads need it.
        from muntin.sql.widen_joins import widen_joins

        queries = tuple(widen_joins(queries))
    return replace(work, queries=queries)
