"""User-defined windows on Spark: sessions as Spark's own, the others as the naive answer."""

from collections import defaultdict

import pytest
from pyspark.sql import DataFrame, SparkSession

import muntin as mt
from muntin.errors import RunError
from tests.answers import assert_equal_answers, assert_same, plain
from tests.runtime.windows import Event, windows

AGGREGATES = {
    "n": mt.count(),
    "hot": mt.max("temp"),
    "mean": mt.avg("temp"),
    "total": mt.sum("load"),
    "spread": mt.variance("temp"),
    "any": mt.any("alarm"),
    "odd": mt.Aggregate(function="count", where="load % 2 = 1"),
}
SECOND = 1_000_000


def query(name, window, **parts):
    given = {"aggregates": AGGREGATES, "time": "ts", "keys": ["device"], **parts}
    return mt.Query(name=name, window=window, **given)


class Tens:
    """Windows of ten records, told of each."""

    def __init__(self):
        self.seen = 0

    def f_disc(self, record):
        assert record.load < 11
        begins = self.seen % 10 == 0
        self.seen += 1
        return int(begins), int(begins and self.seen > 1)


class LastFive:
    """The last five records, at every third."""

    def __init__(self):
        self.seen = 0

    def trigger(self, record):
        self.seen += 1
        return self.seen % 3 == 0

    def evict(self, record, held):
        return max(0, held - 4)


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
    asked = [query(f"gap {gap}", mt.session(f"{gap} seconds")) for gap in (1, 7)]
    asked.append(query("filtered", mt.session("2 seconds"), where="load > 3", having="n > 1"))
    asked.append(query("all", mt.session("500 milliseconds"), keys=[]))
    asked.append(query("decimals", mt.session("2 seconds"), aggregates={"p": mt.sum("price")}))
    with mt.run(asked, readings) as results:
        # Decimals are not the runtime's; Spark has sessions of its own.
        assert [one.name for one in results.plan.plain] == ["decimals"]
        assert_equal_answers(results, readings)


def test_sessions_in_sql_equal_sparks_own(spark: SparkSession, readings: DataFrame):
    texts = {
        "plain": "SELECT device, session_window, count(*) AS n, avg(temp) FROM readings "
        "GROUP BY device, session_window(ts, '2 seconds')",
        "parts": "SELECT session_window.start AS s, max(temp) - min(temp) AS span FROM readings "
        "WHERE load > 2 GROUP BY session_window(ts, '1 second'), upper(device), device "
        "HAVING count(*) > 1",
        "gaps": "SELECT session_window, count(*) FROM readings "
        "GROUP BY session_window(ts, CASE WHEN load > 3 THEN '1 second' ELSE '2 seconds' END)",
    }
    text = ";".join(f"-- name: {name}\n{one}" for name, one in texts.items())
    readings.createOrReplaceTempView("readings")
    with mt.run(mt.parse_sql(text), {"readings": readings}) as results:
        assert [one.name for one in results.plan.plain] == ["gaps"]
        for name, one in texts.items():
            assert_same(results[name], spark.sql(one), name)


def test_events_a_gap_apart_are_one_session(spark: SparkSession):
    data = spark.sql(
        "SELECT timestamp_seconds(s) AS ts FROM VALUES (0), (1), (2), (4), (4) AS t(s)"
    )
    one = query("q", mt.session("1 second"), keys=[], aggregates={"n": mt.count()})
    found = mt.run(one, data)["q"]
    assert_same(found, plain(one, data))
    assert sorted(row.n for row in found.collect()) == [2, 3]


def test_local_times_have_sessions(spark: SparkSession):
    data = spark.sql(
        "SELECT TIMESTAMP_NTZ'2024-03-10 01:59:00' + make_dt_interval(0, 0, m) AS ts, m AS x "
        "FROM VALUES (0), (1), (2), (60), (61) AS t(m)"
    )
    one = query("q", mt.session("1 minute"), keys=[], aggregates={"top": mt.max("x")})
    assert_same(mt.run(one, data)["q"], plain(one, data))


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
    asked = [query(name, kind) for name, kind in KINDS.items()]
    asked.append(query("periodic", mt.hopping("10 seconds", every="5 seconds")))
    with mt.run(asked, readings) as results:
        rows = defaultdict(list)
        long = results.together().selectExpr(
            "*", "unix_micros(window.start) AS s", "unix_micros(window.end) AS e"
        )
        for row in long.collect():
            rows[row["query"]].append(row)
        yield results, rows


@pytest.mark.parametrize("name", KINDS)
def test_other_windows_equal_the_naive_answer(name, answers, readings):
    # The class of the tests looks at a column that the naive events do not have.
    kind = mt.count_window(10) if name == "custom" else KINDS[name]
    wanted = [
        (device, start, end, len(held), sum(one.i for one in held), any(one.a for one in held))
        for device, held_by in events(readings).items()
        for start, end, held in windows(kind, held_by)
    ]
    found = [(row.device, row.s, row.e, row.n, row.total, row.any) for row in answers[1][name]]
    assert sorted(found, key=repr) == sorted(wanted, key=repr)
    assert len(found) > 10


def test_each_answer_is_a_dataframe_of_its_own(answers):
    results, rows = answers
    found = results["count"]
    assert found.columns == ["device", "window", *AGGREGATES]
    assert found.count() == len(rows["count"])
    assert found.schema["window"].dataType == results["periodic"].schema["window"].dataType


def test_periodic_windows_among_windows_found_in_the_data_equal_sparks_own(readings: DataFrame):
    periodic = [
        query("tumbling", mt.tumbling("3 seconds")),
        query("hopping", mt.hopping("7 seconds", every="2 seconds", offset="1 second")),
        query("decimals", mt.tumbling("4 seconds"), aggregates={"p": mt.sum("price")}),
    ]
    with mt.run([query("rows", mt.count_window(4)), *periodic], readings) as results:
        (tree,) = results.plan.discretized
        windows = [node.window for node in tree.nodes]
        assert windows == [mt.count_window(4), periodic[0].window, periodic[1].window]
        # Decimals are not the runtime's; slices take them.
        assert [tree.nodes[0].queries for tree in results.plan.trees] == [("decimals",)]
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
    one = query("q", mt.count_window(5), aggregates={"p": mt.sum("price")})
    with pytest.raises(RunError, match=r"query 'q': sum.price. is decimal.20,2., not a plain"):
        mt.run(one, readings)


def first_of(a, b):
    return a if a[0] <= b[0] else b


def test_aggregates_of_the_users_own_in_any_window(spark: SparkSession, readings: DataFrame):
    first = mt.aggregate(["unix_micros(ts)", "load"], first_of, lambda p: p[1], (float("inf"), 0.0))
    asked = {"first": first, "n": mt.count()}
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
