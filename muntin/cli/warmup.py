"""`muntin warmup`: compiles the kernels of common queries before they are needed."""

from pathlib import Path
from tempfile import TemporaryDirectory

from pyspark.sql import SparkSession

from muntin.api.batch import run
from muntin.api.stream import start
from muntin.demo import dashboard_queries, machine_readings
from muntin.errors import RunError
from muntin.measure.events import compute, store
from muntin.measure.progress import Steps, show_spark_start
from muntin.model.query import Query
from muntin.spark.session import local_session
from muntin.sql import parse_sql
from muntin.techniques.kernels.kernel_cache import stored_kernels

# Enough events to close windows of half a minute in the stream.
_EVENTS = 20_000
# Sets of values, integers, several keys and filters, and windows found in the data.
_MORE = """
-- name: values
SELECT machine, window, count(DISTINCT valve) AS states, percentile(power1, 0.95) AS high,
  approx_count_distinct(power1) AS levels FROM sensors
GROUP BY machine, window(ts, '1 minute', '10 seconds');
-- name: numbers
SELECT CAST(power1 AS INT) % 10 AS level, window, sum(CAST(power2 AS INT)) AS total,
  max(machine) AS last FROM sensors
WHERE valve GROUP BY CAST(power1 AS INT) % 10, window(ts, '1 minute', '10 seconds');
-- name: all
SELECT window, count(*) AS n, avg(power1) AS mean FROM sensors
GROUP BY window(ts, '1 minute', '10 seconds');
-- name: visits
SELECT machine, session_window, count(*) AS n, max(power1) AS high, avg(power1) AS mean
FROM sensors WHERE valve GROUP BY machine, session_window(ts, '2 seconds');
-- name: long_visits
SELECT machine, session_window, count(*) AS n, max(power1) AS high, avg(power1) AS mean
FROM sensors WHERE valve GROUP BY machine, session_window(ts, '5 seconds')
"""


def warmup_verb() -> None:
    """Compile the kernels of common queries, and keep the machine code for this user and machine.

    \b
    $ muntin warmup
    $ NUMBA_CACHE_DIR=/opt/kernels muntin warmup

    Without it, the first queries compile what they need, which takes them some seconds more.
    """
    with show_spark_start():
        session = local_session()
    kernels = warm_up_kernels(session)
    if not kernels:
        raise RunError("no folder for compiled kernels is private and writable")
    print(f"{len(kernels)} kernels are compiled, in {kernels[0].parent}")


def warm_up_kernels(session: SparkSession) -> list[Path]:
    """Runs common queries as a batch and as a stream; returns the files of compiled kernels."""
    more = [query for query in parse_sql(_MORE) if isinstance(query, Query)]
    with TemporaryDirectory(prefix="muntin-warmup-") as folder, Steps(3) as bar:
        with bar.step("making events"):
            events = store(machine_readings(session, _EVENTS), Path(folder, "events"))
        with bar.step("queries over a batch"):
            for queries in (dashboard_queries(), more):
                with run(queries, events) as results:
                    compute(results.together())
        with bar.step("queries over a stream"):
            stream = session.readStream.schema(events.schema).parquet(f"{folder}/events")
            start(
                [*dashboard_queries(), *more],
                stream,
                sink=lambda name, frame, batch: compute(frame),
                checkpoint=Path(folder, "checkpoint"),
                trigger="available now",
            ).await_termination()
    return stored_kernels()
