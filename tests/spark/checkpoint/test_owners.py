"""A checkpoint has one owner, and so has each query's folder: nobody writes into another's."""

import json
import os
import shutil
import threading
import time
from dataclasses import replace

import pytest

from muntin.aggregates.aggregate import count
from muntin.api.batch import run
from muntin.api.stream import start
from muntin.errors import RunError
from muntin.spark.checkpoint import checkpoint_owner
from muntin.spark.pipeline.stream_options import StreamOptions
from muntin.spark.sinks.folder_sink import Files, FolderSink
from tests.support.processes import kill, launch
from tests.support.streams import MINUTE, SITES, Input, assert_closed, at, events, joined, written

# A process that runs a pipeline until it is killed.
SCRIPT = """
    import sys
    from pathlib import Path
    from muntin.api.stream import start
    from muntin.spark.pipeline.stream_options import StreamOptions
    from tests.support.session import session
    from tests.support.streams import MINUTE, Input

    base = Path(sys.argv[1])
    spark = session("local[1]", {"spark.driver.memory": "1g"})
    pipeline = start(
        [MINUTE], Input(spark, base / "in").stream(), checkpoint=base / "check",
        sink=base / "out", options=StreamOptions(buckets=1),
    )
    pipeline.process_all_available()
    print("started", flush=True)
    pipeline.await_termination()
"""


@pytest.fixture
def source(spark, one_partition, tmp_path):
    found = Input(spark, tmp_path / "in")
    found.put(joined(events(61, files=3)))
    return found


def go(base, source, *queries, check="check", out="out", **more):
    return start(
        queries or [MINUTE],
        source.stream(),
        checkpoint=base / check,
        sink=base / out,
        options=StreamOptions(buckets=1),
        **{"watermark": "10 seconds", **more},
    )


def contents(folder):
    return {path: path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def without_state(checkpoint):
    """The files of a checkpoint but for its state: Spark uploads snapshots after a query ends."""
    files = contents(checkpoint).items()
    return {path: data for path, data in files if "state" not in path.relative_to(checkpoint).parts}


def owner(base):
    return base / "check" / "_owner.json"


@pytest.mark.long
def test_a_second_start_in_this_process_is_refused_and_the_first_goes_on(spark, tmp_path, source):
    with go(tmp_path, source) as first:
        who = rf"in use by process {os.getpid()} on \S+ since 20\S+: stop that pipeline first"
        with pytest.raises(RunError, match=who):
            go(tmp_path, source)
        first.process_all_available()
        assert first.status().is_active
        watermark = at(first.status().watermark)
    assert not owner(tmp_path).exists()
    # So is it by one that ends by itself, at once.
    ended = go(tmp_path, source, trigger="available now")
    assert ended.await_termination(120)
    assert not owner(tmp_path).exists()
    # And by one that was stopped behind its back.
    dropped = go(tmp_path, source)
    dropped._runner.run.query.stop()
    with go(tmp_path, source) as last:
        last.process_all_available()
    found = written(spark, tmp_path / "out", MINUTE, source)
    assert assert_closed(found, MINUTE, source.batch(), watermark) > 0


def test_a_start_waits_for_a_pipeline_that_is_just_noticing_its_end(tmp_path, source, monkeypatch):
    launcher = go(tmp_path, source)._launcher
    noticing, asked = threading.Event(), threading.Event()
    is_active, end = launcher.owner._is_active, launcher.end

    def is_active_asked():
        asked.set()
        return is_active()

    def end_when_asked():
        noticing.set()
        assert asked.wait(60)
        end()

    monkeypatch.setattr(launcher.owner, "_is_active", is_active_asked)
    monkeypatch.setattr(launcher, "end", end_when_asked)
    launcher.run.query.stop()
    assert noticing.wait(60)
    with go(tmp_path, source) as pipeline:
        assert pipeline.status().is_active


def test_a_start_during_a_change_is_refused(tmp_path, source, monkeypatch):
    with go(tmp_path, source) as pipeline:
        pipeline.process_all_available()
        launcher = pipeline._launcher
        halted, asked = threading.Event(), threading.Event()
        is_active, start_run = launcher.owner._is_active, launcher.start_run

        def is_active_asked():
            asked.set()
            return is_active()

        def start_when_asked(run):
            halted.set()
            assert asked.wait(60)
            start_run(run)

        monkeypatch.setattr(launcher.owner, "_is_active", is_active_asked)
        monkeypatch.setattr(launcher, "start_run", start_when_asked)
        change = threading.Thread(target=pipeline.replace, args=[[MINUTE, SITES]])
        change.start()
        assert halted.wait(60)
        with pytest.raises(RunError, match="in use by process"):
            go(tmp_path, source)
        change.join()
        assert [query.name for query in pipeline.plan.queries] == ["minute", "sites"]


@pytest.mark.slow
def test_two_processes_and_a_kill(spark, tmp_path, source):
    process = launch(SCRIPT, tmp_path)
    try:
        assert process.stdout.readline() == "started\n"
        with pytest.raises(RunError, match=f"in use by process {process.pid} on .*: stop it first"):
            go(tmp_path, source)
    finally:
        kill(process)
    assert owner(tmp_path).exists()
    with go(tmp_path, source) as pipeline:
        assert json.loads(owner(tmp_path).read_text())["pid"] == os.getpid()
        pipeline.process_all_available()


@pytest.mark.slow
def test_an_owner_on_another_host_is_given_time_to_show_that_it_lives(
    spark, tmp_path, source, monkeypatch
):
    go(tmp_path, source).stop()
    monkeypatch.setattr(checkpoint_owner, "_SILENT_S", 3.0)
    other = {"host": "elsewhere", "pid": 1, "started": 0.0, "since": "2020", "token": "x"}
    owner(tmp_path).write_text(json.dumps({**other, "renewed": 0}))

    is_gone = threading.Event()

    def renew():
        while not is_gone.wait(0.3):
            owner(tmp_path).write_text(json.dumps({**other, "renewed": time.monotonic()}))

    alive = threading.Thread(target=renew)
    alive.start()
    with pytest.raises(RunError, match=r"process 1 on elsewhere since 2020: .*delete .*_owner"):
        go(tmp_path, source)
    is_gone.set()
    alive.join()
    # It is silent: it is gone. And one that finds another in its place stops.
    pipeline = go(tmp_path, source)
    owner(tmp_path).write_text(json.dumps({**other, "renewed": 0}))
    (tmp_path / "check" / "._owner.json.crc").unlink(missing_ok=True)
    pipeline._launcher.owner._renewed = 0.0
    source.put(*events(62, files=1))
    with pytest.raises(RunError, match="no longer held by this pipeline: process 1 on elsewhere"):
        pipeline.process_all_available()
    pipeline.stop()
    assert json.loads(owner(tmp_path).read_text())["token"] == "x"


@pytest.mark.long
def test_a_folder_is_filled_from_one_checkpoint(spark, tmp_path, source):
    with go(tmp_path, source) as pipeline:
        pipeline.process_all_available()
        before = contents(tmp_path / "out")
        with pytest.raises(RunError, match=r"'minute': .* belongs to the checkpoint .*check"):
            go(tmp_path, source, check="new")
        with pytest.raises(RunError, match="belongs to the checkpoint"):
            go(tmp_path, source, SITES, MINUTE, check="new")
        assert contents(tmp_path / "out") == before
        assert not (tmp_path / "new").exists()
        # Other queries may go to the same directory.
        with go(tmp_path, source, SITES, check="new") as other:
            other.process_all_available()
            with pytest.raises(RunError, match="belongs to the checkpoint"):
                pipeline.add(SITES)
            assert pipeline.status().is_active
    # The mark on the files of output that was written before is enough, and only ours.
    (tmp_path / "out" / "minute" / "_muntin.json").unlink()
    with pytest.raises(RunError, match="has files that this checkpoint did not write"):
        go(tmp_path, source, check="newer")
    go(tmp_path, source).stop()
    assert (tmp_path / "out" / "minute" / "_muntin.json").exists()


def test_a_folder_has_one_format_and_one_type_for_each_column(spark, tmp_path, source):
    with go(tmp_path, source) as pipeline:
        pipeline.process_all_available()
    with pytest.raises(RunError, match="has files of the format parquet, not json"):
        start(
            [MINUTE],
            source.stream(),
            checkpoint=tmp_path / "check",
            sink=Files(tmp_path / "out", format="json"),
            watermark="10 seconds",
        )
    other = replace(MINUTE, aggregates={**MINUTE.aggregates, "top": count("temp")})
    wrong = r"'minute': in .* the column top is double, and the query has bigint; give another sink"
    for claimed in (True, False):
        if not claimed:
            (tmp_path / "out" / "minute" / "_muntin.json").unlink()
        with pytest.raises(RunError, match=wrong):
            go(tmp_path, source, other)
    before = without_state(tmp_path / "check")
    with pytest.raises(RunError, match=wrong):
        go(tmp_path, source, other)
    assert without_state(tmp_path / "check") == before


def test_output_that_was_deleted_is_told(spark, tmp_path, source, caplog):
    with go(tmp_path, source) as pipeline:
        pipeline.process_all_available()
        assert pipeline.status().warnings == ()
    shutil.rmtree(tmp_path / "out" / "minute")
    with go(tmp_path, source) as pipeline:
        (told,) = pipeline.status().warnings
    assert "'minute': " in told
    assert "was deleted since the last run" in told
    assert told in [record.getMessage() for record in caplog.records]


@pytest.mark.parametrize(
    ("check", "out", "message"),
    [
        ("in/check", "out", "the checkpoint .* is inside the input"),
        ("check", "in/out", "the sink .* is inside the input"),
        ("check", "in", "the sink .* is inside the input"),
        ("check", ".", "the sink .* is around the input"),
    ],
)
def test_what_is_written_is_not_what_is_read(tmp_path, source, check, out, message):
    before = contents(tmp_path)
    with pytest.raises(RunError, match=message):
        go(tmp_path, source, check=check, out=out)
    assert contents(tmp_path) == before


def test_what_is_no_query_is_refused_and_nothing_restarts(tmp_path, source):
    with go(tmp_path, source) as pipeline:
        before = pipeline._runner.run
        for wrong in ("SELECT 1", 7, None):
            with pytest.raises(RunError, match=r"made by mt\.Query or mt\.parse_sql, and this is"):
                pipeline.add(wrong)
            with pytest.raises(RunError, match=r"made by mt\.Query or mt\.parse_sql, and this is"):
                pipeline.replace([MINUTE, wrong])
        with pytest.raises(RunError, match=r"and this is str: 'SELECT 1'"):
            pipeline.replace("SELECT 1")
        assert pipeline.add() == {}
        pipeline.remove()
        assert pipeline._runner.run is before
        assert before.query.isActive


@pytest.mark.slow
def test_a_query_whose_name_begins_with_a_dot_is_written_once(spark, tmp_path, source, monkeypatch):
    hot, odd = replace(MINUTE, name=".hot"), replace(MINUTE, name="a b%20:ü")
    write = FolderSink.write

    def failing(self, batch, answers):
        write(self, batch, answers)
        if self.written_schemas:
            raise OSError("disk full")

    with monkeypatch.context() as patch:
        patch.setattr(FolderSink, "write", failing)
        pipeline = go(tmp_path, source, hot, odd)
        with pytest.raises(Exception, match="disk full"):
            pipeline.process_all_available()
        pipeline.stop()
    with go(tmp_path, source, hot, odd) as pipeline:
        pipeline.process_all_available()
        watermark = at(pipeline.status().watermark)
    for query in (hot, odd):
        rows = spark.read.parquet(str(tmp_path / "out" / query.name)).collect()
        schema = run([query], source.batch())[query.name].schema
        found = spark.createDataFrame(rows, schema)
        assert assert_closed(found, query, source.batch(), watermark) > 0
