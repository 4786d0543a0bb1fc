"""Window queries over one stream of readings as a streaming table, all computed in one pass."""

from pathlib import Path

from pyspark import pipelines as dp
from pyspark.sql import DataFrame, SparkSession

import muntin as mt

spark = SparkSession.active()

# Outside of the function: a pipeline lets none look at the types of its data, and muntin does.
readings = spark.readStream.schema("device STRING, temp DOUBLE, ts TIMESTAMP").json("input")
queries = mt.parse_sql(Path("dashboard.sql").read_text())
answers = mt.stream(queries, readings, watermark="1 minute", buckets=2)


@dp.table
def dashboard() -> DataFrame:
    """The answers in the long form: query, device, window, value."""
    return answers


@dp.materialized_view
def hottest() -> DataFrame:
    """What reads the answers is a dataset as any other."""
    hot = spark.read.table("dashboard").where("query = 'hot'")
    return hot.groupBy("device").agg({"value": "max"}).toDF("device", "top")
