"""The plan: what is computed from what, with costs. Optimizers return one, engines run it."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache

from muntin.errors import ModelError, nearest
from muntin.model.aggregates.aggregate import Aggregate
from muntin.model.any_tree import AnyTree
from muntin.model.prices import SHIPPED, Prices
from muntin.model.query import Family, PlainQuery, Query, Workload
from muntin.model.record_tree import RecordTree
from muntin.model.windows.window import Window

# The technique that combines anew for every window: that of a node for which none was named.
RECALC = "recalc"
# In place of a technique, where Spark itself combines the slices of a batch.
NATIVE = "spark"


@dataclass(frozen=True, kw_only=True, order=True)
class Edges:
    """The instants `t ≡ phase (mod period)`: one arithmetic progression of edges."""

    period: int
    phase: int = 0

    def __post_init__(self) -> None:
        if self.period <= 0:
            raise ModelError(f"edges need a period above zero, not {self.period}")
        object.__setattr__(self, "phase", self.phase % self.period)

    def includes(self, other: "Edges") -> bool:
        """Whether every edge of `other` is one of these."""
        return other.period % self.period == 0 and (other.phase - self.phase) % self.period == 0


@dataclass(frozen=True, kw_only=True)
class Slicing:
    """Where the stream is cut: a union of progressions; one alone means slices of equal width."""

    edges: tuple[Edges, ...]
    # Slices per second of event time.
    rate: float

    def __post_init__(self) -> None:
        if not self.edges:
            raise ModelError("a slicing needs at least one edge")

    @property
    def width(self) -> int | None:
        """The width of every slice where they are equal."""
        return self.edges[0].period if len(self.edges) == 1 else None

    def cuts(self, window: Window) -> bool:
        """Whether every begin and end of `window` is an edge."""
        begins = Edges(period=window.slide, phase=window.offset)
        ends = Edges(period=window.slide, phase=window.offset + window.size)
        return all(any(edges.includes(needed) for edges in self.edges) for needed in (begins, ends))

    def edge_from(self, instant: int) -> int:
        """The first edge from an instant on."""
        return min(instant + (one.phase - instant) % one.period for one in self.edges)


@lru_cache(maxsize=1 << 12)
def _parts(aggregate: Aggregate) -> int:
    """How many components an aggregate has; plans of many queries ask often."""
    return len(aggregate.components)


@dataclass(frozen=True, kw_only=True)
class Node:
    """One window of a tree: what it reads, how it is computed, whom it answers."""

    window: Window
    aggregates: tuple[Aggregate, ...]
    # The window of the node it reads; none reads the slices.
    parent: Window | None = None
    # For each aggregate, the name of the technique of each of its components.
    techniques: tuple[tuple[str, ...], ...] = ()
    # Names of the queries it answers; none for a factor window.
    queries: tuple[str, ...] = ()
    # Combine operations per second, for all keys.
    cost: float = 0.0

    def __post_init__(self) -> None:
        parts = [_parts(aggregate) for aggregate in self.aggregates]
        if not self.techniques:
            named = tuple((RECALC,) * count for count in parts)
            object.__setattr__(self, "techniques", named)
        if [len(names) for names in self.techniques] != parts:
            raise ModelError(
                f"{self.window}: one technique for each component of each aggregate, not "
                f"{self.techniques!r}"
            )

    @property
    def is_factor(self) -> bool:
        """Whether no query asked for it."""
        return not self.queries

    @property
    def picks(self) -> bool:
        """Whether it reads a few of its parent's intervals, which overlap, rather than all."""
        return (
            self.parent is not None
            and self.parent.is_worth_picking_for(self.window)
            and all(one.definition.idempotent for one in self.aggregates)
        )


@dataclass(frozen=True, kw_only=True)
class Tree(AnyTree):
    """One slicing and everything computed from it; nodes stand after the node that they read."""

    family: Family
    slicing: Slicing
    nodes: tuple[Node, ...]
    # Operations per second spent on cutting the events; the nodes' own costs come on top.
    cut_cost: float = 0.0
    # Whether events are brought to their keys' places before they are cut, not slices after: slices
    # that hold few events are hardly fewer to bring, and are aggregated twice.
    moves_events: bool = False
    # Queries of a batch whose windows Spark itself combines from the slices, since the compiled
    # runtime does not take their types; known when the plan has met its data.
    native: tuple[str, ...] = ()
    # Where keys are too few for all cores, a batch is split into parts of so many microseconds.
    time_part: int | None = None

    def __post_init__(self) -> None:
        seen: dict[Window, Node] = {}
        for node in self.nodes:
            if node.window in seen:
                raise ModelError(f"the window {node.window} stands twice in one tree")
            if node.parent is None:
                if not self.slicing.cuts(node.window):
                    raise ModelError(f"the slices do not cut at every edge of {node.window}")
            else:
                parent = seen.get(node.parent)
                if parent is None:
                    raise ModelError(
                        f"{node.window} reads {node.parent}, which does not stand before it"
                    )
                if not parent.window.covers(node.window):
                    raise ModelError(f"{node.window} cannot be built from {node.parent}")
                for aggregate in node.aggregates:
                    if aggregate not in parent.aggregates:
                        raise ModelError(
                            f"{node.parent} lacks {aggregate}, which {node.window} reads"
                        )
                    if not (
                        parent.window.partitions(node.window) or aggregate.definition.idempotent
                    ):
                        raise ModelError(
                            f"{node.window} cannot read {aggregate} from {node.parent}: its "
                            f"intervals overlap, and would count twice"
                        )
            seen[node.window] = node

    @property
    def is_alone(self) -> bool:
        """Whether one query is asked for, and its windows are the slices: there is nothing to
        build or to share, and in a batch Spark's own GROUP BY answers it."""
        return (
            len(self.nodes) == len(self.queries) == 1
            and self.nodes[0].window.is_tumbling
            and self.nodes[0].window.size == self.slicing.width
        )

    @property
    def longest(self) -> int:
        """The size of the longest window that a query asks for."""
        return max(node.window.size for node in self.nodes if node.queries)

    @property
    def is_flat(self) -> bool:
        """Whether every node was asked for, and reads the slices."""
        return all(node.parent is None and node.queries for node in self.nodes)

    def node(self, window: Window) -> Node:
        """The node of a window."""
        return next(node for node in self.nodes if node.window == window)

    def children(self, window: Window | None) -> tuple[Node, ...]:
        """The nodes that read a node, or the slices."""
        return tuple(node for node in self.nodes if node.parent == window)

    def answering(self, queries: Iterable[Query]) -> "Tree":
        """The part of the tree that some of its queries need: nodes, and aggregates of nodes."""
        asked = {query.name: query.aggregates.values() for query in queries}
        needed: dict[Window, set[Aggregate]] = {}
        kept: list[Node] = []
        for node in reversed(self.nodes):
            names = tuple(name for name in node.queries if name in asked)
            wanted = needed.get(node.window, set()).union(*(asked[name] for name in names))
            if not wanted:
                continue
            if node.parent is not None:
                needed.setdefault(node.parent, set()).update(wanted)
            pairs = zip(node.aggregates, node.techniques, strict=True)
            chosen = [
                (aggregate, technique) for aggregate, technique in pairs if aggregate in wanted
            ]
            kept.append(
                replace(
                    node,
                    aggregates=tuple(aggregate for aggregate, _ in chosen),
                    techniques=tuple(technique for _, technique in chosen),
                    queries=names,
                )
            )
        native = tuple(name for name in self.native if name in asked)
        return replace(self, nodes=tuple(reversed(kept)), native=native)


@dataclass(frozen=True, kw_only=True, eq=False)
class Plan:
    """Trees for the queries that share, and the queries that Spark answers alone."""

    strategy: str
    trees: tuple[Tree, ...]
    queries: tuple[Query | PlainQuery, ...]
    # Events per second and live keys that the costs were computed for.
    rate: float
    keys: float
    # Whether the keys were given or found in the data, rather than assumed.
    keys_known: bool = False
    # What the costs were computed with; a checkpoint does not keep them.
    prices: Prices = SHIPPED
    # The technique that was forced, if one was, and whether single answers are to come fast.
    technique: str | None = None
    latency: bool = False
    # What the same queries cost with a tree each, and as plain Spark queries, which copy every
    # event into every window that holds it.
    unshared_cost: float = 0.0
    plain_cost: float = 0.0
    # Trees of data windows.
    record_trees: tuple[RecordTree, ...] = ()
    # What the strategies that were tried cost, and the names of those whose trees were taken;
    # empty where one strategy was asked for.
    considered: Mapping[str, float] = field(default_factory=dict)
    taken: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        answered = [name for tree in self.all_trees for name in tree.queries]
        wanted = sorted(query.name for query in self.queries if isinstance(query, Query))
        if sorted(answered) != wanted:
            raise ModelError(f"the plan answers {sorted(answered)}, the queries are {wanted}")

    @property
    def cost(self) -> float:
        """Operations per second of all trees."""
        return sum(tree.cost for tree in self.all_trees)

    @property
    def all_trees(self) -> tuple[Tree | RecordTree, ...]:
        """Trees of both kinds: those of periodic windows, then those of data windows."""
        return (*self.trees, *self.record_trees)

    @property
    def plain(self) -> tuple[PlainQuery, ...]:
        """The queries that Spark answers alone."""
        return tuple(query for query in self.queries if isinstance(query, PlainQuery))

    @cached_property
    def _by_name(self) -> dict[str, Query | PlainQuery]:
        return {query.name: query for query in self.queries}

    def query(self, name: str) -> Query | PlainQuery:
        """The query of a name, or an error that names the nearest."""
        try:
            return self._by_name[name]
        except KeyError:
            raise ModelError(
                f"no query is called {name!r}; {nearest(name, list(self._by_name))}"
            ) from None

    def queries_of(self, tree: AnyTree) -> dict[str, Query]:
        """The queries that a tree answers, by name."""
        found = {name: self.query(name) for name in tree.queries}
        return {name: query for name, query in found.items() if isinstance(query, Query)}

    def workload_of(self, queries: Iterable[Query | PlainQuery]) -> Workload:
        """Some queries, to be planned for the facts that this plan was made for."""
        return Workload(
            queries=tuple(queries),
            rate=self.rate,
            keys=self.keys,
            keys_known=self.keys_known,
            prices=self.prices,
            technique=self.technique,
            latency=self.latency,
        )

    def place(self, name: str) -> tuple[Tree, Node]:
        """The tree and the node that answer a query of a periodic window."""
        for tree in self.trees:
            if name in tree.queries:
                return tree, tree.nodes[tree.number_of(name)]
        raise ModelError(f"no tree answers {name!r}")

    def __iter__(self) -> Iterator[Tree | RecordTree]:
        return iter(self.all_trees)

    # The ways to look at a plan. `explain` stands above this layer, so it is fetched on call.

    def explain(self) -> str:
        """The plan as a text tree, with its cost beside the unshared one."""
        from muntin import explain

        return explain.text(self)

    def to_svg(self) -> str:
        """The plan as a picture."""
        from muntin import explain

        return explain.svg(self)

    def to_sql(
        self, name: str | None = None, *, types: Mapping[Aggregate, str] | None = None
    ) -> str:
        """The plan as Spark SQL: one query's statement, or all of them, each under its name.

        Slices and windows are common table expressions. `types` has Spark's types of aggregates;
        without them a sum of decimals comes out wider than Spark's own.
        """
        from muntin import explain

        if name is not None:
            return explain.statement(self, name, types)
        return explain.sql(self, types)

    def _repr_html_(self) -> str:
        return self.to_svg()

    def __str__(self) -> str:
        return self.explain()
