"""A plan as text, a line for each window in aligned columns, and as data for other programs."""

import shutil
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from muntin.explain import words
from muntin.explain.tree_text import (
    PassText,
    TreeText,
    WindowRow,
    pass_texts,
    stored_relations,
    tree_text,
)
from muntin.model.plan import Plan
from muntin.model.query import PlainQuery
from muntin.model.trees import Tree

# Longer lines are hard to read; four columns do not fit into shorter ones.
WIDEST, NARROWEST = 100, 64
# The width for files and other programs, in which nothing is cut.
UNLIMITED = 1_000_000
# Nodes that are deeper are shown at this depth, with a note on what they read.
_DEEPEST = 4
_SHORTEST_COLUMN = 12


@dataclass(frozen=True, kw_only=True)
class _Line:
    """The cells of one window."""

    label: str
    cost: str
    aggregates: tuple[str, ...]
    answers: tuple[str, ...]
    # What the window reads, if the branches do not show it.
    note: str = ""


@dataclass(frozen=True, kw_only=True)
class _Columns:
    """The widths of the columns, the same for all trees. The names of queries get the rest."""

    label: int
    cost: int
    aggregates: int
    width: int

    @staticmethod
    def of(lines: list[_Line], width: int) -> "_Columns":
        """Returns columns that fit nearly all rows."""
        labels = [words.width(row.label) for row in lines]
        usual = max(labels, default=0) if width == UNLIMITED else _common_width(labels)
        label = min(width * 46 // 100, max(len("window"), usual))
        cost = max([len("ops/s"), *(len(row.cost) for row in lines)])
        asked = max([len("computes"), *(words.width(", ".join(row.aggregates)) for row in lines)])
        names = max(
            len("answers"),
            _common_width([words.width(", ".join(row.answers) + row.note) for row in lines]),
        )
        room = width - label - cost - 6
        # Aggregates get what they need if there is room, else a third, or what names leave.
        most = max(room - names, room // 3, _SHORTEST_COLUMN)
        return _Columns(
            label=label, cost=cost, aggregates=min(asked, width * 34 // 100, most), width=width
        )

    @property
    def heading(self) -> str:
        """The captions of the columns."""
        asked = f"{'computes':<{self.aggregates}}"
        return f"{'window':<{self.label}}  {'ops/s':>{self.cost}}  {asked}  answers"

    def align(self, row: _Line) -> str:
        """Returns a row in these columns."""
        label = row.label
        most = self.width - self.cost - 6 - 2 * _SHORTEST_COLUMN
        label = _list_names((label,), most)
        # A label longer than its column takes room from the aggregates, so that names align.
        over = max(0, words.width(label) - self.label)
        asked = max(min(self.aggregates, _SHORTEST_COLUMN), self.aggregates - over)
        aggregates = _list_names(row.aggregates, asked)
        cost = row.cost.rjust(self.cost)
        start = f"{_pad(label, self.label)}  {cost}  {_pad(aggregates, asked)}  "
        room = self.width - words.width(start)
        note = row.note if len(row.note) + 8 <= room else ""
        return start + _list_names(row.answers, room - len(note)) + note


def text(plan: Plan, width: int | None = None) -> str:
    """Returns the plan as a text tree, with its cost next to the unshared one.

    Without a width, lines have the width of the terminal, at most 100 characters. With
    `UNLIMITED`, only prose is cut into lines of 100 characters.
    """
    if width is None:
        width = shutil.get_terminal_size((WIDEST, 24)).columns
    room = width if width == UNLIMITED else max(NARROWEST, min(WIDEST, width))
    width = min(WIDEST, room)
    trees = [tree_text(tree) for tree in plan.trees]
    windows = [list(_lines(tree.rows)) for tree in trees]
    columns = _Columns.of([line for lines in windows for line in lines], room)
    page = [*_heading(plan, width), *_strategies(plan, width)]
    for line in words.sets_of_values(plan):
        page += ["", *textwrap.wrap(line, width)]
    for story in pass_texts(plan):
        page += ["", *_pass(story, width)]
    for line in stored_relations(plan):
        page += ["", *textwrap.wrap(line, width)]
    for number, (tree, lines) in enumerate(zip(trees, windows, strict=True), start=1):
        name = f"tree {number} of {len(trees)}: " if len(trees) > 1 else "tree: "
        page += ["", *_root(tree, name, width)]
        if lines:
            page += ["", columns.heading, *map(columns.align, lines)]
    if any(node.is_factor for tree in plan.periodic_trees for node in tree.nodes):
        page += ["", *textwrap.wrap(words.FACTOR_MEANING, width)]
    if plan.plain_queries:
        page += ["", words.PLAIN_HEADING, *_plain(plan.plain_queries, room)]
    return "\n".join(line.rstrip() for line in page)


def _common_width(lengths: list[int]) -> int:
    """Returns a width that fits nearly all; a few much longer rows do not widen a column."""
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
    yield from _indent(f"{trees}; costs for {rate} and {keys}", width)
    table = []
    for name, cost, ratio in words.comparison(plan):
        note = f"this plan costs {ratio}" if ratio else ""
        if name == "this plan":
            spent = words.cost_parts(plan).items()
            note = ", ".join(f"{part} {words.figure(ops)}" for part, ops in spent)
        table.append((name, words.cost(cost), words.cpu(plan, cost), note))
    yield from _table(table, width, right=(1, 2))
    yield from _indent(words.units(plan), width)
    yield from _indent(words.ESTIMATED, width)


def _strategies(plan: Plan, width: int) -> Iterator[str]:
    """Yields the costs of all strategies, the cheapest first, and why one was chosen."""
    if not (plan.strategy_costs and plan.periodic_trees):
        return
    yield ""
    before = ", before filters and keys share passes" if words.groupings_share(plan) else ""
    yield f"strategies by cost{before}"
    yield from _table(
        [
            (words.cost(cost), ratio, ", ".join(names))
            for cost, ratio, names in words.strategies(plan)
        ],
        width,
        right=(0,),
    )
    if plan.strategy == "auto":
        yield from _indent(words.explain_choice(plan), width)


def _pass(story: PassText, width: int) -> Iterator[str]:
    name = f"{story.name}: "
    yield from textwrap.wrap(name + story.about, width, subsequent_indent=" " * len(name))
    yield from _table([(words.READING, words.cost(story.cost), story.reading_step)], width)


def _root(text: TreeText, name: str, width: int) -> Iterator[str]:
    yield from textwrap.wrap(name + text.events, width, subsequent_indent=" " * len(name))
    yield from _table(
        [
            (words.READING, words.cost(text.tree.cut_cost), text.reading_step),
            (words.ANSWERING, words.cost(text.tree.cost - text.tree.cut_cost), text.answering_step),
        ],
        width,
    )
    for note in text.notes():
        yield from _indent(note, width)


def _table(
    rows: Sequence[tuple[str, ...]], width: int, *, right: Sequence[int] = (1,)
) -> Iterator[str]:
    """Yields the lines of a table whose last column is prose; `right` are columns of numbers."""
    widths = [max(map(len, column)) for column in list(zip(*rows, strict=True))[:-1]]
    for *cells, prose in rows:
        start = "  "
        for column, (cell, most) in enumerate(zip(cells, widths, strict=True)):
            padded = cell.rjust(most) if column in right else cell.ljust(most)
            start += padded + "  " * bool(most)
        yield from textwrap.wrap(
            prose, width, initial_indent=start, subsequent_indent=" " * len(start)
        ) or [start]


def _indent(prose: str, width: int) -> Iterator[str]:
    yield from textwrap.wrap(prose, width, initial_indent="  ", subsequent_indent="  ")


def _lines(rows: list[WindowRow]) -> Iterator[_Line]:
    """Yields the lines of windows with the branches of the tree, from top to bottom."""
    # Whether a later sibling follows at each depth; hence the order from the bottom.
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


def _list_names(names: tuple[str, ...], most: int) -> str:
    return words.list_names(names, lambda text: words.width(text) <= most)


def _pad(text: str, columns: int) -> str:
    return text + " " * (columns - words.width(text))


def _plain(queries: tuple[PlainQuery, ...], width: int) -> Iterator[str]:
    names = [_list_names((words.clean(query.name),), width * 2 // 5) for query in queries]
    widest = max(map(words.width, names))
    for query, name in zip(queries, names, strict=True):
        last = query is queries[-1]
        start = f"{'└─' if last else '├─'} {_pad(name, widest)}  "
        hang = ("   " if last else "│  ") + " " * (widest + 2)
        yield from textwrap.wrap(start + words.clean(query.reason), width, subsequent_indent=hang)


def figures(plan: Plan) -> dict[str, Any]:
    """Returns the content of `text` as data for `json.dumps`.

    Costs are operations per second of event time, and CPU seconds for each hour of events.
    """

    def price(ops: float) -> dict[str, float]:
        return {
            "ops_per_second": ops,
            "cpu_seconds_per_hour": plan.workload.prices.cpu_seconds_per_hour(ops),
        }

    return {
        "strategy": plan.strategy,
        "queries": len(plan.queries),
        "queries_that_share": sorted(plan.sharing_queries),
        "scans": plan.scans,
        "events_per_second": {"value": plan.rate, "assumed": not plan.workload.rate_known},
        "keys": {"value": plan.keys, "assumed": not plan.workload.keys_known},
        "cost": {
            "this plan": price(plan.cost),
            "each query alone": price(plan.unshared_cost),
            "plain Spark": price(plan.plain_cost),
        },
        "strategies": {name: price(ops) for name, ops in plan.strategy_costs.items()},
        "passes": [
            {"about": story.about, "reading": story.reading_step, "cost": price(story.cost)}
            for story in pass_texts(plan)
        ],
        "trees": [_tree(tree, price(tree.cost)) for tree in plan.trees],
        "answered_by_spark_alone": {query.name: query.reason for query in plan.plain_queries},
    }


def _tree(tree: Tree, cost: dict[str, float]) -> dict[str, Any]:
    grouping, text = tree.grouping, tree_text(tree)
    rows = text.rows
    return {
        "relation": words.relation(grouping),
        "time": grouping.time,
        "where": grouping.where,
        "keys": list(grouping.keys),
        "pass": tree.slicing_pass.number + 1 if tree.slicing_pass else None,
        "reading": text.reading_step,
        "engine": tree.engine.value,
        "cost": cost,
        "windows": [
            {
                "window": row.window,
                "reads": None if row.parent is None else rows[row.parent].window,
                "computes": list(row.aggregates),
                "answers": [] if row.is_factor else list(row.answers),
                "ops_per_second": row.cost,
            }
            for row in rows
        ],
    }
