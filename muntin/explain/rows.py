"""What the text and the picture show of a tree, whichever kind of tree it is: a row per window."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate

from muntin.explain import words
from muntin.model.passes import SLICER
from muntin.model.plan import Plan, Tree
from muntin.model.record_tree import RecordNode, RecordTree
from muntin.model.time import format_duration
from muntin.model.windows.data_windows import Absent, CountWindow, Custom, DataWindow, Delta
from muntin.model.windows.window import Window
from muntin.runtime.state.record_lane import grains

AnyTree = Tree | RecordTree


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


def rows_of(tree: AnyTree) -> list[Row]:
    """The windows of a tree, each below the one that it reads."""
    if isinstance(tree, RecordTree):
        return [_of_records(node) for node in tree.nodes]
    rows: list[Row] = []
    places: dict[Window, int] = {}
    for node, depth in words.depths(tree):
        places[node.window] = len(rows)
        answers = words.answers(node)
        lines = [
            str(node.window) + (f" ({words.FACTOR})" if node.is_factor else ""),
            f"reads {'the slices' if node.parent is None else node.parent}",
            f"computes {', '.join(words.aggregates(node))}",
            words.cost(node.cost),
        ]
        if node.queries:
            lines.insert(1, f"answers {', '.join(answers)}")
        rows.append(
            Row(
                window=str(node.window),
                periodic=node.window,
                aggregates=words.aggregates(node),
                answers=answers,
                cost=node.cost,
                depth=depth,
                parent=None if node.parent is None else places[node.parent],
                is_factor=node.is_factor,
                story="\n".join(lines),
            )
        )
    return rows


def _of_records(node: RecordNode) -> Row:
    window = words.clean(str(node.window))
    kind = "found in the data" if isinstance(node.window, DataWindow) else "periodic"
    aggregates = tuple(words.clean(str(aggregate)) for aggregate in node.aggregates)
    answers = tuple(map(words.clean, node.queries))
    return Row(
        window=window,
        periodic=node.window if isinstance(node.window, Window) else None,
        aggregates=aggregates,
        answers=answers,
        cost=node.cost,
        depth=0,
        parent=None,
        is_factor=False,
        story="\n".join(
            [
                f"{window} ({kind})",
                f"answers {', '.join(answers)}",
                f"computes {', '.join(aggregates)}",
                words.cost(node.cost),
            ]
        ),
    )


def about(tree: AnyTree) -> str:
    """Whose events are read: the relation, the filter, the keys and the time."""
    return f"{words.relation(tree.grouping)} {' '.join(words.conditions(tree.grouping))}"


def reading(tree: AnyTree) -> str:
    """What happens to each event."""
    if not isinstance(tree, RecordTree):
        return _made(tree)
    if tree.is_alone:
        return "each event is read once"
    if tree.grain is not None:
        return f"events within {format_duration(tree.grain)} become one record, in order of time"
    return "each event is put in its place in time"


def _made(tree: Tree) -> str:
    """Whence the slices of a tree come: from the events, or from those of its pass."""
    shared, slices = tree.made_in, words.slices(tree.slicing)
    if shared is None:
        return f"events are added to {slices}"
    if shared.maker == SLICER:
        return f"pass {shared.number + 1} adds events to {slices}"
    if shared.keys == tree.grouping.keys and shared.slicing == tree.slicing:
        return f"pass {shared.number + 1} makes these {slices}"
    return f"those of pass {shared.number + 1} are folded into {slices}"


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


def answering(tree: AnyTree) -> str:
    """What the windows are built from."""
    if isinstance(tree, RecordTree):
        if tree.is_alone:
            return "Spark's own session_window, in a batch: no other query shares these events"
        return "windows are merged from slices, which begin where a window begins"
    if any(node.parent is not None for node in tree.nodes):
        return "windows are merged from slices, or from the window that they hang below"
    return "windows are merged from slices"


def _kept(tree: Tree) -> str:
    """What a stream keeps behind the watermark."""
    named = ["slices", *map(str, tree.levels)]
    longest = list(accumulate(tree.keeps, max))
    kept = (
        f"{name} for {format_duration(keep)}" for name, keep in zip(named, longest, strict=True)
    )
    return f"in a stream, kept behind the watermark at least: {'; '.join(kept)}"


def notes(tree: AnyTree) -> Iterator[str]:
    """What Spark does itself, and what a stream does with data windows."""
    if not isinstance(tree, RecordTree):
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
            yield _kept(tree)
        return
    cut = grains(tree)
    text = "in a stream: each record waits for the watermark"
    if cut is not None:
        text = (
            f"in a stream: slices of {format_duration(cut.edges[0].period)} wait for the watermark"
        )
    if tree.is_alone:
        text = f"{text}, and sessions are merged from them"
    if any(isinstance(kind, CountWindow | Delta | Custom | Absent) for kind in tree.kinds):
        yield f"{text}; every key is remembered"
    else:
        yield f"{text}; a key is forgotten once its windows have closed"
