"""User-defined windows on Spark: sessions as Spark's own, the others as the naive answer."""

from collections import defaultdict
from statistics import median

import pytest
from pyspark.sql import DataFrame, SparkSession

import muntin as mt
from muntin.errors import RunError
from muntin.model.passes import Engine
from tests.support.answers import assert_equal_answers, assert_same, plain
from tests.support.record_windows import Event, windows
from tests.support.user_aggregates import FIRST, LastFive, Tens

AGGREGATES = {
    "n": mt.count(),
    "hot": mt.max("temp"),
    "mean": mt.avg("temp"),
    "total": mt.sum("load"),
    "spread": mt.variance("temp"),
    "any": mt.any("alarm"),
    "odd": mt.Aggregate(function="count", where="load % 2 = 1"),
}
VALUES = {
    "loads": mt.count_distinct("load"),
    "pairs": mt.count_distinct("load", "alarm"),
    "middle": mt.median("load"),
    "usual": mt.mode("load"),
    "about": mt.approx_count_distinct("load"),
    "chosen": mt.max_by("load + 1", "load"),
}
SECOND = 1_000_000


def query(name, window, **parts):
    given = {"aggregates": AGGREGATES, "time": "ts", "keys": ["device"], **parts}
    return mt.Query(name=name, window=window, **given)


def sessions(name, gaps, **parts):
    """Several, so that they share: one alone is Spark's own."""
    return [query(f"{name} {gap}", mt.session(f"{gap} milliseconds"), **parts) for gap in gaps]


KINDS = {
    "count": mt.count_window(5, every=2),
    "punctuation": mt.punctuation("alarm"),
    "landmark": mt.landmark("alarm", end="load = 3"),
    "for a while": mt.landmark("alarm", end="5 seconds"),
    "delta": mt.delta("unix_seconds(ts)", 10, every=5),
    "threshold": mt.threshold(
        "alarm",
        inside=mt.hopping("5 seconds", every="2 seconds"),
        outside=mt.hopping("10 seconds", every="5 seconds"),
    ),
    "custom": mt.custom(Tens, columns=["load", "tags"]),
    "last five": mt.custom(LastFive),
}


def test_sessions_equal_sparks_own(readings: DataFrame):
    asked = sessions("gap", (1000, 7000))
    asked += sessions("filtered", (900, 2000), where="load > 3", having="n > 1")
    asked += sessions("all", (20, 500), keys=[])
    typed = {
        "p": mt.sum("price"),
        "low": mt.min("concat(device, 'é', load)"),
        "high": mt.max("concat(device, load)", where="load > 2"),
        "day": mt.max("CAST(ts AS DATE)"),
        "raw": mt.min("encode(device, 'UTF-8')"),
        "chosen": mt.min_by("concat('é', load)", "load"),
    }
    asked.append(query("types", mt.session("2 seconds"), aggregates=typed))
    values = {name: aggregate for name, aggregate in VALUES.items() if name != "pairs"}
    asked += sessions("values", (1000, 3000), aggregates={**AGGREGATES, **values})
    # Spark counts values of sessions twice where two sets of columns are DISTINCT.
    asked.append(query("twice", mt.session("3 seconds"), aggregates=VALUES))
    nested = {"top": mt.max("array(load)")}
    asked.append(query("nested", mt.session("2 seconds"), aggregates=nested))
    with mt.run(asked, readings, strategy="shared") as results:
        # Extremes of arrays are not the runtime's; Spark has sessions of its own.
        assert [one.name for one in results.plan.plain_queries] == ["twice", "nested"]
        assert [tree.engine is Engine.SPARK for tree in results.plan.data_trees] == [False] * 4
        assert_equal_answers(results, readings)


def test_a_session_query_alone_is_sparks_own(readings: DataFrame):
    one = query("alone", mt.session("2 seconds"), where="load > 3", having="n > 1")
    asked = [one, *sessions("gap", (1000, 7000))]
    with mt.run(asked, readings, strategy="shared") as results:
        assert [tree.engine is Engine.SPARK for tree in results.plan.data_trees] == [True, False]
        assert_same(results["alone"], plain(one, readings))
        python = {
            name: "MapInArrow" in results[name]._jdf.queryExecution().toString()
            for name in ("alone", "gap 1000")
        }
        assert python == {"alone": False, "gap 1000": True}
        long = results.together().where("query = 'alone'")
        assert_same(long.select(*results["alone"].columns), plain(one, readings))


def test_a_filter_on_the_answer_of_a_session_query_alone_leaves_sessions_whole(spark):
    """Spark's own plan would filter each event's session before they are merged."""
    data = spark.sql("SELECT timestamp_seconds(s) AS ts FROM VALUES (0), (1), (2), (10) AS t(s)")
    one = query("q", mt.session("2 seconds"), keys=[], aggregates={"n": mt.count()})
    found = mt.run(one, data)["q"]
    assert found.schema == plain(one, data).schema
    kept = found.where("unix_seconds(window.end) < 4 OR unix_seconds(window.end) > 11")
    assert [row.n for row in kept.collect()] == [1]


def test_sessions_in_sql_equal_sparks_own(spark: SparkSession, readings: DataFrame):
    texts = {
        "plain": "SELECT device, session_window, count(*) AS n, avg(temp) FROM readings "
        "GROUP BY device, session_window(ts, '2 seconds')",
        "parts": "SELECT session_window.start AS s, max(temp) - min(temp) AS span FROM readings "
        "WHERE load > 2 GROUP BY session_window(ts, '1 second'), upper(device), device "
        "HAVING count(*) > 1",
        "plain beside": "SELECT device, session_window, max(load) FROM readings "
        "GROUP BY device, session_window(ts, '1 second')",
        "parts beside": "SELECT session_window.end AS e, count(*) FROM readings "
        "WHERE load > 2 GROUP BY session_window(ts, '3 seconds'), upper(device), device",
        "gaps": "SELECT session_window, count(*) FROM readings "
        "GROUP BY session_window(ts, CASE WHEN load > 3 THEN '1 second' ELSE '2 seconds' END)",
    }
    text = ";".join(f"-- name: {name}\n{one}" for name, one in texts.items())
    readings.createOrReplaceTempView("readings")
    with mt.run(mt.parse_sql(text), {"readings": readings}, strategy="shared") as results:
        assert [one.name for one in results.plan.plain_queries] == ["gaps"]
        assert [len(tree.nodes) for tree in results.plan.data_trees] == [2, 2]
        for name, one in texts.items():
            assert_same(results[name], spark.sql(one), name)


def test_events_a_gap_apart_are_one_session(spark: SparkSession):
    data = spark.sql(
        "SELECT timestamp_seconds(s) AS ts FROM VALUES (0), (1), (2), (4), (4) AS t(s)"
    )
    asked = sessions("gap", (1000, 2000), keys=[], aggregates={"n": mt.count()})
    with mt.run(asked, data, strategy="shared") as results:
        assert_equal_answers(results, data)
        assert sorted(row.n for row in results["gap 1000"].collect()) == [2, 3]


def test_local_times_have_sessions(spark: SparkSession):
    data = spark.sql(
        "SELECT TIMESTAMP_NTZ'2024-03-10 01:59:00' + make_dt_interval(0, 0, m) AS ts, m AS x "
        "FROM VALUES (0), (1), (2), (60), (61) AS t(m)"
    )
    asked = sessions("gap", (60_000, 3_500_000), keys=[], aggregates={"top": mt.max("x")})
    with mt.run(asked, data, strategy="shared") as results:
        assert_equal_answers(results, data)


def events(readings: DataFrame) -> dict[str | None, list[Event]]:
    found = defaultdict(list)
    micros = "unix_micros(ts) AS us"
    for row in (
        readings.selectExpr(micros, "device", "temp", "load", "alarm").orderBy("us").collect()
    ):
        event = Event(
            time=row.us,
            x=row.temp,
            i=row.load,
            a=row.alarm,
            b=row.load == 3,
            km=float(row.us // SECOND),
        )
        found[row.device].append(event)
    return found


@pytest.fixture(scope="module")
def answers(readings: DataFrame):
    asked = [query(name, kind, aggregates={**AGGREGATES, **VALUES}) for name, kind in KINDS.items()]
    asked.append(query("periodic", mt.hopping("10 seconds", every="5 seconds")))
    with mt.run(asked, readings) as results:
        rows = defaultdict(list)
        long = results.together().selectExpr(
            "*", "unix_micros(window.start) AS s", "unix_micros(window.end) AS e"
        )
        for row in long.collect():
            rows[row["query"]].append(row)
        yield results, rows


def naive_values(held: list[Event]):
    loads = [one.i for one in held]
    return (
        len(held),
        sum(loads),
        any(one.a for one in held),
        len(set(loads)),
        len({(one.i, one.a) for one in held if one.a is not None}),
        median(loads),
        min(loads, key=lambda load: (-loads.count(load), load)),
        # Few values are counted as they are.
        len(set(loads)),
        max(loads) + 1,
    )


@pytest.mark.parametrize("name", KINDS)
def test_other_windows_equal_the_naive_answer(name, answers, readings):
    # The class of the tests looks at a column that the naive events do not have.
    kind = mt.count_window(10) if name == "custom" else KINDS[name]
    wanted = [
        (device, start, end, *naive_values(held))
        for device, held_by in events(readings).items()
        for start, end, held in windows(kind, held_by)
    ]
    found = [
        (row.device, row.s, row.e, row.n, row.total, row.any, *(row[each] for each in VALUES))
        for row in answers[1][name]
    ]
    assert sorted(found, key=repr) == sorted(wanted, key=repr)
    assert len(found) > 10


def test_each_answer_is_a_dataframe_of_its_own(answers):
    results, rows = answers
    found = results["count"]
    assert found.columns == ["device", "window", *AGGREGATES, *VALUES]
    assert found.count() == len(rows["count"])
    assert found.schema["window"].dataType == results["periodic"].schema["window"].dataType


def test_windows_that_spark_does_not_have_may_have_an_order_above_having(readings: DataFrame):
    window = mt.count_window(4)
    asked = [
        query("all", window, having="n > 3"),
        query("few", window, having="n > 3", ending="ORDER BY window.start, device LIMIT 3"),
    ]
    with mt.run(asked, readings) as results:
        every = results["all"].orderBy("window.start", "device").limit(3)
        assert results["few"].collect() == every.collect()


def test_periodic_windows_among_windows_found_in_the_data_equal_sparks_own(readings: DataFrame):
    periodic = [
        query("tumbling", mt.tumbling("3 seconds")),
        query("hopping", mt.hopping("7 seconds", every="2 seconds", offset="1 second")),
        query("words", mt.tumbling("5 seconds"), aggregates={"w": mt.max("concat(device, load)")}),
        query("values", mt.hopping("6 seconds", every="2 seconds"), aggregates=VALUES),
        query("nested", mt.tumbling("4 seconds"), aggregates={"p": mt.max("array(load)")}),
    ]
    with mt.run([query("rows", mt.count_window(4)), *periodic], readings) as results:
        (tree,) = results.plan.data_trees
        windows = {node.window for node in tree.nodes}
        assert windows == {mt.count_window(4), *(one.window for one in periodic[:4])}
        # Extremes of arrays are not the runtime's; Spark combines their slices.
        assert [tree.nodes[0].queries for tree in results.plan.periodic_trees] == [("nested",)]
        for one in periodic:
            assert_same(results[one.name], plain(one, readings), one.name)


def test_keys_may_be_zeros_of_both_signs(spark: SparkSession):
    data = spark.sql(
        "SELECT timestamp_seconds(s) AS ts, IF(s % 2 = 0, 0D, -0D) AS k FROM VALUES "
        "(0), (1), (2), (3) AS t(s)"
    )
    one = query("q", mt.count_window(4), keys=["k"], aggregates={"n": mt.count()})
    assert [row.n for row in mt.run(one, data)["q"].collect()] == [4]


@pytest.mark.parametrize(
    ("window", "message"),
    [
        (mt.punctuation("load"), "query 'q': load must be a condition, and it is int"),
        (mt.delta("state", 5), "query 'q': state must be a number, and it is string"),
        (mt.punctuation("nothing > 1"), "query 'q': .*nothing"),
        (mt.custom(Tens, columns=["nothing"]), "query 'q': .*nothing"),
    ],
)
def test_windows_over_what_is_not_there_are_refused(window, message, readings):
    with pytest.raises(RunError, match=message):
        mt.run(query("q", window), readings)


def test_what_neither_can_answer_is_refused(readings):
    one = query("q", mt.count_window(5), aggregates={"p": mt.max("array(load)")})
    with pytest.raises(RunError, match=r"query 'q': max.array.load.. is array<int>, which Spark"):
        mt.run(one, readings)


def test_periodic_windows_with_aggregates_of_the_users_own_need_keys_that_are_carried(readings):
    """Slices, where other periodic windows go, cannot answer such aggregates either."""
    window = mt.tumbling("10 seconds")
    keys = {"k": "device COLLATE UTF8_LCASE"}
    one = query("own", window, keys=keys, aggregates={"first": FIRST})
    beside = query("beside", window, keys=keys, aggregates={"n": mt.count()})
    message = "query 'own': a key of the type string collate UTF8_LCASE is compared by Spark alone"
    with pytest.raises(RunError, match=message):
        mt.run([one, beside], readings)
    with mt.run([beside], readings) as results:
        assert_equal_answers(results, readings)


def test_aggregates_of_the_users_own_in_any_window(spark: SparkSession, readings: DataFrame):
    asked = {"first": FIRST, "n": mt.count()}
    window = mt.hopping("30 seconds", every="10 seconds")
    queries = [
        query("periodic", window, aggregates=asked),
        query("sessions", mt.session("2 seconds"), aggregates=asked),
        query("plain", window, aggregates={"n": mt.count()}),
    ]
    readings.createOrReplaceTempView("readings")
    same = {
        "periodic": "window(ts, '30 seconds', '10 seconds')",
        "sessions": "session_window(ts, '2 seconds')",
    }
    with mt.run(queries, readings) as results:
        assert results["plain"].count() == results["periodic"].count()
        fields = [results[name].schema["window"] for name in ("plain", "periodic")]
        assert fields[0] == fields[1]
        for name, call in same.items():
            column = call.split("(")[0]
            expected = spark.sql(
                f"SELECT device, {column} AS window, "
                f"CAST(min_by(load, ts) AS DOUBLE) AS first, count(*) AS n "
                f"FROM readings GROUP BY device, {call}"
            )
            rows = [
                sorted((str(r.device), str(r.window.start), r.first, r.n) for r in frame.collect())
                for frame in (results[name], expected)
            ]
            assert rows[0] == rows[1]
