"""Partials that are registers of HyperLogLog++, a run of bytes each; see `register_union`."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from muntin.aggregates.aggregate import Aggregate
from muntin.aggregates.parameters import LEAST_REGISTER_BITS, register_bits
from muntin.aggregates.representations import INTEGER
from muntin.model.trees import RECALC
from muntin.runtime.columns.arrow_arrays import ByteRows, arrow_of, integers_of, number_at, rows_of
from muntin.runtime.columns.distinct import Groups
from muntin.runtime.columns.partials import Bools, Int64s
from muntin.runtime.storage.component_storage import ComponentStorage, Folding
from muntin.runtime.storage.numbers import all_present
from muntin.runtime.storage.register_union import (
    ENTRY,
    RANK_BITS,
    codes_of,
    union_of_events,
    union_of_rows,
)
from muntin.techniques.kernels.compile import compile_kernel, inline

Floats = NDArray[np.float64]
# Up to here a count by zero registers is better, by the bits of address.
_THRESHOLDS = (
    *(10, 20, 40, 80, 220, 400, 900, 1800, 3100),
    *(6500, 15500, 20000, 50000, 120000, 350000),
)
# How many known biases are averaged.
_NEAREST = 6
_RANK = (1 << RANK_BITS) - 1
# The bits of a float's fraction.
_FRACTION = 52


@dataclass(frozen=True, kw_only=True)
class RegisterColumn:
    """Rows of registers: partial `i` is `values[places[i]]`."""

    values: pa.Array
    places: Int64s

    def __len__(self) -> int:
        return len(self.places)

    def rows(self, first: int) -> "RegisterColumn":
        return replace(self, places=self.places[first:])

    def where(self, chosen: Bools | Int64s) -> "RegisterColumn":
        return replace(self, places=self.places[chosen])

    def copy(self) -> "RegisterColumn":
        return _column(self.in_order())

    def concatenate(self, newer: "RegisterColumn") -> "RegisterColumn":
        return _column(pa.concat_arrays([self.in_order(), newer.in_order()]))

    def in_order(self) -> pa.Array:
        """Returns the registers of each row."""
        return self.values.take(pa.array(self.places))


@dataclass(frozen=True, kw_only=True)
class RegisterFolding:
    """Rows of registers to be united over the rows of windows."""

    column: RegisterColumn
    bits: int

    def over(self, lows: Int64s, highs: Int64s, technique: str) -> RegisterColumn:
        rows, anew = rows_of(self.column.values), technique == RECALC
        made = union_of_rows(rows, self.column.places, lows, highs, self.bits, anew=anew)
        return _column(arrow_of(*made))

    def over_few(self, picked: Int64s, firsts: Int64s, technique: str) -> RegisterColumn:
        few = replace(self, column=self.column.where(picked))
        return few.over(firsts[:-1], firsts[1:], technique)


class RegisterStorage(ComponentStorage):
    """A column of bytes with rows of registers."""

    is_cut: ClassVar[bool] = False

    @property
    def _bits(self) -> int:
        return register_bits(self.component.parameters)

    def read(self, batch: pa.RecordBatch) -> RegisterColumn:
        return _column(batch.column(self.columns[0]).cast(pa.large_binary()))

    def write(self, column: RegisterColumn) -> dict[str, pa.Array]:
        return {self.columns[0]: column.in_order()}

    def lift(self, batch: pa.RecordBatch, names: Sequence[str]) -> Int64s:
        """Returns the register that each event raises and its rank, from the hash of its value;
        zero for an event without a value."""
        column = batch.column(names[0])
        codes = codes_of(integers_of(column), self._bits)
        return np.where(all_present([column]), codes, 0)

    def combine(self, lifted: Any, groups: Groups) -> RegisterColumn:
        if isinstance(lifted, RegisterColumn):
            order = np.argsort(groups.numbers, kind="stable")
            firsts = np.zeros(groups.count + 1, np.int64)
            np.cumsum(np.bincount(groups.numbers, minlength=groups.count), out=firsts[1:])
            picked = order if groups.rows is None else groups.rows[order]
            return RegisterFolding(column=lifted, bits=self._bits).over_few(picked, firsts, RECALC)
        return self._unite(lifted, groups.rows, groups.numbers, groups.count)

    def lift_records(self, batch: pa.RecordBatch, names: Sequence[str]) -> RegisterColumn:
        codes = self.lift(batch, names)
        return self._unite(codes, None, np.arange(len(codes)), len(codes))

    def _unite(self, codes: Int64s, rows: Any, groups: Any, count: int) -> RegisterColumn:
        return _column(arrow_of(*union_of_events(codes, rows, groups, count, self._bits)))

    def folding(self, column: RegisterColumn, keys: Int64s) -> Folding:
        return RegisterFolding(column=column, bits=self._bits)

    def lower(
        self, aggregate: Aggregate, columns: Sequence[RegisterColumn]
    ) -> tuple[pa.Array, ...]:
        rows, places = rows_of(columns[0].values), columns[0].places
        return (pa.array(estimates(rows, places, self._bits)),)

    def answer_type(self, aggregate: Aggregate) -> tuple[str, int]:
        return INTEGER, 1


def _column(values: pa.Array) -> RegisterColumn:
    return RegisterColumn(values=values, places=np.arange(len(values)))


@cache
def bias_tables(bits: int) -> tuple[Floats, Floats]:
    """Returns raw estimates and the bias of each, by the bits of an address."""
    text = files("muntin.runtime.storage").joinpath("register_bias.csv").read_text()
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    raw, biases = (
        np.array(lines[2 * (bits - LEAST_REGISTER_BITS) + index].split(","), np.float64)
        for index in (0, 1)
    )
    return raw, biases


def estimates(rows: ByteRows, order: Int64s, bits: int) -> Int64s:
    """Estimates how many values each row of `order` has seen, to the number that Spark gives.

    This follows Spark's `HyperLogLogPlusPlusHelper.query` step by step: the same additions in the
    same order, the same search among the same constants.
    """
    registers = 1 << bits
    alpha = {4: 0.673, 5: 0.697, 6: 0.709}.get(bits, 0.7213 / (1.0 + 1.079 / registers))
    answers = np.empty(len(order), np.int64)
    _estimate(
        ByteRows(rows.starts[order], rows.ends[order], rows.data),
        bits,
        alpha * registers * registers,
        float(_THRESHOLDS[bits - LEAST_REGISTER_BITS]),
        *bias_tables(bits),
        answers,
    )
    return answers


def _fill_estimates(
    rows: Any, bits: Any, scale: Any, threshold: Any, raw: Any, biases: Any, answers: Any
) -> None:
    registers, data = 1 << bits, rows.data
    ranks = np.zeros(registers, np.uint8)
    # Sums of powers of two as large as these are exact, in any order.
    smallest = _FRACTION - bits
    for row in range(len(answers)):
        start, end = rows.starts[row], rows.ends[row]
        total: Any = 0
        zeros: Any = 0
        highest: Any = 0
        if end - start == registers:
            for place in range(start, end):
                rank = np.int64(data[place])
                highest = max(highest, rank)
                zeros += rank == 0
                total += np.int64(1) << max(smallest - rank, 0)
        else:
            for place in range(start, end, ENTRY):
                rank = np.int64(data[place]) & _RANK
                highest = max(highest, rank)
                total += np.int64(1) << max(smallest - rank, 0)
            zeros = registers - (end - start) // ENTRY
            total += zeros << smallest
        if highest <= smallest:
            inverse = total / (1 << smallest)
        else:
            inverse = _in_order(data, start, end, ranks)
        raw_estimate = scale / inverse
        answer = raw_estimate
        by_zeros = registers * np.log(registers / zeros) if zeros else np.inf
        if by_zeros <= threshold or (zeros and raw_estimate <= 2.5 * registers):
            answer = by_zeros
        elif raw_estimate < 5.0 * registers:
            answer = raw_estimate - _bias(raw_estimate, raw, biases)
        whole = np.floor(answer)
        answers[row] = np.int64(whole) + (answer - whole >= 0.5)


def _inverse_in_order(data: Any, start: Any, end: Any, ranks: Any) -> Any:
    """Sums the inverse powers in the order of the registers, as Spark does, rounding as it does."""
    registers = len(ranks)
    if end - start == registers:
        for register in range(registers):
            ranks[register] = data[start + register]
    else:
        for register in range(registers):
            ranks[register] = 0
        for place in range(start, end, ENTRY):
            code = number_at(data, place, ENTRY)
            ranks[code >> RANK_BITS] = np.uint8(code & _RANK)
    inverse = 0.0
    for register in range(registers):
        inverse += 1.0 / (np.int64(1) << np.int64(ranks[register]))
    return inverse


def _bias_of(estimate: Any, raw: Any, biases: Any) -> Any:
    """Returns the mean bias of the nearest raw estimates, some of which are not in order."""
    low, high = 0, len(raw) - 1
    nearest = -1
    while low <= high:
        middle = (low + high) >> 1
        if raw[middle] < estimate:
            low = middle + 1
        elif raw[middle] > estimate:
            high = middle - 1
        else:
            nearest = middle
            break
    if nearest < 0:
        nearest = low
    first = max(nearest - _NEAREST + 1, 0)
    last = min(first + _NEAREST, len(raw))
    while last < len(raw):
        ahead, behind = estimate - raw[last], estimate - raw[first]
        if ahead * ahead >= behind * behind:
            break
        first += 1
        last += 1
    total = 0.0
    for index in range(first, last):
        total += biases[index]
    return total / (last - first)


_in_order, _bias = inline(_inverse_in_order), inline(_bias_of)
_estimate: Any = compile_kernel(_fill_estimates)
