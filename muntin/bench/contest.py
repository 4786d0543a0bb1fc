"""Plain Spark beside muntin on sets of queries: what each spent, and whether they agreed."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass

from rich.box import SIMPLE
from rich.table import Table


@dataclass(frozen=True, kw_only=True)
class Side:
    """What one contender spent on a set, and how many rows it gave."""

    cpu_s: float
    wall_s: float
    rows: int


@dataclass(frozen=True, kw_only=True)
class Measured:
    """One set: both contenders, or muntin alone, and whether their answers were equal."""

    plain: Side | None
    muntin: Side
    equal: bool
    # How many events the answers were compared on.
    equal_on: int

    def to_json(self) -> dict[str, object]:
        """`plain` (where it ran), `muntin`, `equal`, `equal_on`."""
        return {name: value for name, value in asdict(self).items() if value is not None}


def side_by_side(sets: Mapping[str, Measured], events: int, *, title: str, caption: str) -> Table:
    """CPU and wall seconds side by side, and how they stand to each other in CPU."""
    table = Table(
        box=SIMPLE,
        # Tight, so that it fits into eighty columns.
        padding=(0, 1, 0, 0),
        title=title,
        caption=caption,
        title_justify="left",
        caption_justify="left",
    )
    table.add_column("set")
    for column in ("plain\nCPU s", "plain\nwall s", "muntin\nCPU s", "muntin\nwall s"):
        table.add_column(column, justify="right")
    table.add_column("plain by\nmuntin", justify="right")
    table.add_column("muntin by\nplain one", justify="right")
    table.add_column("rows", justify="right")
    table.add_column("equal")
    one = sets["one"].plain if "one" in sets else None
    for name, measured in sets.items():
        plain, muntin = measured.plain, measured.muntin
        table.add_row(
            name,
            f"{plain.cpu_s:.1f}" if plain else "-",
            f"{plain.wall_s:.1f}" if plain else "-",
            f"{muntin.cpu_s:.1f}",
            f"{muntin.wall_s:.1f}",
            f"{plain.cpu_s / muntin.cpu_s:.1f}x" if plain else "-",
            f"{muntin.cpu_s / one.cpu_s:.2f}x" if one else "-",
            f"{muntin.rows:,}",
            ("yes" if measured.equal else "NO") + ("" if measured.equal_on == events else " *"),
        )
    return table
