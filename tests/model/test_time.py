from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muntin import cumulate, hopping, session, tumbling
from muntin.errors import ModelError
from muntin.model.time import DAY, HOUR, MINUTE, SECOND, format_duration, parse_duration


@pytest.mark.parametrize(
    ("text", "micros"),
    [
        ("10 minutes", 10 * MINUTE),
        ("1 minute 30 seconds", 90 * SECOND),
        ("interval 2 hours", 2 * HOUR),
        ("INTERVAL 1 Day", DAY),
        ("1 week", 7 * DAY),
        ("1.5 seconds", 1_500_000),
        ("0.0000019 seconds", 1),
        ("3 milliseconds 7 microseconds", 3007),
        ("-5 seconds", -5 * SECOND),
        ("1 day -1 hour", 23 * HOUR),
        ("  7   seconds  ", 7 * SECOND),
    ],
)
def test_durations_as_spark_spells_them(text, micros):
    assert parse_duration(text) == micros


@pytest.mark.parametrize(
    "text", ["", "   ", "ten minutes", "10", "1 month", "1 year", "1.5 minutes", "5 min", "1minute"]
)
def test_what_is_no_duration_says_what_one_is(text):
    with pytest.raises(ModelError, match="10 minutes"):
        parse_duration(text)


def test_a_duration_may_be_zero_or_a_timedelta():
    assert parse_duration(0) == 0
    assert parse_duration(timedelta(minutes=2)) == 2 * MINUTE
    with pytest.raises(ModelError, match="not True"):
        parse_duration(True)


@pytest.mark.parametrize("number", [60, 0.5])
def test_a_number_needs_a_unit(number):
    wanted = f"is text with a unit or a timedelta, not {number}: write '{number} seconds'"
    for make in (
        tumbling,
        session,
        lambda size: hopping("1 hour", every=size),
        lambda size: cumulate("1 hour", every=size),
    ):
        with pytest.raises(ModelError, match=wanted):
            make(number)


@given(st.integers(-(10**17), 10**17))
def test_what_is_written_is_read_back(micros):
    assert parse_duration(format_duration(micros)) == micros


@pytest.mark.parametrize(
    ("micros", "text"),
    [
        (90 * MINUTE, "90 minutes"),
        (DAY, "1 day"),
        (0, "0 seconds"),
        (SECOND, "1 second"),
        (DAY + 1, "1 day 1 microsecond"),
    ],
)
def test_the_shortest_spelling(micros, text):
    assert format_duration(micros) == text
