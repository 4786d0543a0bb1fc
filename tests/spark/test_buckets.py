"""Buckets of keys and where Spark puts them."""

from collections import Counter

import pytest

from muntin.spark.buckets import bucket_labels
from muntin.spark.settings import settings

PARTITIONS = "spark.sql.shuffle.partitions"


@pytest.mark.parametrize(
    ("partitions", "buckets", "most"), [(1, 1, 1), (2, 2, 1), (5, 5, 1), (5, 12, 3), (200, 32, 1)]
)
def test_partitions_have_equally_many_buckets(spark, partitions, buckets, most):
    with settings(spark, {PARTITIONS: str(partitions)}):
        labels = bucket_labels(spark, buckets)
        rows = spark.createDataFrame([(label,) for label in labels], "label INT")
        places = rows.repartition(partitions, "label").selectExpr("spark_partition_id() AS p")
        found = Counter(row.p for row in places.collect())
    assert len(set(labels)) == buckets
    assert max(found.values()) == most


@pytest.mark.parametrize(("partitions", "buckets"), [(3, 3), (200, 32)])
def test_there_is_one_for_each_partition_while_there_are_few(spark, partitions, buckets):
    with settings(spark, {PARTITIONS: str(partitions)}):
        assert len(bucket_labels(spark, None)) == buckets
