"""A pipeline's checkpoint: Spark's own in a folder of its own, and beside it what muntin knows.

checkpoint/muntin-00000.json    the plan of the first start, as data, with a version
checkpoint/muntin-00001.json    the plan after a change of queries; the last one counts
checkpoint/spark/               Spark's offsets, commits and state
"""

import json
from dataclasses import dataclass

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from muntin.errors import RunError
from muntin.model.time import MILLISECOND
from muntin.runtime.running import Running
from muntin.spark.folder import Folder

_PREFIX, _SUFFIX = "muntin-", ".json"
_SPARK = "spark"


@dataclass(frozen=True, kw_only=True)
class Stored:
    """What a checkpoint holds: the running plan, and the name that its output files carry."""

    running: Running
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
                f"a checkpoint is a new folder, or one that mt.start made"
            )

    @property
    def for_spark(self) -> str:
        """Where Spark keeps its part."""
        return f"{self.directory}/{_SPARK}"

    def load(self) -> Stored | None:
        """What was stored last; none in a new folder."""
        if not self._written:
            return None
        name = self._written[-1]
        try:
            data = json.loads(self._folder.read(name))
            mark = data["mark"]
        except (ValueError, KeyError) as error:
            raise RunError(
                f"{self.directory}/{name} cannot be read ({error}); start with a new checkpoint"
            ) from None
        return Stored(running=Running.from_json(data), mark=mark)

    def save(self, stored: Stored) -> None:
        """Store the plan that runs from now on; those before it stay as history."""
        text = json.dumps({"mark": stored.mark, **stored.running.to_json()}, indent=1)
        name = f"{_PREFIX}{stored.running.generation:05d}{_SUFFIX}"
        try:
            self._folder.write(name, text)
        except Py4JJavaError as error:
            raise RunError(
                f"the checkpoint {self.directory} cannot be written: {_said(error)}"
            ) from None
        self._written.append(name)

    def watermark(self) -> int | None:
        """The watermark that the next batch starts with, in microseconds.

        None where no batch was ever finished: then no event has left a trace.
        """
        commits = [int(name) for name in self._folder.names(f"{_SPARK}/commits") if name.isdigit()]
        if not commits:
            return None
        # Spark's commit log: a line with its version, then JSON.
        lines = self._folder.read(f"{_SPARK}/commits/{max(commits)}").splitlines()
        return int(json.loads(lines[-1])["nextBatchWatermarkMs"]) * MILLISECOND


def _said(error: Py4JJavaError) -> str:
    return str(error.java_exception.getMessage() or error.java_exception.toString())
