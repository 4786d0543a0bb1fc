"""What users do by mistake, and what they are told: what was found, and what to write instead."""

from threading import Thread

import pandas as pd
import pytest

import muntin as mt

QUERY = mt.Query(
    name="hot",
    window=mt.tumbling("1 minute"),
    aggregates={"hottest": mt.max("temp")},
    keys=["device"],
    time="ts",
)


def test_a_frame_of_pandas(readings):
    table = pd.DataFrame({"temp": [1.0]})
    said = "must be a DataFrame of Spark's, not pandas.DataFrame; spark.createDataFrame makes one"
    for call in (
        lambda: mt.run([QUERY], table),
        lambda: mt.share({"hot": table}),
        lambda: mt.stream([QUERY], table),
        lambda: mt.start([QUERY], table, sink=print, checkpoint="none"),
    ):
        with pytest.raises(mt.RunError, match=said):
            call()


def test_another_thread_finds_the_session(spark, readings):
    readings.createOrReplaceTempView("messages")
    queries = mt.parse_sql("SELECT max(temp) AS m FROM messages GROUP BY window(ts, '1 minute')")
    found = []

    def count():
        try:
            found.append(mt.run(queries)["q1"].count())
        except mt.MuntinError as error:
            found.append(error)

    thread = Thread(target=count)
    thread.start()
    thread.join()
    assert found == [mt.run(queries)["q1"].count()]


def test_text_and_frames_in_the_place_of_queries(readings):
    with pytest.raises(mt.ModelError, match=r"given as text; mt\.parse_sql\(text\) reads them"):
        mt.run("SELECT 1", readings)
    with pytest.raises(mt.ModelError, match=r"queries are a list; mt\.share takes DataFrames"):
        mt.run({"hot": readings}, readings)


def test_a_list_of_aggregates():
    with pytest.raises(mt.ModelError, match=r"query 'q': aggregates are by name, as in \{'hottest"):
        mt.Query(name="q", window=mt.tumbling("1 minute"), aggregates=[mt.max("temp")], time="ts")


def test_no_name_of_muntins_own_is_suggested(readings):
    queries = mt.parse_sql(
        "SELECT max(tmp) AS m FROM r GROUP BY device, window(ts, '1 minute');"
        "SELECT min(temp) AS m FROM r GROUP BY device, window(ts, '2 minutes')"
    )
    for data in (readings, {"r": readings}):
        with pytest.raises(mt.RunError, match=r"query 'q1': .*`tmp`.*`temp`") as error:
            mt.run(queries, data)
        assert "muntin_" not in str(error.value)


def test_a_format_that_spark_does_not_have(readings, tmp_path):
    results = mt.run([QUERY], readings)
    said = "Spark has no format 'xlsx' here, which may need a package; there is: avro, csv, json"
    with pytest.raises(mt.RunError, match=said):
        results.write(str(tmp_path), format="xlsx")
    assert list(tmp_path.iterdir()) == []
