"""A query that fails for some event fails as it does alone, and fails no other."""

import os

import pytest
from pyspark.errors import PySparkException
from pyspark.sql.functions import count, expr, max, window

import muntin as mt
from muntin.errors import RunError
from muntin.model.passes import Engine
from muntin.model.prices import Prices
from muntin.model.workload import workload
from muntin.optimizer.optimize import optimize
from muntin.spark.binding.relations import Relations
from tests.support.answers import plain
from tests.support.executed_plans import counted_jobs, stored_frames

WAYS = {
    Engine.SPARK: Prices(event=1e6, handed=1e12),
    Engine.COMPILED: Prices(event=1e9, handed=1e6),
}
FAILING = {
    "index": {"aggregates": {"a": mt.max("arr[0]")}},
    "overflow": {"aggregates": {"a": mt.sum("big * 2")}},
    "cast": {"aggregates": {"a": mt.sum("CAST(text AS INT)")}},
    "division": {"aggregates": {"a": mt.avg("1 / zero")}},
    "key": {"keys": ["CAST(text AS INT)"]},
    "filter": {"where": "1 / zero > 1"},
    "native": {"aggregates": {"a": mt.max("array(1 / zero)")}},
    "set": {"aggregates": {"a": mt.count_distinct("CAST(text AS INT)")}},
    "sums": {"aggregates": {"a": mt.sum("huge"), "b": mt.max("array(huge)")}},
}


@pytest.fixture(scope="module")
def events(spark, tmp_path_factory):
    computed = spark.range(40).selectExpr(
        "timestamp_micros(id * 1000000) AS ts",
        "id % 2 AS k",
        "CAST(id AS INT) AS i",
        "IF(id = 7, array(), array(id)) AS arr",
        "IF(id = 7, 2147483647, 1) AS big",
        "IF(id = 7, 'x', '1') AS text",
        "IF(id = 7, 0, 1) AS zero",
        "9223372036854775800L AS huge",
    )
    path = str(tmp_path_factory.mktemp("events") / "parquet")
    computed.coalesce(1).write.parquet(path)
    return spark.read.parquet(path)


def query(name, size, **changes):
    fields = {"aggregates": {"a": mt.sum("i")}, "keys": ["k"], **changes}
    return mt.Query(name=name, window=mt.tumbling(f"{size} seconds"), time="ts", **fields)


VALID = [query("v4", 4), query("v8", 8, where="i > 3"), query("v10", 10, keys=[])]


def outcome(frame):
    """Returns the rows of an answer, or what Spark calls the error that it raises."""
    try:
        return sorted(map(repr, frame().collect()))
    except PySparkException as error:
        return error.getCondition()


BAD = [query(name, 6, **changes) for name, changes in FAILING.items()]


@pytest.mark.parametrize("way", WAYS)
def test_only_the_queries_fail_that_fail_alone(events, way):
    asked = [*VALID, *BAD]
    plan = optimize(workload(asked, prices=WAYS[way]), "shared")
    with mt.run(plan, events) as results:
        found = {each.name: outcome(lambda each=each: results[each.name]) for each in asked}
    assert found == {each.name: outcome(lambda each=each: plain(each, events)) for each in asked}
    assert all(isinstance(found[each.name], str) for each in BAD)


@pytest.mark.parametrize("each", [*VALID, *BAD], ids=lambda each: each.name)
def test_which_queries_may_fail_is_known(events, each):
    # The sum itself fails, not what it is of.
    may_fail = each in BAD and each.name != "sums"
    assert Relations(events, [each]).may_fail([each]) == may_fail


def test_dataframes_fail_alone_too(events):
    def grouped(size, *calls, where="true"):
        return events.where(where).groupBy(window("ts", f"{size} seconds"), "k").agg(*calls)

    frames = {
        "index": grouped(4, max(expr("arr[0]"))),
        "rows": grouped(8, count("*")),
        "cast": grouped(10, max(expr("CAST(text AS INT)"))),
        "guarded": grouped(10, max(expr("CAST(text AS INT)")), where="text <> 'x'"),
    }
    with mt.share(frames, strategy="shared") as results:
        assert not results.plan.plain_queries
        for name, frame in frames.items():
            assert outcome(lambda name=name: results[name]) == outcome(lambda frame=frame: frame)


def test_data_windows_fail_alone_too(events):
    def found(name, window, **changes):
        return mt.Query(name=name, window=window, time="ts", **changes)

    rows, change = mt.count_window(10), mt.punctuation("i % 8 = 0")
    valid = [
        found("rows", rows, aggregates={"a": mt.sum("i")}),
        found("change", change, aggregates={"a": mt.count()}),
    ]
    bad = found("bad", mt.count_window(5), aggregates={"a": mt.sum("CAST(text AS INT)")})
    with mt.run(valid, events) as alone, mt.run([*valid, bad], events) as results:
        for each in valid:
            assert outcome(lambda each=each: results[each.name]) == outcome(
                lambda each=each: alone[each.name]
            )
        assert outcome(lambda: results["bad"]) == "CAST_INVALID_INPUT"


def test_queries_that_cannot_fail_go_on_sharing(events):
    asked = [*VALID, query("bad", 6, **FAILING["cast"])]
    with mt.run(asked, events, strategy="shared") as results, stored_frames() as stored:
        assert outcome(lambda: results["bad"]) == "CAST_INVALID_INPUT"
        for each in VALID:
            results[each.name].collect()
        assert stored() == 1


def test_nothing_runs_before_an_answer_is_used_if_no_query_can_fail(spark, events):
    texts = query("texts", 6, aggregates={"a": mt.max("text")})
    with mt.run([*VALID, texts], events, strategy="shared") as results:
        with counted_jobs(spark) as jobs:
            frames = [results[name] for name in results]
        assert jobs == [0]
        with counted_jobs(spark) as jobs:
            frames[0].collect()
        assert jobs[0] > 0


@pytest.mark.parametrize("format", ["parquet", "json"])
def test_the_answers_to_the_others_are_written(spark, events, tmp_path, format):
    bad = [query("bad", 6, **FAILING["cast"]), query("sums", 8, aggregates={"a": mt.sum("huge")})]
    with mt.run([*VALID, *bad], events, strategy="shared") as results:
        with pytest.raises(
            RunError, match=r"query 'bad'.*\n?.*failed: bad, sums; written: v4"
        ) as e:
            results.write(str(tmp_path), format=format)
        assert isinstance(e.value.__cause__, PySparkException)
        assert sorted(os.listdir(tmp_path)) == ["v10", "v4", "v8"]
        for each in VALID:
            rows = spark.read.format(format).load(str(tmp_path / each.name)).count()
            assert rows == plain(each, events).count()
