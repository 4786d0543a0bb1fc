import pytest

from muntin.measure.events import readings


def test_columns_have_the_values_that_filters_rely_on(spark):
    events = readings(spark, 20_000, 100)
    types = {field.name: field.dataType.simpleString() for field in events.schema.fields}
    assert types == {
        "ts": "timestamp",
        "device": "string",
        "temp": "double",
        "site": "int",
        "kind": "int",
        "status": "string",
        "user": "string",
    }
    (row,) = events.selectExpr(
        "avg(IF(temp > 80, 1, 0)) AS hot",
        "max(temp) FILTER (WHERE temp <= 80) AS usual",
        "avg(IF(status = 'error', 1, 0)) AS errors",
        "array_sort(collect_set(status)) AS statuses",
        "array_sort(collect_set(kind)) AS kinds",
        "count_if(site <> CAST(substring(device, 8) AS INT) % 10) AS misplaced",
        "count(DISTINCT device, kind) AS pairs",
        "corr(kind, site) AS together",
    ).collect()
    assert row["hot"] == pytest.approx(0.03, abs=0.005)
    assert row["usual"] < 36
    assert row["errors"] == pytest.approx(0.05, abs=0.005)
    assert row["statuses"] == ["error", "ok"]
    assert row["kinds"] == [0, 1, 2, 3, 4]
    assert row["misplaced"] == 0
    assert row["pairs"] == 500
    assert abs(row["together"]) < 0.03
