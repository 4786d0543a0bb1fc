"""Retained slices as a few runs of Arrow bytes: a batch adds one, and old ones go as a whole."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.compute as pc

# So many runs of one level become one of the next, so that few runs hold many batches.
_FAN = 8
# Runs are not merged beyond this, so that what has expired can go without rewriting the rest.
_HIGHEST = 3
_MOST_ROWS = 1 << 17


class Store(Protocol):
    """Where the bytes of runs are kept, by number."""

    def read(self, number: int) -> bytes:
        """The bytes that were written under a number."""

    def write(self, number: int, data: bytes) -> None:
        """Keep bytes under a number."""

    def remove(self, number: int) -> None:
        """Forget a number."""


@dataclass(frozen=True, kw_only=True)
class Run:
    """Where some retained slices are, and which starts they have."""

    number: int
    level: int
    rows: int
    first: int
    last: int


class Runs:
    """The retained slices of one lane. Each row is written at most once per level."""

    def __init__(self, store: Store, runs: list[Run], *, start: str) -> None:
        self._store = store
        self._start = start
        self.runs = runs

    @property
    def last(self) -> int:
        """The latest start of any retained slice; asked only where there is one."""
        return max(run.last for run in self.runs)

    def add(self, table: pa.Table, number: int) -> int:
        """Keep more slices under a number; gives the next number that is free."""
        self._write(table, number, level=0)
        number += 1
        level = 0
        while level < _HIGHEST:
            alike = [run for run in self.runs if run.level == level]
            if len(alike) < _FAN or sum(run.rows for run in alike) > _MOST_ROWS:
                break
            merged = pa.concat_tables((self._read(run) for run in alike), promote_options="default")
            for run in alike:
                self._store.remove(run.number)
            self.runs = [run for run in self.runs if run.level != level]
            level += 1
            self._write(merged, number, level=level)
            number += 1
        return number

    def since(self, start: int) -> Iterator[pa.Table]:
        """The slices from a start on; runs that are older are not read."""
        for run in self.runs:
            if run.last >= start:
                table = self._read(run)
                if run.first < start:
                    table = table.filter(pc.greater_equal(table.column(self._start), start))
                yield table

    def drop(self, before: int | None) -> None:
        """Forget the runs all of whose slices start before an instant, or all of them."""
        kept = [] if before is None else [run for run in self.runs if run.last >= before]
        for run in self.runs:
            if run not in kept:
                self._store.remove(run.number)
        self.runs = kept

    def _write(self, table: pa.Table, number: int, *, level: int) -> None:
        self._store.write(number, to_bytes(table))
        ends = pc.min_max(table.column(self._start)).as_py()
        run = Run(
            number=number,
            level=level,
            rows=table.num_rows,
            first=ends["min"],
            last=ends["max"],
        )
        self.runs = [*self.runs, run]

    def _read(self, run: Run) -> pa.Table:
        return from_bytes(self._store.read(run.number))


def runs_to_json(runs: list[Run]) -> list[list[int]]:
    """Runs as what a bucket remembers of them."""
    return [[run.number, run.level, run.rows, run.first, run.last] for run in runs]


def runs_from_json(data: list[list[int]]) -> list[Run]:
    """The runs that `runs_to_json` wrote."""
    names = ("number", "level", "rows", "first", "last")
    return [Run(**_named(names, one)) for one in data]


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
