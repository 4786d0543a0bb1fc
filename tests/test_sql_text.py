"""Pieces of SQL: quotes, comments, white space, names in parts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muntin.sql_text import SqlText, collapse_spaces, name_parts, quote_name, strip_comments


def test_squeezing_leaves_quotes_alone():
    assert collapse_spaces("  a   = 'b   c'\n AND `d  e`  = 1 ") == "a = 'b   c' AND `d  e` = 1"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("n > 5 -- hot", "n > 5"),
        ("n -- first\n > 5", "n  \n > 5"),
        ("n /* what\n it is */ > 5", "n   > 5"),
        ("'-- not' = `a--b` || \"/* nor */\"", "'-- not' = `a--b` || \"/* nor */\""),
        (r"n = 'it\'s -- quoted' -- hot", r"n = 'it\'s -- quoted'"),
        (r"n RLIKE r'\' -- hot", r"n RLIKE r'\'"),
        ("`a``--b` > 1 -- c", "`a``--b` > 1"),
    ],
)  # fmt: skip
def test_comments_go_and_quotes_stay(text, expected):
    assert strip_comments(text) == expected


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("ts", ["ts"]),
        ("payload.ts", ["payload", "ts"]),
        ("`a.b`", ["a.b"]),
        ("r.`a.b`.c", ["r", "a.b", "c"]),
        ("`it``s`", ["it`s"]),
    ],
)
def test_a_name_in_parts(text, parts):
    assert name_parts(text) == parts


@given(st.lists(st.text(min_size=1, max_size=8).filter(lambda one: "\0" not in one), min_size=1))
def test_quoted_parts_come_back(parts):
    assert name_parts(".".join(map(quote_name, parts))) == parts


@pytest.mark.parametrize(
    ("relation", "alias"),
    [
        (SqlText.table("readings"), "readings"),
        (SqlText.table("db.`my table`"), "my table"),
        (SqlText(("", " r"), ("readings",)), "r"),
        (SqlText(("", " AS r"), ("readings",)), "r"),
        (SqlText(("(SELECT * FROM ", ") r"), ("readings",)), None),
        (SqlText(("", " a JOIN ", " b"), ("x", "y")), None),
        (SqlText(("", ""), ("",)), None),
    ],
)
def test_the_alias_of_one_table(relation, alias):
    assert relation.alias == alias
