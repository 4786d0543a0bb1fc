"""Every strategy's plan, run: the answers are the naive ones, whatever reads whatever."""

from random import Random

import pytest

from muntin.model.query import Query
from muntin.model.windows import Window
from muntin.model.workload import workload
from muntin.optimizer.optimize import optimize
from muntin.optimizer.strategies import STRATEGIES
from tests.support.periodic_trees import AGGREGATES, batch_of, check, layout_of

NAMES = list(AGGREGATES)


def drawn(random):
    """Queries with mixed aggregates over windows that cover and partition each other often."""
    for index in range(random.randint(2, 6)):
        slide = random.choice([1, 2, 3, 4, 6, 8, 12])
        size = slide * random.randint(1, 5) + random.choice([0, 0, 0, 1, slide // 2])
        offset = random.choice([0, 0, 0, random.randrange(slide)])
        few = random.sample(["top", "low"], random.randint(1, 2))
        names = random.choice([few, random.sample(NAMES, random.randint(1, 3))])
        yield Query(
            name=f"q{index}",
            window=Window(size=size, slide=slide, offset=offset),
            aggregates={name: AGGREGATES[name] for name in names},
            keys=["k"],
            time="ts",
        )


@pytest.mark.parametrize("strategy", list(STRATEGIES))
def test_plans_give_the_naive_answers(strategy):
    random = Random(strategy)
    for _ in range(12):
        # Dense events, so that reading partials is cheaper than reading the stream.
        given = workload(drawn(random), rate=random.choice([1e4, 1e8]), keys=2.0)
        rows = [
            (key, start, random.choice([None, float(random.randint(-9, 9))]), random.randint(-9, 9))
            for key in ("a", "b")
            for start in sorted(random.sample(range(-40, 60), random.randint(1, 60)))
        ]
        for tree in optimize(given, strategy).trees:
            layout = layout_of(tree)
            check(tree, rows, batch_of(rows, layout).to_batches(max_chunksize=7), layout)
