import json

import pytest

import muntin as mt
from muntin.errors import ModelError
from muntin.model.plan_json import plan_from_json, plan_to_json


def product(a, b):
    return a * b


def latest(a, b):
    return b if b[0] >= a[0] else a


PRODUCT = mt.aggregate("1 + rate", product, lambda partial: partial - 1, 1)
LAST = mt.aggregate(
    ["unix_micros(ts)", "price"], latest, lambda partial: partial[1], (float("-inf"), 0.0)
)


def query(aggregate, window=None):
    window = window or mt.tumbling("1 hour")
    return mt.Query(name="q", window=window, aggregates={"x": aggregate}, time="ts", keys=["k"])


def test_it_is_named_by_its_combine():
    assert (str(PRODUCT), str(LAST)) == ("product(1 + rate)", "latest(unix_micros(ts), price)")
    assert LAST.components[0].monoid.width == 2


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        (([], product, float, []), "lift is one to 3 expressions, not 0"),
        (("a" * 4, product, float, (1, 1)), "identity has as many numbers as its lift, 1, not 2"),
        (([1, 2], product, float, (1, 1)), "lift is Spark SQL, not 1"),
        (("a", 5, float, 1), "combine is a function, not 5"),
        (("a", product, None, 1), "lower is a function, not None"),
        (("a", product, float, 3), "combined with itself must be itself, 3.0, and .* 9.0"),
        (("a", latest, float, 0), "combine fails for its identity 0.0"),
    ],
)
def test_what_is_wrong_is_refused(parts, message):
    with pytest.raises(ModelError, match=message):
        mt.aggregate(*parts)


def test_it_is_computed_record_by_record_in_periodic_windows_too():
    plan = mt.plan([query(PRODUCT)])
    assert plan.periodic_trees == ()
    assert [str(node.window) for tree in plan.data_trees for node in tree.nodes] == ["1 hour"]
    sessions = mt.plan([query(PRODUCT, mt.session("1 minute"))])
    assert sessions.data_trees[0].grain is None


def test_it_is_not_sql_and_of_its_functions_the_names_alone_are_data():
    with pytest.raises(ModelError, match="query 'q': Spark SQL has no aggregate such as product"):
        query(PRODUCT).to_sql()
    data = plan_to_json(mt.plan(query(PRODUCT)))
    back = plan_from_json(json.loads(json.dumps(data)))
    assert plan_to_json(back) == data
    assert str(back.queries[0].aggregates["x"]) == str(PRODUCT)
