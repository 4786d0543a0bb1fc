"""Runs as a process of its own, on a session of Spark Connect; prints what it found as JSON.

PySpark is of one kind in a process, so this cannot run beside the tests' own session.
"""

import json
import sys
from pathlib import Path
from tempfile import mkdtemp

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

import muntin as mt
from muntin.errors import RunError
from muntin.spark.stream.source import SETTINGS

STATEMENTS = """
  -- name: hot
  SELECT device, window, max(temp) AS hottest FROM readings
  GROUP BY device, window(ts, '1 minute');
  -- name: day
  SELECT device, window, avg(temp) AS mean, count(*) AS n, '{braces}' AS text FROM readings
  GROUP BY device, window(ts, '10 minutes', '2 minutes');
  -- name: filtered
  SELECT load, window.start, sum(load) + 1, min(state) FROM readings WHERE temp > 3
  GROUP BY load, window(ts, '5 minutes') HAVING count(*) > 3;
  -- name: middle
  SELECT window, median(temp) AS middle FROM readings GROUP BY window(ts, '5 minutes')
"""


def rows(frame):
    return sorted(map(str, frame.collect()))


def batch(session, readings):
    queries = mt.parse_sql(STATEMENTS)
    readings.createOrReplaceTempView("readings")
    folder = mkdtemp()
    different, trees = [], 0
    with mt.run(queries, readings) as results:
        trees = len(results.plan.trees)
        results.write(folder)
        for query in queries:
            text = query.to_sql() if isinstance(query, mt.Query) else query.statement
            plain = session.sql(text.fill())
            written = session.read.parquet(f"{folder}/{query.name}")
            if rows(results[query.name]) != rows(plain) or rows(written) != rows(plain):
                different.append(query.name)
            if results[query.name].schema != plain.schema:
                different.append(f"{query.name}: schema")
        together = results.together().count()
    return {"different": different, "trees": trees, "together": together}


def frames(readings):
    given = {"one": readings.groupBy("device", F.window("ts", "1 minute")).agg(F.max("temp"))}
    shared = mt.share(given)
    return {"same": shared["one"] is given["one"], "explained": shared.plan.explain()}


def stream(session, readings):
    folder = Path(mkdtemp())
    readings.coalesce(1).write.parquet(str(folder / "in"))
    data = session.readStream.schema(readings.schema).parquet(str(folder / "in"))
    queries = mt.parse_sql(STATEMENTS)[:2]
    try:
        mt.start(queries, data, checkpoint=folder / "check")
        refused = None
    except RunError as error:
        refused = str(error)
    for name, value in SETTINGS.items():
        session.conf.set(name, value)
    answers = mt.stream(queries, data, watermark="0 seconds", buckets=2)
    running = (
        answers.writeStream.format("parquet")
        .option("path", str(folder / "out"))
        .option("checkpointLocation", str(folder / "check"))
        .trigger(availableNow=True)
        .start()
    )
    running.awaitTermination(600)
    found = session.read.parquet(str(folder / "out"))
    passed = readings.agg(F.max("ts")).first()[0]
    different = []
    with mt.run(queries, readings) as results:
        for query in queries:
            expected = results[query.name].where(F.col("window.end") <= F.lit(passed))
            columns = [F.col(f"`{name}`") for name in expected.columns]
            if rows(found.where(F.col("query") == query.name).select(*columns)) != rows(expected):
                different.append(query.name)
    return {"refused": refused, "different": different, "rows": found.count()}


def main(url: str) -> None:
    session = SparkSession.builder.remote(url).getOrCreate()
    session.conf.set("spark.sql.shuffle.partitions", "2")
    readings = session.range(600).selectExpr(
        "timestamp_micros((id * 7919 % 600) * 1000000 + id) AS ts",
        "CASE WHEN id % 7 = 0 THEN NULL ELSE concat('d', id % 3) END AS device",
        "CASE WHEN id % 5 = 0 THEN NULL ELSE CAST(id % 13 AS DOUBLE) END AS temp",
        "CAST(id % 11 AS INT) AS load",
        "CAST(id % 9 AS STRING) AS state",
    )
    found = {
        "batch": batch(session, readings),
        "frames": frames(readings),
        "stream": stream(session, readings),
    }
    print("FOUND" + json.dumps(found))
    session.stop()


if __name__ == "__main__":
    main(sys.argv[1])
