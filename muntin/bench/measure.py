"""What a piece of work costs: CPU seconds of Spark's processes and this one, and wall seconds."""

import os
import time
from collections.abc import Callable
from dataclasses import dataclass

import psutil
from pyspark.sql import SparkSession


@dataclass(frozen=True, kw_only=True)
class Cost:
    """CPU seconds of the JVM, its Python workers and the driver; wall seconds."""

    cpu_s: float
    wall_s: float


def measure(spark: SparkSession, work: Callable[[], None]) -> Cost:
    """Run `work` once."""
    cpu, wall = _cpu_seconds(spark), time.monotonic()
    work()
    return Cost(cpu_s=_cpu_seconds(spark) - cpu, wall_s=time.monotonic() - wall)


def best(spark: SparkSession, work: Callable[[], None], repeats: int) -> Cost:
    """The cheapest of several runs, after one that warms up."""
    work()
    return min((measure(spark, work) for _ in range(repeats)), key=lambda cost: cost.cpu_s)


def _cpu_seconds(spark: SparkSession) -> float:
    """CPU so far of this process and of all below it; workers that ended are in their parents'."""
    jvm = spark.sparkContext._gateway.proc.pid  # type: ignore[union-attr]
    total = sum(os.times()[:2])
    for process in [psutil.Process(jvm), *psutil.Process(jvm).children(recursive=True)]:
        try:
            times = process.cpu_times()
        except psutil.NoSuchProcess:
            continue
        total += times.user + times.system + times.children_user + times.children_system
    return float(total)
