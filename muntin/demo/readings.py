"""A few readings to try the examples of the documents with."""

from pyspark.sql import DataFrame, SparkSession


def sample_readings(spark: SparkSession) -> DataFrame:
    """Returns 400 readings of five devices, half a minute apart, also as the view `readings`.

    The columns are `ts`, `device`, `temp`, `price`, `rate`, `speed` and `door`.
    """
    readings = spark.range(400).selectExpr(
        "TIMESTAMP'2026-01-01 00:00:00Z' + make_dt_interval(0, 0, 0, id * 30) AS ts",
        "concat('device-', id % 5) AS device",
        "CAST(id % 40 AS DOUBLE) AS temp",
        "CAST(id % 7 AS DOUBLE) AS price",
        "0.01D AS rate",
        "id % 3 AS speed",
        "IF(id % 2 = 0, 'closed', 'open') AS door",
    )
    readings.createOrReplaceTempView("readings")
    return readings


def sample_stream(spark: SparkSession, folder: str) -> DataFrame:
    """Writes these readings to a folder, and returns a stream of the files that are in it."""
    readings = sample_readings(spark)
    readings.coalesce(1).write.mode("overwrite").parquet(folder)
    return spark.readStream.schema(readings.schema).parquet(folder)
