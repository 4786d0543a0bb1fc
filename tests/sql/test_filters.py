"""Predicates: their conjuncts mean the same together, and equal keys keep the same rows."""

import random
from itertools import pairwise

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from muntin.spark.engine.settings import temporary_settings
from muntin.sql.filters import (
    canonical_key,
    conjuncts,
    is_deterministic,
    is_reference,
    is_simple,
    split_by_keys,
)


def same_filter(a, b, **options):
    """Whether two predicates certainly select the same rows."""
    return canonical_key(a, **options) == canonical_key(b, **options)


@pytest.mark.parametrize(
    ("where", "parts"),
    [
        ("", ()),
        ("a", ("a",)),
        ("(((a=1)))", ("a = 1",)),
        ("a==1 and b!=2 AND !c", ("a = 1", "b <> 2", "NOT c")),
        ("a AND (b AND (c AND d)) AND e", ("a", "b", "c", "d", "e")),
        ("(a AND b) OR c", ("(a AND b) OR c",)),
        ("a AND (b or c)", ("a", "b OR c")),
        ("NOT (a AND b) AND c", ("NOT (a AND b)", "c")),
        ("x between 1 and 2 and y", ("x BETWEEN 1 AND 2", "y")),
        ("NOT x BETWEEN 1 AND 2 AND y", ("NOT x BETWEEN 1 AND 2", "y")),
        (
            "case when a and b then c and d end and e",
            ("CASE WHEN a AND b THEN c AND d END", "e"),
        ),
        ("t.and AND t.case AND t.end", ("t.and", "t.case", "t.end")),
        ("a -- not b\n AND /* c AND */ d", ("a", "d")),
        ("s = ' and  -- ' AND `x and y`", ("s = ' and  -- '", "`x and y`")),
        ("a-5>- -3 AND x*-1<.5", ("a - 5 > - -3", "x * -1 < .5")),
        ("f (x,y) >1 AND xs [ 0 ]=1", ("f(x, y) > 1", "xs[0] = 1")),
        ("exists(xs, X -> X and y) and z", ("exists(xs, X -> X and y)", "z")),
        ("x IS DISTINCT from y and z", ("x IS DISTINCT FROM y", "z")),
    ],
)
def test_conjuncts(where, parts):
    assert conjuncts(where) == parts
    assert conjuncts(" AND ".join(f"({part})" for part in parts)) == parts


@pytest.mark.parametrize(
    "where",
    [
        "between = 3 and x and y",
        "a and",
        "a; b",
        "(a and b",
        "a) and (b",
        "s = 'a and b",
        "a GROUP BY b",
        "a UNION SELECT b",
        "v:a.b and c",
    ],
)
def test_what_sqlglot_cannot_read_stays_in_one_piece(where):
    assert conjuncts(where.replace(" ", "  /* */\n")) == (where,)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("a = 1 AND b > 2", "2 < b and 1 = a"),
        ("a <> b", "NOT (b = a)"),
        ("a <= b AND c", "c AND b >= a AND c"),
        ("a <=> NULL", "null <=> a"),
        ("x IN (3, 1, 2, 1)", "x in (1,2,3)"),
        ("x IN ('b', NULL, 'a')", "x IN ('a', 'b', NULL)"),
        ("x NOT IN (1, 2)", "NOT x IN (2, 1)"),
        ("x IS NOT NULL", "NOT (x) IS NULL"),
        ("x NOT LIKE 'a%'", "NOT (x LIKE 'a%')"),
        ("`x` = 1", "x = 1"),
        ("t . x = 1", "`t`.`x`=1"),
        ("x = DATE'2024-01-01'", "date '2024-01-01' = x"),
        ("f(x) > 1 AND 1 = a", "F(x)>1 AND a = 1".replace("F", "f")),
        (None, ""),
    ],
)
def test_predicates_that_are_the_same(a, b):
    assert same_filter(a, b)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        # One may guard the other.
        ("x <> 0 AND 1 / x > 2", "1 / x > 2 AND x <> 0"),
        # Spark leaves out the right side where the left one is null.
        ("f(x) = g(y)", "g(y) = f(x)"),
        ("a < b", "b < a"),
        ("a = 1", "a = 1.0"),
        ("a = 'x'", "a = 'X'"),
        ("x IN (1, 2.5)", "x IN (2.5, 1)"),
        ("x IN (1, 2)", "x IN (1)"),
        ("x BETWEEN 1 AND 2", "x BETWEEN 2 AND 1"),
        ("x = r'a'", "x = 'a'"),
        ("a AND b", "a OR b"),
        ("a.b = 1", "`a.b` = 1"),
        ("a", None),
    ],
)
def test_predicates_that_may_differ(a, b):
    assert not same_filter(a, b)
    assert not same_filter(a, b, case_sensitive=False)


def test_the_session_says_whether_case_counts():
    assert not same_filter("X = 1", "x = 1")
    assert same_filter("X = 1", "x = 1", case_sensitive=False)
    assert same_filter("`X`.y IS NULL", "x.`Y` is null", case_sensitive=False)
    # Java and Python disagree on other letters.
    assert not same_filter("`İ` = 1", "`i̇` = 1", case_sensitive=False)


@pytest.mark.parametrize(
    ("text", "simple"),
    [
        ("x = 1", True),
        ("t.x < t.y", True),
        ("'a' <> `x y`", True),
        ("x BETWEEN -1 AND 5", True),
        ("x NOT IN (1, NULL)", True),
        ("NOT (x LIKE 'a_%')", True),
        ("x IS NOT NULL", True),
        ("flag", True),
        ("NOT flag", True),
        ("TRUE", True),
        ("x + 1 = 2", False),
        ("abs(x) = 2", False),
        ("CAST(x AS INT) = 2", False),
        ("x::int = 2", False),
        ("x = 1 OR y = 2", False),
        ("x LIKE 'a\\\\'", False),
        ("x LIKE 'a' ESCAPE '/'", False),
        ("x LIKE y", False),
        ("x RLIKE '('", False),
        ("x IN (y)", False),
        ("x IN (SELECT 1)", False),
        ("1 = '1'", False),
        ("x = current_date", False),
        ("m['k'] = 1", False),
        ("x = :p", False),
        ("x = ?", False),
        ("x =", False),
        ("", False),
    ],
)
def test_simple_conjuncts(text, simple):
    assert is_simple(text) is simple


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("x > 1 AND abs(x) IN (1, 2) AND (y OR NOT (z))", True),
        ("CASE WHEN (a) THEN (b) ELSE (c) END", True),
        ("CAST(x AS DECIMAL(10, 2)) > CAST(y AS VARCHAR(5))", True),
        ("ts > current_timestamp() - INTERVAL 1 DAY", True),
        ("x LIKE ANY ('a', 'b')", True),
        ("RAND() < 0.5", False),
        ("rand(7) < 0.5", False),
        ("uuid() = x", False),
        ("monotonically_increasing_id() % 2 = 0", False),
        ("aes_encrypt(x, k) = y", False),
        ("my_udf(x)", False),
        ("db.abs(x) > 1", False),
        ("x IN (SELECT y FROM t)", False),
        ("'rand()' = x", True),
        ("'unfinished", False),
    ],
)
def test_deterministic_expressions(text, same):
    assert is_deterministic(text) is same


def test_functions_of_the_user_that_are_known():
    assert is_deterministic("My_UDF(x) > 1", functions={"my_udf"})


@pytest.mark.parametrize(
    ("where", "of_keys", "rest"),
    [
        ("kind = 1", "kind = 1", None),
        ("`kind` = 1 and temp > 80", "`kind` = 1", "temp > 80"),
        ("kind = site AND kind = temp", "kind = site", "kind = temp"),
        ("kind = 1 OR temp > 80", None, "kind = 1 OR temp > 80"),
        ("p.site IN (1, 2)", "p.site IN (1, 2)", None),
        ("x <> 0 AND 1 / x > 2 AND kind = 1", None, "x <> 0 AND 1 / x > 2 AND kind = 1"),
        ("other.kind = 1", None, "other.kind = 1"),
        ("Kind = 1", None, "Kind = 1"),
        ("kind IS NOT NULL AND site LIKE 'a%'", "kind IS NOT NULL AND site LIKE 'a%'", None),
    ],
)
def test_what_keys_decide_of_a_filter(where, of_keys, rest):
    assert split_by_keys(where, ("kind", "site", "p.site", "upper(x)")) == (of_keys, rest)
    assert split_by_keys(where, ("upper(kind)",)) == (None, where)


@pytest.mark.parametrize(
    ("text", "is_one"),
    [
        ("x", True),
        ("(t.x)", True),
        ("`a.b`", True),
        ("db.t.`x y`.z", True),
        ("`null`", True),
        ("t.end", True),
        ("null", False),
        ("current_date", False),
        ("x[0]", False),
        ("-x", False),
        ("f(x)", False),
        ("t.*", False),
        ("'x'", False),
        ("r'x'", False),
        ("1", False),
        ("", False),
        ("'", False),
    ],
)
def test_references(text, is_one):
    assert is_reference(text) is is_one


# Columns of the generated rows, each with literals of its type.
LITERALS = {
    "i": ["0", "1", "-1", "2", "NULL"],
    "j": ["0", "1", "3", "NULL"],
    "s.n": ["0", "-2", "NULL"],
    "name": ["'a'", "'b'", "''", "'A'", "NULL"],
    "x": ["0.5D", "-1D", "NULL"],
    "d": ["DATE'2024-01-01'", "DATE '2024-01-02'"],
}
PEERS = {"i": ["j", "s.n"], "j": ["i"], "s.n": ["i"], "name": [], "x": [], "d": []}
OTHERS = [
    "flag",
    "NOT flag",
    "i <> 0 AND 6 / i > 2",
    "nullif(i, 0) IS NULL OR 6 / i > 2",
    "CASE WHEN i > 0 AND j > 0 THEN flag ELSE j = 1 END",
    "upper(name) = 'A'",
    "i + j - -1 > 0",
    "flag IS NOT DISTINCT FROM (i = 1)",
    "exists(array(i, j), y -> y > 0 AND y < 3)",
    "i % 2 = 1 OR flag AND j BETWEEN 0 AND 1",
]
FLIPPED = {"=": "=", "<>": "<>", "<": ">", ">": "<", "<=": ">=", ">=": "<=", "<=>": "<=>"}


@st.composite
def simple(draw):
    """A simple condition in two spellings that mean the same."""
    column = draw(st.sampled_from(sorted(LITERALS)))
    literal = st.sampled_from(LITERALS[column])
    operand = st.one_of(literal, st.sampled_from(PEERS[column] or LITERALS[column]))
    kind = draw(st.sampled_from(["compare", "in", "between", "null", "like"]))
    negation = draw(st.sampled_from(["", "NOT "]))
    if kind == "compare":
        sign, other = draw(st.sampled_from(sorted(FLIPPED))), draw(operand)
        forms = [f"{column} {sign} {other}", f"{other}{FLIPPED[sign]}{column}"]
        forms = [f"{negation}{form}" for form in forms]
        if sign == "<>":
            forms.append(f"{negation}(NOT ({other}) == {column})")
    elif kind == "in":
        values = draw(st.lists(literal, min_size=1, max_size=4))
        again = draw(st.permutations(values + values[:1]))
        forms = [f"{column} {negation}IN ({', '.join(some)})" for some in (values, again)]
    elif kind == "between":
        low, high = draw(operand), draw(operand)
        forms = [f"{column} {negation}BETWEEN {low} AND {high}"]
        forms.append(f"{negation}{column} between ({low}) and {high}")
    elif kind == "null":
        forms = [f"{column} IS {negation}NULL", f"{negation}({column} is null)"]
    else:
        pattern = draw(st.sampled_from(["'a%'", "'_'", "''"]))
        forms = [f"name {negation}LIKE {pattern}", f"{negation}name like{pattern}"]
    return draw(st.sampled_from(forms)), draw(st.sampled_from(forms))


@st.composite
def predicates(draw):
    """Two predicates that may be the same, and often are."""
    parts = draw(st.lists(simple(), min_size=1, max_size=4))
    others = draw(st.lists(st.sampled_from(OTHERS), max_size=2))
    first, second = (
        [*(pair[side] for pair in parts), *(f"({other})" for other in others)] for side in (0, 1)
    )
    if not others and draw(st.booleans()):
        second = draw(st.permutations(second))
    return _joined(draw, first), _joined(draw, second)


def _joined(draw, parts):
    """Conditions joined by AND, with brackets, comments and blanks."""
    while len(parts) > 1:
        place = draw(st.integers(0, len(parts) - 2))
        word = draw(st.sampled_from([" AND ", " and ", "\nAnd -- so\n", "/**/AND/**/"]))
        left, right = parts[place : place + 2]
        if draw(st.booleans()):
            # Of `a AND (b AND c)` and `(a AND b) AND c` either may be written.
            right = f"({right})"
        parts = [*parts[:place], f"{left}{word}{right}", *parts[place + 2 :]]
    return parts[0]


ROWS = """
SELECT i, j, named_struct('n', i - 2) AS s, name, x, d, flag
FROM VALUES (0), (1), (-1), (2), (NULL) AS a(i)
CROSS JOIN VALUES (0), (1), (3), (NULL) AS b(j)
CROSS JOIN VALUES ('a', 0.5D, DATE'2024-01-01', true), ('A', -1D, DATE'2024-01-02', false),
  ('', double('nan'), NULL, NULL), (NULL, NULL, DATE'2024-01-01', true) AS c(name, x, d, flag)
"""
EXAMPLES = 120


def drawn(strategy):
    values = []

    @seed(random.randrange(2**32))
    @settings(
        max_examples=EXAMPLES,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(strategy)
    def draw(value):
        values.append(value)

    draw()
    return values


def assert_equal_columns(spark, pairs):
    """Both predicates of every pair have the same value, null included, for every row."""
    for start in range(0, len(pairs), 40):
        some = pairs[start : start + 40]
        items = [f"count_if(NOT (({a}) <=> ({b})))" for a, b in some]
        # Without it, Spark computes `6 / i` of two conditions before it looks at either.
        with temporary_settings(
            spark, {"spark.sql.subexpressionElimination.skipForShortcutExpr": "true"}
        ):
            counts = spark.sql(f"SELECT {', '.join(items)} FROM ({ROWS})").collect()[0]
        wrong = [pair for pair, count in zip(some, counts, strict=True) if count]
        assert not wrong, wrong


def test_conjuncts_joined_mean_the_predicate(spark):
    wheres = [where for pair in drawn(predicates()) for where in pair]
    assert_equal_columns(
        spark,
        [(where, " AND ".join(f"({part})" for part in conjuncts(where))) for where in wheres],
    )
    assert sum(len(conjuncts(where)) > 1 for where in wheres) > len(wheres) / 3


def test_equal_keys_mean_equal_values(spark):
    pairs = drawn(predicates())
    same = [(a, b) for a, b in pairs if same_filter(a, b)]
    assert len(same) > len(pairs) / 2
    # Predicates that were not generated as a pair may have one key, too.
    alike = sorted(
        {where for pair in pairs for where in pair}, key=lambda where: (canonical_key(where), where)
    )
    same += [(a, b) for a, b in pairwise(alike) if same_filter(a, b)]
    assert_equal_columns(spark, same)


@given(predicates())
def test_every_pair_of_spellings_has_one_key(pair):
    assert same_filter(*pair)
