"""Makes readings of machines with Spark, from a seed, after the DEBS 2012 grand challenge."""

from pyspark.sql import DataFrame, SparkSession

MACHINES = 5
# Readings of one machine in a second.
HERTZ = 100
# 2012-02-22, the day the challenge's data begins.
_BEGIN_MICROS = 1_329_868_800_000_000


def sensors(spark: SparkSession, events: int) -> DataFrame:
    """Returns `ts`, `machine`, three power readings in watts and two state bits.

    Each machine has its own load, which rises and falls in minutes. Now and then, for seconds, its
    additive is dosed and its valve opened.
    """
    step = 1_000_000 // HERTZ

    def noise(seed: int, width: int) -> str:
        return f"pmod(xxhash64(id, {seed}), {width * 100}L) / 100"

    return (
        spark.range(events)
        .selectExpr("id", f"pmod(id, {MACHINES}L) AS m", f"id div {MACHINES}L AS tick")
        .selectExpr("id", "m", "tick", f"tick / {HERTZ}D AS s")
        .selectExpr(
            f"timestamp_micros({_BEGIN_MICROS}L + tick * {step}L + m * 137L) AS ts",
            "concat('machine-', m + 1) AS machine",
            f"900 + 120 * m + 250 * sin(s / (37 + 5 * m)) + {noise(1, 80)} AS power1",
            f"700 + 90 * m + 300 * sin(s / (90 + 7 * m)) + {noise(2, 120)} AS power2",
            f"500 + 60 * m + 100 * sin(s / (240 + 11 * m)) + {noise(3, 40)} AS power3",
            "pmod(cast(s as bigint) + 7 * m, 23 + m) < 4 AS additive",
            "pmod(cast(s as bigint) + 3 * m, 41 + m) < 12 AS valve",
        )
    )
