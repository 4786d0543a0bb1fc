"""The groupings that Weave Share is compared with (Weave Share, section 6)."""

from collections.abc import Iterable, Sequence
from random import Random

from muntin.model.plan import Plan
from muntin.model.query import Workload
from muntin.model.window import Window
from muntin.share.groups import Group, GroupCost, group_of
from muntin.share.weave import grouped_plan, weave_groups

# Trees that a local search costs before it stops, besides its own bound.
_MOST_TRIALS = 5_000


def no_share(windows: Iterable[Window]) -> list[Group]:
    """A tree for every window."""
    return [group_of([window]) for window in windows]


def share_all(windows: Iterable[Window]) -> list[Group]:
    """One tree: Shared Time Slices."""
    return [group_of(windows)]


def random_groups(windows: Sequence[Window], random: Random) -> list[Group]:
    """Every window in one of as many trees as there are windows, by lot."""
    drawn: dict[int, list[Window]] = {}
    for window in windows:
        drawn.setdefault(random.randrange(len(windows)), []).append(window)
    return [group_of(group) for group in drawn.values()]


def insert_then_weave(windows: Iterable[Window], cost: GroupCost) -> list[Group]:
    """Each window, as they come, into the tree that it weaves best with; then trees are merged."""
    groups: list[Group] = []
    for window in windows:
        alone = group_of([window])
        saved = [cost.reduction(group, alone) for group in groups]
        best = max(range(len(groups)), key=saved.__getitem__, default=None)
        if best is not None and saved[best] > 0:
            groups[best] = groups[best] + alone
        else:
            groups.append(alone)
    return weave_groups(groups, cost)


def local_search(
    start: Sequence[Group], cost: GroupCost, random: Random, *, iterations: int
) -> list[Group]:
    """From a grouping, moves one window an iteration to the tree where it costs least."""
    groups = {index: set(group.windows) for index, group in enumerate(start)}
    costs = {index: cost.tree(group) for index, group in enumerate(start)}
    home = {window: index for index, windows in groups.items() for window in windows}
    order, trials = list(home), 0
    random.shuffle(order)
    for iteration in range(iterations):
        window = order[iteration % len(order)]
        source = home[window]
        rest = groups[source] - {window}
        without = cost.tree(group_of(rest)) if rest else 0.0
        fresh = max(groups) + 1
        moves = {fresh: (cost.tree(group_of([window])), 0.0)}
        for target, windows in groups.items():
            if target != source:
                moves[target] = (cost.tree(group_of({*windows, window})), costs[target])
        trials += len(moves)
        target = min(moves, key=lambda index: moves[index][0] - moves[index][1])
        after, before = moves[target]
        if after - before < costs[source] - without - 1e-12:
            groups.setdefault(target, set()).add(window)
            groups[source] = rest
            home[window] = target
            costs[target], costs[source] = after, without
            if not rest:
                del groups[source], costs[source]
        if trials > _MOST_TRIALS:
            break
    return [group_of(sorted(windows)) for windows in groups.values()]


def _windows(groups: Iterable[Group]) -> list[Window]:
    return [window for group in groups for window in group.windows]


def _cost(workload: Workload, technique: str) -> GroupCost:
    return GroupCost(overhead=workload.rate / workload.keys, technique=technique)


def random(workload: Workload, *, seed: int = 0) -> Plan:
    """Windows grouped by lot."""
    return grouped_plan(
        "random", workload, lambda groups: random_groups(_windows(groups), Random(seed))
    )


def insertion(workload: Workload, *, technique: str = "two_stacks") -> Plan:
    """Insert-then-Weave."""
    cost = _cost(workload, technique)
    return grouped_plan(
        "insert_then_weave", workload, lambda groups: insert_then_weave(_windows(groups), cost)
    )


def local(workload: Workload, *, technique: str = "two_stacks", seed: int = 0) -> Plan:
    """Local search from no sharing, with ten times the steps that Weave Share could need."""
    cost = _cost(workload, technique)

    def split(groups: list[Group]) -> list[Group]:
        windows = _windows(groups)
        return local_search(no_share(windows), cost, Random(seed), iterations=10 * len(windows))

    return grouped_plan("local_search", workload, split)
