"""A plan as text: one line per node, columns aligned, nothing wider than the terminal."""

import shutil
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from muntin.explain import words
from muntin.explain.rows import PassStory, Row, TreeStory, passes_of, stored_relations, story_of
from muntin.model.plan import Plan
from muntin.model.query import PlainQuery

# Longer lines are hard to read, and shorter ones have no room for four columns.
WIDEST, NARROWEST = 100, 64
# A width for files and other programs: nothing is left out.
UNLIMITED = 1_000_000
# The stairs of a hundred windows would walk off the page: deeper nodes stay at this depth and
# say what they read.
_DEEPEST = 4
_SHORTEST_COLUMN = 12


@dataclass(frozen=True, kw_only=True)
class _Line:
    """One window's line, its columns not yet aligned."""

    label: str
    cost: str
    aggregates: tuple[str, ...]
    answers: tuple[str, ...]
    # What stands behind the names: whom it reads, where the branches do not show it.
    note: str = ""


@dataclass(frozen=True, kw_only=True)
class _Columns:
    """The widths of a row's columns, the same for all trees; the names get the rest."""

    label: int
    cost: int
    aggregates: int
    width: int

    @staticmethod
    def of(lines: list[_Line], width: int) -> "_Columns":
        """As wide as nearly all rows need, within what the page has."""
        labels = [words.width(row.label) for row in lines]
        usual = max(labels, default=0) if width == UNLIMITED else _usual(labels)
        label = min(width * 46 // 100, max(len("window"), usual))
        cost = max([len("ops/s"), *(len(row.cost) for row in lines)])
        asked = max([len("computes"), *(words.width(", ".join(row.aggregates)) for row in lines)])
        names = max(
            len("answers"),
            _usual([words.width(", ".join(row.answers) + row.note) for row in lines]),
        )
        room = width - label - cost - 6
        # The aggregates get what they need where there is room, else a third, or what names leave.
        most = max(room - names, room // 3, _SHORTEST_COLUMN)
        return _Columns(
            label=label, cost=cost, aggregates=min(asked, width * 34 // 100, most), width=width
        )

    @property
    def heading(self) -> str:
        """What the columns have."""
        asked = f"{'computes':<{self.aggregates}}"
        return f"{'window':<{self.label}}  {'ops/s':>{self.cost}}  {asked}  answers"

    def aligned(self, row: _Line) -> str:
        """A row in these columns."""
        label = row.label
        most = self.width - self.cost - 6 - 2 * _SHORTEST_COLUMN
        label = _listed((label,), most)
        # A label longer than its column takes the room from the aggregates, so that names line up.
        over = max(0, words.width(label) - self.label)
        asked = max(min(self.aggregates, _SHORTEST_COLUMN), self.aggregates - over)
        aggregates = _listed(row.aggregates, asked)
        cost = row.cost.rjust(self.cost)
        start = f"{_padded(label, self.label)}  {cost}  {_padded(aggregates, asked)}  "
        room = self.width - words.width(start)
        note = row.note if len(row.note) + 8 <= room else ""
        return start + _listed(row.answers, room - len(note)) + note


def text(plan: Plan, width: int | None = None) -> str:
    """The plan as a text tree, with its cost beside the unshared one; no line ends in a space.

    Without a width, lines are as long as the terminal allows, and at most 100 signs. If it is
    `UNLIMITED`, prose has 100 signs a line, and lines of queries as many as they need.
    """
    if width is None:
        width = shutil.get_terminal_size((WIDEST, 24)).columns
    room = width if width == UNLIMITED else max(NARROWEST, min(WIDEST, width))
    width = min(WIDEST, room)
    trees = [story_of(tree) for tree in plan.trees]
    windows = [list(_lines(tree.rows)) for tree in trees]
    columns = _Columns.of([line for lines in windows for line in lines], room)
    page = [*_heading(plan, width), *_strategies(plan, width)]
    for line in words.sets_of_values(plan):
        page += ["", *textwrap.wrap(line, width)]
    for story in passes_of(plan):
        page += ["", *_pass(story, width)]
    for line in stored_relations(plan):
        page += ["", *textwrap.wrap(line, width)]
    for number, (tree, lines) in enumerate(zip(trees, windows, strict=True), start=1):
        name = f"tree {number} of {len(trees)}: " if len(trees) > 1 else "tree: "
        page += ["", *_root(tree, name, width)]
        if lines:
            page += ["", columns.heading, *map(columns.aligned, lines)]
    if any(node.is_factor for tree in plan.trees for node in tree.nodes):
        page += ["", *textwrap.wrap(words.FACTOR_TOLD, width)]
    if plan.plain:
        page += ["", words.PLAIN_HEADING, *_plain(plan.plain, room)]
    return "\n".join(line.rstrip() for line in page)


def _usual(lengths: list[int]) -> int:
    """A width for nearly all: a few rows that are much longer do not widen the column."""
    if not lengths:
        return 0
    usual = sorted(lengths)[-(-(len(lengths) - 1) * 19 // 20)]
    return max(lengths) if max(lengths) <= usual + 8 else usual


def _heading(plan: Plan, width: int) -> Iterator[str]:
    about = f"{words.clean(plan.strategy)} plan: {words.headline(plan)}"
    yield from textwrap.wrap(about, width, subsequent_indent="  ")
    trees, rate, keys = words.facts(plan)
    if not plan.trees:
        return
    yield from _indented(f"{trees}; costs for {rate} and {keys}", width)
    table = []
    for name, cost, beside in words.comparison(plan):
        note = f"this plan costs {beside}" if beside else ""
        if name == "this plan":
            spent = words.parts(plan).items()
            note = ", ".join(f"{part} {words.figure(ops)}" for part, ops in spent)
        table.append((name, words.cost(cost), words.cpu(plan, cost), note))
    yield from _table(table, width, right=(1, 2))
    yield from _indented(words.units(plan), width)
    yield from _indented(words.ESTIMATED, width)


def _strategies(plan: Plan, width: int) -> Iterator[str]:
    """What was tried, the cheapest first, what was chosen, and why."""
    if not (plan.considered and plan.trees):
        return
    yield ""
    before = ", before filters and keys share passes" if words.groupings_share(plan) else ""
    yield f"strategies by cost{before}"
    yield from _table(
        [
            (words.cost(cost), beside, ", ".join(names))
            for cost, beside, names in words.strategies(plan)
        ],
        width,
        right=(0,),
    )
    if plan.strategy == "auto":
        yield from _indented(words.why(plan), width)


def _pass(story: PassStory, width: int) -> Iterator[str]:
    """Whose events a pass reads, for how many trees, and what that costs."""
    name = f"{story.name}: "
    yield from textwrap.wrap(name + story.about, width, subsequent_indent=" " * len(name))
    yield from _table([(words.READING, words.cost(story.cost), story.reading)], width)


def _root(story: TreeStory, name: str, width: int) -> Iterator[str]:
    """Whose events are read, and what reading and answering are and cost."""
    yield from textwrap.wrap(name + story.about, width, subsequent_indent=" " * len(name))
    yield from _table(
        [
            (words.READING, words.cost(story.tree.cut_cost), story.reading),
            (words.ANSWERING, words.cost(story.tree.cost - story.tree.cut_cost), story.answering),
        ],
        width,
    )
    for note in story.notes():
        yield from _indented(note, width)


def _table(
    rows: Sequence[tuple[str, ...]], width: int, *, right: Sequence[int] = (1,)
) -> Iterator[str]:
    """Narrow columns, those of numbers aligned at their ends, and a last one of prose."""
    widths = [max(map(len, column)) for column in list(zip(*rows, strict=True))[:-1]]
    for *cells, prose in rows:
        start = "  "
        for column, (cell, most) in enumerate(zip(cells, widths, strict=True)):
            padded = cell.rjust(most) if column in right else cell.ljust(most)
            start += padded + "  " * bool(most)
        yield from textwrap.wrap(
            prose, width, initial_indent=start, subsequent_indent=" " * len(start)
        ) or [start]


def _indented(prose: str, width: int) -> Iterator[str]:
    yield from textwrap.wrap(prose, width, initial_indent="  ", subsequent_indent="  ")


def _lines(rows: list[Row]) -> Iterator[_Line]:
    """The windows under their branches, top to bottom."""
    # Whether a later sibling follows at each depth, known by reading from the bottom.
    follows = [False] * (_DEEPEST + 1)
    lines = []
    for index in reversed(range(len(rows))):
        row = rows[index]
        shown = min(row.depth, _DEEPEST)
        branches = "".join("│  " if follows[above] else "   " for above in range(shown))
        branches += "├─ " if follows[shown] else "└─ "
        follows[shown:] = [True] + [False] * (len(follows) - shown - 1)
        note = ""
        if row.depth > _DEEPEST and row.parent is not None:
            above = "line above" if row.parent == index - 1 else rows[row.parent].window
            note = f" from {above}"
        lines.append(
            _Line(
                label=branches + row.window,
                cost=words.figure(row.cost),
                aggregates=row.aggregates,
                answers=row.answers,
                note=note,
            )
        )
    yield from reversed(lines)


def _listed(names: tuple[str, ...], most: int) -> str:
    return words.listed(names, lambda text: words.width(text) <= most)


def _padded(text: str, columns: int) -> str:
    return text + " " * (columns - words.width(text))


def _plain(queries: tuple[PlainQuery, ...], width: int) -> Iterator[str]:
    names = [_listed((words.clean(query.name),), width * 2 // 5) for query in queries]
    widest = max(map(words.width, names))
    for query, name in zip(queries, names, strict=True):
        last = query is queries[-1]
        start = f"{'└─' if last else '├─'} {_padded(name, widest)}  "
        hang = ("   " if last else "│  ") + " " * (widest + 2)
        yield from textwrap.wrap(start + words.clean(query.reason), width, subsequent_indent=hang)
