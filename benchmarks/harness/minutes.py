"""Windows of whole minutes, from a list or drawn."""

from random import Random

from muntin.model.time import MINUTE
from muntin.model.windows.window import Window


def in_minutes(*lengths: tuple[int, int]) -> list[Window]:
    """Returns a window for each size and slide."""
    return [Window(size=size * MINUTE, slide=slide * MINUTE) for size, slide in lengths]


def draw_windows(count: int, random: Random) -> list[Window]:
    """Draws windows, in turns tumbling up to an hour and hopping up to a day."""
    lengths = []
    for index in range(count):
        slide = random.randint(1, 60)
        size = slide if index % 2 == 0 else random.randint(slide, 24 * 60)
        lengths.append((size, slide))
    return in_minutes(*lengths)
