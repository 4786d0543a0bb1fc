"""Formulas: Python functions that also translate themselves to Spark SQL.

A formula called with numbers or arrays computes. Called with `Sql` values, it returns the same
arithmetic as Spark SQL.
"""

from collections.abc import Callable, Sequence
from typing import Any

Formula = Callable[..., Any]


class Sql:
    """An expression of Spark SQL; its operators return longer expressions."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __str__(self) -> str:
        return self.text

    def __add__(self, other: Any) -> "Sql":
        return _infix(self, "+", other)

    def __radd__(self, other: Any) -> "Sql":
        return _infix(other, "+", self)

    def __sub__(self, other: Any) -> "Sql":
        return _infix(self, "-", other)

    def __rsub__(self, other: Any) -> "Sql":
        return _infix(other, "-", self)

    def __mul__(self, other: Any) -> "Sql":
        return _infix(self, "*", other)

    def __rmul__(self, other: Any) -> "Sql":
        return _infix(other, "*", self)

    def __truediv__(self, other: Any) -> "Sql":
        return _infix(self, "/", other)

    def __pow__(self, power: float) -> "Sql":
        return Sql(f"sqrt({self})" if power == 0.5 else f"power({self}, {_text(power)})")

    def __gt__(self, other: Any) -> "Sql":
        return _infix(self, ">", other)

    def __eq__(self, other: object) -> "Sql":  # type: ignore[override]
        return _infix(self, "=", other)

    def __ne__(self, other: object) -> "Sql":  # type: ignore[override]
        return _infix(self, "<>", other)

    def __and__(self, other: Any) -> "Sql":
        return _infix(self, "AND", other)

    __hash__ = None  # type: ignore[assignment]

    def __bool__(self) -> bool:
        """Returns False: combines test whether a side is empty, which `merge_sql` does in SQL."""
        return False


def _infix(left: Any, sign: str, right: Any) -> Sql:
    return Sql(f"({_text(left)} {sign} {_text(right)})")


def _text(value: Any) -> str:
    return f"{value}D" if isinstance(value, float) else str(value)


def merge_sql(
    combine: Formula, struct: str, fields: Sequence[str], finish: str | None = None
) -> str:
    """Returns a Spark SQL call that combines a group's structs into one.

    `finish` is an expression over the combined struct, `a`, to return instead. The first field of a
    struct is its count, which is zero in an empty struct.
    """
    sides = [tuple(Sql(f"{side}.{field}") for field in fields) for side in "ab"]
    values = zip(fields, combine(*sides), strict=True)
    both = ", ".join(f"'{field}', {value}" for field, value in values)
    none = ", ".join(f"'{field}', 0D" for field in fields)
    count = fields[0]
    combined = (
        f"(a, b) -> CASE WHEN b.{count} = 0 THEN a WHEN a.{count} = 0 THEN b\n"
        f"    ELSE named_struct({both}) END"
    )
    last = "" if finish is None else f",\n    a -> {finish}"
    return f"aggregate(collect_list({struct}), named_struct({none}),\n    {combined}{last})"
