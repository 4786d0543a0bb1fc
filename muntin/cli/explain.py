"""`muntin explain`: shows the plan of a file's queries as text, JSON, SQL or a picture."""

import json
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import typer

from muntin import explain
from muntin.cli.options import (
    ClusterOptions,
    File,
    InputOptions,
    Inputs,
    PlanningOptions,
    Udf,
    flag,
    option,
)
from muntin.cli.paths import check_file
from muntin.cli.sql_file import SqlFile
from muntin.measure.progress import show_spark_start
from muntin.model.plan import Plan
from muntin.model.prices import PAPERS, SHIPPED, Prices, read_prices
from muntin.model.workload import PlanOptions, Workload, workload
from muntin.optimizer.optimize import compare, optimize
from muntin.optimizer.plan_for_stream import plan_for_stream
from muntin.optimizer.strategies import DEFAULT, STEADY
from muntin.spark.binding.estimate import with_facts
from muntin.spark.binding.relations import Relations
from muntin.spark.session import SparkOptions, session_at


@dataclass(frozen=True, kw_only=True)
class CostOptions:
    """What costs are computed with."""

    rate: float | None = option(
        "N",
        "Events per second that costs are computed for.",
        show_default="measured with --input, else 1000",
    )
    keys: float | None = option(
        "N", "Keys that are live at a time.", show_default="measured with --input, else 1"
    )
    prices: str | None = option(
        "FILE|PAPER",
        f"Prices that `muntin calibrate` wrote, or a paper's cost model: {', '.join(PAPERS)}.",
    )

    def read_prices(self) -> Prices:
        """Returns the prices of the file or the paper, or the shipped ones if none is named."""
        return SHIPPED if self.prices is None else read_prices(self.prices)


@dataclass(frozen=True, kw_only=True)
class DisplayOptions:
    """Which plan is shown, and how."""

    strategies: bool = flag("Show what every strategy would cost.")
    json: bool = flag("Print the plan as JSON instead.")
    sql: bool = flag("Print the plan as Spark SQL statements instead.")
    together: bool = flag("Print one statement for all queries, which reads each relation once.")
    svg: Path | None = option("FILE", "Write the plan as a picture, too.")
    stream: bool = flag("Show the plan as `muntin stream` runs it.")

    def render(self, plan: Plan) -> str:
        """Returns the plan as it is printed."""
        if self.sql or self.together:
            return plan.to_sql(together=self.together)
        if self.json:
            return json.dumps(explain.figures(plan), indent=2)
        # Lines are cut to the width of a terminal; a file or a pipe gets them whole.
        return explain.text(plan, None if sys.stdout.isatty() else explain.UNLIMITED)


def explain_verb(
    file: File,
    planning: PlanningOptions,
    inputs: InputOptions,
    costs: CostOptions,
    display: DisplayOptions,
    cluster: ClusterOptions,
    udf: Udf = None,
    check: Annotated[
        bool,
        typer.Option("--check", help="Start Spark and let its own parser check the statements."),
    ] = False,
) -> None:
    """Show what the queries share, and what it costs. Spark is not started, except by --check,
    --input and --table.

    \b
    $ muntin explain dashboard.sql
    $ muntin explain dashboard.sql --rate 50 --keys 100 --svg plan.svg
    $ muntin explain dashboard.sql --input readings.parquet
    $ muntin explain dashboard.sql --json
    $ muntin explain dashboard.sql --strategies
    $ muntin explain dashboard.sql --sql > shared.sql
    $ muntin explain dashboard.sql --sql --together > one.sql
    $ muntin explain dashboard.sql --stream

    A statement looks like this; the comment names it:

    \b
    -- name: hot
    SELECT device, window, max(temp) AS hottest FROM readings
    GROUP BY device, window(ts, '1 hour', '1 minute');

    Costs, and the ratios between them, are estimates of the cost model. They leave out what does
    not depend on the number of events, such as starting jobs and opening files. A rate and keys
    that were neither given nor measured are marked as assumed. With --input or --table, both are
    measured on a sample.

    A syntax error and a function that Spark does not have are errors, with exit code 2. Name
    functions of your own with --udf. Spark reads some SQL that muntin cannot: with --check Spark's
    own parser and list of functions decide, which takes some seconds. Tables and columns are
    checked by `muntin run` alone, because that needs the data.
    """
    sql_file = SqlFile.read(file)
    spark = cluster.to_spark()
    sources = inputs.inputs(is_here=cluster.is_here) if inputs else None
    check_file(display.svg, "--svg")
    options = planning.arguments(STEADY if display.stream else DEFAULT)
    strategy = options.pop("strategy")
    asked = workload(
        sql_file.queries,
        rate=costs.rate,
        keys=costs.keys,
        prices=costs.read_prices(),
        options=PlanOptions(**options),
    )
    asked = _check_and_measure(asked, sql_file, sources, spark, check=check, functions=udf or [])
    plan = optimize(asked, strategy)
    if display.stream:
        plan = plan_for_stream(plan)
    if display.strategies:
        plan = replace(
            plan,
            strategy_costs=compare(asked),
            chosen_strategies=plan.chosen_strategies or (strategy,),
        )
    print(display.render(plan))
    if display.svg is not None:
        display.svg.write_text(plan.to_svg())


def _check_and_measure(
    asked: Workload,
    sql_file: SqlFile,
    inputs: Inputs | None,
    spark: SparkOptions,
    *,
    check: bool,
    functions: list[str],
) -> Workload:
    """Checks the statements, and returns the workload with the rate and keys of the inputs.

    Starts Spark only for `check` and for inputs. A rate and keys that the user gave stay.
    """
    if inputs is not None:
        inputs.check(asked.queries)
    if not check:
        sql_file.check(functions)
    if not check and inputs is None:
        return asked
    with show_spark_start():
        session = session_at(spark)
    if check:
        sql_file.check_syntax(session)
        sql_file.check_functions(session, functions)
    if inputs is None:
        return asked
    measured = with_facts(asked, Relations(inputs.read(session), asked.queries))
    return replace(
        measured,
        rate=asked.rate if asked.rate_known else measured.rate,
        keys=asked.keys if asked.keys_known else measured.keys,
    )
