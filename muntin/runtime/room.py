"""Room: the columns that a running operator has, fixed when it first starts.

Spark's state store refuses another schema on an old checkpoint, so a stream is given columns by
kind (`sum_double0`, `sum_double1`, ...) with some to spare, and every lane puts its keys and
components into them. Queries that come later find room among those that their lane does not use.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from muntin.errors import RunError
from muntin.model.aggregate import Component
from muntin.runtime.layout import FLOAT, INTEGER, Kept, kept

# What a column of keys may hold; every key type that streams is one of these on the way.
KEY_KINDS = ("long", "double", "text", "bytes")


@dataclass(frozen=True, kw_only=True)
class ValueKind:
    """A kind of column for partials: how events are combined in it, and as what number."""

    name: str
    # The kind of component that stands for all that are kept in such a column.
    component: str
    number: str


VALUE_KINDS = {
    kind.name: kind
    for kind in (
        ValueKind(name="count", component="count", number=INTEGER),
        ValueKind(name="sum_long", component="sum", number=INTEGER),
        ValueKind(name="sum_double", component="float_sum", number=FLOAT),
        ValueKind(name="min_long", component="min", number=INTEGER),
        ValueKind(name="max_long", component="max", number=INTEGER),
        ValueKind(name="min_double", component="min", number=FLOAT),
        ValueKind(name="max_double", component="max", number=FLOAT),
        ValueKind(name="moments", component="moments", number=FLOAT),
    )
}


def value_kind(component: Component, number: str) -> str:
    """The kind of column in which a component of integers or floats is kept."""
    match component.kind:
        case "count" | "count_if":
            return "count"
        case "moments":
            return "moments"
        case "float_sum":
            return "sum_double"
        case kind:
            return f"{kind}_{'long' if number == INTEGER else 'double'}"


@dataclass(frozen=True, kw_only=True)
class Room:
    """How many columns there are of each kind."""

    keys: Mapping[str, int]
    values: Mapping[str, int]

    @property
    def key_slots(self) -> tuple[str, ...]:
        """The names of all key columns."""
        return tuple(f"{kind}{index}" for kind in KEY_KINDS for index in range(self.keys[kind]))

    @property
    def value_slots(self) -> tuple[str, ...]:
        """The names of all columns of partials; one of moments stands for three."""
        return tuple(f"{kind}{index}" for kind in VALUE_KINDS for index in range(self.values[kind]))

    def find(self, kind: str, taken: Collection[str]) -> str | None:
        """The first column of a kind that is not taken."""
        count = self.keys[kind] if kind in KEY_KINDS else self.values[kind]
        slots = (f"{kind}{index}" for index in range(count))
        return next((slot for slot in slots if slot not in taken), None)


def kind_of(slot: str) -> str:
    """The kind of a column, from its name."""
    return slot.rstrip("0123456789")


def stands_for(slot: str, *, checked: bool) -> Kept:
    """How any component in a column is lifted and combined: by the column's kind alone."""
    kind = VALUE_KINDS[kind_of(slot)]
    # Without the filter Spark would read and write the partial of every column for every event,
    # also of those to spare.
    component = Component(kind=kind.component, argument=slot, where=f"{slot} IS NOT NULL")
    return kept(component, number=kind.number, name=slot, checked=checked)


def room_for(needs: Iterable[tuple[Iterable[str], Iterable[str]]], *, spare: int) -> Room:
    """Room for lanes, each given by the kinds of its keys and of its components, and to spare."""
    if spare < 0:
        raise RunError(f"spare is how many columns of each kind are kept free, not {spare}")
    keys = dict.fromkeys(KEY_KINDS, 0)
    values = dict.fromkeys(VALUE_KINDS, 0)
    for key_kinds, value_kinds in needs:
        for most, found in ((keys, list(key_kinds)), (values, list(value_kinds))):
            for kind in most:
                most[kind] = max(most[kind], found.count(kind))
    # Later queries rarely bring more keys, and mostly names or numbers.
    for kind in ("long", "text"):
        keys[kind] += min(spare, 1)
    return Room(keys=keys, values={kind: count + spare for kind, count in values.items()})
