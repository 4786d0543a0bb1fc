"""A stream over files that arrive, with a query added on the way: python examples/streaming.py."""

import tempfile
from pathlib import Path

from pyspark.sql import SparkSession

import muntin as mt

spark = (
    SparkSession.builder.appName("muntin streaming")
    # Spark keeps the state of a stream in as many parts, and looks after each in every batch: 200
    # are meant for a cluster.
    .config("spark.sql.shuffle.partitions", "4")
    .getOrCreate()
)

SCHEMA = "ts TIMESTAMP, device STRING, temp DOUBLE"
base = Path(tempfile.mkdtemp(prefix="muntin-"))


def send(hour: int) -> None:
    """One more file in the folder that the stream reads: an hour of readings of three devices."""
    readings = spark.range(hour * 360, hour * 360 + 360).selectExpr(
        "timestamp_seconds(1704067200 + 10 * id) AS ts",
        "concat('device-', id % 3) AS device",
        "CAST(id % 50 AS DOUBLE) AS temp",
    )
    readings.coalesce(1).write.mode("append").parquet(str(base / "in"))


def run(queries: list[mt.Query]) -> None:
    """Answer what is there and end; the next call on the same checkpoint goes on from here.

    A service leaves `trigger` out, and changes queries with `pipeline.add` and `pipeline.remove`.
    """
    stream = spark.readStream.schema(SCHEMA).parquet(str(base / "in"))
    pipeline = mt.start(
        queries,
        stream,
        sink=str(base / "answers"),
        checkpoint=base / "check",
        watermark="10 seconds",
        trigger="available now",
    )
    pipeline.await_termination()
    status = pipeline.status()
    pipeline.stop()
    print(f"{status.rows_in} rows in, {status.late_rows} late")
    for name, figures in status.queries.items():
        print(f"  {name}: {figures.rows} answers")


hot = mt.Query(
    name="hot",
    window=mt.tumbling("1 minute"),
    aggregates={"hottest": mt.max("temp")},
    keys=["device"],
    time="ts",
)
mean = mt.Query(
    name="mean",
    window=mt.hopping("30 minutes", every="10 minutes"),
    aggregates={"mean": mt.avg("temp")},
    keys=["device"],
    time="ts",
)

send(0)
run([hot])
send(1)
# `hot` goes on without a gap. `mean` begins with the first window that it sees whole.
run([hot, mean])

answers = spark.read.parquet(str(base / "answers" / "hot"))
print(
    f"hot: {answers.count()} rows, {answers.select('device', 'window').distinct().count()} windows"
)
