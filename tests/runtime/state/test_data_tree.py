"""Trees of data windows: in a bucket, in a checkpoint, and from one plan to the next."""

import json

import pyarrow as pa

import muntin as mt
from muntin.aggregates.aggregate import Component
from muntin.aggregates.representations import INTEGER
from muntin.model.workload import workload
from muntin.optimizer.optimize import optimize
from muntin.optimizer.transitions import pin_queries, with_code
from muntin.runtime.data_windows.read_records import RecordLayout
from muntin.runtime.state.bucket import BucketRuntime, BucketState
from muntin.runtime.state.data_tree import DataStreamTree
from muntin.runtime.state.stream_tree import START
from muntin.runtime.storage.layout import Layout
from muntin.runtime.storage.table import component_storage
from muntin.runtime.stream_plan.change_plan import change_plan, first_start, resume_plan
from muntin.runtime.stream_plan.stored_tree import Needs
from muntin.runtime.stream_plan.stream_plan_json import stream_plan_from_json, stream_plan_to_json
from tests.support.simulated_streams import Memory
from tests.support.user_aggregates import Tens

SECOND = 1_000_000


def query(name, window, **parts):
    given = {"aggregates": {"n": mt.count()}, "time": "ts", "keys": ["k"], **parts}
    return mt.Query(name=name, window=window, **given)


VISITS = query("visits", mt.session("8 seconds"))
LONG = query("long", mt.session("80 seconds"))
ON = query("on", mt.punctuation("state"))
COUNTS = query("counts", mt.count_window(5), aggregates={"s": mt.sum("v")})
TENS = query("tens", mt.custom(Tens, columns=["v"]))
OWN = query("own", mt.count_window(7), aggregates={"p": mt.aggregate("v", max, float, 0)})


def plan_of(*queries):
    return optimize(workload(queries), "shared")


def needs_of(plan):
    found = []
    for tree in plan.data_trees:
        columns = {sql: "long" for sql in (*tree.conditions, *tree.measures)}
        columns |= {c.argument: "long" for a in tree.aggregates for c in a.components if c.argument}
        numbers = {}
        if tree.grain is not None:
            bounds = [Component(kind="min", argument="ts"), Component(kind="max", argument="ts")]
            parts = [c for a in tree.aggregates for c in a.components]
            columns, numbers = {}, dict.fromkeys([*bounds, *parts], INTEGER)
        found.append(Needs(keys=("text",), columns=columns, numbers=numbers))
    return found


def started(*queries):
    plan = plan_of(*queries)
    facts = {"buckets": (0, 1), "delay": SECOND, "retain": 0, "ansi": False}
    return first_start(plan, needs_of(plan), **facts)


def changes(running, *queries, watermark=100 * SECOND):
    plan = pin_queries(plan_of(*queries), running.plan).plan
    return change_plan(running, plan, needs_of(plan), watermark=watermark, given=watermark)


def trees(running):
    return {name: stored for stored in running.trees for name in stored.tree.queries}


def test_a_query_that_stays_keeps_its_tree_whoever_comes_and_goes():
    running = started(VISITS, LONG, ON, COUNTS)
    before = trees(running)
    assert before["visits"] is before["long"]
    assert before["on"] is before["counts"]
    after = changes(running, LONG, COUNTS, TENS)
    found = trees(after)
    assert found["long"].number == before["long"].number
    # The shortest gap has left, and the grains stay as they were.
    assert found["long"].tree.grain == before["long"].tree.grain
    assert found["counts"].number == before["counts"].number
    assert found["counts"].columns == {"v": before["counts"].columns["v"]}
    # A window that comes joins the tree, and sees what no event has reached yet.
    assert found["tens"] is found["counts"]
    assert found["tens"].joined == {"tens": 101 * SECOND + 1000}
    assert after.complete_from == {"long": None, "counts": None, "tens": 101 * SECOND + 1000}


def test_what_joins_a_tree_sees_nothing_that_the_tree_remembers():
    far = query("far", mt.delta("km", 10))
    running = started(VISITS, LONG, COUNTS, far)
    before = trees(running)
    others = [
        # Its grains would be finer, it has equal windows, or a tree knows the highest value.
        query("brief", mt.session("2 seconds")),
        query("sums", mt.count_window(5), aggregates={"n": mt.count()}),
        query("near", mt.delta("km", 5)),
    ]
    joins = [query("visitors", mt.session("9 seconds"), aggregates={"t": mt.sum("v")}), ON]
    after = changes(running, VISITS, LONG, COUNTS, far, *others, *joins)
    found = trees(after)
    for name in ("brief", "sums", "near"):
        assert found[name].number not in [stored.number for stored in running.trees]
        assert not found[name].joined
    assert found["sums"] is found["near"]
    assert found["visitors"].number == before["visits"].number
    # Grains begin at whole seconds; that no session began earlier is known a gap later.
    assert found["visitors"].joined == {"visitors": 102 * SECOND}
    assert after.complete_from["visitors"] == 111 * SECOND
    # What was there keeps its place, and what joins comes behind it.
    assert [*found["visits"].components][:3] == [*before["visits"].components]
    assert found["visits"].components[3].name == "g1c3"
    assert list(found["on"].columns) == [*before["counts"].columns, "state"]
    again = stream_plan_from_json(json.loads(json.dumps(stream_plan_to_json(after))))
    assert again.trees == after.trees
    # A window that stays keeps its instant, and so does one whose tree the others have left.
    later = changes(after, query("visitors", joins[0].window, aggregates=joins[0].aggregates), ON)
    assert trees(later)["on"].joined == {"on": 101 * SECOND + 1000}
    assert later.complete_from == {name: after.complete_from[name] for name in ("visitors", "on")}


def test_a_query_that_changes_joins_the_tree_that_it_was_in():
    running = started(ON, COUNTS)
    other = query("counts", mt.count_window(6), aggregates={"s": mt.sum("v")})
    found = changes(running, ON, other)
    assert trees(found)["counts"] is trees(found)["on"]
    assert found.trees[0].number == running.trees[0].number
    assert found.complete_from == {"on": None, "counts": 101 * SECOND + 1000}


def test_a_session_that_comes_later_is_whole_a_gap_after_what_was_seen():
    running = changes(started(ON), ON, VISITS)
    since = trees(running)["visits"].since
    width = SECOND
    assert since == 102 * SECOND
    assert since % width == 0
    assert running.complete_from["visits"] == since + 8 * SECOND


def test_a_query_that_changed_begins_anew():
    running = started(COUNTS)
    other = query("counts", mt.count_window(6), aggregates={"s": mt.sum("v")})
    found = changes(running, other)
    assert found.trees[0].number != running.trees[0].number
    assert found.complete_from["counts"] is not None


def test_any_data_window_can_come_later():
    running = changes(started(VISITS), VISITS, ON)
    assert set(trees(running)) == {"visits", "on"}
    running = changes(running, VISITS, ON, COUNTS)
    assert trees(running)["counts"].columns == {"state": "long0", "v": "long1"}


def test_checkpoints_have_names_and_the_plan_has_the_code():
    running = started(VISITS, COUNTS, TENS, OWN)
    data = stream_plan_to_json(running)
    back = stream_plan_from_json(json.loads(json.dumps(data)))
    assert stream_plan_to_json(back) == data
    plan = plan_of(VISITS, COUNTS, TENS, OWN)
    again = pin_queries(plan, back.plan).plan
    assert {one.name: one.window for one in again.queries}["tens"] == TENS.window
    assert TENS.window in again.data_trees[1].data_windows
    found = resume_plan(back, again)
    assert stream_plan_to_json(found) == data
    assert TENS.window in found.trees[1].tree.data_windows
    assert OWN.aggregates["p"] in found.trees[1].tree.aggregates
    # Of a plan that has left some, the others are known again.
    fewer = with_code(back.plan, plan_of(TENS))
    windows = {one.name: one.window for one in fewer.queries}
    assert windows["tens"] == TENS.window
    assert isinstance(
        fewer.queries[3].aggregates["p"], mt.aggregates.user_aggregate.AbsentAggregate
    )


def grain_tree():
    (tree,) = plan_of(VISITS).data_trees
    (component,) = tree.aggregates[0].components
    first, last = (
        component_storage(
            Component(kind=kind, argument="ts"), value_type=INTEGER, name=name, ansi=False
        )
        for kind, name in (("min", "first"), ("max", "last"))
    )
    part = component_storage(component, value_type=INTEGER, name="n", ansi=False)
    layout = Layout(key_columns=("k",), start="first", storages=(part,))
    return DataStreamTree(
        number=0,
        tree=tree,
        record_layout=RecordLayout(layout=layout, last="last"),
        grains=Layout(key_columns=("k",), start=START, storages=(first, last, part)),
    )


class Bucket:
    """A bucket with one tree, through its batches."""

    def __init__(self, tree):
        self.tree, self.store, self.state = tree, Memory(), BucketState()

    def step(self, until, rows=None):
        known = BucketState.from_bytes(self.state.to_bytes())
        runtime = BucketRuntime([self.tree], self.store, known)
        arrived = {} if rows is None else {0: rows}
        answers = [row for _, batch in runtime.step(arrived, until) for row in batch.to_pylist()]
        self.state = runtime.state
        return [(row["k"], row["begin"], row["end"], row["i0"]) for row in answers]


def grains_of(*rows):
    """Grains of a second: key, first, last, events."""
    table = pa.table({name: [row[i] for row in rows] for i, name in enumerate(GRAIN)})
    starts = [first - first % SECOND for first in table.column("first").to_pylist()]
    return table.add_column(1, START, [pa.array(starts)])


GRAIN = ("k", "first", "last", "n")


def test_grains_of_a_session_in_a_bucket():
    #   0        8        16       24       32
    #   aa   a   b    a                         grains of a second; all of a is one session
    tree = grain_tree()
    assert tree.tree.grains.edges[0].period == SECOND
    bucket = Bucket(tree)
    half = SECOND // 2
    first, second = ("a", 0, half, 2), ("a", 5 * SECOND, 5 * SECOND, 1)
    assert not bucket.step(10 * SECOND, grains_of(second, ("b", 8 * SECOND, 8 * SECOND, 1), first))
    late = 12 * SECOND + half
    assert not bucket.step(14 * SECOND, grains_of(("a", late, late, 3)))
    # The watermark is in the middle of a grain: the one at 16 may still get records.
    assert not bucket.step(17 * SECOND - 1000)
    assert bucket.step(17 * SECOND) == [("b", 8 * SECOND, 16 * SECOND, 1)]
    assert not bucket.step(20 * SECOND)
    assert bucket.step(21 * SECOND) == [("a", 0, 20 * SECOND + half, 6)]
    assert bucket.store.data == {}


def test_grains_wait_for_the_watermark_and_their_parts_are_one():
    bucket = Bucket(grain_tree())
    quarter = SECOND // 4
    assert not bucket.step(0, grains_of(("a", 3 * quarter, 3 * quarter, 1), ("a", 20, 30, 2)))
    assert not bucket.step(0, grains_of(("a", 5, quarter, 4)))
    assert len(bucket.store.data) == 2
    assert not bucket.step(SECOND)
    # Too late: windows were found beyond it.
    assert not bucket.step(2 * SECOND, grains_of(("a", 7, 7, 100)))
    assert bucket.step(20 * SECOND) == [("a", 5, 3 * quarter + 8 * SECOND, 7)]
    assert bucket.store.data == {}


def count_tree(**more):
    (tree,) = plan_of(COUNTS).data_trees
    (component,) = tree.aggregates[0].components
    layout = RecordLayout(
        layout=Layout(
            key_columns=("k",),
            start=START,
            storages=(component_storage(component, value_type=INTEGER, name="c", ansi=False),),
        ),
        values={component: ("v",)},
    )
    return DataStreamTree(number=0, tree=tree, record_layout=layout, **more)


def test_records_in_their_own_types():
    columns = {"v": ("long1", pa.int64()), "d": ("long2", pa.date32())}
    tree = count_tree(columns=columns, since=5)
    assert tree.arriving_columns == ("k", START, "long1", "long2")
    rows = {"k": ["a", "b", "a"], START: [7, 4, 6], "long1": [1, 2, None], "long2": [0, 0, 1]}
    found = tree.records(pa.table(rows))
    assert found.column(START).to_pylist() == [7, 6]
    assert found.column("v").to_pylist() == [1, None]
    assert str(found.column("d")[1]) == "1970-01-02"


def test_events_wait_until_the_watermark_has_passed_them():
    bucket = Bucket(count_tree(columns={"v": ("long0", pa.int64())}))
    rows = [("a", 30, 1), ("a", 10, 2), ("a", 50, 3), ("a", 20, 4)]
    names = ("k", START, "long0")

    def arriving(*rows):
        return pa.table({name: [row[i] for row in rows] for i, name in enumerate(names)})

    for row in rows:
        assert not bucket.step(0, arriving(row))
    assert not bucket.step(25)
    # One is too late by now, one is in time.
    assert not bucket.step(25, arriving(("a", 24, 100), ("a", 40, 5)))
    # The next record ends a window of five.
    assert bucket.step(70, arriving(("a", 60, 6))) == [("a", 10, 60, 15)]
