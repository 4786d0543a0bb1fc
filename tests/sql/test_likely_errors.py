"""What `muntin explain` refuses without Spark, and what it must let through."""

from pathlib import Path

import pytest

from muntin.errors import ParseError
from muntin.sql import parse_sql
from muntin.sql.functions import LISTED_FUNCTIONS
from muntin.sql.likely_errors import find_likely_errors
from muntin.sql.statements import split_statements
from tests.support.statements import read_kind

BY = "GROUP BY device, window(ts, '1 minute')"


def doubts(text: str) -> list[str]:
    return [str(one.error) for part in split_statements(text) for one in find_likely_errors(part)]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("SELECT max(x) FROM r GRUOP BY device", "syntax error at 'GRUOP'; did you mean GROUP?"),
        ("SELECT max(x) FORM r", "syntax error at 'FORM'; did you mean FROM?"),
        (f"SELECT max(x) FROM r WEHRE x > 1 {BY}", "syntax error at 'WEHRE'; did you mean WHERE?"),
        (f"SELECT device max(x) FROM r {BY}", "syntax error at '('"),
        ("SELECT max(x) FROM r GROUP BY", "nothing follows 'GROUP BY'"),
        (f"SELECT agv(x) FROM r {BY}", "Spark has no function agv; did you mean avg?"),
        (f"SELECT agv(max(x)) FROM r {BY}", "Spark has no function agv; did you mean avg?"),
        ("SELECT max(x) FROM r GROUP BY windw(ts, '1 hour')", "did you mean window?"),
        (f"SELECT safe_divide(max(x), 2) FROM r {BY}", "no function safe_divide"),
        (f"SELECT zzzqqq(x) FROM r {BY}", "Spark has no function zzzqqq"),
    ],
)
def test_mistakes_are_found_and_named(text, said):
    (found,) = doubts(text)
    assert said in found


@pytest.mark.parametrize(
    "text",
    [
        f"SELECT device, median(x), max_by(x, ts), try_cast(x AS decimal(10, 2)) FROM r {BY}",
        "SELECT transform(xs, x -> x + 1) FROM r t(a, b) WHERE a LIKE ANY ('a') AND b IN (1, 2)",
        "WITH search(a) AS (SELECT 1) SELECT count(*) FROM search",
        "SELECT timestampadd(DAY, 1, ts), extract(DAY FROM ts), my.own(x) FROM r LIMIT 3",
        "SELECT x.where, `from`, a IS DISTINCT FROM b FROM r WHERE EXISTS (SELECT 1)",
    ],
)
def test_what_spark_reads_is_not_doubted(text):
    assert doubts(text) == []


def test_statements_that_spark_answers_are_not_doubted():
    folder = Path(__file__).parents[1] / "spark" / "batch" / "statements"
    kinds = [read_kind(path) for path in folder.glob("*.sql")]
    right = [s.sql for kind in kinds for s in kind.statements.values() if s.fate != "refused"]
    assert len(right) > 200
    assert [(sql, doubts(sql)) for sql in right if doubts(sql)] == []


def test_places_are_those_of_the_whole_text():
    text = "-- name: a\nSELECT 1;\n\n  -- name: b\n  SELECT\n    agv(x), 2 FROM r"
    assert doubts(text) == [
        "query 'b': Spark has no function agv; did you mean avg? (line 6, column 5)"
    ]
    with pytest.raises(ParseError, match=r"'1 parsec' is not .*\(line 3, column 38\)$") as error:
        parse_sql("SELECT 1;\n\n SELECT 1 FROM r GROUP BY window(ts, '1 parsec')")
    assert (error.value.line, error.value.column) == (3, 38)


def test_the_shipped_functions_are_sparks(spark):
    if not spark.version.startswith("4.3"):
        pytest.skip("the list is that of Spark 4.3")
    listed = {row.function for row in spark.sql("SHOW SYSTEM FUNCTIONS").collect()}
    assert {name for name in listed if name.isidentifier()} == LISTED_FUNCTIONS
