import pytest

from muntin.aggregates.aggregate import count
from muntin.errors import ModelError
from muntin.model.data_windows import session
from muntin.model.query import Column, SqlText
from muntin.model.windows import tumbling
from tests.support.queries import query


def test_columns_default_to_keys_window_aggregates():
    asked = query(keys=["site.name", "device"])
    assert [column.name for column in asked.columns] == ["name", "device", "window", "hottest"]
    assert asked.key_expressions == {"name": "site.name", "device": "device"}


def test_a_query_as_spark_sql():
    text = query(where="temp > 0", having="hottest > 3", relation="db.readings").to_sql()
    assert text.tables == ("db.readings",)
    assert str(text) == (
        "SELECT * FROM (SELECT device AS _muntin_0, window(ts, '60000000 microseconds', "
        "'60000000 microseconds', '0 microseconds') AS _muntin_1, max(temp) AS _muntin_2 "
        "FROM db.readings AS `readings` WHERE temp > 0 GROUP BY device, window(ts, "
        "'60000000 microseconds', '60000000 microseconds', '0 microseconds')) "
        "AS answers(`device`, `window`, `hottest`) WHERE hottest > 3"
    )


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"name": ""}, "cannot be one"),
        ({"name": "a/b"}, "cannot be one"),
        ({"name": ".."}, "cannot be one"),
        ({"aggregates": {}}, "at least one aggregate"),
        ({"aggregates": {"m": "max(temp)"}}, r"mt\.avg\('temp'\)"),
        ({"window": "1 minute"}, "tumbling, hopping or cumulate"),
        ({"keys": "device"}, "list of columns"),
        ({"aggregates": {"device": count()}}, "two columns are called 'device'"),
        ({"aggregates": {"window": count()}}, "two columns are called 'window'"),
    ],
)
def test_a_query_that_exists_is_valid(changes, message):
    with pytest.raises(ModelError, match=message):
        query(**changes)


def test_families_do_not_depend_on_order_or_white_space():
    one = query(keys=["device", "site"], where="temp  >\n 0")
    two = query(keys=["site", "device"], where="temp > 0")
    assert one.grouping == two.grouping
    assert one.grouping != query(keys=["device"]).grouping
    assert one.grouping != query(keys=["device", "site"], where="temp > '0  0'").grouping


def test_tables_are_holes():
    text = SqlText(("SELECT * FROM ", " AS a JOIN ", ""), ("one", "two"))
    assert text.fill() == str(text) == "SELECT * FROM one AS a JOIN two"
    assert text.fill({"two": "view"}) == "SELECT * FROM one AS a JOIN view"
    assert text.surround("(", ")").fill() == "(SELECT * FROM one AS a JOIN two)"
    with pytest.raises(ModelError, match="one more part"):
        SqlText(("a",), ("b",))


def test_a_column_may_leave_its_name_to_spark():
    asked = query(columns=[Column(name=None, expression="hottest + 1")])
    assert "`hottest` + 1" not in str(asked.to_sql())
    assert "SELECT hottest + 1 FROM" in str(asked.to_sql())


def test_a_query_knows_whether_its_window_is_periodic():
    day = query(window=tumbling("1 day"))
    assert day.periodic_window is day.window
    visits = query(window=session("5 minutes"))
    with pytest.raises(ModelError, match=r"sessions, 5 minutes apart is no periodic window"):
        _ = visits.periodic_window
