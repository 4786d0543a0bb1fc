"""Computes the costs of passes, by either engine, and of a plan that has been chosen."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from muntin.aggregates.aggregate import Component
from muntin.model.passes import EVENTS_TO_FOLD, TREES_TO_FOLD, Engine
from muntin.model.plan import Plan
from muntin.model.trees import DataTree, PeriodicTree
from muntin.model.windows import Slicing
from muntin.model.workload import Workload
from muntin.optimizer import costs
from muntin.optimizer.data_trees import data_tree
from muntin.optimizer.edges import common_slicing
from muntin.optimizer.trees import plain_spark_cost, tree_each_cost, with_costs
from muntin.sql.filters import split_by_keys

# The cost of evaluating one of several filters for an event, and the least cost for which events
# are filtered at all: the shares of the filters may not be known.
_ASKED, _ASKED_ANYWAY = 2.0, 16.0
# The cost of looking up a value in the set of its slice, relative to that of slicing an event.
_LOOKED_UP = 5.0


@dataclass(frozen=True, kw_only=True)
class PassCost:
    """The cost of a pass: of the reading itself, and of what each tree adds to it."""

    engine: Engine
    reading: float
    trees: tuple[float, ...]

    @property
    def total(self) -> float:
        """The cost of all of it."""
        return self.reading + sum(self.trees)


@dataclass(frozen=True, kw_only=True, eq=False)
class PassCandidate:
    """Trees of one family that may be made in one pass."""

    trees: tuple[PeriodicTree, ...]
    workload: Workload = field(repr=False)
    # A cache of the partials of each tree per second, by its id: the search needs them often.
    known: dict[int, float] = field(default_factory=dict, repr=False)

    @cached_property
    def keys(self) -> tuple[str, ...]:
        """The keys of all trees, in order."""
        return tuple(sorted({key for tree in self.trees for key in tree.grouping.keys}))

    @cached_property
    def slicing(self) -> Slicing:
        """Slices at the edges of all trees."""
        own = replace(self.workload, rate=self._events_read, keys=self._live_keys)
        return common_slicing((tree.slicing for tree in self.trees), own)

    @cached_property
    def cheapest(self) -> PassCost:
        """The cost by the cheaper engine; only the slicer makes some partials, such as sets.

        Spark alone answers a tree whose windows are its slices.
        """
        is_alone = len(self.trees) == 1 and self.trees[0].engine is Engine.SPARK
        if not is_alone and not all(tree.fits_group_by for tree in self.trees):
            return self.by_slicer
        return min(self.by_group_by, self.by_slicer, key=lambda each: each.total)

    def __add__(self, other: "PassCandidate") -> "PassCandidate":
        return self.of((*self.trees, *other.trees))

    def of(self, trees: tuple[PeriodicTree, ...]) -> "PassCandidate":
        """Returns other trees of the same family."""
        return PassCandidate(trees=trees, workload=self.workload, known=self.known)

    @cached_property
    def by_group_by(self) -> PassCost:
        """The cost if Spark groups by all keys and edges, and each tree folds these partials,
        unless they are its own slices.

        Spark itself answers a single tree whose windows are its slices.
        """
        prices = self.workload.prices
        if len(self.trees) == 1 and self.trees[0].engine is Engine.SPARK:
            (tree,) = self.trees
            return PassCost(engine=Engine.SPARK, reading=self.skipping_cost, trees=(tree.cut_cost,))
        events = self._events_read
        further = _further_components(self.trees, self.keys)
        reading = (
            self.workload.start_cost
            + self.skipping_cost
            + (prices.event + prices.component * further) * events
            + prices.progression * self.slicing.further_progressions * events
            + (prices.partial + prices.column * further) * self._rows(events)
        )
        return PassCost(
            engine=Engine.SPARK,
            reading=reading,
            trees=tuple(
                prices.packed * self._partials(tree)
                + (0.0 if self.is_unfolded(tree) else prices.folded * self._rows(self._rate(tree)))
                for tree in self.trees
            ),
        )

    @cached_property
    def by_slicer(self) -> PassCost:
        """The cost if compiled code gets the columns that all trees need, and slices events for
        each tree, or folds many trees from the finest slices."""
        prices = self.workload.prices
        columns = costs.slicer_columns(
            (tree.grouping for tree in self.trees),
            (aggregate for tree in self.trees for aggregate in tree.aggregates),
        )
        events = self._events_read
        reading = self.workload.start_cost + self.skipping_cost
        reading += (prices.handed + prices.column * columns) * events
        is_folded = self._is_folded
        if is_folded:
            further = _further_components(self.trees, self.keys)
            reading += (prices.sliced + prices.combine * further) * events
        return PassCost(
            engine=Engine.COMPILED,
            reading=reading,
            trees=tuple(
                prices.packed * self._partials(tree)
                + (
                    prices.folded * self._rows(self._rate(tree))
                    if is_folded
                    else self._slicing_price(tree, values) * self._rate(tree)
                )
                + prices.entry * sum(self._values_per_second(tree, value) for value in values)
                for tree in self.trees
                for values in [_sets_of_values(tree)]
            ),
        )

    def _slicing_price(self, tree: PeriodicTree, values: Sequence[str]) -> float:
        """Returns what the slicer spends on an event for a tree that keeps sets of some values."""
        prices = self.workload.prices
        found = prices.progression * tree.slicing.further_progressions
        return prices.sliced * (1 + len(values) * _LOOKED_UP) + found

    @property
    def _is_folded(self) -> bool:
        """Whether the slicer folds the trees from finest slices, which are few enough."""
        if len(self.trees) < TREES_TO_FOLD or any(map(_sets_of_values, self.trees)):
            return False
        events = self._events_read
        return self._rows(events) * EVENTS_TO_FOLD <= events

    def is_unfolded(self, tree: PeriodicTree) -> bool:
        """Whether the slices of a GROUP BY for all trees are a tree's own."""
        return tree.grouping.keys == self.keys and tree.slicing == self.slicing

    @cached_property
    def _share(self) -> float:
        """The share of the events that some tree reads."""
        filters = {tree.grouping.where for tree in self.trees}
        return min(1.0, sum(self.workload.share_of(where) for where in filters))

    @cached_property
    def drops_rows(self) -> bool:
        """Whether events that no filter lets in are left out before all else.

        It costs less than to hand them over, unless there are many filters and few such events.
        """
        filters = {tree.grouping.where for tree in self.trees}
        saved = self.workload.prices.handed * (1 - self._share)
        return _ASKED * len(filters) <= max(saved, _ASKED_ANYWAY)

    @property
    def skipping_cost(self) -> float:
        """The cost of reading the events that are left out, half of what others cost.

        Folders of a partitioned source that no filter needs are not read.
        """
        share = 1.0
        if self.drops_rows:
            share = self.workload.read_share({tree.grouping.where for tree in self.trees})
        read = max(self.workload.rate * share, self._events_read)
        return self.workload.prices.event / 2 * (read - self._events_read)

    @property
    def _events_read(self) -> float:
        """How many events per second are not left out."""
        return self.workload.rate * (self._share if self.drops_rows else 1.0)

    def _rate(self, tree: PeriodicTree) -> float:
        """Returns how many events per second a tree's filter lets in."""
        return self.workload.rate * self.workload.share_of(tree.grouping.where)

    def _rows(self, rate: float) -> float:
        """Returns how many rows per second a GROUP BY makes of events of this rate."""
        return costs.pairs(self.slicing.rate, self.workload, rate=rate, keys=self._live_keys)

    @cached_property
    def _live_keys(self) -> float:
        """The keys of a GROUP BY for all trees."""
        return self.workload.keys_of(*(tree.grouping.keys for tree in self.trees))

    def _partials(self, tree: PeriodicTree) -> float:
        """Returns the partials of a tree's slices per second."""
        if id(tree) not in self.known:
            self.known[id(tree)] = costs.pairs(
                tree.slicing.rate,
                self.workload,
                rate=self._rate(tree),
                keys=self.workload.keys_of(tree.grouping.keys),
            )
        return self.known[id(tree)]

    def _values_per_second(self, tree: PeriodicTree, value: str) -> float:
        """Returns how many values the sets of a tree's slices have per second."""
        rate, live = self._rate(tree), self.workload.pairs_of(value, tree.grouping.keys)
        if live is None:
            return rate
        return costs.pairs(tree.slicing.rate, self.workload, rate=rate, keys=live)


def _sets_of_values(tree: PeriodicTree) -> list[str]:
    """Returns the values of the sets that a tree's slices keep, as Spark SQL."""
    sets = {part for aggregate in tree.aggregates for part in aggregate.sets_of_values}
    return [component.value_in_set for component in sets]


def _further_components(trees: Sequence[PeriodicTree], keys: Sequence[str]) -> int:
    """Returns how many components a GROUP BY keeps beyond those of the filter that has the most.

    A component under what the keys leave of another filter is another one. The price of an event
    includes the components of one filter, since trees that are made alone pay no more than that.
    """
    left = {
        where: where and split_by_keys(where, keys)[1]
        for where in {tree.grouping.where for tree in trees}
    }
    kept: dict[str | None, set[Component]] = {}
    for tree in trees:
        parts = (part for aggregate in tree.aggregates for part in aggregate.components)
        kept.setdefault(left[tree.grouping.where], set()).update(parts)
    return sum(map(len, kept.values())) - max(map(len, kept.values()))


def price_plan(plan: Plan, workload: Workload | None = None) -> Plan:
    """Returns a plan for a batch with the costs of what it runs, and of what it is compared with.

    They are computed for the rate, keys and shares of the workload, or else of the plan.
    """
    work = replace(workload or plan.workload_of(plan.queries), queries=plan.queries)
    parts = {part.grouping: part for part in work.split_by_grouping}
    trees = [with_costs(tree, parts[tree.grouping]) for tree in plan.periodic_trees]
    plain = costs.plain_queries_cost(work)
    return plan.with_trees(
        periodic=_with_pass_costs(trees, work),
        data=(_with_record_costs(tree, plan, parts[tree.grouping]) for tree in plan.data_trees),
        workload=replace(work, computed=plan.workload.computed),
        unshared_cost=plain + sum(map(tree_each_cost, parts.values())),
        plain_cost=plain + sum(map(plain_spark_cost, parts.values())),
        cost_of_plain=plain,
        # These were computed for the figures of the plan.
        strategy_costs={} if workload else plan.strategy_costs,
    )


def _with_pass_costs(trees: Sequence[PeriodicTree], work: Workload) -> tuple[PeriodicTree, ...]:
    """Returns the trees with what it costs to make their slices, by the engine of their pass."""
    members: dict[object, list[PeriodicTree]] = {}
    for tree in trees:
        members.setdefault(tree.slicing_pass or id(tree), []).append(tree)
    priced: dict[int, PeriodicTree] = {}
    for together in members.values():
        made_in = together[0].slicing_pass
        candidate = PassCandidate(trees=tuple(together), workload=work)
        by_slicer = made_in is not None and made_in.engine is Engine.COMPILED
        spent = candidate.by_slicer if by_slicer else candidate.by_group_by
        for tree, own in zip(together, spent.trees, strict=True):
            if made_in is None:
                priced[id(tree)] = replace(tree, cut_cost=spent.reading + own)
            else:
                made = replace(made_in, cost=spent.reading)
                priced[id(tree)] = replace(tree, slicing_pass=made, cut_cost=own)
    return tuple(priced[id(tree)] for tree in trees)


def _with_record_costs(tree: DataTree, plan: Plan, part: Workload) -> DataTree:
    anew = data_tree(tree.grouping, list(plan.queries_of(tree).values()), part)
    spent = {node.window: node.cost for node in anew.nodes}
    nodes = tuple(replace(node, cost=spent[node.window]) for node in tree.nodes)
    return replace(tree, nodes=nodes, cut_cost=anew.cut_cost)
