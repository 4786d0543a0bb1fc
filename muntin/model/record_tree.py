"""Trees of data windows, whose edges are decided as records arrive (Cutty)."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from muntin.errors import ModelError
from muntin.model.aggregates.aggregate import Aggregate
from muntin.model.any_tree import AnyTree
from muntin.model.query import Grouping, Query
from muntin.model.windows.data_windows import DataWindow
from muntin.model.windows.window import Window


@dataclass(frozen=True, kw_only=True)
class RecordNode:
    """A data window, or a periodic one that shares its slices, and the queries that it answers."""

    window: DataWindow | Window
    aggregates: tuple[Aggregate, ...]
    queries: tuple[str, ...]
    # Operations per second, for all keys.
    cost: float = 0.0

    def __post_init__(self) -> None:
        if not self.queries:
            raise ModelError(f"{self.window}: nobody asked for it")


@dataclass(frozen=True, kw_only=True)
class RecordTree(AnyTree):
    """Windows that share slices; a slice starts only where one of them begins."""

    grouping: Grouping
    nodes: tuple[RecordNode, ...]
    # Events of a key within this many microseconds are in the same windows, so they are merged into
    # one record first. None: every event is a record.
    grain: int | None = None
    # Operations per second spent on sorting records.
    cut_cost: float = 0.0

    def __post_init__(self) -> None:
        windows = [node.window for node in self.nodes]
        for window in windows:
            if windows.count(window) > 1:
                raise ModelError(f"the window {window} stands twice in one tree")

    @property
    def is_alone(self) -> bool:
        """Whether the tree has one query, of sessions: in a batch, Spark's own `session_window`
        answers it, since there is nothing to share."""
        return self.grain is not None and [len(node.queries) for node in self.nodes] == [1]

    @property
    def conditions(self) -> tuple[str, ...]:
        """The conditions that the windows evaluate on each record, once each."""
        return tuple(dict.fromkeys(c for kind in self.kinds for c in kind.conditions))

    @property
    def measures(self) -> tuple[str, ...]:
        """The growing measures that the windows read, once each."""
        return tuple(dict.fromkeys(m for kind in self.kinds for m in kind.measures))

    @property
    def kinds(self) -> tuple[DataWindow, ...]:
        """The data windows, without the periodic ones."""
        return tuple(node.window for node in self.nodes if isinstance(node.window, DataWindow))

    def answering(self, queries: Iterable[Query]) -> "RecordTree":
        """Returns the part of the tree that `queries` need."""
        asked = {query.name: set(query.aggregates.values()) for query in queries}
        kept = []
        for node in self.nodes:
            names = tuple(name for name in node.queries if name in asked)
            if names:
                wanted = set().union(*(asked[name] for name in names))
                aggregates = tuple(
                    aggregate for aggregate in node.aggregates if aggregate in wanted
                )
                kept.append(replace(node, aggregates=aggregates, queries=names))
        return replace(self, nodes=tuple(kept))
