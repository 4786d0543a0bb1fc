"""Window queries over one stream of readings as a streaming table, all computed in one pass."""

from pyspark import pipelines as dp
from pyspark.sql import DataFrame, SparkSession

import muntin as mt

spark = SparkSession.active()

QUERIES = mt.parse_sql("""
  -- name: hot
  SELECT device, window, max(temp) AS value FROM readings
  GROUP BY device, window(ts, '5 minutes', '1 minute');
  -- name: mean
  SELECT device, window, avg(temp) AS value FROM readings GROUP BY device, window(ts, '10 minutes')
""")

# Outside of the function: a pipeline lets none look at the types of its data, and muntin does.
readings = spark.readStream.schema("device STRING, temp DOUBLE, ts TIMESTAMP").json("input")
answers = mt.stream(QUERIES, readings, watermark="1 minute", buckets=2)


@dp.table
def dashboard() -> DataFrame:
    """The answers in the long form: query, device, window, value."""
    return answers


@dp.materialized_view
def hottest() -> DataFrame:
    """What reads the answers is a dataset as any other."""
    hot = spark.read.table("dashboard").where("query = 'hot'")
    return hot.groupBy("device").agg({"value": "max"}).toDF("device", "top")
