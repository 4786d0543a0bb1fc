"""Reads Spark's part of a pipeline's checkpoint, and checks that it is complete.

spark/offsets/7       batch 7 was begun: a version, JSON, then a line for each source
spark/commits/7       batch 7 was finished: a version, then JSON
spark/state/0/1       the state of operator 0, partition 1
spark/sources/0       the files that source 0 has taken, where it reads files

Spark writes each log entry whole or not at all, and deletes old ones.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from muntin.errors import RunError
from muntin.model.time import MILLISECOND
from muntin.spark.engine.folder import Texts
from muntin.spark.error_text import FILE_ERRORS, job_error_text

SPARK = "spark"


@dataclass(frozen=True, kw_only=True)
class LogEntry:
    """One entry of Spark's log of offsets or of commits."""

    # The version of Spark's format; of a commit it is also that of the state.
    version: int
    data: Mapping[str, Any]
    # Of offsets: what was read of each source.
    sources: Sequence[str]


class SparkLogs:
    """Reads what Spark wrote to a checkpoint."""

    def __init__(self, folder: Texts) -> None:
        self._folder = folder

    def numbers(self, log: str) -> list[int]:
        """The numbers of the entries of a log, in order."""
        names = self._folder.names(f"{SPARK}/{log}")
        return sorted(int(name) for name in names if name.isdigit())

    def last_commit(self) -> int:
        """Returns the number of the last batch that was finished; -1 if none was."""
        return max(self.numbers("commits"), default=-1)

    def has_unfinished_batch(self) -> bool:
        """Whether a batch was begun and not finished: Spark runs it again, with the same rows."""
        return max(self.numbers("offsets"), default=-1) > self.last_commit()

    def commit(self, number: int) -> LogEntry:
        """Returns the entry of a finished batch; raises `ValueError` if it is not whole."""
        return self._entry(f"{SPARK}/commits/{number}", "nextBatchWatermarkMs")

    def offset(self, number: int) -> LogEntry:
        """Returns the entry of a begun batch; raises `ValueError` if it is not whole."""
        entry = self._entry(f"{SPARK}/offsets/{number}", "batchWatermarkMs")
        if not entry.sources:
            raise ValueError("it names no source")
        return entry

    def watermark(self) -> int | None:
        """The watermark that the next batch starts with, in microseconds.

        None if no batch was ever finished: then nothing is known of any event.
        """
        last = self.last_commit()
        if last < 0:
            return None
        return int(self.commit(last).data["nextBatchWatermarkMs"]) * MILLISECOND

    def emitted_watermark(self) -> int | None:
        """The watermark of the last finished batch: windows that end by it were answered."""
        last = self.last_commit()
        return None if last < 0 else self.emitted_before(last + 1)

    def emitted_before(self, batch: int) -> int:
        """The watermark of the batch before one; before the first it is 1970, as Spark's is."""
        if batch == 0:
            return 0
        return int(self.offset(batch - 1).data["batchWatermarkMs"]) * MILLISECOND

    def _entry(self, name: str, wanted: str) -> LogEntry:
        lines = self._folder.read(name).splitlines()
        if not lines or not re.fullmatch(r"v\d+", lines[0].strip()):
            raise ValueError("it has no version")
        data = json.loads(lines[1]) if len(lines) > 1 else None
        if not isinstance(data, dict) or not isinstance(data.get(wanted), int):
            raise ValueError(f"it has no {wanted}")
        return LogEntry(version=int(lines[0].strip()[1:]), data=data, sources=tuple(lines[2:]))


def damage_error(directory: str, what: str) -> RunError:
    """Returns the error of a checkpoint from which a stream would continue with wrong answers."""
    return RunError(
        f"the checkpoint {directory} is damaged: {what}; restore it from a copy, or start with a "
        f"new checkpoint and a new sink"
    )


def check_complete(
    folder: Texts, logs: SparkLogs, *, directory: str, first_batches: Sequence[int]
) -> None:
    """Raise an error if a checkpoint is incomplete; `first_batches` has that of each of its plans.

    A crash leaves at most one batch that was begun and not finished. If anything else does not fit
    together, somebody deleted or cut a file, and a stream that continued from it would lose or
    repeat rows. This reads the checkpoint and writes nothing.
    """
    problem = _find_problem(folder, logs, first_batches)
    if problem is not None:
        raise damage_error(directory, problem)


def _find_problem(folder: Texts, logs: SparkLogs, first_batches: Sequence[int]) -> str | None:
    offsets, commits = logs.numbers("offsets"), logs.numbers("commits")
    last, begun = max(commits, default=-1), max(offsets, default=-1)
    if max(first_batches, default=0) > last + 1:
        needed = max(first_batches) - 1
        return f"a plan was stored after batch {needed} was finished, and its commit is gone"
    if begun > last + 1:
        return f"batch {begun} was begun, and the commit of batch {begun - 1} is gone"
    if last >= 0 and last not in offsets:
        return f"batch {last} was finished, and its entry in {SPARK}/offsets is gone"
    if begun > 0 and begun - 1 not in offsets:
        return f"the entry of batch {begun - 1} in {SPARK}/offsets is gone"
    if begun < 0:
        there = folder.names(f"{SPARK}/state")
        return f"there is state, and no batch in {SPARK}/offsets" if there else None
    return (
        _problem_of_entries(folder, logs, last, begun)
        or _problem_of_state(folder, logs, last)
        or _problem_of_metadata(folder)
    )


def _problem_of_entries(folder: Texts, logs: SparkLogs, last: int, begun: int) -> str | None:
    entry: LogEntry | None = None
    read = [("offsets", number) for number in range(max(begun - 1, 0), begun + 1)]
    if last >= 0:
        read.append(("commits", last))
    for log, number in read:
        try:
            logged = logs.commit(number) if log == "commits" else logs.offset(number)
        except FILE_ERRORS as error:
            return f"{SPARK}/{log}/{number} cannot be read ({job_error_text(error)})"
        if (log, number) == ("offsets", begun):
            entry = logged
    assert entry is not None
    problems = (
        _problem_of_source(folder, f"{SPARK}/sources/{index}", source)
        for index, source in enumerate(entry.sources)
    )
    return next((problem for problem in problems if problem is not None), None)


def _problem_of_source(folder: Texts, place: str, offset: str) -> str | None:
    # Only a source that reads files counts the entries of a log of its own.
    counted = re.fullmatch(r'\{"logOffset":(\d+)\}', offset.strip())
    if counted is None:
        return None
    # Spark gathers older entries in later ones, which are called `9.compact`.
    entries = {
        int(name.split(".")[0]): name
        for name in folder.names(place)
        if re.fullmatch(r"\d+(\.compact)?", name)
    }
    last = max(entries, default=-1)
    if last < int(counted[1]):
        return f"{place}/{counted[1]}, the files that were read, is gone"
    try:
        is_whole = folder.read(f"{place}/{entries[last]}").startswith("v")
    except FILE_ERRORS as error:
        return f"{place}/{entries[last]} cannot be read ({job_error_text(error)})"
    return None if is_whole else f"{place}/{entries[last]} is cut short"


def _problem_of_state(folder: Texts, logs: SparkLogs, last: int) -> str | None:
    if last < 0:
        return None
    operators = [name for name in folder.names(f"{SPARK}/state") if name.isdigit()]
    if not operators:
        return f"batches were finished, and {SPARK}/state is gone"
    # In format 2 a commit names the state of each partition of each operator.
    known = logs.commit(last).data.get("stateUniqueIds") or {}
    for operator in sorted({*operators, *known}):
        there = {name for name in folder.names(f"{SPARK}/state/{operator}") if name.isdigit()}
        wanted = {str(number) for number in range(len(known.get(operator, there)))}
        missing = sorted(wanted - there) or ([] if there else ["0"])
        if missing:
            return f"batches were finished, and {SPARK}/state/{operator}/{missing[0]} is gone"
    return None


def _problem_of_metadata(folder: Texts) -> str | None:
    name = f"{SPARK}/metadata"
    if not folder.has(name):
        return f"{name} is gone"
    try:
        json.loads(folder.read(name))["id"]
    except FILE_ERRORS as error:
        return f"{name} cannot be read ({job_error_text(error)})"
    return None
