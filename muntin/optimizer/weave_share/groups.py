"""Groups of windows that share slices, and their costs (Weave Share, section 4)."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from math import lcm

from muntin.model.slicing import Edges
from muntin.model.time import SECOND
from muntin.model.windows.window import Window
from muntin.optimizer.costs.operations import Load, load_of, operations_of
from muntin.optimizer.slicing.edges import distinct, edge_rate, edges_of


@dataclass(frozen=True, kw_only=True, eq=False)
class Group:
    """Distinct windows that are cut together."""

    windows: tuple[Window, ...]
    edges: tuple[Edges, ...]
    load: Load

    @cached_property
    def rate(self) -> float:
        """E: slices per second."""
        return edge_rate(self.edges)

    def __add__(self, other: "Group") -> "Group":
        merged = Group(
            windows=self.windows + other.windows,
            edges=self.edges
            if self.edges == other.edges
            else distinct((*self.edges, *other.edges)),
            load=self.load + other.load,
        )
        for group in (self, other):
            # The rate of edges that are known need not be counted again.
            if merged.edges == group.edges:
                merged.__dict__["rate"] = group.rate
        return merged


def group_of(windows: Iterable[Window]) -> Group:
    """Returns the group of some distinct windows."""
    windows = tuple(windows)
    return Group(windows=windows, edges=edges_of(windows), load=load_of(windows))


def same_edges(windows: Iterable[Window]) -> list[Group]:
    """Groups windows with identical edges.

    These weave perfectly: to merge them saves λ and costs nothing, the most that any merge can save
    (equation 5), so the greedy algorithm would make these merges first.
    """
    alike: dict[tuple[int, int, int], list[Window]] = {}
    for window in windows:
        begin = window.offset % window.slide
        end = (begin + window.size) % window.slide
        alike.setdefault((window.slide, min(begin, end), max(begin, end)), []).append(window)
    return [
        Group(windows=tuple(members), edges=edges_of(members[:1]), load=load_of(members))
        for members in alike.values()
    ]


def weaveability(a: Group, b: Group) -> float:
    """Returns the share of edges in the composite slide that both groups have (equation 4)."""
    both = a + b
    period = lcm(*(edges.period for edges in both.edges))
    total = round(both.rate * period / SECOND)
    common = round((a.rate + b.rate) * period / SECOND) - total
    return common / total


@dataclass(frozen=True, kw_only=True)
class GroupCost:
    """The cost of groups, in operations per second and key, with any technique."""

    # The fixed cost of a tree: λ with Weave Share, the rate of the finest slices with TriWeave.
    overhead: float
    technique: str = "panes"

    def omega(self, load: Load, rate: float) -> float:
        """Returns Ω, the final combines per slice."""
        return operations_of(self.technique)(load, rate)

    def tree(self, group: Group) -> float:
        """Returns λ + E·Ω (equation 1)."""
        return self.overhead + group.rate * self.omega(group.load, group.rate)

    def plan(self, groups: Iterable[Group]) -> float:
        """Returns the sum over all trees (equation 3)."""
        return sum(self.tree(group) for group in groups)

    def reduction(self, a: Group, b: Group) -> float:
        """Returns what merging two trees saves (equation 5)."""
        return self.tree(a) + self.tree(b) - self.tree(a + b)
