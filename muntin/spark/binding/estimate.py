"""Estimates what the planner has to know of the events of a batch, as far as the plan depends on
it."""

from collections import Counter
from dataclasses import replace

from pyspark.errors import PySparkException

from muntin.model.workload import Workload
from muntin.optimizer.lower_bounds import depends_on_data
from muntin.optimizer.optimize import may_share
from muntin.optimizer.strategies import DEFAULT, UNSHARED
from muntin.spark.binding.relations import Relations
from muntin.spark.binding.sample import MANY_ROWS, with_facts, with_reading
from muntin.sql_text import SqlText


def estimate(
    work: Workload, relations: Relations, strategy: str, *, has_figures: bool = False
) -> Workload:
    """Returns the workload with the relations that Spark computes rather than reads, how many
    events there are, and, if the choice of `auto` depends on it, the rate and keys of a sample.

    Other strategies need no figures of the events, and a workload that the user made has them.
    """
    if strategy != UNSHARED and len(work.groupings) > 1:
        work = replace(work, computed=_computed(work, relations))
    several = max(len(work.shared), len(work.data_windows)) > 1
    if strategy == DEFAULT and not has_figures and several:
        work = with_reading(work, relations)
        if may_share(work):
            # Who makes the slices depends on the data, too, but matters only where there is much.
            least = 0 if depends_on_data(work) else MANY_ROWS
            work = with_facts(work, relations, least_rows=least)
    return work


def _computed(work: Workload, relations: Relations) -> frozenset[SqlText]:
    """Returns the relations of several groupings that cost more than reading."""
    groupings = Counter(grouping.relation for grouping in work.groupings)
    several = [relation for relation, times in groupings.items() if times > 1]
    try:
        return frozenset(relation for relation in several if relations.is_computed(relation))
    except PySparkException:
        # What is wrong with a query is said when it is bound to its data.
        return frozenset()
