"""Rate and keys from a few rows, and the plans that are chosen with them."""

import numpy as np
import pytest
from pyspark.sql import DataFrame, SparkSession

import muntin as mt
from muntin.measure.events import readings, store
from muntin.model.passes import Engine
from muntin.spark.binding.estimate import is_cheap, is_shuffled, live_keys, sample_facts
from muntin.spark.binding.relations import Relations
from tests.support.answers import assert_equal_answers


def query(name: str, size: str, **more) -> mt.Query:
    asked = {"top": mt.max("temp")}
    return mt.Query(
        name=name, window=mt.tumbling(size), aggregates=asked, keys=["device"], time="ts", **more
    )


def facts(data: DataFrame, **more):
    asked = query("q", "1 minute", **more)
    return sample_facts({asked.grouping: frozenset(asked.values_in_sets)}, Relations(data, [asked]))


@pytest.fixture(scope="module")
def files(spark: SparkSession, tmp_path_factory):
    """30,000 events at 50 a second, of 20 devices: in order of time, and in none."""
    folder = tmp_path_factory.mktemp("events")
    ordered = store(readings(spark, 30_000, 20), folder / "ordered")
    shuffled = store(ordered.orderBy("temp", "ts"), folder / "shuffled")
    return ordered, shuffled


def test_rate_and_keys_of_events_in_order(files):
    found = facts(files[0])
    assert found.rate == pytest.approx(50, rel=0.1)
    assert found.live_keys == {frozenset(["device"]): 20}
    where = "temp > 25 AND device IS NOT NULL"
    assert 0.1 < facts(files[0], where=where).shares[where] < 0.98


def test_rate_and_keys_of_data_windows_are_measured(files):
    visits = mt.Query(
        name="visits",
        window=mt.session("1 minute"),
        aggregates={"n": mt.count_distinct("kind"), "last": mt.max("temp")},
        keys=["device"],
        time="ts",
    )
    plan = mt.plan([visits], sample=files[0])
    assert plan.rate == pytest.approx(50, rel=0.1)
    assert (plan.keys, plan.workload.rate_known, plan.workload.keys_known) == (20, True, True)


def test_values_in_sets_are_counted_with_their_keys(files):
    asked = mt.Query(
        name="q",
        window=mt.tumbling("1 minute"),
        aggregates={"n": mt.count_distinct("kind"), "few": mt.median("site", where="kind > 1")},
        keys=["device"],
        time="ts",
        where="temp > 0",
    )
    kinds, sites = asked.values_in_sets
    found = sample_facts(
        {asked.grouping: frozenset(asked.values_in_sets)}, Relations(files[0], [asked])
    )
    # A device has five kinds, and one site or none.
    assert found.live_keys[frozenset(["device", kinds])] == 100
    assert found.live_keys[frozenset(["device", sites])] == 40


def test_of_events_in_no_order_the_size_of_the_files_tells_the_rate(files):
    found = facts(files[1])
    assert 50 / 5 < found.rate < 50 * 5
    assert found.live_keys == {frozenset(["device"]): 20}


def test_order_is_looked_at_key_by_key():
    random = np.random.default_rng(3)
    times = np.sort(random.integers(0, 10**9, 3000))
    keys = random.integers(0, 30, 3000)
    assert not is_shuffled(times, keys)
    by_key = np.argsort(keys, kind="stable")
    assert not is_shuffled(times[by_key], keys[by_key])
    assert is_shuffled(random.permutation(times), keys)
    # A little disorder is none; of one row a key nothing can be said.
    assert not is_shuffled(times + random.integers(0, 10**7, 3000), keys)
    assert not is_shuffled(random.permutation(times), np.arange(3000))


def test_what_is_not_cheap_is_not_looked_at(spark, files):
    assert is_cheap(files[0].select("ts"))
    assert not is_cheap(files[0].where("temp > 20"))
    assert not is_cheap(files[0].groupBy("device").count())
    assert not is_cheap(spark.readStream.format("rate").load())
    assert facts(files[0].orderBy("ts")) is None
    assert facts(files[0].limit(0)) is None


def test_plans_take_what_was_not_given_from_the_sample(files):
    asked = [query("a", "1 second"), query("b", "1 hour")]
    plan = mt.plan(asked, sample=files[0])
    assert plan.rate == pytest.approx(50, rel=0.1)
    assert plan.keys == 20
    assert mt.plan(asked, sample=files[0], keys=7).keys == 7
    assert (mt.plan(asked).rate, mt.plan(asked).keys) == (1000, 1)


def jobs(spark: SparkSession, group: str, work) -> int:
    """How many Spark jobs some work starts."""
    context = spark.sparkContext
    context.setJobGroup(group, group)
    try:
        work()
        return len(context.statusTracker().getJobIdsForGroup(group))
    finally:
        context.setLocalProperty("spark.jobGroup.id", None)


def test_few_events_in_a_slice_are_cut_by_the_slicer_and_many_are_not(spark, monkeypatch):
    monkeypatch.setattr("muntin.spark.binding.estimate.MANY_ROWS", 1000)
    # One second of a device in four holds an event.
    asked = [query("fine", "1 second"), query("hour", "1 hour")]
    sparse = readings(spark, 20_000, 200)
    with mt.run(asked, sparse) as results:
        assert [each.engine for each in results.plan.passes] == [Engine.COMPILED]
        assert_equal_answers(results, sparse)
    dense = readings(spark, 20_000, 20, rate=5000.0)
    with mt.run(asked, dense) as results:
        assert len(results.plan.trees) == 1
        assert results.plan.passes == ()
        assert_equal_answers(results, dense)


def test_one_job_looks_once_and_only_where_there_is_much_data(spark, files, monkeypatch):
    asked = [query("fine", "1 second"), query("hour", "1 hour")]
    data = files[0].select("*")
    assert jobs(spark, "few rows", lambda: mt.run(asked, data)) == 0
    monkeypatch.setattr("muntin.spark.binding.estimate.MANY_ROWS", 1000)
    data = files[0].select("*")
    assert 1 <= jobs(spark, "sampled", lambda: mt.run(asked, data)) <= 2
    assert jobs(spark, "remembered", lambda: mt.run(asked, data)) == 0
    assert jobs(spark, "shared", lambda: mt.run(asked, files[0], strategy="shared")) == 0
    assert jobs(spark, "one query", lambda: mt.run(asked[:1], files[0])) == 0


def test_live_keys_of_every_set_and_the_shares_of_filters(files):
    asked = [
        query("a", "1 minute"),
        mt.Query(
            name="b",
            window=mt.tumbling("1 minute"),
            aggregates={"n": mt.count()},
            keys=["kind", "site"],
            time="ts",
            where="status = 'error'",
        ),
    ]
    found = sample_facts({each.grouping: frozenset() for each in asked}, Relations(files[0], asked))
    assert (
        found.live_keys[frozenset(["device"])]
        == found.live_keys[frozenset(["device", "site"])]
        == 20
    )
    assert found.live_keys[frozenset(["device", "kind", "site"])] == pytest.approx(100, rel=0.05)
    assert found.shares["status = 'error'"] == pytest.approx(0.05, abs=0.02)


def test_keys_that_were_not_seen_are_estimated():
    random = np.random.default_rng(5)
    assert live_keys(random.integers(0, 8000, 10_000), 1e6) == pytest.approx(8000, rel=0.1)
    assert live_keys(np.arange(1000), 1000.0) == 1000
    assert live_keys(np.zeros(10, np.int64), None) == 1
