"""A folder has its query's columns from the start, before there are answers."""

from dataclasses import replace

import pytest

import muntin as mt
from muntin.aggregates.aggregate import max_
from muntin.api.stream import start
from muntin.spark.pipeline.stream_options import StreamOptions
from muntin.spark.sinks.folder_sink import Files
from muntin.spark.sinks.tables import Tables
from tests.support.answers import plain
from tests.support.streams import EPOCH, MINUTE, SECOND, Input

LISTS = replace(MINUTE, name="lists", aggregates={"loads": mt.collect_set("load")}, columns=())
EVENT = {"device": "a", "site": 1, "temp": 1.0, "load": 1}


def put(source, *seconds):
    source.put([{**EVENT, "t": EPOCH + second * SECOND} for second in seconds])


@pytest.mark.parametrize("format", ["parquet", "csv", pytest.param("json", marks=pytest.mark.slow)])
def test_a_query_can_be_read_before_its_first_answer(spark, tmp_path, format):
    source = Input(spark, tmp_path / "in")
    put(source, 0)
    queries = [MINUTE] if format == "csv" else [MINUTE, LISTS]
    added = replace(MINUTE, name="added", aggregates={"load": max_("load")}, columns=())

    options = {"header": "true"} if format == "csv" else {}
    files = {"format": format, "flatten": format == "csv", "options": options}

    def read(name):
        reader = spark.read.format(format).option("header", "true")
        return reader.load(str(tmp_path / "out" / name))

    with start(
        queries,
        source.stream(),
        checkpoint=tmp_path / "check",
        sink=Files(tmp_path / "out", **files),
        late=Files(tmp_path / "late", **files),
        options=StreamOptions(buckets=1),
    ) as pipeline:
        pipeline.process_all_available()
        pipeline.add(added)
        for query in [*queries, added]:
            assert read(query.name).count() == 0
            asked = plain(query, source.batch()).schema
            if format == "parquet":
                assert read(query.name).schema.simpleString() == asked.simpleString()
            elif format == "csv":
                flat = ["device", "window_start", "window_end", *query.aggregates]
                assert read(query.name).columns == flat
        assert read("../late").count() == 0
        put(source, 120)
        pipeline.process_all_available()
    assert read("minute").count() > 0
    # A start finds them, and writes no second ones.
    before = sorted((tmp_path / "out").rglob("part-*-columns*"))
    assert len(before) == len(queries) + 1
    start(
        [*queries, added],
        source.stream(),
        checkpoint=tmp_path / "check",
        sink=Files(tmp_path / "out", **files),
        late=Files(tmp_path / "late", **files),
    ).stop()
    assert sorted((tmp_path / "out").rglob("part-*-columns*")) == before


def test_other_columns_before_the_first_answer(spark, tmp_path):
    source = Input(spark, tmp_path / "in")
    put(source, 0)
    other = replace(MINUTE, aggregates={"top": max_("device")}, columns=())
    for query, format in ((MINUTE, "json"), (MINUTE, "parquet"), (other, "parquet")):
        start(
            [query],
            source.stream(),
            checkpoint=tmp_path / "check",
            sink=Files(tmp_path / "out", format=format),
        ).stop()
    found = spark.read.parquet(str(tmp_path / "out" / "minute"))
    assert found.schema["top"].dataType.simpleString() == "string"


def test_a_table_is_there_before_its_first_answer(spark, tmp_path):
    source = Input(spark, tmp_path / "in")
    spark.sql(f"CREATE DATABASE before_answers LOCATION '{tmp_path / 'tables'}'")
    try:
        with start(
            [MINUTE],
            source.stream(),
            checkpoint=tmp_path / "check",
            sink=Tables(database="before_answers"),
        ):
            assert spark.table("before_answers.minute").columns == ["device", "window", "top", "n"]
            assert spark.table("before_answers.minute").count() == 0
    finally:
        spark.sql("DROP DATABASE before_answers CASCADE")
