"""Streams give what batch gives under each slicing, late rows within the watermark included."""

import pytest

from muntin.aggregates.aggregate import avg, count, max_, sum_
from muntin.api.stream import start
from muntin.model.query import Query
from muntin.model.trees import DataTree
from muntin.model.windows import hopping
from muntin.optimizer.edges import SLICINGS
from muntin.spark.pipeline.stream_options import StreamOptions
from tests.support.streams import Input, assert_closed, at, events

# A stream takes minutes: `make slow`.
pytestmark = pytest.mark.slow

QUERIES = [
    Query(
        name=name,
        window=hopping(f"{size} seconds", every=f"{slide} seconds"),
        aggregates={"top": max_("temp"), "mean": avg("temp"), "s": sum_("load"), "n": count()},
        keys=["device"],
        time="ts",
    )
    for name, (size, slide) in {"eight": (14, 8), "ten": (100, 30), "whole": (60, 20)}.items()
]


@pytest.mark.parametrize("slicing", SLICINGS)
def test_closed_windows_equal_batch_under_each_slicing(spark, tmp_path, slicing):
    made = events(7, files=6)
    source = Input(spark, tmp_path / "in")
    source.put(*made[:3])
    with start(
        QUERIES,
        source.stream(),
        checkpoint=tmp_path / "check",
        options=StreamOptions(slicing=slicing, buckets=2),
    ) as pipeline:
        pipeline.process_all_available()
        source.put(*made[3:])
        pipeline.process_all_available()
        source.assert_read_in_order(tmp_path / "check")
        status = pipeline.status()
        assert status.late_rows == 0
        for query in QUERIES:
            rows = assert_closed(
                pipeline.answers(query.name), query, source.batch(), at(status.watermark)
            )
            assert rows > 5
        records = {
            name
            for tree in pipeline.plan.trees
            if isinstance(tree, DataTree)
            for name in tree.queries
        }
        assert records == ({"eight", "ten"} if slicing == "cutty" else set())
