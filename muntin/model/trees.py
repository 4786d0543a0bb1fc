"""Trees: one slicing of one grouping, and the windows that are computed from it.

A `PeriodicTree` cuts time at the edges of its windows. A `DataTree` finds its edges in the records,
as they arrive (Cutty). Both have the interface of `Tree`.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from math import isqrt
from typing import Self

from muntin.aggregates.aggregate import Aggregate
from muntin.aggregates.user_aggregate import UserAggregate
from muntin.errors import ModelError
from muntin.model.data_windows import Custom, DataWindow
from muntin.model.passes import Engine, Pass
from muntin.model.query import Grouping, Query
from muntin.model.windows import Edges, Slicing, Window

# The technique that combines all partials of every window; the default of a node.
RECALC = "recalc"
# The technique that combines each partial a few times, however long windows are, in their order.
QUEUE = "two_stacks_lite"
# The same in steps, so that no single answer waits for many combines.
QUEUE_IN_STEPS = "daba"
_IN_STEPS = frozenset({QUEUE_IN_STEPS, "daba_lite"})
# The techniques whose stacks a stream keeps from batch to batch.
STACKS = frozenset({"two_stacks", QUEUE}) | _IN_STEPS
# The grains in the gap of a session in a stream. A session is answered when the grain after it
# ends.
_GRAINS_IN_A_GAP = 8


@lru_cache(maxsize=1 << 12)
def _component_count(aggregate: Aggregate) -> int:
    """Returns how many components an aggregate has; cached, since large plans ask often."""
    return len(aggregate.components)


@dataclass(frozen=True, kw_only=True)
class TreeNode:
    """A window of a tree, its aggregates, and the queries that it answers."""

    window: Window | DataWindow
    aggregates: tuple[Aggregate, ...]
    # Names of the queries that it answers; none for a factor window.
    queries: tuple[str, ...] = ()
    # Combine operations per second, for all keys.
    cost: float = 0.0

    @property
    def parent(self) -> Window | None:
        """The window of the node that it reads; None: it reads the slices."""
        return None

    @property
    def techniques(self) -> tuple[tuple[str, ...], ...]:
        """For each aggregate, the name of the technique of each of its components; empty if the
        plan does not choose techniques."""
        return ((),) * len(self.aggregates)

    @property
    def is_factor(self) -> bool:
        """Whether it is a factor window, which answers no query."""
        return not self.queries

    def without_costs(self) -> Self:
        """Returns the node without what may differ between equal plans: costs and techniques."""
        return replace(self, cost=0.0)

    def restrict_to(self, queries: tuple[str, ...], aggregates: set[Aggregate]) -> Self:
        """Returns the node for some of its queries and aggregates."""
        return replace(
            self, queries=queries, aggregates=tuple(a for a in self.aggregates if a in aggregates)
        )


@dataclass(frozen=True, kw_only=True)
class Node(TreeNode):
    """A periodic window: what it reads, how it is computed, and which queries it answers."""

    window: Window
    parent: Window | None = None
    techniques: tuple[tuple[str, ...], ...] = ()

    def __post_init__(self) -> None:
        counts = [_component_count(aggregate) for aggregate in self.aggregates]
        if not self.techniques:
            named = tuple((RECALC,) * count for count in counts)
            object.__setattr__(self, "techniques", named)
        if [len(names) for names in self.techniques] != counts:
            raise ModelError(
                f"{self.window}: one technique for each component of each aggregate, not "
                f"{self.techniques!r}"
            )

    @property
    def reads_fewest(self) -> bool:
        """Whether it reads only the fewest overlapping intervals of its parent that fill it."""
        return (
            self.parent is not None
            and self.parent.is_worth_picking_for(self.window)
            and all(aggregate.definition.idempotent for aggregate in self.aggregates)
        )

    @property
    def has_stacks(self) -> bool:
        """Whether a stream keeps two stacks for the window; else each answer reads slices."""
        named = {name for names in self.techniques for name in names}
        return bool(named) and named <= STACKS and not self.window.grows

    def without_costs(self) -> Self:
        """Returns the node without costs and techniques."""
        return replace(self, cost=0.0, techniques=())

    def restrict_to(self, queries: tuple[str, ...], aggregates: set[Aggregate]) -> Self:
        """Returns the node for some of its queries and aggregates."""
        named = zip(self.aggregates, self.techniques, strict=True)
        chosen = [(aggregate, names) for aggregate, names in named if aggregate in aggregates]
        return replace(
            self,
            queries=queries,
            aggregates=tuple(aggregate for aggregate, _ in chosen),
            techniques=tuple(names for _, names in chosen),
        )


@dataclass(frozen=True, kw_only=True)
class DataNode(TreeNode):
    """A data window, or a periodic one that shares its slices, and the queries that it answers."""

    def __post_init__(self) -> None:
        if not self.queries:
            raise ModelError(f"{self.window}: a data window answers at least one query")


@dataclass(frozen=True, kw_only=True)
class Tree:
    """One slicing of one grouping, and the nodes computed from it."""

    grouping: Grouping
    nodes: tuple[TreeNode, ...]
    # Operations per second spent on cutting the events; the nodes' own costs come on top.
    cut_cost: float = 0.0

    def __post_init__(self) -> None:
        seen: set[Window | DataWindow] = set()
        for node in self.nodes:
            if node.window in seen:
                raise ModelError(f"the window {node.window} stands twice in one tree")
            seen.add(node.window)

    @property
    def slicing_pass(self) -> Pass | None:
        """The pass in which its slices are made; None: it reads its relation itself."""
        return None

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
    def engine(self) -> Engine:
        """Who answers its queries in a batch: Spark alone, if there is nothing to share."""
        raise NotImplementedError

    def engine_of(self, query: str) -> Engine:
        """Returns who combines the windows of a query in a batch."""
        return self.engine

    @property
    def record_step(self) -> int | None:
        """In a stream, records are handed to data windows in steps of this many microseconds, and
        a record that comes later is dropped. None: all windows are periodic, and a late event
        counts for every window that is still open."""
        return None

    @property
    def periodic_windows(self) -> tuple[Window, ...]:
        """The periodic windows among its nodes."""
        return tuple(node.window for node in self.nodes if isinstance(node.window, Window))

    @property
    def level_names(self) -> tuple[str, ...]:
        """The names of what a stream keeps: the slices, then coarser partials."""
        return ()

    def node_index(self, query: str) -> int:
        """Returns the index of the node that answers a query."""
        for number, node in enumerate(self.nodes):
            if query in node.queries:
                return number
        raise ModelError(f"no node of the tree answers {query!r}")

    def restrict_to(self, queries: Iterable[Query]) -> Self:
        """Returns the part of the tree that `queries` need: its nodes and their aggregates."""
        asked = {query.name: query.aggregates.values() for query in queries}
        needed: dict[Window | DataWindow, set[Aggregate]] = {}
        nodes: list[TreeNode] = []
        # Readers come after the nodes that they read.
        for node in reversed(self.nodes):
            names = tuple(name for name in node.queries if name in asked)
            wanted = needed.get(node.window, set()).union(*(asked[name] for name in names))
            if wanted:
                if node.parent is not None:
                    needed.setdefault(node.parent, set()).update(wanted)
                nodes.append(node.restrict_to(names, wanted))
        return replace(self, nodes=tuple(reversed(nodes)))

    def without_costs(self) -> Self:
        """Returns the tree without what may differ between plans that share a stream's state: costs
        and techniques."""
        return replace(self, nodes=tuple(node.without_costs() for node in self.nodes), cut_cost=0.0)


@dataclass(frozen=True, kw_only=True)
class PeriodicTree(Tree):
    """One slicing and the nodes computed from it; each node comes after the one that it reads."""

    nodes: tuple[Node, ...]
    slicing: Slicing
    slicing_pass: Pass | None = None
    # Queries whose windows Spark itself combines from the slices of a batch, since the compiled
    # runtime does not support their types. Set when the plan is bound to its data.
    combined_by_spark: tuple[str, ...] = ()
    # With fewer keys than cores, a batch is also split by time, into parts of so many microseconds.
    time_part: int | None = None
    # The tumbling windows whose partials a stream keeps in addition to the slices, finest first.
    # Each reads the one before it, the first reads the slices.
    levels: tuple[Window, ...] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.slicing_pass is not None and not self.slicing_pass.serves(
            self.grouping.keys, self.slicing
        ):
            raise ModelError(f"the pass does not make the slices of {self.grouping}")
        seen: dict[Window, Node] = {}
        for node in self.nodes:
            self._check_parent(node, seen)
            seen[node.window] = node
        for window, below in zip(self.levels, (None, *self.levels), strict=False):
            if not window.is_tumbling or window not in seen or seen[window].parent != below:
                raise ModelError(f"{window} cannot be a level of the state above {below}")

    def _check_parent(self, node: Node, seen: dict[Window, Node]) -> None:
        """Refuse a node that cannot be computed from what it reads."""
        if node.parent is None:
            if not self.slicing.cuts(node.window):
                raise ModelError(f"the slices do not cut at every edge of {node.window}")
            return
        parent = seen.get(node.parent)
        if parent is None:
            raise ModelError(f"{node.window} reads {node.parent}, which does not stand before it")
        if not parent.window.covers(node.window):
            raise ModelError(f"{node.window} cannot be built from {node.parent}")
        for aggregate in node.aggregates:
            if aggregate not in parent.aggregates:
                raise ModelError(f"{node.parent} lacks {aggregate}, which {node.window} reads")
            if not (parent.window.partitions(node.window) or aggregate.definition.idempotent):
                raise ModelError(
                    f"{node.window} cannot read {aggregate} from {node.parent}: its "
                    f"intervals overlap, and would count twice"
                )

    @property
    def engine(self) -> Engine:
        """Spark, if the tree has one query, whose windows are the slices: in a batch, Spark's own
        GROUP BY answers it, since there is nothing to share."""
        is_alone = (
            self.slicing_pass is None
            and len(self.nodes) == len(self.queries) == 1
            and self.nodes[0].window.is_tumbling
            and self.nodes[0].window.size == self.slicing.width
        )
        return Engine.SPARK if is_alone else Engine.COMPILED

    def engine_of(self, query: str) -> Engine:
        """Returns who combines the windows of a query in a batch."""
        return Engine.SPARK if query in self.combined_by_spark else self.engine

    @property
    def fits_group_by(self) -> bool:
        """Whether Spark's GROUP BY can make and combine all its partials."""
        return all(aggregate.definition.is_native for aggregate in self.aggregates)

    @property
    def longest_window(self) -> int:
        """The size of the longest window that a query asks for."""
        return max(node.window.size for node in self.nodes if node.queries)

    @property
    def retention(self) -> tuple[int, ...]:
        """How long a stream keeps the slices, then the partials of each level.

        A length is how far behind the watermark the oldest of them may start. An open window
        starts at an edge of the coarsest level that has edges at all its starts. It reads that
        level and coarser ones, and finer ones only after the last whole interval of the next level.
        """
        longest = [0] * (len(self.levels) + 1)
        for node in self.nodes:
            coarsest = self._coarsest_level_at_starts_of(node.window)
            for level in range(coarsest, len(longest)):
                if level == 0 or node.window.size > self.levels[level - 1].size:
                    longest[level] = max(longest[level], node.window.size)
        for level, window in enumerate(self.levels):
            longest[level] = max(longest[level], window.size)
        return tuple(longest)

    def _coarsest_level_at_starts_of(self, window: Window) -> int:
        """Returns the number of the coarsest level that has an edge at every start of a window; 0:
        the slices."""
        coarsest = 0
        for level, each in enumerate(self.levels, start=1):
            if (
                window.start_period % each.size == 0
                and (window.offset - each.offset) % each.size == 0
            ):
                coarsest = level
        return coarsest

    def level_of(self, node: Node) -> int:
        """Returns the number of the finest level that a node reads; 0: the slices.

        The answers of a level's own window are read from that level.
        """
        if node.window in self.levels:
            return self.levels.index(node.window) + 1
        return 0 if node.parent not in self.levels else self.levels.index(node.parent) + 1

    @cached_property
    def readers(self) -> dict[int, tuple[Node, ...]]:
        """The nodes that answer queries, by the number of the finest level that they read."""
        readers: dict[int, tuple[Node, ...]] = {}
        for node in self.nodes:
            if node.queries:
                level = self.level_of(node)
                readers[level] = (*readers.get(level, ()), node)
        return readers

    def suffix_cell(self, node: Node) -> int | None:
        """Returns the width of the cells by which the suffixes of a node's stacks are made in two
        steps; None if they are made at once.

        There are about as many cells in a block as intervals begin in a cell; if levels have such
        cells, theirs are taken, since these are there to be read.
        """
        window = node.window
        if _IN_STEPS.isdisjoint(name for names in node.techniques for name in names):
            return None
        block = -(-window.size // window.slide) * window.slide
        fitting = [
            level.size
            for level in self.levels
            if level.size % window.slide == block % level.size == 0
            and (window.offset - level.offset) % level.size == 0
        ]
        if not fitting:
            return window.slide * isqrt(block // window.slide)
        return min(fitting, key=lambda cell: cell // window.slide + block // cell)

    @property
    def level_names(self) -> tuple[str, ...]:
        """The names of what a stream keeps: the slices, then each level."""
        return ("slices", *map(str, self.levels))

    @property
    def is_flat(self) -> bool:
        """Whether every node answers a query and reads the slices."""
        return all(node.parent is None and node.queries for node in self.nodes)

    def node(self, window: Window) -> Node:
        """Returns the node of a window."""
        return next(node for node in self.nodes if node.window == window)

    def children(self, window: Window | None) -> tuple[Node, ...]:
        """Returns the nodes that read a window's node; None: those that read the slices."""
        return tuple(node for node in self.nodes if node.parent == window)

    def restrict_to(self, queries: Iterable[Query]) -> Self:
        """Returns the part of the tree that `queries` need, without the levels of a stream."""
        queries = list(queries)
        names = {query.name for query in queries}
        by_spark = tuple(name for name in self.combined_by_spark if name in names)
        without_levels = replace(self, levels=(), combined_by_spark=by_spark)
        return Tree.restrict_to(without_levels, queries)

    def without_costs(self) -> Self:
        """Returns the tree without costs, techniques and its pass, which a stream does not keep."""
        return replace(super().without_costs(), slicing_pass=None)


@dataclass(frozen=True, kw_only=True)
class DataTree(Tree):
    """Windows that share slices; a slice starts only where one of them begins."""

    nodes: tuple[DataNode, ...]
    # Events of a key within this many microseconds are in the same windows, so they are merged into
    # one record first. None: every event is a record.
    grain: int | None = None

    @property
    def engine(self) -> Engine:
        """Spark, if the tree has one query, of sessions: in a batch, Spark's own `session_window`
        answers it, since there is nothing to share. Otherwise compiled code, which calls the
        user's own where there is some."""
        if self.grain is not None and [len(node.queries) for node in self.nodes] == [1]:
            return Engine.SPARK
        return Engine.USER if self.user_code else Engine.COMPILED

    @property
    def user_code(self) -> tuple[str, ...]:
        """The names of the user's own windows and aggregates."""
        windows = (each for each in self.data_windows if isinstance(each, Custom))
        aggregates = (each for each in self.aggregates if isinstance(each, UserAggregate))
        return tuple(dict.fromkeys(map(str, (*windows, *aggregates))))

    @property
    def data_windows(self) -> tuple[DataWindow, ...]:
        """The data windows, without the periodic ones."""
        return tuple(node.window for node in self.nodes if isinstance(node.window, DataWindow))

    @property
    def conditions(self) -> tuple[str, ...]:
        """The conditions that the windows evaluate on each record, once each."""
        return tuple(dict.fromkeys(c for window in self.data_windows for c in window.conditions))

    @property
    def measures(self) -> tuple[str, ...]:
        """The growing measures that the windows read, once each."""
        return tuple(dict.fromkeys(m for window in self.data_windows for m in window.measures))

    @property
    def grains(self) -> Slicing | None:
        """The slices into which a stream merges events before it finds sessions; None: it does not
        merge any."""
        if self.grain is None:
            return None
        width = max(1, self.grain // _GRAINS_IN_A_GAP)
        return Slicing(edges=(Edges(period=width),), rate=0.0)

    @property
    def record_step(self) -> int | None:
        """The width of a grain, or a microsecond; None if all windows are periodic."""
        if not self.data_windows:
            return None
        return 1 if self.grains is None else self.grains.edges[0].period
