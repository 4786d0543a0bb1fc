"""Queries that differ in WHERE and GROUP BY: Spark's answers, from one reading of the source."""

import pytest

import muntin as mt
from muntin.model.passes import GROUP_BY, SLICER
from muntin.model.prices import Prices
from muntin.model.query import workload
from muntin.share.optimizer import optimize
from tests.support.answers import assert_equal_answers
from tests.support.executed_plans import scans

WAYS = {GROUP_BY: Prices(event=1e6, handed=1e12), SLICER: Prices(event=1e9, handed=1e6)}
QUERIES = mt.parse_sql("""
-- name: devices
SELECT device, window, avg(temp) AS mean, count(*) AS n FROM readings
GROUP BY device, window(ts, '1 minute');
-- name: hot
SELECT device, window, count(*) AS n FROM readings WHERE temp > 20 AND load > 1
GROUP BY device, window(ts, '5 minutes', '1 minute');
-- name: hot again
SELECT device, window, max(temp) AS top FROM readings WHERE 1<load  and (temp > 20)
GROUP BY device, window(ts, '2 minutes');
-- name: guarded
SELECT state, window, sum(10 / load) AS total FROM readings WHERE load <> 0
GROUP BY state, window(ts, '2 minutes');
-- name: all
SELECT window, stddev(temp) AS spread, sum(load) AS total FROM readings
GROUP BY window(ts, '3 minutes');
-- name: words
SELECT alarm, window, max(state) AS last FROM readings WHERE alarm IS NOT NULL
GROUP BY alarm, window(ts, '10 minutes');
-- name: nobody
SELECT device, window, count(*) AS n FROM readings WHERE temp > 1e9
GROUP BY device, window(ts, '1 minute')
""")


@pytest.mark.parametrize("way", WAYS)
def test_answers_are_sparks_and_the_source_is_read_once(spark, readings, tmp_path, way):
    readings.write.parquet(str(tmp_path / "readings"))
    stored = spark.read.parquet(str(tmp_path / "readings"))
    plan = optimize(workload(QUERIES, prices=WAYS[way]), "shared")
    assert [each.maker for each in plan.passes] == [way]
    with mt.run(plan, stored) as results:
        assert_equal_answers(results, stored)
    shared = [query for query in QUERIES if query.name != "words"]
    plan = optimize(workload(shared, prices=WAYS[way]), "shared")
    with mt.run(plan, stored) as results:
        assert scans(results.together()) == 1


@pytest.mark.parametrize("way", WAYS)
def test_writing_and_single_answers_agree(spark, readings, tmp_path, way):
    plan = optimize(workload(QUERIES, prices=WAYS[way]), "shared")
    with mt.run(plan, readings) as results:
        results.write(str(tmp_path / "out"))
        for name in results:
            back = spark.read.parquet(str(tmp_path / "out" / name))
            assert back.count() == results[name].count()


def test_filters_of_one_meaning_are_one_grouping(readings):
    with mt.run(QUERIES, readings, strategy="shared") as results:
        together = [tree.queries for tree in results.plan.trees if "hot" in tree.queries]
        assert [sorted(names) for names in together] == [["hot", "hot again"]]
        assert_equal_answers(results, readings)


def test_a_cast_that_a_filter_guards_is_computed_for_its_rows_only(spark):
    rows = [(0, "a", "7"), (1, "b", "no number"), (61, "a", "8"), (62, "c", None)]
    frame = spark.createDataFrame(rows, "t INT, kind STRING, value STRING").selectExpr(
        "timestamp_seconds(t) AS ts", "kind", "value"
    )
    queries = mt.parse_sql("""
    -- name: numbers
    SELECT window, sum(CAST(value AS INT)) AS total FROM rows WHERE kind = 'a'
    GROUP BY window(ts, '1 minute');
    -- name: kinds
    SELECT kind, window, count(*) AS n FROM rows GROUP BY kind, window(ts, '1 minute');
    -- name: by a number
    SELECT kind = 1 AS first, window, count(*) AS n FROM rows WHERE kind IS NULL
    GROUP BY kind = 1, window(ts, '1 minute')
    """)
    for prices in WAYS.values():
        plan = optimize(workload(queries, prices=prices), "shared")
        with mt.run(plan, frame) as results:
            assert_equal_answers(results, frame)
