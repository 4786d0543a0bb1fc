"""Every row of the table of aggregates on every path: its answers are plain Spark's."""

import json
import math
import random

import pytest

import muntin as mt
from muntin.aggregates.aggregate import Aggregate, function_call
from muntin.aggregates.table import FUNCTIONS, TEXT
from muntin.model.plan_json import plan_from_json, plan_to_json
from tests.support.answers import plain
from tests.support.streams import Input, at, closed, events, joined

# What each function of one argument is taken of; other functions, of numbers that vary.
OF = {"count_if": "i > 2", "bool_or": "i > 4", "bool_and": "i > 1"}
OF |= dict.fromkeys(["bit_and", "bit_or", "bit_xor"], "i")
OF |= dict.fromkeys(["sum_distinct", "bit_xor_distinct", "mode", "count_min_sketch"], "i")
OF["bitmap_construct_agg"] = "abs(i) % 32768"
OF |= dict.fromkeys(["bitmap_or_agg", "bitmap_and_agg"], "CAST(CAST(i AS STRING) AS BINARY)")
# Theta sketches of a single value, whose hash ends the bytes.
OF |= dict.fromkeys(
    ["theta_union_agg", "theta_intersection_agg"],
    "unhex(concat('01030300003ACC93010203040506071', abs(i) % 10))",
)
# Rows with the same value here have the same y: which of several Spark chooses is not determined.
CHOSEN = ("max_by", "min_by")
OF |= dict.fromkeys(CHOSEN, ("y", "xxhash64(ts, x, y)"))
# What stands behind the arguments of a function that takes parameters.
PARAMETERS = {
    "percentile": ([0.1, 0.5, 0.95],),
    "percentile_cont": (0.3, "DESC"),
    "percentile_disc": (0.3,),
    "count_min_sketch": (0.1, 0.9, 5),
}
SCHEMA = "t LONG, device STRING, x DOUBLE, y DOUBLE, i INT"


def aggregates(of, y, x, where=None, *, is_native=False):
    """A call of every function of the table, or of those that Spark SQL can combine."""
    return {
        name: function_call(name)(
            *((of.get(name, (y, x))) if row.arguments == 2 else (of.get(name, x),)),
            *PARAMETERS.get(name, ()),
            where=where,
        )
        for name, row in FUNCTIONS.items()
        # What only Spark combines has tests of its own, `batch/test_sketches.py`.
        if not row.is_approximate and (row.is_native or not is_native)
        # Beside calls with DISTINCT of several columns, Spark itself fails; see `texts`.
        if row.result != TEXT
    }


def texts(window, of):
    """A query of the texts of values."""
    return mt.Query(
        name="texts",
        window=window,
        aggregates={"all": mt.listagg(of, "; ", "DESC"), "each": mt.listagg_distinct(of)},
        keys=["device"],
        time="ts",
    )


def queries(keys, *windows, where=None, is_native=False, but=()):
    return [
        mt.Query(
            name=f"q{index}",
            window=window,
            aggregates={
                name: call
                for name, call in aggregates(OF, "y", "x", where, is_native=is_native).items()
                if name not in but
            },
            keys=keys,
            time="ts",
        )
        for index, window in enumerate(windows)
    ]


PERIODIC = (mt.tumbling("1 minute"), mt.hopping("3 minutes", every="1 minute"))


@pytest.fixture(scope="module")
def data(spark):
    """Events of keys that vary, do not vary, are sometimes missing, and hold what is no number."""
    rng = random.Random(5)
    rows = []
    for device in ("varies", "still", "level", "holes", "odd", None):
        for _ in range(40):
            x = rng.choice([0.1, 0.3, 2.5, 7.0, rng.uniform(1, 9)])
            y = 3 * x + rng.uniform(0, 2)
            if device == "still":
                x = 0.1
            if device == "level":
                y = 0.3
            if device == "holes":
                x, y = rng.choice([(None, y), (x, None), (None, None), (x, y)])
            if device == "odd" and rng.random() < 0.1:
                x = rng.choice([math.nan, math.inf])
            i = rng.choice([None, 0, 1, 2, 3, 5, -8, 1 << 30])
            rows.append((1_700_000_000_000_000 + rng.randrange(600_000_000), device, x, y, i))
    frame = spark.createDataFrame(rows, SCHEMA)
    frame = frame.selectExpr("timestamp_micros(t) AS ts", "*").coalesce(2).cache()
    yield frame
    frame.unpersist()


def rows_of(frame, query):
    """The rows by key and window."""
    found = {}
    for row in frame.collect():
        key = tuple(row[name] for name in row.asDict() if name not in query.aggregates)
        assert key not in found
        found[key] = [row[name] for name in query.aggregates]
    return found


def is_unordered(aggregate):
    """Whether the order of the answer's list is not determined."""
    # Of values that are as frequent, Spark names any first.
    is_any = aggregate.function in ("collect_set", "approx_top_k")
    return is_any or aggregate.definition.has_undefined_order


def assert_like(found, expected, query):
    """The same rows; floats to nine digits, or to what is left of sums that cancel out."""
    # Files do not say whether an element of a list may be null.
    assert [(f.name, f.dataType.simpleString()) for f in found.schema] == [
        (f.name, f.dataType.simpleString()) for f in expected.schema
    ]
    ours, theirs = rows_of(found, query), rows_of(expected, query)
    assert ours.keys() == theirs.keys()
    assert theirs
    for key, values in theirs.items():
        for name, one, other in zip(query.aggregates, ours[key], values, strict=True):
            where = f"{query.name} {name} {key}: {one}, and Spark has {other}"
            if isinstance(one, float) and isinstance(other, float):
                same = math.isnan(one) and math.isnan(other)
                assert same or math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-9), where
            elif isinstance(one, list) and isinstance(other, list):
                # NaN is not equal to itself, and the order of a set is not determined.
                in_order = sorted if is_unordered(query.aggregates[name]) else list
                assert in_order(map(repr, one)) == in_order(map(repr, other)), where
            else:
                assert one == other, where


@pytest.mark.parametrize(
    ("keys", "where"),
    [(["device"], None), (["device"], "i > 0"), ({"device": "device COLLATE UTF8_LCASE"}, None)],
    ids=["compiled", "filtered", "native"],
)
def test_batches(data, keys, where):
    # Spark's SQL combines no sets of values.
    asked = queries(keys, *PERIODIC, where=where, is_native=isinstance(keys, dict))
    with mt.run(mt.plan(asked, strategy="shared"), data) as results:
        assert len(results.plan.trees) == 1
        for query in asked:
            assert_like(results[query.name], plain(query, data), query)


def test_plans_as_sql(spark, data):
    asked = queries(["device"], *PERIODIC, is_native=True)
    data.createOrReplaceTempView("data")
    with mt.run(mt.plan(asked, strategy="shared"), data) as results:
        for query in asked:
            assert_like(spark.sql(results.to_sql(query.name)), plain(query, data), query)


def test_data_windows(data):
    # With a DISTINCT of other columns beside it, Spark's own sessions count values twice.
    sessions = (mt.session("10 seconds"), mt.session("20 seconds"))
    asked = queries(["device"], *sessions, but=("sum_distinct", "bit_xor_distinct"))
    asked.append(texts(sessions[0], "CAST(i AS STRING)"))
    with mt.run(asked, data) as results:
        assert len(results.plan.data_trees) == 1
        for query in asked:
            assert_like(results[query.name], plain(query, data), query)


@pytest.mark.long
def test_streams(spark, one_partition, tmp_path):
    source, out = Input(spark, tmp_path / "in"), tmp_path / "out"
    of = {name: sql.replace("i", "load") for name, sql in OF.items() if name not in CHOSEN}
    of |= dict.fromkeys(CHOSEN, ("temp / 4", "xxhash64(ts, temp)"))
    query = mt.Query(
        name="all",
        window=mt.hopping("2 minutes", every="1 minute"),
        aggregates={
            **aggregates(of, "temp / 4", "load % 100"),
            # Of so few values, Spark's is exact.
            "near": mt.approx_percentile("load % 100", [0.2, 0.5]),
            "top": mt.approx_top_k("load % 100", 50),
            # A sketch of one value has no order.
            "one": mt.hll_sketch_agg("load * 0", 5),
            "same": mt.hll_union_agg("X'0201070C0308010899FFFF04'", where="load > 2"),
        },
        keys=["device"],
        time="ts",
        where="temp < 1e9",
    )
    joined_up = texts(query.window, "CAST(load % 10 AS STRING)")
    made = events(17, files=4)
    # There are windows with rows of both files.
    source.put(joined(made[:3]), made[3])
    with mt.start(
        [query, joined_up],
        source.stream(),
        checkpoint=tmp_path / "check",
        sink=out,
        options=mt.StreamOptions(buckets=1, approximate=True),
    ) as pipeline:
        pipeline.process_all_available()
        watermark = at(pipeline.status().watermark)
    for each in (query, joined_up):
        found = spark.read.parquet(str(out / each.name))
        assert_like(found, closed(plain(each, source.batch()), each, watermark), each)


def test_json():
    plan = mt.plan(queries(["device"], *PERIODIC))
    again = plan_from_json(json.loads(json.dumps(plan_to_json(plan))))
    assert plan_to_json(again) == plan_to_json(plan)
    assert again.trees == plan.trees


def test_one_argument_is_written_as_it_always_was():
    plan = mt.plan(
        mt.Query(name="q", window=mt.tumbling("1 minute"), aggregates={"m": mt.max("x")}, time="t")
    )
    (query,) = plan_to_json(plan)["queries"]
    assert query["aggregates"] == [["m", {"function": "max", "argument": "x", "where": None}]]


def test_sql_reads_every_function():
    written = aggregates({}, "y", "x")
    # Those that the other tests leave out take no parameter, or may leave it out.
    left = set(FUNCTIONS) - {one.function for one in written.values()} - {"approx_percentile"}
    written |= {name: function_call(name)("x") for name in left}
    written["approx_percentile"] = mt.approx_percentile("x", 0.5)
    # A list is shared where its order does not matter.
    texts = {
        name: f"size({each.to_sql()})" if each.definition.has_undefined_order else each.to_sql()
        for name, each in written.items()
    }
    calls = ", ".join(f"{text} AS a_{name}" for name, text in texts.items())
    (query,) = mt.parse_sql(f"SELECT {calls} FROM data GROUP BY window(ts, '1 minute')")
    assert isinstance(query, mt.Query)
    assert {one.function for one in query.aggregates.values()} == set(FUNCTIONS)
    assert all(isinstance(one, Aggregate) for one in query.aggregates.values())
