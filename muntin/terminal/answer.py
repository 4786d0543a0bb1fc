"""`muntin run`: queries over files, answered in one pass into a folder for each."""

from collections.abc import Sequence

from rich.box import SIMPLE
from rich.console import Console
from rich.table import Table

from muntin.bench.progress import Steps
from muntin.errors import RunError, nearest
from muntin.model.query import PlainQuery, Query
from muntin.share.optimizer import plan
from muntin.spark.batch import run
from muntin.spark.files import check_format, read_files, rows_in
from muntin.spark.session import local_session
from muntin.spark.write import MODES


def answer(
    queries: Sequence[Query | PlainQuery],
    inputs: dict[str, str],
    output: str,
    format: str | None,
    strategy: str,
    mode: str,
) -> None:
    """Answer queries over files into folders, and tell what is where."""
    # All that can be refused without Spark is refused before it takes its seconds to start.
    if format is not None:
        check_format(format)
    if mode not in MODES:
        raise RunError(f"no mode is called {mode!r}; {nearest(mode, list(MODES))}")
    plan(queries, strategy=strategy)
    kind = format or "parquet"
    folders = {query.name: f"{output.rstrip('/')}/{query.name}" for query in queries}
    with Steps(4) as bar:
        with bar.step("starting Spark"):
            session = local_session()
        with bar.step("reading inputs"):
            frames = {name: read_files(session, path, format) for name, path in inputs.items()}
        with bar.step(f"answering {len(queries)} queries"):
            before = {
                name: rows_in(session, folder, kind) if mode == "append" else 0
                for name, folder in folders.items()
            }
            options = {"header": "true"} if kind == "csv" else {}
            with run(queries, frames.get("", frames), strategy=strategy) as results:
                results.write(output, format=kind, mode=mode, **options)
        with bar.step("counting rows"):
            rows = {
                name: rows_in(session, folder, kind) - before[name]
                for name, folder in folders.items()
            }
    table = Table(box=SIMPLE)
    for column in ("query", "rows", "folder"):
        table.add_column(column, justify="right" if column == "rows" else "left")
    for name, folder in folders.items():
        table.add_row(name, f"{rows[name]:,}", folder)
    Console().print(table)
