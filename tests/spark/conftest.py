from collections.abc import Iterator

import pytest
from pyspark.sql import DataFrame, SparkSession

from muntin.spark.engine.settings import temporary_settings


@pytest.fixture(scope="session")
def readings(spark: SparkSession) -> DataFrame:
    """Ten minutes of three devices, with nulls, before and after 1970, in no order."""
    return spark.range(900).selectExpr(
        "timestamp_micros((id * 7919 % 600) * 1000000 - 300000000 + id) AS ts",
        "CASE WHEN id % 7 = 0 THEN NULL ELSE concat('d', id % 3) END AS device",
        "CASE WHEN id % 5 = 0 THEN NULL ELSE CAST(id % 13 AS DOUBLE) END AS temp",
        "CAST(id % 11 AS INT) AS load",
        "CAST(id % 9 AS STRING) AS state",
        "CAST(id AS DECIMAL(10, 2)) AS price",
        "id % 4 = 0 AS alarm",
        "map('m', id % 2) AS tags",
    )


@pytest.fixture
def one_partition(spark: SparkSession) -> Iterator[None]:
    """For streams with one bucket: a second, empty partition costs a sixth of each batch."""
    with temporary_settings(spark, {"spark.sql.shuffle.partitions": "1"}):
        yield
