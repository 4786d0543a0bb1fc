"""Lays out a tree's partials and answers in columns, once the types are known."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import pyarrow as pa

from muntin.errors import PlanError
from muntin.model.aggregates.aggregate import Aggregate, Component
from muntin.model.aggregates.monoids import ADD_WIDE, Monoid
from muntin.model.aggregates.parts import FLOAT, INTEGER, is_typed
from muntin.model.aggregates.table import COUNT, DOUBLE
from muntin.model.trees import PeriodicTree, Tree, TreeNode
from muntin.model.windows.window import Window
from muntin.runtime.columns.answer_storage import answer_storage


@dataclass(frozen=True, kw_only=True)
class Kept:
    """A component as columns of the slices: its storage, monoid and column names."""

    component: Component
    # `INTEGER`, `FLOAT`, or the name of the type of its only column.
    number: str
    monoid: Monoid
    columns: tuple[str, ...]

    @property
    def is_of_entries(self) -> bool:
        """Whether its partials are sets of values, stored as lists of so stored values."""
        return self.monoid.sweep is not None

    @property
    def column_type(self) -> pa.DataType:
        """The type of its columns where they have no values."""
        return pa.null() if self.is_of_entries else column_type(self.number)


def kept(component: Component, *, number: str, name: str, ansi: bool) -> Kept:
    """Returns the layout of a component in a storage.

    With `ansi`, integer sums detect overflow, as Spark's do under ANSI.
    """
    monoid = component.combines_by(number, ansi=ansi)
    width = 1 if is_typed(number) and monoid.sweep is None else monoid.width
    columns = tuple(f"{name}_{index}" for index in range(width)) if width > 1 else (name,)
    return Kept(component=component, number=number, monoid=monoid, columns=columns)


@dataclass(frozen=True, kw_only=True)
class Layout:
    """The columns of a tree's slices: `key_columns`, `start`, and those of each component."""

    key_columns: tuple[str, ...]
    start: str
    kept: tuple[Kept, ...]

    def of(self, component: Component) -> Kept:
        """Returns the layout of a component."""
        for entry in self.kept:
            if entry.component == component:
                return entry
        raise PlanError(f"the slices keep no {component}")


def column_type(storage: str) -> pa.DataType:
    """Returns the type of a column without values; of other types the data knows more."""
    if is_typed(storage):
        return pa.null()
    return pa.int64() if storage == INTEGER else pa.float64()


# The columns of one answer. Integers, floats, and values of each other type have separate slots.
Slots = tuple[str, ...]


def integer_slot(index: int) -> str:
    """The name of an integer slot."""
    return f"i{index}"


def float_slot(index: int) -> str:
    """The name of a float slot."""
    return f"f{index}"


def typed_slot(index: int, storage: str) -> str:
    """The name of a slot for values of another type."""
    return f"v{index}:{storage}"


def slot_storage(slot: str) -> str:
    """Returns how the values of a slot are stored, from its name.

    >>> slot_storage("i0"), slot_storage("v1:decimal(20,2)")
    ('integer', 'decimal(20,2)')
    """
    if slot.startswith("v"):
        return slot.partition(":")[2]
    return INTEGER if slot.startswith("i") else FLOAT


def slots_of(node: TreeNode, layout: Layout) -> tuple[Slots, ...]:
    """The slots of each aggregate of a node, in order.

    Answers of all nodes travel in the same few columns, so a hundred queries do not make rows of a
    hundred nulls. A checked integer sum takes two slots; Spark adds them.
    """
    integers = floats = 0
    typed: Counter[str] = Counter()
    places: list[Slots] = []
    for aggregate in node.aggregates:
        storage, width = _storage(aggregate, layout)
        if storage == INTEGER:
            slots = range(integers, integers + width)
            places.append(tuple(map(integer_slot, slots)))
            integers += width
        elif is_typed(storage):
            places.append((typed_slot(typed[storage], storage),))
            typed[storage] += 1
        else:
            places.append((float_slot(floats),))
            floats += 1
    return tuple(places)


def _storage(aggregate: Aggregate, layout: Layout) -> tuple[str, int]:
    """Returns how an aggregate's answers are stored, and in how many slots."""
    first = layout.of(aggregate.components[0])
    row = aggregate.definition
    if first.is_of_entries:
        storage = answer_storage(aggregate, first.number)
        return storage, 2 if storage == INTEGER and row.summary == "sum" else 1
    if row.result == COUNT:
        return INTEGER, 1
    if first.number == INTEGER and row.result == DOUBLE:
        return FLOAT, 1
    return first.number, 2 if first.monoid == ADD_WIDE else 1


def all_slots(tree: Tree, layout: Layout) -> Slots:
    """Every slot that some node fills, integers first, then floats."""
    names: dict[str, None] = {}
    for node in tree.nodes:
        for places in slots_of(node, layout):
            names.update(dict.fromkeys(places))
    return in_slot_order(names)


def in_slot_order(slots: Iterable[str]) -> Slots:
    """Returns slots by kind, integers first, then floats, and by number."""

    def place(slot: str) -> tuple[bool, bool, int, str]:
        number = slot[1:].partition(":")[0]
        return slot[0] != "i", slot[0] != "f", int(number), slot

    return tuple(sorted(slots, key=place))


def filled_slots(filled: Mapping[str, pa.Array], slots: Slots, rows: int) -> dict[str, pa.Array]:
    """Returns a column for every slot, null where there is none."""
    return {
        slot: filled[slot] if slot in filled else pa.nulls(rows, column_type(slot_storage(slot)))
        for slot in slots
    }


def fitted(column: pa.Array, kind: pa.DataType) -> pa.Array:
    """Returns a column of answers in the type in which Spark takes it."""
    if pa.types.is_null(column.type):
        return pa.nulls(len(column), kind)
    # Spark hands timestamps over in the session's zone, and sums of decimals have 38 digits.
    return column if column.type == kind else column.cast(kind)


def fitted_rows(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """Returns answers in the columns and types in which Spark takes them; others are null."""
    there = set(batch.schema.names)
    return pa.RecordBatch.from_arrays(
        [
            fitted(batch.column(field.name), field.type)
            if field.name in there
            else pa.nulls(batch.num_rows, field.type)
            for field in schema
        ],
        schema=schema,
    )


def node_numbers(tree: PeriodicTree) -> Mapping[Window, int]:
    """Returns the number of each node, which its answers carry."""
    return {node.window: number for number, node in enumerate(tree.nodes)}
