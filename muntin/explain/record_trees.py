"""Trees of data windows, as text and as boxes: a row for each window."""

import textwrap
from collections.abc import Iterator

from muntin.explain import words
from muntin.explain.canvas import BAND, BOX, MUTED, Canvas, clipped, listed
from muntin.model.record_tree import RecordNode, RecordTree
from muntin.model.time import format_duration
from muntin.model.windows.data_windows import Absent, CountWindow, Custom, DataWindow, Delta
from muntin.runtime.state.record_lane import grains

_ROW = 30.0
_PADDING = 18.0


def how(tree: RecordTree) -> str:
    """How the stream is cut."""
    if tree.is_alone:
        return "nothing to share it with: in a batch Spark's own session_window answers"
    text = "slices start where a window begins, as records arrive"
    if tree.grain is not None:
        return f"{text}; events within {format_duration(tree.grain)} are one record"
    return text


def streamed(tree: RecordTree) -> str:
    """What a stream keeps of the tree."""
    cut = grains(tree)
    text = "in a stream: records wait for the watermark"
    if cut is not None:
        text = f"in a stream: cut every {format_duration(cut.edges[0].period)}"
    if tree.is_alone:
        text = f"{text}, slices start where a session begins"
    if any(isinstance(kind, CountWindow | Delta | Custom | Absent) for kind in tree.kinds):
        return f"{text}; every key is remembered"
    return f"{text}; keys are forgotten as their windows close"


def lines(tree: RecordTree, width: int) -> Iterator[str]:
    """The tree as text."""
    name = "windows found in the data: "
    about = f"{words.relation(tree.family)} {' '.join(words.conditions(tree.family))}"
    yield from textwrap.wrap(name + about, width, subsequent_indent=" " * 4)
    yield how(tree)
    yield streamed(tree)
    done = "read" if tree.is_alone else "put in order"
    yield f"{done} for {words.cost(tree.cut_cost)}, in all {words.cost(tree.cost)}"
    windows = [_window(node) for node in tree.nodes]
    widest = min(46, max(map(len, windows)))
    costs = [words.cost(node.cost) for node in tree.nodes]
    for node, window, cost in zip(tree.nodes, windows, costs, strict=True):
        branch = "└─" if node is tree.nodes[-1] else "├─"
        start = f"{branch} {_most(window, widest):<{widest}}  {cost:>{max(map(len, costs))}}  "
        rest = f"{', '.join(_aggregates(node))}  {', '.join(map(words.clean, node.queries))}"
        yield start + _most(rest, max(16, width - len(start)))


def height(tree: RecordTree) -> float:
    """How high the picture of a tree is."""
    return 2 * _PADDING + 44 + _ROW * len(tree.nodes)


def draw(canvas: Canvas, tree: RecordTree, x: float, y: float, width: float, colour: str) -> float:
    """A band with a box for each window; gives the height."""
    total = height(tree)
    canvas.rect(x, y, width, total, BAND, rx=8)
    left, room = x + _PADDING, width - 2 * _PADDING
    about = f"{words.relation(tree.family)} {' '.join(words.conditions(tree.family))}"
    canvas.text(left, y + 28, clipped(about, room, 13, bold=True), size=13, bold=True)
    cost = f"in all {words.cost(tree.cost)}"
    canvas.text(left, y + 46, clipped(f"{how(tree)}; {cost}", room, 12), size=12, fill=MUTED)
    top = y + _PADDING + 40
    for node in tree.nodes:
        canvas.begin(_story(node))
        canvas.rect(left, top, room, _ROW - 4, BOX, stroke=colour, stroke_width=1.2, rx=5)
        base = top + 17
        part = (room - 90) / 3
        canvas.text(left + 10, base, clipped(_window(node), part, 12, bold=True), bold=True)
        names = tuple(words.clean(name) for name in node.queries)
        canvas.text(left + 20 + part, base, listed(names, part - 20, 11), size=11, fill=colour)
        asked = listed(_aggregates(node), part - 20, 11)
        canvas.text(left + 20 + 2 * part, base, asked, size=11, fill=MUTED)
        canvas.text(left + room - 10, base, words.cost(node.cost), size=11, anchor="end")
        canvas.end()
        top += _ROW
    return total


def _window(node: RecordNode) -> str:
    return words.clean(str(node.window))


def _aggregates(node: RecordNode) -> tuple[str, ...]:
    return tuple(words.clean(str(one)) for one in node.aggregates)


def _story(node: RecordNode) -> str:
    found = "found in the data" if isinstance(node.window, DataWindow) else "periodic"
    return "\n".join(
        [
            f"{_window(node)} ({found})",
            f"answers {', '.join(map(words.clean, node.queries))}",
            f"computes {', '.join(_aggregates(node))}",
            words.cost(node.cost),
        ]
    )


def _most(text: str, room: int) -> str:
    return text if len(text) <= room else text[: room - 1].rstrip() + "…"
