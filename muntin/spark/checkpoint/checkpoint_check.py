"""Checks that a checkpoint is complete: some files imply others.

A crash leaves at most one batch that was begun and not finished, and nothing else half-done. If
anything else does not fit together, somebody deleted or cut a file, and a stream that continued
from it would lose rows or take them twice.
"""

import json
import re
from collections.abc import Sequence

from muntin.spark.checkpoint.spark_logs import SPARK, LogEntry, SparkLogs, damage_error
from muntin.spark.engine.folder import Texts
from muntin.spark.error_text import FILE_ERRORS, job_error_text


def check_whole(
    folder: Texts, logs: SparkLogs, *, directory: str, first_batches: Sequence[int]
) -> None:
    """Refuse a checkpoint that is damaged; `first_batches` are those that its plans may run.

    Nothing is written.
    """
    problem = _problem(folder, logs, first_batches)
    if problem is not None:
        raise damage_error(directory, problem)


def _problem(folder: Texts, logs: SparkLogs, first_batches: Sequence[int]) -> str | None:
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
