"""A GROUP BY inside the partitions of its input: a row per group in each, and no exchange."""

import pytest
from pyspark.sql.functions import col

from muntin.spark.engine import local_group_by
from muntin.spark.engine.local_group_by import group_within_partitions

CALLS = ["count(*) AS n", "sum(x) AS total", "avg(x) AS mean", "max(word) AS last"]
# Spark computes these from the aggregates in a projection of its own.
BITS = "IF(key > 1 AND count(x) > 0, 1L, 0L) | IF(key = 2 AND count(x) > 0, 2L, 0L) AS bits"


@pytest.fixture
def words(spark):
    """A hundred rows in four partitions, each with all of the five keys."""
    return spark.range(0, 100, 1, 4).selectExpr(
        "IF(id % 5 = 4, NULL, id % 5) AS key", "id * 1.5D AS x", "concat('w', id) AS word"
    )


def grouped(frame, *calls):
    frame.createOrReplaceTempView("grouped")
    return frame.sparkSession.sql(f"SELECT key, {', '.join(calls)} FROM grouped GROUP BY key")


def operators(frame):
    return frame._jdf.queryExecution().executedPlan().toString()


def test_each_partition_has_a_row_for_each_of_its_groups(words, tmp_path):
    words.write.parquet(str(tmp_path / "words"))
    stored = words.sparkSession.read.parquet(str(tmp_path / "words"))
    for source in (words, stored, stored.where("x >= 0").selectExpr("key", "x", "word")):
        whole = grouped(source, *CALLS, BITS)
        split = group_within_partitions(whole)
        assert split.schema == whole.schema
        assert "Exchange" in operators(whole)
        assert "Exchange" not in operators(split)
        assert len(split.collect()) == 5 * source.rdd.getNumPartitions()
        # Rows of one group combine to what the group has.
        again = split.groupBy("key", "bits").agg({"n": "sum", "total": "sum", "last": "max"})
        assert {
            (row["key"], row["sum(n)"], row["sum(total)"], row["max(last)"], row["bits"])
            for row in again.collect()
        } == {(row.key, row.n, row.total, row.last, row.bits) for row in whole.collect()}


def test_it_is_an_ordinary_frame(words):
    split = group_within_partitions(grouped(words, "count(*) AS n"))
    united = split.unionAll(split).where(col("n") > 0).select("n")
    assert united.count() == 2 * split.count() == 40
    assert split.filter("key IS NULL").count() == 4
    assert split.persist().count() == 20
    split.unpersist()


def test_other_plans_are_left_as_they_are(words, spark, monkeypatch):
    frames = {
        "a join": grouped(words.join(spark.range(3), col("key") == col("id")), "count(*) AS n"),
        "an aggregation": grouped(words.groupBy("key").count(), "max(count) AS n"),
        "distinct": grouped(words, "count(DISTINCT word) AS n"),
        "values moved": grouped(words.repartition(3), "count(*) AS n"),
        "no groups": words,
    }
    for why, frame in frames.items():
        assert group_within_partitions(frame) is frame, why
    stored = words.persist()
    frame = grouped(stored, "count(*) AS n")
    assert group_within_partitions(frame) is frame
    stored.unpersist(blocking=True)
    frame = grouped(words, "count(*) AS n")
    for name, value in {"_MERGING": "RuleOfNoSpark$", "_MOST_BYTES": 0}.items():
        with monkeypatch.context() as patch:
            patch.setattr(local_group_by, name, value)
            assert group_within_partitions(frame) is frame, name
    assert group_within_partitions(frame) is not frame
