"""Late records of periodic windows with aggregates of the user's own: they count in their order."""

import random

import pyarrow as pa
import pytest

import muntin as mt
from muntin.aggregates.representations import FLOAT
from muntin.model.workload import workload
from muntin.optimizer.optimize import optimize
from muntin.optimizer.plan_for_stream import plan_for_stream
from muntin.runtime.data_windows.read_records import RecordLayout
from muntin.runtime.state.bucket import BucketRuntime, BucketState
from muntin.runtime.state.data_tree import DataStreamTree
from muntin.runtime.state.figures import count_late
from muntin.runtime.state.stream_tree import START
from muntin.runtime.storage.layout import Layout
from muntin.runtime.storage.table import component_storage
from tests.support.simulated_streams import Memory

WINDOWS = {
    "long": mt.hopping("40 milliseconds", every="15 milliseconds"),
    "short": mt.tumbling("10 milliseconds"),
}
MILLISECOND = 1000


def one_after_the_other(a, b):
    """The map `x -> a[0] * x + a[1]`, and then that of `b`: the order of records matters."""
    return a[0] * b[0], a[1] * b[0] + b[1]


MAPS = mt.aggregate(["x", "y"], one_after_the_other, lambda p: p[1], (1.0, 0.0))
QUERIES = [
    mt.Query(name=name, window=window, aggregates={"m": MAPS}, time="ts", keys=["k"])
    for name, window in WINDOWS.items()
]


def stream_tree(**more):
    (tree,) = plan_for_stream(optimize(workload(QUERIES), "shared")).data_trees
    (component,) = MAPS.components
    layout = Layout(
        key_columns=("k",),
        start=START,
        storages=(component_storage(component, value_type=FLOAT, name="c", ansi=False),),
    )
    columns = {"x": ("x", pa.float64()), "y": ("y", pa.float64())}
    records = RecordLayout(layout=layout, values={component: ("x", "y")})
    return DataStreamTree(number=0, tree=tree, record_layout=records, columns=columns, **more)


def batches(seed):
    """Records in batches, some of them late by up to two windows; no two have one time."""
    rng = random.Random(seed)
    times = rng.sample(range(300 * MILLISECOND), 240)
    made, now = [], 0
    while times:
        now += rng.choice([0, 5, 12, 30]) * MILLISECOND
        new = [t for t in times if t < now and rng.random() < 0.8]
        times = [t for t in times if t not in new]
        made.append([(rng.choice("ab"), t, rng.choice([1.0, 2.0, -1.0]), t % 7) for t in new])
    return made


def watermarks(made, delay):
    """The watermark of each batch: of all that came before it."""
    latest, found = 0, []
    for batch in made:
        found.append(latest)
        mark = max((t for _, t, *_ in batch), default=0) - delay
        latest = max(latest, mark - mark % MILLISECOND)
    return found


def expected(made, marks, last):
    """For every window that has been given out: its records, without those that came after."""
    given, answers = [0, *marks], {}
    for name, window in WINDOWS.items():
        rows = {}
        for batch, before in zip(made, given, strict=False):
            for key, t, x, y in batch:
                begin = t - (t - window.offset) % window.slide
                while begin > t - window.size:
                    if begin + window.size > before:
                        rows.setdefault((name, key, begin), []).append((t, x, y))
                    begin -= window.slide
        for (_, key, begin), held in rows.items():
            if begin + window.size <= last:
                partial = MAPS.identity
                for _, x, y in sorted(held):
                    partial = one_after_the_other(partial, (x, y))
                answers[name, key, begin] = partial[1]
    return answers


@pytest.mark.parametrize("seed", range(12))
def test_every_record_counts_for_the_windows_that_are_open(seed):
    made = batches(seed)
    marks = watermarks(made, delay=10 * MILLISECOND)
    store, state, found, late = Memory(), BucketState(), {}, 0
    one = stream_tree()
    names = [node.queries[0] for node in one.tree.nodes]
    for batch, watermark in zip([*made, []], [*marks, 10**9], strict=True):
        columns = {name: [row[i] for row in batch] for i, name in enumerate(("k", START, "x", "y"))}
        table = pa.table(columns) if batch else None
        runtime = BucketRuntime([one], store, BucketState.from_bytes(state.to_bytes()))
        if table is not None:
            counted = count_late({0: table}, [one], runtime.given)
            late += sum(counted.values())
        for _, answers in runtime.step({} if table is None else {0: table}, watermark):
            for row in answers.to_pylist():
                place = names[row["node"]], row["k"], row["begin"]
                assert place not in found
                found[place] = row["f0"]
        state = runtime.state
    assert found == expected([*made, []], [*marks, 10**9], 10**9)
    assert late > 0
    assert not store.data


def test_records_are_kept_for_as_long_as_windows_are_open_in_few_segments():
    store, state, one = Memory(), BucketState(), stream_tree()
    for number in range(400):
        table = pa.table({"k": ["a"], START: [number * MILLISECOND], "x": [1.0], "y": [1.0]})
        runtime = BucketRuntime([one], store, state)
        list(runtime.step({0: table}, number * MILLISECOND))
        state = runtime.state
        segments = state.trees[0].kept
        assert len(segments) <= 24
        assert sum(segment.rows for segment in segments) <= 40 + 2 * 5
    assert min(segment.first for segment in segments) > (399 - 40 - 5) * MILLISECOND
