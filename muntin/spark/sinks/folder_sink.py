"""Puts a pipeline's answers into files, a folder for each query."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from py4j.protocol import Py4JJavaError
from pyspark.sql.types import StructType

from muntin.errors import RunError
from muntin.spark.engine.folder import STAGING_OPTIONS, Folder
from muntin.spark.engine.session_kind import cores_of, is_connect
from muntin.spark.error_text import job_error_text
from muntin.spark.output.stacking import INDEX, CombinedAnswers, Part, Stack
from muntin.spark.sinks.arrow_files import (
    can_arrow_write,
    can_write_in_one_job,
    file_extension,
    file_without_rows,
    query_of,
    write_in_one_job,
)
from muntin.spark.sinks.batch_buffer import BatchBuffer, Publication
from muntin.spark.sinks.connect_folder_sink import ConnectFolderSink
from muntin.spark.sinks.file_options import FileOptions, flatten
from muntin.spark.sinks.output_owner import OutputOwner, columns_prefix
from muntin.spark.sinks.sink import Answers, Sink, SinkContext, SinkDefinition, name_batch_in_errors

# After a batch of more bytes, Spark does not gather the next one into few files.
_FEW_BYTES = 1 << 24
# Writing is mostly waiting for Spark to start a job, so several are started at a time.
_AT_A_TIME = 4


@contextmanager
def writing_to(directory: str) -> Iterator[None]:
    """Turn a file system's error in the block into one that names the directory."""
    try:
        yield
    except Py4JJavaError as error:
        raise RunError(f"{directory} cannot be written: {job_error_text(error)}") from None


@dataclass(frozen=True)
class Files(FileOptions, SinkDefinition):
    """A sink: files in `path/query`, with these options."""

    path: str | Path

    def open(self, context: SinkContext) -> Sink:
        """Returns the sink that writes the files."""
        if not is_connect(context.session):
            return FolderSink(context, str(self.path), self)
        if self.compact > 1:
            raise RunError(
                "compact does not work on Spark Connect: a client cannot move the files of several "
                "batches; a longer trigger makes fewer files"
            )
        return ConnectFolderSink(context, str(self.path), self)


class FolderSink(Sink):
    """Files in `directory/query`, named by the checkpoint's mark and the batch.

    A batch is written to a hidden folder, then its files are moved into place. Files that an
    interrupted try of the same batch had moved are deleted first. Spark's own file sink gives the
    same guarantee, but for one folder per streaming query and with a log that readers must know;
    here one streaming query fills all folders, and any reader can read them.
    """

    is_stacked = True

    def __init__(
        self, context: SinkContext, directory: str, files: FileOptions, *, only: str | None = None
    ) -> None:
        """With `only`, the sink writes one folder, and reads nothing else in the directory."""
        files.check()
        self._only = only
        self._session = session = context.session
        self._folder = Folder(session, directory)
        self.output = directory
        self._directory = directory
        self._mark = context.mark
        self._files = files
        self._buffer = BatchBuffer(session, directory, mark=context.mark)
        self._owner = OutputOwner(
            context, directory, format=files.format, buffered_queries=self._buffer.queries
        )
        # The last batch that was written by this object, and whether it was large.
        self._last: int | None = None
        self._was_large = False
        # The queries with answers in that batch, and their columns.
        self.written_schemas: dict[str, StructType] = {}

    def check(self, schemas: Mapping[str, StructType]) -> None:
        """Refuse what the format has no place for, and folders that hold other answers."""
        self._owner.check(self._files.file_schemas(schemas))

    def claim(self, schemas: Mapping[str, StructType]) -> None:
        """Write the owner into each query's folder, and a file with its columns and no rows."""
        schemas = self._files.file_schemas(schemas)
        with writing_to(self._directory):
            for name in self._owner.claim(schemas):
                self._put_columns(name, schemas[name])

    def _put_columns(self, name: str, schema: StructType) -> None:
        """Put a file without rows in place, so that readers find the columns before the answers."""
        prefix, staging = columns_prefix(self._mark), self._staging("columns")
        for file in self._folder.names(name):
            if file.startswith(prefix):
                self._folder.delete(f"{name}/{file}")
        part, kind = Part(names={0: name}, struct=None, schema=schema), None
        if can_arrow_write(self._session, [part], self._files):
            kind = file_extension(self._session)
            self._folder.put(f"{staging}/part-0", file_without_rows(self._session, part))
        else:
            writer = self._session.createDataFrame([], schema).write.format(self._files.format)
            writer = writer.options(**{**STAGING_OPTIONS, **self._files.options}).mode("overwrite")
            writer.save(f"{self._directory}/{staging}")
        self._move_files(staging, name, f"{prefix}-", kind)
        self._folder.delete(staging)

    def missing(self, names: Sequence[str]) -> list[str]:
        """Returns the queries whose folders are missing, or not claimed."""
        return self._owner.missing(names)

    def write(self, batch: int, answers: Answers) -> None:
        """Put the batch's files in place, or buffer them until several batches are published."""
        last, self._last = self._last, None
        is_known = last is not None and batch > last
        if not is_known:
            # What an earlier try of this batch published is deleted. Batches before it that it had
            # published are still in the buffer, and are published again. That may be later than
            # before, as the user may have changed how many batches are published together.
            self._buffer.delete_from(batch)
            self._delete_leftovers(batch)
        if not is_known or self._files.compact > 1:
            self._finish_earlier_batches(batch)
        self.written_schemas = {}
        if self._files.compact > 1:
            with name_batch_in_errors(batch):
                self._buffer.add(batch, answers.whole(), is_small=not self._was_large)
                self._was_large = self._buffer.size(batch) > _FEW_BYTES
            if (batch + 1) % self._files.compact == 0:
                self._publish(batch)
        else:
            whole = answers.whole()
            if self._fits_one_job(whole):
                self._was_large = self._fill_in_one_job(whole, batch) > _FEW_BYTES
            else:
                with answers.stacks() as stacks:
                    self._was_large = self._fill(stacks, batch) > _FEW_BYTES
        self._last = batch

    def close(self, batch: int) -> None:
        """Publish the buffered batches that were finished."""
        self.written_schemas = {}
        self._finish_earlier_batches(batch + 1)
        if any(number <= batch for number in self._buffer.numbers()):
            self._publish(batch)
            self._buffer.delete_until(batch)

    def _finish_earlier_batches(self, batch: int) -> None:
        """Complete the publication that an earlier batch began; all before `batch` are finished."""
        publication = self._buffer.publication()
        if publication is not None and publication.batch < batch:
            if not publication.is_whole:
                self._publish(publication.batch)
            self._buffer.delete_until(publication.batch)
        if self._files.compact == 1:
            left = [number for number in self._buffer.numbers() if number < batch]
            if left:
                self._publish(left[-1])
                self._buffer.delete_until(left[-1])

    def _publish(self, batch: int) -> None:
        """Put in place the buffered batches up to this one, the rows of each query together."""
        self._delete_leftovers(batch)
        self._buffer.save_publication(Publication(batch=batch, is_whole=False))
        self._fill(self._buffer.stacks(batch), batch)
        self._buffer.save_publication(Publication(batch=batch, is_whole=True))

    def _staging(self, what: int | str) -> str:
        """Returns the hidden folder to write to before files are put in place."""
        inside = "" if self._only is None else f"{self._only}/"
        return f"{inside}.muntin-{self._mark}-{what}"

    def _prefix(self, batch: int) -> str:
        return f"part-{self._mark}-{batch:08d}-"

    def _fits_one_job(self, whole: CombinedAnswers) -> bool:
        """Whether one job can write the files of all queries, which have different columns."""
        return can_write_in_one_job(whole, self._files)

    def _fill_in_one_job(self, whole: CombinedAnswers, batch: int) -> int:
        """Write all answers to files in one job, and put these in place; returns their size."""
        staging = self._staging(batch)
        parts = {number: part for part in whole.parts for number in part.names}
        session = whole.frame.sparkSession
        if not self._was_large:
            # A file for each query, however many partitions the state has.
            parallel = min(len(parts), cores_of(session))
            whole = replace(whole, frame=whole.frame.repartition(parallel, INDEX))
        with name_batch_in_errors(batch, *(part.names[number] for number, part in parts.items())):
            write_in_one_job(whole, f"{self._directory}/{staging}", STAGING_OPTIONS)
        staged = []
        for folder in self._folder.names(staging):
            number = query_of(folder)
            if number is not None:
                part = parts[number]
                self.written_schemas[part.names[number]] = part.schema
                staged.append((part.names[number], f"{staging}/{folder}", folder.partition("=")[2]))
        return self._put_in_place(staged, batch, file_extension(session))

    def _fill(self, stacks: Sequence[Stack], batch: int) -> int:
        """Write stacks to files and put these in place; returns their size in bytes."""
        staging = self._staging(batch)
        # The first one computes the batch; the others read what it stored.
        self._stage(f"{staging}/0", stacks[0], batch, is_stored=False)
        with ThreadPoolExecutor(_AT_A_TIME) as pool:
            jobs = [
                pool.submit(self._stage, f"{staging}/{number}", stack, batch, is_stored=True)
                for number, stack in enumerate(stacks[1:], 1)
            ]
        for job in jobs:
            job.result()
        staged = []
        for number, stack in enumerate(stacks):
            there = self._folder.names(f"{staging}/{number}")
            for index, name in stack.names.items():
                folder = f"{INDEX}={index}"
                if folder in there:
                    self.written_schemas[name] = stack.schema
                    staged.append((name, f"{staging}/{number}/{folder}", f"{number}-{index}"))
        return self._put_in_place(staged, batch)

    def _put_in_place(
        self, staged: Iterable[tuple[str, str, str]], batch: int, kind: str | None = None
    ) -> int:
        """Move files to where they belong; returns their size in bytes.

        `staged` has queries, the folders of their files, and labels for the files' names. `kind` is
        the extension, None for that of the files.
        """
        size = 0
        for name, source, label in staged:
            with name_batch_in_errors(batch, name):
                self._folder.make(name)
                size += self._move_files(source, name, f"{self._prefix(batch)}{label}-", kind)
        self._folder.delete(self._staging(batch))
        return size

    def _stage(self, place: str, stack: Stack, batch: int, *, is_stored: bool) -> None:
        """Write a stack in one job, each query to a folder of its own."""
        frame = stack.frame
        if self._files.is_flat:
            frame = flatten(next(iter(stack.names.values())), frame)
        # A file for each query, however many partitions the state has.
        if not self._was_large and is_stored:
            # In one task, without a shuffle: the jobs of other stacks run beside it.
            frame = frame.coalesce(1)
        elif not self._was_large:
            parallel = cores_of(frame.sparkSession)
            frame = frame.repartition(min(len(stack.names), parallel), INDEX)
        with name_batch_in_errors(batch, *stack.names.values()):
            writer = frame.write.format(self._files.format).options(
                **{**STAGING_OPTIONS, **self._files.options}
            )
            writer.partitionBy(INDEX).mode("overwrite").save(f"{self._directory}/{place}")

    def _move_files(self, source: str, target: str, prefix: str, kind: str | None) -> int:
        """Move a query's files to its folder; returns their size in bytes."""
        sizes = self._folder.sizes(source)
        written = sorted(name for name in sizes if name.startswith("part-"))
        for index, name in enumerate(written):
            # Spark's name is `part-number-uuid-c000` and an extension.
            ending = kind or name[name.index(".") :]
            self._folder.rename(f"{source}/{name}", f"{target}/{prefix}{index:05d}{ending}")
        return sum(sizes[name] for name in written)

    def _delete_leftovers(self, batch: int) -> None:
        """Delete the files of an interrupted try of this batch in all queries' folders."""
        self._folder.delete(self._staging(batch))
        prefix = self._prefix(batch)
        for name in self._folder.names() if self._only is None else [self._only]:
            if name.startswith(f".muntin-{self._mark}-"):
                self._folder.delete(name)
            elif not name.startswith(".muntin-"):
                for file in self._folder.names(name):
                    # Hadoop keeps checksums of local files in hidden ones beside them.
                    if file.startswith((prefix, f".{prefix}")):
                        self._folder.delete(f"{name}/{file}")
