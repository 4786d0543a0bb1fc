"""The plan that a checkpoint goes on with follows from the batches that were finished under it."""

import time
from dataclasses import replace

import pytest

from muntin.api.stream import start
from muntin.errors import RunError
from muntin.model.windows import hopping
from muntin.model.workload import workload
from muntin.optimizer.optimize import optimize
from muntin.optimizer.plan_for_stream import plan_for_stream
from muntin.runtime.stream_plan.change_plan import first_start
from muntin.runtime.stream_plan.stored_tree import Needs
from muntin.spark.checkpoint.checkpoint import Checkpoint, StoredPlan
from muntin.spark.engine.settings import temporary_settings as configured
from muntin.spark.pipeline.stream_options import StreamOptions
from muntin.spark.sinks.folder_sink import FolderSink
from tests.support.streams import (
    MINUTE,
    SITES,
    SLIDE,
    WARM,
    Input,
    assert_closed,
    at,
    events,
    frequent_snapshots,
    joined,
    written,
)

TRIED = replace(MINUTE, name="tried", window=hopping("2 minutes", every="1 minute"))
LATER = replace(MINUTE, name="later", window=hopping("4 minutes", every="1 minute"))

pytestmark = pytest.mark.usefixtures("one_partition")


@pytest.mark.long
def test_starts_that_finish_no_batch_cost_nobody_an_open_window(spark, tmp_path):
    source, out = Input(spark, tmp_path / "in"), tmp_path / "out"
    made = events(41, files=8)

    def go(*queries):
        return start(
            queries,
            source.stream(),
            checkpoint=tmp_path / "check",
            sink=out,
            options=StreamOptions(buckets=1),
        )

    def finish(pipeline, files):
        source.put(joined(files))
        pipeline.process_all_available()

    def plans():
        return {path.name: path.read_text() for path in (tmp_path / "check").glob("muntin-*.json")}

    with go(MINUTE) as pipeline:
        finish(pipeline, made[:2])
    long = replace(WARM, name="long", window=hopping("6 minutes", every="1 minute"))
    with go(MINUTE, WARM, long) as pipeline:
        finish(pipeline, made[2:4])
        promised, counting = pipeline.complete_from, plans()
        # The same queries are planned with what was measured; the plan that counts stays as it is.
        pipeline.replace([MINUTE, WARM, long])
        assert plans() == counting
    # Two starts that finish nothing: one with another plan, one back on the plan before.
    go(MINUTE, WARM, long, TRIED).stop()
    go(MINUTE, WARM, long).stop()
    assert plans() == counting
    with go(MINUTE, WARM, long, LATER) as pipeline:
        assert {name: pipeline.complete_from[name] for name in promised} == promised
        finish(pipeline, made[4:])
        watermark = at(pipeline.status().watermark)
        since = pipeline.complete_from
    for query in (MINUTE, WARM, long, LATER):
        found = written(spark, out, query, source)
        assert_closed(found, query, source.batch(), watermark, since[query.name])


@pytest.mark.long
def test_a_batch_computed_again_under_another_plan_finds_no_state_of_its_first_try(
    spark, tmp_path, monkeypatch
):
    source, out = Input(spark, tmp_path / "in"), tmp_path / "out"
    made = events(42, files=8)
    write = FolderSink.write

    def slow_and_failing(self, batch, answers):
        write(self, batch, answers)
        if batch >= 2:
            # Long enough for Spark to write a snapshot of the state.
            time.sleep(1.5)
            raise OSError("disk full")

    def go(*queries):
        return start(
            queries,
            source.stream(),
            checkpoint=tmp_path / "check",
            sink=out,
            options=StreamOptions(buckets=1),
        )

    source.put(joined(made[:2]), joined(made[2:4]), made[4])
    snapshots = "spark.sql.streaming.stateStore.minDeltasForSnapshot"
    # The first try writes a snapshot, and those after it write none that would hide it.
    with (
        frequent_snapshots(spark),
        configured(spark, {snapshots: "0"}),
        monkeypatch.context() as patch,
    ):
        patch.setattr(FolderSink, "write", slow_and_failing)
        pipeline = go(MINUTE)
        with pytest.raises(Exception, match="disk full"):
            pipeline.process_all_available()
        pipeline.stop()
    monkeypatch.undo()
    with configured(spark, {snapshots: "1000"}):
        with go(MINUTE, SITES, SLIDE) as pipeline:
            pipeline.process_all_available()
        source.put(joined(made[5:]))
        with go(MINUTE, SITES, SLIDE) as pipeline:
            pipeline.process_all_available()
            watermark, since = at(pipeline.status().watermark), pipeline.complete_from
    for query in (MINUTE, SITES, SLIDE):
        found = written(spark, out, query, source)
        assert assert_closed(found, query, source.batch(), watermark, since[query.name]) > 3


def test_plans_of_long_ago_are_deleted(spark, tmp_path):
    needs = [Needs(keys=("text",), numbers={})]
    plan = plan_for_stream(optimize(workload([MINUTE])))
    running = first_start(plan, needs, buckets=(0,), delay=0, retain=0, ansi=True)
    commits = tmp_path / "spark" / "commits"
    with configured(spark, {"spark.sql.streaming.minBatchesToRetain": "12"}):
        for number in range(30):
            checkpoint = Checkpoint(spark, str(tmp_path))
            changed_plan = replace(running, generation=number)
            checkpoint.save(StoredPlan(running=changed_plan, batch=number, mark="m"))
            # A batch is finished under it, so it counts.
            commits.mkdir(parents=True, exist_ok=True)
            (commits / str(number)).write_text("v1\n{}")
    names = sorted(path.name for path in tmp_path.glob("muntin-*.json"))
    assert names == [f"muntin-{number:05d}.json" for number in range(18, 30)]
    assert Checkpoint(spark, str(tmp_path)).effective().running.generation == 29
    (tmp_path / "muntin-00025.json").unlink()
    with pytest.raises(RunError, match=r"the plan muntin-00025\.json is gone"):
        Checkpoint(spark, str(tmp_path)).check()
