"""Settings and views that change between `run` or `share` and the use of an answer change nothing.

Spark resolves a DataFrame when it is made: time zone, ANSI and the case of names count as they are
then, and so do temporary views. How it is executed counts when it is used.
"""

import os
import random
from contextlib import ExitStack

import pytest
from pyspark.errors import PySparkException

import muntin as mt
from muntin.spark.engine.settings import temporary_settings as configured

ZONE = "spark.sql.session.timeZone"
ANSI = "spark.sql.ansi.enabled"
CASE = "spark.sql.caseSensitive"
CHOICES = {
    ZONE: ["UTC", "America/New_York", "Asia/Kolkata"],
    ANSI: ["true", "false"],
    CASE: ["true", "false"],
    "spark.sql.legacy.statisticalAggregate": ["true", "false"],
    "spark.sql.decimalOperations.allowPrecisionLoss": ["true", "false"],
    "spark.sql.shuffle.partitions": ["1", "3"],
}
STATEMENTS = {
    "a text of a time": "SELECT device, CAST(window.start AS STRING) AS at, count(*) AS n "
    "FROM readings GROUP BY device, window(ts, '1 minute')",
    "a part of a time as key": "SELECT hour(ts) AS h, window.end AS e, sum(load) AS s "
    "FROM readings GROUP BY hour(ts), window(ts, '5 minutes')",
    "a time as text in a filter": "SELECT window.start AS b, max(temp) AS m FROM readings "
    "WHERE ts > '1970-01-01 00:01:00' OR load < 4 GROUP BY window(ts, '2 minutes', '1 minute')",
    "a sum beyond its type": "SELECT device, sum(big) AS s FROM readings "
    "GROUP BY device, window(ts, '5 minutes')",
    "a division by zero": "SELECT device, window.start AS b, sum(load) / count_if(load > 99) AS q "
    "FROM readings GROUP BY device, window(ts, '2 minutes')",
    "a number compared with text": "SELECT device, count(*) AS n FROM readings "
    "GROUP BY device, window(ts, '1 minute') HAVING count(*) > '9.5'",
    "a variance of one value": "SELECT variance(temp) AS v FROM readings "
    "WHERE load = 1 GROUP BY device, load, window(ts, '1 minute')",
    "decimals": "SELECT sum(price) * 1.000000000000000001 AS p FROM readings "
    "GROUP BY window(ts, '1 minute')",
    "a short session": "SELECT session_window.start AS b, hour(session_window.end) AS h, "
    "count(*) AS n FROM readings GROUP BY device, session_window(ts, '2 seconds')",
    "a long session": "SELECT CAST(session_window.end AS STRING) AS e, sum(load) AS n "
    "FROM readings GROUP BY device, session_window(ts, '4 seconds')",
}
# Only some sessions can resolve it.
IN_CAPITALS = "SELECT DEVICE, max(LOAD) AS m FROM readings GROUP BY DEVICE, window(ts, '1 minute')"


SEEDS = range(max(2, int(os.environ.get("MUNTIN_FUZZ", "0")) // 14))


def outcome(frame):
    """The rows of a frame, or what Spark says is wrong."""
    try:
        return sorted(map(str, frame.collect()))
    except PySparkException as error:
        return error.getCondition()


def view(spark, readings, rng=None):
    """Makes the view `readings`; with `rng`, of other rows, types, names and order of columns."""
    events = readings.withColumn("big", readings["load"].cast("long") * (1 << 59))
    if rng is not None:
        columns = ["ts", "device", "temp", "load", "price", "big"]
        rng.shuffle(columns)
        changed = rng.choice(columns)
        events = events.where("load < 7").selectExpr(
            *(
                f"CAST({name} AS STRING) AS {rng.choice([name, 'other'])}"
                if name == changed
                else name
                for name in columns
            )
        )
    events.createOrReplaceTempView("readings")


def chosen(rng):
    return {name: rng.choice(values) for name, values in CHOICES.items()}


def statements(settings):
    more = {} if settings[CASE] == "true" else {"capitals": IN_CAPITALS}
    return STATEMENTS | more


def some(texts, rng):
    """Half of the statements, which half by chance."""
    return {name: texts[name] for name in rng.sample(sorted(texts), len(texts) // 2)}


def compare(expected, actual):
    found = {name: outcome(frame) for name, frame in actual.items()}
    wanted = {name: outcome(frame) for name, frame in expected.items()}
    assert found == wanted


@pytest.mark.parametrize("seed", SEEDS)
def test_changes_after_run(spark, readings, seed):
    rng = random.Random(seed)
    before = chosen(rng)
    view(spark, readings)
    with configured(spark, before):
        texts = some(statements(before), rng)
        expected = {name: spark.sql(text) for name, text in texts.items()}
        script = "".join(f"-- name: {name}\n{text};\n" for name, text in texts.items())
        results = mt.run(mt.parse_sql(script))
    view(spark, readings, rng)
    with results, ExitStack() as stack:
        # A setting that differs between answers, too.
        actual = {}
        for name in results:
            stack.enter_context(configured(spark, chosen(rng)))
            actual[name] = results[name]
        compare(expected, actual)


@pytest.mark.parametrize("seed", SEEDS)
def test_changes_before_and_after_share(spark, readings, seed):
    rng = random.Random(seed)
    view(spark, readings)
    texts, frames = some(STATEMENTS, rng), {}
    for name, text in texts.items():
        with configured(spark, chosen(rng)):
            frames[name] = spark.sql(text)
    with configured(spark, chosen(rng)):
        # Two frames that differ only in the settings that they were made under.
        for name, text in texts.items():
            frames[f"{name}, again"] = spark.sql(text)
        results = mt.share(frames)
        assert any(query.name.endswith("again") for query in results.plan.queries)
    with results, configured(spark, chosen(rng)):
        compare(frames, results)


def test_what_is_written_and_the_long_form_have_the_settings_of_run(spark, readings, tmp_path):
    view(spark, readings)
    text = STATEMENTS["a text of a time"]
    script = f"-- name: a\n{text};\n-- name: b\n{text.replace('1 minute', '2 minutes')};"
    with configured(spark, {ZONE: "UTC"}):
        expected = sorted(row.at for row in spark.sql(text).collect())
        results = mt.run(mt.parse_sql(script))
    with results, configured(spark, {ZONE: "Asia/Kolkata"}):
        rows = results.together().where("query = 'a'").collect()
        assert sorted(row.at for row in rows) == expected
        results.write(str(tmp_path / "answers"))
        rows = spark.read.parquet(str(tmp_path / "answers" / "a")).collect()
        assert sorted(row.at for row in rows) == expected
        assert spark.conf.get(ZONE) == "Asia/Kolkata"
