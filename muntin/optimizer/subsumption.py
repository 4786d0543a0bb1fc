"""Subsumption: groups of windows in which wider windows are built from narrower ones (section 3).

A group is a staircase of windows by rising size. The slide of each is a multiple of the slide
below, so that it can be built from the window below. Windows of equal size share a stair: the one
with the shortest slide is computed, and the others take some of its states (piggybacked windows).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from muntin.errors import PlanError
from muntin.model.plan import Plan
from muntin.model.query import Query
from muntin.model.trees import PeriodicTree
from muntin.model.windows import Window
from muntin.model.workload import Workload
from muntin.optimizer.trees import nodes_of, plan_of, tree_of


def subsumable(window: Window, other: Window) -> bool:
    """Whether `window` can be nested under `other` (definition 1), offsets included."""
    return (
        other.slide % window.slide == 0
        and other.size >= window.size
        and (other.offset - window.offset) % window.slide == 0
    )


@dataclass(frozen=True, kw_only=True)
class Stairs:
    """A group: a seed, then the enclosing windows, each with its piggybacked windows."""

    # By rising size; the first window of a stair has the shortest slide.
    steps: tuple[tuple[Window, ...], ...]

    @property
    def seed(self) -> Window:
        """The narrowest window, whose slide is the group's base slide."""
        return self.steps[0][0]

    @property
    def windows(self) -> tuple[Window, ...]:
        """Every window of the group, narrow ones first."""
        return tuple(window for step in self.steps for window in step)

    @property
    def enclosing_windows(self) -> tuple[Window, ...]:
        """The materialised windows that are built from a narrower one."""
        return tuple(step[0] for step in self.steps[1:])

    @property
    def quotients(self) -> dict[Window, int]:
        """For each piggybacked window, q: it takes every q-th state of its stair."""
        return {window: window.slide // step[0].slide for step in self.steps for window in step[1:]}

    def append(self, window: Window) -> "Stairs | None":
        """Returns the group with a window at least as wide as its widest (canEmbed), or None."""
        top = self.steps[-1]
        if not subsumable(top[0], window):
            return None
        if window.size == top[0].size:
            return Stairs(steps=(*self.steps[:-1], (*top, window)))
        return Stairs(steps=(*self.steps, (window,)))

    def embed(self, window: Window) -> "Stairs | None":
        """Returns the group with a window inserted by its size (embedWindow), or None.

        The window must nest under the next wider stair, and the next narrower one under it.
        """
        below = [step for step in self.steps if step[0].size < window.size]
        level = [step for step in self.steps if step[0].size == window.size]
        above = [step for step in self.steps if step[0].size > window.size]
        if level:
            step = tuple(sorted((*level[0], window)))
            if not all(subsumable(step[0], other) for other in step):
                return None
        else:
            step = (window,)
        if below and not subsumable(below[-1][0], step[0]):
            return None
        if above and not subsumable(step[0], above[0][0]):
            return None
        return Stairs(steps=(*below, step, *above))

    def without(self, window: Window) -> "Stairs | None":
        """Returns the group without a window, or None if it was the last.

        A piggybacked window with the shortest slide takes the place of a materialised one that
        leaves, also of the seed.
        """
        steps = tuple(tuple(w for w in step if w != window) for step in self.steps)
        steps = tuple(step for step in steps if step)
        return Stairs(steps=steps) if steps else None

    @property
    def is_nested(self) -> bool:
        """Whether every stair can be built from the one below, and every window from its stair."""
        heads = [step[0] for step in self.steps]
        return all(subsumable(a, b) for a, b in pairwise(heads)) and all(
            subsumable(step[0], window) for step in self.steps for window in step
        )


def subsume_windows(windows: Iterable[Window]) -> list[Stairs]:
    """SubsumeWindows (algorithm 1): by rising size, tries groups with long base slides first."""
    groups: list[Stairs] = []
    for window in sorted(set(windows)):
        for index in _by_base_slide(groups, window):
            grown = groups[index].append(window)
            if grown is not None:
                groups[index] = grown
                break
        else:
            groups.append(Stairs(steps=((window,),)))
    return groups


def embed(groups: Sequence[Stairs], window: Window) -> list[Stairs]:
    """embedWindow: returns the groups with one more window; the others stay where they are."""
    groups = list(groups)
    if any(window in group.windows for group in groups):
        return groups
    for index in _by_base_slide(groups, window, either=True):
        grown = groups[index].embed(window)
        if grown is not None:
            groups[index] = grown
            return groups
    return [*groups, Stairs(steps=((window,),))]


def revoke(groups: Sequence[Stairs], window: Window) -> list[Stairs]:
    """Returns the groups without a window.

    Windows that took its states or were built from it are embedded again.
    """
    if not any(window in group.windows for group in groups):
        raise PlanError(f"there is no window {window} to revoke")
    remaining: list[Stairs] = []
    orphans: list[Window] = []
    for group in groups:
        rest = group.without(window) if window in group.windows else group
        while rest is not None and not rest.is_nested:
            orphan = rest.windows[-1]
            orphans.append(orphan)
            rest = rest.without(orphan)
        if rest is not None:
            remaining.append(rest)
    for orphan in sorted(orphans):
        remaining = embed(remaining, orphan)
    return remaining


def _by_base_slide(groups: Sequence[Stairs], window: Window, *, either: bool = False) -> list[int]:
    """Returns the indices of the groups that may take a window, longest base slide first."""
    fits = [
        index
        for index, group in enumerate(groups)
        if window.slide % group.seed.slide == 0 or (either and group.seed.slide % window.slide == 0)
    ]
    return sorted(fits, key=lambda index: -groups[index].seed.slide)


def stairs_tree(stairs: Stairs, queries: Sequence[Query], workload: Workload) -> PeriodicTree:
    """Returns a group as a tree: each stair reads the widest narrower one that covers it."""
    parents: dict[Window, Window | None] = {}
    heads: list[Window] = []
    for step in stairs.steps:
        head = step[0]
        parents[head] = next((h for h in reversed(heads) if h.covers(head)), None)
        parents |= dict.fromkeys(step[1:], head)
        heads.append(head)
    members = set(stairs.windows)
    nodes = nodes_of(query for query in queries if query.window in members)
    return tree_of(queries[0].grouping, nodes, workload, parents)


def subsume(workload: Workload) -> Plan:
    """Plans a tree for each group of subsumable windows."""
    return plan_of(
        "subsume",
        workload,
        lambda queries: [
            stairs_tree(stairs, queries, workload)
            for stairs in subsume_windows(query.periodic_window for query in queries)
        ],
    )
