"""Translates window queries of other systems into Spark SQL."""

from muntin.sql.dialects.azure import from_azure
from muntin.sql.dialects.flink import from_flink
from muntin.sql.statements import Statement


def to_spark_sql(statement: Statement) -> list[Statement]:
    """Returns a statement in Spark SQL; one with several windows becomes a statement for each.

    A statement in Spark SQL is returned as it is.
    """
    return from_azure(statement) or from_flink(statement) or [statement]
