"""Which technique turns what a node reads into its own partials, for every component of it.

The fewest combines per slice decide (Ω, `costs.operations`): windows that overlap little are
combined anew, what can be taken out again is subtracted, and all else goes through two stacks. One
deque for all windows pays for selective combines once there are many of them.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from muntin.errors import PlanError
from muntin.model.aggregates.aggregate import Aggregate, Component
from muntin.model.aggregates.monoids import Monoid
from muntin.model.plan import RECALC, Node, Slicing
from muntin.model.query import Workload
from muntin.model.windows.window import Window
from muntin.share.costs import cost
from muntin.share.costs.operations import possible_monoids, steady_operations_of
from muntin.techniques.table import TECHNIQUES, technique_named

# Every monoid by which a component of an aggregate may be combined: one, once its type is known.
Monoids = Callable[[Aggregate, Component], Sequence[Monoid]]

# Measured for max: at slide 1 a shared deque wins from 3 to 5 windows on, with hops of an eighth of
# the size from 10.
WINDOWS_FOR_A_DEQUE = 10


def by_function(aggregate: Aggregate, component: Component) -> Sequence[Monoid]:
    """The monoids over all types that an aggregate may meet: what a plan knows without its data."""
    return possible_monoids(component)


def with_techniques(
    nodes: Sequence[Node],
    slicing: Slicing,
    *,
    monoids: Monoids = by_function,
    technique: str | None = None,
    latency: bool = False,
) -> tuple[Node, ...]:
    """The nodes of a tree with a technique named for each component of each aggregate.

    `technique` forces one. With `latency`, windows that overlap get one that never takes long for
    a single answer. An aggregate that a forced one cannot serve is an error that names it.
    """
    parts = {one: one.components for one in {a for node in nodes for a in node.aggregates}}
    readers: Counter[tuple[Window | None, Component]] = Counter()
    if len(nodes) >= WINDOWS_FOR_A_DEQUE:
        for node in nodes:
            components = {component for one in node.aggregates for component in parts[one]}
            readers.update((node.parent, component) for component in components)

    def name(node: Node, held: float, aggregate: Aggregate, component: Component) -> str:
        found = tuple(monoids(aggregate, component))
        if technique is not None:
            check_serves(technique, aggregate, found)
            return technique
        if node.picks:
            return RECALC
        windows = readers[node.parent, component]
        return least_technique(found, held=held, windows=windows, latency=latency)

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
    """The technique with the fewest combines for partials that so many windows of a node hold.

    `windows` are those of all nodes that read the same partials. It does for every monoid given.
    """
    invertible = all(monoid.inverse is not None for monoid in monoids)
    if latency and held > 1:
        return "subtract" if invertible else "daba_lite"
    if held < steady_operations_of(monoids):
        return RECALC
    if invertible:
        return "subtract"
    selective = all(monoid.selective for monoid in monoids)
    return "slick_deque" if selective and windows >= WINDOWS_FOR_A_DEQUE else "two_stacks_lite"


def check_serves(technique: str, aggregate: Aggregate, monoids: Iterable[Monoid]) -> None:
    """Refuse a technique for an aggregate that none of the types it may meet would let it serve."""
    monoids = tuple(monoids)
    wanted = technique_named(technique)
    if not any(wanted.allows(monoid) for monoid in monoids):
        able = [one.name for one in TECHNIQUES.values() if all(map(one.allows, monoids))]
        raise PlanError(
            f"{technique} cannot serve {aggregate}: it needs {wanted.needs}; "
            f"these can: {', '.join(able)}"
        )


def check_forced(workload: Workload) -> None:
    """Refuse a forced technique that does not exist, or that some query cannot have."""
    if workload.technique is None:
        return
    technique_named(workload.technique)
    asked = {one: None for query in workload.shared for one in query.aggregates.values()}
    for aggregate in asked:
        for component in aggregate.components:
            check_serves(workload.technique, aggregate, by_function(aggregate, component))
