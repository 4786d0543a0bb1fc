"""Periodic windows, and those that grow from a common begin."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

import muntin as mt
from muntin.errors import ModelError
from muntin.model.plan_json import window_from_json, window_to_json
from muntin.model.time import MINUTE, SECOND
from muntin.model.windows import CumulateWindow, Window
from tests.support.window_sets import windows
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


growing = windows(most=6).filter(lambda window: window.grows)


def growing_intervals(window, since, until):
    """Every interval that ends in a stretch, straight from the definition."""
    begins = [
        b for b in range(since - window.size, until) if (b - window.offset) % window.size == 0
    ]
    steps = range(window.slide, window.size + 1, window.slide)
    return sorted((b, b + step) for b in begins for step in steps if since < b + step <= until)


@given(growing, st.integers(-100, 100))
def test_intervals_are_those_of_the_definition(window, since):
    # 0   4   8   12  16
    # [---)
    # [-------)
    #         [---)
    #         [-------)
    first = window.first_after(since - window.size)
    found = range(first, since + 3 * window.size - window.size + 1, window.slide)
    assert [(window.start_of(a), a + window.size) for a in found] == growing_intervals(
        window, since, since + 3 * window.size
    )
    assert window.last_end(since) == max(
        end
        for begin, end in growing_intervals(window, since, since + window.size)
        if begin <= since
    )


@given(growing, st.integers(-100, 100))
def test_the_first_that_begins_late_enough(window, instant):
    ends = growing_intervals(window, instant - window.size, instant + 3 * window.size)
    begin, end = min((pair for pair in ends if pair[0] >= instant), key=lambda pair: pair[1])
    a = window.first_starting_from(instant)
    assert (window.start_of(a), a + window.size) == (begin, end)


@given(windows(most=6), growing)
def test_what_covers_it_covers_each_of_its_intervals(window, other):
    assert not other.covers(window) or other == window
    if window.covers(other) and not window.grows:
        held = {
            (a, a + window.size)
            for a in range(-3 * other.size, 3 * other.size)
            if (a - window.offset) % window.slide == 0
        }
        for begin, end in growing_intervals(other, 0, other.size):
            inside = [pair for pair in held if begin <= pair[0] and pair[1] <= end]
            assert {t for low, high in inside for t in range(low, high)} == set(range(begin, end))


def test_it_is_written_as_json_and_as_text():
    window = mt.cumulate("1 day", every="1 minute", offset="-1 hour")
    assert str(window) == "1 day growing every 1 minute at 23 hours"
    assert window_from_json(window_to_json(window)) == window
    assert window_to_json(window)["kind"] == "cumulate"
    assert window != Window(size=window.size, slide=window.slide, offset=window.offset)
    assert (
        sorted([window, mt.tumbling("1 day"), mt.hopping("1 day", every="1 minute")])[-1] != window
    )


def test_one_step_is_a_tumbling_window():
    assert mt.cumulate("1 day", every="24 hours") == mt.tumbling("1 day")


@pytest.mark.parametrize("every", ["7 minutes", "2 hours", "0 seconds", "-1 minute"])
def test_the_step_must_fit(every):
    with pytest.raises(ModelError, match=r"grows by a part of it|must be above zero"):
        mt.cumulate("1 hour", every=every)


def test_a_threshold_takes_none():
    with pytest.raises(ModelError, match="inside is made by tumbling or hopping, not Cumulate"):
        mt.threshold(
            "x > 1", inside=CumulateWindow(size=4, slide=2), outside=Window(size=4, slide=4)
        )


def test_aggregates_of_the_user_are_refused():
    own = mt.aggregate("x", lambda a, b: a + b, lambda a: a, 0.0)
    with pytest.raises(ModelError, match="for aggregates of Spark's"):
        mt.Query(name="q", window=CumulateWindow(size=4, slide=2), aggregates={"a": own}, time="t")
