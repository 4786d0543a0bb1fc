"""`muntin stream`: answers queries over files that keep coming, until Ctrl-C."""

from dataclasses import MISSING, dataclass
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from rich.console import Console

from muntin.api.batch import plan
from muntin.api.stream import start
from muntin.cli.follow_stream import Edits, follow_stream, status_view
from muntin.cli.interrupt import stop_event
from muntin.cli.options import (
    ClusterOptions,
    File,
    Inputs,
    OutputOptions,
    PlanningOptions,
    flag,
    option,
)
from muntin.cli.paths import check_folder, is_remote
from muntin.cli.sql_file import STDIN, SqlFile
from muntin.errors import RunError
from muntin.model.query import PlainQuery, Query
from muntin.model.time import parse_duration
from muntin.optimizer.strategies import STEADY
from muntin.spark.engine.folder import texts_in
from muntin.spark.files import INPUT_FORMATS, FileKind, InputFormat, stream_files
from muntin.spark.frames.stream_frames import WATERMARK
from muntin.spark.pipeline.pipeline import Pipeline
from muntin.spark.pipeline.stream_options import DROP_QUERY, STOP, StreamOptions
from muntin.spark.session import session_at
from muntin.spark.sinks.folder_sink import Files

# The file in the checkpoint that stores the input's format and columns. Spark's readers ignore
# names that start with an underscore.
INPUT = "_input.json"


@dataclass(frozen=True, kw_only=True)
class StreamArguments:
    """The options that only `muntin stream` has."""

    checkpoint: str = option(
        "DIR", "Where the stream keeps its progress, to continue from.", default=MISSING
    )
    input: str | None = option("DIR", "Where files of parquet, csv or json arrive.")
    table: str | None = option("TABLE", "Instead: a table of a catalog of Spark's.")
    input_format: str | None = option(
        "|".join(INPUT_FORMATS), "Format of the inputs.", show_default="what their names tell"
    )
    name: str | None = option(
        "NAME", "What Spark's web page calls the stream.", show_default="the checkpoint's folder"
    )
    watch: bool = flag("Follow edits of FILE.sql while it runs.")
    watermark: str | None = option("DURATION", f"How late events may be (without it: {WATERMARK}).")
    trigger: str = option(
        "DURATION",
        'Time between batches, or "available now": all, then an end.',
        default="1 second",
    )
    retain: str = option(
        "DURATION", "How long slices are kept for queries to come.", default="0 seconds"
    )
    files: int | None = option("N", "At most so many files in a batch.", min=1)
    late: str | None = option("DIR", "Where to put rows that came too late for any window.")
    compact: int = option(
        "N", "Put answers in place every N batches, in one file.", default=1, min=1
    )
    on_error: str = option(
        f'{STOP}|"{DROP_QUERY}"',
        "What to do if a query fails: stop, or continue with the others.",
        default=STOP,
    )
    replan: float | None = option(
        "SHARE",
        "Move to the cheapest plan by what is measured, whenever the plan that runs costs more by "
        "this share, such as 0.2.",
    )


@dataclass(frozen=True, kw_only=True)
class StreamJob:
    """One call of `muntin stream`."""

    file: Path
    stream: StreamArguments
    output: OutputOptions
    planning: PlanningOptions
    cluster: ClusterOptions

    @property
    def inputs(self) -> Inputs:
        """The one relation of the stream: a folder of files, or a table of a catalog."""
        options = self.stream
        return Inputs(
            paths={} if options.input is None else {"": options.input},
            tables={} if options.table is None else {"": options.table},
            format=InputFormat(
                format=options.input_format,
                fallback=self.output.format,
                is_here=self.cluster.is_here,
            ),
        )

    def options(self) -> StreamOptions:
        """Returns the options of the stream; refuses a policy that does not exist."""
        return StreamOptions(
            **self.planning.arguments(STEADY),
            name=self.stream.name,
            retain=self.stream.retain,
            on_error=self.stream.on_error,
            replan=self.stream.replan,
        )

    def files(self, folder: str, *, compact: int = 1) -> Files:
        """Returns a folder for answers or late rows, in the format of the answers."""
        return Files(
            folder,
            format=self.output.answer_format,
            flatten=self.output.flatten,
            options=self.output.spark_options(),
            compact=compact,
        )

    @property
    def source(self) -> str:
        """The folder or the table that the events come from."""
        return self.stream.input or self.stream.table or ""

    def check(self) -> SqlFile:
        """Returns the queries; refuses what can be refused before Spark takes seconds to start."""
        options = self.stream
        self.options()
        if options.watch and str(self.file) == STDIN:
            raise RunError("--watch needs a file of queries, and `-` is the standard input")
        if options.input is not None and options.table is not None:
            raise RunError("a stream has one --input, or one --table")
        for duration in (options.watermark, options.retain):
            if duration is not None:
                parse_duration(duration)
        sql_file = SqlFile.read(self.file)
        self.inputs.check(sql_file.queries, has_formats=not self._has_stored_input)
        self.output.check(self.cluster)
        if self.cluster.is_here:
            check_folder(options.checkpoint, "--checkpoint")
            if options.late is not None:
                check_folder(options.late, "--late")
        else:
            self._check_remote()
        plan(sql_file.queries, **self.planning.arguments(STEADY))
        return sql_file

    def _check_remote(self) -> None:
        is_set = {"--late": self.stream.late is not None, "--compact": self.stream.compact > 1}
        for name in (name for name, is_used in is_set.items() if is_used):
            raise RunError(
                f"{name} does not work with --remote: a client of Spark Connect reaches neither "
                f"the batches of a stream nor its files"
            )

    @property
    def _has_stored_input(self) -> bool:
        """Whether the checkpoint stores the format and columns of the input."""
        folder = self.stream.checkpoint
        return not is_remote(folder) and Path(folder, INPUT).exists()


def stream_verb(
    file: File,
    output: OutputOptions,
    stream: StreamArguments,
    planning: PlanningOptions,
    cluster: ClusterOptions,
) -> None:
    """Answer the queries over files as they arrive, exactly once, into a folder for each query.

    \b
    $ muntin stream dashboard.sql --input in --output answers --checkpoint check
    $ muntin stream dashboard.sql --input in --output answers --checkpoint check --watch

    Ctrl-C stops after the batch, with exit code 0, and the same command continues from there; a
    second Ctrl-C stops at once. Put files into the input by moving them there, whole: Spark reads
    each once. The first must be there at the first start, to find the columns in. Answers in csv
    are always flat, as with --flatten. With --watch, queries that you add to FILE.sql, change or
    remove are so in the stream; if they are wrong, the error is shown and the old ones continue.
    With --remote, the stream runs on the server, into folders such as query=hot, and without
    --late and --compact.
    """
    job = StreamJob(file=file, stream=stream, output=output, planning=planning, cluster=cluster)
    spark = cluster.to_spark()
    edits = Edits(job.file) if stream.watch else None
    sql_file = job.check()
    with status_view(Console()) as view:
        view.say("starting Spark")
        session = session_at(spark)
        with stop_event() as stop:
            view.say(f"reading the columns of {job.source}, and starting the stream")
            sql_file.check_syntax(session)
            with sql_file.locate_errors():
                pipeline = _start(job, sql_file.queries, session)
            for warning in pipeline.status().warnings:
                view.say(warning)
            follow_stream(pipeline, session, job.source, edits, stop, view)
            pipeline.stop()
            view.show(pipeline.status())
            view.say("stopped; the same command continues from here")


def _start(job: StreamJob, queries: list[Query | PlainQuery], session: SparkSession) -> Pipeline:
    options = job.stream
    checkpoint_files = texts_in(session, options.checkpoint)
    is_new = options.table is None and not checkpoint_files.has(INPUT)
    kind = None
    if is_new:
        kind = FileKind.detect(session, job.source, job.inputs.format)
    elif options.table is None:
        kind = FileKind.from_json(checkpoint_files.read(INPUT))
    pipeline = start(
        queries,
        _events(session, job, kind),
        checkpoint=options.checkpoint,
        sink=job.files(job.output.output, compact=options.compact),
        late=None if options.late is None else job.files(options.late),
        watermark=options.watermark,
        trigger=options.trigger,
        options=job.options(),
    )
    if is_new and kind is not None:
        checkpoint_files.write(INPUT, kind.to_json())
    return pipeline


def _events(session: SparkSession, job: StreamJob, kind: FileKind | None) -> DataFrame:
    if kind is not None:
        return stream_files(session, job.source, kind, per_batch=job.stream.files)
    reader = session.readStream
    if job.stream.files is not None:
        reader = reader.option("maxFilesPerTrigger", job.stream.files)
    return reader.table(job.source)
