"""A pipeline's checkpoint: that of Spark's query, and the plans that have run.

checkpoint/muntin-00000.json    the plan of the first start, as data, with a version
checkpoint/muntin-00001.json    the plan after a change of queries
checkpoint/_last_plan.json      the name of a plan; this one, or a later one, must be there
checkpoint/spark/               Spark's offsets, commits and state

A plan is effective once a batch was finished under it. Until then it is only tried, and the
pipeline can go back to the one before. Old plans are deleted, as Spark's logs are.
"""

import json
from dataclasses import dataclass

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from muntin.errors import MuntinError, RunError
from muntin.runtime.stream_plan.stream_plan import StreamPlan
from muntin.runtime.stream_plan.stream_plan_json import (
    state_of_running,
    stream_plan_from_json,
    stream_plan_to_json,
)
from muntin.spark.checkpoint.spark_logs import SPARK, SparkLogs, check_complete, damage_error
from muntin.spark.engine.folder import Folder, texts_in
from muntin.spark.error_text import FILE_ERRORS, job_error_text

_PREFIX, _SUFFIX = "muntin-", ".json"
# It shows if the last plan was deleted.
_LAST = "_last_plan.json"
_RETAINED = "spark.sql.streaming.minBatchesToRetain"
# The fewest plans that are kept, if there were so many.
_LEAST_KEPT = 10


@dataclass(frozen=True, kw_only=True)
class StoredPlan:
    """A plan in a checkpoint, with the number of its first batch, the mark in the names of output
    files, and their folder."""

    running: StreamPlan
    batch: int
    mark: str
    output: str | None = None


class Checkpoint:
    """The folder of a pipeline's checkpoint. Reading it changes nothing."""

    def __init__(self, session: SparkSession, directory: str) -> None:
        self.directory = directory
        try:
            self.folder = texts_in(session, directory)
            self._plan_names = self._list_plans()
            names = [] if self._plan_names else self.folder.names()
        except Py4JJavaError as error:
            said = job_error_text(error)
            raise RunError(f"the checkpoint {directory} cannot be read: {said}") from None
        self.logs = SparkLogs(self.folder)
        # How many plans are kept: as many as batches of which Spark keeps its logs.
        self._plans_to_keep = int(session.conf.get(_RETAINED, None) or 100)
        # The texts of the plans that were deleted when the last one was stored, by name.
        self._replaced: dict[str, str] = {}
        others = [name for name in names if name[0] not in "._"]
        if others:
            raise RunError(
                f"{directory} has {sorted(others)[0]!r} in it and no plan of muntin's; "
                f"a checkpoint is a new folder, or one that a stream of muntin's left"
            )

    @property
    def for_spark(self) -> str:
        """The folder of Spark's own checkpoint."""
        return f"{self.directory}/{SPARK}"

    def check(self) -> None:
        """Refuse a checkpoint from which a stream would continue with wrong answers."""
        if not self._plan_names:
            return
        first = int(self._plan_names[0].removeprefix(_PREFIX).removesuffix(_SUFFIX))
        # Older ones were deleted only if so many later ones are there.
        first = first if len(self._plan_names) >= _LEAST_KEPT else 0
        for number, name in enumerate(self._plan_names, first):
            if name != _name(number):
                raise damage_error(self.directory, f"the plan {_name(number)} is gone")
        last = self._name_of_last()
        if last is not None and self._plan_names[-1] < last:
            raise damage_error(self.directory, f"the plan {last} is gone")
        batches = [self._read_plan(name).batch for name in self._plan_names]
        try:
            check_complete(self.folder, self.logs, directory=self.directory, first_batches=batches)
        except Py4JJavaError as error:
            said = job_error_text(error)
            raise RunError(f"the checkpoint {self.directory} cannot be read: {said}") from None

    def is_unchanged(self) -> bool:
        """Whether no plan was added or deleted since this object was made."""
        return self._plan_names == self._list_plans()

    def latest(self) -> StoredPlan | None:
        """The plan that was stored last, whether a batch was finished under it or not."""
        return self._read_plan(self._plan_names[-1]) if self._plan_names else None

    def effective(self) -> StoredPlan:
        """Returns the last plan with a finished batch, else the first. There must be a plan."""
        name = self._effective_name()
        assert name is not None
        return self._read_plan(name)

    def save(self, stored: StoredPlan) -> None:
        """Store the plan that runs from now on, and delete those that were only tried.

        An effective plan is not written again: the number of its first batch shows that it is
        effective.
        """
        effective = self._effective_name()
        only_tried = [name for name in self._plan_names if effective is None or name > effective]
        try:
            self._replaced = {name: self.folder.read(name) for name in only_tried}
            if only_tried:
                self._save_last_name(effective)
            for name in reversed(only_tried):
                self.folder.delete(name)
                self._plan_names.remove(name)
            if not self.is_stored(stored.running):
                name = _name(stored.running.generation)
                self.folder.write(name, _to_json(stored))
                self._plan_names.append(name)
                self._save_last_name(name)
            for name in self._plan_names[: -max(self._plans_to_keep, _LEAST_KEPT)]:
                self.folder.delete(name)
                self._plan_names.remove(name)
        except Py4JJavaError as error:
            raise RunError(
                f"the checkpoint {self.directory} cannot be written: {job_error_text(error)}"
            ) from None

    def is_stored(self, running: StreamPlan) -> bool:
        """Whether a plan is the one that was stored last, maybe with other costs or techniques."""
        stored = self.latest()
        return stored is not None and state_of_running(stored.running) == state_of_running(running)

    def undo_save(self, running: StreamPlan) -> None:
        """Delete the plan that was stored last and never ran; restore those that it replaced."""
        name = _name(running.generation)
        self._plan_names.remove(name)
        self._save_last_name(self._effective_name())
        if name not in self._replaced:
            self.folder.delete(name)
        for earlier, text in self._replaced.items():
            self.folder.write(earlier, text)
            self._plan_names.append(earlier)

    def _save_last_name(self, name: str | None) -> None:
        """Note which plan must be there, after it was written or before later ones are deleted."""
        if name is not None:
            self.folder.write(_LAST, json.dumps({"plan": name}))

    def _name_of_last(self) -> str | None:
        """Returns the plan that must be there; None in checkpoints of earlier versions."""
        if not self.folder.has(_LAST):
            return None
        try:
            return str(json.loads(self.folder.read(_LAST))["plan"])
        except FILE_ERRORS as error:
            what = f"{_LAST} cannot be read ({job_error_text(error)})"
            raise damage_error(self.directory, what) from None

    def _list_plans(self) -> list[str]:
        """The names of the plans that are there, in order."""
        return sorted(
            name for name in self.folder.names_with_prefix(_PREFIX) if name.endswith(_SUFFIX)
        )

    def _effective_name(self) -> str | None:
        """The name of the effective plan."""
        last = self.logs.last_commit()
        for name in reversed(self._plan_names):
            if name == self._plan_names[0] or self._read_plan(name).batch <= last:
                return name
        return None

    def _read_plan(self, name: str) -> StoredPlan:
        try:
            data = json.loads(self.folder.read(name))
            return StoredPlan(
                running=stream_plan_from_json(data),
                batch=int(data["batch"]),
                mark=str(data["mark"]),
                output=data["output"],
            )
        except RunError:
            # Of a version that this muntin does not read.
            raise
        except (*FILE_ERRORS, MuntinError) as error:
            is_folder = any(part.startswith("part-") for part in self.folder.names(name))
            if is_folder and isinstance(self.folder, Folder):
                raise RunError(
                    f"the checkpoint {self.directory} was made by a pipeline on Spark Connect, "
                    f"which keeps each plan as a folder; continue with a Spark Connect session, or "
                    f"start with a new checkpoint and a new sink"
                ) from None
            what = f"the plan {name} cannot be read ({job_error_text(error)})"
            # The cause shows whether a file system could not be reached.
            raise damage_error(self.directory, what) from error


def _name(generation: int) -> str:
    return f"{_PREFIX}{generation:05d}{_SUFFIX}"


def _to_json(stored: StoredPlan) -> str:
    return json.dumps(
        {
            "mark": stored.mark,
            "batch": stored.batch,
            "output": stored.output,
            **stream_plan_to_json(stored.running),
        },
        indent=1,
    )
