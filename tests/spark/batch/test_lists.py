"""Lists and texts of all values of a window: shared where their order is determined."""

import random

import pytest
from pyspark.sql import functions as F

import muntin as mt
from muntin.errors import ModelError

SCHEMA = "t LONG, device STRING, word STRING, code BINARY, cents LONG, n INT, x DOUBLE"
WINDOW = "window(ts, '5 minutes', '1 minute')"


@pytest.fixture(scope="module")
def data(spark):
    """Events with many equal values, words of several bytes a letter, zeros of both signs."""
    rng = random.Random(12)
    words = ["", "b", "a", "ä", "Z", "\U0001f600", "\uffee", "a b", None]
    rows = [
        (
            1_700_000_000_000_000 + rng.randrange(1200_000_000),
            rng.choice(["a", "b", None]),
            rng.choice(words),
            rng.choice([b"", b"\xff\x00", b"\x80", b"\x7f", None]),
            rng.choice([None, 0, 1, -50]),
            rng.choice([None, 1, 2, -3]),
            rng.choice([None, 0.0, 1.5, float("nan"), float("-inf")]),
        )
        for _ in range(500)
    ]
    frame = spark.createDataFrame(rows, SCHEMA).selectExpr(
        "*",
        "timestamp_micros(t) AS ts",
        "date_add('2026-02-27', n) AS day",
        "CAST(12345678901234567890 AS DECIMAL(24, 2)) + cents / 100 AS price",
    )
    frame = frame.coalesce(2).cache()
    frame.createOrReplaceTempView("listed")
    yield frame
    frame.unpersist()


def rows(frame):
    return sorted(map(str, frame.collect()))


def both(spark, data, items, where="true"):
    """The rows of a statement in muntin, which shares it, and in Spark."""
    text = f"SELECT device, window, {items} FROM listed WHERE {where} GROUP BY device, {WINDOW}"
    (query,) = mt.parse_sql(text)
    expected = spark.sql(text)
    with mt.run(mt.plan([query], strategy="shared"), data) as results:
        assert not results.plan.plain_queries
        assert results[query.name].schema == expected.schema
        return rows(results[query.name]), rows(expected)


TEXTS = """
    listagg(word, ', ') WITHIN GROUP (ORDER BY word) AS up,
    string_agg(word, '\\n' || "'") WITHIN GROUP (ORDER BY word DESC NULLS FIRST) AS down,
    listagg(word) WITHIN GROUP (ORDER BY word ASC) AS bare,
    listagg(code, X'00ff') WITHIN GROUP (ORDER BY code DESC) AS codes,
    listagg(upper(word), NULL) WITHIN GROUP (ORDER BY upper(word)) FILTER (WHERE n > 0) AS some,
    count(*) AS n
"""


def test_texts_in_the_order_of_their_values(spark, data):
    ours, theirs = both(spark, data, TEXTS)
    assert ours == theirs
    # Spark itself fails for calls with DISTINCT beside others of other columns.
    ours, theirs = both(
        spark, data, "listagg(DISTINCT word, '-') WITHIN GROUP (ORDER BY word DESC) AS words"
    )
    assert ours == theirs


def test_lists_under_functions_that_heed_no_order(spark, data):
    items = """
        array_sort(collect_list(word)) AS words,
        sort_array(array_agg(code), false) AS codes,
        sort_array(collect_list(price)) AS prices,
        sort_array(collect_list(x) FILTER (WHERE n > 0)) AS xs,
        array_sort(collect_list(DISTINCT n)) AS ns,
        size(collect_list(n > 1)) + cardinality(collect_list(day)) AS sizes,
        array_max(collect_list(day)) AS last,
        array_contains(collect_list(n), 2) AS has_two
    """
    ours, theirs = both(spark, data, items)
    assert ours == theirs


@pytest.mark.parametrize(
    ("items", "reason"),
    [
        ("listagg(word, ',') AS x", "the order in which rows arrive"),
        ("listagg(word, ',') WITHIN GROUP (ORDER BY n) AS x", "something else than its values"),
        ("collect_list(n) AS x", "the order in which rows arrive"),
        ("array_sort(collect_list(n), (a, b) -> a - b) AS x", "the order in which rows arrive"),
        ("size(slice(array_agg(n), 1, 2)) AS x", "the order in which rows arrive"),
    ],
)
def test_other_orders_are_left_to_spark(items, reason):
    (query,) = mt.parse_sql(f"SELECT {items} FROM listed GROUP BY {WINDOW}")
    assert isinstance(query, mt.PlainQuery)
    assert reason in query.reason


def test_what_spark_casts_to_text_is_left_to_it(spark, data):
    items = "listagg(n, ',') WITHIN GROUP (ORDER BY n) AS x"
    text = f"SELECT device, window, {items} FROM listed GROUP BY device, {WINDOW}"
    with mt.run(mt.parse_sql(text), data) as results:
        (plain,) = results.plan.plain_queries
        assert "is of int" in plain.reason
        assert rows(results[plain.name]) == rows(spark.sql(text))


def test_dataframes(data):
    grouped = data.groupBy("device", F.window("ts", "5 minutes", "1 minute"))
    listed = grouped.agg(F.collect_list("n").alias("ns"), F.count("*").alias("c"))
    frames = {
        "sorted": grouped.agg(F.sort_array(F.collect_list("word"), asc=False).alias("words")),
        "above": listed.select("device", "window", F.sort_array("ns").alias("ns"), "c"),
        "text": grouped.agg(
            F.expr("listagg(word, '; ') WITHIN GROUP (ORDER BY word DESC)").alias("words")
        ),
        "compared": grouped.agg(F.array_sort(F.collect_list("n")).alias("ns")),
        "set": grouped.agg(F.array_sort(F.collect_set("n")).alias("ns")),
        "as_it_comes": listed,
        "reversed": grouped.agg(
            F.array_sort(F.collect_list("n"), lambda a, b: b - a).alias("ns"), F.max("x").alias("m")
        ),
    }
    shared = mt.share(frames)
    assert [plain.name for plain in shared.plan.plain_queries] == ["as_it_comes", "reversed"]
    for name in ("sorted", "above", "text", "compared", "set", "reversed"):
        assert shared[name].schema == frames[name].schema
        assert rows(shared[name]) == rows(frames[name])


def test_python_calls():
    call = mt.listagg("word", "it's", "desc")
    assert str(call) == "listagg(word, 'it\\'s') WITHIN GROUP (ORDER BY word DESC)"
    assert str(mt.listagg("word")) == "listagg(word, NULL) WITHIN GROUP (ORDER BY word ASC)"
    assert str(mt.listagg_distinct("b", b"\x01")) == (
        "listagg(DISTINCT b, X'01') WITHIN GROUP (ORDER BY b ASC)"
    )
    with pytest.raises(ModelError, match="a delimiter is text or bytes, not 3"):
        mt.listagg("word", 3)
    with pytest.raises(ModelError, match="takes delimiter, order"):
        mt.listagg("word", ",", "ASC", "x")
