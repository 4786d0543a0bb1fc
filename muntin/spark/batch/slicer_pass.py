"""Hands events to the compiled slicer: one projection with all that the trees of a pass need."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pyspark.sql import DataFrame

from muntin.model.aggregates.aggregate import Component
from muntin.model.passes import common_filter
from muntin.model.query import Grouping
from muntin.runtime.columns.layout import Kept, Layout, kept
from muntin.runtime.slicer.target import Target
from muntin.spark.batch.safe_expressions import SafeExpressions
from muntin.spark.batch.slices import START, arguments_of, number_of
from muntin.spark.binding.bind_periodic import BoundTree
from muntin.spark.binding.grouping_sql import selected
from muntin.spark.binding.instants import micros
from muntin.spark.binding.relations import Relations, is_ansi
from muntin.sql.filters import conjuncts

TIME = "t"
# The bits of an integer that say which conditions hold; the sign is left out.
_BITS = 63


@dataclass(frozen=True, kw_only=True)
class SlicerPass:
    """Events as the slicer reads them, and the slices that it makes of them."""

    frame: DataFrame
    targets: tuple[Target, ...]


def slicer_pass(
    trees: Mapping[int, BoundTree],
    keys: Sequence[str],
    names: Mapping[str, str],
    relations: Relations,
) -> SlicerPass:
    """Selects time, keys, arguments and conditions of a family's events, each once.

    `names` has the column of each key. Events that no tree's filter lets in are left out.
    """
    first = next(iter(trees.values()))
    grouping = Grouping(
        relation=first.tree.grouping.relation,
        time=first.tree.grouping.time,
        where=common_filter([bound.tree.grouping.where for bound in trees.values()]),
        keys=tuple(keys),
    )
    safe = SafeExpressions(grouping.relation, relations)
    arguments, conditions = Arguments(safe), Conditions(safe)
    targets = []
    for number, bound in trees.items():
        tree, where = bound.tree, bound.tree.grouping.where
        guard = None if where == grouping.where else where
        entries = tuple(_entries(bound, ansi=is_ansi(relations.session)))
        targets.append(
            Target(
                number=number,
                layout=Layout(
                    key_columns=tuple(names[key] for key in tree.grouping.keys),
                    start=START,
                    kept=entries,
                ),
                slicing=tree.slicing,
                masks={} if guard is None else conditions.masks(guard),
                values={entry.component: arguments.of(entry, guard) for entry in entries},
                part_width=tree.time_part,
                longest=tree.longest,
            )
        )
    columns = {
        TIME: micros(grouping.time, first.time_type),
        **{names[key]: key for key in keys},
        **arguments.columns,
        **conditions.columns,
    }
    frame = relations.sql(selected(grouping, columns))
    return SlicerPass(frame=frame, targets=tuple(targets))


def _entries(bound: BoundTree, *, ansi: bool) -> list[Kept]:
    entries: dict[Component, Kept] = {}
    for aggregate in bound.tree.aggregates:
        for component in aggregate.components:
            if component not in entries:
                number = number_of(component, aggregate, bound.types)
                name = f"c{len(entries)}"
                entries[component] = kept(component, number=number, name=name, ansi=ansi)
    return list(entries.values())


class Arguments:
    """The columns of arguments, each once; computed only where the filter of its tree holds."""

    def __init__(self, safe: SafeExpressions) -> None:
        self._safe = safe
        self._names: dict[str, str] = {}

    @property
    def columns(self) -> dict[str, str]:
        """The SQL of each column."""
        return {name: sql for sql, name in self._names.items()}

    def of(self, entry: Kept, guard: str | None) -> tuple[str, ...]:
        """Returns the columns of a component's arguments."""
        component = entry.component
        needs_guard = guard is not None and (
            component.argument is not None or component.where is not None
        )
        if needs_guard and not self._safe.is_argument(component):
            component = component.under(guard)
        values = arguments_of(
            Kept(
                component=component,
                number=entry.number,
                monoid=entry.monoid,
                columns=entry.columns,
            )
        )
        return tuple(self._names.setdefault(sql, f"v{len(self._names)}") for sql in values)


class Conditions:
    """Conditions as bits of a few integers, each condition once.

    A filter whose conjuncts cannot fail has a bit for each of them, which other filters may share;
    any other filter has one bit.
    """

    def __init__(self, safe: SafeExpressions) -> None:
        self._safe = safe
        self._bits: dict[str, int] = {}

    @property
    def columns(self) -> dict[str, str]:
        """The SQL of each integer."""
        columns: dict[str, list[str]] = {}
        for condition, bit in self._bits.items():
            column = columns.setdefault(_column(bit), [])
            column.append(f"IF({condition}, {1 << bit % _BITS}L, 0L)")
        return {name: " | ".join(parts) for name, parts in columns.items()}

    def masks(self, where: str) -> dict[str, int]:
        """Returns, by column, the bits that are set where a filter holds."""
        parts = conjuncts(where)
        conditions = parts if self._safe.is_filter(where) else (f"({where})",)
        masks: dict[str, int] = {}
        for condition in conditions:
            bit = self._bits.setdefault(condition, len(self._bits))
            masks[_column(bit)] = masks.get(_column(bit), 0) | 1 << bit % _BITS
        return masks


def _column(bit: int) -> str:
    return f"bits{bit // _BITS}"
