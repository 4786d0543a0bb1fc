"""Partials that are sets of values: a list of the values, and one of their counts if needed."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from muntin.aggregates.aggregate import Aggregate
from muntin.aggregates.representations import FLOAT, INTEGER, SetsOfValues
from muntin.aggregates.table import (
    BYTES,
    COUNT,
    ITEMS,
    PERCENTILES,
    STATE,
    TEXT,
    VALUE,
    VALUES,
)
from muntin.runtime.columns.distinct import Distinct, Groups, distinct_integers, distinct_pairs
from muntin.runtime.columns.key_codes import normalize_floats, number_values
from muntin.runtime.columns.partials import Bools, Int64s
from muntin.runtime.columns.value_codes import Coding, encode
from muntin.runtime.columns.value_sets import SetColumn, SetFolding, WindowSets, no_sets, offsets_of
from muntin.runtime.storage.component_storage import ComponentStorage, Folding
from muntin.runtime.storage.summaries import summarize
from muntin.techniques.kernels.compile import compile_kernel
from muntin.techniques.sweeps.latest_occurrence import without_superseded

# Elements of lists have Spark's own types.
_ELEMENTS = {INTEGER: "bigint", FLOAT: "double"}


@dataclass(frozen=True, kw_only=True)
class EventValues:
    """The values of events as numbers of distinct ones; `valid` is None if none is null."""

    codes: Distinct
    coding: Coding
    valid: Bools | None


class SetStorage(ComponentStorage):
    """A column of lists of values, and one of lists of their counts if the aggregate needs them."""

    is_cut: ClassVar[bool] = False

    @property
    def has_superseded(self) -> bool:
        """Whether only the latest occurrence of a value counts."""
        return not self._has_counts

    @property
    def _has_counts(self) -> bool:
        return self.monoid.width > 1

    @property
    def _tells_zeros_apart(self) -> bool:
        assert isinstance(self.representation, SetsOfValues)
        return self.representation.distinguishes_zeros

    def read(self, batch: pa.RecordBatch) -> SetColumn:
        lists = batch.column(self.columns[0])
        if not pa.types.is_list(lists.type):
            # The slices are of an earlier plan without this component.
            return no_sets(len(lists), has_counts=self._has_counts)
        lengths = pc.list_value_length(lists).fill_null(0).to_numpy(zero_copy_only=False)
        codes, coding = encode(lists.flatten(), in_order=self._has_counts)
        counts = None
        if self._has_counts:
            flat = batch.column(self.columns[1]).flatten()
            counts = np.array(flat.to_numpy(zero_copy_only=False), np.int64)
        return SetColumn(offsets=offsets_of(lengths), codes=codes, counts=counts, coding=coding)

    def write(self, column: SetColumn | WindowSets) -> dict[str, pa.Array]:
        sets = column.column
        lists = [sets.lists()]
        if sets.counts is not None:
            offsets = pa.array(sets.offsets, pa.int32())
            lists.append(pa.ListArray.from_arrays(offsets, pa.array(sets.counts)))
        return dict(zip(self.columns, lists, strict=True))

    def lift(self, batch: pa.RecordBatch, names: Sequence[str]) -> EventValues:
        column = batch.column(names[0])
        valid = None
        if column.null_count:
            valid = column.is_valid().to_numpy(zero_copy_only=False)
        if self._tells_zeros_apart and pa.types.is_floating(column.type):
            bits = _one_nan(column.fill_null(0.0)).view(np.int64)
            codes = distinct_integers(bits, valid)
            values = column.take(pa.array(codes.firsts))
        else:
            codes = number_values(column)
            values = normalize_floats(column.take(pa.array(codes.firsts)))
        return EventValues(codes=codes, coding=Coding(kind=column.type, values=values), valid=valid)

    def combine(self, lifted: EventValues, groups: Groups) -> SetColumn:
        """Returns the set of values of each group, with counts if the aggregate needs them."""
        codes, valid = lifted.codes.numbers, lifted.valid
        if groups.rows is not None:
            codes = codes[groups.rows]
            valid = None if valid is None else valid[groups.rows]
        rows = None if valid is None else np.flatnonzero(valid)
        sizes = lifted.codes.count, groups.count
        pairs = distinct_pairs(codes, groups.numbers, sizes, rows)
        owners = groups.numbers[pairs.firsts]
        offsets = offsets_of(np.bincount(owners, minlength=groups.count))
        order = np.empty(len(owners), np.int64)
        _place(owners, offsets[:-1].copy(), order)
        counts = None
        if self._has_counts:
            counts = np.bincount(pairs.numbers, minlength=pairs.count).astype(np.int64)[order]
        return SetColumn(
            offsets=offsets,
            codes=codes[pairs.firsts][order].astype(np.int64),
            counts=counts,
            coding=lifted.coding,
        )

    def lift_records(self, batch: pa.RecordBatch, names: Sequence[str]) -> SetColumn:
        column = batch.column(names[0])
        values = column.drop_null()
        if not self._tells_zeros_apart:
            values = normalize_floats(values)
        elif pa.types.is_floating(values.type):
            values = pa.array(_one_nan(values))
        codes, coding = encode(values, in_order=self._has_counts)
        present = column.is_valid().to_numpy(zero_copy_only=False).astype(np.int64)
        counts = np.ones(len(codes), np.int64) if self._has_counts else None
        return SetColumn(offsets=offsets_of(present), codes=codes, counts=counts, coding=coding)

    def folding(self, column: SetColumn | WindowSets, keys: Int64s) -> Folding:
        return SetFolding(column.column, keys)

    def lower(self, aggregate: Aggregate, columns: Sequence[Any]) -> tuple[pa.Array, ...]:
        return summarize(aggregate, columns, self.value_type)

    def answer_type(self, aggregate: Aggregate) -> tuple[str, int]:
        element = _ELEMENTS.get(self.value_type, self.value_type)
        match aggregate.definition.result:
            case result if result in (VALUES, TEXT):
                return f"array<{element}>", 1
            case result if result == PERCENTILES and isinstance(aggregate.percentages, tuple):
                return "array<double>", 1
            case result if result == ITEMS:
                return f"array<struct<item:{element},count:bigint>>", 1
            case result if result in (BYTES, STATE):
                return "binary", 1
            case result if result == VALUE:
                is_sum = self.value_type == INTEGER and aggregate.definition.summary == "sum"
                return self.value_type, 1 + is_sum
            case result:
                return INTEGER if result == COUNT else FLOAT, 1

    def without_superseded(
        self, batch: pa.RecordBatch, keys: np.ndarray, count: int, is_passed: Bools
    ) -> dict[str, pa.Array]:
        column = self.read(batch)
        if not len(column.codes):
            return {}
        lengths = np.diff(column.offsets)
        values = distinct_integers(column.codes)
        owners = np.repeat(keys, lengths)
        pairs = distinct_pairs(values.numbers, owners, (values.count, count), None)
        stays = without_superseded(pairs.numbers, column.offsets, is_passed, pairs.count)
        rows = np.repeat(np.arange(len(lengths)), lengths)
        left = np.bincount(rows[stays], minlength=len(lengths))
        return self.write(column.with_values(np.flatnonzero(stays), offsets_of(left)))


def _one_nan(column: pa.Array) -> np.ndarray:
    """Returns floats with one NaN; -0.0 stays."""
    values = np.array(column.to_numpy(zero_copy_only=False), np.float64)
    values[np.isnan(values)] = np.nan
    return values


def _order_by_owner(owners: Any, places: Any, order: Any) -> None:
    """Fills `order` with the entries ordered by owner; `places` has the first place of each owner,
    and is overwritten."""
    for entry in range(len(owners)):
        owner = owners[entry]
        order[places[owner]] = entry
        places[owner] += 1


_place = compile_kernel(_order_by_owner)
