"""Counts of scans that tests rely on are those of plans whose scans are known."""

import pytest

from muntin.spark.engine.settings import temporary_settings
from tests.support.executed_plans import columns_read, scans


@pytest.fixture(scope="module")
def files(spark, tmp_path_factory):
    path = str(tmp_path_factory.mktemp("numbers") / "parquet")
    spark.range(100).selectExpr("id", "id % 3 AS key", "id % 7 AS other").write.parquet(path)
    return spark.read.parquet(path)


@pytest.fixture(params=["true", "false"])
def adaptive(request, spark):
    with temporary_settings(spark, {"spark.sql.adaptive.enabled": request.param}):
        yield


def sums(frame):
    return frame.groupBy("key").sum("id")


def test_each_part_of_a_union_scans(files, adaptive):
    assert scans(files) == 1
    assert scans(sums(files)) == 1
    assert scans(sums(files).union(sums(files.where("other = 1")))) == 2


def test_what_is_reused_is_scanned_once(spark, files, adaptive):
    # Without broadcasts, both sides of the join read the same exchange.
    with temporary_settings(spark, {"spark.sql.autoBroadcastJoinThreshold": "-1"}):
        joined = sums(files).join(sums(files).withColumnRenamed("sum(id)", "again"), "key")
        assert scans(joined) == 1
        assert joined.count() == 3


def test_the_scan_below_a_cached_table_counts_once(files, adaptive):
    cached = sums(files).cache()
    try:
        assert scans(cached) == 1
        assert scans(cached.where("key = 1").union(cached.where("key = 2"))) == 1
    finally:
        cached.unpersist()


def test_subqueries_scan_too(spark, files, adaptive):
    files.createOrReplaceTempView("numbers")
    text = "SELECT * FROM numbers WHERE other = (SELECT max(key) FROM numbers)"
    assert scans(spark.sql(text)) == 2


def test_frames_without_files_have_no_scans(spark):
    assert scans(sums(spark.range(9).selectExpr("id", "id AS key"))) == 0


def test_only_the_columns_that_are_used_are_read(files, adaptive):
    assert columns_read(sums(files)) == {"id", "key"}
    assert columns_read(files.select("other")) == {"other"}
