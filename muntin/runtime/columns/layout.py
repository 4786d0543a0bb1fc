"""Lays out a tree's partials and answers in columns, once the types are known."""

from collections.abc import Mapping
from dataclasses import dataclass

from muntin.errors import PlanError
from muntin.model.aggregates.aggregate import Component
from muntin.model.aggregates.monoids import ADD_WIDE, Monoid
from muntin.model.aggregates.table import DOUBLE, INTEGER
from muntin.model.plan import Node, Tree
from muntin.model.record_tree import RecordNode, RecordTree
from muntin.model.windows.window import Window


@dataclass(frozen=True, kw_only=True)
class Kept:
    """A component as columns of the slices: its number class, monoid and column names."""

    component: Component
    number: str
    monoid: Monoid
    columns: tuple[str, ...]


def kept(component: Component, *, number: str, name: str, ansi: bool) -> Kept:
    """Returns the layout of a component whose values are integers or floats.

    With `ansi`, integer sums detect overflow, as Spark's do under ANSI.
    """
    monoid = component.combines_by(number, ansi=ansi)
    width = monoid.width
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


# The columns of one answer. Integers and floats have separate slots.
Slots = tuple[str, ...]


def integer_slot(index: int) -> str:
    """The name of an integer slot."""
    return f"i{index}"


def float_slot(index: int) -> str:
    """The name of a float slot."""
    return f"f{index}"


def slots_of(node: Node | RecordNode, layout: Layout) -> tuple[Slots, ...]:
    """The slots of each aggregate of a node, in order.

    Answers of all nodes travel in the same few columns, so a hundred queries do not make rows of a
    hundred nulls. A checked integer sum takes two slots; Spark adds them.
    """
    integers = floats = 0
    places: list[Slots] = []
    for aggregate in node.aggregates:
        first = layout.of(aggregate.components[0])
        if first.monoid == ADD_WIDE:
            places.append((integer_slot(integers), integer_slot(integers + 1)))
            integers += 2
        elif first.number == INTEGER and aggregate.definition.result != DOUBLE:
            places.append((integer_slot(integers),))
            integers += 1
        else:
            places.append((float_slot(floats),))
            floats += 1
    return tuple(places)


def all_slots(tree: Tree | RecordTree, layout: Layout) -> Slots:
    """Every slot that some node fills, integers first."""
    names: dict[str, None] = {}
    for node in tree.nodes:
        for places in slots_of(node, layout):
            names.update(dict.fromkeys(places))
    return tuple(sorted(names, key=lambda name: (name[0] != "i", int(name[1:]))))


def node_numbers(tree: Tree) -> Mapping[Window, int]:
    """Returns the number of each node, which its answers carry."""
    return {node.window: number for number, node in enumerate(tree.nodes)}
