"""A sink of the user's own class: the one of the documentation, from start to restart."""

import re
from pathlib import Path

import pytest

import muntin as mt
from tests.support.streams import MINUTE, SITES, Input, assert_closed, at, events, joined

PAGE = Path(__file__).parents[3] / "docs" / "streaming.md"


def documented():
    """The class that the page shows."""
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    (block,) = (block for block in blocks if "(mt.Sink)" in block)
    names = {"mt": mt, "Path": Path}
    exec(block, names)
    return names["JsonLines"]


def answers(spark, folder, query, source):
    schema = mt.run([query], source.batch())[query.name].schema
    rows = spark.read.schema(schema).json(str(folder / f"{query.name}-*")).collect()
    # Files do not keep what may be null and what not.
    return spark.createDataFrame(rows, schema)


def test_every_answer_is_written_once_through_a_failure_of_the_sink(spark, one_partition, tmp_path):
    source = Input(spark, tmp_path / "in")
    made = events(21, files=3)
    source.put(joined(made[:2]), made[2])
    out = tmp_path / "out"
    out.mkdir()

    class Failing(documented()):
        def write(self, batch, answers):
            super().write(batch, answers)
            if list(out.iterdir()):
                raise OSError("disk full")

    def go(sink):
        return mt.start(
            [MINUTE, SITES],
            source.stream(),
            checkpoint=tmp_path / "check",
            sink=sink,
            options=mt.StreamOptions(buckets=1),
        )

    failing = go(Failing(out))
    wrong = r"^the answers of batch \d+ could not be written: OSError: disk full; a start on"
    with pytest.raises(mt.RunError, match=wrong):
        failing.process_all_available()
    failing.stop()
    with go(documented()(out)) as pipeline:
        pipeline.process_all_available()
        status = pipeline.status()
    assert isinstance(status, mt.Status)
    for query in (MINUTE, SITES):
        written = answers(spark, out, query, source)
        assert assert_closed(written, query, source.batch(), at(status.watermark)) > 0


def test_a_sink_may_refuse_queries_before_anything_starts(spark, tmp_path):
    class NoPlaces(mt.Sink):
        def check(self, schemas):
            for name, schema in schemas.items():
                if "place" in schema.names:
                    raise mt.RunError(f"query {name!r}: no places here")

        def write(self, batch, answers):
            raise AssertionError("nothing may be written")

    source = Input(spark, tmp_path / "in")
    source.put(*events(22, files=1))
    with pytest.raises(mt.RunError, match="no places here"):
        mt.start([SITES], source.stream(), checkpoint=tmp_path / "check", sink=NoPlaces())
    assert not (tmp_path / "check").exists()
    with pytest.raises(mt.RunError, match=r"an instance of a class that extends mt\.Sink"):
        mt.start([SITES], source.stream(), checkpoint=tmp_path / "check", sink=NoPlaces)


def test_a_sink_without_write_is_no_sink():
    class Nothing(mt.Sink):
        pass

    with pytest.raises(TypeError, match="write"):
        Nothing()


def test_a_sink_that_filters_its_frame_keeps_rows_with_nan(spark, tmp_path):
    source = Input(spark, tmp_path / "in")
    rows = joined(events(22, files=2))
    # Spark orders NaN after all numbers, and here all numbers are below the filter's.
    source.put([{**row, "temp": "NaN" if number % 2 else 1.0} for number, row in enumerate(rows)])
    filtered, kept = [], []

    def filtering(name, frame, batch):
        filtered.append(frame.where("top > 5").count())
        kept.append(sum(row.top != 1.0 for row in frame.collect()))

    with mt.start(
        [MINUTE],
        source.stream(),
        checkpoint=tmp_path / "check",
        sink=filtering,
        options=mt.StreamOptions(buckets=1),
    ) as pipeline:
        pipeline.process_all_available()
    assert filtered == kept
    assert sum(kept) > 0
