"""The slice of an instant: the latest edge at or before it, at any time that there is."""

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from muntin.model.windows import Edges
from muntin.runtime.slicer.slicer_tree import slice_starts

# Spark's timestamps are the years 1 to 9999; instants beyond are integers all the same.
instants = st.integers(-62_135_596_800_000_000, 253_402_300_799_999_999) | st.integers(-50, 50)
edges = st.builds(
    lambda period, phase: Edges(period=period, phase=phase),
    st.integers(1, 40) | st.integers(1, 10**17),
    st.integers(0, 10**17),
)


@given(times=st.lists(instants, max_size=30), where=st.lists(edges, min_size=1, max_size=3))
@example(times=[2**63 - 1, 2**63 - 2, 2**63 - 1], where=[Edges(period=10, phase=3)])
@example(times=[-(2**63) + 10, 0, -(2**63) + 10], where=[Edges(period=10), Edges(period=4)])
def test_the_latest_edge(times, where):
    slices = slice_starts(np.array(times, np.int64), tuple(where))
    expected = [max(t - (t - each.phase) % each.period for each in where) for t in times]
    assert slices.starts[slices.numbers].tolist() == expected
    assert len(set(slices.starts.tolist())) == len(slices.starts)


def test_as_many_slices_as_instants():
    times = np.random.default_rng(2).integers(-(10**15), 10**15, 50_000)
    slices = slice_starts(times, (Edges(period=7, phase=3),))
    assert np.array_equal(slices.starts[slices.numbers], times - (times - 3) % 7)
