"""Splitting at `;`, names, and what is refused outright."""
# ruff: noqa: E501

import pytest

from muntin.errors import ParseError
from muntin.sql import parse_sql


def names(text):
    return [query.name for query in parse_sql(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SELECT 1", ["q1"]),
        ("SELECT 1;", ["q1"]),
        (";;SELECT 1;;SELECT 2;", ["q1", "q2"]),
        ("-- name: hot\nSELECT 1", ["hot"]),
        ("--name:hot\nSELECT 1", ["hot"]),
        ("  -- NAME :  two words  \r\nSELECT 1", ["two words"]),
        ("-- what it is\n-- name: hot\n-- more of it\nSELECT 1", ["hot"]),
        ("/* block */ -- name: hot\nSELECT 1", ["hot"]),
        ("-- name: old\n-- SELECT 0\n-- name: new\nSELECT 1", ["new"]),
        ("/*\n-- name: no\n*/ SELECT 1", ["q1"]),
        ("SELECT 1 -- name: no\n", ["q1"]),
        ("SELECT\n-- name: no\n1", ["q1"]),
        ("SELECT 1;\n-- name: nobody", ["q1"]),
        ("SELECT 1;\n-- name: b\nSELECT 2; SELECT 3", ["q1", "b", "q3"]),
        ("-- name: q2\nSELECT 1; SELECT 2; SELECT 3", ["q2", "q2_", "q3"]),
        ("-- name: Q2\nSELECT 1; SELECT 2", ["Q2", "q2_"]),
        ("SELECT ';' ; SELECT \"a;b\" ; SELECT `c;d` -- e;f\n; SELECT /* ; */ 4", ["q1", "q2", "q3", "q4"]),
        ("-- name: température\nSELECT 'é;😀'; SELECT 1", ["température", "q2"]),
    ],
)  # fmt: skip
def test_names(text, expected):
    assert names(text) == expected


def test_a_byte_order_mark_is_no_part_of_the_text():
    (query,) = parse_sql("\ufeffSELECT 1")
    assert str(query.statement) == "SELECT 1"


def test_statement_text_is_the_users_own():
    first, second = parse_sql("-- about it\nSELECT  'a;--b' ,\n 1 -- c\n;\tselect\t2 ;")
    assert str(first.statement) == "SELECT  'a;--b' ,\n 1"
    assert str(second.statement) == "select\t2"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no SQL statement"),
        (" \n -- only a comment\n ; ;", "no SQL statement"),
        ("-- name: a\nSELECT 1;\nSELECT 2;\n-- name: a\nSELECT 3", "statements 1 and 3 are called 'a' and 'a'; name them apart"),
        ("-- name: a\nSELECT 1;\n-- name: A\nSELECT 2", "statements 1 and 2 are called 'a' and 'A'; name them apart"),
        ("SELECT 0;\n-- name: a/b\nSELECT 1", "statement 2: .*'a/b' cannot be one"),
        ("-- name:\nSELECT 1", "statement 1: .*'' cannot be one"),
        ("-- name: in\nINSERT INTO t SELECT 1", "query 'in': it begins with 'INSERT'; only SELECT"),
        ("create table t (x int)", "query 'q1': it begins with 'create'; only SELECT"),
        ("SELECT 1; SHOW TABLES", "query 'q2': it begins with 'SHOW'; only SELECT"),
        ("SELEC 1", "query 'q1': it begins with 'SELEC'; only SELECT"),
        ("WITH x AS (SELECT 1) INSERT INTO t SELECT * FROM x", "query 'q1': it holds INSERT; only SELECT"),
        ("-- name: a\nSELECT (1 + 2 FROM t", r"query 'a': the bracket '\(' has no partner: \(1 \+ 2"),
        ("SELECT 1; SELECT 1) FROM t", r"query 'q2': the bracket '\)' has no partner: \) FROM t"),
        ("SELECT x[1) FROM t", r"query 'q1': the bracket '\)' has no partner"),
        ("SELECT 1;\n-- name: b\nSELECT 'it\\'s", r"query 'b': the quote is not closed: 'it"),
        ("SELECT \"x", 'query \'q1\': the quote is not closed: "x'),
        ("SELECT `x FROM t", "query 'q1': the quote is not closed: `x FROM t"),
        ("SELECT a, FROM t", r"query 'q1': nothing follows ',' \(line 1, column 9\)"),
        ("SELECT a FROM t GROUP BY a,", "query 'q1': nothing follows ','"),
        ("SELECT 1;\n'oops", "query 'q2': the quote is not closed: 'oops"),
        ("SELECT 'a' /* b", r"query 'q1': the comment is not closed: /\* b"),
    ],
)  # fmt: skip
def test_refused(text, message):
    with pytest.raises(ParseError, match=message):
        parse_sql(text)


@pytest.mark.parametrize("text", ["VALUES (1)", "TABLE t", "(SELECT 1)", "FROM t SELECT x"])
def test_other_ways_to_write_a_query_are_left_to_spark(text):
    (query,) = parse_sql(text)
    assert query.reason in {"it is not one plain SELECT", "FROM stands before SELECT"}
