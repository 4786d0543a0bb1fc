"""Chooses the technique of every component of every node.

The fewest combines per slice win (Ω, `costs.operations`): windows that overlap little are combined
anew, invertible aggregates are subtracted, and all others use two stacks. For selective combines,
one deque for all windows pays once there are many of them. Sets of values are swept, whichever
technique is asked for.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from muntin.aggregates.aggregate import Aggregate, Component
from muntin.aggregates.monoids import Monoid
from muntin.errors import PlanError
from muntin.model.options import PlanOptions
from muntin.model.slicing import Slicing
from muntin.model.trees import RECALC, Node
from muntin.model.windows.window import Window
from muntin.model.workload import Workload
from muntin.optimizer.costs import cost
from muntin.optimizer.costs.operations import steady_operations_of
from muntin.techniques.table import TECHNIQUES, technique_named

# Returns the monoids that may combine a component: a single one once its type is known.
Monoids = Callable[[Aggregate, Component], Sequence[Monoid]]

# Measured for max: at slide 1 a shared deque wins from 3 to 5 windows on, with hops of an eighth of
# the size from 10.
WINDOWS_FOR_A_DEQUE = 10


def by_function(aggregate: Aggregate, component: Component) -> Sequence[Monoid]:
    """Returns the monoids over all types of values, for a plan that does not know its data yet."""
    return [representation.monoid for representation in component.representations]


def with_techniques(
    nodes: Sequence[Node],
    slicing: Slicing,
    *,
    monoids: Monoids = by_function,
    options: PlanOptions,
) -> tuple[Node, ...]:
    """Returns the nodes of a tree with a technique for each component of each aggregate.

    The options may force one; it is an error if it cannot serve an aggregate. Under `latency`,
    windows that overlap get a technique without slow single answers.
    """
    parts = {
        aggregate: aggregate.components
        for aggregate in {a for node in nodes for a in node.aggregates}
    }
    readers: Counter[tuple[Window | None, Component]] = Counter()
    if len(nodes) >= WINDOWS_FOR_A_DEQUE:
        for node in nodes:
            components = {
                component for aggregate in node.aggregates for component in parts[aggregate]
            }
            readers.update((node.parent, component) for component in components)

    def name(node: Node, held: float, aggregate: Aggregate, component: Component) -> str:
        possible = tuple(monoids(aggregate, component))
        if possible[0].sweep is not None:
            return possible[0].sweep
        if options.technique is not None:
            check_serves(options.technique, aggregate, possible)
            return options.technique
        if node.picks or node.window.grows:
            return RECALC
        windows = readers[node.parent, component]
        return least_technique(possible, held=held, windows=windows, latency=options.latency)

    named = []
    for node in nodes:
        held = cost.held(node.parent or slicing, node.window)
        techniques = tuple(
            tuple(name(node, held, aggregate, part) for part in parts[aggregate])
            for aggregate in node.aggregates
        )
        same = techniques == node.techniques
        named.append(node if same else replace(node, techniques=techniques))
    return tuple(named)


def least_technique(
    monoids: tuple[Monoid, ...], *, held: float, windows: int = 1, latency: bool = False
) -> str:
    """Returns the technique with the fewest combines that serves all the monoids.

    `held` is how many windows of a node hold one partial, `windows` how many nodes read it.
    """
    invertible = all(monoid.inverse is not None for monoid in monoids)
    if latency and held > 1 and all(monoid.only is None for monoid in monoids):
        return "subtract" if invertible else "daba_lite"
    if held < steady_operations_of(monoids):
        return RECALC
    if invertible:
        return "subtract"
    selective = all(monoid.selective for monoid in monoids)
    return "slick_deque" if selective and windows >= WINDOWS_FOR_A_DEQUE else "two_stacks_lite"


def check_serves(technique: str, aggregate: Aggregate, monoids: Iterable[Monoid]) -> None:
    """Raises an error if a technique cannot serve an aggregate for any type of values."""
    monoids = tuple(monoids)
    wanted = technique_named(technique)
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


def check_forced(workload: Workload) -> None:
    """Raises an error if the forced technique does not exist or cannot serve some query."""
    technique = workload.options.technique
    if technique is None:
        return
    technique_named(technique)
    asked = {
        aggregate: None for query in workload.shared for aggregate in query.aggregates.values()
    }
    for aggregate in asked:
        for component in aggregate.components:
            if not aggregate.sets_of_values:
                check_serves(technique, aggregate, by_function(aggregate, component))
