"""Named parameters are values, in Spark's types, and never SQL."""

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

import pytest
from pyspark.sql import functions as F

from muntin.errors import ParseError
from muntin.sql import parse_sql
from muntin.sql.parameters import as_literal, bind_parameters

VALUES = {
    "small": 7,
    "negative": -7,
    "least": -(1 << 31),
    "long": 1 << 40,
    "least_long": -(1 << 63),
    "double": -0.1,
    "tiny": 5e-324,
    "huge": 1.7976931348623157e308,
    "nan": float("nan"),
    "infinite": float("-inf"),
    "no": False,
    "text": "it's; -- \\ \n \t `x` :small 'é😀' %",
    "empty": "",
    "nothing": None,
    "bytes": b"\x00\xff",
    "decimal": Decimal("-12.3400"),
    "day": date(1969, 12, 31),
    "local": datetime(2024, 3, 10, 2, 30, 0, 123456),
    "instant": datetime(1969, 12, 31, 23, 59, 59, 999999, tzinfo=UTC),
    "span": timedelta(days=-1, microseconds=1),
}


def test_values_have_the_types_that_spark_gives_them(spark):
    names = list(VALUES)
    columns = [F.lit(VALUES[name]).alias(name) for name in names]
    expected = spark.range(1).select(*columns)
    texts = ", ".join(f"{as_literal(VALUES[name])} AS {name}" for name in names)
    actual = spark.sql(f"SELECT {texts}")
    assert [(one.name, one.dataType) for one in actual.schema] == [
        (one.name, one.dataType) for one in expected.schema
    ]
    assert str(actual.collect()) == str(expected.collect())


def test_a_parameter_is_one_value_wherever_it_stands():
    (query,) = parse_sql(
        "SELECT k, sum(p) FILTER (WHERE a < :high) AS s FROM t WHERE a > :low AND b = :name"
        " GROUP BY k, window(ts, :size, :slide)",
        args={"low": -3, "high": 9, "name": "x' OR 1=1 --", "size": "1 hour", "slide": "1 minute"},
    )
    assert str(query.window) == "1 hour every 1 minute"
    assert query.where == r"a > (-3) AND b = 'x\' OR 1=1 --'"


@pytest.mark.parametrize(
    "text",
    [
        "SELECT a::int, m['x:y'], ':p', `:p` /* :p */ -- :p",
        "SELECT value:p, x : p",
    ],
)
def test_what_only_looks_like_a_parameter_stays(text):
    assert bind_parameters(text, {"p": 1, "y": 2}) == text


def test_a_parameter_needs_a_value_of_a_type_that_sql_has():
    with pytest.raises(
        ParseError, match=r":loww has no value; did you mean 'low'.*line 2, column 7"
    ):
        bind_parameters("SELECT\n  a > \n:loww".replace("\n:", ":"), {"low": 1})
    with pytest.raises(ParseError, match="args is empty"):
        parse_sql("SELECT :p", args={})
    with pytest.raises(ParseError, match=":p is list; a value is a number"):
        bind_parameters("SELECT :p", {"p": [1]})
    with pytest.raises(ParseError, match="is no bigint"):
        bind_parameters("SELECT :p", {"p": 1 << 63})
