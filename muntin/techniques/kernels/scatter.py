"""Combines partials by group: each into the total of its group, in the order of the rows."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from muntin.techniques.kernels.bound_names import combine, load, store


def scatter(values: Any, rows: Any, groups: Any, totals: Any) -> None:
    """`totals[groups[i]] ⊕= values[rows[i]]` for each i in order; without `rows`, `values[i]`.

    Totals begin as the identity.
    """
    for index in range(len(groups)):
        row = index if rows is None else rows[index]
        group = groups[index]
        store(totals, group, combine(load(totals, group), load(values, row)))
