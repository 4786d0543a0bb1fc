"""Trees of periodic windows over slices of one event each, and their naive answers."""

import numpy as np
import pyarrow as pa
import pytest

from muntin.aggregates.aggregate import avg, count, max_, min_, sum_, variance
from muntin.aggregates.representations import FLOAT, INTEGER
from muntin.model.trees import DataTree, PeriodicTree
from muntin.model.windows import Window
from muntin.runtime.periodic.tree import TreeRuntime
from muntin.runtime.storage.component_storage import ComponentStorage
from muntin.runtime.storage.layout import Layout, slots_of
from muntin.runtime.storage.table import component_storage

AGGREGATES = {
    "n": count(),
    "top": max_("x"),
    "low": min_("x"),
    "mean": avg("x"),
    "spread": variance("x"),
    "total": sum_("i"),
}


def layout_of(tree: PeriodicTree, *, ansi: bool = False) -> Layout:
    """The columns of slices: `x` is a float, `i` an integer."""
    return Layout(key_columns=("k",), start="start", storages=storages_of(tree, ansi=ansi))


# How the partials of an argument are kept, if they are no integers.
NUMBERS = {"x": FLOAT, "word": "string", "price": "decimal(20,2)", "day": "date", "name": "string"}


def storages_of(
    tree: PeriodicTree | DataTree, *, ansi: bool = False
) -> tuple[ComponentStorage, ...]:
    """The columns of each component of a tree."""
    components = dict.fromkeys(c for a in tree.aggregates for c in a.components)
    return tuple(
        component_storage(
            component,
            value_type=component.part.value_type or NUMBERS.get(component.argument or "", INTEGER),
            name=f"c{index}",
            ansi=ansi,
        )
        for index, component in enumerate(components)
    )


def batch_of(rows, layout: Layout) -> pa.Table:
    """Slices that hold one event each: (key, start, x, i), x and i may be missing."""
    columns = {
        "k": pa.array([row[0] for row in rows], pa.string()),
        "start": pa.array([row[1] for row in rows], pa.int64()),
    }
    for one in layout.storages:
        kind, argument = one.component.kind, one.component.argument
        values = [row[2] if argument == "x" else row[3] for row in rows]
        if kind == "count":
            columns[one.columns[0]] = pa.array(
                [1 if argument is None or value is not None else 0 for value in values], pa.int64()
            )
        elif kind == "moments":
            ones = [0.0 if value is None else 1.0 for value in values]
            squares = [None if value is None else 0.0 for value in values]
            for name, column in zip(one.columns, (ones, values, squares), strict=True):
                columns[name] = pa.array(column, pa.float64())
        elif one.monoid.width == 2:
            columns[one.columns[0]] = pa.array(values, pa.int64())
            columns[one.columns[1]] = pa.array([0] * len(rows), pa.int64())
        else:
            dtype = pa.float64() if one.value_type == FLOAT else pa.int64()
            columns[one.columns[0]] = pa.array(values, dtype)
    return pa.table(columns)


def naive(window: Window, rows) -> dict[tuple[str | None, int], list[tuple[float, int]]]:
    held: dict[tuple[str | None, int], list[tuple[float, int]]] = {}
    for key, start, x, i in rows:
        begin = window.first_after(start - window.size)
        while begin <= start:
            # One that grows may begin later than it is called.
            if window.start_of(begin) <= start:
                held.setdefault((key, begin), []).append((x, i))
            begin += window.slide
    return held


def check(tree: PeriodicTree, rows, batches, layout: Layout) -> None:
    """The runtime gives each window of the tree's queries once, as the rows in it have it."""
    check_answers(tree, rows, TreeRuntime(tree, layout).run(batches), layout)


def check_answers(tree: PeriodicTree | DataTree, rows, answers, layout: Layout) -> None:
    """Answers have each window of the tree's queries once, as the rows in it have it."""
    found: dict[int, dict[tuple[str | None, int], dict]] = {}
    for batch in answers:
        for row in batch.to_pylist():
            answers = found.setdefault(row["node"], {})
            assert (row["k"], row["begin"]) not in answers
            answers[row["k"], row["begin"]] = row
    for number, node in enumerate(tree.nodes):
        if node.is_factor:
            assert number not in found
            continue
        expected = naive(node.window, rows)
        assert set(found.get(number, {})) == set(expected)
        slots = dict(zip(node.aggregates, slots_of(node, layout), strict=True))
        for place, held in expected.items():
            row = found[number][place]
            answer = {name: row[slots[a][0]] for name, a in AGGREGATES.items() if a in slots}
            _compare(answer, held)


def _compare(answer, held) -> None:
    xs = [x for x, _ in held if x is not None]
    ints = [i for _, i in held if i is not None]
    exact = {"n": len(held), "total": sum(ints) if ints else None}
    exact |= {"top": max(xs, default=None), "low": min(xs, default=None)}
    for name, value in exact.items():
        if name in answer:
            assert answer[name] == value, name
    if "mean" in answer:
        assert answer["mean"] == (pytest.approx(np.mean(xs)) if xs else None)
    if "spread" in answer:
        assert answer["spread"] == (pytest.approx(np.var(xs, ddof=1)) if len(xs) > 1 else None)
