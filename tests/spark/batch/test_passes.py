"""Queries that differ in WHERE and GROUP BY: Spark's answers, from one reading of the source."""

from dataclasses import replace

import pytest

import muntin as mt
from muntin.model.passes import Engine
from muntin.model.prices import Prices
from muntin.model.time import MINUTE, SECOND
from muntin.model.workload import workload
from muntin.optimizer.optimize import optimize
from muntin.spark.engine.plan_reuse import store
from tests.support.answers import TOLERANCE, assert_equal_answers
from tests.support.comparing import Pair, assert_pairs_equal
from tests.support.executed_plans import counting_rows, scans, stored_frames

WAYS = {
    Engine.SPARK: Prices(event=1e6, handed=1e12),
    Engine.COMPILED: Prices(event=1e9, handed=1e6),
}
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
-- name: of one state
SELECT device, window, avg(load) AS mean, count(*) AS n FROM readings
WHERE temp > 5 AND state <> 'b'
GROUP BY device, window(ts, '4 minutes', '2 minutes');
-- name: of some devices
SELECT window, max(temp) AS top FROM readings WHERE device IS NULL OR device = 'a'
GROUP BY window(ts, '2 minutes');
-- name: nobody
SELECT device, window, count(*) AS n FROM readings WHERE temp > 1e9
GROUP BY device, window(ts, '1 minute')
""")


@pytest.mark.parametrize("way", WAYS)
def test_answers_are_sparks_and_the_source_is_read_once(spark, readings, tmp_path, way):
    readings.write.parquet(str(tmp_path / "readings"))
    stored = spark.read.parquet(str(tmp_path / "readings"))
    plan = optimize(workload(QUERIES, prices=WAYS[way]), "shared")
    assert [each.engine for each in plan.passes] == [way]
    with mt.run(plan, stored) as results:
        assert_equal_answers(results, stored)
    shared = [query for query in QUERIES if query.name != "words"]
    plan = optimize(workload(shared, prices=WAYS[way]), "shared")
    with mt.run(plan, stored) as results:
        assert scans(results.together()) == 1


def test_writing_and_single_answers_agree(spark, readings, tmp_path):
    plan = optimize(workload(QUERIES, prices=WAYS[Engine.COMPILED]), "shared")
    with mt.run(plan, readings) as results:
        results.write(str(tmp_path / "out"))
        assert_pairs_equal(
            Pair(
                name=name,
                expected=spark.read.parquet(str(tmp_path / "out" / name)),
                actual=results[name],
                tolerance=TOLERANCE,
                strict=False,
            )
            for name in results
        )


MANY = mt.parse_sql(
    ";".join(
        f"""
-- name: q{number}
SELECT {by}{"," * bool(by)} window, avg(x) AS mean, count(*) AS n, {calls} FROM readings {where}
GROUP BY {by}{"," * bool(by)} window(ts, {window})"""
        for number, (by, where, window, calls) in enumerate(
            (
                ("device", "WHERE x > 3", "'1 minute'", "count(x) AS there"),
                ("device", "WHERE x > 20", "'2 minutes', '1 minute'", "min(x) AS least"),
                ("state", "WHERE device = 'a' AND x > 20", "'2 minutes'", "sum(load) AS total"),
                ("state", "WHERE load <> 0", "'3 minutes'", "sum(10 / load) AS total"),
                ("", "WHERE device <> 'b' OR state IS NULL", "'1 minute'", "max(load) AS top"),
                ("", "WHERE x > 3", "'5 minutes'", "stddev(x) AS spread, corr(x, load) AS r"),
                ("state, device", "WHERE x <= 20", "'2 minutes'", "bit_xor(load) AS bits"),
                ("device", "WHERE load IS NULL", "'4 minutes'", "max(x) AS top"),
                ("state", "WHERE x > 1e9", "'1 minute'", "sum(x) AS total"),
                ("", "WHERE x IS NULL", "'2 minutes'", "count(load) AS there"),
            )
        )
    )
)


def test_many_trees_are_folded_from_finest_slices(spark):
    # Twenty events and more for each device, state and minute, with nulls in all columns.
    frame = spark.range(1200).selectExpr(
        "timestamp_seconds(id DIV 4 - 60) AS ts",
        "element_at(array('a', 'b', NULL), CAST(id % 3 + 1 AS INT)) AS device",
        "IF(id % 2 = 0, 'on', NULL) AS state",
        "IF(id % 11 = 0, NULL, IF(id % 97 = 0, double('nan'), id % 41 / 1.5D)) AS x",
        "IF(id % 7 = 0, NULL, CAST(id % 5 AS INT)) AS load",
    )
    plan = optimize(workload(MANY, prices=WAYS[Engine.COMPILED]), "shared")
    assert len(plan.trees) == len(MANY)
    # So many filters are not asked before all else.
    assert [(each.engine, each.drops_rows) for each in plan.passes] == [(Engine.COMPILED, False)]
    with mt.run(plan, frame) as results:
        assert_equal_answers(results, frame)


HOPS = mt.parse_sql("""
-- name: seconds
SELECT device, window, avg(temp) AS mean FROM readings
GROUP BY device, window(ts, '5 seconds', '1 second');
-- name: hops
SELECT device, window, stddev(temp) AS spread, sum(load) AS total FROM readings
GROUP BY device, window(ts, '5 minutes', '70 seconds');
-- name: minutes
SELECT device, window, count(*) AS n, max(temp) AS top FROM readings
GROUP BY device, window(ts, '1 minute');
-- name: hot
SELECT window, count(*) AS n, max(load) AS top FROM readings WHERE temp > 5
GROUP BY window(ts, '3 minutes', '1 minute')
""")


@pytest.mark.parametrize("way", WAYS)
def test_groups_of_windows_are_composed_from_slices_that_are_cut_once(
    spark, readings, tmp_path, way
):
    readings.write.parquet(str(tmp_path / "readings"))
    stored = spark.read.parquet(str(tmp_path / "readings"))
    # Slices of unequal length, too: finding them is free.
    prices = replace(WAYS[way], progression=0.0)
    plan = optimize(workload(HOPS, prices=prices), "triweave")
    (shared,) = plan.passes
    assert (shared.engine, shared.slicing.width) == (way, SECOND)
    # The last is the grouping of another filter. Edges of the second fill no grid.
    widths = {tree.queries: tree.slicing.width for tree in plan.trees}
    assert widths == {("seconds",): SECOND, ("minutes", "hops"): None, ("hot",): MINUTE}
    with mt.run(plan, stored) as results:
        assert [tree.slicing_pass for tree in results.plan.trees] == [shared] * 3
        assert scans(results.together()) == 1
        assert_equal_answers(results, stored)


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


def test_what_keys_decide_of_a_filter_is_not_asked_of_events(spark, readings):
    queries = [query for query in QUERIES if query.name in {"devices", "of one state", "guarded"}]
    plan = optimize(workload(queries, prices=WAYS[Engine.SPARK]), "shared")
    with mt.run(plan, readings) as results:
        executed = results.together()._jdf.queryExecution().optimizedPlan().toString()
        assert_equal_answers(results, readings)
    aggregates = next(line for line in executed.splitlines() if "Aggregate [" in line)
    assert "CASE WHEN (temp" in aggregates
    assert "CASE WHEN (NOT (state" not in aggregates
    assert "if (NOT (" in aggregates


# A key that is more than a column, and a filter, which may guard it: two passes.
APART = """
-- name: devices
SELECT device, window, count(*) AS n, max(height) AS top FROM {relation}
GROUP BY device, window(ts, '1 minute');
-- name: slow
SELECT device, window, count(*) AS n FROM {relation}
GROUP BY device, window(ts, '5 minutes', '1 minute');
-- name: upper
SELECT upper(device) AS d, window, sum(load) AS total FROM {relation} WHERE load > 3
GROUP BY upper(device), window(ts, '2 minutes');
-- name: upper and slow
SELECT upper(device) AS d, window, sum(load) AS total FROM {relation} WHERE load > 3
GROUP BY upper(device), window(ts, '4 minutes', '1 minute')
"""


def test_a_join_is_computed_once_for_several_passes(spark, readings, tmp_path):
    readings.write.parquet(str(tmp_path / "readings"))
    heights = spark.sql("SELECT concat('d', id) AS name, id * 10 AS height FROM range(2)")
    heights.write.parquet(str(tmp_path / "heights"))
    data = {name: spark.read.parquet(str(tmp_path / name)) for name in ("readings", "heights")}
    queries = mt.parse_sql(APART.format(relation="readings r JOIN heights h ON r.device = h.name"))
    with mt.run(queries, data) as results:
        # So few rows are joined again.
        assert results.plan.stored_relations == ()
    once = "readings r JOIN (SELECT DISTINCT name, height FROM heights) h ON r.device = h.name"
    queries = mt.parse_sql(APART.format(relation=once))
    with stored_frames() as kept, mt.run(queries, data) as results:
        assert len(results.plan.stored_relations) == 1
        told = " ".join(results.plan.explain().split())
        assert "is computed once and stored, since it is read 2 times" in told
        assert scans(results.together()) == 2
        assert_equal_answers(results, data)
        assert kept() > 0
    assert kept() == 0
    with mt.run(queries, data, strategy="unshared") as results:
        assert results.plan.stored_relations == ()
    tables = mt.parse_sql(APART.format(relation="readings").replace("max(height)", "max(temp)"))
    with mt.run(tables, data["readings"]) as results:
        assert len(results.plan.readings) == 1
        assert results.plan.stored_relations == ()


def test_a_python_function_sees_each_row_once(readings):
    columns = readings.select("ts", "device", "load", (readings.temp * 10).alias("height"))
    frame, seen = counting_rows(columns)
    queries = mt.parse_sql(APART.format(relation="rows"))
    with mt.run(queries, frame) as results:
        rows = {name: results[name].count() for name in results}
        assert results.together().count() == sum(rows.values())
        assert seen.value == 900
        assert_equal_answers(results, frame)


@pytest.mark.parametrize("way", WAYS)
def test_keys_that_are_times(readings, way):
    keys = "date_trunc('hour', ts), CAST(ts AS DATE), IF(device = 'a', named_struct('t', ts), NULL)"
    queries = mt.parse_sql(
        f"""
        -- name: slide
        SELECT {keys}, window, count(*) AS n FROM readings
        GROUP BY {keys}, window(ts, '2 minutes', '1 minute');
        -- name: local
        SELECT CAST(ts AS TIMESTAMP_NTZ) AS local, window, max(temp) AS top FROM readings
        GROUP BY CAST(ts AS TIMESTAMP_NTZ), window(ts, '3 minutes', '1 minute')
        """
    )
    with mt.run(optimize(workload(queries, prices=WAYS[way]), "shared"), readings) as results:
        assert_equal_answers(results, readings)


@pytest.mark.parametrize("way", WAYS)
def test_a_query_that_leaves_a_pass_takes_its_keys_along(spark, readings, way):
    queries = mt.parse_sql("""
    -- name: devices
    SELECT device, window, avg(temp) AS mean FROM readings GROUP BY device, window(ts, '1 minute');
    -- name: hot
    SELECT device, window, count(*) AS n FROM readings WHERE temp > 20
    GROUP BY device, window(ts, '5 minutes', '1 minute');
    -- name: rounded
    SELECT state, window, avg(CAST(load AS DECIMAL(9, 2))) AS mean FROM readings
    GROUP BY state, window(ts, '2 minutes')
    """)
    plan = optimize(workload(queries, prices=WAYS[way]), "shared")
    assert [each.keys for each in plan.passes] == [("device", "state")]
    with mt.run(plan, readings) as results:
        assert [query.name for query in results.plan.plain_queries] == ["rounded"]
        assert [each.keys for each in results.plan.passes] == [("device",)]
        assert_equal_answers(results, readings)


def test_a_filter_on_a_stored_relation_keeps_nan(spark):
    rows = [(1, "a", -1.5), (2, "a", float("nan")), (61, "b", float("nan")), (62, "b", None)]
    frame = spark.createDataFrame(rows, "t INT, device STRING, x DOUBLE").selectExpr(
        "timestamp_seconds(t) AS ts", "device", "x"
    )
    queries = mt.parse_sql("""
    -- name: above
    SELECT device, window, count(*) AS n FROM rows WHERE x > 0
    GROUP BY device, window(ts, '1 minute');
    -- name: below
    SELECT window, count(*) AS n FROM rows WHERE x < 0 GROUP BY window(ts, '2 minutes')
    """)
    frame = store(frame)
    with mt.run(queries, frame, strategy="unshared") as results:
        answers = {name: results[name].drop("window").collect() for name in results}
    frame.unpersist()
    assert sorted(answers["above"]) == [("a", 1), ("b", 1)]
    assert answers["below"] == [(1,)]
