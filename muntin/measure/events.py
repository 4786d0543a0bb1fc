"""Generates events in Spark from a seed, so that any number of them is cheap."""

import os
import time
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

RATE = 50.0
USERS = 10_000
_DISORDER_MICROS = 2_000_000
# 2024-01-01, so that nothing depends on the day.
_START_MICROS = 1_704_067_200_000_000


def readings(
    spark: SparkSession,
    events: int,
    keys: int,
    rate: float = RATE,
    parts: int | None = None,
    disorder: int = _DISORDER_MICROS,
) -> DataFrame:
    """Returns `ts` at `rate` events a second, up to `disorder` out of order, and six columns.

    `device` is one of `keys`, `site` its number modulo 10, `kind` 0 to 4. `status` is 'error' for
    one event in twenty, else 'ok'. `temp` is 15 to 35, and above 80 for three in a hundred.
    `user` is one of 10,000. They do not depend on each other, except for the site.
    """
    step = round(1_000_000 / rate)
    shift = f" + pmod(xxhash64(id, 1), {2 * disorder}L) - {disorder}L" if disorder else ""
    device = f"pmod(xxhash64(id, 2), {keys}L)"
    usual = "20 + 5 * sin(id / 50000) + pmod(xxhash64(id, 3), 100000L) / 10000"
    return spark.range(0, events, 1, parts).selectExpr(
        f"timestamp_micros({_START_MICROS}L + id * {step}L{shift}) AS ts",
        f"concat('device-', {device}) AS device",
        f"{usual} + IF(pmod(xxhash64(id, 6), 100L) < 3, 66, 0) AS temp",
        f"CAST({device} % 10 AS INT) AS site",
        "CAST(pmod(xxhash64(id, 4), 5L) AS INT) AS kind",
        "IF(pmod(xxhash64(id, 5), 20L) = 0, 'error', 'ok') AS status",
        f"concat('user-', pmod(xxhash64(id, 7), {USERS}L)) AS user",
    )


def one_event_per_key(spark: SparkSession, keys: int) -> DataFrame:
    """Returns one event for each key: `ts` at 50 events a second, `device`, `temp`."""
    return readings(spark, keys, 1).selectExpr(
        "ts", "concat('device-', monotonically_increasing_id()) AS device", "temp"
    )


def write_stream_files(frame: DataFrame, folder: Path) -> list[Path]:
    """Writes a parquet file for each partition; returns them in the order a stream reads them."""
    frame.write.parquet(str(folder))
    files = sorted(folder.glob("part-*.parquet"))
    # Spark reads files by modification time.
    since = int(time.time()) - 2 * len(files)
    for number, file in enumerate(files):
        os.utime(file, (since + number, since + number))
    return files


def store(frame: DataFrame, folder: Path) -> DataFrame:
    """Writes the frame to parquet and returns it read back, so that all contenders scan files."""
    path = str(folder)
    frame.write.mode("overwrite").parquet(path)
    return frame.sparkSession.read.parquet(path)


def compute(frame: DataFrame) -> None:
    """Computes every row and column, and discards them."""
    frame.write.format("noop").mode("overwrite").save()
