"""Hashes of values as Apache DataSketches takes them: Murmur3 of 128 bits, with its own seed."""

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from muntin.runtime.columns.arrow_arrays import rows_of
from muntin.runtime.columns.partials import Int64s
from muntin.runtime.columns.value_codes import floats
from muntin.runtime.columns.value_sets import SetColumn
from muntin.techniques.kernels.compile import compile_kernel, inline

Words = NDArray[np.uint64]

_SEED = np.uint64(9001)
_C1, _C2 = np.uint64(0x87C37B91114253D5), np.uint64(0x4CF5AD432745937F)
_C3, _C4 = np.uint64(0x52DCE729), np.uint64(0x38495AB5)
_F1, _F2 = np.uint64(0xFF51AFD7ED558CCD), np.uint64(0xC4CEB9FE1A85EC53)


def hash_entries(column: SetColumn) -> tuple[Int64s, Words]:
    """Returns a number for each entry, and the hashes of values by these numbers, two words each.

    Both words are zero for an empty string, which sketches leave out.
    """
    values = column.coding.values
    if values is not None:
        words = np.empty((len(values), 2), np.uint64)
        _runs(rows_of(values), words)
        return column.codes, words
    codes = column.codes
    if pa.types.is_floating(column.coding.kind):
        # A set has one zero and one NaN.
        codes = floats(codes).view(np.int64)
    words = np.empty((len(codes), 2), np.uint64)
    _integers(codes.view(np.uint64), words)
    numbers: Int64s = np.arange(len(codes))
    return numbers, words


def _rotate(word: Any, bits: Any) -> Any:
    return (word << np.uint64(bits)) | (word >> np.uint64(64 - bits))


_turn = inline(_rotate)


def _first_word(word: Any) -> Any:
    return _turn(word * _C1, 31) * _C2


def _second_word(word: Any) -> Any:
    return _turn(word * _C2, 33) * _C1


_first, _second = inline(_first_word), inline(_second_word)


def _mix_word(word: Any) -> Any:
    word = (word ^ (word >> np.uint64(33))) * _F1
    word = (word ^ (word >> np.uint64(33))) * _F2
    return word ^ (word >> np.uint64(33))


_mix = inline(_mix_word)


def _hash_of_rest(one: Any, two: Any, first: Any, second: Any, length: Any) -> Any:
    """Returns the hash from the state before the last bytes, those bytes, and the length."""
    one = one ^ _first(first) ^ length
    two = two ^ _second(second) ^ length
    one = one + two
    two = two + one
    one, two = _mix(one), _mix(two)
    one = one + two
    return one, two + one


_finish = inline(_hash_of_rest)


def _word_at(data: Any, start: Any, end: Any) -> Any:
    """Returns up to eight bytes as a word, the lowest first."""
    word = np.uint64(0)
    for place in range(start, min(start + 8, end)):
        word |= np.uint64(data[place]) << np.uint64(8 * (place - start))
    return word


_word = inline(_word_at)


def _hash_integers(values: Any, words: Any) -> None:
    for row in range(len(values)):
        words[row, 0], words[row, 1] = _finish(
            _SEED, _SEED, values[row], np.uint64(0), np.uint64(8)
        )


def _hash_runs(values: Any, words: Any) -> None:
    data = values.data
    for row in range(len(values.starts)):
        start, end = values.starts[row], values.ends[row]
        if start == end:
            words[row, 0] = words[row, 1] = 0
            continue
        one, two = _SEED, _SEED
        whole = start + (end - start) // 16 * 16
        for place in range(start, whole, 16):
            one = _turn(one ^ _first(_word(data, place, end)), 27) + two
            one = one * np.uint64(5) + _C3
            two = _turn(two ^ _second(_word(data, place + 8, end)), 31) + one
            two = two * np.uint64(5) + _C4
        first, second = _word(data, whole, end), _word(data, whole + 8, end)
        words[row, 0], words[row, 1] = _finish(one, two, first, second, np.uint64(end - start))


_integers: Any = compile_kernel(_hash_integers)
_runs: Any = compile_kernel(_hash_runs)
