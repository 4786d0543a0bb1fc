"""Statements as users write them, in `statements/`: each is answered as plain Spark answers it.

Each runs alone on the session's views, and on DataFrames by name beside the same statement over
another window, with which it shares slices. What Spark refuses, muntin refuses, too.
"""

from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import pytest
from pyspark.errors import PySparkException

from muntin.api.batch import run
from muntin.errors import MuntinError
from muntin.model.plan import Plan
from muntin.sql import parse_sql
from tests.support.comparing import Pair, compare
from tests.support.statements import read_kind

# Hundreds of small plans take minutes: `make slow`.
pytestmark = pytest.mark.slow

FOLDER = Path(__file__).parent / "statements"
TABLES = read_kind(FOLDER / "tables.sql").tables
KINDS = {
    path.stem: read_kind(path) for path in sorted(FOLDER.glob("*.sql")) if path.stem != "tables"
}
# Statements without a row, on purpose.
EMPTY = {"a window without an event", "a time that is always null"}


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


def made(spark, sql):
    """A table that is there already, so that plans over it are small."""
    return spark.sql(sql).localCheckpoint()


@pytest.fixture(scope="module")
def tables(spark):
    """The tables that all statements may read, as views of the session and as DataFrames."""
    frames = {}
    for name, sql in TABLES.items():
        frames[name] = made(spark, sql)
        frames[name].createOrReplaceTempView(name)
    yield frames
    for name in TABLES:
        spark.catalog.dropTempView(name)


@dataclass(kw_only=True)
class Answered:
    """How a statement was answered: the rows that Spark has, what is wrong, and the last plan."""

    rows: int = 0
    wrong: list[str] = field(default_factory=list)
    plan: Plan | None = None


@pytest.fixture(scope="module")
def answered(spark, tables):
    """Answers all statements of a kind, and compares them in one go."""

    @cache
    def of(kind):
        with KINDS[kind].configured(spark):
            return answer_all(spark, tables, KINDS[kind])

    return of


def answer_all(spark, tables, kind):
    own = {name: made(spark, sql) for name, sql in kind.tables.items()}
    for name, frame in own.items():
        frame.createOrReplaceTempView(name)
    answers: dict[str, Answered] = {}
    pairs: dict[str, list[Pair]] = {}
    with ExitStack() as released:
        for name, statement in kind.statements.items():
            if statement.fate == "refused":
                continue
            answers[name], pairs[name] = Answered(), []
            ways = {"alone": ({"it": statement.sql}, None)}
            if statement.has_other_window:
                both = {"it": statement.sql, "other": statement.with_other_window()}
                ways["beside"] = (both, {**tables, **own})
            for way, (texts, data) in ways.items():
                try:
                    results = released.enter_context(run(parse(texts), data, strategy="shared"))
                    answers[name].plan = results.plan
                    pairs[name] += [
                        Pair(
                            name=f"{name}, {way}",
                            # Planned once, for all ways.
                            expected=pairs[name][0].expected
                            if pairs[name]
                            else spark.sql(statement.sql),
                            actual=results["it"],
                            tolerance=statement.tolerance,
                        )
                    ]
                except Exception as error:
                    said = str(error).split("JVM stacktrace")[0]
                    answers[name].wrong.append(f"{way}: {type(error).__name__}: {said}")
        outcomes = compare(pair for some in pairs.values() for pair in some)
    for name, answer in answers.items():
        for pair in pairs[name]:
            answer.rows = outcomes[pair.name].rows
            answer.wrong += [outcomes[pair.name].wrong] if outcomes[pair.name].wrong else []
    for name in own:
        spark.catalog.dropTempView(name)
    return answers


def parse(texts):
    """The queries of statements by their names."""
    return parse_sql(";\n".join(f"-- name: {name}\n{sql}\n" for name, sql in texts.items()))


def tree_of(plan, name):
    """The tree that answers a query, or none if Spark does alone."""
    for tree in plan.trees:
        if any(name in node.queries for node in tree.nodes):
            return tree
    return None


@by_fate("shared", "either", "plain")
def test_the_answer_is_sparks(answered, kind, name):
    found = answered(kind)[name]
    statement = KINDS[kind].statements[name]
    if found.wrong:
        pytest.fail("\n".join([statement.sql, *found.wrong]), pytrace=False)
    assert (found.rows == 0) == (name in EMPTY)


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
    # Long reasons go on in the next line.
    assert plan.query("it").reason in " ".join(plan.explain().split())


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
