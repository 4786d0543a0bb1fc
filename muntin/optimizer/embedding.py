"""Embeds and revokes windows of a subsumption plan one by one (Subsumption, section 3.3)."""

from collections.abc import Sequence

from muntin.model.plan import Plan
from muntin.model.query import Grouping, Query
from muntin.model.trees import PeriodicTree
from muntin.model.windows import Window
from muntin.model.workload import Workload
from muntin.optimizer.incremental_plan import IncrementalPlan, windows_of_trees
from muntin.optimizer.subsumption import Stairs, embed, revoke, stairs_tree, subsume_windows


class EmbeddingPlan(IncrementalPlan):
    """A subsumption plan that queries can be added to and removed from.

    A new window is embedded into one group or seeds another. A window that is revoked leaves its
    group; of the others only those move that were built from it and cannot be without it.
    """

    strategy = "subsume"

    def __init__(self, running: Plan) -> None:
        """Continues the groups of a plan that runs, each of which is a tree."""
        super().__init__(running)
        self._groups: dict[Grouping, list[Stairs]] = {
            grouping: [stairs for windows in trees for stairs in subsume_windows(windows)]
            for grouping, trees in windows_of_trees(running).items()
        }

    def add_window(self, grouping: Grouping, window: Window) -> None:
        """Embeds a window."""
        self._groups[grouping] = embed(self._groups.get(grouping, []), window)

    def remove_window(self, grouping: Grouping, window: Window) -> None:
        """Revokes a window."""
        self._groups[grouping] = revoke(self._groups[grouping], window)

    def trees(self, queries: Sequence[Query], workload: Workload) -> list[PeriodicTree]:
        """Returns a tree for each group."""
        groups = self._groups[queries[0].grouping]
        return [stairs_tree(stairs, queries, workload) for stairs in groups]
