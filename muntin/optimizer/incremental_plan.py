"""Plans that follow their queries: what an added or removed query does not touch stays as it is."""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from muntin.errors import PlanError
from muntin.model.plan import Plan
from muntin.model.query import Grouping, Query
from muntin.model.trees import PeriodicTree
from muntin.model.windows import Window
from muntin.model.workload import Workload
from muntin.optimizer.trees import plan_of


def windows_of_trees(plan: Plan) -> dict[Grouping, list[list[Window]]]:
    """Returns the windows that queries ask for in each tree of a plan, by grouping.

    A window that is in several trees is in the first of them only.
    """
    found: dict[Grouping, list[list[Window]]] = {}
    seen: set[tuple[Grouping, Window]] = set()
    for tree in plan.periodic_trees:
        windows = [
            node.window
            for node in tree.nodes
            if node.queries and (tree.grouping, node.window) not in seen
        ]
        seen |= {(tree.grouping, window) for window in windows}
        if windows:
            found.setdefault(tree.grouping, []).append(windows)
    return found


class IncrementalPlan(ABC):
    """The plan of one strategy, which queries can be added to and removed from."""

    # The name of the strategy.
    strategy: str

    def __init__(self, running: Plan) -> None:
        """Continues a plan that runs."""
        # The rate, the keys and all else that a plan depends on, beside its queries.
        self.facts = running.workload
        self._queries = {query.name: query for query in running.workload.periodic_queries}
        # How many queries ask for each window.
        self._asked = Counter(map(_place, self._queries.values()))

    @abstractmethod
    def add_window(self, grouping: Grouping, window: Window) -> None:
        """Adds a window that no query has asked for yet."""

    @abstractmethod
    def remove_window(self, grouping: Grouping, window: Window) -> None:
        """Removes a window that no query asks for any more."""

    @abstractmethod
    def trees(self, queries: Sequence[Query], workload: Workload) -> list[PeriodicTree]:
        """Returns the trees of all queries of one grouping."""

    def queries_of(self, grouping: Grouping) -> tuple[Query, ...]:
        """Returns the queries of one grouping."""
        return tuple(query for query in self._queries.values() if query.grouping == grouping)

    def add(self, query: Query) -> None:
        """Adds a query."""
        if query.name in self._queries:
            raise PlanError(f"a query called {query.name!r} is there already")
        self._queries[query.name] = query
        place = _place(query)
        self._asked[place] += 1
        if self._asked[place] == 1:
            self.add_window(*place)

    def remove(self, name: str) -> None:
        """Removes a query."""
        if name not in self._queries:
            raise PlanError(f"no query is called {name!r}")
        place = _place(self._queries.pop(name))
        self._asked[place] -= 1
        if not self._asked[place]:
            self.remove_window(*place)

    def plan(self) -> Plan:
        """Returns the plan of the queries that are there; called after all parts of a change."""
        workload = replace(self.facts, queries=tuple(self._queries.values()))
        return plan_of(self.strategy, workload, lambda queries: self.trees(queries, workload))


def _place(query: Query) -> tuple[Grouping, Window]:
    return query.grouping, query.periodic_window
