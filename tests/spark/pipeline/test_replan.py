"""A pipeline moves to the plan that is now the cheapest: no window is lost or doubled."""

import json
import time

import pytest

from muntin.api.stream import start
from muntin.spark.pipeline.stream_options import StreamOptions
from muntin.spark.sinks.folder_sink import Files
from tests.support.streams import (
    MINUTE,
    SLIDE,
    WARM,
    Input,
    assert_closed,
    at,
    events,
    joined,
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
