"""Lays out a tree's partials and answers in columns, once the types are known."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import pyarrow as pa

from muntin.aggregates.aggregate import Aggregate, Component
from muntin.aggregates.representations import FLOAT, INTEGER
from muntin.errors import PlanError
from muntin.model.trees import PeriodicTree, Tree, TreeNode
from muntin.model.windows import Window
from muntin.runtime.columns.distinct import distinct_integers
from muntin.runtime.columns.keys import key_numbers, sort_slices
from muntin.runtime.columns.partials import Column
from muntin.runtime.storage.component_storage import ComponentStorage, number_type


@dataclass(frozen=True, kw_only=True)
class Layout:
    """The columns of a tree's slices: `key_columns`, `start`, and those of each component."""

    key_columns: tuple[str, ...]
    start: str
    storages: tuple[ComponentStorage, ...]

    def of(self, component: Component) -> ComponentStorage:
        """Returns the storage of a component."""
        for storage in self.storages:
            if storage.component == component:
                return storage
        raise PlanError(f"the slices keep no {component}")

    def lower(
        self, aggregate: Aggregate, columns: Mapping[Component, Column]
    ) -> tuple[pa.Array, ...]:
        """Returns an aggregate's answers from partials, an Arrow column for each of its slots."""
        own = [columns[component] for component in aggregate.components]
        return self.of(aggregate.components[0]).lower(aggregate, own)

    def without_superseded(self, table: pa.Table, watermark: int) -> pa.Table:
        """Returns rows of slices without the values of sets that a later row makes superfluous, so
        that a stream's state of distinct values has about one entry each.

        A window that is open ends behind the watermark. If it holds an old slice, it holds all
        slices from there to the watermark, and with them any later occurrence of a value
        (Subsumption, section 4).
        """
        sets = [storage for storage in self.storages if storage.has_superseded]
        if not sets:
            return table
        batch = sort_slices(table, self.key_columns, self.start)
        whole = pa.Table.from_batches([batch])
        is_passed = batch.column(self.start).to_numpy() <= watermark
        keys = distinct_integers(key_numbers(whole, self.key_columns))
        columns = dict(zip(whole.column_names, whole.columns, strict=True))
        for storage in sets:
            columns |= storage.without_superseded(batch, keys.numbers, keys.count, is_passed)
        return pa.table(columns)


# The columns of one answer. Integers, floats, and values of each other type have separate slots.
Slots = tuple[str, ...]


def integer_slot(index: int) -> str:
    """The name of an integer slot."""
    return f"i{index}"


def float_slot(index: int) -> str:
    """The name of a float slot."""
    return f"f{index}"


def typed_slot(index: int, value_type: str) -> str:
    """The name of a slot for values of another type."""
    return f"v{index}:{value_type}"


def slot_type(slot: str) -> str:
    """Returns the type of the values of a slot, from its name.

    >>> slot_type("i0"), slot_type("v1:decimal(20,2)")
    ('integer', 'decimal(20,2)')
    """
    if slot.startswith("v"):
        return slot.partition(":")[2]
    return INTEGER if slot.startswith("i") else FLOAT


def slots_of(node: TreeNode, layout: Layout) -> tuple[Slots, ...]:
    """Returns the slots of each aggregate of a node, in order.

    Answers of all nodes share the same few columns, so that the rows of a hundred queries are not
    mostly nulls. A checked integer sum takes two slots; Spark adds them.
    """
    integers = floats = 0
    typed: Counter[str] = Counter()
    places: list[Slots] = []
    for aggregate in node.aggregates:
        value_type, width = layout.of(aggregate.components[0]).answer_type(aggregate)
        if value_type == INTEGER:
            slots = range(integers, integers + width)
            places.append(tuple(map(integer_slot, slots)))
            integers += width
        elif value_type == FLOAT:
            places.append((float_slot(floats),))
            floats += 1
        else:
            places.append((typed_slot(typed[value_type], value_type),))
            typed[value_type] += 1
    return tuple(places)


def all_slots(tree: Tree, layout: Layout) -> Slots:
    """Returns all slots of the nodes of a tree, integers first, then floats."""
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


def fill_slots(filled: Mapping[str, pa.Array], slots: Slots, rows: int) -> dict[str, pa.Array]:
    """Returns a column for every slot; slots that are not `filled` are null."""
    return {
        slot: filled[slot] if slot in filled else pa.nulls(rows, number_type(slot_type(slot)))
        for slot in slots
    }


def cast_answers(column: pa.Array, kind: pa.DataType) -> pa.Array:
    """Returns a column of answers in the type in which Spark takes it."""
    if pa.types.is_null(column.type):
        return pa.nulls(len(column), kind)
    # Spark hands timestamps over in the session's zone, and sums of decimals have 38 digits.
    return column if column.type == kind else column.cast(kind)


def cast_answer_rows(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """Returns answers in the columns and types in which Spark takes them; others are null."""
    there = set(batch.schema.names)
    return pa.RecordBatch.from_arrays(
        [
            cast_answers(batch.column(field.name), field.type)
            if field.name in there
            else pa.nulls(batch.num_rows, field.type)
            for field in schema
        ],
        schema=schema,
    )


def node_numbers(tree: PeriodicTree) -> Mapping[Window, int]:
    """Returns the number of each node, which its answers carry."""
    return {node.window: number for number, node in enumerate(tree.nodes)}
