"""Conditions as bits of a few integer columns, each condition once."""

from collections.abc import Iterable

from muntin.spark.batch.safe_expressions import SafeExpressions
from muntin.sql.filters import conjuncts

# The bits of an integer that say which conditions hold; the sign is left out.
_BITS = 63


class ConditionBits:
    """A bit for each condition that someone asked for. It is set where the condition is true."""

    def __init__(self, prefix: str = "") -> None:
        """`prefix` is what the names of its columns begin with."""
        self._prefix = prefix
        self._bits: dict[str, int] = {}

    @property
    def columns(self) -> dict[str, str]:
        """The SQL of each integer."""
        columns: dict[str, list[str]] = {}
        for condition, bit in self._bits.items():
            column = columns.setdefault(self._column(bit), [])
            column.append(f"IF({condition}, {1 << bit % _BITS}L, 0L)")
        return {name: " | ".join(parts) for name, parts in columns.items()}

    def masks(self, conditions: Iterable[str]) -> dict[str, int]:
        """Returns, by column, the bits that are set where all these conditions hold."""
        masks: dict[str, int] = {}
        for condition in conditions:
            bit = self._bits.setdefault(condition, len(self._bits))
            column = self._column(bit)
            masks[column] = masks.get(column, 0) | 1 << bit % _BITS
        return masks

    def _column(self, bit: int) -> str:
        return f"{self._prefix}bits{bit // _BITS}"


def conditions_of(where: str, safe: SafeExpressions) -> tuple[str, ...]:
    """Returns the conditions that a filter is made of, which other filters may share.

    A filter of which a part may fail is one condition: another part may guard it.
    """
    return conjuncts(where) if safe.is_filter(where) else (f"({where})",)


def has_bits(masks: dict[str, int]) -> str:
    """Returns the condition that all bits of some masks are set, as SQL."""
    return " AND ".join(f"({name} & {mask}L) = {mask}L" for name, mask in masks.items())
