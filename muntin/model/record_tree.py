"""Trees of data windows: their edges are decided as records arrive (Cutty)."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from muntin.errors import ModelError
from muntin.model.aggregates.aggregate import Aggregate
from muntin.model.any_tree import AnyTree
from muntin.model.query import Family, Query
from muntin.model.windows.data_windows import DataWindow
from muntin.model.windows.window import Window


@dataclass(frozen=True, kw_only=True)
class RecordNode:
    """One data window, or a periodic one that shares its slices: whom it answers."""

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

    family: Family
    nodes: tuple[RecordNode, ...]
    # Events this close together, in microseconds, are never apart in any of the windows: they are
    # made one record before they are looked at. None looks at every event.
    grain: int | None = None
    # Operations per second spent on bringing records into order.
    cut_cost: float = 0.0

    def __post_init__(self) -> None:
        windows = [node.window for node in self.nodes]
        for window in windows:
            if windows.count(window) > 1:
                raise ModelError(f"the window {window} stands twice in one tree")

    @property
    def is_alone(self) -> bool:
        """Whether one query asks for sessions, which Spark has too: there is nothing to share, and
        in a batch its own `session_window` answers."""
        return self.grain is not None and [len(node.queries) for node in self.nodes] == [1]

    @property
    def conditions(self) -> tuple[str, ...]:
        """Every condition that some window asks of each record."""
        return tuple(dict.fromkeys(c for kind in self.kinds for c in kind.conditions))

    @property
    def measures(self) -> tuple[str, ...]:
        """Every growing measure that some window is over."""
        return tuple(dict.fromkeys(m for kind in self.kinds for m in kind.measures))

    @property
    def kinds(self) -> tuple[DataWindow, ...]:
        """The windows that are not periodic."""
        return tuple(node.window for node in self.nodes if isinstance(node.window, DataWindow))

    def answering(self, queries: Iterable[Query]) -> "RecordTree":
        """The part of the tree that some of its queries need."""
        asked = {query.name: set(query.aggregates.values()) for query in queries}
        kept = []
        for node in self.nodes:
            names = tuple(name for name in node.queries if name in asked)
            if names:
                wanted = set().union(*(asked[name] for name in names))
                aggregates = tuple(one for one in node.aggregates if one in wanted)
                kept.append(replace(node, aggregates=aggregates, queries=names))
        return replace(self, nodes=tuple(kept))
