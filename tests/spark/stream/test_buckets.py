"""Buckets of keys and where Spark puts them."""

from collections import Counter

import pytest

from muntin.spark.engine.session_kind import cores_of
from muntin.spark.engine.settings import temporary_settings
from muntin.spark.stream.operator import PARTITIONS, bucket_labels, state_partitions


@pytest.mark.parametrize(("partitions", "buckets"), [(1, 1), (2, 2), (5, 5), (200, 32)])
def test_each_partition_has_a_bucket_while_there_are_few(spark, partitions, buckets):
    labels = bucket_labels(spark, None, partitions=partitions)
    rows = spark.createDataFrame([(label,) for label in labels], "label INT")
    places = rows.repartition(partitions, "label").selectExpr("spark_partition_id() AS p")
    found = Counter(row.p for row in places.collect())
    assert len(labels) == buckets
    assert set(found.values()) == {1}


def test_a_number_that_is_given_means_the_same_for_every_number_of_partitions(spark):
    assert bucket_labels(spark, 5, partitions=3) == (0, 1, 2, 3, 4)


def test_state_has_the_partitions_that_the_session_sets_or_one_for_each_core(spark):
    with temporary_settings(spark, {PARTITIONS: "7"}):
        assert state_partitions(spark) == 7
    with temporary_settings(spark, {PARTITIONS: None}):
        assert state_partitions(spark) == cores_of(spark)
