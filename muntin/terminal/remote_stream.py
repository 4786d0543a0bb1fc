"""`muntin stream --remote`: queries over a server's files, answered by a query that runs there.

A client of Spark Connect reaches no files, so there is no pipeline: the frame of `mt.stream` is
written by Spark's own file sink, exactly once, and the queries of a checkpoint do not change.
"""

import json
import threading

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery
from rich.console import Console

from muntin.console.progress import Steps
from muntin.errors import RunError
from muntin.model.plan import Plan
from muntin.model.plan_json import plan_to_json
from muntin.spark.binding.planning import plan_for_stream
from muntin.spark.files import FileKind, stream_files
from muntin.spark.output.flatten import FLAT_FORMATS, flatten
from muntin.spark.output.together import QUERY
from muntin.spark.pipeline.trigger import trigger_of
from muntin.spark.session import session_at
from muntin.spark.settings import settings
from muntin.spark.stream.source import SETTINGS
from muntin.spark.stream.source import stream as answers_of
from muntin.terminal.interrupt import asked_to_stop
from muntin.terminal.sql_file import SqlFile
from muntin.terminal.stream_job import Job

# Keys are kept in so many buckets, whatever the session is that goes on with a checkpoint.
_BUCKETS = 8
_EVERY_S = 0.5
# What a checkpoint was begun with, beside what Spark keeps there.
_BEGUN_WITH = "muntin"


def stream_remotely(job: Job, file: SqlFile) -> None:
    """Run on a server until Ctrl-C or, if the trigger is "available now", until all is answered."""
    assert job.remote is not None
    with Steps(1) as bar, bar.step("connecting"):
        session = session_at(job.remote)
    plan = plan_for_stream(file.queries, **job.planning)
    with asked_to_stop() as stop:
        with file.blamed():
            running = _start(job, plan, session)
        print(f"{len(plan.queries)} queries over {job.input} at {job.remote}; Ctrl-C stops them")
        _wait(running, stop)
        running.stop()
        Console().print("stopped; the same command goes on from here")


def _start(job: Job, plan: Plan, session: SparkSession) -> StreamingQuery:
    begun = _begun_with(job, plan, session)
    kind = FileKind.from_json(begun["input"])
    data = stream_files(session, job.input, kind, per_batch=job.files)
    format = job.format or "parquet"
    with settings(session, SETTINGS):
        answers: DataFrame = answers_of(plan, data, watermark=job.watermark, buckets=_BUCKETS)
        if job.flatten or format in FLAT_FORMATS:
            answers = flatten("all", answers)
        writer = answers.writeStream.format(format).partitionBy(QUERY)
        writer = writer.option("path", job.output).option("checkpointLocation", job.checkpoint)
        if format == "csv":
            writer = writer.option("header", "true")
        return writer.trigger(**trigger_of(job.trigger)).start()


def _begun_with(job: Job, plan: Plan, session: SparkSession) -> dict[str, str]:
    """Returns what the checkpoint was begun with; refuses other queries."""
    place = f"{job.checkpoint.rstrip('/')}/{_BEGUN_WITH}"
    asked = {"plan": json.dumps(plan_to_json(plan)), "watermark": job.watermark}
    try:
        (stored,) = session.read.text(place, wholetext=True).collect()
    except AnalysisException as error:
        if error.getCondition() != "PATH_NOT_FOUND":
            raise
        found = FileKind.found(session, job.input, job.format, is_here=False)
        begun = {**asked, "input": found.to_json()}
        session.createDataFrame([(json.dumps(begun),)], "value STRING").coalesce(1).write.text(
            place
        )
        return begun
    begun = json.loads(stored.value)
    if {name: begun[name] for name in asked} != asked:
        raise RunError(
            f"the checkpoint {job.checkpoint} was begun with other queries or another watermark, "
            f"and on a server they cannot change; give a new --checkpoint and --output"
        )
    return dict(begun)


def _wait(running: StreamingQuery, stop: threading.Event) -> None:
    """Wait until the stream ends, fails or is asked to stop."""
    while running.isActive and not stop.wait(_EVERY_S):
        pass
    failure = None if running.isActive else running.exception()
    if failure is not None:
        raise failure
