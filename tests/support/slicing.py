"""Slices made naively, a row at a time in dictionaries: what the slicer is compared with."""

import math
from functools import reduce
from typing import Any

import pyarrow as pa

from muntin.aggregates.aggregate import Component
from muntin.aggregates.monoids import ADD_WIDE
from muntin.aggregates.representations import FLOAT, INTEGER
from muntin.model.windows import Edges, Slicing
from muntin.runtime.slicer.packing import BUCKET, PART, ROWS, TREE, unpack
from muntin.runtime.slicer.slicer import Slicer
from muntin.runtime.slicer.slicer_tree import SlicerTree
from muntin.runtime.storage.component_storage import ComponentStorage
from muntin.runtime.storage.layout import Layout
from muntin.runtime.storage.table import component_storage

# A component of every monoid, over the columns x and y of floats, i of integers and b of booleans.
COMPONENTS = (
    Component(kind="count"),
    Component(kind="count", argument="x"),
    Component(kind="count_if", argument="b"),
    Component(kind="sum", argument="x"),
    Component(kind="sum", argument="i"),
    Component(kind="float_sum", argument="i"),
    Component(kind="sum_of_second", argument="x", others=("y",)),
    *(Component(kind=kind, argument=name) for kind in ("min", "max") for name in ("x", "i", "b")),
    *(Component(kind=kind, argument="i") for kind in ("bit_and", "bit_or", "bit_xor")),
    Component(kind="moments", argument="x"),
    Component(kind="four_moments", argument="x"),
    Component(kind="pair_moments", argument="x", others=("y",)),
)


def slicing(*edges: tuple[int, int]) -> Slicing:
    """A slicing of (period, phase) progressions."""
    return Slicing(edges=tuple(Edges(period=a, phase=b) for a, b in edges), rate=1.0)


def columns_of(component: Component) -> tuple[str, ...]:
    """The columns of a component's arguments."""
    return () if component.argument is None else component.arguments


def layout_of(
    components: tuple[Component, ...], keys: tuple[str, ...], *, ansi: bool = False
) -> Layout:
    """The layout of some components."""
    entries = []
    for index, component in enumerate(components):
        number = component.part.value_type or (FLOAT if component.argument == "x" else INTEGER)
        entries.append(component_storage(component, value_type=number, name=f"c{index}", ansi=ansi))
    return Layout(key_columns=keys, start="start", storages=tuple(entries))


def events_tree(
    keys: tuple[str, ...],
    where: Slicing,
    components: tuple[Component, ...] = COMPONENTS,
    *,
    ansi: bool = False,
    **options: Any,
) -> SlicerTree:
    """A tree whose rows are events."""
    return SlicerTree(
        **{"number": 0, **options},
        layout=layout_of(components, keys, ansi=ansi),
        slicing=where,
        values={component: columns_of(component) for component in components},
    )


def sliced(
    trees: list[SlicerTree], batches: list[pa.RecordBatch], *, buckets: int = 3, **options: Any
) -> dict[int, dict[int, list[bytes]]]:
    """The packed partials of each tree, by bucket."""
    packed: dict[int, dict[int, list[bytes]]] = {tree.number: {} for tree in trees}
    for batch in Slicer(trees, time="t", buckets=buckets, **options).run(batches):
        assert batch.schema == pa.schema({BUCKET: pa.int32(), TREE: pa.int32(), ROWS: pa.binary()})
        for row in batch.to_pylist():
            assert 0 <= row[BUCKET] < buckets
            packed[row[TREE]].setdefault(row[BUCKET], []).append(row[ROWS])
    return packed


Slices = dict[tuple[Any, ...], dict[Component, Any]]


def read_slices(tree: SlicerTree, packed: dict[int, list[bytes]]) -> Slices:
    """The partials by (keys, part, start), those of several chunks combined."""
    found: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    buckets: dict[Any, int] = {}
    for bucket, streams in packed.items():
        table = unpack(streams, tree.layout)
        places = []
        for row in table.to_pylist():
            keys = tuple(hashable(row[name]) for name in tree.layout.key_columns)
            place = (*keys, row.get(PART))
            places.append((place, row["start"]))
            # All rows of a key are in one bucket.
            assert buckets.setdefault(place, bucket) == bucket
            found.setdefault((*place, row["start"]), []).append(row)
        assert_in_order(places)
    return {place: _combined(rows, tree.layout) for place, rows in found.items()}


def assert_in_order(places: list[tuple[Any, int]]) -> None:
    """Each key's rows are together, and by their start."""
    seen = set()
    for (key, start), (before, earlier) in zip(places, [(None, 0), *places], strict=False):
        if key == before:
            assert earlier <= start
        else:
            assert key not in seen
            seen.add(key)


def naive_slices(tree: SlicerTree, rows: list[dict[str, Any]]) -> Slices:
    """The same from events, one by one."""
    groups: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for row in rows:
        if row["t"] is None or any(row[name] & mask != mask for name, mask in tree.masks.items()):
            continue
        start = naive_start(row["t"], tree.slicing)
        keys = tuple(hashable(row[name]) for name in tree.layout.key_columns)
        for part in naive_parts(start, tree):
            groups.setdefault((*keys, part, start), []).append(row)
    return {
        place: {
            entry.component: _fold(entry, [_lifted(entry, row) for row in rows])
            for entry in tree.layout.storages
        }
        for place, rows in groups.items()
    }


def naive_start(instant: int, where: Slicing) -> int:
    """The latest edge at or before an instant."""
    return max(instant - (instant - each.phase) % each.period for each in where.edges)


def naive_parts(start: int, tree: SlicerTree) -> list[int | None]:
    """The begins of the parts that read a slice."""
    width = tree.part_width
    if width is None:
        return [None]
    first = (start - tree.longest + 1) // width
    return [number * width for number in range(first, start // width + 1)]


def hashable(value: Any) -> Any:
    """A key as Spark groups by it: NaN is NaN, -0.0 is 0.0."""
    if isinstance(value, float):
        return "NaN" if math.isnan(value) else value + 0.0
    if isinstance(value, list):
        return tuple(hashable(element) for element in value)
    if isinstance(value, dict):
        return tuple(hashable(value[name]) for name in sorted(value))
    return value


def assert_same_slices(found: Slices, expected: Slices) -> None:
    """The same places with the same partials; sums of floats may be rounded."""
    assert found.keys() == expected.keys()
    for place, partials in expected.items():
        for component, partial in partials.items():
            other = found[place][component]
            assert _close(other, partial), (place, component, other, partial)


def _close(one: Any, other: Any) -> bool:
    if isinstance(one, tuple) and isinstance(other, tuple):
        if one[0] == other[0] == 0.0 and len(one) > 2:
            # Moments of nothing: the rest is not read.
            return True
        if len(one) > 2:
            # With an infinity in them, means are infinite or NaN, whichever value comes first.
            return len(one) == len(other) and all(map(_both_infinite_or_close, one, other))
        return all(map(_close, one, other))
    if isinstance(one, float) and isinstance(other, float):
        both_nan = math.isnan(one) and math.isnan(other)
        return both_nan or math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-6)
    return type(one) is type(other) and bool(one == other)


def _both_infinite_or_close(one: float, other: float) -> bool:
    return not (math.isfinite(one) or math.isfinite(other)) or _close(one, other)


def _lifted(entry: ComponentStorage, row: dict[str, Any]) -> Any:
    """The partial of one event, None if it has none."""
    component = entry.component
    values = [row[name] for name in columns_of(component)]
    there = all(value is not None for value in values)
    if not there and not component.part.is_never_null:
        return None
    number = int if entry.value_type == INTEGER else float
    if not component.part.needs_values:
        values = []
    read = [number(value) if there else number(0) for value in values]
    scalars = component.part.lift_record(number(there), *read)
    if entry.monoid == ADD_WIDE:
        scalars = (*scalars, 0)
    return scalars if entry.monoid.width > 1 else scalars[0]


def _combined(rows: list[dict[str, Any]], layout: Layout) -> dict[Component, Any]:
    partials = {}
    for entry in layout.storages:
        read = [tuple(row[name] for name in entry.columns) for row in rows]
        wide = entry.monoid.width > 1
        values = [None if each[0] is None else (each if wide else each[0]) for each in read]
        partials[entry.component] = _fold(entry, values)
    return partials


def _fold(entry: ComponentStorage, partials: list[Any]) -> Any:
    there = [partial for partial in partials if partial is not None]
    return reduce(entry.monoid.combine, there) if there else None
