import pytest

from muntin.errors import RunError
from muntin.measure.equality import compare_rows

ROWS = "VALUES ('a', 1, 1.5D, 2), ('b', NULL, double('nan'), 3), (NULL, 3, double('inf'), NULL)"


def frame(spark, rows):
    return spark.sql(f"SELECT * FROM {rows} AS t(key, count, mean, other)")


def found(spark, rows, **options):
    return compare_rows(frame(spark, ROWS), frame(spark, rows), **options)


def test_equal_rows_in_any_order_with_nulls_and_nans(spark):
    rows = "VALUES (NULL, 3, double('inf'), NULL), ('b', NULL, double('nan'), 3), ('a', 1, 1.5D, 2)"
    result = found(spark, rows)
    assert result.equal
    assert (result.left, result.right, result.different) == (3, 3, 0)


@pytest.mark.parametrize(
    ("here", "there"),
    [
        ("'a', 1", "'a', 2"),
        ("1.5D, 2", "1.5D, NULL"),
        ("'b', NULL", "'b', 0"),
        ("double('nan')", "1D"),
        ("double('inf')", "1D"),
        ("double('inf')", "double('-inf')"),
        ("1.5D", "1.5000001D"),
        ("('a', 1, 1.5D, 2), ", ""),
        ("('a', 1, 1.5D, 2)", "('a', 1, 1.5D, 2), ('a', 1, 1.5D, 2)"),
        ("'a'", "'c'"),
    ],
)
@pytest.mark.parametrize("exact", [(), ("mean",)])
def test_a_planted_difference_is_found(spark, here, there, exact):
    assert here in ROWS
    assert not found(spark, ROWS.replace(here, there), exact=exact).equal


def test_keys_that_a_query_does_not_have_are_null_on_both_sides(spark):
    rows = (
        "VALUES ('q0', 'a', NULL, 1, 2.5D), ('q1', NULL, 7, NULL, 0.1D), "
        "('q2', NULL, NULL, 3, NULL)"
    )

    def answers(rows):
        return spark.sql(f"SELECT * FROM {rows} AS t(query, device, site, count, avg)")

    def comparison(others):
        return compare_rows(answers(rows), answers(others))

    assert comparison(rows.replace("0.1D", "0.1000000000000001D")).equal
    assert not comparison(rows.replace("7", "8")).equal
    assert not comparison(rows.replace("NULL, 3", "7, 3")).equal
    assert not comparison(rows.replace("NULL, 0.1D", "0, 0.1D")).equal


def test_floats_may_differ_a_little_unless_they_are_to_be_exact(spark):
    nearly = ROWS.replace("1.5D", "1.5000000000001D")
    assert found(spark, nearly).equal
    assert not found(spark, nearly, exact=["mean"]).equal


@pytest.mark.parametrize(
    ("there", "equal"),
    [
        ("array(1D, NULL), map('a', 1, 'b', 2)", True),
        ("array(1.0000000000001D, NULL), map('b', 2, 'a', 1)", True),
        ("array(1.1D, NULL), map('a', 1, 'b', 2)", False),
        ("array(1D), map('a', 1, 'b', 2)", False),
        ("CAST(NULL AS ARRAY<DOUBLE>), map('a', 1, 'b', 2)", False),
        ("array(1D, NULL), map('a', 1, 'b', 3)", False),
    ],
)
def test_arrays_and_maps(spark, there, equal):
    left, right = (
        spark.sql(f"SELECT * FROM VALUES ('k', {values}) AS t(key, floats, counts)")
        for values in ("array(1D, NULL), map('a', 1, 'b', 2)", there)
    )
    assert compare_rows(left, right).equal is equal


def test_other_columns_are_refused(spark):
    left = spark.sql("SELECT 'a' AS key, 1 AS n")
    with pytest.raises(RunError, match="key:string,n:bigint"):
        compare_rows(left, spark.sql("SELECT 'a' AS key, 1L AS n"))
