"""`auto` leaves queries apart where sharing cannot pay: it knows folders and fixed costs."""

import pytest
from pyspark.sql.functions import avg, window

import muntin as mt
from muntin.model.passes import Engine
from muntin.model.workload import Workload, workload
from muntin.optimizer.normalise import normalise
from muntin.optimizer.optimize import may_share, optimize
from muntin.optimizer.strategies import DEFAULT
from muntin.spark.binding.estimate import estimate
from muntin.spark.binding.relations import Relations
from muntin.spark.engine.statements import sql_over
from muntin.spark.frames.frame_queries import NotSharedError

# Enough events for any pass, and too few.
LONG, SHORT = 1e7, 1.0


def alone(plan):
    """Returns the queries that Spark's own statements answer."""
    return sorted(name for tree in plan if tree.engine is Engine.SPARK for name in tree.queries)


def planned(queries, data):
    """Returns the plan of `auto` for queries on data."""
    work = normalise(workload(queries), DEFAULT)
    return optimize(estimate(work, Relations(data, queries, for_later=True), DEFAULT))


def tumbling(name, keys, where=None):
    return mt.Query(
        name=name,
        window=mt.tumbling("1 hour"),
        aggregates={"a": mt.avg("temp")},
        time="ts",
        keys=keys,
        where=where,
    )


def session(name, gap):
    return mt.Query(
        name=name,
        window=mt.session(gap),
        aggregates={"n": mt.count()},
        time="ts",
        keys=["device"],
    )


def test_a_pass_has_to_pay_for_its_start():
    asked = (tumbling("a", ["device"]), tumbling("b", ["site"]))

    def planned(seconds):
        return optimize(Workload(queries=asked, rate=1000.0, keys=10.0, seconds=seconds))

    assert alone(planned(SHORT)) == ["a", "b"]
    assert alone(planned(LONG)) == alone(planned(None)) == []


def test_events_in_folders_that_a_filter_leaves_out_are_not_read():
    asked = (tumbling("all", ["device"]), tumbling("day", ["device"], where="day = 1"))

    def planned(**facts):
        shares = {"day = 1": 0.01}
        return optimize(Workload(queries=asked, rate=1000.0, keys=10.0, shares=shares, **facts))

    assert alone(planned()) == []
    assert alone(planned(reads={"day = 1": 0.01})) == ["all", "day"]


def test_sessions_of_a_batch_share_where_that_is_cheaper():
    asked = (session("a", "1 minute"), session("b", "5 minutes"))

    def planned(keys, seconds):
        known = Workload(queries=asked, rate=100.0, keys=keys, keys_known=True, seconds=seconds)
        return optimize(known)

    # With many keys, hardly two events of a key are within a minute.
    assert alone(planned(1e5, LONG)) == ["a", "b"]
    assert alone(planned(10.0, LONG)) == []
    assert alone(planned(10.0, SHORT)) == ["a", "b"]
    # A stream shares them at any rate.
    assert alone(planned(1e5, None)) == []


def test_nothing_may_share_where_no_density_of_events_makes_it_pay():
    keys = (tumbling("a", ["device"]), tumbling("b", ["site"]))
    day = (tumbling("all", ["device"]), tumbling("day", ["device"], where="day = 1"))
    sessions = (session("a", "1 minute"), session("b", "5 minutes"))
    share = {"day = 1": 0.01}

    def asked(queries, seconds, **facts):
        return may_share(Workload(queries=queries, seconds=seconds, **facts))

    assert not any(asked(queries, SHORT) for queries in (keys, day, sessions))
    assert all(asked(queries, LONG) for queries in (keys, day, sessions))
    assert all(asked(queries, None) for queries in (keys, day, sessions))
    assert not asked(day, LONG, reads=share, shares=share)
    # Windows of one grouping share at any size.
    assert asked((tumbling("a", ["device"]), tumbling("b", ["device"])), SHORT)


@pytest.fixture(scope="module")
def folders(spark, tmp_path_factory):
    path = str(tmp_path_factory.mktemp("folders") / "parquet")
    rows = spark.range(4000).selectExpr(
        "timestamp_micros(id * 1000000) AS ts",
        "id % 10 AS device",
        "id % 3 AS site",
        "CAST(id % 7 AS DOUBLE) AS temp",
        "id % 20 AS part",
    )
    rows.repartition(1).write.partitionBy("part").parquet(path)
    return spark.read.parquet(path)


def test_a_filter_by_folders_is_left_apart(folders):
    asked = [tumbling("all", ["device"]), tumbling("part", ["device"], where="part = 3")]
    plan = planned(asked, folders)
    assert alone(plan) == ["all", "part"]
    assert plan.workload.shares["part = 3"] == pytest.approx(1 / 20, rel=0.2)


def test_rows_are_looked_at_only_where_something_may_share(folders, monkeypatch):
    monkeypatch.setattr("muntin.spark.binding.estimate.MANY_ROWS", 0)
    asked = [tumbling("all", ["device"]), tumbling("part", ["device"], where="part = 3")]
    assert not planned(asked, folders).workload.rate_known
    both = [tumbling("a", ["device"]), tumbling("b", ["device"])]
    assert planned(both, folders).workload.rate_known


def test_a_small_join_is_left_apart_and_not_stored(spark, folders):
    names = spark.range(10).selectExpr("id AS device", "concat('m', id % 3) AS model")
    folders.createOrReplaceTempView("rows_in_folders")
    names.createOrReplaceTempView("names_of_devices")
    statement = (
        "SELECT {key}, window, avg(temp) AS a FROM rows_in_folders JOIN names_of_devices "
        "USING (device) GROUP BY {key}, window(ts, '1 hour')"
    )
    queries = mt.parse_sql(";\n".join(statement.format(key=key) for key in ("model", "site")))
    with mt.run(queries) as results:
        assert len(alone(results.plan)) == 2
        assert results.plan.stored_relations == ()


def test_sessions_of_few_rows_are_left_apart(folders):
    plan = planned([session("a", "1 minute"), session("b", "5 minutes")], folders)
    assert alone(plan) == ["a", "b"]


def test_each_query_that_is_left_apart_is_analysed_once(folders, monkeypatch):
    statements = []

    def counted(session, text, frames):
        statements.append(text)
        return sql_over(session, text, frames)

    monkeypatch.setattr("muntin.spark.binding.relations.sql_over", counted)
    asked = [tumbling("all", ["device"]), tumbling("part", ["device"], where="part = 3")]
    with mt.run(asked, folders) as results:
        assert alone(results.plan) == sorted(results)
        for name in results:
            results[name].collect()
    assert len(statements) == len(asked)


def test_dataframes_that_are_left_apart_are_not_confirmed(folders, monkeypatch):
    def refuse(*_):
        raise NotSharedError("it means something else")

    monkeypatch.setattr("muntin.spark.frames.resolved.read_resolved.confirm", refuse)
    hour, temp = window("ts", "1 hour"), avg("temp").alias("a")
    frames = {key: folders.groupBy(key, hour).agg(temp) for key in ("device", "site")}
    with mt.share(frames) as results:
        assert (alone(results.plan), results.plan.plain_queries) == (["device", "site"], ())
        assert all(results[name].count() == frames[name].count() for name in frames)
    with mt.share(frames, strategy="shared") as results:
        assert {query.reason for query in results.plan.plain_queries} == {"it means something else"}
        assert all(results[name].count() == frames[name].count() for name in frames)
