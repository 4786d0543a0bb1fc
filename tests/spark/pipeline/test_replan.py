"""A pipeline moves to the plan that is now the cheapest: no window is lost or doubled."""

import json
import time

import pytest

import muntin.spark.pipeline.stream_planner as stream_planner
from muntin.api.stream import start
from muntin.errors import RunError
from muntin.model.query import Query
from muntin.model.windows import hopping
from muntin.spark.pipeline.stream_options import StreamOptions
from muntin.spark.sinks.folder_sink import Files
from tests.support.answers import assert_same
from tests.support.streams import (
    MINUTE,
    SLIDE,
    WARM,
    Input,
    assert_closed,
    at,
    events,
    joined,
    plain_streams,
    with_late_rows,
    written,
)

pytestmark = pytest.mark.slow

QUERIES = [MINUTE, SLIDE, WARM]


def plans(folder):
    return [json.loads(path.read_text()) for path in sorted(folder.glob("muntin-*.json"))]


def test_queries_move_to_one_tree_and_back(spark, tmp_path):
    source, out = Input(spark, tmp_path / "in"), tmp_path / "out"
    made = events(71, files=24, rows=80)
    source.put(joined(made[:4]))

    def go():
        return start(
            QUERIES,
            source.stream(),
            checkpoint=tmp_path / "check",
            sink=Files(out, compact=2),
            options=StreamOptions(strategy="unshared", buckets=2),
        )

    with go() as pipeline:
        # Nothing is known yet, so nothing is gained.
        assert not pipeline.replan().is_new
        pipeline.process_all_available()
        status = pipeline.status()
        # Three devices and null, about an event a second.
        assert 0.5 < status.rate < 2
        assert [round(live) for live in status.live_keys.values()] == [4]
        assert "replan() saves" in pipeline.explain()
        assert len(pipeline.plan.trees) == 3
        found = pipeline.replan()
        assert found.is_new
        assert found.saves > 0.05
        assert set(pipeline.complete_from.values()) == {None}
        # Two of the three have moved, and their old trees are there still.
        leaving = pipeline._runner.run.running.leaving
        assert sorted(each.name for each in leaving.values()) == ["slide", "warm"]
        assert [query.name for query in pipeline.queries] == ["minute", "slide", "warm"]
        source.put(made[4])
        pipeline.process_all_available()
    # It goes on from there, with what leaves.
    with go() as pipeline:
        assert pipeline._runner.run.running.leaving == leaving
        source.put(joined(made[5:8]))
        source.put(joined(made[8:12]))
        pipeline.process_all_available()
        patience = time.monotonic() + 60
        while pipeline._runner.run.running.leaving and time.monotonic() < patience:
            time.sleep(0.2)
        # When the old trees had nothing more to give, they were left out.
        assert len(pipeline.plan.trees) == 1
        assert not pipeline.replan().is_new
        assert "no other plan is cheaper" in pipeline.explain()
        source.put(joined(made[12:]))
        pipeline.process_all_available()
        watermark = at(pipeline.status().watermark)
    for query in QUERIES:
        assert_closed(written(spark, out, query, source), query, source.batch(), watermark)
    assert [len(plan["leaving"]) for plan in plans(tmp_path / "check")] == [0, 2, 0]


def test_a_stream_moves_by_itself_and_goes_on_where_a_move_fails(spark, tmp_path, monkeypatch):
    monkeypatch.setattr(stream_planner, "BATCHES_BETWEEN", 2)
    source = Input(spark, tmp_path / "in")
    source.put(*with_late_rows(events(72, files=14, rows=60), 5))
    expected = plain_streams(spark, QUERIES, source, tmp_path / "plain")
    running, failed, found = [], [], {}

    def sink(name, frame, batch):
        if running and running[0].plan.strategy != "unshared" and not failed:
            failed.append(batch)
            raise ValueError("no room for the answers of a new plan")
        found[name, batch] = frame.collect()

    with start(
        QUERIES,
        source.stream(),
        checkpoint=tmp_path / "check",
        sink=sink,
        options=StreamOptions(strategy="unshared", buckets=2, replan=0.1),
    ) as pipeline:
        running.append(pipeline)
        pipeline.process_all_available()
        patience = time.monotonic() + 240
        while len(pipeline.status().replans) < 2 and time.monotonic() < patience:
            time.sleep(0.2)
        pipeline.process_all_available()
        status = pipeline.status()
        assert pipeline.is_active
        assert status.late_rows > 0
        assert pipeline.plan.strategy != "unshared"
        refused, moved = status.replans
    # The first move failed with its first rows, and the plan that ran continued.
    assert failed
    assert "no room for the answers" in refused.error
    assert [text for text in status.warnings if "re-planning failed" in text]
    assert moved.error is None
    assert "events a second" in moved.reason
    assert "the new plan saves" in moved.reason
    assert moved.batches >= refused.batches + 2
    for query in QUERIES:
        rows = [row for (name, _), batch in found.items() if name == query.name for row in batch]
        answers = expected[query.name]
        assert len(rows) > 0
        frame = spark.createDataFrame(rows, answers.schema)
        assert_same(frame, answers, query.name, answers.collect())


def test_without_the_option_a_stream_stays_with_its_plan(spark, tmp_path, monkeypatch):
    monkeypatch.setattr(stream_planner, "BATCHES_BETWEEN", 1)
    source = Input(spark, tmp_path / "in")
    source.put(*events(73, files=3))
    options = StreamOptions(strategy="unshared", buckets=2)
    with start(
        QUERIES, source.stream(), checkpoint=tmp_path / "check", options=options
    ) as pipeline:
        pipeline.process_all_available()
        time.sleep(2)
        assert pipeline.status().replans == ()
        assert len(pipeline.plan.trees) == 3
        assert pipeline.replan().is_new
        (moved,) = pipeline.status().replans
        assert "the new plan saves" in moved.reason


def test_a_negative_tolerance_is_refused():
    with pytest.raises(RunError, match="replan is a share of the cost that is not negative"):
        StreamOptions(replan=-0.1)


def test_subsumption_embeds_and_revokes_one_window_in_a_running_pipeline(spark, tmp_path):
    source = Input(spark, tmp_path / "in")
    made = events(74, files=9, rows=80)
    source.put(joined(made[:3]))
    two = Query(
        name="two",
        window=hopping("2 minutes", every="1 minute"),
        aggregates=WARM.aggregates,
        keys=WARM.keys,
        time="ts",
    )

    def trees(pipeline):
        return {frozenset(tree.queries): tree for tree in pipeline.plan.trees}

    with start(
        QUERIES,
        source.stream(),
        checkpoint=tmp_path / "check",
        options=StreamOptions(strategy="subsume", buckets=2),
    ) as pipeline:
        pipeline.process_all_available()
        before = trees(pipeline)
        assert set(before) == {frozenset({"minute", "warm"}), frozenset({"slide"})}
        since = pipeline.add(two)["two"]
        after = trees(pipeline)
        assert set(after) == {frozenset({"minute", "two", "warm"}), frozenset({"slide"})}
        alone = frozenset({"slide"})
        assert (after[alone].slicing, after[alone].nodes[0].window) == (
            before[alone].slicing,
            before[alone].nodes[0].window,
        )
        source.put(joined(made[3:6]))
        pipeline.process_all_available()
        pipeline.remove("minute")
        assert set(trees(pipeline)) == {frozenset({"two", "warm"}), frozenset({"slide"})}
        # Nothing has moved: what runs goes on in the tree in which it runs.
        assert pipeline._runner.run.running.leaving == {}
        source.put(joined(made[6:]))
        pipeline.process_all_available()
        watermark = at(pipeline.status().watermark)
        for query, first in ((WARM, None), (SLIDE, None), (two, since)):
            found = pipeline.answers(query.name)
            assert assert_closed(found, query, source.batch(), watermark, first) > 0
