import pytest

from muntin.errors import RunError
from muntin.measure.same_rows import compare_rows

ROWS = "VALUES ('a', 1, 1.5D, 2), ('b', NULL, double('nan'), 3), (NULL, 3, double('inf'), NULL)"


def frame(spark, rows):
    return spark.sql(f"SELECT * FROM {rows} AS t(key, count, mean, other)")


def found(spark, rows, **options):
    return compare_rows(frame(spark, ROWS), frame(spark, rows), keys=["key"], **options)


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
@pytest.mark.parametrize("close", [(), ("mean",)])
def test_a_planted_difference_is_found(spark, here, there, close):
    assert here in ROWS
    assert not found(spark, ROWS.replace(here, there), close=close).equal


def test_keys_that_a_query_does_not_have_are_null_on_both_sides(spark):
    rows = (
        "VALUES ('q0', 'a', NULL, 1, 2.5D), ('q1', NULL, 7, NULL, 0.1D), "
        "('q2', NULL, NULL, 3, NULL)"
    )

    def answers(rows):
        return spark.sql(f"SELECT * FROM {rows} AS t(query, device, site, count, avg)")

    def comparison(others):
        keys = ["query", "device", "site"]
        return compare_rows(answers(rows), answers(others), keys=keys, close=["avg"])

    assert comparison(rows.replace("0.1D", "0.1000000000000001D")).equal
    assert not comparison(rows.replace("7", "8")).equal
    assert not comparison(rows.replace("NULL, 3", "7, 3")).equal
    assert not comparison(rows.replace("NULL, 0.1D", "0, 0.1D")).equal


def test_only_close_columns_may_differ_a_little(spark):
    nearly = ROWS.replace("1.5D", "1.5000000000001D")
    assert not found(spark, nearly).equal
    assert found(spark, nearly, close=["mean"]).equal


def test_other_columns_are_refused(spark):
    left = spark.sql("SELECT 'a' AS key, 1 AS n")
    with pytest.raises(RunError, match="key:string,n:bigint"):
        compare_rows(left, spark.sql("SELECT 'a' AS key, 1L AS n"), keys=["key"])
