"""Answers in folders: many queries by few jobs, each in a folder as if it were written alone."""

import os

import pyarrow.dataset as ds
import pytest

from muntin.aggregates.aggregate import Aggregate, count, max_
from muntin.api.batch import run
from muntin.model.data_windows import session
from muntin.model.query import Column, Query
from muntin.model.windows import hopping, tumbling
from muntin.spark.engine.settings import temporary_settings as configured
from tests.support.executed_plans import counted_jobs

FUNCTIONS = ("min", "max", "count")


def many(number: int) -> list[Query]:
    """Queries of three sets of keys, two filters and three functions: nine lists of columns."""
    keys = (["device"], ["load"], ["device", "load"])
    queries = []
    for index in range(number):
        function = FUNCTIONS[index % 3]
        slide = 60 * (1 + index // 9)
        queries.append(
            Query(
                name=f"q{index}",
                window=hopping(f"{slide * (1 + index % 2)} seconds", every=f"{slide} seconds"),
                aggregates={
                    function: Aggregate(
                        function=function, argument=None if function == "count" else "temp"
                    )
                },
                keys=keys[index // 3 % 3],
                where="load > 3" if index % 2 else None,
                time="ts",
            )
        )
    return queries


def rows_in(folder) -> list[str]:
    """Returns the rows of a folder in any order, as text."""
    return sorted(map(repr, ds.dataset(str(folder), format="parquet").to_table().to_pylist()))


def test_the_jobs_do_not_grow_with_the_queries(spark, readings, tmp_path):
    queries = many(30)
    with run(queries, readings) as results:
        with counted_jobs(spark) as jobs:
            results.write(str(tmp_path / "shared"))
        # One makes the slices, one gathers the answers, one writes them: for nine lists of columns.
        assert jobs[0] <= 3
        results["q0"].write.parquet(str(tmp_path / "alone" / "q0"))
        results["q19"].write.parquet(str(tmp_path / "alone" / "q19"))
        long = results.together().drop("window").collect()
    assert sorted(os.listdir(tmp_path / "shared")) == sorted(query.name for query in queries)
    for name in os.listdir(tmp_path / "alone"):
        shared, alone = (tmp_path / way / name for way in ("shared", "alone"))
        assert rows_in(shared) == rows_in(alone)
        # Apart from what may be null, which is that of all queries in a job.
        assert ds.dataset(shared).schema.types == ds.dataset(alone).schema.types
    for query in queries:
        (function,) = query.aggregates
        found = ds.dataset(tmp_path / "shared" / query.name)
        assert found.schema.names == [*query.keys, "window", function]
        values = sorted(map(repr, found.to_table().column(function).to_pylist()))
        asked = [repr(row[function]) for row in long if row["query"] == query.name]
        assert values == sorted(asked)


def of_minute(name: str, keys=("device",), **more) -> Query:
    return Query(
        name=name,
        window=tumbling("1 minute"),
        aggregates={"n": count()},
        keys=list(keys),
        time="ts",
        **more,
    )


ALIKE = [
    of_minute("all"),
    of_minute("few", where="load > 5"),
    of_minute("none", where="load > 99"),
    of_minute("rare", having="n > 99"),
]


@pytest.mark.parametrize(
    "format", ["parquet", *(pytest.param(each, marks=pytest.mark.slow) for each in ("json", "csv"))]
)
def test_a_folder_is_as_if_its_query_were_written_alone(spark, readings, tmp_path, format):
    options = {"header": "true"} if format == "csv" else {}
    with run(ALIKE, readings) as results, counted_jobs(spark) as jobs:
        results.write(str(tmp_path / "together"), format=format, **options)
    # One for all, and one for the columns of those without rows.
    assert jobs[0] <= 2
    for query in ALIKE[1:3]:
        with run([query], readings) as results:
            results.write(str(tmp_path / "alone"), format=format, **options)
        both = [tmp_path / way / query.name for way in ("together", "alone")]
        kinds = [{name.split("-")[0].lstrip(".") for name in os.listdir(path)} for path in both]
        assert kinds[0] == kinds[1] >= {"part", "_SUCCESS"}
        if format == "json" and query.name == "none":
            # Files of json without rows do not tell their columns.
            assert all(spark.read.json(str(path)).columns == [] for path in both)
            continue
        frames = [spark.read.options(**options).format(format).load(str(path)) for path in both]
        assert frames[0].schema == frames[1].schema
        assert sorted(map(repr, frames[0].collect())) == sorted(map(repr, frames[1].collect()))


# Other lists of columns, one of them of a query without rows.
UNLIKE = [
    *ALIKE,
    of_minute("by load", where="load > 99", keys=["load"]),
    Query(
        name="sessions",
        window=session("5 minutes"),
        aggregates={"top": max_("temp"), "n": count()},
        keys=["device"],
        time="ts",
    ),
    Query(
        name="counts",
        window=session("1 minute"),
        aggregates={"n": count()},
        time="ts",
    ),
]


def test_a_folder_is_so_beside_queries_with_other_columns_too(spark, readings, tmp_path):
    with run(UNLIKE, readings) as results, counted_jobs(spark) as jobs:
        results.write(str(tmp_path / "together"))
    # Two passes, of periodic windows and of sessions; each computes, gathers and writes.
    assert jobs[0] <= 6
    for query in UNLIKE:
        with run([query], readings) as results:
            results.write(str(tmp_path / "alone"))
        both = [tmp_path / way / query.name for way in ("together", "alone")]
        for path in both:
            kinds = {name.partition("-")[0] for name in os.listdir(path) if name[0] != "."}
            assert kinds == {"part", "_SUCCESS"}
        frames = [spark.read.parquet(str(path)) for path in both]
        assert frames[0].schema == frames[1].schema
        assert sorted(map(repr, frames[0].collect())) == sorted(map(repr, frames[1].collect()))


def test_folders_are_added_to_and_written_over(readings, tmp_path):
    queries = UNLIKE[2:]
    with run(queries, readings) as results:
        results.write(str(tmp_path))
        before = {query.name: rows_in(tmp_path / query.name) for query in queries}
        results.write(str(tmp_path), mode="append")
        for name, rows in before.items():
            assert rows_in(tmp_path / name) == sorted(rows * 2)
        results.write(str(tmp_path), mode="overwrite")
        assert {query.name: rows_in(tmp_path / query.name) for query in queries} == before
    assert sorted(os.listdir(tmp_path)) == sorted(before)


def test_answers_that_spark_combines_are_written_together_too(spark, readings, tmp_path):
    queries = [
        Query(
            name=f"w{minutes}",
            window=tumbling(f"{minutes} minutes"),
            aggregates={"last": max_("array(state)")},
            keys=["device"],
            time="ts",
        )
        for minutes in range(1, 9)
    ]
    # Answers are planned under the settings of the call of `run`.
    with (
        configured(spark, {"spark.sql.adaptive.enabled": "false"}),
        run(queries, readings) as results,
    ):
        assert sum(len(tree.combined_by_spark) for tree in results.plan.trees) == len(queries)
        with counted_jobs(spark) as jobs:
            results.write(str(tmp_path))
        assert jobs[0] <= 2
        assert len(rows_in(tmp_path / "w3")) == results["w3"].count()


def test_a_failure_in_a_later_job_is_that_of_its_query(readings, tmp_path):
    broken = Query(
        name="broken",
        window=tumbling("1 minute"),
        aggregates={"n": count()},
        columns=[Column(name="bad", expression="raise_error(string(n))")],
        time="ts",
    )
    with (
        run([*ALIKE, broken], readings) as results,
        pytest.raises(Exception, match="USER_RAISED"),
    ):
        results.write(str(tmp_path))
    assert sorted(os.listdir(tmp_path)) == sorted(query.name for query in ALIKE)
