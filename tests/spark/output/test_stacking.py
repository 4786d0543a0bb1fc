"""Answers of queries with equal and with other columns in one frame, and apart again."""

from muntin.spark.output.numbered_rows import NUMBER, NumberedRows
from muntin.spark.output.project import Output
from muntin.spark.output.stacking import INDEX, CombinedAnswers, Stacking

MARK = {"spark.timeWindow": True}


def window(size):
    sql = f"named_struct('start', id, 'end', id + {size})"
    return Output(name="window", sql=sql, metadata=MARK)


def rows_of(spark, asked):
    numbers = f"explode(sequence(0, {len(asked) - 1}))"
    return NumberedRows(
        frame=spark.range(3).selectExpr("id", f"{numbers} AS {NUMBER}"), outputs=asked
    )


def test_queries_with_the_same_columns_are_one_stack(spark):
    asked = {"a": (window(1),), "b": (window(5),)}
    stacking = Stacking(rows_of(spark, asked), [["a", "b"]])
    (stack,) = CombinedAnswers(frame=stacking.frame, parts=stacking.parts).stacks()
    assert stack.names == {0: "a", 1: "b"}
    assert stack.schema["window"].metadata == MARK
    found = {(row[INDEX], row.window.start, row.window.end) for row in stack.frame.collect()}
    assert found == {(index, n, n + (1, 5)[index]) for index in (0, 1) for n in range(3)}


def test_other_columns_are_another_stack_with_its_own_names_and_types(spark):
    odd = Output(name="it's `odd`", sql="nullif(id, 1)")
    asked = {"a": (window(1),), "b": (odd,), "c": (window(2),)}
    stacking = Stacking(rows_of(spark, asked), [["a", "c"], ["b"]])
    windows, odds = CombinedAnswers(frame=stacking.frame, parts=stacking.parts).stacks()
    assert (windows.names, odds.names) == ({0: "a", 2: "c"}, {1: "b"})
    assert windows.schema.names == ["window"]
    assert windows.schema["window"].metadata == MARK
    assert odds.schema.names == ["it's `odd`"]
    found = {(row[INDEX], row.window.end - row.window.start) for row in windows.frame.collect()}
    assert found == {(0, 1), (2, 2)}
    # A row of nulls is a row.
    assert {row[0] for row in odds.frame.collect()} == {0, None, 2}
