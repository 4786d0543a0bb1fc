"""The comparison of many pairs: what is equal passes, and whatever differs does not."""

import pytest

from tests.support.comparing import Pair, assert_pairs_equal, compare

# Two relations that are equal, then those that differ in what is said.
EQUAL = {
    "order of rows": ("VALUES (1), (2), (2)", "VALUES (2), (1), (2)"),
    "NaN and null": (
        "VALUES (double('NaN'), NULL), (NULL, 1)",
        "VALUES (NULL, 1), (-double('NaN'), NULL)",
    ),
    "order of a map": ("SELECT map('a', 1, 'b', NULL) m", "SELECT map('b', NULL, 'a', 1) m"),
    "one name twice": ("SELECT 1 a, 2 a", "SELECT 1 a, 2 a"),
    "one field twice": ("SELECT struct(1 a, 'x' a) s", "SELECT struct(1 a, 'x' a) s"),
    "odd names": ("SELECT 1 `a.b`, 2 `c``d`", "SELECT 1 `a.b`, 2 `c``d`"),
    "no rows": ("SELECT 1 a WHERE false", "SELECT 1 a WHERE false"),
}
DIFFERENT = {
    "a row more": ("VALUES (1), (2)", "VALUES (1), (2), (2)"),
    "a row less": ("VALUES (1), (2), (2)", "VALUES (1), (2)"),
    "other counts": ("VALUES (1), (2), (2)", "VALUES (1), (1), (2)"),
    "a name": ("SELECT 1 a", "SELECT 1 A"),
    "a type": ("SELECT 1 a", "SELECT 1L a"),
    "nullability": ("SELECT 1 a", "SELECT if(rand() < 9, 1, NULL) a"),
    "a field's name": ("SELECT struct(1 a) s", "SELECT struct(1 b) s"),
    "the last bit": ("SELECT 0.3D x", "SELECT 0.1D + 0.2D x"),
    "a zero's sign": ("SELECT 0D x", "SELECT -0D x"),
    "NaN or infinity": ("SELECT double('NaN') x", "SELECT double('Infinity') x"),
    "a microsecond": (
        "SELECT timestamp '2024-01-01 00:00:00.000001' t",
        "SELECT timestamp '2024-01-01 00:00:00.000002' t",
    ),
    "a local microsecond": (
        "SELECT timestamp_ntz '2024-01-01 00:00:00.000001' t",
        "SELECT timestamp_ntz '2024-01-01 00:00:00.000002' t",
    ),
    "an hour that comes twice": (
        "SELECT timestamp '2024-11-03 05:30:00 UTC' t",
        "SELECT timestamp '2024-11-03 06:30:00 UTC' t",
    ),
    "the last digit of a decimal": (
        "SELECT 12345678901234567890.12 d",
        "SELECT 12345678901234567890.13 d",
    ),
    "a null struct": (
        "SELECT if(id < 0, named_struct('a', id), NULL) s FROM range(1)",
        "SELECT if(id = 0, named_struct('a', nullif(id, 0)), NULL) s FROM range(1)",
    ),
    "null and 'null'": (
        "SELECT if(id = 0, NULL, 'x') s FROM range(1)",
        "SELECT if(id = 0, 'null', NULL) s FROM range(1)",
    ),
    "a map's value": ("SELECT map('a', 1) m", "SELECT map('a', 2) m"),
    "bytes": ("SELECT X'C3' b", "SELECT X'C4' b"),
    "quotes": ("SELECT array('a\",\"b') s", "SELECT array('a', 'b') s"),
}


def pair(spark, name, relations, **options):
    expected, actual = relations
    return Pair(name=name, expected=spark.sql(expected), actual=spark.sql(actual), **options)


def test_what_is_equal_passes(spark):
    pairs = [pair(spark, name, relations) for name, relations in EQUAL.items()]
    assert_pairs_equal(pairs)
    rows = {name: outcome.rows for name, outcome in compare(pairs).items()}
    assert rows["order of rows"] == 3
    assert rows["no rows"] == 0


def test_whatever_differs_is_found(spark):
    pairs = [pair(spark, name, relations) for name, relations in {**DIFFERENT, **EQUAL}.items()]
    outcomes = compare(pairs)
    for name in DIFFERENT:
        assert outcomes[name].wrong is not None, f"{name} passes"
        assert outcomes[name].wrong.startswith(f"{name}: ")
    for name in EQUAL:
        assert outcomes[name].wrong is None


def test_the_error_names_the_pair_and_shows_the_rows(spark):
    pairs = [pair(spark, "rows", DIFFERENT["other counts"]), pair(spark, "fine", EQUAL["no rows"])]
    with pytest.raises(AssertionError) as caught:
        assert_pairs_equal(pairs)
    said = str(caught.value)
    assert "rows: 2 different rows differ (3 rows expected)" in said
    assert 'only in expected: {"_0":2}' in said
    assert 'only in actual:   {"_0":1}' in said
    assert "fine" not in said


def test_a_side_that_fails_is_the_fault_of_its_pair(spark):
    broken = ("SELECT id FROM range(1)", "SELECT bigint(raise_error('no')) id FROM range(1)")
    outcomes = compare([pair(spark, "broken", broken), pair(spark, "fine", EQUAL["order of rows"])])
    assert "broken" in outcomes["broken"].wrong
    assert "no rows" not in outcomes["broken"].wrong
    assert outcomes["fine"].wrong is None


@pytest.mark.parametrize(
    ("relations", "is_equal"),
    [
        (DIFFERENT["the last bit"], True),
        (("SELECT 1D x", "SELECT 1.00000001D x"), False),
        (("VALUES (0.3D, 1), (0.3D, 2)", "VALUES (0.1D + 0.2D, 2), (0.3D, 1)"), True),
        (("VALUES (0.3D, 1), (0.3D, 2)", "VALUES (0.1D + 0.2D, 3), (0.3D, 1)"), False),
        (("SELECT array(0.3D) x", "SELECT array(0.1D + 0.2D) x"), True),
        (("SELECT double('NaN') x", "SELECT 0D x"), False),
        (("SELECT 0.30BD x", "SELECT 0.31BD x"), False),
    ],
)
def test_tolerance_is_for_floats_alone(spark, relations, is_equal):
    (outcome,) = compare([pair(spark, "x", relations, tolerance=1e-9)]).values()
    assert (outcome.wrong is None) == is_equal
