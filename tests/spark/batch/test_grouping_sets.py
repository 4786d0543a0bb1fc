"""ROLLUP, CUBE and GROUPING SETS beside a window: Spark's answers, from slices of finer keys."""
# ruff: noqa: E501

from contextlib import ExitStack

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from pyspark.errors import AnalysisException

import muntin as mt
from muntin.errors import RunError
from muntin.model.query import Query
from muntin.spark.engine.settings import temporary_settings as configured
from tests.support.answers import TOLERANCE, assert_equal_answers
from tests.support.comparing import Pair, assert_pairs_equal
from tests.support.examples import examples
from tests.support.executed_plans import scans

W = "window(ts, '2 minutes')"


@pytest.fixture(scope="module")
def events(spark):
    """Ten minutes of events with nulls among their keys."""
    return (
        spark.range(400)
        .selectExpr(
            "timestamp_micros((id * 7919 % 600) * 1000000 - 300000000) AS ts",
            "CASE WHEN id % 7 = 0 THEN NULL ELSE concat('s', id % 3) END AS site",
            "CASE WHEN id % 5 = 0 THEN NULL ELSE CAST(id % 4 AS INT) END AS kind",
            "named_struct('f', id % 2 = 0) AS st",
            "concat('K', id % 2) COLLATE UTF8_LCASE AS loose",
            "CAST(id % 13 AS DOUBLE) AS temp",
            "CAST(id AS DECIMAL(10, 2)) AS price",
        )
        .localCheckpoint()
    )


def statement(select, group_by):
    return f"SELECT {select} FROM events GROUP BY {group_by}"


SHARED = {
    "names and metadata": ("site, kind, window.start, avg(temp), grouping(site)", f"{W}, ROLLUP(site, kind)"),
    "the window last": ("site, window, grouping_id() AS id, count(*) AS n", f"ROLLUP(site, kind), {W}"),
    "the window by name": ("site, window, count(*)", f"GROUPING SETS (({W}, site), (window))"),
    "keys that are in no set": ("site, kind, window, count(*)", f"{W}, site, kind GROUPING SETS ((window, site), ({W}))"),
    "several, and equal sets": ("site, kind, st.f, count(*) AS n, grouping_id()", f"{W}, CUBE(site), GROUPING SETS (ROLLUP(kind), (st.f), ())"),
    "one set": ("site, kind, max(temp)", f"{W}, site, kind GROUPING SETS (({W}, kind))"),
    "hopping": ("kind, window, min(temp) + grouping(kind) AS m", "window(ts, '3 minutes', '1 minute'), ROLLUP(kind)"),
    "types that Spark combines": ("site, window, sum(price) AS p, max(site) AS last", f"{W}, ROLLUP(site, kind)"),
    "a key that Spark compares": ("loose, kind, window, count(*) AS n", f"{W}, CUBE(kind, loose)"),
    "a filter, expressions, HAVING": (
        "coalesce(site, 'all') AS s, struct(grouping(site), kind) AS both, count(*) FILTER (WHERE kind = 1) AS n",
        f"{W}, ROLLUP(site, kind) HAVING s = 'all' AND max(temp) > 11",
    ),
    "an alias in HAVING": ("grouping_id() AS level, count(*) AS n", f"{W}, ROLLUP(site) HAVING level = 1"),
}  # fmt: skip


def test_answers_are_sparks(spark, events):
    queries = mt.parse_sql(
        ";".join(f"-- name: {name}\n{statement(*parts)}\n" for name, parts in SHARED.items())
    )
    assert [query.reason for query in queries if not isinstance(query, Query)] == []
    events.createOrReplaceTempView("events")
    expected = {name: spark.sql(statement(*parts)) for name, parts in SHARED.items()}
    some = {"names and metadata", "one set", "types that Spark combines", "keys that are in no set"}
    apart = [query for query in queries if query.name in some]
    with (
        mt.run(queries, events, strategy="shared") as results,
        mt.run(apart, events, strategy="unshared") as unshared,
    ):
        assert not results.plan.plain_queries
        pairs = [(name, "shared", results[name]) for name in SHARED]
        pairs += [(name, "unshared", unshared[name]) for name in some]
        pairs += [(name, "to_sql", spark.sql(results.to_sql(name))) for name in some]
        assert_pairs_equal(
            Pair(
                name=f"{name}, {way}",
                expected=expected[name],
                actual=actual,
                tolerance=TOLERANCE,
                strict=way != "to_sql",
            )
            for name, way, actual in pairs
        )


LEFT_ALONE = {
    "a grouping set without the window": ("site, window, count(*) AS n", f"{W}, site WITH ROLLUP"),
    "grouping sets of sessions": ("site, count(*) AS n", "session_window(ts, '9 seconds'), ROLLUP(site)"),
    "kind + 1 and another key of the grouping sets may be the same": ("kind, kind + 1, count(*) AS n", f"{W}, ROLLUP(kind, kind + 1)"),
    "grouping__id is neither a key nor inside an aggregate": ("grouping__id, count(*) AS n", f"{W}, ROLLUP(site)"),
    "avg(price) is decimal(14,6), which Spark rounds once, at the end": ("site, avg(price) AS m", f"{W}, ROLLUP(site)"),
}  # fmt: skip


def test_what_cannot_share_is_left_to_spark(events):
    queries = mt.parse_sql(";".join(statement(*parts) for parts in LEFT_ALONE.values()))
    results = mt.run(queries, events)
    assert [query.reason for query in results.plan.plain_queries] == list(LEFT_ALONE)
    assert_equal_answers(results, events)


@pytest.mark.parametrize(
    ("select", "group_by"),
    [
        # Spark resolves these in the HAVING of one grouping.
        ("site, count(*) AS n", f"{W}, ROLLUP(site) HAVING window.start > '1970'"),
        (f"site, {W}", f"{W}, ROLLUP(site) HAVING {W}.start > '1970'"),
        ("grouping_id(site)", f"{W}, ROLLUP(site)"),
        ("grouping(kind)", f"{W}, ROLLUP(site)"),
        ("grouping(site)", f"{W}, site"),
        ("nobody, count(*)", f"{W}, ROLLUP(nobody)"),
    ],
)
def test_what_spark_refuses_is_refused(spark, events, select, group_by):
    events.createOrReplaceTempView("events")
    sql = statement(select, group_by)
    with pytest.raises(AnalysisException):
        spark.sql(sql)
    with pytest.raises(RunError, match="'wrong one'"):
        mt.run(mt.parse_sql(f"-- name: wrong one\n{sql}"), events)["wrong one"]


def test_numbers_of_sets_as_earlier_sparks_give_them_are_left_to_spark(spark, events):
    queries = mt.parse_sql(statement("grouping_id() AS id, count(*) AS n", f"{W}, ROLLUP(site)"))
    with configured(spark, {"spark.sql.legacy.integerGroupingId": "true"}):
        results = mt.run(queries, events)
        assert results.plan.plain_queries[0].reason == "spark.sql.legacy.integerGroupingId is on"
        assert_equal_answers(results, events)


QUERIES = [
    mt.Query(
        name="totals",
        window=mt.tumbling("2 minutes"),
        time="ts",
        keys=mt.rollup("site", "kind"),
        aggregates={"n": mt.count(), "mean": mt.avg("temp")},
        marks={"no_kind": mt.grouping("kind"), "level": mt.grouping_id()},
        having="n > 1",
    ),
    mt.Query(
        name="kinds",
        window=mt.tumbling("1 minute"),
        time="ts",
        keys=["kind"],
        aggregates={"n": mt.count()},
        where="temp > 3",
    ),
    mt.Query(
        name="odd",
        window=mt.hopping(size="3 minutes", every="1 minute"),
        time="ts",
        keys=mt.grouping_sets("site", [], []),
        aggregates={"mean": mt.avg("temp")},
    ),
]


def test_one_reading_answers_all_sets(spark, events, tmp_path):
    events.drop("loose").write.parquet(str(tmp_path / "events"))
    stored = spark.read.parquet(str(tmp_path / "events"))
    with mt.run(QUERIES, stored, strategy="shared") as results:
        assert scans(results.together()) == 1
        assert list(results) == ["totals", "kinds", "odd"]
        assert_equal_answers(results, stored)
        long = results.together().groupBy("query").count().collect()
        counts = {name: results[name].count() for name in results}
        assert {row["query"]: row["count"] for row in long} == counts
        results.write(str(tmp_path / "out"))
        for name in results:
            back = spark.read.parquet(str(tmp_path / "out" / name))
            assert back.columns == results[name].columns
            assert back.count() == counts[name]
    with mt.run(QUERIES[:1], stored, strategy="shared") as results:
        assert scans(results["totals"]) == 1


KEYS = ["site", "kind", "st.f"]


@st.composite
def groupings(draw):
    """GROUP BY with the window and one or two grouping sets, in any spelling, and its keys."""
    groups = st.lists(st.sampled_from(KEYS), min_size=1, max_size=2, unique=True)
    spelled = st.lists(groups, min_size=1, max_size=3).map(
        lambda some: ", ".join(f"({', '.join(keys)})" if keys[1:] else keys[0] for keys in some)
    )
    analytics = st.one_of(
        st.builds("{}({})".format, st.sampled_from(["ROLLUP", "CUBE"]), spelled),
        spelled.map("GROUPING SETS ({}, ())".format),
    )
    return draw(st.permutations([W, *draw(st.lists(analytics, min_size=1, max_size=2))]))


@st.composite
def statements(draw):
    group_by = ", ".join(draw(groupings()))
    keys = [key for key in KEYS if key in group_by]
    select = draw(st.lists(st.sampled_from([*keys, "window", "window.end"]), unique=True))
    select += [f"grouping({key})" for key in draw(st.lists(st.sampled_from(keys), max_size=1))]
    select.append("count(*) AS n, sum(kind) AS total, grouping_id() AS level")
    where = draw(st.sampled_from(["", "WHERE temp > 4", "WHERE kind IS NOT NULL"]))
    having = draw(
        st.sampled_from(
            ["", "", "", "n > 2", "level > 0", f"{keys[0]} IS NULL", f"grouping({keys[0]}) = 1"]
        )
    )
    having = f"HAVING {having}" if having else ""
    return f"SELECT {', '.join(select)} FROM events {where} GROUP BY {group_by} {having}"


def test_any_statement_beside_any_other(spark, events):
    events.createOrReplaceTempView("events")
    drawn = []

    @settings(max_examples=examples(8), database=None, phases=[Phase.generate], derandomize=True,
              suppress_health_check=list(HealthCheck))  # fmt: skip
    @given(st.lists(statements(), min_size=1, max_size=2), st.sampled_from(["auto", "shared"]))
    def draw(sql, strategy):
        drawn.append((sql, strategy))

    draw()
    beside = f"SELECT site, window, count(*) AS n FROM events WHERE temp > 4 GROUP BY site, {W}"
    with ExitStack() as released:
        pairs = []
        for number, (texts, strategy) in enumerate(drawn):
            expected = {f"q{place}": accepted(spark, text) for place, text in enumerate(texts, 1)}
            queries = mt.parse_sql(";\n".join([*texts, beside]))
            assert [query.reason for query in queries if not isinstance(query, Query)] == []
            if None in expected.values():
                with pytest.raises(RunError):
                    mt.run(queries, strategy=strategy)
                continue
            results = released.enter_context(mt.run(queries, strategy=strategy))
            pairs += [
                Pair(name=f"{number} {name}: {texts}", expected=frame, actual=results[name])
                for name, frame in expected.items()
            ]
        assert len(pairs) > len(drawn) // 2
        assert_pairs_equal(pairs)


def accepted(spark, text):
    """What Spark answers, if it can: it resolves little in the HAVING of grouping sets."""
    try:
        return spark.sql(text)
    except AnalysisException:
        return None
