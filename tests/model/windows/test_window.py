import pytest
from hypothesis import given
from hypothesis import strategies as st

import muntin as mt
from muntin.errors import ModelError
from muntin.model.time import MINUTE, SECOND
from muntin.model.windows.window import Window
from tests.support.windows import hopping, tumbling


@st.composite
def small_windows(draw):
    slide = draw(st.integers(1, 12))
    return Window(size=draw(st.integers(slide, 40)), slide=slide, offset=draw(st.integers(-30, 30)))


def intervals(window: Window, since: int = 0, until: int = 400) -> list[tuple[int, int]]:
    begin = window.first_after(since - 1)
    return [(a, a + window.size) for a in range(begin, until - window.size, window.slide)]


def test_windows_are_made_of_durations():
    assert mt.tumbling("1 minute") == Window(size=MINUTE, slide=MINUTE)
    made = mt.hopping("1 minute", every="20 seconds", offset="-5 seconds")
    assert made == Window(size=MINUTE, slide=20 * SECOND, offset=15 * SECOND)
    assert str(made) == "1 minute every 20 seconds at 15 seconds"
    assert made.overlap == 3
    assert tumbling(5).is_tumbling
    assert not made.is_tumbling


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"size": 0, "slide": 1}, "size must be above zero"),
        ({"size": -5, "slide": 1}, "size must be above zero"),
        ({"size": 5, "slide": 0}, "slide must be above zero"),
        ({"size": 5, "slide": 6}, "at most its size"),
        ({"size": 5.0, "slide": 1}, "integer, not 5.0"),
        ({"size": True, "slide": 1}, "integer, not True"),
    ],
)
def test_a_window_that_exists_is_valid(parts, message):
    with pytest.raises(ModelError, match=message):
        Window(**parts)


@given(small_windows(), st.integers(-100, 100))
def test_the_first_begin_after_an_instant(window, instant):
    begin = window.first_after(instant)
    assert instant < begin <= instant + window.slide
    assert (begin - window.offset) % window.slide == 0


@given(small_windows(), small_windows())
def test_covering_is_what_its_definition_says(narrow, wide):
    # 0    10   20   30
    # [--------------)    an interval of wide
    # [----)              begins with one of narrow,
    #           [----)    and ends with one of narrow
    begins = {a for a, _ in intervals(narrow)}
    inside = [(a, b) for a, b in intervals(wide) if a >= 100 and b <= 300]
    expected = narrow.size <= wide.size and all(
        a in begins and b - narrow.size in begins for a, b in inside
    )
    assert narrow.covers(wide) == expected


@given(small_windows(), small_windows())
def test_partitions_are_disjoint_and_complete(narrow, wide):
    if narrow.partitions(wide):
        for begin, end in intervals(wide)[5:10]:
            parts = [(a, b) for a, b in intervals(narrow) if begin <= a and b <= end]
            assert len(parts) == narrow.multiplier(wide)
            assert sum(b - a for a, b in parts) == end - begin


def test_a_multiplier_needs_a_cover():
    with pytest.raises(ModelError, match="does not cover"):
        tumbling(3).multiplier(tumbling(4))


def test_a_window_covers_itself():
    assert hopping(10, every=4).covers(hopping(10, every=4))
    assert hopping(10, every=4).multiplier(hopping(10, every=4)) == 1
