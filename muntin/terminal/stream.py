"""`muntin stream`: queries over files that keep coming, answered until Ctrl-C."""

import threading
from pathlib import Path

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from rich.console import Console

from muntin.errors import MuntinError
from muntin.model.query import PlainQuery, Query
from muntin.spark.engine.session_kind import cores_of
from muntin.spark.files import FileKind, stream_files
from muntin.spark.folder import texts_in
from muntin.spark.pipeline.pipeline import Pipeline, start
from muntin.spark.pipeline.status import Status
from muntin.spark.session import one_line, session_at
from muntin.spark.settings import settings
from muntin.terminal.edits import Difference, Edits
from muntin.terminal.interrupt import asked_to_stop
from muntin.terminal.live import View, since, view
from muntin.terminal.sql_file import SqlFile
from muntin.terminal.stream_job import INPUT, Job

# How often figures are shown, and the file of queries is looked at.
_EVERY_S = 0.5


def stream(job: Job) -> None:
    """Run until Ctrl-C, or, where the trigger is "available now", until all is answered."""
    edits = Edits(job.file) if job.watch else None
    file = job.check()
    with view(Console()) as shown:
        shown.say("starting Spark")
        session = session_at(job.spark)
        with asked_to_stop() as stop:
            shown.say(f"reading the columns of {job.source}, and starting the stream")
            file.check_syntax(session)
            with file.blamed():
                pipeline = _start(job, file.queries, session)
            for warning in pipeline.status().warnings:
                shown.say(warning)
            _follow(pipeline, session, job, edits, stop, shown)
            pipeline.stop()
            shown.show(pipeline.status())
            shown.say("stopped; the same command goes on from here")


def _start(job: Job, queries: list[Query | PlainQuery], session: SparkSession) -> Pipeline:
    remembered = texts_in(session, job.checkpoint)
    is_new = not job.is_table and not remembered.has(INPUT)
    kind = None
    if is_new:
        kind = FileKind.detect(session, job.source, job.inputs.format)
    elif not job.is_table:
        kind = FileKind.from_json(remembered.read(INPUT))
    # As many partitions of state as there are cores; Spark keeps what a checkpoint began with.
    with settings(session, {"spark.sql.shuffle.partitions": str(cores_of(session))}):
        pipeline = start(
            queries,
            _events(session, job, kind),
            checkpoint=job.checkpoint,
            name=job.name,
            sink=job.output,
            late=job.late,
            watermark=job.watermark,
            trigger=job.trigger,
            **job.planning,
            retain=job.retain,
            format=job.format,
            flatten=job.flatten,
            options={"header": "true"} if job.format == "csv" else None,
            compact=job.compact,
            on_error=job.on_error,
        )
    if is_new and kind is not None:
        remembered.write(INPUT, kind.to_json())
    return pipeline


def _events(session: SparkSession, job: Job, kind: FileKind | None) -> DataFrame:
    if kind is not None:
        return stream_files(session, job.source, kind, per_batch=job.files)
    reader = session.readStream
    if job.files is not None:
        reader = reader.option("maxFilesPerTrigger", job.files)
    return reader.table(job.source)


def _follow(
    pipeline: Pipeline,
    session: SparkSession,
    job: Job,
    edits: Edits | None,
    stop: threading.Event,
    shown: View,
) -> None:
    """Show figures and what the stream waits for, and follow edits, until it ends or is told to."""
    refused = said = None
    dropped: set[str] = set()
    while not stop.wait(_EVERY_S):
        status = pipeline.status()
        shown.show(status)
        if (now := waits_for(status, job.source)) != said:
            said = now
            shown.say(f"{len(status.queries)} queries over {job.source}; {now}")
        for name in status.dropped.keys() - dropped:
            shown.say(f"query {name!r} was dropped: {status.dropped[name]}", wrong=True)
        dropped = set(status.dropped)
        if status.refused != refused:
            refused = status.refused
            shown.say(refused or "", wrong=True)
        if not status.is_active and pipeline.await_termination(_EVERY_S):
            return
        if edits is not None and _edited(edits, shown):
            _change(pipeline, session, edits.file, shown)
            refused = pipeline.status().refused


def waits_for(status: Status, input: str) -> str:
    """Returns what a stream waits for until its first batch is done, and then how it ends."""
    if status.batches:
        return "Ctrl-C stops after the batch"
    return f"no new files yet in {input}" if status.is_waiting else "waiting for the first batch"


def _edited(edits: Edits, shown: View) -> bool:
    """Whether the file was edited; says when it cannot be read, and when it can again."""
    before, arrived = edits.problem, edits.arrived()
    if edits.problem is not None and edits.problem != before:
        shown.say(f"{edits.problem}; the queries before go on", wrong=True)
    elif edits.problem != before:
        shown.say(f"{edits.file} can be read again")
    return arrived


def _change(pipeline: Pipeline, session: SparkSession, file: Path, shown: View) -> None:
    """Go on with the queries of an edited file; with the old ones if the new ones are wrong."""
    try:
        sql_file = SqlFile.read(file)
        difference = Difference.between(pipeline.queries, sql_file.queries)
        if not difference:
            return
        sql_file.check_syntax(session)
        shown.say(f"changing the queries: {difference}")
        with sql_file.blamed():
            pipeline.replace(sql_file.queries)
    except (MuntinError, PySparkException, Py4JError, OSError) as error:
        is_own = isinstance(error, MuntinError | OSError)
        said = str(error) if is_own else one_line(error)
        shown.say(f"{' '.join((said or '').split())}; the queries before go on", wrong=True)
        return
    firsts = pipeline.complete_from
    told = [
        f"{name} complete from {since(firsts[name])}"
        for name in (*difference.added, *difference.changed)
    ]
    shown.say("; ".join([str(difference), *told]))
