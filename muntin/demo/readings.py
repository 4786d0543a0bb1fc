"""Generated sensor readings: those of the demo, and a few for the examples of the documents."""

from pyspark.sql import DataFrame, SparkSession

MACHINES = 5
# Readings of one machine in a second.
HERTZ = 100
# 2012-02-22, the first day of the data of the DEBS 2012 grand challenge.
_START_MICROS = 1_329_868_800_000_000


def machine_readings(spark: SparkSession, events: int) -> DataFrame:
    """Returns `ts`, `machine`, three power readings in watts and two state bits, from a seed.

    They are modelled on the DEBS 2012 grand challenge. The load of each machine rises and falls in
    minutes. Now and then, for seconds, its additive is dosed and its valve opened.
    """
    step = 1_000_000 // HERTZ

    def noise(seed: int, width: int) -> str:
        return f"pmod(xxhash64(id, {seed}), {width * 100}L) / 100"

    return (
        spark.range(events)
        .selectExpr("id", f"pmod(id, {MACHINES}L) AS m", f"id div {MACHINES}L AS tick")
        .selectExpr("id", "m", "tick", f"tick / {HERTZ}D AS s")
        .selectExpr(
            f"timestamp_micros({_START_MICROS}L + tick * {step}L + m * 137L) AS ts",
            "concat('machine-', m + 1) AS machine",
            f"900 + 120 * m + 250 * sin(s / (37 + 5 * m)) + {noise(1, 80)} AS power1",
            f"700 + 90 * m + 300 * sin(s / (90 + 7 * m)) + {noise(2, 120)} AS power2",
            f"500 + 60 * m + 100 * sin(s / (240 + 11 * m)) + {noise(3, 40)} AS power3",
            "pmod(cast(s as bigint) + 7 * m, 23 + m) < 4 AS additive",
            "pmod(cast(s as bigint) + 3 * m, 41 + m) < 12 AS valve",
        )
    )


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
    """Writes the sample readings to a folder, and returns a stream of the files in it."""
    readings = sample_readings(spark)
    readings.coalesce(1).write.mode("overwrite").parquet(folder)
    return spark.readStream.schema(readings.schema).parquet(folder)
