"""Names mean what they mean to Spark, whatever they are: keywords, types, quotes, muntin's own.

The oracle of a query made in Python is `df.where(...).groupBy(...keys, window(...)).agg(...)`.
"""

import os
import random
import re
from contextlib import ExitStack
from dataclasses import dataclass

import pytest
from pyspark.errors import NumberFormatException
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

import muntin as mt
from tests.support.answers import assert_same, plain
from tests.support.comparing import Pair, assert_pairs_equal, compare
from tests.support.examples import SEED
from tests.support.names import draw_names, in_another_case, quote_name
from tests.support.streams import Input, at, events, joined

EXAMPLES = int(os.environ.get("MUNTIN_FUZZ", "24"))
WINDOWS = [("3 hours", "1 hour"), ("2 hours", "2 hours"), ("100 minutes", "40 minutes")]


@pytest.fixture(scope="module")
def rows(spark):
    """A text and a number to group by, two numbers to aggregate, and a time, under plain names."""
    frame = spark.sql("""
        SELECT if(id % 7 = 0, NULL, concat('d', id % 3)) AS text, id % 2 AS digit,
               CAST(id % 11 AS INT) AS n, id % 5 / 2D AS x,
               timestamp_seconds(1710028800 + id * 37 % 64 * 811) AS ts
        FROM range(0, 64, 1, 1)""")
    return frame.localCheckpoint()


def grouped_by_spark(query: mt.Query, frame: DataFrame) -> DataFrame:
    """What Spark's own DataFrames answer to a query made in Python."""
    window = query.window
    frame = frame if query.where is None else frame.where(query.where)
    micros = [f"{part} microseconds" for part in (window.size, window.slide, window.offset)]
    answer = frame.groupBy(
        *(F.expr(key).alias(name) for name, key in query.keys.items()),
        F.window(F.expr(query.time), *micros),
    ).agg(*(F.expr(str(call)).alias(name) for name, call in query.aggregates.items()))
    answer = answer if query.having is None else answer.where(query.having)
    return answer.select(*(F.expr(one.expression).alias(one.name) for one in query.columns))


# Generated examples: all of them are compared in one go, and reported one by one.


@dataclass(frozen=True, kw_only=True)
class Example:
    """Two queries of one grouping over a table with odd names, and what Spark answers to each."""

    names: dict[str, str]
    queries: list[mt.Query | mt.PlainQuery]
    expected: list[DataFrame]
    frame: DataFrame

    def __str__(self) -> str:
        asked = [f"{query.name}: {query.to_sql()}" for query in self.queries]
        return "\n".join([f"columns {list(self.names.values())}", *asked])


def is_in_python(seed: int) -> bool:
    """Whether an example's queries are made in Python, not in SQL."""
    return seed % 2 == 1


def make_example(spark, rows, seed: int) -> Example:
    rng = random.Random(seed)
    names = dict(zip(rows.columns, draw_names(rng, 5), strict=True))
    frame = rows.toDF(*names.values())
    windows = rng.sample(WINDOWS, 2)
    if is_in_python(seed):
        queries = [
            made_in_python(rng, names, f"q{number}", *window)
            for number, window in enumerate(windows)
        ]
        return Example(
            names=names,
            queries=queries,
            expected=[grouped_by_spark(query, frame) for query in queries],
            frame=frame,
        )
    table = rng.choice(["", *draw_names(rng, 1)])
    texts = [written_in_sql(rng, names, table, *window) for window in windows]
    frame.createOrReplaceTempView("source")
    expected = [spark.sql(text) for text in texts]
    spark.catalog.dropTempView("source")
    queries = mt.parse_sql(
        ";\n".join(f"-- name: q{number}\n{text}" for number, text in enumerate(texts))
    )
    return Example(names=names, queries=queries, expected=expected, frame=frame)


def made_in_python(rng, names, name, size, slide) -> mt.Query:
    column = {plain: quote_name(odd) for plain, odd in names.items()}
    keys = [column["text"], column["digit"]]
    outputs = [names["text"], names["digit"]]
    if rng.random() < 0.5:
        outputs = draw_names(rng, 2)
        # Two queries of a grouping have the same keys under names of their own.
        keys = dict(zip(outputs, keys, strict=True))
    top, total, many = draw_names(rng, 3, without={*outputs})
    having = rng.choice(
        [None, f"{quote_name(in_another_case(top))} > 5 AND {quote_name(many)} > 0"]
    )
    columns = [
        mt.Column(name=outputs[0], expression=quote_name(outputs[0])),
        mt.Column(
            name="json", expression=f"to_json(struct({quote_name(outputs[1])}, {quote_name(top)}))"
        ),
        mt.Column(name="since", expression="window.start"),
        mt.Column(
            name=total, expression=f"{quote_name(total)} + {quote_name(in_another_case(many))}"
        ),
    ]
    has_clash = {"json", "since"} & {outputs[0].lower(), total.lower()}
    return mt.Query(
        name=name,
        window=mt.hopping(size, every=slide),
        aggregates={
            top: mt.max(column["n"]),
            total: mt.sum(column["x"]),
            many: mt.count(column["text"]),
        },
        keys=keys,
        time=column["ts"],
        where=f"{column['n']} <> 3",
        having=having,
        columns=columns if rng.random() < 0.4 and not has_clash else (),
    )


def written_in_sql(rng, names, table, size, slide) -> str:
    column = {plain: quote_name(odd) for plain, odd in names.items()}
    text, digit, top, total, since = draw_names(rng, 5)
    source = f"source AS {quote_name(table)}" if table else "source"
    prefix = f"{quote_name(table)}." if table and rng.random() < 0.5 else ""
    own_name = rng.random() < 0.5
    shown = column["text"] if own_name else f"{prefix}{column['text']} AS {quote_name(text)}"
    having = rng.choice(
        [
            "",
            f"HAVING {quote_name(in_another_case(top))} > 5",
            f"HAVING {prefix}{column['digit']} = 1 AND max({column['n']}) > 4",
        ]
    )
    return f"""
        SELECT {shown}, upper({column["text"]}) AS {quote_name(digit)},
               {column["digit"]} + 1 AS more, max({prefix}{column["n"]}) AS {quote_name(top)},
               sum({column["x"]}) AS {quote_name(total)},
               window.start AS {quote_name(since)}
        FROM {source}
        WHERE {column["n"]} <> 3
        GROUP BY {column["text"]}, {column["digit"]}, window({column["ts"]}, '{size}', '{slide}')
        {having}"""


@pytest.fixture(scope="module")
def outcomes(spark, rows):
    """What is wrong with each example, and the plan of its two queries."""
    wrong = {seed: [] for seed in range(SEED, SEED + EXAMPLES)}
    plans, examples, pairs = {}, {}, {}
    with ExitStack() as released:
        for seed in range(SEED, SEED + EXAMPLES):
            examples[seed] = example = make_example(spark, rows, seed)
            try:
                one = released.enter_context(mt.run(example.queries[:1], example.frame))
                both = released.enter_context(
                    mt.run(example.queries, example.frame, strategy="shared")
                )
                plans[seed] = both.plan
                found = {"alone": (one["q0"], 0), "q0": (both["q0"], 0), "q1": (both["q1"], 1)}
                for way, (actual, number) in found.items():
                    pair = Pair(
                        name=f"{seed}, {way}", expected=example.expected[number], actual=actual
                    )
                    pairs[pair] = seed
                if can_stand_together(example):
                    expected, long = together(example), both.together()
                    assert sorted(long.columns) == sorted(expected.columns)
                    pair = Pair(
                        name=f"{seed}, together",
                        expected=expected,
                        # In which order the columns of several queries come is not said.
                        actual=long.select(*map(quote_name, expected.columns)),
                        strict=False,
                    )
                    pairs[pair] = seed
            except Exception as error:
                said = str(error).split("JVM stacktrace")[0]
                wrong[seed].append(f"{type(error).__name__}: {said}")
        for pair, outcome in zip(pairs, compare(pairs).values(), strict=True):
            wrong[pairs[pair]] += [outcome.wrong] if outcome.wrong else []
    return wrong, plans, examples


def can_stand_together(example: Example) -> bool:
    """Whether the long form has a place for the columns: no name is `query`, or of two types."""
    fields = [field for frame in example.expected for field in frame.schema]
    types = {}
    for field in fields:
        types.setdefault(field.name.lower(), set()).add((field.name, field.dataType.simpleString()))
    return "query" not in types and all(len(found) == 1 for found in types.values())


def together(example: Example) -> DataFrame:
    """The long form, made by Spark alone."""
    frames = [
        frame.select(F.lit(f"q{number}").alias("query"), "*")
        for number, frame in enumerate(example.expected)
    ]
    return frames[0].unionByName(frames[1], allowMissingColumns=True)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(SEED, SEED + EXAMPLES))
def test_any_names(outcomes, seed):
    wrong, plans, examples = outcomes
    assert not wrong[seed], "\n".join([*wrong[seed], str(examples[seed])])
    if is_in_python(seed):
        first, second = (plans[seed].find_node(name)[0] for name in ("q0", "q1"))
        assert first is second


@pytest.mark.slow
def test_examples_share_and_have_a_long_form(outcomes):
    # In SQL a key may be called like an item of SELECT, and then Spark alone knows what is meant.
    _, plans, examples = outcomes
    shared = [
        seed for seed, plan in plans.items() if len(plan.trees) == 1 and not plan.plain_queries
    ]
    assert sum(not is_in_python(seed) for seed in shared) > len(examples) // 8
    assert sum(map(can_stand_together, examples.values())) > len(examples) // 4


# Single cases.

HOUR = mt.hopping("3 hours", every="1 hour")


def query(name="it", **parts) -> mt.Query:
    given = {"window": HOUR, "aggregates": {"m": mt.max("n")}, "keys": {"device": "text"}}
    return mt.Query(**{"name": name, "time": "ts", **given, **parts})


OTHER = query("other", window=mt.tumbling("2 hours"), aggregates={"n": mt.count()})


def assert_sparks(rows, asked, expected=None):
    """The answer to a query is Spark's, alone and beside another one that shares its slices."""
    expected = grouped_by_spark(asked, rows) if expected is None else expected
    other = query(
        "other", window=mt.tumbling("2 hours"), keys=asked.keys, time=asked.time, where=asked.where
    )
    with (
        mt.run([asked], rows) as alone,
        mt.run([asked, other], rows, strategy="shared") as shared,
    ):
        assert len(shared.plan.trees) == 1
        assert_pairs_equal(
            [
                Pair(name="alone", expected=expected, actual=alone[asked.name]),
                Pair(name="shared", expected=expected, actual=shared[asked.name]),
            ]
        )


def test_having_may_spell_an_aggregate_in_another_case(rows):
    assert_sparks(rows, query(having="M > 3 AND Device = 'd1' AND WINDOW.Start > '2024-03-10'"))


def test_columns_may_spell_names_in_another_case(rows):
    columns = [
        mt.Column(name="a", expression="M + 1"),
        mt.Column(name="b", expression="DEVICE"),
        mt.Column(name="c", expression="Window.END"),
    ]
    assert_sparks(rows, query(columns=columns))


def test_two_aggregates_may_differ_in_case_alone(rows):
    asked = query(aggregates={"m": mt.max("n"), "M": mt.min("n")})
    window = F.window("ts", "3 hours", "1 hour")
    both = rows.groupBy(F.col("text").alias("device"), window).agg(
        F.max("n").alias("m"), F.min("n").alias("M")
    )
    assert_sparks(rows, asked, both)


def test_a_struct_has_fields_of_the_users_names(rows):
    columns = [
        mt.Column(name="json", expression="to_json(struct(device, m))"),
        mt.Column(name="s", expression="struct(window, device, m)"),
    ]
    asked = query(columns=columns)
    assert_sparks(rows, asked)
    with mt.run([asked, OTHER], rows, strategy="shared") as results:
        found = results["it"]
        assert found.schema["s"].dataType.names == ["window", "device", "m"]
        assert found.where('json LIKE \'{"device":"d1","m":%}\'').count() > 0


def test_columns_that_spark_names_have_sparks_names(rows):
    columns = [mt.Column(name=None, expression="m + 1"), mt.Column(name=None, expression="device")]
    with mt.run([query(columns=columns), OTHER], rows, strategy="shared") as results:
        assert results["it"].columns == ["(m + 1)", "device"]


@pytest.mark.parametrize(
    "parts",
    [
        {"where": "n > 5 -- hot"},
        {"where": "n > 5 /* hot */ -- it's"},
        {"having": "m > 5 -- hot"},
        {"having": "m > 5 OR m = 1"},
        {"where": "n > 5 OR n = 1"},
        {"keys": {"device": "text -- a key"}},
        {"aggregates": {"m": mt.max("n -- a number")}},
        {"columns": [mt.Column(name="a", expression="m -- more")]},
        {"time": "ts -- the time"},
    ],
    ids=lambda parts: str(next(iter(parts))),
)
def test_a_comment_ends_with_the_expression_that_it_stands_in(rows, parts):
    cut = {
        name: re.sub(r" (--|/\*).*", "", part) if isinstance(part, str) else part
        for name, part in parts.items()
    }
    if "keys" in parts:
        cut["keys"] = {"device": "text"}
    if "aggregates" in parts:
        cut["aggregates"] = {"m": mt.max("n")}
    if "columns" in parts:
        cut["columns"] = [mt.Column(name="a", expression="m")]
    assert_sparks(rows, query(**parts), grouped_by_spark(query(**cut), rows))


def suggested(message: str) -> set[str]:
    """The names that Spark offers in the place of one that it does not know."""
    found = re.search(r"Did you mean one of the following\? \[(.*?)\]", message)
    return set() if found is None else set(re.findall(r"`([^`]+)`", found[1]))


@pytest.mark.parametrize("place", ["having", "columns"])
@pytest.mark.parametrize("name", ["begin", "end", "node", "i0", "k0", "c0", "a0", "q", "nothing"])
def test_names_of_muntins_own_mean_nothing(rows, place, name):
    parts = {
        "having": {"having": f"{quote_name(name)} IS NOT NULL"},
        "columns": {"columns": [mt.Column(name="a", expression=quote_name(name))]},
    }
    wrong = query("wrong", **parts[place])
    for asked in ([wrong], [wrong, OTHER]):
        with pytest.raises(mt.RunError) as caught:
            mt.run(asked, rows, strategy="shared")["wrong"]
        said = str(caught.value)
        assert "'wrong'" in said
        assert "UNRESOLVED_COLUMN" in said
        assert f"`{name}`" in said
        assert suggested(said) <= {"device", "window", "m"}


def test_a_source_that_has_the_column_does_not_lend_it_to_having(rows):
    # `x` is a column of the events, and no longer there when they are grouped.
    for asked in ([query("wrong", having="x > 1")], [query("wrong", having="x > 1"), OTHER]):
        with pytest.raises(mt.RunError, match=r"'wrong'.*UNRESOLVED_COLUMN.*`x`"):
            mt.run(asked, rows, strategy="shared")["wrong"]


@pytest.mark.parametrize(
    ("parts", "name"),
    [
        ({"time": "tss"}, "tss"),
        ({"keys": {"device": "txt"}}, "txt"),
        ({"where": "nn > 1"}, "nn"),
        ({"aggregates": {"m": mt.max("nn")}}, "nn"),
    ],
)
def test_a_missing_column_is_named_with_its_query(rows, parts, name):
    for asked in ([query("wrong", **parts)], [query("wrong", **parts), OTHER]):
        with pytest.raises(mt.RunError) as caught:
            mt.run(asked, rows, strategy="shared")["wrong"].collect()
        assert "'wrong'" in str(caught.value)
        assert f"`{name}`" in str(caught.value)


def test_together_with_a_column_called_query(rows):
    asked = [query("first", keys={"query": "text"}), query("second", aggregates={"n": mt.count()})]
    with mt.run(asked, rows, strategy="shared") as results:
        long, refused = None, ""
        try:
            long = results.together()
        except mt.RunError as error:
            refused = str(error)
        if long is None:
            assert "'first'" in refused
            assert "query" in refused
        else:
            names = [name.lower() for name in long.columns]
            assert len(set(names)) == len(names)
            assert "query" in names
            assert long.count() == results["first"].count() + results["second"].count()


@pytest.mark.parametrize("kind", ["array(m)", "struct(m)", "window", "map('m', m)"])
def test_together_with_two_types_of_one_column(rows, kind):
    # In one tree, so that one pass fills the column for both.
    asked = [query("first"), query("second", columns=[mt.Column(name="m", expression=kind)])]
    with mt.run(asked, rows, strategy="shared") as results:
        assert len(results.plan.trees) == 1
        with pytest.raises(mt.RunError, match=r"['`\"]m['`\"]"):
            results.together()


def test_together_widens_one_column_of_two_number_types(rows):
    asked = [query("first"), query("second", aggregates={"m": mt.avg("n")})]
    with mt.run(asked, rows, strategy="shared") as results:
        expected = results["first"].select(F.lit("first").alias("query"), "*")
        expected = expected.unionByName(
            results["second"].select(F.lit("second").alias("query"), "*")
        )
        assert_pairs_equal(
            [Pair(name="long", expected=expected, actual=results.together(), strict=False)]
        )


# Streams.

STREAMED = [
    pytest.param(["select", "date", "node", "ts"], marks=pytest.mark.slow),
    ["a`b", "it's", "k0", "a.b"],
]


@pytest.mark.parametrize("names", STREAMED, ids=lambda names: " ".join(names))
def test_names_in_a_stream(spark, tmp_path, names):
    source = Input(spark, tmp_path / "in")
    source.put(joined(events(3, files=4, rows=30)))

    def renamed(frame):
        device, site, load, when = names
        return frame.selectExpr(
            f"device AS {quote_name(device)}",
            f"site AS {quote_name(site)}",
            f"load AS {quote_name(load)}",
            f"ts AS {quote_name(when)}",
        )

    device, site, load, when = map(quote_name, names)
    asked = [
        mt.Query(
            name="listed",
            window=mt.tumbling("1 minute"),
            aggregates={"begin": mt.max(load), "i0": mt.count()},
            keys=[device, site],
            time=when,
            having="BEGIN > 0",
        ),
        mt.Query(
            name="mapped",
            window=mt.hopping("3 minutes", every="1 minute"),
            aggregates={"node": mt.min(load), "m": mt.max(load), "Query": mt.count()},
            keys={"k0": site, "bucket": device},
            time=when,
            columns=[
                mt.Column(name="json", expression="to_json(struct(bucket, M))"),
                mt.Column(name="begin", expression="k0"),
                mt.Column(name="end", expression="window.end"),
                mt.Column(name="count", expression="query + node"),
            ],
        ),
    ]
    with mt.start(asked, renamed(source.stream()), checkpoint=tmp_path / "check") as pipeline:
        pipeline.process_all_available()
        watermark = at(pipeline.status().watermark)
        pairs = []
        for one in asked:
            whole = mt.Query(
                name=one.name,
                window=one.window,
                aggregates=one.aggregates,
                keys=one.keys,
                time=one.time,
                having=one.having,
                columns=[
                    *one.columns,
                    mt.Column(name="until", expression="unix_micros(window.end)"),
                ],
            )
            closed = grouped_by_spark(whole, renamed(source.batch()))
            expected = closed.where(f"until <= {watermark}").drop("until")
            answers = pipeline.answers(one.name)
            pairs.append(Pair(name=one.name, expected=expected, actual=answers, strict=False))
        outcomes = compare(pairs)
    for outcome in outcomes.values():
        assert outcome.wrong is None, outcome.wrong
        assert outcome.rows > 5


HAVINGS = {
    # The item is text, and Spark casts it to the type of the column `digit`.
    "digit = 'd1'": "in HAVING, digit may mean a column of its source or an item of SELECT",
    "digit > 0": "in HAVING, digit may mean a column of its source or an item of SELECT",
    "x > 1": None,
    "max(digit) > 0": None,
    "s > 3": None,
}


@pytest.mark.parametrize("having", HAVINGS)
def test_a_name_in_having_that_is_a_column_and_an_item(rows, having):
    by = "FROM r GROUP BY text, window(ts, '3 hours', '1 hour')"
    queries = mt.parse_sql(
        f"SELECT text AS digit, max(x) AS x, sum(n) AS s {by} HAVING {having};"
        f"SELECT text, count(*) AS c {by}"
    )
    results = mt.run(queries, {"r": rows})
    reasons = {query.name: query.reason for query in results.plan.plain_queries}
    assert reasons.get("q1") == HAVINGS[having]
    assert_same(results["q2"], plain(queries[1], {"r": rows}))
    expected = plain(queries[0], {"r": rows})
    if HAVINGS[having] is None:
        assert_same(results["q1"], expected)
        return
    for frame in (expected, results["q1"]):
        with pytest.raises(NumberFormatException, match="CAST_INVALID_INPUT"):
            frame.collect()


def test_a_qualified_name_in_having_is_no_item(rows):
    (query,) = mt.parse_sql(
        "SELECT text AS digit FROM r GROUP BY text, window(ts, '1 hour') HAVING r.digit = 'd1'"
    )
    assert query.reason == "digit is neither a key nor inside an aggregate"
