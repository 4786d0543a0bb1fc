"""Runs as a process of its own, on a session of Spark Connect; prints what it found as JSON."""

import json
import sys
import time
from pathlib import Path
from tempfile import mkdtemp

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

import muntin as mt
from muntin.cli import main as cli
from muntin.errors import RunError
from muntin.model.plan_json import query_to_json
from muntin.spark.frames.stream_frames import stream_input
from muntin.spark.stream.source import SETTINGS
from tests.support.frames import generated

TWO_BUCKETS = mt.StreamOptions(buckets=2)

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
  SELECT window, try_avg(temp) AS middle FROM readings GROUP BY window(ts, '5 minutes')
"""


def rows(frame):
    return sorted(
        str([round(value, 9) if isinstance(value, float) else value for value in row])
        for row in frame.collect()
    )


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


def shared(frames):
    """Shares DataFrames, and compares them with themselves: schemas, and rows if they share."""
    begin = time.process_time()
    results = mt.share(frames)
    seconds = time.process_time() - begin
    reasons = {query.name: query.reason for query in results.plan.plain_queries}
    different = []
    for name, frame in frames.items():
        if name in reasons:
            if results[name] is not frame:
                different.append(f"{name}: another DataFrame")
        elif results[name].schema != frame.schema:
            different.append(f"{name}: schema")
        elif rows(results[name]) != rows(frame):
            different.append(name)
    results.release()
    return {
        "different": different,
        "reasons": reasons,
        "relations": len({tree.grouping.relation for tree in results.plan.trees}),
        "explained": results.plan.explain(),
        "seconds": seconds,
    }


def minute():
    return F.window("ts", "1 minute")


def slide():
    return F.window("ts", "2 minutes", "30 seconds")


def dashboard(readings):
    """What the README's first screen shows, and what users write in other ways."""
    late = readings.filter("temp > 2")
    return shared(
        {
            "hot": readings.groupBy("device", minute()).agg(F.max("temp").alias("hottest")),
            "day": late.groupBy("device", slide())
            .agg(F.avg("temp").alias("mean"), F.count("*").alias("n"))
            .filter("n > 3"),
            "above": readings.withColumn("more", F.col("load") * 2)
            .withColumnRenamed("ts", "happened at")
            .groupBy(F.window("`happened at`", "5 minutes", "1 minute", "10 seconds").alias("w"))
            .agg(F.expr("sum(more) FILTER (WHERE load > 1)").alias("x"), F.count("*").alias("n"))
            .selectExpr("w.end AS until", "x / n AS ratio", "concat('{', n, '}') AS text")
            .filter(F.col("ratio").isNull() | (F.col("ratio") > 2)),
            "middle": readings.groupBy(minute()).agg(F.try_avg("temp")),
            "loads": readings.groupBy(minute()).agg(F.count_distinct("load"), F.median("temp")),
        }
    )


def hard_frames(readings):
    """DataFrames whose names and filters are easy to get wrong."""
    positive = readings.filter("load <> 0")
    odd = readings.select(
        "ts",
        F.col("device").alias("window"),
        F.col("temp").alias("a.b"),
        F.col("load").alias("a`b"),
        F.struct("temp", "load").alias("s"),
    )
    return shared(
        {
            "window": odd.groupBy("window", minute()).agg(F.sum("`a.b`").alias("window")),
            "quotes": odd.groupBy("`a``b`", slide()).agg(F.sum("s.load"), F.max("`a.b`")),
            "twice": odd.groupBy(slide()).agg(
                F.max("s.temp").alias("m"), F.max("`a.b`").alias("m")
            ),
            "argument": positive.groupBy(minute()).agg(F.sum(F.lit(7) / F.col("load"))),
            "key": positive.groupBy((F.lit(8) / F.col("load")).alias("k"), slide()).count(),
            "filter": positive.filter("10 / load > 2").groupBy(slide()).count(),
            "objects": readings.groupBy(readings.device, F.window(readings.ts, "1 minute")).agg(
                F.max(readings.temp)
            ),
            "made": readings.withColumn("w", slide())
            .groupBy("w")
            .agg(F.sum(F.when(F.col("load") > 3, -1).otherwise(F.lit(2))), F.max("price")),
            "literals": readings.filter(
                F.col("load").isin(1, 2, -3)
                & ~F.col("alarm")
                & (F.col("price") > F.lit(2.5))
                & F.col("ts").between("1969-01-01", F.lit("2020-01-01").cast("timestamp"))
            )
            .groupBy(minute())
            .agg(F.sum(F.col("load").cast("double")).alias("l"))
            .drop("window"),
            "sessions": readings.groupBy("device", F.session_window("ts", "5 seconds")).count(),
            "sorted": readings.groupBy("device", slide())
            .agg(F.max("temp").alias("m"), F.count("*").alias("n"))
            .orderBy(F.lit(1), F.col("m").desc_nulls_last(), "window", "device")
            .limit(20)
            .select("window", "device"),
        }
    )


def refused_frames(readings):
    plus = F.udf(lambda n: n + 1, "long")
    by_minute = readings.groupBy("device", minute())
    made = readings.withColumn("w", slide())
    found = shared(
        {
            "limited": by_minute.count().limit(3).orderBy("window"),
            "no window": readings.groupBy("device").count(),
            "no group": readings.select("device"),
            "cube": readings.cube("device", minute()).count(),
            "random": by_minute.count().withColumn("r", F.rand()),
            "python": by_minute.count().withColumn("m", plus("count")),
            "inside": made.filter("w.start > ts").groupBy("w").count(),
            "two windows": made.drop("w").groupBy(minute()).count(),
            "number": readings.groupBy(F.lit(2), minute()).agg(F.max("temp"), F.min("temp")),
            "mean of a key": readings.groupBy("load", minute()).agg(F.try_avg("load")),
        }
    )
    return {"different": found["different"], "reasons": found["reasons"]}


def fuzzed(readings, count):
    return [
        shared({f"f{seed}": generated(readings, seed) for seed in range(first, first + 14)})
        for first in range(0, count, 14)
    ]


def definitions(frames):
    queries = stream_input(frames, None, None).queries
    return {query.name: query_to_json(query) for query in queries}


def edited_definitions(data):
    """Which of three hold: a query is the same beside another one, with an edited filter, and with
    an edited column."""

    def total(factor, bound):
        frame = data.withColumn("product", F.col("load") * factor).filter(f"load > {bound}")
        return {"total": frame.groupBy(minute()).agg(F.sum("product").alias("n"))}

    own = definitions(total(2, 1))["total"]
    beside = definitions({"all": data.groupBy(minute()).count(), **total(2, 1)})
    return [
        beside["total"] == own,
        definitions(total(2, 2))["total"] == own,
        definitions(total(3, 1))["total"] == own,
    ]


def stream(session, readings):
    folder = Path(mkdtemp())
    readings.coalesce(1).write.parquet(str(folder / "in"))
    data = session.readStream.schema(readings.schema).parquet(str(folder / "in"))
    for name, value in SETTINGS.items():
        session.conf.set(name, value)
    late = data.withWatermark("ts", "0 seconds")
    same = [edited_definitions(data), edited_definitions(late)]
    frames = {
        "hot": late.groupBy("device", minute()).agg(F.max("temp").alias("hottest")),
        "few": late.filter("load > 1")
        .groupBy(F.window("ts", "10 minutes", "2 minutes"))
        .agg(F.sum("load").alias("n"))
        .filter("n > 3"),
    }
    try:
        answers = mt.stream(frames, buckets=2)
    except RunError as error:
        return {"old": str(error)}
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
    expected = {
        "hot": readings.groupBy("device", minute()).agg(F.max("temp").alias("hottest")),
        "few": readings.filter("load > 1")
        .groupBy(F.window("ts", "10 minutes", "2 minutes"))
        .agg(F.sum("load").alias("n"))
        .filter("n > 3"),
    }
    different = []
    for name, frame in expected.items():
        closed = frame.where(F.col("window.end") <= F.lit(passed))
        answers = found.where(F.col("query") == name).select(*closed.columns)
        if rows(answers) != rows(closed):
            different.append(name)
    return {"different": different, "rows": found.count(), "same": same}


def closed(session, query, readings):
    """A query's answers to all readings, of the windows that a stream has given out."""
    readings.createOrReplaceTempView("readings")
    passed = readings.agg(F.max("ts")).first()[0]
    return session.sql(query.to_sql().fill()).where(F.col("window.end") <= F.lit(passed))


def refusal(*given, **more):
    try:
        mt.start(*given, **more).stop()
    except RunError as error:
        return str(error)
    return None


def write_json(folder):
    """Returns a sink that is pickled, so that it knows the folder and nothing else of this file."""

    def write(name, frame, batch):
        frame.write.mode("overwrite").json(f"{folder}/{name}/{batch}")

    return write


class JsonSink(mt.Sink):
    """Writes the answers of each batch, to a folder of their own."""

    def __init__(self, folder):
        self._folder = folder

    def write(self, batch, answers):
        with answers.each() as each:
            for answer in each:
                answer.frame.write.mode("overwrite").json(f"{self._folder}/{answer.name}/{batch}")


def fail(name, frame, batch):
    raise ValueError(f"no room for {name}")


class Files:
    """Readings that arrive as files, in order of time."""

    def __init__(self, session, readings):
        self.session, self.readings = session, readings.drop("alarm")
        self.folder = Path(mkdtemp())
        self.there = self.readings.limit(0)
        self.data = session.readStream.schema(self.readings.schema).parquet(f"{self.folder}/in")

    def put(self, first, until):
        part = self.readings.where(f"unix_seconds(ts) >= {first} AND unix_seconds(ts) < {until}")
        part.coalesce(1).write.mode("append").parquet(f"{self.folder}/in")
        self.there = self.there.union(part)

    def different(self, query, answers):
        expected = closed(self.session, query, self.there)
        if answers.columns != expected.columns or rows(answers) != rows(expected):
            return [query.name, answers.schema.simpleString(), len(rows(answers))]
        return []


def pipeline(session, readings):
    """Starts, changes, cuts off and restarts a pipeline without a sink."""
    files = Files(session, readings)
    hot, day = mt.parse_sql(STATEMENTS)[:2]
    (later,) = mt.parse_sql("""
      -- name: later
      SELECT window, count(*) AS n, avg(temp) AS mean FROM readings
      GROUP BY window(ts, '1 minute')
    """)
    place = {"checkpoint": f"{files.folder}/check", "watermark": "0 seconds"}
    files.put(0, 200)
    found = {"different": []}
    with mt.start([hot, day], files.data, **place) as running:
        running.process_all_available()
        status = running.status()
        found["first"] = [status.is_active, status.rows_in, status.queries["hot"].rows > 0]
        found["state"] = status.state_rows > 0 and status.state_bytes > 0
        found["watermark"] = status.watermark
        found["explained"] = "2 of 2 queries" in running.explain()
        complete = running.add(later)["later"]
        files.put(200, 400)
        running.process_all_available()
        found["different"] += files.different(day, running.answers("day"))
        running.remove("day")
        # A second start with the same queries takes over, and one with others does not.
        found["in use"] = refusal([hot, day], files.data, **place)
        with mt.start([hot, later], files.data, **place) as other:
            found["taken over"] = [running.await_termination(60), other.status().is_active]
            files.put(400, 500)
            other.process_all_available()
    # As if the server had died between the answers of a batch and the commit of it.
    commits = files.folder / "check" / "spark" / "commits"
    last = max(int(path.name) for path in commits.iterdir() if path.name.isdigit())
    for path in (commits / str(last), commits / f".{last}.crc"):
        path.unlink(missing_ok=True)
    files.put(500, 600)
    again = {**place, "trigger": "available now"}
    with mt.start([hot, later], files.data, **again) as running:
        found["ended"] = running.await_termination(120)
        found["different"] += files.different(hot, running.answers("hot"))
        expected = closed(session, later, files.there)
        expected = expected.where(f"unix_micros(window.start) >= {complete}")
        if rows(running.answers("later")) != rows(expected):
            found["different"].append("later")
        found["later"] = [running.answers("later").count() > 0, complete > 0]
        found["error"] = running.status().error
    return found


def changes(session, readings):
    """Replaces queries and the plan of a pipeline that retains slices, with a sink of its own."""
    files = Files(session, readings)
    hot, day = mt.parse_sql(STATEMENTS)[:2]
    (warm,) = mt.parse_sql("""
      -- name: warm
      SELECT device, window, count(*) AS n FROM readings GROUP BY device, window(ts, '2 minutes')
    """)
    made = f"{files.folder}/made"
    place = {"checkpoint": f"{files.folder}/check", "watermark": "0 seconds"}
    files.put(0, 200)
    with mt.start(
        [hot, day],
        files.data,
        sink=JsonSink(made),
        **place,
        options=mt.StreamOptions(buckets=2, retain="10 minutes"),
    ) as run:
        run.process_all_available()
        run.replace([hot, warm])
        complete = run.status().queries["warm"].complete_from
        files.put(200, 400)
        run.process_all_available()
        outlook = run.replan(least=-1e9)
        files.put(400, 600)
        run.process_all_available()
        queries = sorted(run.status().queries)

    def count(query, since=0):
        there = session.read.json(f"{made}/{query.name}/*").count()
        expected = closed(session, query, files.there)
        return [there, expected.where(f"unix_micros(window.start) >= {since}").count()]

    return {
        "queries": queries,
        "replanned": outlook.is_new,
        "hot": count(hot),
        "warm": count(warm, complete),
        "complete": complete,
    }


def drops(session, readings):
    """Goes on without a query that fails for a reading of the last minutes."""
    files = Files(session, readings)
    hot, day = mt.parse_sql(STATEMENTS)[:2]
    (fragile,) = mt.parse_sql("""
      -- name: fragile
      SELECT window, max(CAST(IF(unix_seconds(ts) > 300, 'text', '1') AS INT)) AS m FROM readings
      GROUP BY window(ts, '1 minute')
    """)
    place = {"checkpoint": f"{files.folder}/check", "watermark": "0 seconds"}
    files.put(0, 200)
    found = {"different": []}
    with mt.start(
        [hot, fragile, day],
        files.data,
        **place,
        options=mt.StreamOptions(buckets=2, on_error="drop query"),
    ) as running:
        running.process_all_available()
        files.put(200, 600)
        running.process_all_available()
        found["dropped"] = dict(running.status().dropped)
        for query in (hot, day):
            found["different"] += files.different(query, running.answers(query.name))
    return found


def sinks(session, readings):
    """Gives answers to a folder, to a function on the server, and to one that fails."""
    files = Files(session, readings)
    hot, day = mt.parse_sql(STATEMENTS)[:2]
    files.put(0, 600)
    found = {"different": []}

    def place(name, **more):
        checkpoint = f"{files.folder}/{name}"
        return {"checkpoint": checkpoint, "watermark": "0 seconds", "options": TWO_BUCKETS, **more}

    output = f"{files.folder}/out"
    end = {"trigger": "available now"}
    with mt.start([hot, day], files.data, sink=output, **place("a", **end)) as running:
        running.await_termination(120)
    for query in (hot, day):
        answers = session.read.parquet(f"{output}/query={query.name}").drop("batch")
        found["different"] += files.different(query, answers)
    made = f"{files.folder}/made"
    with mt.start(hot, files.data, sink=write_json(made), **place("b", **end)) as running:
        running.await_termination(120)
    found["lines"] = (
        session.read.text(f"{made}/hot/*").count() == closed(session, hot, files.there).count()
    )
    with mt.start(hot, files.data, sink=fail, **place("c", **end)) as running:
        try:
            running.await_termination(120)
        except RunError as error:
            found["failed"] = str(error)
    typed = mt.parse_sql(STATEMENTS.replace("max(temp)", "count(*)"))[0]
    found["refused"] = [
        refusal(hot, files.data, sink=output, **place("d")),
        refusal(typed, files.data, sink=output, **place("a")),
        refusal(hot, files.data, sink=f"{files.folder}/in/x", **place("d")),
        refusal(hot, files.data, **{**place("a"), "watermark": "1 second"}),
        refusal(hot, files.data, **{**place("in")}),
    ]
    found["left"] = sorted(path.name for path in files.folder.iterdir())
    return found


def commands(session, readings, url):
    """Runs `muntin run` and `muntin stream` on the server; the third stream has other queries."""
    folder = Path(mkdtemp())
    readings.drop("alarm").coalesce(1).write.parquet(str(folder / "in"))
    file = folder / "queries.sql"
    file.write_text("".join(STATEMENTS.split(";")[0]))
    common = [str(file), "--remote", url, "--input", str(folder / "in"), "--format", "parquet"]
    ran = cli(["run", *common, "--output", str(folder / "out")])
    live = ["--output", str(folder / "live"), "--checkpoint", str(folder / "check")]
    live += ["--trigger", "available now", "--watermark", "0 seconds"]
    streamed = [cli(["stream", *common, *live]) for _ in range(2)]
    file.write_text(file.read_text().replace("max(", "min("))
    streamed.append(cli(["stream", *common, *live]))
    answers = session.read.parquet(str(folder / "live" / "query=hot")).drop("batch")
    batch = session.read.parquet(str(folder / "out" / "hot"))
    passed = readings.agg(F.max("ts")).first()[0]
    closed = batch.where(F.col("window.end") <= F.lit(passed))
    return {
        "codes": [ran, *streamed],
        "rows": closed.count(),
        "same": rows(answers.select(*closed.columns)) == rows(closed),
    }


def main(url: str, *parts: str) -> None:
    session = SparkSession.builder.remote(url).getOrCreate()
    readings = session.range(600).selectExpr(
        "timestamp_micros((id * 7919 % 600) * 1000000 + id) AS ts",
        "CASE WHEN id % 7 = 0 THEN NULL ELSE concat('d', id % 3) END AS device",
        "CASE WHEN id % 5 = 0 THEN NULL ELSE CAST(id % 13 AS DOUBLE) END AS temp",
        "CAST(id % 11 AS INT) AS load",
        "CAST(id % 9 AS STRING) AS state",
        "CAST(id AS DECIMAL(10, 2)) AS price",
        "id % 4 = 0 AS alarm",
    )
    does = {
        "batch": lambda: batch(session, readings),
        "dashboard": lambda: dashboard(readings),
        "hard": lambda: hard_frames(readings),
        "refused": lambda: refused_frames(readings),
        "fuzzed": lambda: fuzzed(readings, 56),
        "commands": lambda: commands(session, readings, url),
        "stream": lambda: stream(session, readings),
        "pipeline": lambda: pipeline(session, readings),
        "changes": lambda: changes(session, readings),
        "drops": lambda: drops(session, readings),
        "sinks": lambda: sinks(session, readings),
    }
    print("FOUND" + json.dumps({part: does[part]() for part in parts}))
    session.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
