"""Where queries read from, and what is said when they cannot."""

import pytest
from pyspark.sql.functions import expr

from muntin.aggregates.aggregate import count, max_
from muntin.api.batch import run
from muntin.errors import RunError
from muntin.model.query import Query
from muntin.model.windows import tumbling
from muntin.sql import parse_sql
from tests.support.answers import assert_same


def query(name="q", relation=None, **changes):
    parts = {"aggregates": {"n": count()}, "keys": ["device"], "time": "ts", **changes}
    return Query(name=name, window=tumbling("1 minute"), relation=relation, **parts)


def test_a_dataframe_stands_for_the_one_relation(readings):
    assert run([query(relation="anything")], readings)["q"].count() > 0
    assert run([query()], readings)["q"].count() > 0


def test_a_mapping_names_several(readings):
    queries = [query("a", "one"), query("b", "two")]
    results = run(queries, {"one": readings, "TWO": readings.where("load > 5")})
    assert results["a"].count() > 0
    total = "sum(n)"
    assert results["a"].agg(expr(total)).head() != results["b"].agg(expr(total)).head()


def test_relations_are_looked_up_in_the_session(spark, readings):
    readings.createOrReplaceTempView("from_session")
    text = """
        SELECT device, window, count(*) AS n FROM from_session
        GROUP BY device, window(ts, '1 minute')"""
    assert_same(run(parse_sql(text))["q1"], spark.sql(text))
    spark.catalog.dropTempView("from_session")


def test_no_view_is_left_behind(spark, readings):
    def views():
        return {row.viewName for row in spark.sql("SHOW VIEWS").collect()}

    before = views()
    run([query(relation="anything")], readings)["q"].count()
    assert views() == before


@pytest.mark.parametrize(
    ("queries", "data", "message"),
    [
        ([query("a", "one"), query("b", "two")], "frame", "read one, two: pass a mapping"),
        ([query()], None, "needs a DataFrame"),
        ([query("a", "lost_table")], None, "'a'.*lost_table"),
        ([query("a", "one")], {"onne": "frame"}, "no query reads 'onne'; did you mean 'one'"),
        ([query()], {"a": "frame", "b": "frame"}, "names no relation, and there are several: a, b"),
        ([query("a", "one")], {"one": 3}, "one must be a DataFrame of Spark's, not int"),
        ([query("fine"), query("bad", aggregates={"m": max_("tmep")})], "frame", "'bad'.*tmep"),
        ([query("bad", time="device + 1")], "frame", "'bad'"),
        ([query("bad", where="load >")], "frame", "'bad'"),
    ],
)
def test_bad_input_gets_a_clear_error(readings, queries, data, message):
    def real(value):
        return readings if value == "frame" else value

    given = {name: real(v) for name, v in data.items()} if isinstance(data, dict) else real(data)
    with pytest.raises(RunError, match=message):
        run(queries, given)


def test_a_bad_condition_is_found_when_its_answer_is_asked_for(readings):
    results = run([query("fine"), query("bad", having="lost > 1")], readings)
    assert results["fine"].count() > 0
    with pytest.raises(RunError, match=r"'bad'.*lost"):
        results["bad"]


def test_an_unknown_answer_names_the_nearest(readings):
    results = run([query("minute")], readings)
    with pytest.raises(RunError, match="did you mean 'minute'"):
        results["minutes"]


def test_a_stream_is_refused_with_what_to_do(spark):
    stream = spark.readStream.format("rate").load()
    with pytest.raises(RunError, match=r"streaming DataFrame.*mt\.start"):
        run([query(time="timestamp", keys=[])], stream)
