"""The options of `muntin stream`, and the checks that need no Spark."""

from dataclasses import MISSING, dataclass
from pathlib import Path

from muntin.api.batch import plan
from muntin.cli.inputs import Inputs
from muntin.cli.options import ClusterOptions, OutputOptions, PlanningOptions, flag, option
from muntin.cli.paths import check_folder, is_remote
from muntin.cli.sql_file import STDIN, SqlFile
from muntin.errors import RunError
from muntin.model.time import parse_duration
from muntin.optimizer.strategies import STEADY
from muntin.spark.files import INPUT_FORMATS, InputFormat
from muntin.spark.frames.stream_frames import WATERMARK
from muntin.spark.pipeline.stream_options import DROP_QUERY, STOP, StreamOptions
from muntin.spark.sinks.folder_sink import Files

# The file in the checkpoint that stores the input's format and columns. Spark's readers ignore
# names that start with an underscore.
INPUT = "_input.json"


@dataclass(frozen=True, kw_only=True)
class StreamArguments:
    """The options that only `muntin stream` has."""

    checkpoint: str = option(
        "DIR", "Where the stream keeps how far it is, to go on.", default=MISSING
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
        "What to do if a query fails: stop, or go on with the others.",
        default=STOP,
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
                f"{name} does not go with --remote: a client of Spark Connect reaches neither "
                f"the batches of a stream nor its files"
            )

    @property
    def _has_stored_input(self) -> bool:
        """Whether the checkpoint stores the format and columns of the input."""
        folder = self.stream.checkpoint
        return not is_remote(folder) and Path(folder, INPUT).exists()
