"""Aggregates as calls: what they are built of, how they are spelt, and what is refused."""

import pytest

import muntin as mt
from muntin.errors import ModelError
from muntin.model.aggregates import aggregate as ag
from muntin.model.aggregates.table import FUNCTIONS, SPELLINGS


def test_an_aggregate_is_built_of_components():
    mean = ag.avg("temp")
    assert [component.kind for component in mean.components] == ["float_sum", "count"]
    assert str(mean) == "avg(temp)"
    assert ag.count().to_sql() == "count(*)"
    only = ag.Aggregate(function="sum", argument="x", where="x > 1")
    assert only.to_sql() == "sum(x) FILTER (WHERE x > 1)"
    assert ag.stddev("x", population=True).function == "stddev_pop"


def test_what_cannot_be_an_aggregate_is_refused():
    with pytest.raises(ModelError, match="did you mean 'max'"):
        ag.Aggregate(function="maxx", argument="x")
    with pytest.raises(ModelError, match="needs an argument"):
        ag.Aggregate(function="sum")


def test_every_spelling_leads_to_a_function():
    assert SPELLINGS["stddev"] == "stddev_samp"
    assert SPELLINGS["some"] == "bool_or"
    assert set(SPELLINGS.values()) == set(FUNCTIONS)


def test_every_function_of_the_table_can_be_called_from_python():
    for name, row in FUNCTIONS.items():
        arguments = ("y", "x")[: row.arguments]
        found = ag.function_call(name)(*arguments, where="z > 0")
        assert found.to_sql() == f"{name}({', '.join(arguments)}) FILTER (WHERE z > 0)"
    assert mt.corr("y", "x") == ag.Aggregate(function="corr", argument="y", others=("x",))
    assert mt.bit_or("x", where="x > 1").to_sql() == "bit_or(x) FILTER (WHERE x > 1)"


@pytest.mark.parametrize(
    "made",
    [
        mt.count(where="z"),
        mt.count_if("x > 1", where="z"),
        mt.sum("x", where="z"),
        mt.avg("x", where="z"),
        mt.min("x", where="z"),
        mt.max("x", where="z"),
        mt.variance("x", where="z"),
        mt.stddev("x", population=True, where="z"),
        mt.any("x", where="z"),
        mt.every("x", where="z"),
    ],
    ids=str,
)
def test_every_aggregate_takes_a_filter(made):
    assert made.to_sql().endswith(" FILTER (WHERE z)")


def test_the_number_of_arguments_is_checked():
    with pytest.raises(ModelError, match="corr takes 2 arguments, not 1"):
        mt.corr("x")
    with pytest.raises(ModelError, match="skewness takes 1 arguments, not 2"):
        mt.skewness("x", "y")
    with pytest.raises(ModelError, match="bit_and needs an argument"):
        mt.bit_and()
