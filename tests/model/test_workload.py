import pytest

from muntin.errors import ModelError
from muntin.model.query import PlainQuery, SqlText
from muntin.model.workload import Workload, workload
from tests.support.queries import query


def test_a_workload_is_one_query_several_or_itself():
    asked = query()
    assert workload(asked).queries == (asked,)
    assert workload([asked, query(name="r")], rate=5).rate == 5
    load = Workload(queries=(asked,))
    assert workload(load) is load


@pytest.mark.parametrize(
    ("queries", "rate", "message"),
    [
        ([], 1, "at least one query"),
        (
            [query(), query(name="Q")],
            1,
            "the queries 'q' and 'Q' differ in upper and lower case alone",
        ),
        ([query()], 0, "rate must be above zero"),
        (["SELECT 1"], 1, "made of queries"),
    ],
)
def test_a_workload_that_exists_is_valid(queries, rate, message):
    with pytest.raises(ModelError, match=message):
        workload(queries, rate=rate)


def test_plain_queries_stand_apart():
    alone = PlainQuery(name="p", statement=SqlText(("SELECT 1",)), reason="no window")
    load = workload([query(), alone])
    assert load.plain_queries == (alone,)
    assert [asked.name for asked in load.periodic_queries] == ["q"]
