"""A pipeline in its own process, killed at random moments: the files hold every answer once."""

import json
import os
import random
import time
from pathlib import Path

import pytest
from pyspark.sql import DataFrame
from pyspark.sql.functions import expr

from muntin.api.batch import run
from muntin.model.time import MILLISECOND
from tests.support.answers import assert_same
from tests.support.data_window_streams import FOUND, assert_streamed
from tests.support.processes import kill, launch
from tests.support.streams import (
    COLUMNS,
    MINUTE,
    SCHEMA,
    SITES,
    SLIDE,
    WARM,
    Input,
    batches_of_files,
    events,
    given_before,
    with_late_rows,
)

# A stream takes minutes: `make slow`, and `make kills` for more of them.
pytestmark = pytest.mark.slow

KILLS = int(os.environ.get("MUNTIN_KILLS", "20"))

# Two queries come and go from process to process and while it runs, two run in all of them. Answers
# are held for one, two or three batches.
SCRIPT = """
    import sys
    from pathlib import Path
    from muntin.api.stream import start
    from tests.support.session import session
    from tests.support.streams import MINUTE, SITES, SLIDE, WARM, Input
    from tests.support.data_window_streams import FOUND

    base, number, last = Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3] == "last"
    spark = session(more={
        "spark.driver.memory": "1g", "spark.sql.streaming.minBatchesToRetain": "10000",
    })
    stay = [MINUTE, SLIDE, *(FOUND if sys.argv[5] == "found" else [])]
    comers = [[], [SITES], [SITES, WARM], [WARM]]
    pipeline = start(
        [*comers[number % 4], *stay], Input(spark, base / "in").stream(),
        checkpoint=base / "check", sink=base / "out", buckets=3, strategy=sys.argv[4],
        retain="10 minutes", compact=1 + number % 3,
    )
    print("started", flush=True)
    if number % 2:
        pipeline.replace([*stay, *comers[number // 2 % 4]])
    pipeline.process_all_available()
    print("late", pipeline.status().late_rows, flush=True)
    pipeline.stop() if last else pipeline.await_termination()
"""


def commits(base: Path) -> int:
    """How many batches Spark has finished."""
    return len([path for path in base.glob("check/spark/commits/*") if path.name.isdigit()])


def promised(base: Path, name: str) -> list[tuple[int | None, int]]:
    """From which begin, and up to which end, a query had to answer each time that it ran.

    The checkpoint has the plans, and Spark's log the watermark of every batch.
    """
    check = base / "check"
    plans = [json.loads(path.read_text()) for path in sorted(check.glob("muntin-*.json"))]
    ends = [plan["batch"] for plan in plans[1:]] + [commits(base)]
    found: dict[int | None, int] = {}
    for plan, end in zip(plans, ends, strict=True):
        if name in plan["complete_from"] and end > plan["batch"]:
            metadata = (check / "spark" / "offsets" / str(end - 1)).read_text().splitlines()[1]
            reached = json.loads(metadata)["batchWatermarkMs"] * MILLISECOND
            found[plan["complete_from"][name]] = reached
    return list(found.items())


def expected_answers(spark, base: Path, query) -> DataFrame:
    """What plain Spark gives for rows of which each counts for the windows that were open."""
    given = [
        f"WHEN '{name}' THEN {given_before(base / 'check', batch)}"
        for name, batch in batches_of_files(base / "check").items()
    ]
    rows = (
        spark.read.schema(SCHEMA)
        .json(str(base / "in"))
        .selectExpr(*COLUMNS, f"CASE _metadata.file_name {' '.join(given)} END AS given")
    )
    length = ", ".join(
        f"'{micros} microseconds'"
        for micros in (query.window.size, query.window.slide, query.window.offset)
    )
    open_windows = rows.selectExpr("*", f"window(ts, {length}) AS w").where(
        f"unix_micros(w.end) > given AND ({query.where or 'true'})"
    )
    answers = open_windows.groupBy(*(expr(key).alias(n) for n, key in query.keys.items()), "w").agg(
        *(expr(str(each.to_sql())).alias(name) for name, each in query.aggregates.items())
    )
    return answers.where(query.having or "true").withColumnRenamed("w", "window")


def assert_promise_kept(spark, base: Path, query) -> int:
    begin = "unix_micros(window.start)"
    ranges = [
        f"({begin} + {query.window.size} <= {until}"
        + ("" if first is None else f" AND {begin} >= {first}")
        + ")"
        for first, until in promised(base, query.name)
    ]
    expected = expected_answers(spark, base, query).where(" OR ".join(ranges or ["false"]))
    rows = expected.collect()
    folder = base / "out" / query.name
    files = list(folder.glob("part-*"))
    assert files or not rows
    if rows:
        found = spark.read.schema(expected.schema).parquet(str(folder))
        found = spark.createDataFrame(found.collect(), expected.schema)
        assert_same(found, expected, query.name, rows)
    return len(rows)


def killed(
    kills: int, base: Path, spark, seed: int, strategy: str, windows: str = "periodic"
) -> None:
    rng = random.Random(seed)
    source = Input(spark, base / "in")
    made = events(seed, files=3 * kills + 4, rows=40)
    # Windows that are found in the data have another rule for late rows.
    is_late = windows == "periodic"
    if is_late:
        made = with_late_rows(made, seed)
    for number in range(kills):
        source.put(*made[3 * number : 3 * number + 3])
        process = launch(SCRIPT, base, str(number), "killed", strategy, windows)
        if rng.random() < 0.25:
            # Somewhere in its start, in which it may finish a batch that was cut off.
            time.sleep(rng.uniform(5, 15))
        else:
            while process.stdout.readline() not in ("started\n", ""):
                pass
            assert process.poll() is None
            # So many batches further, and then somewhere in the next, on any machine.
            target, patience = commits(base) + rng.randint(0, 3), time.monotonic() + 60
            while commits(base) < target and time.monotonic() < patience:
                time.sleep(0.02)
            time.sleep(rng.uniform(0, 2))
        kill(process)
    source.put(*made[3 * kills :])
    process = launch(SCRIPT, base, str(kills), "last", strategy, windows)
    lines = process.communicate(timeout=600)[0].split("\n")
    assert process.returncode == 0
    assert ("late 0" in lines) != is_late
    source.assert_read_in_order(base / "check")
    assert len(source.taken(base / "check")) == len(made)
    for query in (MINUTE, SLIDE):
        assert assert_promise_kept(spark, base, query) > 3 * kills
    comers = [assert_promise_kept(spark, base, query) for query in (SITES, WARM)]
    assert sum(comers) > 0
    if windows == "found":
        assert_found(spark, base, source)


def assert_found(spark, base: Path, source: Input) -> None:
    """Windows that are found in the data, by queries that ran in all processes."""
    metadata = (base / "check" / "spark" / "offsets" / str(commits(base) - 1)).read_text()
    reached = json.loads(metadata.splitlines()[1])["batchWatermarkMs"] * MILLISECOND
    for query in FOUND:
        schema = run([query], source.batch())[query.name].schema
        rows = spark.read.schema(schema).parquet(str(base / "out" / query.name)).collect()
        found = spark.createDataFrame(rows, schema)
        assert assert_streamed(found, query, source.batch(), reached) > 5


def test_kills_of_windows_that_are_found_in_the_data(spark, tmp_path):
    killed(max(3, KILLS // 4), tmp_path, spark, KILLS + 1, "shared", "found")


@pytest.mark.parametrize("strategy", ["shared"])
def test_kills(spark, tmp_path, strategy):
    killed(KILLS, tmp_path, spark, KILLS, strategy)


def test_a_few_kills_with_a_tree_for_each_query(spark, tmp_path):
    killed(5, tmp_path, spark, 5, "unshared")
