"""Answers are plain Spark's under each slicing, also where a size is no multiple of its slide."""

import pytest

import muntin as mt
from muntin.model.prices import Prices
from muntin.optimizer.edges import SLICINGS
from tests.support.answers import assert_equal_answers

SHAPES = {"eight": (14, 8), "three": (5, 3), "ten": (10, 3), "whole": (12, 4), "tumbling": (6, 6)}
# Prices by which Spark's GROUP BY makes the slices, and those by which the slicer does.
BY_SPARK, BY_SLICER = Prices(handed=1e12), Prices(event=1e9)


@pytest.fixture(scope="module")
def events(spark):
    """Times before 1970 and far apart, nulls in keys and values."""
    frame = spark.sql("""
      SELECT IF(id % 19 = 0, NULL, timestamp_micros(at)) AS ts,
        IF(id % 11 = 0, NULL, concat('d', id % 3)) AS device,
        IF(id % 7 = 0, NULL, CAST(id % 5 AS DOUBLE) / 4) AS temp, CAST(id % 9 AS INT) AS load
      FROM (SELECT id, element_at(array(0L, -3000000L, -86400000000L, 1710054000000000L),
        CAST(1 + id % 4 AS INT)) + (id * 3700001L) % 400000000L AS at FROM range(400))""")
    yield frame.cache()
    frame.unpersist()


def queries():
    return [
        mt.Query(
            name=name,
            window=mt.hopping(f"{size} seconds", every=f"{slide} seconds", offset="1 second"),
            aggregates={
                "top": mt.max("temp"),
                "mean": mt.avg("temp"),
                "total": mt.sum("load"),
                "n": mt.count(),
            },
            keys=["device"],
            time="ts",
        )
        for name, (size, slide) in SHAPES.items()
    ]


@pytest.mark.parametrize("prices", [BY_SPARK, BY_SLICER], ids=["group by", "slicer"])
@pytest.mark.parametrize("slicing", SLICINGS)
def test_answers_equal_sparks_under_each_slicing(spark, events, slicing, prices):
    plan = mt.plan(queries(), strategy="shared", slicing=slicing, prices=prices)
    by_records = {name for tree in plan.data_trees for name in tree.queries}
    assert by_records == ({"eight", "three", "ten"} if slicing == "cutty" else set())
    if slicing == "panes":
        assert all(tree.slicing.width is not None for tree in plan.periodic_trees)
    if slicing == "pairs":
        assert {len(tree.slicing.edges) > 1 for tree in plan.periodic_trees} == {True}
    with mt.run(plan, events) as results:
        assert_equal_answers(results, events)
