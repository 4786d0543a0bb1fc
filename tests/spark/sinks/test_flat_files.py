"""Structs as columns of their own, in files that have no place for structs."""

import pytest

from muntin.errors import RunError
from muntin.spark.sinks.file_options import flatten
from muntin.spark.sinks.folder_sink import Files
from muntin.spark.sinks.sink import Answer
from tests.support.made_answers import Given, opened


def test_structs_become_columns_at_any_depth(spark):
    frame = spark.sql(
        "SELECT 1 AS k, named_struct('start', 2, 'in', named_struct('a.b', 3)) AS window, "
        "CAST(NULL AS STRUCT<x: INT>) AS gone, array(4) AS list"
    )
    flat = flatten("q", frame)
    assert flat.columns == ["k", "window_start", "window_in_a.b", "gone_x", "list"]
    assert tuple(flat.first()) == (1, 2, 3, None, [4])
    assert flatten("q", flat) is flat


def test_two_columns_of_one_name_are_refused(spark):
    frame = spark.sql("SELECT 1 AS window_START, named_struct('start', 2) AS window")
    with pytest.raises(RunError, match=r"query 'q': .*`window_START` and `window`.`start`.*AS"):
        flatten("q", frame)


@pytest.mark.parametrize(("format", "asked"), [("csv", False), ("json", True), ("json", False)])
def test_a_folder_of_a_stream_is_flat_where_it_has_to_be_or_is_asked_to(
    spark, tmp_path, format, asked
):
    frame = spark.sql("SELECT 1 AS k, named_struct('start', 2, 'end', 3) AS window")
    files = Files(tmp_path, format=format, flatten=asked, options={"header": "true"})
    sink = opened(files, spark)
    sink.check({"q": frame.schema})
    sink.write(0, Given(Answer(name="q", rows=1, frame=frame)))
    reader = spark.read.options(header="true", inferSchema="true").format(format)
    found = reader.load(str(tmp_path / "q"))
    flat = {"k", "window_start", "window_end"}
    assert set(found.columns) == (flat if format == "csv" or asked else {"k", "window"})
    if asked or format == "csv":
        assert found.select("k", "window_start", "window_end").collect() == [(1, 2, 3)]
