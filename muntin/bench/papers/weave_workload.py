"""The workloads of Weave Share's table 1, and what it says that plans cost."""

from random import Random

from muntin.model.time import SECOND
from muntin.model.windows.window import Window
from muntin.share.generators import weave_share_gen
from muntin.share.weave_share.groups import GroupCost

# The paper does not say what a slide of one is. With this, the gains at 250 queries are nearest to
# those that it states.
TICK = SECOND // 50


def drawn(count: int, seed: int, *, skew: float = 0.6, overlap: float = 50) -> list[Window]:
    """The distinct windows of a workload of table 1."""
    found = weave_share_gen(Random(seed), count=count, skew=skew, most_overlap=overlap, unit=TICK)
    return list(dict.fromkeys(found))


def everyday(count: int, seed: int) -> list[Window]:
    """So many windows as people ask for them: slides of whole seconds up to an hour, up to fifty
    of them long, so that among very many most are asked for more than once."""
    random = Random(seed)
    slides = [random.randint(1, 3600) * SECOND for _ in range(count)]
    return [Window(size=slide * random.randint(1, 50), slide=slide) for slide in slides]


def paper_cost(rate: float) -> GroupCost:
    """Equation 1, in which Ω is the sum of the overlaps."""
    return GroupCost(overhead=rate, technique="panes")
