"""Rows that no open window takes, told one by one and by the slicer."""

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from muntin.model.windows import Window
from muntin.runtime.arrow_batches import from_bytes
from muntin.runtime.slicer.late_rows import WHOLLY_LATE, LateRows, OpenWindowFilter
from muntin.runtime.slicer.packing import BUCKET, ROWS, TREE
from tests.support.examples import examples

rows = st.tuples(
    st.none() | st.integers(-40, 60), st.integers(0, 3), st.none() | st.text(max_size=2)
)
windows = st.tuples(st.integers(1, 30), st.integers(1, 30), st.integers(0, 29)).map(
    lambda one: Window(size=max(one[:2]), slide=min(one[:2]), offset=one[2] % min(one[:2]))
)
filters = st.builds(
    OpenWindowFilter,
    masks=st.sampled_from([{}, {"bits": 1}, {"bits": 2}, {"bits": 3}]),
    windows=st.lists(windows, max_size=2).map(tuple),
    step=st.none() | st.sampled_from([1, 8]),
)


def is_late(row, taking, given) -> bool:
    time, bits, _ = row
    wanted = [one for one in taking if all(bits & mask == mask for mask in one.masks.values())]
    if time is None or not wanted:
        return False
    for one in wanted:
        begins = (
            (window, begin)
            for window in one.windows
            for begin in range(time - window.size + 1, time + 1)
            if (begin - window.offset) % window.slide == 0
        )
        if any(begin + window.size > given for window, begin in begins):
            return False
        if one.step is not None and time >= given // one.step * one.step:
            return False
    # From the watermark on, rows are on time.
    return time < given


@settings(max_examples=examples(38))
@given(st.lists(rows, max_size=20), st.lists(filters, min_size=1, max_size=3), st.integers(-20, 50))
def test_rows_are_set_aside_once_no_window_takes_them(events, taking, watermark):
    times, bits, _ = ([row[index] for row in events] for index in range(3))
    whole = pa.array([{"t": time, "x": text} for time, _, text in events])
    kind = pa.struct([("t", pa.int64()), ("x", pa.string())])
    batch = pa.RecordBatch.from_pydict(
        {
            "t": pa.array(times, pa.int64()),
            "bits": pa.array(bits, pa.int64()),
            "row": whole.cast(kind) if len(whole) else pa.array([], kind),
        }
    )
    late = LateRows(taking, time="t", column="row", buckets=(5, 9), given=watermark)
    halves = batch.slice(0, len(events) // 2), batch.slice(len(events) // 2)
    passed = pa.Table.from_batches(late.without(iter(halves)))
    # All rows go on: they are counted.
    assert passed.equals(pa.Table.from_batches([batch.drop_columns(["row"])]))
    found = []
    for packed in late.packed:
        (one,) = packed.to_pylist()
        assert one[TREE] == WHOLLY_LATE
        assert one[BUCKET] in (5, 9)
        found += [(row["t"], row["x"]) for row in from_bytes(one[ROWS]).to_pylist()]
    expected = [(row[0], row[2]) for row in events if is_late(row, taking, watermark)]
    assert found == expected
