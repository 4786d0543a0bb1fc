"""A new process of `cold`: starts Spark, answers queries twice, and prints what each cost.

It imports of muntin only what measures. The rest is loaded in the first run, where it counts.
"""

import json
import re
import sys
from collections.abc import Mapping
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from muntin.measure.processes import cost_so_far, settle
from muntin.spark.session import local_session

# Twice in one process: the second run finds everything loaded.
RUNS = ("first", "second")


def main(side: str, names: list[str], sql: Path, events: str) -> None:
    """Prints the CPU seconds of the start of Spark and of each run, as JSON."""
    session = local_session()
    session.read.parquet(events).createOrReplaceTempView("sensors")
    costs = {"session": _spent()}
    for run in RUNS:
        frames = _frames(session, sql, names)
        for frame in (_share_frames(frames) if side == "muntin" else frames).values():
            frame.write.format("noop").mode("overwrite").save()
        costs[run] = _spent() - sum(costs.values())
    print(json.dumps(costs))


def _spent() -> float:
    """Returns the CPU seconds so far, once all processes are idle."""
    settle()
    return cost_so_far().cpu_s


def _frames(session: SparkSession, sql: Path, names: list[str]) -> dict[str, DataFrame]:
    statements = dict(re.findall(r"^-- name: (\w+)\n([^;]+);", sql.read_text(), re.MULTILINE))
    return {name: session.sql(statements[name]) for name in names}


def _share_frames(frames: dict[str, DataFrame]) -> Mapping[str, DataFrame]:
    from muntin.api.batch import share

    return share(frames)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2].split(","), Path(sys.argv[3]), sys.argv[4])
