"""The workloads of Weave Share's table 1, and its cost model."""

from random import Random

from benchmarks.papers.generators import weave_share_gen
from muntin.model.time import SECOND
from muntin.model.windows.window import Window
from muntin.optimizer.weave_share.groups import GroupCost

# The paper does not state the unit of slides. With this one, the gains at 250 queries are nearest
# to those that it states.
TICK = SECOND // 50


def drawn(count: int, seed: int, *, skew: float = 0.6, overlap: float = 50) -> list[Window]:
    """Draws the distinct windows of a workload of table 1."""
    windows = weave_share_gen(Random(seed), count=count, skew=skew, most_overlap=overlap, unit=TICK)
    return list(dict.fromkeys(windows))


def everyday(count: int, seed: int) -> list[Window]:
    """Draws windows as people ask for them: slides of whole seconds up to an hour, sizes up to
    fifty slides, so that among very many most repeat."""
    random = Random(seed)
    slides = [random.randint(1, 3600) * SECOND for _ in range(count)]
    return [Window(size=slide * random.randint(1, 50), slide=slide) for slide in slides]


def paper_cost(rate: float) -> GroupCost:
    """Returns equation 1, in which Ω is the sum of the overlaps."""
    return GroupCost(overhead=rate, technique="panes")
