"""Statements of Azure Stream Analytics and Flink SQL give the rows of the same query in plain Spark."""
# ruff: noqa: E501

import random

import pytest
from pyspark.sql import DataFrame

import muntin as mt
from tests.support.answers import TOLERANCE
from tests.support.comparing import Pair, assert_pairs_equal

VALUES = {
    "n": "count(*)",
    "top": "max(temp)",
    "mean": "avg(temp)",
    "total": "sum(load)",
    "hot": "count_if(temp > 6)",
    "span": "max(load) - min(load) + 1",
}
UNITS = {"second": 1, "minute": 60}


class Drawn:
    """A statement of each dialect over the same window, keys and values, and what it means."""

    def __init__(self, seed: int) -> None:
        rng = random.Random(seed)
        self.unit = rng.choice(list(UNITS))
        self.slide = rng.randint(1, 9) * (10 if self.unit == "second" else 1)
        self.steps = rng.randint(1, 5)
        self.kind = rng.choice(["tumble", "hop", "cumulate"])
        if self.kind == "tumble":
            self.steps = 1
        self.offset = rng.choice([None, self.slide // 2 or None])
        self.keys = rng.choice([["device"], ["device", "load % 2"], []])
        self.values = rng.sample(list(VALUES), rng.randint(1, 3))
        self.where = rng.choice([None, "load > 2", "temp IS NULL OR load > 8 AND device = 'd1'"])
        self.having = rng.choice([None, "count(*) > 1"])

    def micros(self, count: int) -> int:
        return count * UNITS[self.unit] * 1_000_000

    @property
    def size(self) -> int:
        return self.slide * self.steps

    def select(self, *bounds: str) -> str:
        keys = [f"{key} AS k{index}" for index, key in enumerate(self.keys)]
        return ", ".join([*keys, *bounds, *(f"{VALUES[name]} AS {name}" for name in self.values)])

    def rest(self, *groups: str) -> str:
        having = f" HAVING {self.having}" if self.having else ""
        return f"GROUP BY {', '.join([*self.keys, *groups])}{having}"

    @property
    def filter(self) -> str:
        return f" WHERE {self.where}" if self.where else ""

    def azure(self) -> str:
        offset = "" if self.offset is None else f", Offset({self.unit}, {self.offset})"
        window = f"TumblingWindow(Duration({self.unit}, {self.size}){offset})"
        if self.kind == "hop":
            window = f"HoppingWindow(Duration({self.unit}, {self.size}), Hop({self.unit}, {self.slide}){offset})"
        return f"SELECT {self.select('System.Timestamp() AS e')} FROM readings TIMESTAMP BY ts{self.filter} {self.rest(window)}"

    def flink(self) -> str:
        lengths = {
            "tumble": [self.size],
            "hop": [self.slide, self.size],
            "cumulate": [self.slide, self.size],
        }[self.kind]
        lengths += [] if self.offset is None else [self.offset]
        given = ", ".join(f"INTERVAL '{length}' {self.unit.upper()}" for length in lengths)
        table = f"TABLE({self.kind.upper()}(TABLE readings, DESCRIPTOR(ts), {given}))"
        bounds = ("window_start", "window_end AS e", "window_time AS t")
        return f"SELECT {self.select(*bounds)} FROM {table}{self.filter} {self.rest('window_start', 'window_end')}"

    def spark(self, *bounds: str) -> str:
        """The same in plain Spark: its own windows, or an explode of the ends, over numbers."""
        size, slide, offset = map(self.micros, (self.size, self.slide, self.offset or 0))
        if self.kind != "cumulate":
            window = f"window(ts, '{size} microseconds', '{slide} microseconds', '{offset} microseconds')"
            fields = [each.replace("w.", "window.") for each in bounds]
            return f"SELECT {self.select(*fields)} FROM readings{self.filter} {self.rest(window)}"
        begin = f"m - pmod(m - {offset}, {size})"
        step = f"m - pmod(m - {offset}, {slide})"
        ends = f"explode(sequence({step} + {slide}, {begin} + {size}, {slide}))"
        rows = f"SELECT *, timestamp_micros({begin}) AS b, {ends} AS e FROM (SELECT *, unix_micros(ts) AS m FROM readings WHERE ts IS NOT NULL)"
        rows = f"SELECT *, named_struct('start', b, 'end', timestamp_micros(e)) AS w FROM ({rows})"
        return f"SELECT {self.select(*bounds)} FROM ({rows}){self.filter} {self.rest('w')}"


@pytest.fixture(scope="module", autouse=True)
def view(readings: DataFrame):
    readings.createOrReplaceTempView("readings")
    yield
    readings.sparkSession.catalog.dropTempView("readings")


def test_generated_statements_give_the_rows_of_plain_spark(spark, readings):
    texts: dict[str, tuple[str, str]] = {}
    for seed in range(16):
        drawn = Drawn(seed)
        if drawn.kind != "cumulate":
            texts[f"azure_{seed}"] = (drawn.azure(), drawn.spark("w.end AS e"))
        plain = drawn.spark(
            "w.start AS window_start", "w.end AS e", "w.end - INTERVAL '0.001' SECOND AS t"
        )
        texts[f"flink_{seed}"] = (drawn.flink(), plain)
    assert {Drawn(seed).kind for seed in range(16)} == {"tumble", "hop", "cumulate"}
    text = ";\n".join(f"-- name: {name}\n{given}" for name, (given, _) in texts.items())
    queries = mt.parse_sql(text)
    assert all(isinstance(query, mt.Query) for query in queries)
    with mt.run(queries, readings) as results:
        assert_pairs_equal(
            Pair(
                name=f"{name}: {given}",
                expected=spark.sql(plain),
                actual=results[name],
                tolerance=TOLERANCE,
                strict=False,
            )
            for name, (given, plain) in texts.items()
        )


def test_windows_of_one_statement_are_several_queries_or_one_union(spark, readings):
    text = """
      -- name: load
      SELECT device, System.Window().Id AS id, System.Timestamp() AS at, sum(load) AS total
      FROM readings TIMESTAMP BY ts
      GROUP BY device, Windows(
        Window('short', TumblingWindow(minute, 1)),
        Window('long', HoppingWindow(minute, 6, 2)))"""

    def plain(name: str, window: str) -> str:
        return (
            f"SELECT device, '{name}' AS id, window.end AS at, sum(load) AS total FROM readings "
            f"GROUP BY device, window(ts, {window})"
        )

    short, long = plain("short", "'1 minute'"), plain("long", "'6 minutes', '2 minutes'")
    with mt.run(mt.parse_sql(text), readings) as results:
        union = results.together().drop("query")
        facts = {"tolerance": TOLERANCE, "strict": False}
        assert_pairs_equal(
            [
                Pair(
                    name="short", expected=spark.sql(short), actual=results["load_short"], **facts
                ),
                Pair(name="long", expected=spark.sql(long), actual=results["load_long"], **facts),
                Pair(
                    name="union",
                    expected=spark.sql(f"{short} UNION ALL {long}"),
                    actual=union,
                    **facts,
                ),
            ]
        )
