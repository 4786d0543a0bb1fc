"""A pipeline has the names that PySpark's `StreamingQuery` has."""

import pytest

from muntin.api.stream import start
from muntin.errors import RunError
from muntin.spark.pipeline.stream_options import StreamOptions
from tests.support.streams import MINUTE, SLIDE, Input, events, joined

pytestmark = pytest.mark.usefixtures("one_partition")


def test_a_pipeline_reads_like_a_streaming_query(spark, tmp_path):
    source, silent = Input(spark, tmp_path / "in"), Input(spark, tmp_path / "silent")
    source.put(joined(events(3, files=3)))

    def go(folder, source=source, name=None, **more):
        return start(
            [MINUTE, SLIDE],
            source.stream(),
            checkpoint=tmp_path / folder,
            options=StreamOptions(name=name, buckets=1),
            **more,
        )

    with go("check") as pipeline, go("other", silent, name="check") as twin:
        assert (pipeline.name, twin.name) == ("check", "check (2)")
        assert {query.name for query in spark.streams.active} >= {"check", "check (2)"}
        pipeline.processAllAvailable()
        assert pipeline.isActive
        assert pipeline.is_active
        assert pipeline.exception() is None
        assert pipeline.lastProgress["name"] == pipeline.last_progress["name"] == "check"
        assert sum(each["numInputRows"] for each in pipeline.recentProgress) > 0
        assert not pipeline.awaitTermination(0.1)
        assert repr(pipeline) == "<Pipeline 'check' runs: minute, slide>"
        assert "<p>Pipeline &#x27;check&#x27; runs; " in pipeline._repr_html_()
    assert not pipeline.isActive
    assert pipeline.exception() is None
    assert repr(pipeline) == "<Pipeline 'check' has stopped: minute, slide>"

    def broken(name, frame, batch):
        raise ValueError("no room")

    failing = go("failing", sink=broken, trigger="available now")
    with pytest.raises(RunError, match="no room"):
        failing.awaitTermination(60)
    assert isinstance(failing.exception(), RunError)
    assert repr(failing).startswith("<Pipeline 'failing' has failed")
