"""Changes that fail, batches that are cut off, changes that meet: nothing is lost by any."""

import json
import threading
import time
from dataclasses import replace

import pytest
from pyspark.sql.functions import udf

from muntin.aggregates.aggregate import max_
from muntin.api.stream import start
from muntin.errors import RunError
from muntin.model.query import Query
from muntin.model.time import MILLISECOND
from muntin.spark.pipeline.classic import ClassicRun
from muntin.spark.pipeline.stream_options import StreamOptions
from muntin.spark.sinks.folder_sink import FolderSink
from muntin.spark.sinks.sink import name_batch_in_errors
from tests.support.streams import (
    MINUTE,
    SITES,
    SLIDE,
    WARM,
    Input,
    assert_closed,
    at,
    events,
    joined,
    written,
)

# A stream takes minutes: `make slow`.
pytestmark = pytest.mark.slow

# Spark sees that it cannot be computed when there are rows, not before.
BROKEN = Query(
    name="broken",
    window=MINUTE.window,
    aggregates={"m": max_("CAST(device AS INT)")},
    keys=["device"],
    time="ts",
)


def until(condition):
    patience = time.monotonic() + 120
    while not condition():
        assert time.monotonic() < patience
        time.sleep(0.1)


def plans(folder):
    return [json.loads(path.read_text()) for path in sorted(folder.glob("muntin-*.json"))]


def test_a_query_that_fails_in_its_first_batch_is_taken_back(spark, tmp_path):
    source = Input(spark, tmp_path / "in")
    made = events(31, files=5)
    source.put(*made[:3])
    with start([MINUTE], source.stream(), checkpoint=tmp_path / "check") as pipeline:
        pipeline.process_all_available()
        # Nothing new to read: the change is tried with the next batch.
        pipeline.add(BROKEN)
        assert set(pipeline.complete_from) == {"minute", "broken"}
        source.put(*made[3:4])
        until(lambda: pipeline.status().refused)
        assert "CAST_INVALID_INPUT" in pipeline.status().refused
        assert set(pipeline.complete_from) == {"minute"}
        source.put(*made[4:])
        pipeline.process_all_available()
        assert pipeline.status().is_active
        watermark = at(pipeline.status().watermark)
        assert assert_closed(pipeline.answers("minute"), MINUTE, source.batch(), watermark) > 5
        # The plan that was tried is gone, and another can come.
        assert [set(plan["complete_from"]) for plan in plans(tmp_path / "check")] == [{"minute"}]
        pipeline.add(WARM)
        assert set(pipeline.complete_from) == {"minute", "warm"}


def test_a_batch_without_rows_does_not_settle_a_change(spark, tmp_path, monkeypatch):
    source, out = Input(spark, tmp_path / "in"), tmp_path / "out"
    made = events(35, files=6)
    source.put(joined(made[:2]))
    write, take, finished = FolderSink.write, ClassicRun._take, ClassicRun._last_finished
    is_writing, is_ending, is_next = (threading.Event() for _ in range(3))
    runs = []

    def write_after_the_change_waits(sink, batch, answers):
        is_writing.set()
        assert is_ending.wait(60)
        write(sink, batch, answers)

    def finished_for_the_change(run):
        last = finished(run)
        is_ending.set()
        # The run that the change ends has begun a batch without rows, which the next one repeats.
        assert last != 0 or is_next.wait(60)
        return last

    def take_until_halted(run, frame, batch):
        runs.append(run)
        if batch == 1 and run is runs[0]:
            is_next.set()
            until(lambda: run.is_halted)
        take(run, frame, batch)

    monkeypatch.setattr(FolderSink, "write", write_after_the_change_waits)
    monkeypatch.setattr(ClassicRun, "_last_finished", finished_for_the_change)
    monkeypatch.setattr(ClassicRun, "_take", take_until_halted)
    queries = [MINUTE, SITES]
    with start(
        queries,
        source.stream(),
        checkpoint=tmp_path / "check",
        sink=out,
        options=StreamOptions(buckets=1),
    ) as pipeline:
        assert is_writing.wait(60)
        # The batch after the one that is written only moves the watermark.
        pipeline.replace([MINUTE, BROKEN])
        until(lambda: (tmp_path / "check" / "spark" / "commits" / "1").exists())
        assert [plan["batch"] for plan in plans(tmp_path / "check")] == [0, 1]
        source.put(joined(made[2:4]))
        until(lambda: pipeline.status().refused)
        assert "CAST_INVALID_INPUT" in pipeline.status().refused
        first = pipeline.complete_from
        # A query that the change had left out starts again as a new one.
        assert first["minute"] is None
        assert first["sites"] is not None
        assert set(first) == {"minute", "sites"}
        source.put(joined(made[4:]))
        pipeline.process_all_available()
        watermark = at(pipeline.status().watermark)
    assert assert_closed(written(spark, out, MINUTE, source), MINUTE, source.batch(), watermark) > 5


def test_a_query_of_spark_s_that_is_stopped_in_the_first_batch_does_not_refuse_the_change(
    spark, tmp_path, monkeypatch
):
    source = Input(spark, tmp_path / "in")
    made = events(34, files=5)
    source.put(*made[:3])

    def go():
        return start([MINUTE, WARM], source.stream(), checkpoint=tmp_path / "check", sink=out)

    out = tmp_path / "out"
    write, is_writing = FolderSink.write, threading.Event()

    def slow(sink, batch, answers):
        is_writing.set()
        with name_batch_in_errors(batch, "minute"):
            spark.range(1).select(udf(lambda _: time.sleep(60))("id")).collect()
        write(sink, batch, answers)

    pipeline = start([MINUTE], source.stream(), checkpoint=tmp_path / "check", sink=out)
    pipeline.process_all_available()
    pipeline.add(WARM)
    with monkeypatch.context() as patch:
        patch.setattr(FolderSink, "write", slow)
        source.put(*made[3:4])
        assert is_writing.wait(60)
        time.sleep(1)
        pipeline._runner.run.query.stop()
        until(lambda: not pipeline.status().is_active)
        until(lambda: not (tmp_path / "check" / "_owner.json").exists())
    assert pipeline.status().refused is None
    assert set(pipeline.complete_from) == {"minute", "warm"}
    with go() as again:
        source.put(*made[4:])
        again.process_all_available()
        watermark = at(again.status().watermark)
    found = written(spark, out, MINUTE, source)
    assert assert_closed(found, MINUTE, source.batch(), watermark) > 5


def test_a_change_that_fails_at_once_says_so(spark, tmp_path):
    source = Input(spark, tmp_path / "in")
    made = events(32, files=12)
    source.put(*made[:2])
    with start([MINUTE], source.stream(), checkpoint=tmp_path / "check") as pipeline:
        pipeline.process_all_available()
        # More than the batch that runs will take, so that the change meets rows.
        source.put(*made[2:])
        with pytest.raises(RunError, match=r"the earlier ones continue.*CAST_INVALID_INPUT"):
            pipeline.add(BROKEN)
        pipeline.process_all_available()
        watermark = at(pipeline.status().watermark)
        assert assert_closed(pipeline.answers("minute"), MINUTE, source.batch(), watermark) > 0


def test_a_batch_that_was_written_and_not_finished_keeps_its_answers(spark, tmp_path, monkeypatch):
    source, out = Input(spark, tmp_path / "in"), tmp_path / "out"
    source.put(*events(33, files=12))
    write = FolderSink.write
    crashed = []

    def crash(self, batch, answers):
        write(self, batch, answers)
        if batch > 2 and "sites" in self.written_schemas:
            crashed.append(batch)
            raise OSError("the power is gone")

    def go(queries):
        return start(
            queries,
            source.stream(),
            checkpoint=tmp_path / "check",
            sink=out,
            options=StreamOptions(buckets=3),
        )

    with monkeypatch.context() as patch:
        patch.setattr(FolderSink, "write", crash)
        pipeline = go([MINUTE, SITES])
        with pytest.raises(Exception, match="power"):
            pipeline.process_all_available()
        pipeline.stop()
    # The next process does not have the query whose answers are there and not yet finished.
    with go([MINUTE, SLIDE]) as pipeline:
        pipeline.process_all_available()
        watermark = at(pipeline.status().watermark)
    metadata = (tmp_path / "check" / "spark" / "offsets" / str(crashed[0])).read_text()
    reached = json.loads(metadata.splitlines()[1])["batchWatermarkMs"] * MILLISECOND
    assert assert_closed(written(spark, out, SITES, source), SITES, source.batch(), reached) > 0
    assert_closed(written(spark, out, MINUTE, source), MINUTE, source.batch(), watermark)
    first = pipeline.complete_from["slide"]
    assert_closed(written(spark, out, SLIDE, source), SLIDE, source.batch(), watermark, first)


def test_changes_that_meet_are_one_restart(spark, tmp_path):
    source = Input(spark, tmp_path / "in")
    made = events(34, files=6)
    source.put(*made[:2])
    with start([MINUTE], source.stream(), checkpoint=tmp_path / "check") as pipeline:
        pipeline.process_all_available()
        with pipeline.changes():
            pipeline.add(WARM)
            pipeline.add(SITES)
            pipeline.remove("minute")
        assert set(pipeline.complete_from) == {"warm", "sites"}
        source.put(*made[2:4])
        pipeline.process_all_available()
        assert [plan["generation"] for plan in plans(tmp_path / "check")] == [0, 1]
        asked = [SLIDE, MINUTE, replace(WARM, name="again"), replace(SITES, name="more"), SLIDE]
        errors = []

        def add(query):
            try:
                pipeline.add(query)
            except RunError as error:
                errors.append(str(error))

        with pipeline._changes.lock:
            # All of them wait while another change is made.
            threads = [threading.Thread(target=add, args=(query,)) for query in asked]
            for thread in threads:
                thread.start()
            until(lambda: len(pipeline._changes._waiting) == len(asked))
        for thread in threads:
            thread.join()
        assert len(errors) == 1
        assert "'slide' runs already" in errors[0]
        names = {"warm", "sites", "slide", "minute", "again", "more"}
        assert set(pipeline.complete_from) == names
        source.put(*made[4:])
        pipeline.process_all_available()
        watermark = at(pipeline.status().watermark)
        for query in (WARM, SITES, SLIDE, MINUTE):
            first = pipeline.complete_from[query.name]
            found = pipeline.answers(query.name)
            since = None if first is None else first
            if query is MINUTE:
                found = found.where(f"unix_micros(window.start) >= {first}")
            assert_closed(found, query, source.batch(), watermark, since)
