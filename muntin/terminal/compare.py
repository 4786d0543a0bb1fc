"""`muntin compare`: the queries of a file over the user's data, as plain Spark and as muntin."""

from muntin.console.progress import starting
from muntin.measure.compare import Comparison, compare
from muntin.measure.processes import check_installed
from muntin.spark.session import SparkOptions, session_at
from muntin.terminal.given import Inputs, Planning
from muntin.terminal.sql_file import SqlFile


def compare_files(
    file: SqlFile, inputs: Inputs, spark: SparkOptions, *, repeats: int, planning: Planning
) -> Comparison:
    """Returns what both cost and whether their rows are equal; see `mt.compare`."""
    inputs.check(file.queries)
    check_installed()
    with starting():
        session = session_at(spark)
    file.check_syntax(session)
    with file.blamed():
        return compare(file.queries, inputs.read(session), repeats=repeats, **planning)
