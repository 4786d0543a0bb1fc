"""What the text and the picture show of a tree, whichever kind of tree it is: a row per window."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate

from muntin.explain import words
from muntin.model.passes import SLICER
from muntin.model.plan import Plan
from muntin.model.time import format_duration
from muntin.model.trees import DataTree, PeriodicTree, Tree, TreeNode
from muntin.model.windows.data_windows import Absent, CountWindow, Custom, DataWindow, Delta
from muntin.model.windows.window import Window


@dataclass(frozen=True, kw_only=True)
class Row:
    """A window of a tree: what is said of it, and where it hangs."""

    window: str
    # The same as sizes, where it has fixed ones.
    periodic: Window | None
    aggregates: tuple[str, ...]
    answers: tuple[str, ...]
    cost: float
    # How many windows it hangs below, and the row that it reads; None reads the slices.
    depth: int
    parent: int | None
    is_factor: bool
    # All there is to say of it, in full.
    story: str


class TreeStory:
    """What the text and the picture say of a tree; `story_of` returns that of its kind."""

    # The tree, if its edges are known before the data is, so that they can be drawn.
    with_edges: PeriodicTree | None = None

    def __init__(self, tree: Tree) -> None:
        self.tree = tree

    @property
    def about(self) -> str:
        """Whose events are read: the relation, the filter, the keys and the time."""
        grouping = self.tree.grouping
        return f"{words.relation(grouping)} {' '.join(words.conditions(grouping))}"

    @cached_property
    def rows(self) -> list[Row]:
        """The windows, each below the one that it reads."""
        rows: list[Row] = []
        places: dict[Window | DataWindow, int] = {}
        for node, depth in words.depths(self.tree):
            places[node.window] = len(rows)
            window = words.clean(str(node.window))
            label, reads = self._label(node), self._reads(node)
            answers, aggregates = words.answers(node), words.aggregates(node)
            lines = [
                f"{window} ({label})" if label else window,
                *([f"answers {', '.join(answers)}"] if node.queries else []),
                *([f"reads {reads}"] if reads else []),
                f"computes {', '.join(aggregates)}",
                words.cost(node.cost),
            ]
            rows.append(
                Row(
                    window=window,
                    periodic=node.window if isinstance(node.window, Window) else None,
                    aggregates=aggregates,
                    answers=answers,
                    cost=node.cost,
                    depth=depth,
                    parent=None if node.parent is None else places[node.parent],
                    is_factor=node.is_factor,
                    story="\n".join(lines),
                )
            )
        return rows

    def _label(self, node: TreeNode) -> str | None:
        """What kind of window a node is, if that is worth saying."""
        raise NotImplementedError

    def _reads(self, node: TreeNode) -> str | None:
        """What a node reads, if nodes differ in that."""
        return None

    @property
    def reading(self) -> str:
        """What happens to each event."""
        raise NotImplementedError

    @property
    def answering(self) -> str:
        """What the windows are built from."""
        raise NotImplementedError

    def notes(self) -> Iterator[str]:
        """Yields what Spark does itself, and what a stream keeps."""
        raise NotImplementedError


class _PeriodicStory(TreeStory):
    def __init__(self, tree: PeriodicTree) -> None:
        super().__init__(tree)
        self._tree = tree
        self.with_edges = tree

    def _label(self, node: TreeNode) -> str | None:
        return words.FACTOR if node.is_factor else None

    def _reads(self, node: TreeNode) -> str | None:
        return "the slices" if node.parent is None else str(node.parent)

    @property
    def reading(self) -> str:
        tree = self._tree
        shared, slices = tree.made_in, words.slices(tree.slicing)
        if shared is None:
            return f"events are added to {slices}"
        if shared.maker == SLICER:
            return f"pass {shared.number + 1} adds events to {slices}"
        if shared.keys == tree.grouping.keys and shared.slicing == tree.slicing:
            return f"pass {shared.number + 1} makes these {slices}"
        return f"those of pass {shared.number + 1} are folded into {slices}"

    @property
    def answering(self) -> str:
        if any(node.parent is not None for node in self._tree.nodes):
            return "windows are merged from slices, or from the window that they hang below"
        return "windows are merged from slices"

    def notes(self) -> Iterator[str]:
        tree = self._tree
        if tree.is_alone:
            yield "one query whose windows are the slices: in a batch Spark alone answers it"
        if tree.native:
            names = ", ".join(map(words.clean, tree.native))
            yield f"merged by Spark, as the compiled runtime does not take their types: {names}"
        bounded = [str(each) for each in tree.aggregates if each.definition.is_bounded]
        if bounded and not tree.is_alone:
            yield f"Spark's only within their errors: {', '.join(map(words.clean, bounded))}"
        if tree.time_part is not None:
            yield f"few keys: split by time, too, into parts of {format_duration(tree.time_part)}"
        if tree.levels:
            named = ["slices", *map(str, tree.levels)]
            longest = accumulate(tree.keeps, max)
            levels = (
                f"{name} for {format_duration(keep)}"
                for name, keep in zip(named, longest, strict=True)
            )
            yield f"in a stream, kept behind the watermark at least: {'; '.join(levels)}"


class _DataStory(TreeStory):
    def __init__(self, tree: DataTree) -> None:
        super().__init__(tree)
        self._tree = tree

    def _label(self, node: TreeNode) -> str | None:
        return "found in the data" if isinstance(node.window, DataWindow) else "periodic"

    @property
    def reading(self) -> str:
        grain = self._tree.grain
        if self._tree.is_alone:
            return "each event is read once"
        if grain is not None:
            return f"events within {format_duration(grain)} become one record, in order of time"
        return "each event is put in its place in time"

    @property
    def answering(self) -> str:
        if self._tree.is_alone:
            return "Spark's own session_window, in a batch: no other query shares these events"
        return "windows are merged from slices, which begin where a window begins"

    def notes(self) -> Iterator[str]:
        tree, grains = self._tree, self._tree.grains
        waiting = "each record waits"
        if grains is not None:
            waiting = f"slices of {format_duration(grains.edges[0].period)} wait"
        text = f"in a stream: {waiting} for the watermark"
        if tree.is_alone:
            text += ", and sessions are merged from them"
        remembers = CountWindow | Delta | Custom | Absent
        if any(isinstance(window, remembers) for window in tree.data_windows):
            yield f"{text}; every key is remembered"
        else:
            yield f"{text}; a key is forgotten once its windows have closed"


def story_of(tree: Tree) -> TreeStory:
    """Returns what is said of a tree."""
    match tree:
        case PeriodicTree():
            return _PeriodicStory(tree)
        case DataTree():
            return _DataStory(tree)
    raise TypeError(f"no story of {type(tree).__name__}")


@dataclass(frozen=True, kw_only=True)
class PassStory:
    """What is said of a pass."""

    name: str
    # Whose events are read, and what is done with them.
    about: str
    reading: str
    cost: float


def passes_of(plan: Plan) -> list[PassStory]:
    """The passes that are made for several trees, or by the slicer."""
    stories = []
    for shared in plan.passes:
        trees = plan.trees_of(shared)
        family = trees[0].grouping.family
        filters = {tree.grouping.where for tree in trees} - {None}
        keys = ", ".join(map(words.clean, shared.keys))
        by = f" by {keys}" if keys else ""
        if shared.maker == SLICER:
            reading = "compiled code gets the events once and cuts them for each tree"
        else:
            reading = f"Spark adds events to {words.slices(shared.slicing)}{by}"
        if filters:
            reading += f", under {words.counted(len(filters), 'filter')}"
        stories.append(
            PassStory(
                name=f"pass {shared.number + 1}",
                about=f"{words.relation(family)} over {words.clean(family.time)}, read once for "
                f"{words.counted(len(trees), 'tree')}",
                reading=reading,
                cost=shared.cost,
            )
        )
    return stories


def stored_relations(plan: Plan) -> list[str]:
    """What is said of each relation that is computed once for several passes."""
    return [
        f"{words.relation(relation)} is computed once and stored, since it is read "
        f"{plan.readings[relation]} times"
        for relation in plan.stored
    ]
