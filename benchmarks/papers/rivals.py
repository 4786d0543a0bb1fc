"""The groupings that Weave Share is compared with (Weave Share, section 6)."""

from collections.abc import Callable, Iterable, Sequence
from random import Random

from muntin.model.windows import Window
from muntin.optimizer.weave_share.groups import Group, GroupCost, group_of, same_edges
from muntin.optimizer.weave_share.incremental import Woven, best_home
from muntin.optimizer.weave_share.weave_share import weave_groups


def no_share(windows: Iterable[Window]) -> list[Group]:
    """Puts every window into a tree of its own."""
    return [group_of([window]) for window in windows]


def share_all(windows: Iterable[Window]) -> list[Group]:
    """Puts all windows into one tree (Shared Time Slices)."""
    return [group_of(windows)]


def random_groups(windows: Sequence[Window], random: Random) -> list[Group]:
    """Puts every window into a random tree, of as many trees as windows."""
    drawn: dict[int, list[Window]] = {}
    for window in windows:
        drawn.setdefault(random.randrange(len(windows)), []).append(window)
    return [group_of(group) for group in drawn.values()]


def insert_then_weave(windows: Iterable[Window], cost: GroupCost) -> list[Group]:
    """Puts each window in turn into the tree that it weaves best with, then merges trees."""
    trees: list[Woven] = []
    for window in windows:
        _insert(trees, window, cost)
    return weave_groups([group_of(tree.windows) for tree in trees], cost)


def _insert(trees: list[Woven], window: Window, cost: GroupCost) -> Woven:
    """Puts a window into the tree where it saves the most, or into a new one; returns the tree."""
    fresh = Woven([window])
    best = best_home(trees, fresh, cost)
    if best is None:
        trees.append(fresh)
        return fresh
    tree, rate = best
    tree.take_in(fresh, rate)
    return tree


def local_search(
    start: Sequence[Group], cost: GroupCost, random: Random, *, iterations: int
) -> list[Group]:
    """Moves one window per iteration to the tree where it costs least, starting with `start`.

    It stops early when a round over all windows moves none.
    """
    trees = [Woven(group.windows, group.rate) for group in start]
    tree_of = {window: tree for tree in trees for window in tree.windows}
    order = list(tree_of)
    random.shuffle(order)
    unmoved = 0
    for iteration in range(iterations):
        window = order[iteration % len(order)]
        source = tree_of[window]
        if len(source.windows) == 1:
            trees.remove(source)
        else:
            source.leave_out(window)
        tree = tree_of[window] = _insert(trees, window, cost)
        alone = len(tree.windows) == len(source.windows) == 1
        unmoved = unmoved + 1 if alone or tree is source else 0
        if unmoved == len(order):
            break
    return [group_of(sorted(tree.windows)) for tree in trees]


CONTENDERS: dict[str, Callable[[list[Window], GroupCost, Random], Sequence[Group]]] = {
    "no share": lambda windows, cost, random: no_share(windows),
    "random": lambda windows, cost, random: random_groups(windows, random),
    "shared": lambda windows, cost, random: share_all(windows),
    "insert then weave": lambda windows, cost, random: insert_then_weave(windows, cost),
    "local search": lambda windows, cost, random: local_search(
        no_share(windows), cost, random, iterations=10 * len(windows)
    ),
    "weave share": lambda windows, cost, random: weave_groups(same_edges(windows), cost),
}
