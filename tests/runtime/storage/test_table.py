"""The table of storages: every representation has a running half, which writes what it reads."""

from decimal import Decimal

import pyarrow as pa
import pytest

from muntin.aggregates.aggregate import Component
from muntin.aggregates.representations import FLOAT, INTEGER, Representation
from muntin.runtime.storage.table import STORAGES, component_storage

# A component of each representation, the type of its values, and its columns of slices.
PARTS = {
    "Numbers": ("min", FLOAT, [[1.5, None, -2.0]]),
    "CheckedSums": ("sum", INTEGER, [[1, None, -2], [0, 0, 1]]),
    "CodedValues": ("max", "string", [["b", None, "a"]]),
    "DecimalSums": ("sum", "decimal(20,2)", [[Decimal("1.50"), None, Decimal(-2)]]),
    "ArgExtremes": ("max_by", "bigint", [[{"y": 1, "x": 2}, None, {"y": 0, "x": None}]]),
    "SetsOfValues": ("frequencies", "string", [[["b", "a"], [], ["a"]], [[2, 1], [], [1]]]),
    "Registers": ("registers", "binary", [[b"\x41\x00\x00", b"", b"\x82\x00\x00"]]),
}


def representations(kind: type[Representation] = Representation) -> set[type[Representation]]:
    found = set(kind.__subclasses__())
    return found.union(*map(representations, found))


def test_every_representation_has_a_storage():
    assert representations() == set(STORAGES)


@pytest.mark.parametrize("name", PARTS)
def test_partials_are_written_as_they_are_read(name):
    kind, value_type, values = PARTS[name]
    component = Component(kind=kind, argument="x", others=("y",) if kind == "max_by" else ())
    storage = component_storage(component, value_type=value_type, name="c", ansi=True)
    assert type(storage.representation).__name__ == name
    columns = {column: pa.array(each) for column, each in zip(storage.columns, values, strict=True)}
    partials = storage.read(pa.RecordBatch.from_pydict(columns))
    for same in (partials, partials.copy(), storage.from_state(as_arrow(storage, partials))):
        written = storage.write(same)
        assert {name: each.to_pylist() for name, each in written.items()} == {
            name: each.to_pylist() for name, each in columns.items()
        }
    twice = storage.write(partials.concatenate(partials.rows(1)))
    assert twice[storage.columns[0]].to_pylist() == [*values[0], *values[0][1:]]
    nothing = storage.write(storage.missing_partials(2).concatenate(partials))
    assert nothing[storage.columns[0]].to_pylist()[2:] == values[0]


def as_arrow(storage, partials):
    """The columns of a stream's state."""
    return {
        label: each if isinstance(each, pa.Array) else pa.array(each)
        for label, each in storage.to_state(partials).items()
    }
