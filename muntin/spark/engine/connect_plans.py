"""Plans of Spark Connect: the messages that a client sends, with names as they were written."""

from collections.abc import Iterator
from typing import Any

from pyspark.sql import DataFrame, SparkSession

# Messages of the protocol: an operator with what it reads, and an expression.
Relation = Any
Expression = Any

_INPUT = "input"


def relation_of(frame: DataFrame) -> Relation:
    """Returns the operators of a DataFrame as the client sends them."""
    plan: Any = frame
    return plan._plan.plan(plan.sparkSession.client)


def frame_of_relation(relation: Relation, session: SparkSession) -> DataFrame:
    """Returns the DataFrame of an operator and all that it reads."""
    # Only a session of Spark Connect has what these need installed.
    from pyspark.sql.connect.dataframe import DataFrame as ConnectFrame
    from pyspark.sql.connect.plan import LogicalPlan

    class FixedPlan(LogicalPlan):
        def plan(self, session: Any) -> Relation:
            return relation

    frame: Any = ConnectFrame(FixedPlan(None), session)  # type: ignore[arg-type]
    return frame  # type: ignore[no-any-return]


def operator_of(relation: Relation) -> tuple[str, Any]:
    """Returns the protocol's name of an operator, and its message."""
    name: str = relation.WhichOneof("rel_type")
    return name, getattr(relation, name)


def expression_of(expression: Expression) -> tuple[str, Any]:
    """Returns the protocol's name of an expression, and its message."""
    name: str = expression.WhichOneof("expr_type")
    return name, getattr(expression, name)


def number_of_plan(relation: Relation) -> int | None:
    """Returns the number by which columns name the DataFrame that they are of."""
    common = relation.common
    return int(common.plan_id) if common.HasField("plan_id") else None


def rename_child_columns(relation: Relation, child: Relation, names: list[str]) -> Relation:
    """Returns an operator over a child with renamed columns. Numbers of DataFrames are removed, so
    the server finds columns by name alone."""
    changed = type(relation)()
    changed.CopyFrom(relation)
    name, operator = operator_of(changed)
    inner = getattr(operator, _INPUT)
    inner.Clear()
    inner.to_df.input.CopyFrom(child)
    inner.to_df.column_names.extend(names)
    renamed = type(child)()
    renamed.CopyFrom(inner)
    inner.Clear()
    _normalize(changed, numbers=None)
    getattr(getattr(changed, name), _INPUT).CopyFrom(renamed)
    return changed


def canonical_bytes(relation: Relation) -> bytes:
    """Returns a plan as bytes that do not depend on the numbers of its DataFrames."""
    copy = type(relation)()
    copy.CopyFrom(relation)
    _normalize(copy, numbers={})
    text: bytes = copy.SerializePartialToString(deterministic=True)
    return text


def _normalize(message: Any, numbers: dict[int, int] | None) -> None:
    """Numbers DataFrames in the order in which they appear; if `numbers` is None, removes numbers.

    Removes the lines of Python that made the DataFrames, too.
    """
    for field, value in message.ListFields():
        if field.name == "plan_id":
            if numbers is None:
                message.ClearField("plan_id")
            else:
                message.plan_id = numbers.setdefault(value, len(numbers) + 1)
        elif field.name in {"origin", "source_info"}:
            message.ClearField(field.name)
        elif field.message_type is not None:
            if field.message_type.GetOptions().map_entry:
                inside = [each for each in value.values() if hasattr(each, "ListFields")]
            else:
                inside = [value] if hasattr(value, "ListFields") else list(value)
            for each in inside:
                _normalize(each, numbers)


def walk_relations(relation: Relation) -> Iterator[Relation]:
    """Yields an operator and all below it."""
    yield relation
    for field, value in operator_of(relation)[1].ListFields():
        if field.message_type is relation.DESCRIPTOR:
            for each in [value] if hasattr(value, "ListFields") else value:
                yield from walk_relations(each)


def paths_of_relation(relation: Relation) -> list[str]:
    """Returns the paths of files that an operator and all below it read."""
    sources = [
        operator.data_source
        for name, operator in map(operator_of, walk_relations(relation))
        if name == "read"
    ]
    return [
        path
        for source in sources
        for path in (
            *source.paths,
            *(source.options[key] for key in source.options if key == "path"),
        )
    ]
