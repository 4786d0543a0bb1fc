"""Buckets of keys and where Spark puts them."""

from collections import Counter

import pytest

from muntin.spark.engine.settings import settings
from muntin.spark.stream.operator import bucket_labels

PARTITIONS = "spark.sql.shuffle.partitions"


@pytest.mark.parametrize(("partitions", "buckets"), [(1, 1), (2, 2), (5, 5), (200, 32)])
def test_each_partition_has_a_bucket_while_there_are_few(spark, partitions, buckets):
    with settings(spark, {PARTITIONS: str(partitions)}):
        labels = bucket_labels(spark, None)
        rows = spark.createDataFrame([(label,) for label in labels], "label INT")
        places = rows.repartition(partitions, "label").selectExpr("spark_partition_id() AS p")
        found = Counter(row.p for row in places.collect())
    assert len(labels) == buckets
    assert set(found.values()) == {1}


def test_a_number_that_is_given_means_the_same_in_every_session(spark):
    with settings(spark, {PARTITIONS: "3"}):
        assert bucket_labels(spark, 5) == (0, 1, 2, 3, 4)
