"""The generator settings of Factor Windows, with the boosts of its tables I and III."""

from dataclasses import dataclass
from random import Random

from benchmarks.harness.report import read_names
from benchmarks.papers.generators import SEED_SIZES, SEED_SLIDES, random_gen, sequential_gen
from muntin.aggregates.aggregate import min_
from muntin.model.query import Query
from muntin.model.time import SECOND
from muntin.model.windows import Window


@dataclass(frozen=True, kw_only=True)
class Boost:
    """The gain in throughput, on average and at most."""

    mean: float
    most: float


@dataclass(frozen=True, kw_only=True)
class Setting:
    """A generator, the number and kind of its windows, and the paper's boosts."""

    sequential: bool
    count: int
    tumbling: bool
    # Without and with factor windows.
    coverage: Boost
    factor: Boost

    def windows(self, number: int, unit: int = SECOND) -> list[Window]:
        """Draws the window set of a number, always the same one.

        SequentialGen has only as many sets as seeds, so the seeds take turns.
        """
        random = Random(number)
        if not self.sequential:
            return random_gen(random, count=self.count, tumbling=self.tumbling, unit=unit)
        every = SEED_SIZES if self.tumbling else SEED_SLIDES
        seeds = [every[(number + 1) % len(every)]]
        return sequential_gen(
            random, count=self.count, tumbling=self.tumbling, seeds=seeds, unit=unit
        )

    def queries(self, number: int) -> list[Query]:
        """Returns MIN over each window, by device, as in the paper's figure 1."""
        low = {"low": min_("temp")}
        return [
            Query(name=f"q{index}", window=window, aggregates=low, keys=["device"], time="ts")
            for index, window in enumerate(self.windows(number))
        ]


# Table I (5 and 10 windows) and table III (15 and 20), 10 million events: mean and most without
# factor windows, mean and most with them.
_TABLES = """
R-5-tumbling   1.21 1.92  1.85  2.54
R-10-tumbling  1.34 1.77  1.88  3.38
R-5-hopping    1.18 1.82  3.26  4.29
R-10-hopping   1.34 1.71  3.20  6.15
S-5-tumbling   1.63 1.67  4.28  4.81
S-10-tumbling  1.98 2.05  7.91  9.38
S-5-hopping    1.34 1.48  2.17  2.81
S-10-hopping   1.58 1.73  2.92  3.79
R-15-tumbling  1.55 1.96  2.97  4.34
R-20-tumbling  1.49 2.29  2.10  4.83
R-15-hopping   1.55 1.95  4.67  6.59
R-20-hopping   1.68 2.20  4.23  7.65
S-15-tumbling  2.43 2.49 11.29 13.83
S-20-tumbling  2.42 2.53 14.28 16.82
S-15-hopping   1.85 2.09  3.51  4.68
S-20-hopping   1.91 2.15  4.02  5.32
"""


def _setting(line: str) -> tuple[str, Setting]:
    name, *figures = line.split()
    generator, count, kind = name.split("-")
    numbers = [float(figure) for figure in figures]
    return name, Setting(
        sequential=generator == "S",
        count=int(count),
        tumbling=kind == "tumbling",
        coverage=Boost(mean=numbers[0], most=numbers[1]),
        factor=Boost(mean=numbers[2], most=numbers[3]),
    )


SETTINGS: dict[str, Setting] = dict(_setting(line) for line in _TABLES.strip().splitlines())
# The smallest and the largest sets.
USUAL = [name for name, setting in SETTINGS.items() if setting.count in (5, 20)]


def read_settings(names: str) -> list[str]:
    """Returns the settings of a list such as `R-5-tumbling,S-20-hopping`."""
    return read_names(names, SETTINGS, "setting")
