"""`approx_count_distinct` from slices is Spark's own number, for every type, error and window."""

import random

import pytest
from pyspark.sql import functions as F

import muntin as mt
from muntin.aggregates.parameters import LEAST_REGISTER_BITS, MOST_REGISTER_BITS
from muntin.runtime.storage.registers import bias_tables
from tests.support.answers import plain
from tests.support.comparing import Pair, assert_pairs_equal

# Windows that are one slice, several slices, and many: most windows of the last are by two stacks.
WINDOWS = [
    mt.tumbling("1 minute"),
    mt.tumbling("10 minutes"),
    mt.hopping("30 minutes", every="1 minute"),
    mt.hopping("2 hours", every="7 minutes"),
]
VALUES = {
    "long": "v",
    "int": "CAST(v % 5000 AS INT)",
    "small": "CAST(v % 100 AS TINYINT)",
    "text": "CASE WHEN v % 7 = 0 THEN '' ELSE CAST(v AS STRING) END",
    "double": "CASE v % 50 WHEN 0 THEN -0.0D WHEN 1 THEN 0.0D WHEN 2 THEN double('NaN')"
    " WHEN 3 THEN double('-Infinity') ELSE v / 8D END",
    "float": "CASE v % 50 WHEN 0 THEN float('-0.0') WHEN 1 THEN float('0.0') WHEN 2 THEN"
    " float('NaN') ELSE CAST(v AS FLOAT) END",
    "decimal": "CAST(v % 1000000 AS DECIMAL(12, 2)) / 3",
    "long_decimal": "CAST(v AS DECIMAL(30, 4)) * 1000000007",
    "flag": "v % 2 = 0",
    "day": "date_from_unix_date(CAST(v % 3000 AS INT))",
    "instant": "timestamp_micros(v * 103)",
    "wall": "CAST(timestamp_micros(v * 103) AS TIMESTAMP_NTZ)",
    "bytes": "CAST(CAST(v AS STRING) AS BINARY)",
    "gap": "make_dt_interval(0, 0, 0, v % 1000000)",
    "nothing": "CAST(NULL AS STRING)",
    "rarely": "IF(v % 1000 = 0, v, NULL)",
}


@pytest.fixture(scope="module")
def data(spark):
    rng = random.Random(3)
    rows = []
    for device, count, kinds in (("busy", 2400, 1 << 40), ("few", 800, 40), ("rare", 20, 900)):
        for _ in range(count):
            at = 1_699_999_000_000_000 + rng.randrange(4 * 3600_000_000)
            rows.append((at, device, rng.randrange(kinds) if rng.random() < 0.98 else None))
    frame = spark.createDataFrame(rows, "t LONG, device STRING, v LONG")
    frame = frame.selectExpr("timestamp_micros(t) AS ts", "device", "v").coalesce(2).cache()
    yield frame
    frame.unpersist()


@pytest.fixture(scope="module")
def few(data):
    """A tenth of the events, for tests of who answers a query rather than of what it answers."""
    frame = data.where("v IS NULL OR v % 10 = 0").cache()
    yield frame
    frame.unpersist()


def same(answers, *, strict=True):
    """All answers, each beside Spark's, by their names."""
    assert_pairs_equal(
        Pair(name=name, actual=actual, expected=expected, strict=strict)
        for name, (actual, expected) in answers.items()
    )


def queries(aggregates, **given):
    return [
        mt.Query(name=f"q{index}", window=window, aggregates=aggregates, time="ts", **given)
        for index, window in enumerate(WINDOWS)
    ]


def test_every_type_in_every_window(data):
    aggregates = {name: mt.approx_count_distinct(sql) for name, sql in VALUES.items()}
    asked = queries(aggregates, keys=["device"])
    with mt.run(mt.plan(asked, strategy="shared"), data) as results:
        assert not results.plan.plain_queries
        assert len(results.plan.trees) == 1
        same({query.name: (results[query.name], plain(query, data)) for query in asked})


# From 4 to 18 bits of address. For each window Spark keeps all registers, as so many columns.
@pytest.mark.parametrize(
    "finest",
    [[0.005], pytest.param([0.0035, 0.0025], marks=pytest.mark.slow)],
    ids=["16 bits", "18 bits"],
)
def test_every_error_and_filter_and_other_aggregates(data, finest):
    errors = [0.39, 0.25, 0.2, 0.1, 0.07, 0.03, 0.02, 0.01]
    aggregates = {f"e{index}": mt.approx_count_distinct("v", e) for index, e in enumerate(errors)}
    aggregates["some"] = mt.approx_count_distinct("v", where="v % 3 = 0")
    aggregates["mean"] = mt.avg("v")
    fine = {f"e{e}": mt.approx_count_distinct("v", e) for e in finest}
    asked = queries(aggregates, keys=["device"], where="v IS NULL OR v <> 5")[1:2]
    asked.append(
        mt.Query(
            name="fine",
            window=mt.hopping("3 hours", every="90 minutes"),
            aggregates=fine,
            time="ts",
            where="v IS NULL OR v <> 5",
        )
    )
    with mt.run(asked, data) as results:
        assert not results.plan.plain_queries
        same({query.name: (results[query.name], plain(query, data)) for query in asked})


def test_sql_and_frames_and_what_is_left_to_spark(spark, data):
    data.createOrReplaceTempView("data")
    text = """
      SELECT device, window.start AS at, approx_count_distinct({call}) AS n FROM data
      GROUP BY device, window(ts, '20 minutes', '5 minutes')
    """
    calls = {
        "shared": "v",
        "other": "DISTINCT v, 0.01",
        "double": "v, 2e-2",
        "nested": "struct(v, device)",
        "fine": "v, 0.0001",
    }
    asked = mt.parse_sql(
        ";".join(f"-- name: {name}\n{text.format(call=call)}" for name, call in calls.items())
    )
    with mt.run([query for query in asked if query.name != "fine"], data) as results:
        left = {query.name: query.reason for query in results.plan.plain_queries}
        assert set(left) == {"nested"}
        assert "struct" in left["nested"]
        same({name: (results[name], spark.sql(text.format(call=calls[name]))) for name in results})
    assert isinstance(asked[-1], mt.PlainQuery)
    assert "0.0022 to 0.39" in asked[-1].reason
    frames = {
        "default": data.groupBy("device", F.window("ts", "20 minutes", "5 minutes")).agg(
            F.approx_count_distinct("v").alias("n"), F.max("v")
        ),
        "given": data.groupBy(F.window("ts", "20 minutes", "5 minutes")).agg(
            F.approx_count_distinct("v", 0.02)
        ),
    }
    shared = mt.share(frames)
    assert not shared.plan.plain_queries
    same({name: (shared[name], frame) for name, frame in frames.items()})


@pytest.mark.slow
def test_keys_that_only_spark_compares_are_left_to_it(few):
    aggregates = {"n": mt.approx_count_distinct("v")}
    asked = queries(aggregates, keys={"device": "device COLLATE UTF8_LCASE"})
    asked.append(
        mt.Query(
            name="most",
            window=WINDOWS[1],
            aggregates={"m": mt.max("v")},
            keys={"device": "device COLLATE UTF8_LCASE"},
            time="ts",
        )
    )
    with mt.run(mt.plan(asked, strategy="shared"), few) as results:
        assert [query.name for query in results.plan.plain_queries] == ["q0", "q1", "q2", "q3"]
        assert "UTF8_LCASE" in results.plan.plain_queries[0].reason
        same({query.name: (results[query.name], plain(query, few)) for query in asked})


@pytest.mark.slow
def test_spark_combines_some_queries_of_a_tree_and_the_slicer_makes_others(few):
    asked = queries({"n": mt.approx_count_distinct("v")}, keys=["device"])
    asked.append(
        mt.Query(
            name="text",
            window=WINDOWS[2],
            aggregates={"m": mt.max("CAST(v AS STRING) COLLATE UTF8_LCASE")},
            keys=["device"],
            time="ts",
        )
    )
    with mt.run(mt.plan(asked, strategy="shared"), few) as results:
        assert not results.plan.plain_queries
        same({query.name: (results[query.name], plain(query, few)) for query in asked})
        long = results.together()
        same(
            {
                query.name: (
                    long.where(f"query = '{query.name}'").select(*results[query.name].columns),
                    plain(query, few),
                )
                for query in asked
            },
            # A column of the long form may be null, since other queries do not have it.
            strict=False,
        )


@pytest.mark.slow
def test_one_query_alone_and_queries_apart(data):
    asked = queries({"n": mt.approx_count_distinct("v")}, keys=["device"])
    with (
        mt.run(mt.plan(asked[:1]), data) as alone,
        mt.run(mt.plan(asked[:1], strategy="shared"), data) as shared,
        mt.run(mt.plan(asked[:3], strategy="unshared"), data) as apart,
    ):
        answers = {query.name: (apart[query.name], plain(query, data)) for query in asked[:3]}
        answers["alone"] = alone["q0"], plain(asked[0], data)
        answers["shared"] = shared["q0"], plain(asked[0], data)
        same(answers)
        assert apart.together().count() > 100


def test_the_constants_are_sparks(spark):
    helper = getattr(spark._jvm, "org.apache.spark.sql.catalyst.util.HyperLogLogPlusPlusHelper$")
    theirs = getattr(helper, "MODULE$")
    for bits in range(LEAST_REGISTER_BITS, MOST_REGISTER_BITS + 1):
        raw, biases = bias_tables(bits)
        assert raw.tolist() == list(theirs.RAW_ESTIMATE_DATA()[bits - LEAST_REGISTER_BITS])
        assert biases.tolist() == list(theirs.BIAS_DATA()[bits - LEAST_REGISTER_BITS])
