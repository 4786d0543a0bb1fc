"""Aggregates as calls: what they are built of, how they are spelt, and what is refused."""

import json

import pytest

import muntin as mt
from muntin.aggregates import aggregate as ag
from muntin.aggregates.table import DISTINCT, FUNCTIONS, SPELLINGS
from muntin.aggregates.user_aggregate import aggregate_from_json, aggregate_to_json
from muntin.errors import ModelError


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
    assert {*SPELLINGS.values(), *DISTINCT.values()} == set(FUNCTIONS)
    assert "count_distinct" not in SPELLINGS


def test_every_function_of_the_table_can_be_called_from_python():
    for name, row in FUNCTIONS.items():
        arguments = ("y", "x")[: row.arguments]
        if row.parameters or row.distinct_of:
            continue
        found = ag.function_call(name)(*arguments, where="z > 0")
        assert found.to_sql() == f"{name}({', '.join(arguments)}) FILTER (WHERE z > 0)"
    assert mt.corr("y", "x") == ag.Aggregate(function="corr", argument="y", others=("x",))
    assert mt.bit_or("x", where="x > 1").to_sql() == "bit_or(x) FILTER (WHERE x > 1)"


@pytest.mark.parametrize(
    ("made", "sql"),
    [
        (mt.count_distinct("a", "b"), "count(DISTINCT a, b)"),
        (mt.sum_distinct("a", where="b"), "sum(DISTINCT a) FILTER (WHERE b)"),
        (mt.percentile("x", 0.95), "percentile(x, 0.95)"),
        (mt.percentile("x", [0, 0.5]), "percentile(x, array(0, 0.5))"),
        (mt.percentile_cont("x", 0.5), "percentile_cont(0.5) WITHIN GROUP (ORDER BY x ASC)"),
        (
            mt.percentile_disc("x", 0.5, "desc", where="z"),
            "percentile_disc(0.5) WITHIN GROUP (ORDER BY x DESC) FILTER (WHERE z)",
        ),
        (mt.mode("x"), "mode() WITHIN GROUP (ORDER BY x ASC)"),
    ],
    ids=str,
)
def test_parameters_stand_behind_arguments(made, sql):
    assert made.to_sql() == sql
    again = aggregate_from_json(json.loads(json.dumps(aggregate_to_json(made))))
    assert again == made


def test_parameters_are_checked():
    for wrong in ("1.5", "x", "array(0.5, y)", "-0.1", "0.5F"):
        with pytest.raises(ModelError, match="a percentage is a number from 0 to 1"):
            mt.percentile("x", wrong)
    with pytest.raises(ModelError, match="percentile takes percentage behind its arguments"):
        mt.percentile("x")
    with pytest.raises(ModelError, match="the order of mode is ASC or DESC, not 'up'"):
        mt.mode("x", "up")


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
