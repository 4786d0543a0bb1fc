"""The papers' workload generators, which draw windows at random."""

from collections.abc import Sequence
from random import Random

from muntin.model.time import SECOND
from muntin.model.windows import Window
from muntin.optimizer.factor_windows import divisors
from muntin.optimizer.weave_share.groups import GroupCost

# The sizes of tumbling windows and the slides of hopping ones are multiples of these (Factor
# Windows, section V-B).
SEED_SIZES = (2, 5, 10)
SEED_SLIDES = (5, 10, 20)
# Weave Share does not state the unit of slides. With this one, the gains at 250 queries are nearest
# to those that it states.
TICK = SECOND // 50


def random_gen(
    random: Random,
    *,
    count: int,
    tumbling: bool,
    seeds: Sequence[int] | None = None,
    most: int = 50,
    unit: int = SECOND,
) -> list[Window]:
    """RandomGen (Factor Windows, algorithm 6): distinct windows, multiples of a seed.

    Tumbling windows take the paper's seed ranges 2, 5, 10; hopping ones its seed slides 5, 10, 20,
    with sizes of twice the slide.
    """
    seeds = seeds or (SEED_SIZES if tumbling else SEED_SLIDES)
    windows: dict[Window, None] = {}
    while len(windows) < count:
        slide = random.choice(seeds) * random.randint(2, most) * unit
        windows[Window(size=slide if tumbling else 2 * slide, slide=slide)] = None
    return list(windows)


def sequential_gen(
    random: Random,
    *,
    count: int,
    tumbling: bool,
    seeds: Sequence[int] | None = None,
    unit: int = SECOND,
) -> list[Window]:
    """SequentialGen (Factor Windows, section V-A): 2, 3, 4, … times one seed."""
    seed = random.choice(seeds or (SEED_SIZES if tumbling else SEED_SLIDES))
    slides = [seed * step * unit for step in range(2, count + 2)]
    return [Window(size=slide if tumbling else 2 * slide, slide=slide) for slide in slides]


def zipf(random: Random, values: Sequence[int], skew: float, count: int) -> list[int]:
    """Draws values by Zipf: the last value is the most popular, the one before it the second.

    Skew zero is uniform; a negative one prefers the first values.
    """
    weights = [(len(values) - index) ** -skew for index in range(len(values))]
    return random.choices(values, weights, k=count)


def weave_share_gen(
    random: Random,
    *,
    count: int,
    longest_slide: int = 100_000,
    skew: float = 0.6,
    most_overlap: float = 50,
    whole: bool = False,
    unit: int = SECOND,
) -> list[Window]:
    """Weave Share, table 1: slides up to `longest_slide` by Zipf, towards the long ones.

    Sizes are slides times a uniform overlap, with `whole` in whole slides. Windows may repeat.
    """
    slides = zipf(random, range(1, longest_slide + 1), skew, count)
    return [_draw_window(random, slide, most_overlap, whole, unit) for slide in slides]


def draw_weave(count: int, seed: int, *, skew: float = 0.6, overlap: float = 50) -> list[Window]:
    """Draws the distinct windows of a workload of Weave Share's table 1."""
    windows = weave_share_gen(Random(seed), count=count, skew=skew, most_overlap=overlap, unit=TICK)
    return list(dict.fromkeys(windows))


def draw_everyday(count: int, seed: int) -> list[Window]:
    """Draws windows as people ask for them: slides of whole seconds up to an hour, sizes up to
    fifty slides, so that among very many most repeat."""
    random = Random(seed)
    slides = [random.randint(1, 3600) * SECOND for _ in range(count)]
    return [Window(size=slide * random.randint(1, 50), slide=slide) for slide in slides]


def paper_cost(rate: float) -> GroupCost:
    """Returns equation 1 of Weave Share, in which Ω is the sum of the overlaps."""
    return GroupCost(overhead=rate, technique="panes")


def incremental_gen(
    random: Random,
    *,
    count: int = 100,
    longest_slide: int = 1_000,
    most_overlap: float = 10_000,
    skew: float = 0.0,
    whole: bool = True,
    unit: int = SECOND,
) -> list[Window]:
    """Incremental MQO, table 4: slides are divisors of the longest; defaults are its middle."""
    slides = zipf(random, divisors(longest_slide), skew, count)
    return [_draw_window(random, slide, most_overlap, whole, unit) for slide in slides]


def _draw_window(random: Random, slide: int, most: float, whole: bool, unit: int) -> Window:
    overlap = random.randint(1, int(most)) if whole else random.uniform(1, most)
    return Window(size=int(overlap * slide) * unit, slide=slide * unit)


def subsumption_gen(
    random: Random,
    *,
    count: int,
    longest_slide: int,
    longest_size: int = 60,
    unit: int = SECOND,
) -> list[Window]:
    """Subsumption, section 5: uniform slides, and sizes above them. Windows may repeat."""
    slides = [random.randint(1, longest_slide) for _ in range(count)]
    return [
        Window(size=random.randint(slide + 1, longest_size) * unit, slide=slide * unit)
        for slide in slides
    ]
