"""Pipelines that stop, go on, and change their queries: no answer is lost, repeated or partial."""

import json
import logging
import re
from dataclasses import replace

import pytest

import muntin as mt
from muntin.aggregates.aggregate import count, max_
from muntin.api.batch import plan, run
from muntin.api.stream import start
from muntin.errors import RunError
from muntin.model.time import SECOND
from muntin.model.windows import hopping
from muntin.optimizer.plan_for_stream import plan_for_stream
from muntin.runtime.stream_plan.change_plan import first_start
from muntin.spark.checkpoint.checkpoint import Checkpoint, StoredPlan
from muntin.spark.engine.settings import temporary_settings as configured
from muntin.spark.pipeline.stream_options import StreamOptions
from muntin.spark.sinks.folder_sink import Files
from muntin.spark.sinks.tables import Tables
from muntin.spark.stream.source import Source
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


@pytest.mark.core
@pytest.mark.long
def test_stop_go_on_add_and_remove(spark, tmp_path):
    source, out = Input(spark, tmp_path / "in"), tmp_path / "out"
    made = events(11, files=10)

    def go(queries):
        return start(
            queries,
            source.stream(),
            checkpoint=tmp_path / "check",
            sink=out,
            options=StreamOptions(retain="10 minutes", buckets=2),
        )

    source.put(joined(made[:4]))
    with go([MINUTE, SLIDE]) as pipeline:
        pipeline.process_all_available()
    source.put(made[4])
    pipeline = go([MINUTE, SLIDE])
    pipeline.process_all_available()
    at_change = at(pipeline.status().watermark)
    first = pipeline.add(WARM, SITES)
    # Warm: built from slices that were there, so its first window is the next that ends.
    assert first["warm"] + WARM.window.size <= at_change + WARM.window.slide
    # Cold: only windows after everything that was seen without it.
    assert first["sites"] >= at_change + 10 * SECOND
    source.put(joined(made[5:8]))
    pipeline.process_all_available()
    at_removal = at(pipeline.status().watermark)
    pipeline.remove("slide")
    source.put(joined(made[8:]))
    pipeline.process_all_available()
    status = pipeline.status()
    assert set(status.queries) == {"minute", "warm", "sites"}
    assert status.state_rows > 0
    assert status.queries["sites"].complete_from == first["sites"]
    pipeline.stop()
    assert not pipeline.status().is_active
    watermark = at(status.watermark)
    for query in (MINUTE, SLIDE, WARM, SITES):
        until = at_removal if query is SLIDE else watermark
        found = written(spark, out, query, source)
        rows = assert_closed(found, query, source.batch(), until, first.get(query.name))
        assert rows > 3, query.name


@pytest.mark.long
def test_a_factor_plan_in_a_stream_is_the_one_that_runs(spark, tmp_path):
    queries = [
        replace(WARM, name=f"by{slide}", window=hopping("1 minute", every=f"{slide} seconds"))
        for slide in (20, 30)
    ]
    planned = plan(queries, strategy="factor", technique="two_stacks")
    assert any(node.is_factor for tree in planned.trees for node in tree.nodes)
    source = Input(spark, tmp_path / "in")
    made = events(5, files=4)
    source.put(joined(made[:2]))
    # As an earlier version left it: its slices are cut for the factor window, too.
    before = Source(source.stream(), "10 seconds").bind(planned)
    settings = {"buckets": (0, 1), "delay": 10 * SECOND, "retain": 0, "ansi": True}
    running = first_start(before.plan, before.needs, **settings)
    old = tmp_path / "old"
    Checkpoint(spark, str(old)).save(StoredPlan(running=running, batch=0, mark="abc"))
    new = start(
        planned, source.stream(), checkpoint=tmp_path / "new", options=StreamOptions(buckets=1)
    )
    resumed = start(planned, source.stream(), checkpoint=old)
    with new, resumed:
        source.put(joined(made[2:]))
        for pipeline in (new, resumed):
            pipeline.process_all_available()
            (tree,) = pipeline.plan.trees
            assert tree.is_flat
            assert tree.slicing.width == 10 * SECOND
            assert {node.techniques for node in tree.nodes} == {(("two_stacks",),)}
            assert "factor window" not in pipeline.plan.explain()
            watermark = at(pipeline.status().watermark)
            for query in queries:
                found = pipeline.answers(query.name)
                assert assert_closed(found, query, source.batch(), watermark) > 3


@pytest.mark.slow
def test_a_silent_key_answers_when_the_watermark_reaches_the_end_exactly(spark, tmp_path):
    # 0         60        120
    # x                              one event
    # [---------|---------)          the window, closed by y at 130 with a watermark of 120
    query = replace(MINUTE, window=hopping("2 minutes", every="1 minute"))
    source = Input(spark, tmp_path / "in")
    row = {"site": 1, "temp": 1.0, "load": 1}
    source.put([{"t": 0, "device": "x", **row}, {"t": 71 * SECOND, "device": "y", **row}])
    with start(
        [query], source.stream(), checkpoint=tmp_path / "check", options=StreamOptions(buckets=64)
    ) as pipeline:
        pipeline.process_all_available()
        source.put([{"t": 130 * SECOND, "device": "y", **row}])
        pipeline.process_all_available()
        assert at(pipeline.status().watermark) == 120 * SECOND
        found = pipeline.answers("minute")
        assert_closed(found, query, source.batch(), 120 * SECOND)
        assert found.where("device = 'x'").count() == 2


@pytest.fixture
def stored(spark, tmp_path):
    """A checkpoint as a first start leaves it, without the stream."""
    source = Input(spark, tmp_path / "in")
    bound = Source(source.stream(), "10 seconds").bind(
        plan_for_stream(mt.plan([MINUTE], strategy="shared"))
    )
    running = first_start(
        bound.plan,
        bound.needs,
        buckets=(0, 1, 2),
        delay=10 * SECOND,
        retain=0,
        ansi=True,
    )
    folder = tmp_path / "check"
    Checkpoint(spark, str(folder)).save(StoredPlan(running=running, batch=0, mark="abc"))
    return source, folder


def test_a_checkpoint_comes_back_as_it_was(spark, stored):
    _, folder = stored
    found = Checkpoint(spark, str(folder)).latest()
    assert found.mark == "abc"
    assert found.running.complete_from == {"minute": None}
    assert [one.number for one in found.running.trees] == [0]


def test_a_plan_counts_from_the_first_batch_that_was_finished_under_it(spark, stored):
    _, folder = stored
    first = Checkpoint(spark, str(folder)).latest()
    for kind in ("offsets", "commits"):
        (folder / "spark" / kind).mkdir(parents=True)
    (folder / "spark" / "commits" / "0").write_text("v1\n{}")
    for batch in (0, 1):
        (folder / "spark" / "offsets" / str(batch)).write_text("v1\n{}")
    checkpoint = Checkpoint(spark, str(folder))
    assert checkpoint.logs.has_unfinished_batch()
    second = replace(first, running=replace(first.running, generation=1, retain=5), batch=1)
    checkpoint.save(second)
    assert not checkpoint.is_stored(first.running)
    for one in (checkpoint, Checkpoint(spark, str(folder))):
        assert one.latest().running.generation == 1
        assert one.effective().running.generation == 0
    # Another takes the place of what was only tried.
    checkpoint.save(replace(second, running=replace(second.running, retain=7)))
    assert Checkpoint(spark, str(folder)).latest().running.retain == 7
    (folder / "spark" / "commits" / "1").write_text("v1\n{}")
    assert Checkpoint(spark, str(folder)).effective().running.retain == 7
    assert not checkpoint.logs.has_unfinished_batch()


@pytest.mark.parametrize(
    ("queries", "changes", "message"),
    [
        ([MINUTE], {"watermark": "5 seconds"}, "started with a watermark of 10 seconds, not 5"),
        ([MINUTE], {"options": StreamOptions(buckets=8)}, "started with 3 buckets, not 8"),
    ],
)
def test_what_does_not_fit_a_checkpoint_is_refused_and_nothing_touched(
    stored, queries, changes, message
):
    source, folder = stored
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    with pytest.raises(RunError, match=message):
        start(queries, source.stream(), checkpoint=folder, **changes)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_other_folders_versions_and_settings_are_refused(spark, stored, tmp_path):
    source, folder = stored
    with (
        configured(spark, {"spark.sql.ansi.enabled": "false"}),
        pytest.raises(RunError, match=r"ansi\.enabled = true"),
    ):
        start([MINUTE], source.stream(), checkpoint=folder)
    file = folder / "muntin-00000.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), "version": 99}))
    (folder / ".muntin-00000.json.crc").unlink(missing_ok=True)
    with pytest.raises(RunError, match=r"version 99.*reads version 6"):
        start([MINUTE], source.stream(), checkpoint=folder)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "offsets").write_text("")
    with pytest.raises(RunError, match="'offsets' in it and no plan of muntin's"):
        start([MINUTE], source.stream(), checkpoint=tmp_path / "other")


@pytest.mark.slow
def test_changes_that_are_refused_leave_the_pipeline_running(spark, tmp_path):
    source = Input(spark, tmp_path / "in")
    calls = []
    with start(
        [MINUTE],
        source.stream(),
        checkpoint=tmp_path / "check",
        sink=lambda name, frame, batch: calls.append((name, frame.count(), batch)),
    ) as pipeline:
        with pytest.raises(RunError, match="'minute' runs already"):
            pipeline.add(MINUTE)
        with pytest.raises(RunError, match="did you mean 'minute'"):
            pipeline.remove("minut")
        with pytest.raises(RunError, match="all queries that run"):
            pipeline.remove("minute")
        words = replace(MINUTE, name="words", aggregates={"m": max_("array(device)"), "n": count()})
        with pytest.raises(RunError, match="'words' cannot be streamed"):
            pipeline.add(words)
        assert pipeline.status().is_active
        with pytest.raises(RunError, match="only where no sink was given"):
            pipeline.answers("minute")
        source.put(*events(12, files=2))
        pipeline.process_all_available()
    assert sum(rows for _, rows, _ in calls) == pipeline.status().queries["minute"].rows > 0


@pytest.mark.slow
def test_a_sink_that_fails_stops_the_stream_and_a_restart_loses_nothing(spark, tmp_path, caplog):
    caplog.set_level(logging.DEBUG, logger="muntin")
    source = Input(spark, tmp_path / "in")
    source.put(*events(13, files=3))

    def broken(name, frame, batch):
        raise OSError("disk full")

    pipeline = start([MINUTE], source.stream(), checkpoint=tmp_path / "check", sink=broken)
    wrong = r"query 'minute': the answers of batch \d+ could not be written: OSError: disk full"
    with pytest.raises(RunError, match=wrong):
        pipeline.process_all_available()
    with pytest.raises(RunError, match=wrong):
        pipeline.await_termination()
    status = pipeline.status()
    assert not status.is_active
    assert re.match(wrong, status.error)
    pipeline.stop()
    spark.sql("CREATE DATABASE answers")
    try:
        with start(
            [MINUTE],
            source.stream(),
            checkpoint=tmp_path / "check",
            sink=Tables(database="answers", format="json"),
        ) as again:
            again.process_all_available()
            status = again.status()
        schema = run([MINUTE], source.batch())["minute"].schema
        found = spark.createDataFrame(spark.table("answers.minute").collect(), schema)
        watermark = at(status.watermark)
        assert assert_closed(found, MINUTE, source.batch(), watermark) == len(found.collect()) > 0
    finally:
        spark.sql("DROP DATABASE answers CASCADE")
    assert status.error is None
    # The last batch may have had no rows.
    assert status.rows_per_second is not None
    assert 0 < status.phases["addBatch"] <= status.phases["triggerExecution"]
    told = [record.getMessage() for record in caplog.records]
    for begin in ("started ", "stopped ", "batch "):
        assert [line for line in told if line.startswith(begin)], begin


def test_csv_is_refused_at_the_start_where_it_has_no_place_for_a_column(spark, tmp_path):
    source = Input(spark, tmp_path / "in")
    sites = replace(MINUTE, keys={"sites": "array(site)"}, columns=())
    with pytest.raises(RunError, match="'minute': csv has no place for sites"):
        start(
            [sites],
            source.stream(),
            checkpoint=tmp_path / "check",
            sink=Files(tmp_path / "out", format="csv"),
        )
    assert not (tmp_path / "check").exists()
