"""Descriptions of trees and passes, used by the text, the picture and the JSON."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate

from muntin.explain import words
from muntin.model.data_windows import Absent, CountWindow, Custom, DataWindow, Delta
from muntin.model.passes import Engine
from muntin.model.plan import Plan
from muntin.model.time import format_duration
from muntin.model.trees import DataTree, PeriodicTree, Tree, TreeNode
from muntin.model.windows import Window


@dataclass(frozen=True, kw_only=True)
class WindowRow:
    """A window of a tree, as a row of a table."""

    window: str
    # The window itself, if it has fixed sizes.
    periodic: Window | None
    aggregates: tuple[str, ...]
    answers: tuple[str, ...]
    cost: float
    # How many windows are above it, and the row that it reads; None: it reads the slices.
    depth: int = 0
    parent: int | None = None
    is_factor: bool = False
    # What it reads, and what kind of window it is.
    reads: str | None = None
    kind: str | None = None

    @property
    def story(self) -> str:
        """The full description of the window, in several lines."""
        lines = [self.window + (f" ({self.kind})" if self.kind else "")]
        if not self.is_factor:
            lines.append(f"answers {', '.join(self.answers)}")
        if self.reads is not None:
            lines.append(f"reads {self.reads}")
        return "\n".join([*lines, f"computes {', '.join(self.aggregates)}", words.cost(self.cost)])


class TreeText:
    """Describes a tree; `tree_text` returns that of its kind."""

    # The tree, if its edges are known before the data is, so that they can be drawn.
    with_edges: PeriodicTree | None = None

    def __init__(self, tree: Tree) -> None:
        self.tree = tree

    @cached_property
    def rows(self) -> list[WindowRow]:
        """A row for each window; a window comes after the one that it reads."""
        rows: list[WindowRow] = []
        places: dict[Window | DataWindow, int] = {}
        for node, depth in words.nodes_with_depth(self.tree):
            places[node.window] = len(rows)
            rows.append(
                WindowRow(
                    window=words.clean(str(node.window)),
                    periodic=node.window if isinstance(node.window, Window) else None,
                    aggregates=words.aggregates(node),
                    answers=words.answers(node),
                    cost=node.cost,
                    depth=depth,
                    parent=None if node.parent is None else places[node.parent],
                    is_factor=node.is_factor,
                    reads=self._reads(node),
                    kind=self._kind(node),
                )
            )
        return rows

    @property
    def events(self) -> str:
        """The relation, filter, keys and time of the events that the tree reads."""
        grouping = self.tree.grouping
        return f"{words.relation(grouping)} {' '.join(words.conditions(grouping))}"

    @property
    def reading_step(self) -> str:
        """A sentence on how events become slices or records."""
        raise NotImplementedError

    @property
    def answering_step(self) -> str:
        """A sentence on how windows are answered."""
        raise NotImplementedError

    def notes(self) -> Iterator[str]:
        """Yields sentences on the parts that Spark computes, and on the state of a stream."""
        raise NotImplementedError

    def _reads(self, node: TreeNode) -> str | None:
        """What a node reads, if the nodes of the tree differ in that."""
        return None

    def _kind(self, node: TreeNode) -> str | None:
        """What kind of window a node is, if that is not obvious."""
        raise NotImplementedError


class _PeriodicText(TreeText):
    def __init__(self, tree: PeriodicTree) -> None:
        super().__init__(tree)
        self._tree = self.with_edges = tree

    @property
    def reading_step(self) -> str:
        tree, shared, slices = self._tree, self._tree.slicing_pass, words.slices(self._tree.slicing)
        if shared is None:
            return f"events are added to {slices}"
        if shared.engine is Engine.COMPILED:
            return f"pass {shared.number + 1} adds events to {slices}"
        if shared.keys == tree.grouping.keys and shared.slicing == tree.slicing:
            return f"pass {shared.number + 1} makes these {slices}"
        return f"those of pass {shared.number + 1} are folded into {slices}"

    @property
    def answering_step(self) -> str:
        if any(node.parent is not None for node in self._tree.nodes):
            return "windows are merged from slices, or from the window that they hang below"
        return "windows are merged from slices"

    def notes(self) -> Iterator[str]:
        tree = self._tree
        if tree.engine is Engine.SPARK:
            yield "one query whose windows are the slices: in a batch Spark alone answers it"
        if tree.combined_by_spark:
            names = ", ".join(map(words.clean, tree.combined_by_spark))
            yield f"merged by Spark, as the compiled runtime does not take their types: {names}"
        bounded = [str(each) for each in tree.aggregates if each.definition.is_approximate]
        if bounded and tree.engine is not Engine.SPARK:
            yield f"Spark's only within their errors: {', '.join(map(words.clean, bounded))}"
        if tree.time_part is not None:
            yield f"few keys: split by time, too, into parts of {format_duration(tree.time_part)}"
        if tree.levels:
            times = map(format_duration, accumulate(tree.retention, max))
            steps = zip(("slices", *tree.levels), times, strict=True)
            levels = "; ".join(f"{name} for {time}" for name, time in steps)
            yield f"in a stream, kept behind the watermark at least: {levels}"

    def _reads(self, node: TreeNode) -> str | None:
        return "the slices" if node.parent is None else str(node.parent)

    def _kind(self, node: TreeNode) -> str | None:
        return words.FACTOR if node.is_factor else None


class _DataText(TreeText):
    def __init__(self, tree: DataTree) -> None:
        super().__init__(tree)
        self._tree = tree

    @property
    def reading_step(self) -> str:
        if self._tree.engine is Engine.SPARK:
            return "each event is read once"
        if (grain := self._tree.grain) is not None:
            return f"events within {format_duration(grain)} become one record, in order of time"
        return "each event is put in its place in time"

    @property
    def answering_step(self) -> str:
        if self._tree.engine is Engine.SPARK:
            return "Spark's own session_window, in a batch: no other query shares these events"
        return "windows are merged from slices, which begin where a window begins"

    def notes(self) -> Iterator[str]:
        waiting, tree = "each record waits", self._tree
        if tree.engine is Engine.USER:
            yield f"calls code of yours: {', '.join(map(words.clean, tree.user_code))}"
        if tree.grains is not None:
            waiting = f"slices of {format_duration(tree.grains.edges[0].period)} wait"
        text = f"in a stream: {waiting} for the watermark"
        if tree.engine is Engine.SPARK:
            text += ", and sessions are merged from them"
        remembering = CountWindow | Delta | Custom | Absent
        if any(isinstance(window, remembering) for window in tree.data_windows):
            yield f"{text}; every key is remembered"
        else:
            yield f"{text}; a key is forgotten once its windows have closed"

    def _kind(self, node: TreeNode) -> str | None:
        return "found in the data" if isinstance(node.window, DataWindow) else "periodic"


def tree_text(tree: Tree) -> TreeText:
    """Returns the description of a tree."""
    if isinstance(tree, PeriodicTree):
        return _PeriodicText(tree)
    assert isinstance(tree, DataTree)
    return _DataText(tree)


@dataclass(frozen=True, kw_only=True)
class PassText:
    """The name of a pass, what it reads, and what it does with the events."""

    name: str
    about: str
    reading_step: str
    cost: float


def pass_texts(plan: Plan) -> list[PassText]:
    """Returns a description of each pass that serves several trees, or uses the slicer."""
    texts = []
    for shared in plan.passes:
        trees = plan.trees_of(shared)
        family = trees[0].grouping.family
        filters = {tree.grouping.where for tree in trees} - {None}
        keys = ", ".join(map(words.clean, shared.keys))
        if shared.engine is Engine.COMPILED:
            reading = "compiled code gets the events once and cuts them for each tree"
        else:
            by = f" by {keys}" if keys else ""
            reading = f"Spark adds events to {words.slices(shared.slicing)}{by}"
        if filters:
            reading += f", under {words.pluralize(len(filters), 'filter')}"
        texts.append(
            PassText(
                name=f"pass {shared.number + 1}",
                about=f"{words.relation(family)} over {words.clean(family.time)}, read once for "
                f"{words.pluralize(len(trees), 'tree')}",
                reading_step=reading,
                cost=shared.cost,
            )
        )
    return texts


def stored_relations(plan: Plan) -> list[str]:
    """Returns a sentence for each relation that is computed once for several passes."""
    return [
        f"{words.relation(relation)} is computed once and stored, since it is read "
        f"{plan.readings[relation]} times"
        for relation in plan.stored_relations
    ]
