"""`mt.compare`: plain Spark beside muntin on the user's own queries and data."""

from datetime import datetime

import pytest
from pyspark.sql import functions as F

import muntin as mt

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
    assert [query.name for query in compared.plan.plain] == ["latest"]
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
