"""Full sharing: one tree per grouping, cut at every begin and end of every window."""

from muntin.model.plan import Plan
from muntin.model.workload import Workload
from muntin.optimizer.trees import flat_tree, plan_of


def shared(workload: Workload) -> Plan:
    """Plans one tree per grouping (Shared Time Slices): its queries read the same slices."""
    return plan_of("shared", workload, lambda queries: [flat_tree(queries, workload)])
