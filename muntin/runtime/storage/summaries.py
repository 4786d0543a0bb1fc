"""Summaries of sets of values: what functions of the table answer from the sets of windows."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from muntin.aggregates.aggregate import Aggregate
from muntin.aggregates.parameters import (
    allows_different_sizes,
    count_min,
    hll_bits,
    kll_accuracy,
    theta_bits,
)
from muntin.aggregates.representations import INTEGER
from muntin.aggregates.table import ITEMS, STATE, TEXT
from muntin.runtime.columns.partials import Int64s, scalars_of
from muntin.runtime.columns.value_codes import decode, floats
from muntin.runtime.columns.value_sets import SetColumn, WindowSets, offsets_of
from muntin.runtime.sketches import hll, kll, theta
from muntin.runtime.sketches.bitmaps import bitmaps_of_positions, combined_bitmaps
from muntin.runtime.sketches.count_min import count_min_sketches
from muntin.runtime.sketches.frequent_items import (
    items_sketches,
    top_items,
    with_null_counts,
    with_nulls,
)
from muntin.techniques.sweeps import latest_occurrence, ranked_counts

_INT64 = np.iinfo(np.int64)
# How many values of windows are hashed at a time.
_AT_ONCE = 1 << 20

# Returns the answers of a call over the sets of windows, given the type of their values: a column,
# or one for each slot if there are several.
_Summary = Callable[[Aggregate, WindowSets, str], pa.Array | tuple[pa.Array, ...]]


def summarize(
    aggregate: Aggregate, columns: Sequence[Any], value_type: str
) -> tuple[pa.Array, ...]:
    """Returns an aggregate's answers over the sets of windows, a column for each of its slots.

    `columns` has the sets, with values of a type, and for some aggregates the counts of nulls.
    """
    row = aggregate.definition
    assert row.summary is not None
    answers = _SUMMARIES[row.summary](aggregate, columns[0], value_type)
    if row.result == ITEMS:
        answers = with_nulls(answers, scalars_of(columns[1]).scalars[0], aggregate.parameters)
    elif row.result == STATE:
        answers = with_null_counts(answers, scalars_of(columns[1]).scalars[0])
    return answers if isinstance(answers, tuple) else (answers,)


def _sum(
    aggregate: Aggregate, sets: WindowSets, value_type: str
) -> pa.Array | tuple[pa.Array, ...]:
    missing = sets.sizes == 0
    if value_type != INTEGER:
        return pa.array(_float_sums(sets), mask=missing)
    return tuple(pa.array(summand, mask=missing) for summand in _summands(*_halves(sets)))


def _mean(aggregate: Aggregate, sets: WindowSets, value_type: str) -> pa.Array:
    if value_type == INTEGER:
        lower, upper = _halves(sets)
        totals = np.where(_fits(lower, upper), (upper << 32) + lower, 0).astype(np.float64)
        totals = np.where(_fits(lower, upper), totals, upper * 2.0**32 + lower)
    else:
        totals = _float_sums(sets)
    return pa.array(totals / np.maximum(sets.sizes, 1), mask=sets.sizes == 0)


def _xor(aggregate: Aggregate, sets: WindowSets, value_type: str) -> pa.Array:
    column = sets.column
    running = np.concatenate([np.zeros(1, np.int64), np.bitwise_xor.accumulate(column.codes)])
    # The bits before a window's values cancel out.
    bits = running[column.offsets[1:]] ^ running[column.offsets[:-1]]
    return pa.array(bits, mask=sets.sizes == 0)


def _list_in_order(aggregate: Aggregate, sets: WindowSets, value_type: str) -> pa.Array:
    """Returns the list of each window's values in order, each as often as it occurs."""
    column = sets.column
    windows = np.repeat(np.arange(len(column)), np.diff(column.offsets))
    ranks = column.ranks()
    order = np.lexsort((~ranks if aggregate.is_descending else ranks, windows))
    counts = np.ones(len(order), np.int64) if column.counts is None else column.counts
    places = np.repeat(order, counts[order])
    sizes = np.bincount(windows, counts, minlength=len(column)).astype(np.int64)
    is_text = aggregate.definition.result == TEXT
    # A text of no values is null.
    missing = pa.array(sizes == 0) if is_text else None
    lists = pa.ListArray.from_arrays(
        pa.array(offsets_of(sizes), pa.int32()),
        decode(column.codes[places], column.coding),
        mask=missing,
    )
    return lists


def _percentile(aggregate: Aggregate, sets: WindowSets, value_type: str) -> pa.Array:
    """Interpolates between the two values around a percentage, with Spark's rounding."""
    asked = aggregate.percentages
    many = asked if isinstance(asked, tuple) else (asked,)
    is_discrete = aggregate.definition.summary == "discrete"
    find = np.array([[p, is_discrete, aggregate.is_descending] for p in many], np.float64)
    entries = sets.folding.ranked_entries
    find = find.reshape(len(many), 3)
    totals, found = ranked_counts.positions_of(entries, sets.lows, sets.highs, find)
    of_rank = _as_floats(sets, entries.entries, value_type)
    missing = totals == 0
    answers = [
        _between(of_rank, places, (totals - 1) * percentage)
        for percentage, places in zip(many, found, strict=True)
    ]
    if not isinstance(asked, tuple):
        return pa.array(answers[0], mask=missing)
    # A list of no percentages is null, too.
    missing |= not many
    flat = np.stack(answers, axis=1).ravel() if many else np.empty(0)
    offsets = pa.array(np.arange(len(sets) + 1) * len(many), pa.int32())
    return pa.ListArray.from_arrays(offsets, pa.array(flat), mask=pa.array(missing))


def _between(of_rank: np.ndarray, places: Int64s, positions: np.ndarray) -> np.ndarray:
    lower, upper = places
    if not len(of_rank):
        return np.zeros(len(lower))
    below, above = of_rank[lower], of_rank[upper]
    # Differences and products of infinities are NaN, as they are to Spark.
    with np.errstate(all="ignore"):
        mixed = below + (above - below) * (positions - np.floor(positions))
    found: np.ndarray = np.where((lower == upper) | (below == above), below, mixed)
    return found


def _mode(aggregate: Aggregate, sets: WindowSets, value_type: str) -> pa.Array:
    entries = sets.folding.ranked_entries
    places = ranked_counts.most_frequent(
        entries, sets.lows, sets.highs, is_descending=aggregate.is_descending
    )
    column = sets.folding.column
    values = decode(column.codes[entries.entries], column.coding)
    return values.take(pa.array(places, mask=places < 0))


# The types of a sketch's items, as numpy calls them.
_KLL_TYPES = {"bigint": "<i8", "double": "<f8", "float": "<f4"}


def _sketch_in_parts(make: Callable[[SetColumn, tuple[str, ...]], pa.Array]) -> _Summary:
    """Returns a summary that makes the sketches of some windows at a time, since sketches are much
    smaller than the sets of windows."""

    def summary(aggregate: Aggregate, sets: WindowSets, value_type: str) -> pa.Array:
        columns = sets.columns(_AT_ONCE)
        return pa.concat_arrays([make(column, aggregate.parameters) for column in columns])

    return summary


def _kll(kind: str) -> _Summary:
    return lambda call, sets, _: kll.kll_sketches(sets, kll_accuracy(call.parameters), kind)


def _united_kll(kind: str) -> _Summary:
    return _sketch_in_parts(
        lambda sets, given: kll.united_sketches(sets, kll_accuracy(given) if given else None, kind)
    )


_SUMMARIES: dict[str, _Summary] = {
    "count": lambda call, sets, _: pa.array(sets.sizes),
    "sum": _sum,
    "mean": _mean,
    "xor": _xor,
    "values": lambda call, sets, _: sets.column.lists(),
    "ordered": _list_in_order,
    "percentile": _percentile,
    "discrete": _percentile,
    "mode": _mode,
    "bitmap": lambda call, sets, _: bitmaps_of_positions(sets.column),
    "bits_of_some": lambda call, sets, _: combined_bitmaps(sets.column, is_union=True),
    "bits_of_all": lambda call, sets, _: combined_bitmaps(sets.column, is_union=False),
    "count_min": lambda call, sets, _: count_min_sketches(sets.column, count_min(call.parameters)),
    **{f"kll_{kind}": _kll(number) for kind, number in _KLL_TYPES.items()},
    **{f"united_kll_{kind}": _united_kll(number) for kind, number in _KLL_TYPES.items()},
    "top": lambda call, sets, _: top_items(sets, call.parameters),
    "items": lambda call, sets, kind: items_sketches(sets, call.parameters, kind),
    "theta": _sketch_in_parts(
        lambda sets, given: theta.sketches_of_values(sets, theta_bits(given))
    ),
    "united_theta": _sketch_in_parts(
        lambda sets, given: theta.united_sketches(sets, theta_bits(given))
    ),
    "common_theta": _sketch_in_parts(lambda sets, given: theta.common_sketches(sets)),
    "hll": _sketch_in_parts(lambda sets, given: hll.sketches_of_values(sets, hll_bits(given))),
    "united_hll": _sketch_in_parts(
        lambda sets, given: hll.united_sketches(sets, may_differ=allows_different_sizes(given))
    ),
}


def _as_floats(sets: WindowSets, entries: Int64s, value_type: str) -> np.ndarray:
    codes = sets.folding.column.codes[entries]
    return codes.astype(np.float64) if value_type == INTEGER else floats(codes)


def _float_sums(sets: WindowSets) -> np.ndarray:
    column, next_rows = sets.folding.column, sets.folding.next_rows
    values = floats(column.codes)
    sums: np.ndarray = latest_occurrence.sum_floats(
        column.offsets, next_rows, values, sets.lows, sets.highs
    )
    return sums


def _halves(sets: WindowSets) -> tuple[Int64s, Int64s]:
    """Returns (lower, upper) of the sum of each window's integers, `(upper << 32) + lower`."""
    column, next_rows = sets.folding.column, sets.folding.next_rows
    lower, upper = latest_occurrence.sum_integers(
        column.offsets, next_rows, column.codes, sets.lows, sets.highs
    )
    return lower & 0xFFFFFFFF, upper + (lower >> 32)


def _fits(lower: Int64s, upper: Int64s) -> np.ndarray:
    """Whether sums are integers of 64 bits."""
    return (upper >= -(1 << 31)) & (upper < 1 << 31)


def _summands(lower: Int64s, upper: Int64s) -> tuple[Int64s, Int64s]:
    """Returns two summands that overflow if the sum does: Spark adds them, and under ANSI raises
    its error; else what is left of the overflow is the same."""
    words = (upper << 32) + lower
    fits = _fits(lower, upper)
    # Two positive numbers that overflow have a negative sum, and two negative ones a positive sum.
    first = np.where(words < 0, _INT64.max, _INT64.min)
    second = np.where(words < 0, np.minimum(words, -2) - _INT64.min + 1, words + _INT64.min)
    return np.where(fits, words, first), np.where(fits, 0, second)
