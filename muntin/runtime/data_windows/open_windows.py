"""The state of a tree of data windows between two steps of a stream, as Arrow bytes.

It has the partial of every slice that an open window begins with, the start of every open window,
and for every key the facts that its next record is compared with. Columns are named after windows
and components, so that a tree that has lost some of them still finds its own.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from muntin.aggregates.aggregate import Component
from muntin.model.plan_json import window_to_json
from muntin.model.trees import DataTree
from muntin.runtime.arrow_batches import from_bytes, to_bytes
from muntin.runtime.columns.partials import Bools, Column, Int64s
from muntin.runtime.data_windows.custom_windows import CustomDiscretizer
from muntin.runtime.data_windows.read_records import RecordLayout, lowest, read_values
from muntin.runtime.data_windows.window_stream import Discretizer, PreviousRecord
from muntin.runtime.storage.component_storage import ComponentStorage

_LAST, _MADE = "last", "made"
_LABELS = ("keys", "slices", "starts", "ends", "asks")


@dataclass(frozen=True, kw_only=True)
class DiscretizerWindows:
    """The open windows of one stream, by key and in the order in which they began."""

    keys: Int64s
    # The slice that each begins with.
    slices: Int64s
    starts: Int64s
    # The ends if no more records arrive; `NO_END` where only a record can end the window.
    ends: Int64s
    # Whether each gives an answer when it closes.
    asks: Bools

    def where(self, chosen: Bools | Int64s) -> "DiscretizerWindows":
        """Some of the windows, by their numbers or by a mask."""
        return DiscretizerWindows(**{label: getattr(self, label)[chosen] for label in _LABELS})

    def concatenate(self, others: "DiscretizerWindows") -> "DiscretizerWindows":
        """These windows, then others."""
        both = {label: [getattr(self, label), getattr(others, label)] for label in _LABELS}
        return DiscretizerWindows(**{label: np.concatenate(both[label]) for label in _LABELS})


@dataclass(frozen=True, kw_only=True)
class OpenWindows:
    """The state of some keys."""

    # The columns of the keys, a row each.
    keys: pa.Table
    count: int
    before: PreviousRecord
    # For every stream: its integers for each key; its objects as JSON, None unless a user's class
    # finds its windows; and its open windows.
    memory: Sequence[Mapping[str, Int64s]]
    user_objects: Sequence[list[str | None] | None]
    windows: Sequence[DiscretizerWindows]
    # The key of each slice, and its partials.
    slice_keys: Int64s
    partials: Mapping[Component, Column]


def no_open_windows(
    layout: RecordLayout, records: pa.RecordBatch, streams: Sequence[Discretizer]
) -> OpenWindows:
    """Returns the state before the first records."""
    none, no = np.empty(0, np.int64), np.empty(0, np.bool_)
    empty = records.slice(0, 0)
    kinds = {sql: records.schema.field(name).type for sql, name in layout.measures.items()}
    return OpenWindows(
        keys=pa.Table.from_batches([empty]).select(layout.layout.key_columns),
        count=0,
        before=PreviousRecord(
            lasts=none,
            met=dict.fromkeys(layout.conditions, no),
            highest={sql: lowest(kind, 0) for sql, kind in kinds.items()},
        ),
        memory=[dict.fromkeys(stream.memory, none) for stream in streams],
        user_objects=[[] if isinstance(stream, CustomDiscretizer) else None for stream in streams],
        windows=[
            DiscretizerWindows(keys=none, slices=none, starts=none, ends=none, asks=no)
            for _ in streams
        ],
        slice_keys=none,
        partials=read_values(empty, layout),
    )


def stream_names(tree: DataTree, streams: Sequence[tuple[int, Discretizer]]) -> list[str]:
    """Returns the names of a tree's streams: the window, and the number among its streams."""
    names: list[str] = []
    for number, _ in streams:
        text = json.dumps(window_to_json(tree.nodes[number].window), sort_keys=True)
        names.append(f"{text}#{sum(name.startswith(text + '#') for name in names)}")
    return names


def to_state(
    open_windows: OpenWindows, names: Sequence[str], storages: Sequence[ComponentStorage]
) -> bytes:
    """Returns open windows as Arrow bytes; `names` are those of the streams."""
    known: dict[str, Any] = {_LAST: open_windows.before.lasts}
    known |= {f"met {sql}": met for sql, met in open_windows.before.met.items()}
    known |= {f"highest {sql}": values for sql, values in open_windows.before.highest.items()}
    windows: dict[str, list[Any]] = {"stream": [], **{label: [] for label in _LABELS}}
    for number, (name, open_) in enumerate(zip(names, open_windows.windows, strict=True)):
        known |= {
            f"{label} {name}": open_windows.memory[number][label]
            for label in open_windows.memory[number]
        }
        if open_windows.user_objects[number] is not None:
            known[f"{_MADE} {name}"] = pa.array(open_windows.user_objects[number], pa.string())
        windows["stream"].append(np.full(len(open_.keys), number, np.int32))
        for label in _LABELS:
            windows[label].append(getattr(open_, label))
    slices: dict[str, Any] = {"key": open_windows.slice_keys}
    for storage in storages:
        name = storage.component.state_name
        columns = storage.to_state(open_windows.partials[storage.component])
        slices |= {f"{label} {name}": values for label, values in columns.items()}
    tables = (
        open_windows.keys,
        pa.table(known),
        pa.table(slices),
        pa.table({label: np.concatenate(parts) for label, parts in windows.items()}),
    )
    parts = {"names": json.dumps(list(names)).encode()}
    parts |= dict(zip(("keys", "known", "slices", "windows"), map(to_bytes, tables), strict=True))
    return to_bytes(pa.table({name: pa.array([data], pa.binary()) for name, data in parts.items()}))


def from_state(
    data: bytes, names: Sequence[str], streams: Sequence[Discretizer], layout: RecordLayout
) -> OpenWindows:
    """Returns the open windows that `to_state` wrote, of these streams and components.

    Of streams that have joined since, nothing is known yet.
    """
    parts = {name: values[0] for name, values in from_bytes(data).to_pydict().items()}
    keys, known, slices, windows = (
        from_bytes(parts[name]) for name in ("keys", "known", "slices", "windows")
    )
    written = json.loads(parts["names"])

    def numbers(table: pa.Table, name: str) -> Any:
        return np.array(table.column(name).to_numpy())

    def columns_with(prefix: str) -> dict[str, Any]:
        chosen = [name for name in known.column_names if name.startswith(prefix + " ")]
        return {name.removeprefix(prefix + " "): numbers(known, name) for name in chosen}

    partials: dict[Component, Column] = {}
    for storage in layout.layout.storages:
        named = (column.partition(" ") for column in slices.column_names)
        wanted = storage.component.state_name
        columns = {
            label: slices.column(f"{label} {name}").combine_chunks()
            for label, _, name in named
            if name == wanted
        }
        # No window that asks for a new component begins with a slice from before it was asked for.
        partials[storage.component] = (
            storage.from_state(columns) if columns else storage.missing_partials(slices.num_rows)
        )
    owners = numbers(windows, "stream")
    stream_windows = []
    for name in names:
        mine = owners == (written.index(name) if name in written else -1)
        stream_windows.append(
            DiscretizerWindows(**{label: numbers(windows, label)[mine] for label in _LABELS})
        )
    # Drop the slices of keys whose windows were all of streams that are gone.
    slice_keys = numbers(slices, "key")
    used = np.flatnonzero(
        np.isin(slice_keys, np.concatenate([opened.keys for opened in stream_windows]))
    )
    stream_windows = [
        replace(opened, slices=np.searchsorted(used, opened.slices)) for opened in stream_windows
    ]
    count = known.num_rows
    met = dict.fromkeys(layout.conditions, np.zeros(count, np.bool_)) | columns_with("met")
    return OpenWindows(
        keys=keys,
        count=count,
        before=PreviousRecord(
            lasts=numbers(known, _LAST), met=met, highest=columns_with("highest")
        ),
        memory=[
            {
                label: numbers(known, f"{label} {name}")
                if name in written
                else np.zeros(count, np.int64)
                for label in stream.memory
            }
            for name, stream in zip(names, streams, strict=True)
        ],
        user_objects=[
            None
            if not isinstance(stream, CustomDiscretizer)
            else known.column(f"{_MADE} {name}").to_pylist()
            if name in written
            else [None] * count
            for name, stream in zip(names, streams, strict=True)
        ],
        windows=stream_windows,
        slice_keys=slice_keys[used],
        partials={component: column.where(used) for component, column in partials.items()},
    )
