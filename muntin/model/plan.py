"""The plan: trees of nodes, what each reads and costs. Optimizers return it, engines run it."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from muntin.aggregates.aggregate import Aggregate
from muntin.errors import ModelError, nearest
from muntin.model.passes import Engine, Pass
from muntin.model.query import Family, PlainQuery, Query, parts_of
from muntin.model.trees import DataTree, Node, PeriodicTree, Tree
from muntin.model.workload import Workload
from muntin.sql_text import SqlText


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Plan:
    """Trees for the queries that share, and the queries that Spark answers alone."""

    strategy: str
    # What was planned, with the figures of the data that the costs were computed for. A checkpoint
    # does not keep all of them.
    workload: Workload
    # Those of periodic windows, then those of data windows.
    trees: tuple[Tree, ...]
    # The cost of the same queries with a tree each, and as plain Spark queries, which copy every
    # event into every window that holds it.
    unshared_cost: float = 0.0
    plain_cost: float = 0.0
    # The part of all these costs that Spark spends on the queries that it answers alone.
    cost_of_plain: float = 0.0
    # The cost of each strategy that was tried, and the names of those whose trees were taken; empty
    # if the user chose the strategy.
    strategy_costs: Mapping[str, float] = field(default_factory=dict)
    chosen_strategies: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        answered = [name for tree in self.trees for name in tree.queries]
        wanted = sorted(query.name for query in parts_of(self.queries))
        if sorted(answered) != wanted:
            raise ModelError(f"the plan answers {sorted(answered)}, the queries are {wanted}")

    @property
    def queries(self) -> tuple[Query | PlainQuery, ...]:
        """All queries, in the order in which they were given."""
        return self.workload.queries

    @property
    def rate(self) -> float:
        """Events per second that the costs were computed for."""
        return self.workload.rate

    @property
    def keys(self) -> float:
        """Live keys that the costs were computed for."""
        return self.workload.keys

    @property
    def cost(self) -> float:
        """Operations per second of all passes and trees, and of the queries that Spark answers."""
        return cost_of(self.trees) + self.cost_of_plain

    @property
    def passes(self) -> tuple[Pass, ...]:
        """The passes that make slices. A tree without a pass reads its relation itself."""
        return passes_of(self.trees)

    @property
    def readings(self) -> Counter[SqlText]:
        """How often each relation is read: once by each pass, and once by each tree without one."""
        in_passes = {each: self.trees_of(each)[0].grouping.relation for each in self.passes}
        alone = (tree.grouping.relation for tree in self.trees if tree.slicing_pass is None)
        return Counter([*in_passes.values(), *alone])

    @property
    def scans(self) -> int:
        """How often data is read: by passes, by trees without one, and by each plain query.

        A relation that is stored is computed once.
        """
        read = sum(
            1 if each in self.stored_relations else times for each, times in self.readings.items()
        )
        return read + len(self.plain_queries)

    @property
    def sharing_queries(self) -> frozenset[str]:
        """The names of the queries that share a reading of the events with another query."""
        together: dict[object, set[str]] = {}
        for number, tree in enumerate(self.trees):
            asked = {query.whole_query.name for query in self.queries_of(tree).values()}
            together.setdefault(tree.slicing_pass or number, set()).update(asked)
        return frozenset(name for names in together.values() if len(names) > 1 for name in names)

    @property
    def stored_relations(self) -> tuple[SqlText, ...]:
        """The relations that a batch computes once and stores, because several passes read them."""
        return tuple(
            relation
            for relation, times in self.readings.items()
            if times > 1 and relation in self.workload.computed
        )

    def trees_of(self, shared: Pass) -> tuple[PeriodicTree, ...]:
        """Returns the trees whose slices are made in a pass."""
        return tuple(tree for tree in self.periodic_trees if tree.slicing_pass == shared)

    @cached_property
    def periodic_trees(self) -> tuple[PeriodicTree, ...]:
        """The trees of periodic windows."""
        return tuple(tree for tree in self.trees if isinstance(tree, PeriodicTree))

    @cached_property
    def data_trees(self) -> tuple[DataTree, ...]:
        """The trees of data windows."""
        return tuple(tree for tree in self.trees if isinstance(tree, DataTree))

    def with_trees(
        self,
        *,
        periodic: Iterable[PeriodicTree] | None = None,
        data: Iterable[DataTree] | None = None,
        queries: Iterable[Query | PlainQuery] | None = None,
        **changes: Any,
    ) -> "Plan":
        """Returns the plan with other trees of one kind, or of both, and with other queries."""
        periodic = self.periodic_trees if periodic is None else periodic
        data = self.data_trees if data is None else data
        if queries is not None:
            changes["workload"] = replace(self.workload, queries=tuple(queries))
        return replace(self, trees=(*periodic, *data), **changes)

    @property
    def plain_queries(self) -> tuple[PlainQuery, ...]:
        """The queries that Spark answers alone."""
        return tuple(query for query in self.queries if isinstance(query, PlainQuery))

    @property
    def computed_by_muntin(self) -> frozenset[str]:
        """The names of the queries that muntin, not a statement of Spark's, answers in a batch."""
        trees = (tree for tree in self.trees if tree.engine is not Engine.SPARK)
        parts = (part for tree in trees for part in self.queries_of(tree).values())
        return frozenset(part.whole_query.name for part in parts)

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

    def queries_of(self, tree: Tree) -> dict[str, Query]:
        """Returns the queries that a tree answers, by name, one for each grouping set."""
        return {name: self._parts[name] for name in tree.queries}

    def workload_of(self, queries: Iterable[Query | PlainQuery]) -> Workload:
        """Returns a workload of `queries` with this plan's rate, keys, prices and options, and
        without what is known of a batch as a whole."""
        return replace(
            self.workload, queries=tuple(queries), reads={}, seconds=None, computed=frozenset()
        )

    def find_node(self, name: str) -> tuple[PeriodicTree, Node]:
        """Returns the tree and the node that answer a query with a periodic window."""
        for tree in self.periodic_trees:
            if name in tree.queries:
                return tree, tree.nodes[tree.node_index(name)]
        raise ModelError(f"no tree answers {name!r}")

    def __iter__(self) -> Iterator[Tree]:
        return iter(self.trees)

    # Views of a plan. `explain` is in a higher layer, so it is imported on call.

    @property
    def headline(self) -> str:
        """How many of the queries share, and how often data is read."""
        from muntin import explain

        return explain.headline(self)

    def explain(self) -> str:
        """Returns the plan as a text tree, with its cost next to the unshared one."""
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


def cost_of(trees: Iterable[Tree]) -> float:
    """Returns the operations per second of some trees, and of the passes that they are made in."""
    trees = tuple(trees)
    return sum(tree.cost for tree in trees) + sum(each.cost for each in passes_of(trees))


def passes_of(trees: Iterable[Tree]) -> tuple[Pass, ...]:
    """Returns the passes that some trees are made in, once each."""
    passes = (tree.slicing_pass for tree in trees)
    return tuple(dict.fromkeys(each for each in passes if each is not None))


def trees_by_pass(trees: Iterable[PeriodicTree]) -> list[tuple[PeriodicTree, ...]]:
    """Returns the trees of each grouping that are made in one pass, and every other tree alone."""
    groups: dict[object, list[PeriodicTree]] = {}
    for number, tree in enumerate(trees):
        place = number if tree.slicing_pass is None else (tree.grouping, tree.slicing_pass)
        groups.setdefault(place, []).append(tree)
    return [tuple(members) for members in groups.values()]


def trees_by_family(trees: Iterable[PeriodicTree]) -> dict[Family, list[PeriodicTree]]:
    """Returns the trees of each relation and time."""
    families: dict[Family, list[PeriodicTree]] = {}
    for tree in trees:
        families.setdefault(tree.grouping.family, []).append(tree)
    return families


def with_own_passes(trees: Sequence[PeriodicTree]) -> list[PeriodicTree]:
    """Returns the trees with passes narrowed to their own keys, after other trees were removed."""
    keys: dict[Pass | None, set[str]] = {}
    for tree in trees:
        keys.setdefault(tree.slicing_pass, set()).update(tree.grouping.keys)
    narrower = {
        each: each and replace(each, keys=tuple(sorted(of_trees)))
        for each, of_trees in keys.items()
    }
    return [replace(tree, slicing_pass=narrower[tree.slicing_pass]) for tree in trees]
