"""`mt.compare`: plain Spark beside muntin on the user's own queries and data."""

from datetime import datetime

import pytest
from pyspark.sql import functions as F

import muntin as mt
from muntin.errors import RunError
from muntin.measure.compare import compare_rows

pytestmark = pytest.mark.usefixtures("no_waits")


@pytest.fixture(scope="module")
def readings(spark):
    return spark.sql(
        "SELECT timestamp_seconds(1700000000 + id) AS ts, id % 3 AS device, id / 7D AS temp "
        "FROM range(300)"
    )


QUERIES = """
    -- name: hot
    SELECT device, window, max(temp) AS hottest FROM readings
    GROUP BY device, window(ts, '1 minute');
    -- name: mean
    SELECT window.start, avg(temp) AS mean FROM readings
    GROUP BY window(ts, '2 minutes', '1 minute');
    -- name: latest
    SELECT max(ts) AS latest FROM readings
"""


def test_queries_of_which_one_is_left_to_spark(readings):
    compared = mt.compare(mt.parse_sql(QUERIES), {"readings": readings}, repeats=1)
    assert compared.equal
    assert {name: counts.left for name, counts in compared.rows.items()} == {
        "hot": 18,
        "mean": 7,
        "latest": 1,
    }
    assert [query.name for query in compared.plan.plain_queries] == ["latest"]
    assert compared.plain.cpu_s > 0
    assert compared.muntin.cpu_s > 0
    said = str(compared)
    assert "3 queries" in said
    assert "ratio" in said
    assert compared.to_json()["queries"]["hot"]["equal"] is True


def test_dataframes_by_name(readings):
    minute = readings.groupBy("device", F.window("ts", "1 minute"))
    frames = {"hot": minute.agg(F.max("temp").alias("m")), "n": minute.agg(F.count("*").alias("n"))}
    compared = mt.compare(frames, repeats=1)
    assert compared.equal
    assert [len(tree.queries) for tree in compared.plan.trees] == [2]


def test_the_answers_are_left_in_a_folder(spark, readings, tmp_path):
    (query,) = mt.parse_sql(
        "SELECT window, count(*) AS n FROM readings GROUP BY window(ts, '5 minutes')"
    )
    mt.compare(query, readings, repeats=1, folder=str(tmp_path))
    for side in ("plain Spark", "muntin"):
        rows = spark.read.parquet(str(tmp_path / side / query.name)).collect()
        assert sum(row.n for row in rows) == 300
        assert min(row.window.start for row in rows) <= datetime.fromtimestamp(1700000000)


def test_a_difference_is_counted(readings):
    noisy = readings.withColumn("temp", F.expr("unix_micros(current_timestamp())"))
    (query,) = mt.parse_sql(
        "-- name: noise\nSELECT device, max(temp) AS m FROM readings "
        "GROUP BY device, window(ts, '1 hour')"
    )
    compared = mt.compare([query], noisy, repeats=1)
    assert not compared.equal
    assert compared.rows["noise"].different > 0
    assert "rows differ" in str(compared)


ROWS = "VALUES ('a', 1, 1.5D, 2), ('b', NULL, double('nan'), 3), (NULL, 3, double('inf'), NULL)"


def frame(spark, rows):
    return spark.sql(f"SELECT * FROM {rows} AS t(key, count, mean, other)")


def found(spark, rows, **options):
    return compare_rows(frame(spark, ROWS), frame(spark, rows), **options)


def test_equal_rows_in_any_order_with_nulls_and_nans(spark):
    rows = "VALUES (NULL, 3, double('inf'), NULL), ('b', NULL, double('nan'), 3), ('a', 1, 1.5D, 2)"
    result = found(spark, rows)
    assert result.equal
    assert (result.left, result.right, result.different) == (3, 3, 0)


@pytest.mark.parametrize(
    ("here", "there"),
    [
        ("'a', 1", "'a', 2"),
        ("1.5D, 2", "1.5D, NULL"),
        ("'b', NULL", "'b', 0"),
        ("double('nan')", "1D"),
        ("double('inf')", "1D"),
        ("double('inf')", "double('-inf')"),
        ("1.5D", "1.5000001D"),
        ("('a', 1, 1.5D, 2), ", ""),
        ("('a', 1, 1.5D, 2)", "('a', 1, 1.5D, 2), ('a', 1, 1.5D, 2)"),
        ("'a'", "'c'"),
    ],
)
@pytest.mark.parametrize("exact", [(), ("mean",)])
def test_a_planted_difference_is_found(spark, here, there, exact):
    assert here in ROWS
    assert not found(spark, ROWS.replace(here, there), exact=exact).equal


def test_keys_that_a_query_does_not_have_are_null_on_both_sides(spark):
    rows = (
        "VALUES ('q0', 'a', NULL, 1, 2.5D), ('q1', NULL, 7, NULL, 0.1D), "
        "('q2', NULL, NULL, 3, NULL)"
    )

    def answers(rows):
        return spark.sql(f"SELECT * FROM {rows} AS t(query, device, site, count, avg)")

    def comparison(others):
        return compare_rows(answers(rows), answers(others))

    assert comparison(rows.replace("0.1D", "0.1000000000000001D")).equal
    assert not comparison(rows.replace("7", "8")).equal
    assert not comparison(rows.replace("NULL, 3", "7, 3")).equal
    assert not comparison(rows.replace("NULL, 0.1D", "0, 0.1D")).equal


def test_floats_may_differ_a_little_unless_they_are_to_be_exact(spark):
    nearly = ROWS.replace("1.5D", "1.5000000000001D")
    assert found(spark, nearly).equal
    assert not found(spark, nearly, exact=["mean"]).equal


@pytest.mark.parametrize(
    ("there", "equal"),
    [
        ("array(1D, NULL), map('a', 1, 'b', 2)", True),
        ("array(1.0000000000001D, NULL), map('b', 2, 'a', 1)", True),
        ("array(1.1D, NULL), map('a', 1, 'b', 2)", False),
        ("array(1D), map('a', 1, 'b', 2)", False),
        ("CAST(NULL AS ARRAY<DOUBLE>), map('a', 1, 'b', 2)", False),
        ("array(1D, NULL), map('a', 1, 'b', 3)", False),
    ],
)
def test_arrays_and_maps(spark, there, equal):
    left, right = (
        spark.sql(f"SELECT * FROM VALUES ('k', {values}) AS t(key, floats, counts)")
        for values in ("array(1D, NULL), map('a', 1, 'b', 2)", there)
    )
    assert compare_rows(left, right).equal is equal


def test_other_columns_are_refused(spark):
    left = spark.sql("SELECT 'a' AS key, 1 AS n")
    with pytest.raises(RunError, match="key:string,n:bigint"):
        compare_rows(left, spark.sql("SELECT 'a' AS key, 1L AS n"))
