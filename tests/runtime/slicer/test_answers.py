"""End to end: the runtime's answers over the slicer's slices are those over naive ones."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from muntin.model.query import Query
from muntin.model.windows import Window
from muntin.model.workload import workload
from muntin.optimizer.optimize import optimize
from muntin.runtime.periodic.tree import BEGIN, NODE, TreeRuntime
from muntin.runtime.slicer.packing import PART, unpack
from muntin.runtime.slicer.slicer_tree import SlicerTree
from tests.support.periodic_trees import AGGREGATES, check, layout_of, naive
from tests.support.slicing import columns_of, sliced

WINDOWS = (Window(size=10, slide=10), Window(size=30, slide=6), Window(size=17, slide=5, offset=2))


def tree_of(strategy):
    queries = [
        Query(name=f"q{i}", window=window, aggregates=AGGREGATES, keys=["k"], time="ts")
        for i, window in enumerate(WINDOWS)
    ]
    (tree, *_) = optimize(workload(queries), strategy).trees
    return tree


def events_of(count):
    random = np.random.default_rng(count)
    keys = [["a", "b", "ein Gerät", None][n] for n in random.integers(0, 4, count)]
    times = random.integers(-300, 300, count).tolist()
    values = [None if n == 0 else float(n) for n in random.integers(0, 9, count)]
    numbers = [None if n == 0 else int(n) for n in random.integers(0, 9, count)]
    return list(zip(keys, times, values, numbers, strict=True))


def packed_of(tree, layout, rows, *, rows_at_once, **parts):
    """The slices of events, in chunks of so many rows, by bucket."""
    slicer_tree = SlicerTree(
        number=0,
        layout=layout,
        slicing=tree.slicing,
        values={entry.component: columns_of(entry.component) for entry in layout.storages},
        **parts,
    )
    table = pa.table(
        {
            "k": pa.array([row[0] for row in rows], pa.string()),
            "t": [row[1] for row in rows],
            "x": pa.array([row[2] for row in rows], pa.float64()),
            "i": pa.array([row[3] for row in rows], pa.int64()),
        }
    )
    return sliced([slicer_tree], table.to_batches(max_chunksize=11), rows_at_once=rows_at_once)[0]


@pytest.mark.parametrize("strategy", ["shared", "unshared", "factor"])
@pytest.mark.parametrize(("count", "rows_at_once"), [(1, 10), (400, 1000), (400, 37)])
def test_answers_from_sliced_events(strategy, count, rows_at_once):
    tree = tree_of(strategy)
    layout = layout_of(tree)
    rows = events_of(count)
    packed = packed_of(tree, layout, rows, rows_at_once=rows_at_once)
    # Buckets have different keys, so the runtime may read them one after the other.
    check(tree, rows, [unpack(streams, layout) for streams in packed.values()], layout)


def test_parts_answer_the_windows_that_begin_in_them():
    tree = tree_of("shared")
    layout = layout_of(tree)
    rows = events_of(400)
    width = 4 * tree.longest_window
    packed = packed_of(
        tree, layout, rows, rows_at_once=100, part_width=width, longest=tree.longest_window
    )
    # To the runtime a part is a key like others.
    by_part = replace(layout, key_columns=("k", PART))
    found = Counter(
        (row[NODE], row["k"], row[BEGIN])
        for streams in packed.values()
        for batch in TreeRuntime(tree, by_part).run([unpack(streams, layout)])
        for row in batch.to_pylist()
        if row[PART] <= row[BEGIN] < row[PART] + width
    )
    assert found == Counter(
        (number, *place)
        for number, node in enumerate(tree.nodes)
        for place in naive(node.window, rows)
    )
