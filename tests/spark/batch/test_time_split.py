"""Work that is split by time where keys are few: no answer lost, none twice."""

import pytest

from muntin.aggregates.aggregate import avg, count, max_
from muntin.api.batch import run
from muntin.model.query import Query
from muntin.model.windows import Edges, Slicing, hopping, tumbling
from muntin.model.workload import workload
from muntin.optimizer.optimize import optimize
from muntin.spark.binding.bind_batch import part_width
from tests.support.answers import assert_equal_answers

SECONDS = Slicing(edges=(Edges(period=1_000_000),), rate=1.0)
WINDOWS = {
    "short": tumbling("2 seconds"),
    "hops": hopping("7 seconds", every="3 seconds", offset="1 second"),
    "long": hopping("20 seconds", every="10 seconds"),
}


@pytest.mark.parametrize(("keys", "strategy"), [(["device"], "shared"), ([], "factor")])
def test_parts_answer_every_window_once(readings, monkeypatch, keys, strategy):
    # Parts as short as their windows allow.
    monkeypatch.setattr("muntin.spark.binding.bind_batch._SLICES_PER_PART", 1)
    queries = [
        Query(
            name=name,
            window=window,
            aggregates={"n": count(), "top": max_("temp"), "mean": avg("temp")},
            keys=keys,
            time="ts",
        )
        for name, window in WINDOWS.items()
    ]
    plan = optimize(workload(queries, keys=2), strategy)
    with run(plan, readings) as results:
        (tree,) = results.plan.trees
        assert tree.time_part == 80_000_000
        assert_equal_answers(results, readings)


def test_few_keys_are_split_and_many_or_unknown_ones_are_not():
    assert part_width(SECONDS, 5_000_000, keys=1, cores=2) is not None
    assert part_width(SECONDS, 5_000_000, keys=100, cores=64) is not None
    assert part_width(SECONDS, 5_000_000, keys=100, cores=2) is None
    assert part_width(SECONDS, 5_000_000, keys=None, cores=2) is None


def test_a_part_is_much_longer_than_what_two_parts_read():
    for longest in (5_000_000, 86_400_000_000):
        width = part_width(SECONDS, longest, keys=1, cores=2)
        assert width >= 4 * longest
        assert width >= 16_384 * 1_000_000
