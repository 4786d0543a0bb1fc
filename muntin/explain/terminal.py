"""A plan as a tree of text: one line per node, columns aligned, 100 columns wide."""

import textwrap
from collections.abc import Iterator
from dataclasses import dataclass

from muntin.explain import record_trees, words
from muntin.model.plan import Node, Plan, Tree
from muntin.model.query import PlainQuery

WIDTH = 100
# Where lines are prose, shorter ones read better.
_NARROW = 80
# The stairs of a hundred windows would walk off the page: deeper nodes stay at this depth and
# say what they read.
_DEEPEST = 4
_WIDEST_LABEL = 46
_WIDEST_AGGREGATES = 60
_NARROWEST = 12


@dataclass(frozen=True, kw_only=True)
class _Row:
    """One node's line, its columns not yet aligned."""

    label: str
    cost: str
    aggregates: tuple[str, ...]
    answers: tuple[str, ...]
    # What stands behind the names: whom it reads, where the branches do not show it.
    note: str


def text(plan: Plan) -> str:
    """The plan as a text tree, with its cost beside the unshared one; no line ends in a space."""
    trees = [(tree, list(_rows(tree))) for tree in plan.trees]
    columns = _columns([row for _, rows in trees for row in rows])
    lines = [*_heading(plan), *_strategies(plan)]
    for number, (tree, rows) in enumerate(trees, start=1):
        lines += ["", *_root(tree, number, len(trees))]
        lines += [_aligned(row, columns) for row in rows]
    for found in plan.record_trees:
        lines += ["", *record_trees.lines(found, WIDTH)]
    if plan.plain:
        lines += ["", words.PLAIN_HEADING, *_plain(plan.plain)]
    return "\n".join(line.rstrip() for line in lines)


def _columns(rows: list[_Row]) -> tuple[int, int, int]:
    """The widths of label, cost and aggregates, one for all trees; the names get the rest."""
    label = min(_WIDEST_LABEL, _usual([len(row.label) for row in rows]))
    cost = max((len(row.cost) for row in rows), default=0)
    asked = max((len(", ".join(row.aggregates)) for row in rows), default=0)
    names = _usual([len(", ".join(row.answers) + row.note) for row in rows])
    room = WIDTH - label - cost - 6
    # The aggregates get what they need where there is room, else a third, or what the names leave.
    return label, cost, min(asked, _WIDEST_AGGREGATES, max(room - names, room // 3, _NARROWEST))


def _usual(lengths: list[int]) -> int:
    """A width for nearly all: a few rows that are much longer do not widen the column."""
    if not lengths:
        return 0
    usual = sorted(lengths)[-(-(len(lengths) - 1) * 19 // 20)]
    return max(lengths) if max(lengths) <= usual + 8 else usual


def _heading(plan: Plan) -> Iterator[str]:
    made, trees, rate, keys = words.facts(plan)
    yield f"{words.clean(plan.strategy)} plan: {made}, {trees}, costs for {rate} and {keys}"
    if not plan.all_trees:
        return
    compared = [(name, words.cost(cost), beside) for name, cost, beside in words.comparison(plan)]
    width = max(len(cost) for _, cost, _ in compared)
    for name, cost, beside in compared:
        note = ", each event copied into each window" if name == "plain Spark" else ""
        with_plan = f"this plan costs {beside}" if beside else ""
        yield f"  {name:<16}  {cost:>{width}}  {with_plan}{note if beside else note[2:]}"
    yield f"  {words.ESTIMATED}"


def _strategies(plan: Plan) -> Iterator[str]:
    """What was tried, the cheapest first, what was chosen, and why."""
    if not (plan.considered and plan.trees):
        return
    tried = sorted(plan.considered.items(), key=lambda one: one[1])
    width = max(len(words.cost(cost)) for _, cost in tried)
    yield ""
    yield "strategies by cost"
    for name, cost in tried:
        beside = "chosen" if name in plan.taken else words.ratio(cost, plan.cost)
        yield f"  {name:<17}  {words.cost(cost):>{width}}  {beside}"
    if plan.strategy == "auto":
        yield from textwrap.wrap(
            words.why(plan), _NARROW, initial_indent="  ", subsequent_indent="  "
        )


def _root(tree: Tree, number: int, trees: int) -> Iterator[str]:
    about = f"{words.relation(tree.family)} {' '.join(words.conditions(tree.family))}"
    name = f"tree {number} of {trees}: " if trees > 1 else "tree: "
    yield from textwrap.wrap(name + about, WIDTH, subsequent_indent=" " * len(name))
    yield f"{words.slices(tree.slicing)}; {words.cutting(tree)}"
    for note in words.notes(tree):
        yield from textwrap.wrap(note, WIDTH, subsequent_indent="  ")


def _rows(tree: Tree) -> Iterator[_Row]:
    """The nodes under their branches, top to bottom."""
    found = words.depths(tree)
    # Whether a later sibling follows at each depth, known by reading from the bottom.
    follows = [False] * (_DEEPEST + 1)
    rows = []
    for index in reversed(range(len(found))):
        node, depth = found[index]
        shown = min(depth, _DEEPEST)
        branches = "".join("│  " if follows[above] else "   " for above in range(shown))
        branches += "├─ " if follows[shown] else "└─ "
        follows[shown:] = [True] + [False] * (len(follows) - shown - 1)
        row = _Row(
            label=f"{branches}{node.window}",
            cost=words.cost(node.cost),
            aggregates=words.aggregates(node),
            answers=words.answers(node),
            note=_reads(node, found[index - 1][0]) if depth > _DEEPEST else "",
        )
        rows.append(row)
    return reversed(rows)


def _reads(node: Node, above: Node) -> str:
    return f" from {'line above' if node.parent == above.window else node.parent}"


def _aligned(row: _Row, columns: tuple[int, int, int]) -> str:
    label, cost, asked = columns
    # A label longer than its column takes the room from the aggregates, so that names line up.
    asked = max(min(asked, _NARROWEST), asked - max(0, len(row.label) - label))
    aggregates = _listed(row.aggregates, asked)
    start = f"{row.label:<{label}}  {row.cost:>{cost}}  {aggregates:<{asked}}  "
    room = max(16, WIDTH - len(start) - len(row.note))
    return start + _listed(row.answers, room) + row.note


def _listed(names: tuple[str, ...], most: int) -> str:
    return words.listed(names, lambda text: len(text) <= most)


def _plain(queries: tuple[PlainQuery, ...]) -> Iterator[str]:
    names = [_listed((words.clean(query.name),), 40) for query in queries]
    widest = max(map(len, names))
    for query, name in zip(queries, names, strict=True):
        last = query is queries[-1]
        start = f"{'└─' if last else '├─'} {name:<{widest}}  "
        hang = ("   " if last else "│  ") + " " * (widest + 2)
        yield from textwrap.wrap(start + words.clean(query.reason), WIDTH, subsequent_indent=hang)
