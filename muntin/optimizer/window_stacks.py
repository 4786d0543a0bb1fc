"""Chooses, for each window of a stream, between two stacks and reading its slices for each answer.

A batch of a stream closes few intervals of a window, often one. It can read the slices of that one,
or cells of levels in their place. Windows that close at the same time share this reading. Or it
keeps two stacks from batch to batch (`runtime.state.window_stacks`): then it reads two rows of a
key for each answer, however long the window is, but writes a suffix for each, and shares nothing.

Prices are in compiled combines, measured with 20,000 keys and four components on one core.
"""

from collections.abc import Collection
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise
from math import inf

from muntin.model.prices import RUNTIME
from muntin.model.time import SECOND
from muntin.model.trees import QUEUE, QUEUE_IN_STEPS, RECALC, Node, PeriodicTree
from muntin.model.windows import Window
from muntin.model.workload import Workload
from muntin.optimizer.choose_techniques import Monoids, monoids_of_all_types, with_techniques
from muntin.optimizer.cost_models import live_pairs
from muntin.optimizer.costs import combine_cost, partials_per_second

# A row of slices or cells that is read and put in order.
_READ = 45.0
# A suffix that is made and written; what else an answer of two stacks reads and writes.
_SUFFIX, _STACKS = 125.0, 250.0
# Each slice is combined into the newer row, into a suffix, and in an answer.
_COMBINES = 3.0
# The most suffixes of a key that are made at once, about as many as a window without levels reads.
# Those of longer windows are made in steps.
_AT_ONCE = 64


@dataclass(frozen=True, kw_only=True)
class _Events:
    """How many events there are per second, and how many live keys."""

    rate: float
    keys: float

    def rows(self, width: float, time: float) -> float:
        """Returns how many partials of a width all keys have in a time."""
        return live_pairs(SECOND / width, rate=self.rate, keys=self.keys) * time / SECOND


def with_stream_techniques(
    tree: PeriodicTree, workload: Workload, monoids: Monoids = monoids_of_all_types
) -> PeriodicTree:
    """Returns the tree with the technique by which a stream computes each node, and its cost.

    The rate and the keys of the workload are those of the tree's grouping. A technique that the
    user forces stays.
    """
    events = _Events(rate=workload.rate, keys=workload.keys)
    options = workload.options
    tree = with_techniques(tree, options, monoids)
    if options.technique is None:
        chosen = _choose(tree, events, monoids)
        nodes = (_name(node, _technique(node.window, chosen)) for node in tree.nodes)
        tree = replace(tree, nodes=tuple(nodes))
    if workload.prices.model != RUNTIME:
        # The costs of a paper's model are not those of what runs.
        return tree
    spent = {node.window: _answer_cost(node, tree, workload) for node in tree.nodes}
    for readers in tree.readers.values():
        for node, read in _shared_readings(readers, tree, events):
            if node.has_stacks:
                spent[node.window] += _stacks_cost(node, tree, events)
            else:
                spent[node.window] += read + _combining_cost(node, tree, events)
    return replace(tree, nodes=tuple(replace(node, cost=spent[node.window]) for node in tree.nodes))


def _technique(window: Window, chosen: Collection[Window]) -> str:
    """Returns the technique of a window, given the windows that have two stacks."""
    if window not in chosen:
        return RECALC
    return QUEUE if window.size <= _AT_ONCE * window.slide else QUEUE_IN_STEPS


def _name(node: Node, name: str) -> Node:
    """Returns the node with a technique for all but sets of values, which are always swept."""
    return replace(
        node,
        techniques=tuple(
            tuple(
                each if component.is_set_of_values else name
                for each, component in zip(names, aggregate.components, strict=True)
            )
            for aggregate, names in zip(node.aggregates, node.techniques, strict=True)
        ),
    )


def _choose(tree: PeriodicTree, events: _Events, monoids: Monoids) -> frozenset[Window]:
    """Returns the windows that have two stacks in the cheapest choice.

    Windows read their slices with the longest that closes at the same time. So the longest ones
    have stacks, or none have.
    """
    chosen: set[Window] = set()
    for readers in tree.readers.values():
        nodes = [node for node in _longest_first(readers) if _may_have_stacks(node, monoids)]
        # What is saved, in all, if so many of the longest have stacks.
        saved = [0.0] * (len(nodes) + 1)
        latest: dict[int, int] = {}
        for place, node in enumerate(nodes):
            read = _reading_cost(node, tree, events)
            kept = _stacks_cost(node, tree, events) - _combining_cost(node, tree, events)
            # It is read for a longer one, too, as long as that has no stacks.
            shared = [at for slide, at in latest.items() if node.window.slide % slide == 0]
            if shared:
                saved[max(shared) + 1] -= read
            saved[place + 1] += read - kept
            latest[node.window.slide] = place
        total = list(accumulate(saved))
        chosen.update(node.window for node in nodes[: total.index(max(total))])
    return frozenset(chosen)


def _may_have_stacks(node: Node, monoids: Monoids) -> bool:
    """Whether a node's partials are a few values, which combine at once, and enough are open.

    Sets of values and registers are as large for one slice as for many, so that a suffix for each
    interval would take many times the state of the slices.
    """
    possible = (
        monoid
        for aggregate in node.aggregates
        for component in aggregate.components
        for monoid in monoids(aggregate, component)
    )
    return (
        not node.window.grows
        and node.window.size > 2 * node.window.slide
        and all(monoid.sweep is None and monoid.only is None for monoid in possible)
    )


def _longest_first(nodes: tuple[Node, ...]) -> list[Node]:
    return sorted(nodes, key=lambda node: (-node.window.size, node.window.slide))


def _shared_readings(
    nodes: tuple[Node, ...], tree: PeriodicTree, events: _Events
) -> list[tuple[Node, float]]:
    """Returns the nodes of a level with what each reads that no longer one has read."""
    slides: set[int] = set()
    found = []
    for node in _longest_first(nodes):
        is_read = any(node.window.slide % slide == 0 for slide in slides)
        found.append((node, 0.0 if is_read else _reading_cost(node, tree, events)))
        if not node.has_stacks:
            slides.add(node.window.slide)
    return found


def _reading_cost(node: Node, tree: PeriodicTree, events: _Events) -> float:
    """Returns the cost per second of reading what the intervals that close are made of."""
    return _READ * _rows_read(node, tree, events) * SECOND / node.window.slide


def _combining_cost(node: Node, tree: PeriodicTree, events: _Events) -> float:
    """Returns the cost per second of combining what was read."""
    return _components(node) * _rows_read(node, tree, events) * SECOND / node.window.slide


def _components(node: Node) -> int:
    return sum(
        not component.is_set_of_values
        for aggregate in node.aggregates
        for component in aggregate.components
    )


def _rows_read(node: Node, tree: PeriodicTree, events: _Events) -> float:
    """Returns how many rows an interval is made of, of all keys.

    Near its begin and its end these are finer ones: about as many as make a coarser one.
    """
    finest = tree.level_of(node)
    widths = [SECOND / tree.slicing.rate, *(float(level.size) for level in tree.levels)][finest:]
    rows, left = 0.0, float(node.window.size)
    for width, coarser in pairwise([*widths, inf]):
        time = min(coarser, left)
        rows += events.rows(width, time)
        left -= time
    return rows


def _stacks_cost(node: Node, tree: PeriodicTree, events: _Events) -> float:
    """Returns the cost per second of two stacks: of a key for each interval that closes, and of
    each slice, which is read once more when its suffix is made."""
    window = node.window
    keys = events.rows(window.size, window.size)
    slices = events.rows(SECOND / tree.slicing.rate, window.slide)
    if tree.suffix_cell(node) is not None:
        # Cells are few, but are made of slices.
        slices *= 2
    each = (_SUFFIX + _STACKS + _COMBINES * _components(node)) * keys + _READ * slices
    return each * SECOND / window.slide


def _answer_cost(node: Node, tree: PeriodicTree, workload: Workload) -> float:
    """Returns the cost per second of answers, of sweeping sets of values, and of a level."""
    source = node.parent or tree.slicing
    made = partials_per_second(node.window, workload)
    sets = [aggregate for aggregate in node.aggregates if aggregate.sets_of_values]
    spent = combine_cost(source, node.window, sets, workload)
    spent += workload.prices.answer * len(node.queries) * made
    if node.window in tree.levels:
        read = partials_per_second(source, workload)
        spent += (_READ + _components(node)) * read + _SUFFIX * made
    return spent
