"""`muntin stream`: queries over files that keep coming, answered until Ctrl-C."""

import os
import threading
from dataclasses import dataclass
from pathlib import Path

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from rich.console import Console

from muntin.console.progress import Steps
from muntin.errors import MuntinError
from muntin.model.query import PlainQuery, Query
from muntin.model.time import parse_duration
from muntin.spark.binding.planning import plan
from muntin.spark.files import FileKind, check_format, format_of, stream_files
from muntin.spark.folder import Folder
from muntin.spark.pipeline.pipeline import Pipeline, start
from muntin.spark.session import local_session, one_line
from muntin.spark.settings import settings
from muntin.terminal.edits import Difference, Edits
from muntin.terminal.given import Planning, check_relations
from muntin.terminal.interrupt import asked_to_stop
from muntin.terminal.live import View, since, view
from muntin.terminal.paths import check_folder, check_input, is_remote
from muntin.terminal.sql_file import SqlFile

# How often figures are shown, and the file of queries is looked at.
_EVERY_S = 0.5
# What the input's files hold, in the checkpoint: a name that Spark's readers pass over.
_INPUT = "_input.json"


@dataclass(frozen=True, kw_only=True)
class Job:
    """What was asked for on the command line."""

    file: Path
    input: str
    output: str
    checkpoint: str
    watch: bool
    watermark: str
    trigger: str
    format: str | None
    planning: Planning
    retain: str
    files: int | None
    flatten: bool
    compact: int
    late: str | None = None

    def check(self) -> SqlFile:
        """Refuse what can be refused without Spark, before it takes its seconds to start."""
        if self.format is not None:
            check_format(self.format)
        for duration in (self.watermark, self.retain):
            parse_duration(duration)
        sql_file = SqlFile.read(self.file)
        check_relations(sql_file.queries, {"": self.input})
        check_input(self.input)
        check_folder(self.output, "--output")
        check_folder(self.checkpoint, "--checkpoint")
        if self.late is not None:
            check_folder(self.late, "--late")
        if not is_remote(self.checkpoint) and not Path(self.checkpoint, _INPUT).exists():
            format_of(self.input, self.format)
        plan(sql_file.queries, **self.planning)
        return sql_file


def stream(job: Job) -> None:
    """Run until Ctrl-C, or, where the trigger is "available now", until all is answered."""
    edits = Edits(job.file)
    file = job.check()
    with Steps(1) as bar, bar.step("starting Spark"):
        session = local_session()
    with asked_to_stop() as stop:
        file.check_syntax(session)
        with file.blamed():
            pipeline = _start(job, file.queries, session)
        with view(Console()) as shown:
            shown.say(f"{len(file.queries)} queries over {job.input}; Ctrl-C stops after the batch")
            _follow(pipeline, session, edits if job.watch else None, stop, shown)
            pipeline.stop()
            shown.show(pipeline.status())
            shown.say("stopped; the same command goes on from here")


def _start(job: Job, queries: list[Query | PlainQuery], session: SparkSession) -> Pipeline:
    remembered = Folder(session, job.checkpoint)
    is_new = not remembered.has(_INPUT)
    kind = (
        FileKind.found(session, job.input, job.format)
        if is_new
        else FileKind.from_json(remembered.read(_INPUT))
    )
    format = job.format or "parquet"
    # As many partitions of state as there are cores here; Spark keeps what a checkpoint began with.
    with settings(session, {"spark.sql.shuffle.partitions": str(os.cpu_count())}):
        pipeline = start(
            queries,
            _events(session, job, kind),
            checkpoint=job.checkpoint,
            sink=job.output,
            late=job.late,
            watermark=job.watermark,
            trigger=job.trigger,
            **job.planning,
            retain=job.retain,
            format=format,
            flatten=job.flatten,
            options={"header": "true"} if format == "csv" else None,
            compact=job.compact,
        )
    if is_new:
        remembered.write(_INPUT, kind.to_json())
    return pipeline


def _events(session: SparkSession, job: Job, kind: FileKind) -> DataFrame:
    return stream_files(session, job.input, kind, per_batch=job.files)


def _follow(
    pipeline: Pipeline,
    session: SparkSession,
    edits: Edits | None,
    stop: threading.Event,
    shown: View,
) -> None:
    """Show figures, and follow edits, until the stream ends or is asked to."""
    refused = None
    while not stop.wait(_EVERY_S):
        status = pipeline.status()
        shown.show(status)
        if status.refused != refused:
            refused = status.refused
            shown.say(refused or "", wrong=True)
        if not status.is_active and pipeline.await_termination(_EVERY_S):
            return
        if edits is not None and edits.arrived():
            _change(pipeline, session, edits.file, shown)
            refused = pipeline.status().refused


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
    except (MuntinError, PySparkException, Py4JError) as error:
        said = str(error) if isinstance(error, MuntinError) else one_line(error)
        shown.say(f"{' '.join((said or '').split())}; the queries before go on", wrong=True)
        return
    firsts = pipeline.complete_from
    told = [
        f"{name} complete from {since(firsts[name])}"
        for name in (*difference.added, *difference.changed)
    ]
    shown.say("; ".join([str(difference), *told]))
