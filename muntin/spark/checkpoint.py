"""A pipeline's checkpoint: Spark's own in a folder of its own, and beside it what muntin knows.

checkpoint/muntin-00000.json    the plan of the first start, as data, with a version
checkpoint/muntin-00001.json    the plan after a change of queries
checkpoint/spark/               Spark's offsets, commits and state

A plan counts from the first batch that was finished under it. Until then it was only tried, and the
one before it can go on instead.
"""

import json
from dataclasses import dataclass

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from muntin.errors import RunError
from muntin.model.time import MILLISECOND
from muntin.runtime.running import Running
from muntin.runtime.running_json import running_from_json, running_to_json
from muntin.spark.folder import Folder

_PREFIX, _SUFFIX = "muntin-", ".json"
_SPARK = "spark"


@dataclass(frozen=True, kw_only=True)
class Stored:
    """What a checkpoint holds: a running plan, the number of the first batch that it may run, and
    the name that its output files carry."""

    running: Running
    batch: int
    mark: str


class Checkpoint:
    """The folder of a pipeline's checkpoint. Reading it changes nothing."""

    def __init__(self, session: SparkSession, directory: str) -> None:
        self.directory = directory
        try:
            self._folder = Folder(session, directory)
            names = self._folder.names()
        except Py4JJavaError as error:
            raise RunError(f"the checkpoint {directory} cannot be read: {_said(error)}") from None
        self._written = sorted(
            name for name in names if name.startswith(_PREFIX) and name.endswith(_SUFFIX)
        )
        others = [name for name in names if name not in self._written and name[0] not in "._"]
        if others and not self._written:
            raise RunError(
                f"{directory} has {sorted(others)[0]!r} in it and no plan of muntin's; "
                f"a checkpoint is a new folder, or one that a stream of muntin's left"
            )

    @property
    def for_spark(self) -> str:
        """Where Spark keeps its part."""
        return f"{self.directory}/{_SPARK}"

    def tried(self) -> Stored | None:
        """The plan that was stored last, whether a batch was finished under it or not."""
        return self._read(self._written[-1]) if self._written else None

    def counting(self) -> Stored | None:
        """The last plan under which a batch was finished, else the first; none in a new folder."""
        last = self.last_commit()
        for name in reversed(self._written):
            stored = self._read(name)
            if stored.batch <= last or name == self._written[0]:
                return stored
        return None

    def save(self, stored: Stored) -> None:
        """Store the plan that runs from now on, in the place of those that were only tried."""
        name = f"{_PREFIX}{stored.running.generation:05d}{_SUFFIX}"
        text = json.dumps(
            {"mark": stored.mark, "batch": stored.batch, **running_to_json(stored.running)},
            indent=1,
        )
        try:
            for later in [one for one in self._written if one >= name]:
                self._folder.delete(later)
                self._written.remove(later)
            self._folder.write(name, text)
        except Py4JJavaError as error:
            raise RunError(
                f"the checkpoint {self.directory} cannot be written: {_said(error)}"
            ) from None
        self._written.append(name)

    def holds(self, running: Running) -> bool:
        """Whether a plan is the one that was stored last."""
        stored = self.tried()
        return stored is not None and running_to_json(stored.running) == running_to_json(running)

    def last_commit(self) -> int:
        """The number of the last batch that was finished; -1 where none was."""
        return self._last("commits")

    def is_cut(self) -> bool:
        """Whether a batch was begun and not finished: Spark runs it again, with the same rows."""
        return self._last("offsets") > self.last_commit()

    def watermark(self) -> int | None:
        """The watermark that the next batch starts with, in microseconds.

        None where no batch was ever finished: then no event has left a trace.
        """
        # Spark's commit log: a line with its version, then JSON.
        return self._watermark("commits", -1, "nextBatchWatermarkMs")

    def given(self) -> int | None:
        """The watermark of the last batch that was finished: windows up to it were given."""
        # Spark's log of offsets: a line with its version, JSON, then the offset of each source.
        return self._watermark("offsets", 1, "batchWatermarkMs")

    def _watermark(self, log: str, line: int, name: str) -> int | None:
        last = self.last_commit()
        if last < 0:
            return None
        lines = self._folder.read(f"{_SPARK}/{log}/{last}").splitlines()
        return int(json.loads(lines[line])[name]) * MILLISECOND

    def _last(self, log: str) -> int:
        """The last entry of one of Spark's logs."""
        names = self._folder.names(f"{_SPARK}/{log}")
        return max((int(name) for name in names if name.isdigit()), default=-1)

    def _read(self, name: str) -> Stored:
        try:
            data = json.loads(self._folder.read(name))
            mark, batch = data["mark"], data["batch"]
        except (ValueError, KeyError) as error:
            raise RunError(
                f"{self.directory}/{name} cannot be read ({error}); start with a new checkpoint"
            ) from None
        return Stored(running=running_from_json(data), batch=batch, mark=mark)


def _said(error: Py4JJavaError) -> str:
    return str(error.java_exception.getMessage() or error.java_exception.toString())
