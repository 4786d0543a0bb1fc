"""The plan: trees of nodes, what each reads and costs. Optimizers return it, engines run it."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache

from muntin.errors import ModelError, nearest
from muntin.model.aggregates.aggregate import Aggregate
from muntin.model.any_tree import AnyTree
from muntin.model.passes import Pass
from muntin.model.prices import SHIPPED, Prices
from muntin.model.query import Family, Grouping, PlainQuery, Query, parts_of
from muntin.model.record_tree import RecordTree
from muntin.model.slicing import Slicing
from muntin.model.sql_text import SqlText
from muntin.model.windows.window import Window
from muntin.model.workload import Workload

# The technique that combines anew for every window; the default of a node.
RECALC = "recalc"
# Stands for a technique where Spark itself combines the slices of a batch.
NATIVE = "spark"


@lru_cache(maxsize=1 << 12)
def _parts(aggregate: Aggregate) -> int:
    """Returns how many components an aggregate has; cached, since large plans ask often."""
    return len(aggregate.components)


@dataclass(frozen=True, kw_only=True)
class Node:
    """One window of a tree: what it reads, how it is computed, and which queries it answers."""

    window: Window
    aggregates: tuple[Aggregate, ...]
    # The window of the node that it reads; None: it reads the slices.
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
        """Whether it reads only the fewest overlapping intervals of its parent that fill it."""
        return (
            self.parent is not None
            and self.parent.is_worth_picking_for(self.window)
            and all(aggregate.definition.idempotent for aggregate in self.aggregates)
        )


@dataclass(frozen=True, kw_only=True)
class Tree(AnyTree):
    """One slicing and the nodes computed from it; each node comes after the one that it reads."""

    grouping: Grouping
    slicing: Slicing
    nodes: tuple[Node, ...]
    # Operations per second spent on cutting the events; the nodes' own costs come on top.
    cut_cost: float = 0.0
    # The pass in which its slices are made; None: a GROUP BY of its own makes them.
    made_in: Pass | None = None
    # Queries whose windows Spark itself combines from the slices of a batch, since the compiled
    # runtime does not support their types. Set when the plan is bound to its data.
    native: tuple[str, ...] = ()
    # With fewer keys than cores, a batch is also split by time, into parts of so many microseconds.
    time_part: int | None = None
    # The tumbling windows whose partials a stream keeps beside the slices, finest first. Each reads
    # the one before it, the first reads the slices.
    levels: tuple[Window, ...] = ()

    def __post_init__(self) -> None:
        if self.made_in is not None and not self.made_in.serves(self.grouping.keys, self.slicing):
            raise ModelError(f"the pass does not make the slices of {self.grouping}")
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
        for window, below in zip(self.levels, (None, *self.levels), strict=False):
            if not window.is_tumbling or window not in seen or seen[window].parent != below:
                raise ModelError(f"{window} cannot be a level of the state above {below}")

    @property
    def is_alone(self) -> bool:
        """Whether the tree has one query, whose windows are the slices: in a batch, Spark's own
        GROUP BY answers it, since there is nothing to share."""
        return (
            self.made_in is None
            and len(self.nodes) == len(self.queries) == 1
            and self.nodes[0].window.is_tumbling
            and self.nodes[0].window.size == self.slicing.width
        )

    @property
    def is_native(self) -> bool:
        """Whether Spark SQL can make and combine all its partials."""
        return all(aggregate.definition.is_native for aggregate in self.aggregates)

    @property
    def longest(self) -> int:
        """The size of the longest window that a query asks for."""
        return max(node.window.size for node in self.nodes if node.queries)

    @property
    def keeps(self) -> tuple[int, ...]:
        """How long a stream keeps the slices, then the partials of each level.

        That is how far behind the watermark they may start. A window that is open begins at some
        edge of the coarsest level that has all its begins. From there on it reads that level and
        coarser ones. It reads finer ones only behind the last whole interval of the next level.
        """
        longest = [0] * (len(self.levels) + 1)
        for node in self.nodes:
            coarsest = self._coarsest_with_begins_of(node.window)
            for level in range(coarsest, len(longest)):
                if level == 0 or node.window.size > self.levels[level - 1].size:
                    longest[level] = max(longest[level], node.window.size)
        for level, window in enumerate(self.levels):
            longest[level] = max(longest[level], window.size)
        return tuple(longest)

    def _coarsest_with_begins_of(self, window: Window) -> int:
        """Returns the number of the coarsest level with the begins of a window; 0: the slices."""
        found = 0
        for level, each in enumerate(self.levels, start=1):
            if (
                window.begin_period % each.size == 0
                and (window.offset - each.offset) % each.size == 0
            ):
                found = level
        return found

    def level_of(self, node: Node) -> int:
        """Returns the number of the finest level that a node reads; 0: the slices.

        A level's own window is read where it is kept.
        """
        if node.window in self.levels:
            return self.levels.index(node.window) + 1
        return 0 if node.parent not in self.levels else self.levels.index(node.parent) + 1

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

    def answering(self, queries: Iterable[Query]) -> "Tree":
        """Returns the part of the tree that `queries` need: its nodes and their aggregates."""
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
        return replace(self, nodes=tuple(reversed(kept)), native=native, levels=())


def cost_of(trees: Iterable[Tree]) -> float:
    """Returns the operations per second of some trees, and of the passes that they are made in."""
    trees = tuple(trees)
    return sum(tree.cost for tree in trees) + sum(each.cost for each in _passes_of(trees))


def made_together(trees: Iterable[Tree]) -> list[tuple[Tree, ...]]:
    """Returns the trees of each grouping that are made in one pass, and every other tree alone."""
    together: dict[object, list[Tree]] = {}
    for number, tree in enumerate(trees):
        place = number if tree.made_in is None else (tree.grouping, tree.made_in)
        together.setdefault(place, []).append(tree)
    return [tuple(members) for members in together.values()]


def by_family(trees: Iterable[Tree]) -> dict[Family, list[Tree]]:
    """Returns the trees of each relation and time."""
    families: dict[Family, list[Tree]] = {}
    for tree in trees:
        families.setdefault(tree.grouping.family, []).append(tree)
    return families


def with_own_passes(trees: Sequence[Tree]) -> list[Tree]:
    """Returns trees whose passes have the keys of these trees only, since others have left."""
    keys: dict[Pass | None, set[str]] = {}
    for tree in trees:
        keys.setdefault(tree.made_in, set()).update(tree.grouping.keys)
    narrower = {
        each: each and replace(each, keys=tuple(sorted(of_trees)))
        for each, of_trees in keys.items()
    }
    return [replace(tree, made_in=narrower[tree.made_in]) for tree in trees]


def _passes_of(trees: Iterable[Tree]) -> tuple[Pass, ...]:
    named = (tree.made_in for tree in trees)
    return tuple(dict.fromkeys(each for each in named if each is not None))


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Plan:
    """Trees for the queries that share, and the queries that Spark answers alone."""

    strategy: str
    trees: tuple[Tree, ...]
    queries: tuple[Query | PlainQuery, ...]
    # Events per second and live keys that the costs were computed for.
    rate: float
    keys: float
    # Whether `rate` and `keys` were given or measured, rather than assumed.
    rate_known: bool = False
    keys_known: bool = False
    # Live keys of sets of keys and shares of filters, as in the workload, and the prices that the
    # costs were computed with; a checkpoint does not keep them.
    live: Mapping[frozenset[str], float] = field(default_factory=dict)
    shares: Mapping[str, float] = field(default_factory=dict)
    prices: Prices = SHIPPED
    # The forced technique, if any, and whether every single answer must come fast.
    technique: str | None = None
    latency: bool = False
    # Whether answers may differ from Spark's within an error bound.
    approximate: bool = False
    # The cost of the same queries with a tree each, and as plain Spark queries, which copy every
    # event into every window that holds it.
    unshared_cost: float = 0.0
    plain_cost: float = 0.0
    # The part of all these costs that Spark spends on the queries that it answers alone.
    cost_of_plain: float = 0.0
    # Trees of data windows.
    record_trees: tuple[RecordTree, ...] = ()
    # The cost of each strategy that was tried, and the names of those whose trees were taken; empty
    # if the user chose the strategy.
    considered: Mapping[str, float] = field(default_factory=dict)
    taken: tuple[str, ...] = ()
    # Relations whose events Spark computes, by a join or a Python function, rather than reads.
    computed: frozenset[SqlText] = frozenset()

    def __post_init__(self) -> None:
        answered = [name for tree in self.all_trees for name in tree.queries]
        wanted = sorted(query.name for query in parts_of(self.queries))
        if sorted(answered) != wanted:
            raise ModelError(f"the plan answers {sorted(answered)}, the queries are {wanted}")

    @property
    def cost(self) -> float:
        """Operations per second of all passes and trees, and of the queries that Spark answers."""
        in_trees = cost_of(self.trees) + sum(tree.cost for tree in self.record_trees)
        return in_trees + self.cost_of_plain

    @property
    def passes(self) -> tuple[Pass, ...]:
        """The passes that several trees may share; every other tree reads its relation itself."""
        return _passes_of(self.trees)

    @property
    def readings(self) -> Counter[SqlText]:
        """How often each relation is read: once in a pass, and by each tree that has none."""
        in_passes = {each: self.trees_of(each)[0].grouping.relation for each in self.passes}
        alone = (
            tree for tree in self.all_trees if isinstance(tree, RecordTree) or not tree.made_in
        )
        return Counter([*in_passes.values(), *(tree.grouping.relation for tree in alone)])

    @property
    def scans(self) -> int:
        """How often data is read: by passes, by trees without one, and by each plain query.

        A relation that is stored is computed once.
        """
        read = sum(1 if each in self.stored else times for each, times in self.readings.items())
        return read + len(self.plain)

    @property
    def sharing(self) -> frozenset[str]:
        """The names of the queries whose events are read for another query, too."""
        together: dict[object, set[str]] = {}
        for number, tree in enumerate(self.all_trees):
            shared = tree.made_in if isinstance(tree, Tree) else None
            asked = {query.asked.name for query in self.queries_of(tree).values()}
            together.setdefault(shared or number, set()).update(asked)
        return frozenset(name for names in together.values() if len(names) > 1 for name in names)

    @property
    def stored(self) -> tuple[SqlText, ...]:
        """The relations that are computed once and stored in a batch, since several passes read
        them."""
        return tuple(
            relation
            for relation, times in self.readings.items()
            if times > 1 and relation in self.computed
        )

    def trees_of(self, shared: Pass) -> tuple[Tree, ...]:
        """Returns the trees whose slices are made in a pass."""
        return tuple(tree for tree in self.trees if tree.made_in == shared)

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

    @cached_property
    def _parts(self) -> dict[str, Query]:
        return {query.name: query for query in parts_of(self.queries)}

    def query(self, name: str) -> Query | PlainQuery:
        """Returns the query of that name; raises an error that suggests the nearest name."""
        try:
            return self._by_name[name]
        except KeyError:
            raise ModelError(
                f"no query is called {name!r}; {nearest(name, list(self._by_name))}"
            ) from None

    def queries_of(self, tree: AnyTree) -> dict[str, Query]:
        """Returns the queries that a tree answers, by name, one for each grouping set."""
        return {name: self._parts[name] for name in tree.queries}

    def workload_of(self, queries: Iterable[Query | PlainQuery]) -> Workload:
        """Returns a workload of `queries` with this plan's rate, keys, prices and techniques."""
        return Workload(
            queries=tuple(queries),
            rate=self.rate,
            keys=self.keys,
            rate_known=self.rate_known,
            keys_known=self.keys_known,
            live=self.live,
            shares=self.shares,
            prices=self.prices,
            technique=self.technique,
            latency=self.latency,
            approximate=self.approximate,
        )

    def place(self, name: str) -> tuple[Tree, Node]:
        """Returns the tree and the node that answer a query with a periodic window."""
        for tree in self.trees:
            if name in tree.queries:
                return tree, tree.nodes[tree.number_of(name)]
        raise ModelError(f"no tree answers {name!r}")

    def __iter__(self) -> Iterator[Tree | RecordTree]:
        return iter(self.all_trees)

    # Views of a plan. `explain` is in a higher layer, so it is imported on call.

    @property
    def headline(self) -> str:
        """How many of the queries share, and how often data is read."""
        from muntin.explain import words

        return words.headline(self)

    def explain(self) -> str:
        """Returns the plan as a text tree, with its cost beside the unshared one."""
        from muntin import explain

        return explain.text(self)

    def to_svg(self) -> str:
        """Returns the plan as an SVG picture."""
        from muntin import explain

        return explain.svg(self)

    def to_sql(
        self,
        name: str | None = None,
        *,
        together: bool = False,
        types: Mapping[Aggregate, str] | None = None,
    ) -> str:
        """Returns the plan as Spark SQL: one query's statement, or all of them, each with its name.

        Slices and windows are common table expressions. With `together`, it is one statement for
        all queries, in which Spark reads each relation once: a row has the name of its query, then
        all columns by name, null where the query has none of that name. `types` has Spark's types
        of aggregates; without it, a sum of decimals comes out wider than Spark's own.
        """
        from muntin import explain

        if together:
            if name is not None:
                raise ModelError(f"one statement has all queries, not {name!r} alone")
            return explain.one_statement(self, types)
        if name is not None:
            return explain.statement(self, name, types)
        return explain.sql(self, types)

    def _repr_html_(self) -> str:
        return self.to_svg()

    def __repr__(self) -> str:
        return f"<Plan by {self.strategy}: {self.headline}>"

    def __str__(self) -> str:
        return self.explain()
