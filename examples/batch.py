"""Ten thousand readings, three queries, one pass: python examples/batch.py."""

from pyspark.sql import SparkSession

import muntin as mt

spark = SparkSession.builder.appName("muntin batch").getOrCreate()

# Five devices, a reading of one of them every second.
readings = spark.range(10_000).selectExpr(
    "timestamp_seconds(1704067200 + id) AS ts",
    "concat('device-', id % 5) AS device",
    "20 + 5 * sin(id / 600) + id % 5 AS temp",
)

queries = mt.parse_sql("""
  -- name: hot
  SELECT device, window, max(temp) AS hottest FROM readings
  GROUP BY device, window(ts, '1 minute');

  -- name: mean
  SELECT device, window, avg(temp) AS mean, count(*) AS n FROM readings
  GROUP BY device, window(ts, '1 hour', '10 minutes');

  -- name: steady
  SELECT device, window, stddev(temp) AS deviation FROM readings
  GROUP BY device, window(ts, '30 minutes')
  HAVING stddev(temp) < 3
""")

# What is shared, and what it costs beside plain Spark.
plan = mt.plan(queries, sample=readings)
print(plan.explain())

with mt.run(plan, readings) as results:
    # One answer: an ordinary DataFrame.
    results["mean"].orderBy("device", "window").show(5, truncate=False)
    # All answers in one DataFrame, computed in one pass.
    results.together().groupBy("query").count().orderBy("query").show()
