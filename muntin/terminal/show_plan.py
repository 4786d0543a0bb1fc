"""`muntin explain`: the plan of a file's queries, as text, JSON, SQL or a picture."""

import json
import sys
from dataclasses import dataclass, replace
from pathlib import Path

from muntin import explain
from muntin.console.progress import starting
from muntin.model.plan import Plan
from muntin.model.workload import Workload, workload
from muntin.optimizer.on_slices import on_slices
from muntin.optimizer.strategies import compare, optimize
from muntin.spark.binding.relations import Relations
from muntin.spark.binding.sample import with_facts
from muntin.spark.session import SparkOptions, session_at
from muntin.terminal.given import Inputs, Planning, prices_in
from muntin.terminal.paths import check_file
from muntin.terminal.sql_file import SqlFile


@dataclass(frozen=True, kw_only=True)
class Request:
    """What was asked for on the command line."""

    file: SqlFile
    planning: Planning
    # None: measured, if there are inputs, or else assumed.
    rate: float | None
    keys: float | None
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
    # Whether the plan is printed as JSON.
    json: bool
    # Data to measure rate and keys of, for which Spark is started; None: no data.
    inputs: Inputs | None
    spark: SparkOptions


def show_plan(request: Request) -> None:
    """Check the statements, plan them, and print the plan."""
    check_file(request.svg, "--svg")
    asked = _workload(request)
    strategy = request.planning["strategy"]
    plan = optimize(asked, strategy)
    if request.stream:
        plan = on_slices(plan)
    if request.strategies:
        taken = plan.taken or (strategy,)
        plan = replace(plan, considered=compare(asked), taken=taken)
    print(_printed(plan, request))
    if request.svg is not None:
        request.svg.write_text(plan.to_svg())


def _workload(request: Request) -> Workload:
    """Returns the queries, checked, with the rate and keys that were given or measured."""
    asked = workload(
        request.file.queries,
        rate=request.rate,
        keys=request.keys,
        prices=prices_in(request.prices),
        technique=request.planning["technique"],
        latency=request.planning["latency"],
        approximate=request.planning["approximate"],
    )
    if request.inputs is not None:
        request.inputs.check(request.file.queries)
    if not request.check:
        request.file.check(request.functions)
    if not request.check and request.inputs is None:
        return asked
    with starting():
        session = session_at(request.spark)
    if request.check:
        request.file.check_syntax(session)
        request.file.check_functions(session, request.functions)
    if request.inputs is None:
        return asked
    measured = with_facts(asked, Relations(request.inputs.read(session), asked.queries))
    return replace(
        measured,
        rate=measured.rate if request.rate is None else request.rate,
        keys=measured.keys if request.keys is None else request.keys,
    )


def _printed(plan: Plan, request: Request) -> str:
    if request.sql:
        return plan.to_sql(together=request.together)
    if request.json:
        return json.dumps(explain.figures(plan), indent=2)
    # A file or another program has room for whole lines.
    return explain.text(plan, None if sys.stdout.isatty() else explain.UNLIMITED)
