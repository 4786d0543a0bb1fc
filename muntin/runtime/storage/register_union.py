"""Rows of registers of HyperLogLog++, as runs of bytes, and their unions.

A value's hash says which register it is in, and its rank there; a register keeps the highest rank.
A row has the shorter of two forms: a byte for each register, its rank; or three bytes for each
register that is not zero, `index << 6 | rank`, lowest byte first. The length identifies the form:
the number of registers is a power of two, so it is not a multiple of three.

A union takes the higher rank of each register. It is computed in an array with a byte per register.
If few registers are set, only these are cleared afterwards, not the whole array.
"""

from typing import Any

import numpy as np

from muntin.runtime.columns.arrow_arrays import ByteRows, number_at
from muntin.runtime.columns.partials import Int64s
from muntin.techniques.kernels.compile import compile_kernel, inline

# The bits of a rank, and the bytes of a register that is written with its index.
RANK_BITS = 6
ENTRY = 3
# The most bytes of suffixes in two stacks. To stay below, only some rows get a suffix.
_MOST_BYTES = 1 << 26


def codes_of(hashes: Int64s, bits: int) -> Int64s:
    """Returns `index << 6 | rank` of each hash, for an address of `bits` bits."""
    codes = np.empty(len(hashes), np.int64)
    _codes(hashes.view(np.uint64), np.uint64(bits), codes)
    return codes


def _zeros_ahead(word: Any) -> Any:
    """Returns the leading zeros of 64 bits that are not all zero."""
    zeros = 0
    for shift in (32, 16, 8, 4, 2, 1):
        if word >> np.uint64(64 - shift) == 0:
            zeros += shift
            word = word << np.uint64(shift)
    return zeros


def _fill_codes(hashes: Any, bits: Any, codes: Any) -> None:
    padding = np.uint64(1) << (bits - np.uint64(1))
    for row in range(len(hashes)):
        index = np.int64(hashes[row] >> (np.uint64(64) - bits))
        rank = _zeros((hashes[row] << bits) | padding) + 1
        codes[row] = index << RANK_BITS | rank


def union_of_events(codes: Int64s, rows: Int64s | None, numbers: Any, count: int, bits: int) -> Any:
    """Returns (offsets, data): the registers of each of `count` groups, from events.

    `codes` are those of `codes_of`, zero for an event without a value; `numbers` has the group
    of each row of `rows`, or of all.
    """
    firsts, ordered = _by_group(codes, rows, numbers, count)
    return _gathered(ordered, firsts, 1 << bits)


def union_of_rows(
    rows: ByteRows, order: Int64s, lows: Int64s, highs: Int64s, bits: int, *, anew: bool
) -> Any:
    """Returns (offsets, data): the union of the rows `order[lows[i] : highs[i]]`, for each i.

    No bound decreases. With `anew` every union is computed by itself, else by two stacks.
    """
    ordered = ByteRows(rows.starts[order], rows.ends[order], rows.data)
    if anew:
        return _anew(ordered, lows, highs, 1 << bits)
    widest = int((highs - lows).max(initial=1))
    spread = -(-widest * (1 << bits) // _MOST_BYTES)
    return _by_stacks(ordered, lows, highs, 1 << bits, spread)


def _sort_by_group(codes: Any, rows: Any, numbers: Any, count: Any) -> Any:
    """Returns where the codes of each group begin, and the codes ordered by group."""
    firsts = np.zeros(count + 1, np.int64)
    for number in numbers:
        firsts[number + 1] += 1
    for group in range(count):
        firsts[group + 1] += firsts[group]
    free = firsts[:-1].copy()
    ordered = np.empty(len(numbers), np.int64)
    for index in range(len(numbers)):
        row = index if rows is None else rows[index]
        place = free[numbers[index]]
        ordered[place] = codes[row]
        free[numbers[index]] = place + 1
    return firsts, ordered


def _gather(codes: Any, firsts: Any, registers: Any) -> Any:
    """Unites the codes `codes[firsts[i] : firsts[i + 1]]`."""
    groups = len(firsts) - 1
    offsets = np.zeros(groups + 1, np.int64)
    # No group takes more than its events do, or than all registers.
    room = 0
    for group in range(groups):
        room += min(ENTRY * (firsts[group + 1] - firsts[group]), registers)
    data = np.empty(room, np.uint8)
    ranks = np.zeros(registers, np.uint8)
    touched = np.empty(registers, np.int64)
    place = 0
    for group in range(groups):
        count = 0
        for index in range(firsts[group], firsts[group + 1]):
            count = _raise(ranks, touched, count, codes[index])
        place = _write(ranks, touched, count, data, place)
        _clear(ranks, touched, count)
        offsets[group + 1] = place
    return offsets, data[:place]


def _raise_register(ranks: Any, touched: Any, count: Any, code: Any) -> Any:
    """Raises a register to a rank; returns how many registers are not zero, which are `touched`."""
    register, rank = code >> RANK_BITS, np.uint8(code & ((1 << RANK_BITS) - 1))
    if rank > ranks[register]:
        if ranks[register] == 0:
            touched[count] = register
            count += 1
        ranks[register] = rank
    return count


def _write_registers(ranks: Any, touched: Any, count: Any, data: Any, place: Any) -> Any:
    """Writes a row, the shorter way; returns where the next one begins."""
    if ENTRY * count >= len(ranks):
        for register in range(len(ranks)):
            data[place + register] = ranks[register]
        return place + len(ranks)
    for index in range(count):
        code = touched[index] << RANK_BITS | np.int64(ranks[touched[index]])
        for byte in range(ENTRY):
            data[place + byte] = np.uint8((code >> (8 * byte)) & 255)
        place += ENTRY
    return place


def _clear_registers(ranks: Any, touched: Any, count: Any) -> None:
    for index in range(count):
        ranks[touched[index]] = 0


def _add_row(rows: Any, row: Any, ranks: Any, touched: Any, count: Any) -> Any:
    """Unites a row with registers; returns how many are not zero."""
    registers, data = len(ranks), rows.data
    start, end = rows.starts[row], rows.ends[row]
    if end - start == registers:
        for register in range(registers):
            code = np.int64(register) << RANK_BITS | np.int64(data[start + register])
            count = _raise(ranks, touched, count, code)
    else:
        for place in range(start, end, ENTRY):
            count = _raise(ranks, touched, count, number_at(data, place, ENTRY))
    return count


def _add_to_bytes(rows: Any, row: Any, ranks: Any) -> None:
    """Unites a row with registers, without counting those that are not zero."""
    registers, data = len(ranks), rows.data
    start, end = rows.starts[row], rows.ends[row]
    if end - start == registers:
        for register in range(registers):
            ranks[register] = max(ranks[register], data[start + register])
    else:
        for place in range(start, end, ENTRY):
            code = number_at(data, place, ENTRY)
            register, rank = code >> RANK_BITS, np.uint8(code & ((1 << RANK_BITS) - 1))
            ranks[register] = max(ranks[register], rank)


def _copy_row(rows: Any, row: Any, united: Any, place: Any) -> Any:
    """Writes a row as it is; returns where the next one begins."""
    size = rows.ends[row] - rows.starts[row]
    united[place : place + size] = rows.data[rows.starts[row] : rows.ends[row]]
    return place + size


def _more_room(united: Any, place: Any, registers: Any) -> Any:
    """Returns rows that are written up to `place`, with room for one more at least."""
    if place + registers <= len(united):
        return united
    larger = np.empty(2 * len(united), np.uint8)
    larger[:place] = united[:place]
    return larger


def _unite_anew(rows: Any, lows: Any, highs: Any, registers: Any) -> Any:
    """Unites the rows `[lows[i], highs[i])` for each i."""
    offsets = np.zeros(len(lows) + 1, np.int64)
    united = np.empty(max(1 << 16, 2 * registers), np.uint8)
    ranks = np.zeros(registers, np.uint8)
    touched = np.empty(registers, np.int64)
    place = 0
    for window in range(len(lows)):
        low, high = lows[window], highs[window]
        united = _with_room(united, place, registers)
        if high - low == 1:
            place = _copy(rows, low, united, place)
        else:
            count = 0
            for row in range(low, high):
                count = _add(rows, row, ranks, touched, count)
            place = _write(ranks, touched, count, united, place)
            _clear(ranks, touched, count)
        offsets[window + 1] = place
    return offsets, united[:place]


def _list_touched(ranks: Any, touched: Any) -> Any:
    """Returns the number of registers that are not zero, and lists them in `touched` if they are
    few enough to be written one by one."""
    count = 0
    for register in range(len(ranks)):
        count += ranks[register] > 0
    if ENTRY * count < len(ranks):
        count = 0
        for register in range(len(ranks)):
            if ranks[register]:
                touched[count] = register
                count += 1
    return count


def _fill_suffixes(rows: Any, low: Any, high: Any, spread: Any, ranks: Any, suffixes: Any) -> None:
    """Makes the unions of the rows from some row to `high`: of every `spread`-th row."""
    for row in range(high - 1, low - 1, -1):
        _add_bytes(rows, row, ranks)
        if (high - row) % spread == 0:
            suffixes[(high - row) // spread - 1] = ranks
    ranks[:] = 0


def _unite_by_stacks(rows: Any, lows: Any, highs: Any, registers: Any, spread: Any) -> Any:
    """Unites the rows `[lows[i], highs[i])` for each i, by two stacks.

    `back` has the union of the rows from `middle` on, and `suffixes` those of the rows from some
    row to `middle`: of every `spread`-th row, counted back from `middle`.
    """
    offsets = np.zeros(len(lows) + 1, np.int64)
    united = np.empty(max(1 << 16, 2 * registers), np.uint8)
    ranks, back = np.zeros(registers, np.uint8), np.zeros(registers, np.uint8)
    touched = np.empty(registers, np.int64)
    suffixes = np.empty((0, registers), np.uint8)
    middle = reached = place = 0
    for window in range(len(lows)):
        low, high = lows[window], highs[window]
        united = _with_room(united, place, registers)
        if high - low == 1:
            place = _copy(rows, low, united, place)
            offsets[window + 1] = place
            continue
        if low >= middle:
            # All rows of the window move to the front.
            middle = reached = high
            back[:] = 0
            needed = (high - low) // spread + 1
            if needed > len(suffixes):
                suffixes = np.empty((needed, registers), np.uint8)
            _suffixes(rows, low, high, spread, ranks, suffixes)
        for row in range(reached, high):
            _add_bytes(rows, row, back)
        reached = max(reached, high)
        # Rows before the first suffix are few.
        ahead = (middle - low) // spread
        for row in range(low, middle - ahead * spread):
            _add_bytes(rows, row, ranks)
        if ahead:
            for register in range(registers):
                ranks[register] = max(ranks[register], suffixes[ahead - 1, register])
        for register in range(registers):
            ranks[register] = max(ranks[register], back[register])
        place = _write(ranks, touched, _touch(ranks, touched), united, place)
        ranks[:] = 0
        offsets[window + 1] = place
    return offsets, united[:place]


_zeros = inline(_zeros_ahead)
_codes: Any = compile_kernel(_fill_codes)
_raise, _write = inline(_raise_register), inline(_write_registers)
_clear, _touch = inline(_clear_registers), inline(_list_touched)
_add, _add_bytes = inline(_add_row), inline(_add_to_bytes)
_suffixes, _copy, _with_room = (
    compile_kernel(_fill_suffixes),
    compile_kernel(_copy_row),
    compile_kernel(_more_room),
)
_by_group: Any = compile_kernel(_sort_by_group)
_gathered: Any = compile_kernel(_gather)
_anew: Any = compile_kernel(_unite_anew)
_by_stacks: Any = compile_kernel(_unite_by_stacks)
