"""Draws docs/pictures/sharing.png from the README's table of costs: `make figures`."""

import re
from pathlib import Path

from benchmarks.spark.sharing_figure import Pair, draw_pairs

ROOT = Path(__file__).parents[1]
_ROW = re.compile(r"^\| (\w+) \| (\d+) \| ([\d.]+|hours) \| ([\d.]+) \| ([\d.]*)", re.MULTILINE)


def pairs(readme: str) -> list[Pair]:
    """The rows of the table: set, queries, seconds of plain Spark and of muntin, ratio."""
    return [
        Pair(
            name=name,
            queries=int(queries),
            plain=None if plain == "hours" else float(plain),
            muntin=float(muntin),
            ratio=float(ratio) if ratio else None,
        )
        for name, queries, plain, muntin, ratio in _ROW.findall(readme)
    ]


def title(table: list[Pair]) -> str:
    """Returns the result of the largest set that plain Spark answers in time."""
    best = max(table, key=lambda pair: pair.ratio or 0)
    return (
        f"muntin answers the {best.queries} queries of {best.name} with {best.ratio:.0f} times "
        f"less CPU than plain Spark\n5 million events, 100 keys"
    )


if __name__ == "__main__":
    table = pairs((ROOT / "README.md").read_text())
    path = ROOT / "docs" / "pictures" / "sharing.png"
    print(draw_pairs(table, path, title=title(table)))
