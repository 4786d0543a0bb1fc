"""HyperLogLog sketches of windows, as Apache DataSketches reads and writes them.

A value counts by its coupon: the address of a register, and a rank there. A sketch has a list of
up to seven coupons, then a table of them, and at last registers that keep the highest rank. Which
one it is, and all that it estimates, follows from the set of coupons, in whatever order they came.
"""

from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from muntin.runtime.columns.arrow_arrays import Bytes, arrow_of, number_at, put_number, rows_of
from muntin.runtime.columns.partials import Bools, Int64s
from muntin.runtime.columns.value_sets import SetColumn, offsets_of, sums_of
from muntin.runtime.sketches.murmur import hash_entries
from muntin.techniques.kernels.compile import compile_kernel, inline

Coupons = NDArray[np.uint32]
Float64s = NDArray[np.float64]

# The bits of the address in a coupon; the rank is above them.
_ADDRESS_BITS = 26
_ADDRESS = (1 << _ADDRESS_BITS) - 1
_MOST_RANK = 63
# The first eight bytes: how many words of four bytes there are before the data, a version, a
# family, the bits of a register's address, those of a place in the table, flags, a count, a mode.
_VERSION, _FAMILY = 1, 7
_HEADS = (2, 3, 10)
_LIST, _TABLE, _REGISTERS = 0, 1, 2
_EMPTY, _COMPACT, _OUT_OF_ORDER = 4, 8, 16
# Registers of a byte each; in images that are read they may have four bits or six.
_BYTES = 2 << 2
# The bits of a place in a list and in the smallest table; smaller sketches have no table.
_LIST_BITS, _TABLE_BITS = 3, 5
_LEAST_WITH_TABLE = 8
# The bits of a register's address if no sketch determines them, and the values that mark rows
# without a union.
_DEFAULT_BITS = 12
_NO_SKETCH, _DIFFERENT = -1, -2
# The offsets of the sums over registers, and of the registers.
_SUMS, _DATA = 16, 40


class _CouponRuns(NamedTuple):
    """Runs of coupons: run i is `coupons[offsets[i] : offsets[i + 1]]`, of a sketch with `bits[i]`
    bits of address, or of bytes that are no sketch if that is -1."""

    coupons: Coupons
    offsets: Int64s
    bits: Int64s
    has_registers: Bools


class _RowCoupons(NamedTuple):
    """The coupons of rows that have no registers: `counts[i]` from `starts[i]` on, in order; rows
    with registers have a count of -1. `bits` are those of an address."""

    coupons: Coupons
    starts: Int64s
    counts: Int64s
    bits: Int64s


def sketches_of_values(column: SetColumn, bits: int) -> pa.Array:
    """Returns the sketch of each row's values, with `2 ** bits` registers."""
    numbers, words = hash_entries(column)
    coupons = np.empty(len(words), np.uint32)
    _coupons(words, coupons)
    # Coupons of nothing are runs without coupons.
    there = coupons != 0
    runs = _CouponRuns(
        coupons=coupons[there],
        offsets=offsets_of(there.astype(np.int64)),
        bits=np.full(len(words), bits),
        has_registers=np.zeros(len(words), np.bool_),
    )
    return _unite(column.offsets, numbers, runs, bits, may_differ=False)


def united_sketches(column: SetColumn, *, may_differ: bool) -> pa.Array:
    """Returns the union of each row's sketches.

    A row is one byte if one of its sketches is no sketch, and empty if they differ in their number
    of registers but must not: Spark raises its error for it.
    """
    runs = _read(column.coding.values)
    return _unite(column.offsets, column.codes, runs, _DEFAULT_BITS, may_differ=may_differ)


def _unite(
    offsets: Int64s, numbers: Int64s, runs: _CouponRuns, default: int, *, may_differ: bool
) -> pa.Array:
    rows = len(offsets) - 1
    bits = np.full(rows, default)
    _plan(offsets, numbers, runs, may_differ, bits)
    limits = _most_coupons(bits)
    starts = offsets_of(np.minimum(sums_of(np.diff(runs.offsets)[numbers], offsets), limits))
    few = _RowCoupons(np.empty(starts[-1], np.uint32), starts, np.zeros(rows, np.int64), bits)
    _choose(offsets, numbers, runs, limits, few)
    counts = few.counts
    tables = np.full(rows, _TABLE_BITS)
    while (is_full := 4 * counts > 3 << tables).any():
        tables[is_full] += 1
    sizes = np.where(counts < 1 << _LIST_BITS, 8 + (4 << _LIST_BITS), 12 + (4 << tables))
    sizes = np.where(counts < 0, _DATA + (1 << np.maximum(bits, 0)), sizes)
    sizes = np.where(bits < 0, np.where(bits == _NO_SKETCH, 1, 0), sizes)
    places = offsets_of(sizes)
    data = np.zeros(places[-1], np.uint8)
    _write(few, tables, places, data)
    is_dense = np.flatnonzero(counts < 0)
    ranks = np.zeros((len(is_dense), _MOST_RANK + 1))
    _raise(is_dense, offsets, numbers, runs, bits, places + _DATA, data, ranks)
    _write_sums(data, places[is_dense], ranks)
    return arrow_of(places, data)


def _write_sums(data: Bytes, places: Int64s, ranks: Float64s) -> None:
    """Writes the figures from which a sketch is estimated: the sums of inverse powers of two of its
    ranks, up to 31 and from 32 on, and how many registers are zero.

    `ranks` has the number of registers of each rank, one row per sketch.
    """
    fields = np.zeros(len(places), np.dtype([("sums", "<f8", (2,)), ("zeros", "<i4")]))
    powers = 0.5 ** np.arange(_MOST_RANK + 1)
    fields["sums"][:, 0] = ranks[:, :32] @ powers[:32]
    fields["sums"][:, 1] = ranks[:, 32:] @ powers[32:]
    fields["zeros"] = ranks[:, 0]
    written = fields.view(np.uint8).reshape(len(places), fields.itemsize)
    data[places[:, None] + _SUMS + np.arange(fields.itemsize)] = written


def _most_coupons(bits: Int64s) -> Int64s:
    """Returns how many coupons a sketch has at most before it has registers."""
    limits: Int64s = np.where(
        bits < _LEAST_WITH_TABLE, (1 << _LIST_BITS) - 1, 3 << np.maximum(bits - _TABLE_BITS, 0)
    )
    return limits


def _make_coupons(words: Any, coupons: Any) -> None:
    for row in range(len(words)):
        if words[row, 0] == 0 and words[row, 1] == 0:
            coupons[row] = 0
            continue
        rank = 1
        while rank < _MOST_RANK and words[row, 1] >> np.uint64(64 - rank) == 0:
            rank += 1
        coupons[row] = (rank << _ADDRESS_BITS) | (np.int64(words[row, 0] & np.uint64(_ADDRESS)))


def _plan_rows(offsets: Any, numbers: Any, runs: Any, may_differ: Any, bits: Any) -> None:
    """Finds the bits of address of each row: those of the smallest registers that must be united,
    else of the largest sketch. Empty sketches only count if there is no other."""
    for row in range(len(bits)):
        chosen = fewest = empty = -1
        differs = is_wrong = False
        for entry in range(offsets[row], offsets[row + 1]):
            number = numbers[entry]
            own = runs.bits[number]
            if own < 0:
                is_wrong = True
                continue
            if runs.offsets[number] == runs.offsets[number + 1]:
                empty = max(empty, own)
                continue
            differs |= chosen >= 0 and chosen != own
            chosen = max(chosen, own)
            if runs.has_registers[number] and (fewest < 0 or own < fewest):
                fewest = own
        if is_wrong:
            bits[row] = _NO_SKETCH
        elif differs and not may_differ:
            bits[row] = _DIFFERENT
        elif fewest >= 0:
            bits[row] = fewest
        elif chosen >= 0 or empty >= 0:
            bits[row] = chosen if chosen >= 0 else empty


def _insert_coupon(table: Any, bits: Any, coupon: Any) -> Any:
    """Puts a coupon into a table as DataSketches does; returns whether it was not there."""
    mask = (np.int64(1) << bits) - 1
    place = np.int64(coupon) & mask
    step = ((np.int64(coupon) & _ADDRESS) >> bits) | 1
    while table[place] != 0:
        if table[place] == coupon:
            return False
        place = (place + step) & mask
    table[place] = coupon
    return True


_insert = inline(_insert_coupon)


def _gather_coupons(numbers: Any, runs: Any, limit: Any, table: Any, kept: Any) -> Any:
    """Keeps the different coupons of some runs; returns how many there are, or more than `limit` if
    they need registers."""
    bits = np.int64(_LIST_BITS)
    while 1 << bits < len(table):
        bits += 1
    count = 0
    for number in numbers:
        if runs.has_registers[number]:
            return limit + 1
        for place in range(runs.offsets[number], runs.offsets[number + 1]):
            if _insert(table, bits, runs.coupons[place]):
                if count == limit:
                    return limit + 1
                kept[count] = runs.coupons[place]
                count += 1
    return count


_gather = inline(_gather_coupons)


def _choose_coupons(offsets: Any, numbers: Any, runs: Any, limits: Any, few: Any) -> None:
    """Keeps the coupons of rows that have few, in order; others have a count of -1."""
    for row in range(len(few.bits)):
        if few.bits[row] < 0:
            continue
        own = numbers[offsets[row] : offsets[row + 1]]
        kept = few.coupons[few.starts[row] : few.starts[row + 1]]
        size = 1 << _LIST_BITS
        while size < 2 * (len(kept) + 1):
            size *= 2
        count = _gather(own, runs, limits[row], np.zeros(size, np.uint32), kept)
        if count <= limits[row]:
            few.counts[row] = count
            kept[:count] = np.sort(kept[:count])
        else:
            few.counts[row] = -1


def _raise_registers(
    rows: Any,
    offsets: Any,
    numbers: Any,
    runs: Any,
    bits: Any,
    places: Any,
    data: Any,
    ranks: Any,
) -> None:
    """Writes the registers of some rows, and how many of them have each rank."""
    for index, row in enumerate(rows):
        mask = (np.int64(1) << bits[row]) - 1
        registers = data[places[row] : places[row] + mask + 1]
        for number in numbers[offsets[row] : offsets[row + 1]]:
            for place in range(runs.offsets[number], runs.offsets[number + 1]):
                register = np.int64(runs.coupons[place]) & mask
                rank = np.uint8(np.int64(runs.coupons[place]) >> _ADDRESS_BITS)
                registers[register] = max(registers[register], rank)
        for rank in registers:
            ranks[index, rank] += 1


def _write_sketches(few: Any, tables: Any, images: Any, data: Any) -> None:
    """Writes the heads of sketches, and the lists and tables of those without registers."""
    for row in range(len(few.bits)):
        at, count = images[row], few.counts[row]
        if few.bits[row] < 0:
            continue
        data[at + 1], data[at + 2], data[at + 3] = _VERSION, _FAMILY, few.bits[row]
        own = few.coupons[few.starts[row] : few.starts[row] + max(count, 0)]
        if count < 0:
            data[at], data[at + 5], data[at + 7] = 10, _OUT_OF_ORDER, _BYTES | _REGISTERS
        elif count < 1 << _LIST_BITS:
            data[at], data[at + 4], data[at + 7] = 2, _LIST_BITS, _BYTES | _LIST
            data[at + 5], data[at + 6] = _EMPTY if count == 0 else 0, count
            for place in range(count):
                put_number(data, at + 8 + 4 * place, 4, own[place])
        else:
            data[at], data[at + 4], data[at + 7] = 3, tables[row], _BYTES | _TABLE
            put_number(data, at + 8, 4, count)
            table = np.zeros(1 << tables[row], np.uint32)
            for coupon in own:
                _insert(table, tables[row], coupon)
            for place in range(len(table)):
                put_number(data, at + 12 + 4 * place, 4, table[place])


def _read(images: pa.Array | None) -> _CouponRuns:
    """Returns the coupons of sketches; a register is one, too."""
    rows = rows_of(images)
    most, counts = np.zeros((2, len(rows.starts)), np.int64)
    bits = np.full(len(rows.starts), -1)
    has_registers = np.zeros(len(rows.starts), np.bool_)
    _measure(rows, most, bits, has_registers)
    room = offsets_of(most)
    coupons = np.empty(room[-1], np.uint32)
    _unpack(rows, room, bits, coupons, counts)
    chosen = np.repeat(room[:-1] - offsets_of(counts)[:-1], counts) + np.arange(counts.sum())
    return _CouponRuns(
        coupons=coupons[chosen],
        offsets=offsets_of(counts),
        bits=bits,
        has_registers=has_registers,
    )


def _measure_images(rows: Any, most: Any, bits: Any, has_registers: Any) -> None:
    """Finds the most coupons that each image can have, and its bits of address, -1 if it is not an
    image of a sketch."""
    data = rows.data
    for row in range(len(rows.starts)):
        at, size = rows.starts[row], rows.ends[row] - rows.starts[row]
        if size < 8 or data[at + 1] != _VERSION or data[at + 2] != _FAMILY:
            continue
        mode, kind, own = data[at + 7] & 3, (data[at + 7] >> 2) & 3, np.int64(data[at + 3])
        if mode > 2 or kind > 2 or own < 4 or own > 21 or data[at] != _HEADS[mode]:
            continue
        head = 4 * np.int64(data[at])
        if size < head:
            continue
        table: Any = np.int64(1) << np.int64(data[at + 4] & 31)
        is_compact = data[at + 5] & _COMPACT
        if mode == _LIST:
            count = np.int64(data[at + 6])
            needed = head + 4 * count
        elif mode == _TABLE:
            count = number_at(data, at + 8, 4) if is_compact else table
            needed = head + 4 * count
        else:
            registers = np.int64(1) << own
            count = registers
            needed = head + (registers if kind == 2 else registers * (2 + kind) // 4 + kind)
            if kind == 0:
                # Ranks that do not fit four bits are coupons behind the registers.
                others = number_at(data, at + 36, 4)
                if others and not is_compact:
                    others = table
                count += others
                needed += 4 * others
        if size >= needed:
            most[row], bits[row], has_registers[row] = count, own, mode == _REGISTERS


def _unpack_coupons(rows: Any, room: Any, bits: Any, coupons: Any, counts: Any) -> None:
    data = rows.data
    for row in range(len(rows.starts)):
        if bits[row] < 0:
            continue
        at, first = rows.starts[row], room[row]
        mode, kind = data[at + 7] & 3, (data[at + 7] >> 2) & 3
        count = np.int64(0)
        registers = np.int64(0)
        behind = at + 4 * np.int64(data[at])
        if mode == _REGISTERS:
            registers = np.int64(1) << bits[row]
            for register in range(registers):
                if kind == 2:
                    rank: Any = np.int64(data[behind + register]) & 63
                elif kind == 1:
                    place = behind + ((6 * register) >> 3)
                    pair = np.int64(data[place]) | np.int64(data[place + 1]) << 8
                    rank = (pair >> ((6 * register) & 7)) & 63
                else:
                    pair = np.int64(data[behind + (register >> 1)])
                    rank = (pair >> (4 * (register & 1))) & 15
                    rank = 0 if rank == 15 else rank + np.int64(data[at + 6])
                if rank:
                    coupons[first + count] = (rank << _ADDRESS_BITS) | register
                    count += 1
            behind += registers >> 1
        for place in range(room[row + 1] - first - registers):
            word = number_at(data, behind + 4 * place, 4)
            if word:
                coupons[first + count] = word
                count += 1
        counts[row] = count


_coupons: Any = compile_kernel(_make_coupons)
_plan: Any = compile_kernel(_plan_rows)
_choose: Any = compile_kernel(_choose_coupons)
_write: Any = compile_kernel(_write_sketches)
_raise: Any = compile_kernel(_raise_registers)
_measure: Any = compile_kernel(_measure_images)
_unpack: Any = compile_kernel(_unpack_coupons)
