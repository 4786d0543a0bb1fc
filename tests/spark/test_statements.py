"""Statements as users write them, in `statements/`: each is answered as plain Spark answers it.

Each runs alone on the session's views, and on DataFrames by name beside the same statement over
another window, with which it shares slices. What Spark refuses, muntin refuses, too.
"""

from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import pytest
from pyspark.errors import PySparkException

from muntin.errors import MuntinError
from muntin.spark.batch import run
from muntin.sql import parse_sql
from tests.support.comparing import Pair, compare
from tests.support.statements import read_kind

FOLDER = Path(__file__).parent / "statements"
TABLES = read_kind(FOLDER / "tables.sql").tables
KINDS = {
    path.stem: read_kind(path) for path in sorted(FOLDER.glob("*.sql")) if path.stem != "tables"
}
# Variances depend in their last bits on the order in which rows are taken, in Spark as well.
INEXACT = ("var", "std")
TOLERANCE = 1e-9


def by_fate(*fates):
    """The parameters of a test: kind and name of the statements of some fates."""
    return pytest.mark.parametrize(
        ("kind", "name"),
        [
            pytest.param(kind.name, statement.name, id=f"{kind.name}: {statement.name}")
            for kind in KINDS.values()
            for statement in kind.statements.values()
            if statement.fate in fates
        ],
    )


@pytest.fixture(scope="module")
def tables(spark):
    """The tables that all statements may read, as views of the session and as DataFrames."""
    frames = {}
    for name, sql in TABLES.items():
        frames[name] = spark.sql(sql)
        frames[name].createOrReplaceTempView(name)
    yield frames
    for name in TABLES:
        spark.catalog.dropTempView(name)


@dataclass
class Answered:
    """How a statement was answered: what is wrong in each way of asking, and the plans."""

    wrong: list[str] = field(default_factory=list)
    pairs: list[str] = field(default_factory=list)
    rows: int = 0
    plan: object = None


@pytest.fixture(scope="module")
def answered(spark, tables):
    """Answers all statements of a kind, and compares them in one go."""

    @cache
    def of(kind):
        with KINDS[kind].configured(spark):
            return answer_all(spark, tables, KINDS[kind])

    return of


def answer_all(spark, tables, kind):
    frames = dict(tables)
    for table, sql in kind.tables.items():
        frames[table] = spark.sql(sql)
        frames[table].createOrReplaceTempView(table)
    answers, pairs, results = {}, [], []
    for statement in kind.statements.values():
        if statement.fate == "refused":
            continue
        answers[statement.name] = one = Answered()
        tolerance = TOLERANCE if any(word in statement.sql for word in INEXACT) else 0.0
        asked = {"alone": [("it", statement.sql)]}
        if statement.has_other_window:
            asked["beside"] = [("it", statement.sql), ("other", statement.with_other_window())]
        for way, texts in asked.items():
            try:
                queries = [
                    query for name, sql in texts for query in parse_sql(f"-- name: {name}\n{sql}")
                ]
                found = run(queries, None if way == "alone" else frames, strategy="shared")
                results.append(found)
                one.plan = found.plan
                for name, sql in texts:
                    pair = Pair(
                        name=f"{statement.name}, {way}: {name}",
                        expected=spark.sql(sql),
                        actual=found[name],
                        tolerance=tolerance,
                    )
                    pairs.append(pair)
                    one.pairs.append(pair.name)
            except MuntinError as error:
                one.wrong.append(f"{way}: {type(error).__name__}: {error}")
            except PySparkException as error:
                one.wrong.append(f"{way}: {type(error).__name__}: {str(error).split('JVM')[0]}")
    outcomes = compare(pairs)
    for one in answers.values():
        for name in one.pairs:
            one.rows += outcomes[name].rows
            one.wrong += [outcomes[name].wrong] if outcomes[name].wrong else []
    for found in results:
        found.release()
    for table in kind.tables:
        spark.catalog.dropTempView(table)
    return answers


def tree_of(plan, name):
    """The tree that answers a query, or none if Spark does alone."""
    for tree in (*plan.trees, *plan.discretized):
        if any(name in node.queries for node in tree.nodes):
            return tree
    return None


@by_fate("shared", "either", "plain")
def test_the_answer_is_sparks(answered, kind, name):
    found = answered(kind)[name]
    statement = KINDS[kind].statements[name]
    assert not found.wrong, "\n".join([statement.sql, *found.wrong])
    if name not in EMPTY:
        assert found.rows > 0


# Statements without a row, on purpose.
EMPTY = {"a window without an event", "a time that is always null"}


@by_fate("shared")
def test_what_can_share_does(answered, kind, name):
    plan = answered(kind)[name].plan
    assert plan is not None
    assert KINDS[kind].statements[name].has_other_window
    tree = tree_of(plan, "it")
    assert tree is not None, plan.query("it").reason
    assert tree is tree_of(plan, "other")


@by_fate("plain")
def test_what_cannot_share_says_why(answered, kind, name):
    plan = answered(kind)[name].plan
    assert tree_of(plan, "it") is None
    assert plan.query("it").reason in plan.explain()


GOOD = "SELECT device, window, max(n) AS m FROM {} GROUP BY device, window(ts, '3 hours', '1 hour')"


@by_fate("refused")
def test_what_spark_refuses_is_refused(spark, tables, kind, name):
    kind = KINDS[kind]
    sql = kind.statements[name].sql
    with kind.configured(spark):
        frames = {table: spark.sql(text) for table, text in kind.tables.items()}
        for table, frame in frames.items():
            frame.createOrReplaceTempView(table)
        with pytest.raises(PySparkException):
            spark.sql(sql).collect()
        good = GOOD.format(*kind.tables or ["readings"])
        for text in (
            f"-- name: wrong one\n{sql}",
            f"-- name: good\n{good};-- name: wrong one\n{sql}",
        ):
            with pytest.raises(MuntinError) as caught:
                run(parse_sql(text), strategy="shared")["wrong one"].collect()
            assert "'wrong one'" in str(caught.value)
