"""Chooses the technique of every component of every node, once the trees of a plan are chosen.

The technique with the fewest combines per slice is taken (Ω, `operations.OPERATIONS`): windows that
overlap little are combined anew, invertible aggregates are subtracted, and all others use two
stacks. For selective combines, one deque for all windows pays once there are many of them. Sets of
values are always swept, also where the user forces a technique.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from math import inf, nextafter

from muntin.aggregates.aggregate import Aggregate, Component
from muntin.aggregates.monoids import Monoid
from muntin.errors import PlanError
from muntin.model.plan import Plan
from muntin.model.trees import RECALC, Node, PeriodicTree
from muntin.model.windows import Window
from muntin.model.workload import PlanOptions, Workload
from muntin.optimizer.cost_models import model_of, windows_per_partial
from muntin.optimizer.operations import steady_operations_of
from muntin.techniques.table import TECHNIQUES, technique_by_name

# Returns the monoids that may combine a component: a single one once its type is known.
Monoids = Callable[[Aggregate, Component], Sequence[Monoid]]

# Measured for max: at slide 1 a shared deque wins from 3 to 5 windows on, with hops of an eighth of
# the size from 10.
WINDOWS_FOR_A_DEQUE = 10


def monoids_of_all_types(aggregate: Aggregate, component: Component) -> Sequence[Monoid]:
    """Returns the monoids of a component for every type, while the types are not known yet."""
    return [representation.monoid for representation in component.part.all_representations]


def choose_techniques(plan: Plan) -> Plan:
    """Returns the plan with a technique for each component, for any type of values.

    The types are known when the plan is bound to its data; binding then chooses again.
    """
    options = plan.workload.options
    trees = [with_techniques(tree, options) for tree in plan.periodic_trees]
    return plan.with_trees(periodic=trees)


def with_techniques(
    tree: PeriodicTree, options: PlanOptions, monoids: Monoids = monoids_of_all_types
) -> PeriodicTree:
    """Returns the tree with a technique for each component of each aggregate of its nodes.

    The options may force one; it is an error if it cannot serve an aggregate. Under `latency`,
    windows that overlap get a technique without slow single answers.
    """
    # How many nodes read a component from one parent.
    readers: Counter[tuple[Window | None, Component]] = Counter()
    if len(tree.nodes) >= WINDOWS_FOR_A_DEQUE:
        for node in tree.nodes:
            components = {part for aggregate in node.aggregates for part in aggregate.components}
            readers.update((node.parent, component) for component in components)

    def choose(node: Node, aggregate: Aggregate, component: Component) -> str:
        possible = tuple(monoids(aggregate, component))
        if possible[0].sweep is not None:
            return possible[0].sweep
        if options.technique is not None:
            check_serves(options.technique, aggregate, possible)
            return options.technique
        if node.reads_fewest or node.window.grows:
            return RECALC
        return least_technique(
            possible,
            overlap=windows_per_partial(node.parent or tree.slicing, node.window),
            windows=readers[node.parent, component],
            latency=options.latency,
        )

    nodes = tuple(
        replace(
            node,
            techniques=tuple(
                tuple(choose(node, aggregate, part) for part in aggregate.components)
                for aggregate in node.aggregates
            ),
        )
        for node in tree.nodes
    )
    return replace(tree, nodes=nodes)


def least_technique(
    monoids: tuple[Monoid, ...], *, overlap: float, windows: int = 1, latency: bool = False
) -> str:
    """Returns the technique with the fewest combines that serves all the monoids.

    `overlap` is how many windows of a node read one partial, `windows` how many nodes read it.
    """
    invertible = all(monoid.inverse is not None for monoid in monoids)
    if latency and overlap > 1 and all(monoid.only is None for monoid in monoids):
        return "subtract" if invertible else "daba_lite"
    if overlap < steady_operations_of(monoids):
        return RECALC
    if invertible:
        return "subtract"
    selective = all(monoid.selective for monoid in monoids)
    return "slick_deque" if selective and windows >= WINDOWS_FOR_A_DEQUE else "two_stacks_lite"


def technique_in_groups(nodes: Sequence[Node], workload: Workload) -> tuple[str, float]:
    """Returns the technique whose Ω decides which windows share a tree, and the overlap below which
    windows are combined anew.

    It is the one that the options or the cost model name, else the one that most components of the
    windows will use. Sets of values are swept, at the same cost in every tree.
    """
    forced = workload.options.technique or model_of(workload).technique
    if forced is not None:
        return forced, 0.0
    combined = Counter(
        monoids
        for node in nodes
        for aggregate in node.aggregates
        for component in aggregate.components
        if (monoids := tuple(monoids_of_all_types(aggregate, component)))[0].sweep is None
    )
    if not combined:
        return "two_stacks_lite", 0.0
    ((most, _),) = combined.most_common(1)
    latency = workload.options.latency
    technique = least_technique(most, overlap=inf, windows=len(nodes), latency=latency)
    # Under `latency`, only windows that do not overlap are combined anew.
    return technique, nextafter(1.0, inf) if latency else steady_operations_of(most)


def check_serves(technique: str, aggregate: Aggregate, monoids: Iterable[Monoid]) -> None:
    """Raises an error if a technique cannot serve an aggregate for any type of values."""
    monoids = tuple(monoids)
    wanted = technique_by_name(technique)
    if not any(wanted.allows(monoid) for monoid in monoids):
        able = [
            candidate.name
            for candidate in TECHNIQUES.values()
            if all(map(candidate.allows, monoids))
        ]
        raise PlanError(
            f"{technique} cannot serve {aggregate}: it needs {wanted.needs}; "
            f"these can: {', '.join(able)}"
        )


def check_technique(workload: Workload) -> None:
    """Raises an error if the forced technique does not exist or cannot serve some query."""
    technique = workload.options.technique
    if technique is None:
        return
    technique_by_name(technique)
    asked = {
        aggregate: None
        for query in workload.periodic_queries
        for aggregate in query.aggregates.values()
    }
    for aggregate in asked:
        for component in aggregate.components:
            if not aggregate.sets_of_values:
                check_serves(technique, aggregate, monoids_of_all_types(aggregate, component))
