"""Ranked counts: how often each value occurs in a sliding window, in the order of the values.

needs      values with an order, and how often each occurs
time       the logarithm of a key's distinct values for each entry that enters or leaves, and for
           each answer
space      an integer for each entry, and two for each distinct value of one key
windows    one size and slide a sweep; the ranks of values are found once for all
appeared   Fenwick, Software: Practice and Experience 1994 (a tree of running sums)

Rows are slices. Values are ranked among those of their key, so that the tree of counts stays small
enough for the processor's cache.
"""

from typing import Any, NamedTuple

import numpy as np

from muntin.techniques.kernels.compile import compile_kernel, inline


class RankedEntries(NamedTuple):
    """Entries with their ranks. A run is the rows of one key, `[runs[i], runs[i + 1])`."""

    # The rank of each entry among the distinct codes of its run.
    ranks: Any
    counts: Any
    # The entries of row `r` are `[offsets[r], offsets[r + 1])`.
    offsets: Any
    runs: Any
    # Where the ranks of each run begin among those of all, and an entry with the code of each rank.
    firsts: Any
    entries: Any


def rank_entries(codes: Any, counts: Any, offsets: Any, runs: Any) -> RankedEntries:
    """Returns entries with their ranks; equal codes have equal ones."""
    ranks = np.empty(len(codes), np.int32)
    entries = np.empty(len(codes), np.int64)
    firsts = np.zeros(len(runs), np.int64)
    _rank(codes, offsets, runs, ranks, entries, firsts)
    return RankedEntries(ranks, counts, offsets, runs, firsts, entries[: firsts[-1]].copy())


def _fill_ranks(codes: Any, offsets: Any, runs: Any, ranks: Any, entries: Any, firsts: Any) -> None:
    count = 0
    for run in range(len(runs) - 1):
        first = offsets[runs[run]]
        end = offsets[runs[run + 1]]
        order = np.argsort(codes[first:end])
        base = count
        for place in range(len(order)):
            entry = first + order[place]
            if place == 0 or codes[entry] != codes[first + order[place - 1]]:
                entries[count] = entry
                count += 1
            ranks[entry] = count - 1 - base
        firsts[run + 1] = count


_rank = compile_kernel(_fill_ranks)


def _add(tree: Any, rank: Any, count: Any) -> None:
    place = rank + 1
    while place < len(tree):
        tree[place] += count
        place += place & -place


_add = inline(_add)


def _rank_at(tree: Any, position: Any) -> Any:
    """The rank of the value at a position among the values in order, from zero."""
    left = position + 1
    place = 0
    step = 1
    while 2 * step < len(tree):
        step *= 2
    while step > 0:
        if place + step < len(tree) and tree[place + step] < left:
            place += step
            left -= tree[place]
        step //= 2
    return place


_rank_at = inline(_rank_at)


def totals_of(entries: RankedEntries, lows: Any, highs: Any) -> Any:
    """Returns how many values each window has."""
    before = np.concatenate([[0], np.cumsum(entries.counts)])[entries.offsets]
    return before[highs] - before[lows]


def positions_of(entries: RankedEntries, lows: Any, highs: Any, find: Any) -> tuple[Any, Any]:
    """Returns how many values each window has, and the ranks at two positions for each percentage.

    Ranks are places among the ranks of all runs; -1 in a window without values. `find` has the
    percentage, whether to find the discrete one, and whether values descend, row by row.
    """
    totals = totals_of(entries, lows, highs)
    found = np.full((len(find), 2, len(lows)), -1, np.int64)
    full = np.flatnonzero(totals)
    positions = np.empty((len(full), len(find), 2), np.int64)
    for index, (percentage, is_discrete, descends) in enumerate(find):
        many = totals[full]
        if is_discrete:
            # The first value whose share of the values up to it is the percentage or more.
            lower = upper = np.maximum(np.ceil(percentage * many).astype(np.int64) - 1, 0)
        else:
            between = (many - 1) * percentage
            lower, upper = np.floor(between).astype(np.int64), np.ceil(between).astype(np.int64)
        positions[:, index, 0] = many - 1 - lower if descends else lower
        positions[:, index, 1] = many - 1 - upper if descends else upper
    starts = np.zeros(len(lows) + 1, np.int64)
    np.cumsum((totals > 0) * (2 * len(find)), out=starts[1:])
    ranks = ranks_at(entries, lows, highs, starts, positions.ravel())
    found[:, :, full] = ranks.reshape(positions.shape).transpose(1, 2, 0)
    return totals, found


def ranks_at(entries: RankedEntries, lows: Any, highs: Any, starts: Any, positions: Any) -> Any:
    """Returns the ranks at positions among a window's values in order, from zero.

    Those of window `w` are `positions[starts[w] : starts[w + 1]]`, and all of them lie inside.
    Ranks are as in `positions_of`.
    """
    places = np.empty(len(positions), np.int64)
    if len(lows):
        _select(entries[:5], lows, highs, starts, positions, places)
    return places


def _select_positions(
    entries: Any, lows: Any, highs: Any, starts: Any, positions: Any, found: Any
) -> None:
    ranks, counts, offsets, runs, firsts = entries
    run = 0
    low = high = 0
    tree = np.zeros(1, np.int64)
    end = 0
    for window in range(len(lows)):
        if lows[window] >= end:
            while runs[run + 1] <= lows[window]:
                run += 1
            end = runs[run + 1]
            tree = np.zeros(firsts[run + 1] - firsts[run] + 1, np.int64)
            low = high = lows[window]
        if lows[window] >= high:
            for entry in range(offsets[low], offsets[high]):
                _add(tree, ranks[entry], -counts[entry])
            low = high = lows[window]
        for entry in range(offsets[high], offsets[highs[window]]):
            _add(tree, ranks[entry], counts[entry])
        high = highs[window]
        for entry in range(offsets[low], offsets[lows[window]]):
            _add(tree, ranks[entry], -counts[entry])
        low = lows[window]
        for place in range(starts[window], starts[window + 1]):
            if place > starts[window] and positions[place] == positions[place - 1]:
                found[place] = found[place - 1]
            else:
                found[place] = firsts[run] + _rank_at(tree, positions[place])


_select = compile_kernel(_select_positions)


def most_frequent(entries: RankedEntries, lows: Any, highs: Any, *, is_descending: bool) -> Any:
    """Returns the rank of the most frequent value of each window: of several the least, or the
    greatest if values descend; -1 in a window without values. Ranks are as in `positions_of`."""
    starts = np.arange(len(lows) + 1)
    return find_most_frequent(entries, lows, highs, starts, is_descending=is_descending)[0]


def find_most_frequent(
    entries: RankedEntries, lows: Any, highs: Any, starts: Any, *, is_descending: bool = False
) -> tuple[Any, Any]:
    """Returns the ranks of the most frequent values of each window, and how often each occurs.

    The most frequent comes first: of several the least, or the greatest if values descend. Window
    `w` has places `[starts[w], starts[w + 1])`; a rank is -1, and a count 0, where it has no more
    values. Ranks are as in `positions_of`.
    """
    places = np.full(starts[-1], -1, np.int64)
    totals = np.zeros(starts[-1], np.int64)
    if len(lows):
        _lead(entries[:5], lows, highs, starts, is_descending, places, totals)
    return places, totals


def _raise_leaf(tree: Any, rank: Any, count: Any) -> None:
    """Add to the count of a rank; a node has the greatest count below it."""
    node = len(tree) // 2 + rank
    tree[node] += count
    node >>= 1
    while node > 0:
        greatest = max(tree[2 * node], tree[2 * node + 1])
        if tree[node] == greatest:
            break
        tree[node] = greatest
        node >>= 1


_raise_leaf = inline(_raise_leaf)


def _raise_leaves(tree: Any, ranks: Any, counts: Any, first: int, end: int, sign: int) -> None:
    """Add the counts of some entries to those of their ranks, or subtract them."""
    for entry in range(first, end):
        _raise_leaf(tree, ranks[entry], sign * counts[entry])


_raise_leaves = inline(_raise_leaves)


def _leading_leaf(tree: Any, is_descending: bool) -> Any:
    """Returns the node of the rank with the greatest count: of several the least, or the greatest
    if values descend."""
    node = 1
    while node < len(tree) // 2:
        node *= 2
        if is_descending:
            node += tree[node + 1] == tree[node >> 1]
        else:
            node += tree[node] != tree[node >> 1]
    return node


_leading_leaf = inline(_leading_leaf)


def _most_frequent(
    entries: Any,
    lows: Any,
    highs: Any,
    starts: Any,
    is_descending: bool,
    found: Any,
    totals: Any,
) -> None:
    ranks, counts, offsets, runs, firsts = entries
    run = 0
    low = high = 0
    tree = np.zeros(2, np.int64)
    end = 0
    for window in range(len(lows)):
        if lows[window] >= end:
            while runs[run + 1] <= lows[window]:
                run += 1
            end = runs[run + 1]
            leaves = 1
            while leaves < firsts[run + 1] - firsts[run]:
                leaves *= 2
            tree = np.zeros(2 * leaves, np.int64)
            low = high = lows[window]
        if lows[window] >= high:
            _raise_leaves(tree, ranks, counts, offsets[low], offsets[high], -1)
            low = high = lows[window]
        _raise_leaves(tree, ranks, counts, offsets[high], offsets[highs[window]], 1)
        high = highs[window]
        _raise_leaves(tree, ranks, counts, offsets[low], offsets[lows[window]], -1)
        low = lows[window]
        last = starts[window]
        while last < starts[window + 1] and tree[1] > 0:
            node = _leading_leaf(tree, is_descending)
            rank = node - len(tree) // 2
            found[last] = firsts[run] + rank
            totals[last] = tree[node]
            last += 1
            if last < starts[window + 1]:
                # Take it out of the tree while the next one is found.
                _raise_leaf(tree, rank, -tree[node])
        for place in range(starts[window], min(last, starts[window + 1] - 1)):
            _raise_leaf(tree, found[place] - firsts[run], totals[place])


_lead = compile_kernel(_most_frequent)
