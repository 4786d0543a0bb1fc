"""Table expressions that make the slices of a tree, from events or from the slices of its pass."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from muntin.aggregates.aggregate import Component
from muntin.model.engine import Engine
from muntin.model.passes import common_filter
from muntin.model.plan import Plan
from muntin.model.slicing import Slicing
from muntin.model.time import format_duration
from muntin.model.trees import PeriodicTree
from muntin.model.windows.window import Window
from muntin.optimizer.edges import grid

SLICES = "slices"
# A column or a field of a column. Reading it cannot fail, so it needs no filter.
_COLUMN = re.compile(r"(`[^`]+`|[^\W\d]\w*)(\.(`[^`]+`|[^\W\d]\w*))*")
# The name of a relation without a name.
NAMES = {"": "data"}
# Counts the events that pass a filter: a slice without such an event is not in the tree.
_COUNT = Component(kind="count")


@dataclass(frozen=True, kw_only=True)
class SliceTables:
    """Table expressions for the slices of a tree. The last one is called `slices`."""

    # Names and bodies; each comes after those that it reads.
    tables: tuple[tuple[str, str], ...]
    # The slices as a tumbling window.
    cut: Window
    # The columns of the tree's keys and components in `slices`.
    keys: tuple[str, ...]
    names: dict[Component, str]


def slice_tables(tree: PeriodicTree, plan: Plan) -> SliceTables:
    """Returns the expressions that make the slices of a tree.

    A pass of Spark's GROUP BY is an expression of its own, the same for all its trees.
    """
    shared = tree.made_in
    tables: tuple[tuple[str, str], ...]
    if shared is None or shared.engine is not Engine.SPARK:
        events = GroupedEvents([tree], tree.grouping.keys, tree.slicing)
        tables = ((SLICES, events.text()),)
    else:
        events = GroupedEvents(plan.trees_of(shared), shared.keys, shared.slicing)
        name = f"pass_{shared.number + 1}"
        tables = ((name, events.text()), (SLICES, _fold_pass(tree, events, name)))
    return SliceTables(
        tables=tables,
        cut=_cut(tree.slicing),
        keys=events.keys_of(tree),
        names=events.names_of(tree),
    )


class GroupedEvents:
    """One GROUP BY of events for several trees. Components of a tree are under its filter."""

    def __init__(
        self, trees: Sequence[PeriodicTree], keys: Sequence[str], slicing: Slicing
    ) -> None:
        self._grouping = trees[0].grouping
        self._common = common_filter([tree.grouping.where for tree in trees])
        # A key that is more than a column is computed only for events that pass the tree's filter.
        self._keys: dict[tuple[str, str | None], str] = {}
        for key in keys:
            for tree in trees:
                if key in tree.grouping.keys:
                    self._keys.setdefault(self._key(key, tree), f"k{len(self._keys)}")
        self._slice = window_call(_cut(slicing), self._grouping.time)
        self._names: dict[tuple[Component, str | None], str] = {}
        for tree in trees:
            guard = self._guard(tree)
            for component in (*_components(tree), *([] if guard is None else [_COUNT])):
                self._names.setdefault((component, guard), f"c{len(self._names)}")

    def keys_of(self, tree: PeriodicTree) -> tuple[str, ...]:
        """Returns the columns of a tree's keys."""
        return tuple(self._keys[self._key(key, tree)] for key in tree.grouping.keys)

    @property
    def keys(self) -> tuple[str, ...]:
        """The columns of all keys."""
        return tuple(self._keys.values())

    @property
    def parts(self) -> dict[str, Component]:
        """The component in each column of components."""
        return {name: part.filtered_by(guard) for (part, guard), name in self._names.items()}

    def names_of(self, tree: PeriodicTree) -> dict[Component, str]:
        """Returns the columns of a tree's components."""
        guard = self._guard(tree)
        return {component: self._names[component, guard] for component in _components(tree)}

    def count_for(self, tree: PeriodicTree) -> str | None:
        """Returns the column that counts the events of a tree; None if it has all events."""
        guard = self._guard(tree)
        return None if guard is None else self._names[_COUNT, guard]

    def text(self) -> str:
        """Returns the SELECT; its column `w` is the slice."""
        keys = [
            key if guard is None else f"CASE WHEN {guard} THEN {key} END"
            for key, guard in self._keys
        ]
        columns = [f"{key} AS {name}" for key, name in zip(keys, self.keys, strict=True)]
        columns.append(f"{self._slice} AS w")
        columns += [
            f"{_lift_sql(component.filtered_by(guard))} AS {name}"
            for (component, guard), name in self._names.items()
        ]
        where = f"\nWHERE {self._common}" if self._common else ""
        groups = ", ".join([*keys, self._slice])
        relation = self._grouping.relation.fill(NAMES).strip()
        return f"SELECT {join_columns(columns)}\nFROM {relation}{where}\nGROUP BY {groups}"

    def _key(self, key: str, tree: PeriodicTree) -> tuple[str, str | None]:
        return key, None if _COLUMN.fullmatch(key) else self._guard(tree)

    def _guard(self, tree: PeriodicTree) -> str | None:
        """Returns the filter of a tree, or None if the WHERE clause has it already."""
        where = tree.grouping.where
        return None if where == self._common else where


def _fold_pass(tree: PeriodicTree, events: GroupedEvents, source: str) -> str:
    """Returns the SELECT that folds the slices of a pass into those of a tree."""
    keys = events.keys_of(tree)
    columns = [*keys, "window AS w"]
    columns += [
        f"{part.combine_sql(name)} AS {name}" for part, name in events.names_of(tree).items()
    ]
    count = events.count_for(tree)
    where = "" if count is None else f"\nWHERE {count} > 0"
    groups = ", ".join([*keys, window_call(_cut(tree.slicing), "w.start")])
    return f"SELECT {join_columns(columns)}\nFROM {source}{where}\nGROUP BY {groups}"


def _components(tree: PeriodicTree) -> dict[Component, None]:
    return dict.fromkeys(part for aggregate in tree.aggregates for part in aggregate.components)


def _cut(slicing: Slicing) -> Window:
    """Returns the tumbling window whose edges include all edges of a slicing."""
    cell = grid(slicing.edges)
    return Window(size=cell.period, slide=cell.period, offset=cell.phase)


def _lift_sql(part: Component) -> str:
    """Returns the aggregate, or struct of aggregates, that computes a component."""
    scalars = part.partial_sql()
    if len(scalars) == 1:
        return next(iter(scalars.values()))
    fields = ",\n".join(f"    '{name}', {sql}" for name, sql in scalars.items())
    return f"named_struct(\n{fields})"


def window_call(window: Window, time: str) -> str:
    """Returns a call of Spark's `window`."""
    lengths = [window.size]
    if not window.is_tumbling or window.offset:
        lengths.append(window.slide)
    if window.offset:
        lengths.append(window.offset)
    texts = ", ".join(f"'{format_duration(length)}'" for length in lengths)
    return f"window({time}, {texts})"


def join_columns(columns: Sequence[str]) -> str:
    """Returns columns in one line, or one per line if they are long."""
    line = ", ".join(columns)
    return line if len(line) <= 80 else ",\n  ".join(columns)
