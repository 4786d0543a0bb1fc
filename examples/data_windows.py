"""Data windows: sessions, counts of rows, distances, and a class of your own.

python examples/data_windows.py
"""

from typing import Any

from pyspark.sql import SparkSession

import muntin as mt

spark = SparkSession.builder.appName("muntin data windows").getOrCreate()

# Two cars. Each drives for ten minutes, stops for ten, and reports every half minute.
reports = spark.range(480).selectExpr(
    "timestamp_seconds(1704067200 + 30 * (id DIV 2)) AS ts",
    "concat('car-', id % 2) AS car",
    "IF((id DIV 40) % 2 = 0, 50.0D + id % 7, 0.0D) AS speed",
    "CAST(id DIV 2 AS DOUBLE) AS mileage",
)
moving = reports.where("speed > 0")


class Stretches:
    """From one fast report to the next: a window of your own."""

    def __init__(self) -> None:
        self.open = False

    def f_disc(self, record: Any) -> tuple[int, int]:
        """How many windows begin with a record, and how many end before it."""
        begins = int(record.speed >= 55)
        ends = int(self.open and begins)
        self.open = self.open or bool(begins)
        return begins, ends


def query(name: str, window: mt.DataWindow | mt.Window, **aggregates: mt.Aggregate) -> mt.Query:
    """A query by car."""
    return mt.Query(name=name, window=window, aggregates=aggregates, keys=["car"], time="ts")


queries = [
    # A drive ends when no report comes for five minutes.
    query("drives", mt.session("5 minutes"), n=mt.count(), fastest=mt.max("speed")),
    # Every 20 reports; every 10 kilometres.
    query("rows", mt.count_window(20), mean=mt.avg("speed")),
    query("distance", mt.delta("mileage", 10), mean=mt.avg("speed")),
    # A window of your own class, and a periodic one beside them.
    query("stretches", mt.custom(Stretches, columns=["speed"]), n=mt.count()),
    query("hours", mt.tumbling("1 hour"), n=mt.count()),
]

with mt.run(queries, moving) as results:
    for name in results:
        print(name)
        results[name].orderBy("car", "window.start").show(3, truncate=False)
