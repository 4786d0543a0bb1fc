"""`muntin explain`: the plan of a file's queries, as text, SQL or a picture."""

from dataclasses import dataclass, replace
from pathlib import Path

from muntin.console.progress import starting
from muntin.model.workload import workload
from muntin.optimizer.on_slices import on_slices
from muntin.optimizer.strategies import compare, optimize
from muntin.spark.session import local_session
from muntin.terminal.given import Planning, prices_in
from muntin.terminal.paths import check_file
from muntin.terminal.sql_file import SqlFile


@dataclass(frozen=True, kw_only=True)
class Request:
    """What was asked for on the command line."""

    file: SqlFile
    planning: Planning
    rate: float
    keys: float
    prices: Path | None
    strategies: bool
    sql: bool
    # Whether the SQL is one statement for all queries.
    together: bool
    svg: Path | None
    # The user's own functions, which Spark does not know.
    functions: tuple[str, ...]
    # Whether the plan is shown as a stream runs it.
    stream: bool
    # Whether Spark is started to check the statements.
    check: bool


def show_plan(request: Request) -> None:
    """Check the statements, plan them, and print the plan."""
    check_file(request.svg, "--svg")
    asked = workload(
        request.file.queries,
        rate=request.rate,
        keys=request.keys,
        prices=prices_in(request.prices),
        technique=request.planning["technique"],
        latency=request.planning["latency"],
        approximate=request.planning["approximate"],
    )
    if request.check:
        with starting():
            session = local_session()
        request.file.check_syntax(session)
        request.file.check_functions(session, request.functions)
    else:
        request.file.check(request.functions)
    strategy = request.planning["strategy"]
    plan = optimize(asked, strategy)
    if request.stream:
        plan = on_slices(plan)
    if request.strategies:
        taken = plan.taken or (strategy,)
        plan = replace(plan, considered=compare(asked), taken=taken)
    print(plan.to_sql(together=request.together) if request.sql else plan.explain())
    if request.svg is not None:
        request.svg.write_text(plan.to_svg())
