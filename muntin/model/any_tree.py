"""The common base of trees of periodic windows and trees of data windows."""

from collections.abc import Iterable
from functools import cached_property
from typing import Protocol, Self

from muntin.errors import ModelError
from muntin.model.aggregates.aggregate import Aggregate
from muntin.model.query import Grouping, Query
from muntin.model.windows.data_windows import DataWindow
from muntin.model.windows.window import Window


class AnyNode(Protocol):
    """A window of a tree."""

    @property
    def window(self) -> Window | DataWindow:
        """The periodic window or data window."""

    @property
    def aggregates(self) -> tuple[Aggregate, ...]:
        """The aggregates computed for each window."""

    @property
    def queries(self) -> tuple[str, ...]:
        """The names of the queries that it answers."""

    @property
    def cost(self) -> float:
        """Operations per second, for all keys."""


class AnyTree:
    """The base of both kinds of trees."""

    grouping: Grouping
    nodes: tuple[AnyNode, ...]
    # Operations per second spent on cutting events for all nodes; the nodes' own costs come on top.
    cut_cost: float

    @property
    def cost(self) -> float:
        """Operations per second of the whole tree."""
        return self.cut_cost + sum(node.cost for node in self.nodes)

    @cached_property
    def aggregates(self) -> tuple[Aggregate, ...]:
        """Every aggregate that some node needs, once each."""
        return tuple(dict.fromkeys(a for node in self.nodes for a in node.aggregates))

    @property
    def queries(self) -> tuple[str, ...]:
        """The names of the queries that the tree answers."""
        return tuple(name for node in self.nodes for name in node.queries)

    @property
    def is_alone(self) -> bool:
        """Whether there is nothing to share, so that Spark alone answers its query in a batch."""
        raise NotImplementedError

    def number_of(self, query: str) -> int:
        """Returns the index of the node that answers a query."""
        for number, node in enumerate(self.nodes):
            if query in node.queries:
                return number
        raise ModelError(f"no node of the tree answers {query!r}")

    def answering(self, queries: Iterable[Query]) -> Self:
        """Returns the part of the tree that `queries` need."""
        raise NotImplementedError
