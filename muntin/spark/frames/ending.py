"""The order of a DataFrame and its limit, which Spark puts on the answer of its query."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from muntin.spark.frames.chain import NotSharedError


@dataclass(frozen=True, kw_only=True)
class Ending:
    """What an answer is ordered by, and which rows of it are given.

    `order` has expressions of Spark's, or SQL. `directions` has the direction of each, as SQL.
    """

    order: Sequence[Any] = ()
    directions: Sequence[str] = ()
    # Whether the whole answer is ordered, or each partition.
    is_global: bool = True
    limit: int | None = None
    offset: int = 0

    def with_limit(self, rows: int) -> "Ending":
        """Returns the ending with one more limit."""
        return replace(self, limit=rows if self.limit is None else min(self.limit, rows))

    def with_offset(self, rows: int) -> "Ending":
        """Returns the ending that leaves out the first rows of this one."""
        limit = None if self.limit is None else max(self.limit - rows, 0)
        return replace(self, limit=limit, offset=self.offset + rows)

    def check_not_cut(self) -> None:
        """Refuse an operator above a limit, other than a projection: it would change its rows."""
        if self.limit is not None or self.offset:
            raise NotSharedError("it has a filter or an order above its limit")

    def to_sql(self, order: Sequence[str]) -> str | None:
        """Returns how a statement ends that is ordered by these texts; None if it just ends."""
        orders = [f"{text} {how}" for text, how in zip(order, self.directions, strict=True)]
        word = "ORDER BY" if self.is_global else "SORT BY"
        clauses = [
            f"{word} {', '.join(orders)}" if orders else "",
            f"LIMIT {self.limit}" if self.limit is not None else "",
            f"OFFSET {self.offset}" if self.offset else "",
        ]
        return " ".join(filter(None, clauses)) or None
