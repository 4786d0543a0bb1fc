"""Reads Spark's part of a pipeline's checkpoint: which batches were begun, which finished.

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

    def is_cut(self) -> bool:
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
        """The watermark of the last batch that was finished: windows up to it were given."""
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
