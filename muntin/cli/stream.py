"""`muntin stream`: queries over files that keep coming, answered until Ctrl-C."""

import threading
from pathlib import Path
from typing import Annotated

import typer
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from rich.console import Console

from muntin.cli.edits import Difference, Edits
from muntin.cli.given import Inputs, Planning
from muntin.cli.interrupt import asked_to_stop
from muntin.cli.live import View, since, view
from muntin.cli.options import (
    Approximate,
    Conf,
    File,
    Flatten,
    FormatName,
    InputFormatName,
    Latency,
    Master,
    OutputFormatName,
    Packages,
    Remote,
    Strategy,
    Technique,
    spark_options,
)
from muntin.cli.sql_file import SqlFile
from muntin.cli.stream_job import INPUT, Job
from muntin.errors import MuntinError
from muntin.model.query import PlainQuery, Query
from muntin.optimizer.strategies import STEADY
from muntin.spark.engine.session_kind import cores_of
from muntin.spark.files import FileKind, InputFormat, stream_files
from muntin.spark.folder import texts_in
from muntin.spark.frames.stream_frames import WATERMARK
from muntin.spark.pipeline.pipeline import Pipeline, start
from muntin.spark.pipeline.status import Status
from muntin.spark.pipeline.stream_options import DROP_QUERY, STOP
from muntin.spark.session import one_line, session_at
from muntin.spark.settings import settings
from muntin.spark.sinks.folder_sink import Files

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
            sink=Files(job.output, **job.file_options, compact=job.compact),
            late=None if job.late is None else Files(job.late, **job.file_options),
            watermark=job.watermark,
            trigger=job.trigger,
            options=job.options,
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


def stream_verb(
    file: File,
    output: Annotated[
        str, typer.Option(metavar="DIR", help="Where to put a folder for each query.")
    ],
    checkpoint: Annotated[
        str, typer.Option(metavar="DIR", help="Where the stream keeps how far it is, to go on.")
    ],
    input: Annotated[
        str | None,
        typer.Option(metavar="DIR", help="Where files of parquet, csv or json arrive."),
    ] = None,
    table: Annotated[
        str | None,
        typer.Option(metavar="TABLE", help="Instead: a table of a catalog of Spark's."),
    ] = None,
    name: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="What Spark's web page calls the stream.",
            show_default="the checkpoint's folder",
        ),
    ] = None,
    watch: Annotated[
        bool, typer.Option("--watch", help="Follow edits of FILE.sql while it runs.")
    ] = False,
    watermark: Annotated[
        str | None,
        typer.Option(metavar="DURATION", help=f"How late events may be (without it: {WATERMARK})."),
    ] = None,
    trigger: Annotated[
        str,
        typer.Option(
            metavar="DURATION", help='Time between batches, or "available now": all, then an end.'
        ),
    ] = "1 second",
    format: FormatName = None,
    input_format: InputFormatName = None,
    output_format: OutputFormatName = None,
    strategy: Strategy = STEADY,
    technique: Technique = None,
    latency: Latency = False,
    approximate: Approximate = False,
    retain: Annotated[
        str,
        typer.Option(metavar="DURATION", help="How long slices are kept for queries to come."),
    ] = "0 seconds",
    files: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="At most so many files in a batch.")
    ] = None,
    flatten: Flatten = False,
    late: Annotated[
        str | None,
        typer.Option(metavar="DIR", help="Where to put rows that came too late for any window."),
    ] = None,
    compact: Annotated[
        int,
        typer.Option(metavar="N", min=1, help="Put answers in place every N batches, in one file."),
    ] = 1,
    on_error: Annotated[
        str,
        typer.Option(
            metavar=f'{STOP}|"{DROP_QUERY}"',
            help="What to do if a query fails: stop, or go on with the others.",
        ),
    ] = STOP,
    remote: Remote = None,
    master: Master = None,
    conf: Conf = None,
    packages: Packages = None,
) -> None:
    """Answer the queries over files as they arrive, exactly once, into a folder for each query.

    \b
    $ muntin stream dashboard.sql --input in --output answers --checkpoint check
    $ muntin stream dashboard.sql --input in --output answers --checkpoint check --watch

    Ctrl-C stops after the batch, with exit code 0, and the same command goes on from there; a
    second Ctrl-C stops at once. Put files into the input by moving them there, whole: Spark reads
    each once. The first must be there at the first start, to find the columns in. Answers in csv
    are always flat, as with --flatten. With --watch, queries that you add to FILE.sql, change or
    remove are so in the stream; if they are wrong, the error is shown and the old ones go on.
    With --remote, the stream runs on the server, into folders such as query=hot, and without
    --late and --compact.
    """
    stream(
        Job(
            file=file,
            inputs=Inputs(
                paths={} if input is None else {"": input},
                tables={} if table is None else {"": table},
                format=InputFormat(format=input_format, fallback=format, is_here=remote is None),
            ),
            name=name,
            output=output,
            checkpoint=checkpoint,
            watch=watch,
            watermark=watermark,
            trigger=trigger,
            format=output_format or format or "parquet",
            planning=Planning(
                strategy=strategy,
                technique=technique,
                latency=latency,
                approximate=approximate,
            ),
            retain=retain,
            files=files,
            flatten=flatten,
            late=late,
            compact=compact,
            spark=spark_options(remote, master, conf, packages),
            on_error=on_error,
        )
    )
