"""Edits of a file of queries, as `muntin stream --watch` sees them."""

from muntin.sql import parse_sql
from muntin.terminal.edits import Difference, Edits

ONE = "-- name: a\nSELECT window, count(*) AS n FROM t GROUP BY window(ts, '1 minute')"
OTHER = "-- name: a\nSELECT window, count(*) AS n FROM t GROUP BY window(ts, '2 minutes')"
TWO = f"{ONE};\n-- name: b\nSELECT window, max(x) AS m FROM t GROUP BY window(ts, '1 minute')"


def test_an_edit_arrives_once_and_when_it_stands_still(tmp_path):
    file = tmp_path / "q.sql"
    file.write_text(ONE)
    edits = Edits(file)
    assert not edits.arrived()
    # Written in two pieces.
    file.write_text(TWO[:10])
    assert not edits.arrived()
    file.write_text(TWO)
    assert not edits.arrived()
    assert edits.arrived()
    assert not edits.arrived()


def test_a_file_that_is_away_for_a_moment_is_no_edit(tmp_path):
    file = tmp_path / "q.sql"
    file.write_text(ONE)
    edits = Edits(file)
    file.rename(tmp_path / "backup")
    assert [edits.arrived() for _ in range(3)] == [False] * 3
    file.write_text(ONE)
    assert [edits.arrived() for _ in range(3)] == [False] * 3
    file.write_text(TWO)
    assert [edits.arrived() for _ in range(3)] == [False, True, False]


def test_the_difference_between_two_lists_of_queries():
    one, other, two = (parse_sql(text) for text in (ONE, OTHER, TWO))
    assert str(Difference.between(one, two)) == "added b"
    assert str(Difference.between(two, other)) == "removed b; changed a"
    # Comments and layout are no change.
    laid_out = ONE.replace("count(*)", "COUNT( * )").replace("FROM", "/* hello */\nFROM")
    assert not Difference.between(one, parse_sql(laid_out))
    # But they name a column that has no name.
    unnamed = ONE.replace(" AS n", "")
    other = parse_sql(unnamed.replace("count(*)", "count( 1 )"))
    assert str(Difference.between(parse_sql(unnamed), other)) == "changed a"
