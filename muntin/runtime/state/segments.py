"""Segments: rows of slices as Arrow bytes in a store, and what is remembered of them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import pyarrow as pa


class Store(Protocol):
    """Where the bytes of segments are kept, by number."""

    def read(self, number: int) -> bytes:
        """The bytes that were written under a number."""

    def write(self, number: int, data: bytes) -> None:
        """Keep bytes under a number."""

    def remove(self, number: int) -> None:
        """Forget a number."""


@dataclass(frozen=True, kw_only=True)
class Segment:
    """Where some retained slices are, and which starts they have."""

    number: int
    # Segments of level 0 are not merged, and in no cell yet; see `slice_store`.
    level: int
    rows: int
    first: int
    last: int


def segments_to_json(segments: list[Segment]) -> list[list[int]]:
    """Returns what a bucket remembers of segments."""
    return [
        [segment.number, segment.level, segment.rows, segment.first, segment.last]
        for segment in segments
    ]


def segments_from_json(data: list[list[int]]) -> list[Segment]:
    """The segments that `segments_to_json` wrote."""
    names = ("number", "level", "rows", "first", "last")
    return [Segment(**_named(names, values)) for values in data]


def _named(names: tuple[str, ...], values: list[int]) -> Mapping[str, Any]:
    return dict(zip(names, values, strict=True))


def to_bytes(table: pa.Table) -> bytes:
    """Rows as an Arrow stream."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table.combine_chunks())
    return bytes(sink.getvalue().to_pybytes())


def from_bytes(data: bytes) -> pa.Table:
    """The rows of an Arrow stream."""
    return pa.ipc.open_stream(pa.py_buffer(data)).read_all()
