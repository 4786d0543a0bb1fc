"""Generated events, seeded and made by Spark itself, so that any number of them is cheap."""

from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

RATE = 50.0
_DISORDER_MICROS = 2_000_000
# 2024-01-01, so that nothing depends on the day.
_BEGIN_MICROS = 1_704_067_200_000_000


def readings(spark: SparkSession, events: int, keys: int, rate: float = RATE) -> DataFrame:
    """`ts` with two seconds of disorder either way at `rate` events a second, `device`, `temp`."""
    step = round(1_000_000 / rate)
    return spark.range(events).selectExpr(
        f"timestamp_micros({_BEGIN_MICROS}L + id * {step}L"
        f" + pmod(xxhash64(id, 1), {2 * _DISORDER_MICROS}L) - {_DISORDER_MICROS}L) AS ts",
        f"concat('device-', pmod(xxhash64(id, 2), {keys}L)) AS device",
        "20 + 5 * sin(id / 50000) + pmod(xxhash64(id, 3), 100000L) / 10000 AS temp",
    )


def one_each(spark: SparkSession, keys: int) -> DataFrame:
    """As many keys as events: `ts` at 50 events a second, `device`, `temp`."""
    return readings(spark, keys, 1).selectExpr(
        "ts", "concat('device-', monotonically_increasing_id()) AS device", "temp"
    )


def stored(frame: DataFrame, folder: Path) -> DataFrame:
    """The frame written to parquet and read back: what every contender scans."""
    path = str(folder)
    frame.write.mode("overwrite").parquet(path)
    return frame.sparkSession.read.parquet(path)
