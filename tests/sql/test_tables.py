"""Holes: every table that a statement reads, and nothing else."""
# ruff: noqa: E501

import pytest

from muntin.sql import parse_sql

GROUP = " GROUP BY window(ts, '1 minute')"


@pytest.mark.parametrize(
    ("relation", "shown", "tables"),
    [
        ("r", "[r] AS `r`", ("r",)),
        ("r x", "[r] x", ("r",)),
        ("r AS x", "[r] AS x", ("r",)),
        ("r AS x (a, b)", "[r] AS x (a, b)", ("r",)),
        ("`r`", "[r] AS `r`", ("r",)),
        ("db.r", "[db.r] AS `r`", ("db.r",)),
        ("cat . db.`r`", "[cat.db.r] AS `r`", ("cat.db.r",)),
        ("db.`we ird`", "[db.`we ird`] AS `we ird`", ("db.`we ird`",)),
        ("`left`", "[`left`] AS `left`", ("`left`",)),
        ("`été`", "[été] AS `été`", ("été",)),
        ("a,b x", "[a] AS `a`,[b] x", ("a", "b")),
        ("a JOIN b ON a.i = b.i", "[a] AS `a` JOIN [b] AS `b` ON a.i = b.i", ("a", "b")),
        ("a  LEFT\n JOIN b USING (i)", "[a] AS `a` LEFT JOIN [b] AS `b` USING (i)", ("a", "b")),
        ("a NATURAL JOIN a z", "[a] AS `a` NATURAL JOIN [a] z", ("a", "a")),
        ("a CROSS JOIN b", "[a] AS `a` CROSS JOIN [b] AS `b`", ("a", "b")),
        ("(SELECT * FROM a WHERE x) q", "(SELECT * FROM [a] AS `a` WHERE x) q", ("a",)),
        ("(SELECT * FROM a UNION ALL SELECT * FROM b)", "(SELECT * FROM [a] AS `a` UNION ALL SELECT * FROM [b] AS `b`)", ("a", "b")),
        ("(SELECT extract(day FROM d) FROM a)", "(SELECT extract(day FROM d) FROM [a] AS `a`)", ("a",)),
        ("(WITH c AS (SELECT * FROM a) SELECT * FROM c)", "(WITH c AS (SELECT * FROM [a] AS `a`) SELECT * FROM c)", ("a",)),
        ("(SELECT /*+ BROADCAST(a) */ * FROM a)", "(SELECT /*+ BROADCAST(a) */ * FROM [a] AS `a`)", ("a",)),
        ("a TABLESAMPLE (10 PERCENT)", "[a] TABLESAMPLE (10 PERCENT) AS `a`", ("a",)),
        ("a TABLESAMPLE (5 ROWS) REPEATABLE (3)", "[a] TABLESAMPLE (5 ROWS) REPEATABLE (3) AS `a`", ("a",)),
        ("a TABLESAMPLE (5 ROWS) x", "[a] TABLESAMPLE (5 ROWS) x", ("a",)),
        ("range(10)", "range(10)", ()),
        ("parquet.`/data/x`", "parquet.`/data/x`", ()),
        ("a VERSION AS OF 3", "a VERSION AS OF 3", ()),
        ("(VALUES (1)) v", "(VALUES (1)) v", ()),
        ("a -- it\n JOIN /* with */ b", "[a] AS `a` JOIN [b] AS `b`", ("a", "b")),
    ],
)  # fmt: skip
def test_relation(relation, shown, tables):
    (query,) = parse_sql(f"SELECT count(*) FROM {relation}{GROUP}")
    assert query.source.tables == tables
    assert query.source.fill({table: f"[{table}]" for table in tables}) == shown
    assert query.statement.tables == tables


def test_a_table_named_in_full_by_a_column_is_no_hole():
    (query,) = parse_sql(f"SELECT max(db.r.x) FROM db.r{GROUP}")
    assert query.source.fill() == "db.r"


@pytest.mark.parametrize(
    ("sql", "tables"),
    [
        ("WITH r AS (SELECT * FROM r) SELECT * FROM r", ("r",)),
        ("WITH a AS (SELECT * FROM x), b AS (SELECT * FROM a) SELECT * FROM b, c", ("x", "c")),
        ("WITH RECURSIVE a AS (SELECT * FROM a) SELECT * FROM A", ()),
        ("SELECT * FROM a WHERE x IN (SELECT y FROM b)", ("a", "b")),
        ("SELECT * FROM a UNION SELECT * FROM db.b ORDER BY 1", ("a", "db.b")),
        ("SELECT x FROM STREAM t", ()),
        ("FROM a SELECT x", ("a",)),
        ("FROM a |> WHERE x > 3 |> JOIN b ON a.x = b.x |> SELECT x", ("a", "b")),
        # Beyond sqlglot, by FROM and JOIN alone.
        ("SELECT x FROM a JOIN b.c ON x IS DISTINCT FROM y GROUP BY x AS z", ("a", "b.c")),
        ("SELECT extract(day FROM ts) FROM a GROUP BY x AS z", ("a",)),
        ("WITH c AS (SELECT 1 FROM d) SELECT x FROM c JOIN f(1) GROUP BY x AS z", ("d",)),
    ],
)
def test_tables_of_a_plain_statement(sql, tables):
    (query,) = parse_sql(sql)
    assert query.statement.tables == tables


def test_a_stand_in_keeps_the_tables_name():
    (query,) = parse_sql(f"SELECT max(r.x), r.y FROM db.r\nWHERE r.x > 1{GROUP}, r.y")
    assert query.statement.fill({"db.r": "v1"}) == (
        f"SELECT max(r.x), r.y FROM v1 AS `r`\nWHERE r.x > 1{GROUP}, r.y"
    )


def test_equal_relations_are_equal_whatever_the_white_space():
    one, other = parse_sql(
        f"SELECT count(*) FROM a  JOIN b ON a.i=b.i{GROUP};"
        f"SELECT max(x) FROM a\n\tJOIN -- c\n b  ON a.i=b.i{GROUP}"
    )
    assert one.grouping == other.grouping
