"""Generated DataFrames: window aggregates with what users put below and above them."""

import random

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

WINDOWS = [
    ("1 minute",),
    ("5 minutes",),
    ("2 minutes", "1 minute"),
    ("90 seconds", "20 seconds"),
    ("3 minutes", "1 minute", "10 seconds"),
    ("1 minute", "1 minute", "-7 seconds"),
]
CONDITIONS = [
    "load > 3",
    "temp IS NOT NULL AND temp < 9",
    "device <> 'd1'",
    "load <> 0",
    "NOT alarm",
]
ADDED = {
    "twice": "temp * 2",
    "share": "100 / load",
    "label": "concat(device, '-x')",
    "temp": "temp + 0.5D",
    "odd.name": "load % 2",
}
KEYS = ["device", "alarm", "load", "label", "`odd.name`", "CAST(state AS INT) % 3"]


def _aggregates() -> list[Column]:
    """Made when they are asked for: a column needs a session."""
    return [
        F.count("*").alias("n"),
        F.max("temp").alias("top"),
        F.min("device").alias("Least"),
        F.avg("temp"),
        F.sum("load").alias("sum of `loads`"),
        (F.sum("load") / F.count("load")).alias("ratio"),
        F.stddev("temp").alias("spread"),
        F.sum("twice").alias("doubled"),
        F.expr("sum(100 / load) FILTER (WHERE load > 0)").alias("inverse"),
        F.sum(F.col("load") * 2 + 1).alias("made"),
        F.expr("count_if(load > 4)"),
        F.max("price").alias("dearest"),
        F.try_avg("temp").alias("middle"),
        F.median("temp").alias("median"),
        F.count_distinct("load", "device").alias("pairs"),
        F.sum_distinct("load").alias("sum of distinct"),
        F.percentile("temp", [0.25, 0.95]).alias("quartiles"),
        F.mode("load", True).alias("usual"),
        F.expr("percentile_disc(0.5) WITHIN GROUP (ORDER BY load DESC)").alias("disc"),
    ]


def generated(readings: DataFrame, seed: int) -> DataFrame:
    """One DataFrame; about one in six cannot share."""
    rng = random.Random(seed)
    frame = readings
    if rng.random() < 0.3:
        # As users do that have two names for one table.
        frame = frame.select(*rng.sample(frame.columns, len(frame.columns)))
    for _ in range(rng.randint(0, 2)):
        if rng.random() < 0.5:
            frame = frame.filter(rng.choice(CONDITIONS))
        else:
            name = rng.choice([*ADDED])
            frame = (frame.filter("load <> 0") if name == "share" else frame).withColumn(
                name, F.expr(ADDED[name])
            )
    if rng.random() < 0.3:
        frame = frame.withColumnRenamed("ts", "happened at")
    time = "ts" if "ts" in frame.columns else "happened at"
    window = F.window(F.col(f"`{time}`"), *rng.choice(WINDOWS))
    keys = [F.expr(key) for key in rng.sample(KEYS, rng.randint(0, 2)) if _has(frame, key)]
    aggregates = [
        each for each in rng.sample(_aggregates(), rng.randint(1, 4)) if _has(frame, each)
    ]
    aggregates = aggregates or [F.count("*").alias("n")]
    if rng.random() < 0.2:
        frame, window = frame.withColumn("w", window), F.col("w")
    answer = frame.groupBy(*rng.sample([*keys, window], len(keys) + 1)).agg(*aggregates)
    return _above(answer, rng)


def _above(answer: DataFrame, rng: random.Random) -> DataFrame:
    for _ in range(rng.randint(0, 3)):
        step = rng.randrange(6)
        window = "w" if "w" in answer.columns else "window"
        if step == 0 and "n" in answer.columns:
            answer = answer.filter("n > 4")
        elif step == 1 and window in answer.columns:
            answer = answer.withColumn("begin", F.col(f"{window}.start")).drop(window)
        elif step == 2 and "top" in answer.columns:
            answer = answer.withColumn("n", F.col("top") * 2 - 1).filter(F.col("n") < 20)
        elif step == 3:
            answer = answer.withColumnRenamed("top", "TOP of all")
        elif step == 4:
            answer = answer.select("*", F.lit("x").alias("tag"))
        elif window in answer.columns:
            answer = answer.where(
                F.col(f"{window}.end") > F.lit("1969-12-31 23:57").cast("timestamp")
            )
    return answer


def _has(frame: DataFrame, expression: str | Column) -> bool:
    text = str(expression)
    return all(name in frame.columns or name not in text for name in ("label", "odd.name", "twice"))
