"""Sets of values from events to answers, without Spark: slices, levels, nodes that read others."""

import math
import random
from collections import Counter

import pyarrow as pa
import pytest

import muntin as mt
from muntin.aggregates.representations import FLOAT, INTEGER
from muntin.runtime.periodic.rollups import combine_into_cells
from muntin.runtime.periodic.tree import BEGIN, NODE, TreeRuntime
from muntin.runtime.slicer.packing import unpack
from muntin.runtime.slicer.slicer_tree import SlicerTree
from muntin.runtime.storage.layout import Layout, slots_of
from muntin.runtime.storage.table import component_storage
from tests.support.slicing import sliced

SECOND = 1_000_000
STORAGE = {"i": INTEGER, "x": FLOAT, "s": "string"}
AGGREGATES = {
    **{f"count_{name}": mt.count_distinct(name) for name in STORAGE},
    "sum_i": mt.sum_distinct("i"),
    "sum_x": mt.sum_distinct("x"),
    "avg_i": mt.avg_distinct("i"),
    "set_s": mt.collect_set("s"),
    "median": mt.median("x"),
    "percentiles": mt.percentile("i", [0.1, 0.9]),
    "disc": mt.percentile_disc("i", 0.5, "DESC"),
    "mode_s": mt.mode("s"),
    "mode_i": mt.mode("i", "DESC"),
    "n": mt.count("i"),
}
WINDOWS = (
    mt.tumbling("5 seconds"),
    mt.tumbling("10 seconds"),
    mt.hopping("20 seconds", every="5 seconds"),
    mt.hopping("30 seconds", every="10 seconds"),
)


def plan_of(strategy):
    queries = [
        mt.Query(name=f"q{index}", window=window, aggregates=AGGREGATES, keys=["k"], time="t")
        for index, window in enumerate(WINDOWS)
    ]
    return mt.plan(queries, strategy=strategy)


def events_of(seed):
    rng = random.Random(seed)
    few = rng.choice([2, 5, 50])
    return [
        {
            "t": rng.randrange(-60, 120) * SECOND // 2,
            "k": rng.choice(["a", "b", None]),
            "i": rng.choice([None, rng.randrange(-few, few), 1 << 62]),
            "x": rng.choice([None, rng.randrange(few) / 4, math.inf]),
            "s": rng.choice([None, f"value {rng.randrange(few)}", ""]),
        }
        for _ in range(rng.choice([1, 30, 200]))
    ]


SCHEMA = pa.schema(
    {"t": pa.int64(), "k": pa.string(), "i": pa.int64(), "x": pa.float64(), "s": pa.string()}
)


def slices_of(tree, rows, *, rows_at_once):
    entries = dict.fromkeys(part for each in tree.aggregates for part in each.components)
    layout = Layout(
        key_columns=("k",),
        start="start",
        storages=tuple(
            component_storage(
                component,
                value_type=component.part.value_type or STORAGE[component.argument],
                name=f"c{index}",
                ansi=False,
            )
            for index, component in enumerate(entries)
        ),
    )
    slicer_tree = SlicerTree(
        number=0,
        layout=layout,
        slicing=tree.slicing,
        values={part: (part.argument,) for part in entries},
    )
    batch = pa.RecordBatch.from_pylist(rows, schema=SCHEMA)
    packed = sliced([slicer_tree], [batch], buckets=1, rows_at_once=rows_at_once)
    return unpack(packed[0][0], layout), layout


def answers_of(tree, layout, batches):
    found = {}
    nodes = tree.nodes
    for batch in batches:
        for row in batch.to_pylist():
            node = nodes[row[NODE]]
            places = slots_of(node, layout)
            values = [
                row[slots[0]] if len(slots) == 1 else _added([row[slot] for slot in slots])
                for slots in places
            ]
            for query in node.queries:
                place = query, row["k"], row[BEGIN]
                assert place not in found
                found[place] = dict(zip(map(str, node.aggregates), values, strict=True))
    return found


def _added(summands):
    if summands[0] is None:
        return None
    return (sum(summands) + (1 << 63)) % (1 << 64) - (1 << 63)


def percentile(values, percentage):
    position = (len(values) - 1) * percentage
    low, high = math.floor(position), math.ceil(position)
    if values[low] == values[high]:
        return float(values[low])
    low_value, high_value = float(values[low]), float(values[high])
    return low_value + (high_value - low_value) * (position - low)


def naive(rows):
    """Every answer of one window, from all of its events."""
    i, x, s = (sorted(row[name] for row in rows if row[name] is not None) for name in "ixs")
    modes = [
        [value for value, count in Counter(values).items() if count == Counter(values)[most]]
        for values in (i, s)
        for most in [max(values, key=Counter(values).__getitem__, default=None)]
    ]
    disc = sorted(i, reverse=True)
    return {
        "count_i": len(set(i)),
        "count_x": len(set(x)),
        "count_s": len(set(s)),
        "sum_i": (sum(set(i)) + (1 << 63)) % (1 << 64) - (1 << 63) if i else None,
        "sum_x": math.fsum(set(x)) if x else None,
        "avg_i": sum(set(i)) / len(set(i)) if i else None,
        "set_s": set(s),
        "median": percentile(x, 0.5) if x else None,
        "percentiles": [percentile(i, 0.1), percentile(i, 0.9)] if i else None,
        "disc": float(disc[max(math.ceil(0.5 * len(i)) - 1, 0)]) if i else None,
        "mode_s": min(modes[1]) if s else None,
        "mode_i": max(modes[0]) if i else None,
        "n": len(i),
    }


def expected_of(rows):
    found = {}
    for index, window in enumerate(WINDOWS):
        inside = {}
        for row in rows:
            begin = row["t"] - (row["t"] - window.offset) % window.slide
            while begin + window.size > row["t"]:
                inside.setdefault((f"q{index}", row["k"], begin), []).append(row)
                begin -= window.slide
        found |= {place: naive(members) for place, members in inside.items()}
    return found


def assert_like(found, rows):
    expected = expected_of(rows)
    assert found.keys() == expected.keys()
    for place, values in expected.items():
        ours = {name: found[place][str(call)] for name, call in AGGREGATES.items()}
        ours["set_s"] = set(ours["set_s"])
        assert ours.pop("avg_i") == (
            values["avg_i"] and pytest.approx(values["avg_i"], rel=1e-15)
        ), place
        assert ours == {name: value for name, value in values.items() if name != "avg_i"}, place


@pytest.mark.parametrize("strategy", ["shared", "factor"])
@pytest.mark.parametrize("seed", range(12))
def test_trees(seed, strategy):
    (tree,) = plan_of(strategy).trees
    rows = events_of(seed)
    slices, layout = slices_of(tree, rows, rows_at_once=random.Random(seed).choice([7, 1000]))
    # A key's slices may come in several batches.
    batches = [slices.slice(first, 5) for first in range(0, len(slices), 5)]
    runtime = TreeRuntime(tree, layout)
    answers = [answer for batch in batches for answer in runtime.push(batch)]
    answers += runtime.finish()
    assert_like(answers_of(tree, layout, answers), rows)


@pytest.mark.parametrize("seed", range(12))
def test_cells_of_a_level_are_unions(seed):
    (tree,) = plan_of("shared").trees
    rows = events_of(seed)
    slices, layout = slices_of(tree, rows, rows_at_once=7)
    cells = combine_into_cells(pa.Table.from_batches([slices]), layout, mt.tumbling("5 seconds"))
    assert cells.num_rows == len({(row["k"], row["t"] // (5 * SECOND)) for row in rows})
    answers = TreeRuntime(tree, layout).run(cells.combine_chunks().to_batches())
    assert_like(answers_of(tree, layout, answers), rows)
