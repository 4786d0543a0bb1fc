"""`optimize`: a workload to a plan, in `STEPS`."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from muntin.errors import PlanError, nearest
from muntin.model.passes import Engine
from muntin.model.plan import Plan
from muntin.model.workload import Workload
from muntin.optimizer.choose_passes import choose_passes
from muntin.optimizer.choose_techniques import check_technique, choose_techniques
from muntin.optimizer.costs import plain_queries_cost
from muntin.optimizer.data_trees import check_slicing, move_into_data_trees
from muntin.optimizer.intermediate import intermediate
from muntin.optimizer.lower_bounds import RATIOS
from muntin.optimizer.normalise import leave_approximate_to_spark
from muntin.optimizer.strategies import ALGORITHMS, DEFAULT, STEADY, STRATEGIES, UNSHARED

# More queries than this nearly always share something.
_FEW_QUERIES = 8
# The most queries for which `auto` tries every strategy for all groupings at once, too.
_MOST_QUERIES = 30


@dataclass(frozen=True, kw_only=True)
class Draft:
    """What one step of `optimize` hands to the next."""

    workload: Workload
    strategy: str
    # Each candidate has a plan for every grouping; at last there is one, with one plan for all.
    candidates: tuple[tuple[Plan, ...], ...] = ()

    @property
    def plan(self) -> Plan:
        """The plan for all groupings, once it is chosen."""
        ((plan,),) = self.candidates
        return plan


def leave_queries_to_spark(draft: Draft) -> Draft:
    """Leaves approximate answers to Spark, unless the user allows them."""
    return replace(draft, workload=leave_approximate_to_spark(draft.workload))


def check_options(draft: Draft) -> Draft:
    """Refuses a strategy or an option that does not exist, or that cannot serve a query."""
    if draft.strategy not in STRATEGIES:
        raise PlanError(
            f"no strategy is called {draft.strategy!r}; {nearest(draft.strategy, list(STRATEGIES))}"
        )
    check_technique(draft.workload)
    check_slicing(draft.workload)
    return draft


def choose_trees(draft: Draft) -> Draft:
    """Plans each grouping by the strategy, for the grouping's own rate and keys."""
    plan = STRATEGIES[draft.strategy]
    return replace(draft, candidates=(tuple(map(plan, _parts(draft.workload))),))


def add_candidates(draft: Draft) -> Draft:
    """Adds further candidates for `auto`: what is cheapest for each grouping may cost more in a
    pass that several groupings share."""
    parts = _parts(draft.workload)
    if draft.strategy != DEFAULT or len(parts) == 1:
        return draft
    (plans,) = draft.candidates
    added = []
    if any(len(plan.periodic_trees) > 1 for plan in plans):
        added.append(tuple(map(_in_one_tree, plans, parts)))
    # A single tumbling window has the same tree under every strategy.
    is_same = all(
        len(plan.periodic_trees) == 1 and plan.periodic_trees[0].engine is Engine.SPARK
        for plan in plans
    )
    if len(draft.workload.periodic_queries) <= _MOST_QUERIES and not is_same:
        added += _by_one_strategy(plans, parts)
    return replace(draft, candidates=(plans, *added))


def add_data_trees(draft: Draft) -> Draft:
    """Adds, for `auto`, each candidate with periodic windows in trees of data windows."""
    if draft.strategy != DEFAULT or not draft.workload.data_window_queries:
        return draft
    parts = _parts(draft.workload)
    moved = (tuple(map(move_into_data_trees, plans, parts)) for plans in draft.candidates)
    return replace(draft, candidates=(*draft.candidates, *moved))


def take_cheapest(draft: Draft) -> Draft:
    """Puts the trees of each candidate into passes, and takes the candidate that costs least.

    Under `unshared`, every tree reads its events itself.
    """
    if draft.strategy == UNSHARED:
        draft = replace(draft, workload=replace(draft.workload, computed=frozenset()))
    plans = [_unite(plans, draft.workload) for plans in draft.candidates]
    if draft.strategy != UNSHARED:
        plans = [choose_passes(plan) for plan in plans]
    return replace(draft, candidates=((min(plans, key=lambda plan: plan.cost),),))


def choose_plan_techniques(draft: Draft) -> Draft:
    """Chooses the techniques of the trees."""
    return replace(draft, candidates=((choose_techniques(draft.plan),),))


def add_plain_costs(draft: Draft) -> Draft:
    """Adds what Spark spends on the queries that it answers alone, to the plan's costs and to those
    that it is compared with."""
    plan, plain = draft.plan, plain_queries_cost(draft.workload)
    plan = replace(
        plan,
        cost_of_plain=plain,
        unshared_cost=plan.unshared_cost + plain,
        plain_cost=plan.plain_cost + plain,
        strategy_costs={name: spent + plain for name, spent in plan.strategy_costs.items()},
    )
    return replace(draft, candidates=((plan,),))


# Each step reads what those before it have chosen.
STEPS: tuple[Callable[[Draft], Draft], ...] = (
    leave_queries_to_spark,
    check_options,
    choose_trees,
    add_candidates,
    add_data_trees,
    take_cheapest,
    choose_plan_techniques,
    add_plain_costs,
)


def optimize(workload: Workload, strategy: str = DEFAULT) -> Plan:
    """Returns the plan of a strategy, by its name in `STRATEGIES`."""
    draft = Draft(workload=workload, strategy=strategy)
    for step in STEPS:
        draft = step(draft)
    return draft.plan


def _parts(workload: Workload) -> tuple[Workload, ...]:
    return workload.split_by_grouping or (workload,)


def _in_one_tree(plan: Plan, workload: Workload) -> Plan:
    """Returns the plan of one grouping, or one with a single tree if it has several."""
    if len(plan.periodic_trees) < 2:
        return plan
    return plan.with_trees(
        periodic=intermediate(workload).periodic_trees, chosen_strategies=("intermediate",)
    )


def _by_one_strategy(
    plans: Sequence[Plan], parts: Sequence[Workload]
) -> Iterable[tuple[Plan, ...]]:
    """Yields the plans of `auto` with the trees that one strategy has for every grouping."""
    seen = [[plan.periodic_trees for plan in plans]]
    for name, strategy in ALGORITHMS.items():
        try:
            trees = [strategy(part).periodic_trees for part in parts]
        except PlanError:
            continue
        if trees not in seen:
            seen.append(trees)
            pairs = zip(plans, trees, strict=True)
            yield tuple(
                plan.with_trees(periodic=own, chosen_strategies=(name,)) for plan, own in pairs
            )


def _unite(plans: Sequence[Plan], workload: Workload) -> Plan:
    """Returns one plan with the trees of all, for the whole workload."""
    tried = [set(plan.strategy_costs) for plan in plans]
    return plans[0].with_trees(
        periodic=(tree for plan in plans for tree in plan.periodic_trees),
        data=(tree for plan in plans for tree in plan.data_trees),
        workload=workload,
        unshared_cost=sum(plan.unshared_cost for plan in plans),
        plain_cost=sum(plan.plain_cost for plan in plans),
        strategy_costs={
            name: sum(plan.strategy_costs[name] for plan in plans)
            for name in plans[0].strategy_costs
            if all(name in names for names in tried)
        },
        chosen_strategies=tuple(
            dict.fromkeys(name for plan in plans for name in plan.chosen_strategies)
        ),
    )


def may_share(workload: Workload) -> bool:
    """Whether `auto` shares something in a batch at some ratio of rate to keys; when in doubt, it
    does. If not, nothing more need be known of the events.

    Filters of unknown effect let in all events, and all keys are alike: then sharing saves most.
    """
    if workload.seconds is None or len(workload.queries) > _FEW_QUERIES:
        return True
    events = workload.seconds * workload.rate
    tried = (
        replace(workload, rate=ratio, keys=1.0, keys_known=True, seconds=events / ratio)
        for ratio in reversed(RATIOS)
    )
    return any(tree.engine is not Engine.SPARK for each in tried for tree in optimize(each, STEADY))


def compare(workload: Workload) -> dict[str, float]:
    """Returns the cost of every strategy except `auto`, without those that refuse the workload."""
    costs = {}
    for name in ALGORITHMS:
        try:
            costs[name] = optimize(workload, name).cost
        except PlanError:
            continue
    return costs
