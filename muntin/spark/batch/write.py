"""Writes answers to folders: computes them once, into a hidden folder, and moves them in place."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from uuid import uuid4

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import col

from muntin.errors import RunError, nearest
from muntin.spark.engine.folder import RAW_FILE_OPTIONS, Folder
from muntin.spark.engine.session_kind import is_connect
from muntin.spark.error_text import JOB_ERRORS, job_error_text
from muntin.spark.output.stacking import INDEX, CombinedAnswers, Part, Stack
from muntin.spark.sinks.arrow_files import (
    can_write_in_one_job,
    file_extension,
    file_without_rows,
    query_of,
    write_in_one_job,
)
from muntin.spark.sinks.file_options import FileOptions, flatten

MODES = ("error", "overwrite", "append")
# Formats whose folders hold files and nothing else, so that parts of one folder can be moved.
_FILES = frozenset(["avro", "csv", "json", "orc", "parquet", "text", "xml"])
_SUCCESS = "_SUCCESS"
# Returns the answer to a query by itself, or None if the query shares with no other.
AnswerAlone = Callable[[str], DataFrame | None]


class WriteTo:
    """Writes answers to the folders of one directory."""

    def __init__(
        self,
        session: SparkSession,
        directory: str,
        *,
        format: str,
        mode: str,
        is_flat: bool,
        options: Mapping[str, str],
    ) -> None:
        if mode not in MODES:
            raise RunError(f"no write mode is called {mode!r}; {nearest(mode, list(MODES))}")
        self._session = session
        self._directory = directory
        self._mode = mode
        self._files = FileOptions(format=format, flatten=is_flat, options=options)

    def fits_one_job(self, whole: CombinedAnswers) -> bool:
        """Whether one job can write the files of all queries, which have different columns."""
        return not is_connect(self._session) and can_write_in_one_job(whole, self._files)

    def write(
        self,
        stacks: Iterable[Stack | CombinedAnswers],
        names: Sequence[str],
        answer_alone: AnswerAlone,
    ) -> None:
        """Write every answer to `directory/name`; none is in place before all are written.

        If answers cannot be computed together, each is computed by itself: `answer_alone` returns
        it, or None if the query shares with no other. Raises an error that names the queries that
        fail even so; the others are in place.
        """
        if is_connect(self._session):
            failed = self._write_one_by_one(stacks, answer_alone)
        else:
            failed = self._write_and_move(stacks, names, answer_alone)
        if failed:
            name, error = next(iter(failed.items()))
            written = [each for each in names if each not in failed]
            raise RunError(
                f"query {name!r}: {job_error_text(error)}\n"
                f"failed: {', '.join(failed)}; written: {', '.join(written) or 'none'}"
            ) from error

    def _write_and_move(
        self,
        stacks: Iterable[Stack | CombinedAnswers],
        names: Sequence[str],
        answer_alone: AnswerAlone,
    ) -> dict[str, Exception]:
        """Writes answers to a hidden folder, then moves them; returns the errors of queries."""
        folder = Folder(self._session, self._directory)
        if self._mode == "error":
            for name in names:
                if folder.has(name):
                    raise RunError(
                        f"query {name!r}: {self._directory}/{name} is there already; "
                        f"write elsewhere, or with mode='overwrite' or mode='append'"
                    )
        staging = f".muntin-{uuid4().hex}"
        staged: dict[str, str] = {}
        failed: dict[str, Exception] = {}
        try:
            for number, stack in enumerate(stacks):
                place = f"{staging}/{number}"
                try:
                    staged |= self._stage(stack, place, folder)
                except AnalysisException:
                    raise
                except JOB_ERRORS as error:
                    alone = {name: f"{place}-{name}" for name in _query_names(stack)}
                    errors = self._save_each(alone, error, answer_alone, mode="error")
                    staged |= {name: alone[name] for name in alone if name not in errors}
                    failed |= errors
            for name in staged:
                if self._mode == "append" and folder.has(name):
                    folder.move_files(staged[name], name)
                else:
                    folder.move(staged[name], name)
        finally:
            folder.delete(staging)
        return failed

    def _write_one_by_one(
        self, stacks: Iterable[Stack | CombinedAnswers], answer_alone: AnswerAlone
    ) -> dict[str, Exception]:
        """Writes each answer to its place at once: Spark Connect cannot move files."""
        failed: dict[str, Exception] = {}
        for stack in stacks:
            assert isinstance(stack, Stack)
            several = len(stack.names) > 1
            for index, name in stack.names.items():
                frame = flatten(name, stack.frame) if self._files.is_flat else stack.frame
                rows = frame.where(f"{INDEX} = {index}").drop(INDEX) if several else frame
                try:
                    self._save(rows, name, mode=self._mode)
                except AnalysisException:
                    raise
                except JOB_ERRORS as error:
                    # Replace what the failed job has left behind.
                    mode = "overwrite" if self._mode == "error" else self._mode
                    failed |= self._save_each({name: name}, error, answer_alone, mode=mode)
        return failed

    def _save_each(
        self, places: Mapping[str, str], error: Exception, answer_alone: AnswerAlone, *, mode: str
    ) -> dict[str, Exception]:
        """Writes the answers of queries that failed in one job, each by itself; returns errors of
        those that fail again."""
        if "DATA_SOURCE_NOT_FOUND" in str(error):
            raise RunError(
                f"Spark has no format {self._files.format!r} here, which may need a package; "
                f"{nearest(self._files.format, sorted(_FILES))}"
            ) from None
        failed = {}
        for name, place in places.items():
            frame = answer_alone(name)
            if frame is None:
                failed[name] = error
                continue
            try:
                self._save(flatten(name, frame) if self._files.is_flat else frame, place, mode=mode)
            except JOB_ERRORS as own:
                failed[name] = own
        return failed

    def _stage(self, stack: Stack | CombinedAnswers, place: str, folder: Folder) -> dict[str, str]:
        """Writes the answers of some queries to a hidden folder; returns the folder of each."""
        if isinstance(stack, CombinedAnswers):
            return self._stage_in_one_job(stack, place, folder)
        first = next(iter(stack.names.values()))
        frame = flatten(first, stack.frame) if self._files.is_flat else stack.frame
        if len(stack.names) == 1:
            return {first: self._save(frame, place)}
        if self._files.format.lower() not in _FILES:
            return {
                name: self._save(frame.where(f"{INDEX} = {index}").drop(INDEX), f"{place}-{index}")
                for index, name in stack.names.items()
            }
        return self._stage_by_query(stack.names, frame, place, folder)

    def _stage_by_query(
        self, names: Mapping[int, str], frame: DataFrame, place: str, folder: Folder
    ) -> dict[str, str]:
        """Writes a folder for each query; one without rows gets what Spark writes for no rows."""
        self._save(_gather_by_query(frame), place, INDEX)
        there = set(folder.names(place))
        staged = {name: f"{place}/{INDEX}={index}" for index, name in names.items()}
        missing = [name for index, name in names.items() if f"{INDEX}={index}" not in there]
        if _SUCCESS in there:
            for name in staged.keys() - missing:
                folder.put(f"{staged[name]}/{_SUCCESS}", b"")
        if missing:
            nothing = self._save(frame.drop(INDEX).limit(0), f"{place}-empty")
            for name in missing:
                folder.copy(nothing, staged[name])
        return staged

    def _stage_in_one_job(
        self, whole: CombinedAnswers, place: str, folder: Folder
    ) -> dict[str, str]:
        """Writes a folder for each query, whatever its columns; each has a file at least."""
        gathered = replace(whole, frame=_gather_by_query(whole.frame))
        write_in_one_job(gathered, f"{self._directory}/{place}", RAW_FILE_OPTIONS)
        there = folder.names(place)
        # A query has a folder for each of its files.
        folders: dict[int, list[str]] = {}
        for name in there:
            number = query_of(name)
            if number is not None:
                folders.setdefault(number, []).append(f"{place}/{name}")
        staged = {}
        for part in whole.parts:
            for number, query in part.names.items():
                staged[query] = target = f"{place}/{number}"
                folder.make(target)
                self._name_files(folders.get(number, []), target, part, folder)
                if _SUCCESS in there:
                    folder.put(f"{target}/{_SUCCESS}", b"")
        return staged

    def _name_files(self, sources: list[str], target: str, part: Part, folder: Folder) -> None:
        """Moves a query's files into one folder, with the extension of their format."""
        kind = file_extension(self._session)
        paths = [f"{source}/{file}" for source in sources for file in folder.names(source)]
        for index, path in enumerate(paths):
            # The first part of Spark's own name, which is unique.
            name = path.rpartition("/")[2].partition(".")[0]
            folder.rename(path, f"{target}/{name}-{index}{kind}")
        if not paths:
            data = file_without_rows(self._session, part)
            folder.put(f"{target}/part-00000-{uuid4()}{kind}", data)

    def _save(self, frame: DataFrame, place: str, *by: str, mode: str = "error") -> str:
        """Writes a frame, its rows in folders by the columns `by`; returns the folder."""
        writer = frame.write.format(self._files.format).options(**self._files.options).mode(mode)
        (writer.partitionBy(*by) if by else writer).save(f"{self._directory}/{place}")
        return place


def _query_names(stack: Stack | CombinedAnswers) -> list[str]:
    """Returns the queries whose answers are in one frame."""
    parts = stack.parts if isinstance(stack, CombinedAnswers) else [stack]
    return [name for part in parts for name in part.names.values()]


def _gather_by_query(frame: DataFrame) -> DataFrame:
    """Returns rows gathered by query, so that a query of few rows is written to one file, not to
    one for each partition."""
    return frame.hint("rebalance", col(INDEX))
