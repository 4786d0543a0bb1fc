"""Buffers the answers of several batches in hidden files, until they are published together.

output/.muntin-held-<mark>/00000041/        the answers of batch 41, as parquet
output/.muntin-held-<mark>/00000041.json    their queries and columns
output/.muntin-held-<mark>/published.json   the last batch that was published, and whether all files
                                            are in place

Published batches stay until the batch that published them is finished: if that batch is cut off, it
comes again and publishes all of them again, in place of the first try.
"""

import json
import math
from dataclasses import asdict, dataclass
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql.types import StructType

from muntin.spark.engine.folder import STAGING_OPTIONS, Folder
from muntin.spark.output.stacking import CombinedAnswers, Part, Stack

_PUBLISHED = "published.json"
# About how large a file may get that holds the answers of several batches, in bytes.
_LARGE = 1 << 27


@dataclass(frozen=True, kw_only=True)
class Publication:
    """The batches up to `batch` were published; `is_whole` if all files are in place."""

    batch: int
    is_whole: bool


class BatchBuffer:
    """The answers of one checkpoint's pipeline that are not published, in a directory."""

    def __init__(self, session: SparkSession, directory: str, *, mark: str) -> None:
        """`mark` is that of the checkpoint."""
        self._session = session
        self._place = f"{directory}/.muntin-held-{mark}"
        self._folder = Folder(session, self._place)

    def numbers(self) -> list[int]:
        """The batches in the buffer, in order, whether they were published or not."""
        # A batch counts once its description is there, which is written last.
        names = (name.removesuffix(".json") for name in self._folder.names() if ".json" in name)
        return sorted(int(name) for name in names if name.isdigit())

    def queries(self) -> set[str]:
        """The queries that may have answers in the buffer."""
        parts = (part for number in self.numbers() for part in _parts(self._description(number)))
        return {name for part in parts for name in part.names.values()}

    def add(self, batch: int, whole: CombinedAnswers, *, is_small: bool) -> None:
        """Compute a batch and write its answers, in place of those of an earlier try."""
        name = _name(batch)
        self._folder.delete(f"{name}.json")
        frame = whole.frame
        if is_small:
            # One file, however many partitions the state has.
            frame = frame.repartition(1)
        frame.write.options(**STAGING_OPTIONS).mode("overwrite").parquet(f"{self._place}/{name}")
        self._folder.write(f"{name}.json", json.dumps(_to_json(whole)))

    def size(self, batch: int) -> int:
        """The bytes of a batch's answers."""
        return sum(self._folder.sizes(_name(batch)).values())

    def publication(self) -> Publication | None:
        """Returns the last publication whose batches are still here; None if there is none."""
        if not self._folder.has(_PUBLISHED):
            return None
        return Publication(**json.loads(self._folder.read(_PUBLISHED)))

    def save_publication(self, publication: Publication) -> None:
        """Note a publication, before and after files are put in place."""
        self._folder.write(_PUBLISHED, json.dumps(asdict(publication)))

    def delete_from(self, batch: int) -> None:
        """Delete what an earlier try of this batch, or of later ones, buffered and noted.

        Call it when a batch comes again, whose published files are deleted, too.
        """
        publication = self.publication()
        if publication is not None and publication.batch >= batch:
            self._folder.delete(_PUBLISHED)
            publication = None
        # This try may publish each batch at once, and would then not replace them.
        left = self._delete_batches([number for number in self.numbers() if number >= batch])
        if not left and publication is None:
            self._folder.delete("")

    def delete_until(self, until: int) -> None:
        """Delete the batches up to a number, which a batch that is finished has published."""
        left = self._delete_batches([number for number in self.numbers() if number <= until])
        # Last: as long as one of the batches is there, this file shows that it was published.
        self._folder.delete(_PUBLISHED)
        if not left:
            self._folder.delete("")

    def _delete_batches(self, numbers: list[int]) -> list[int]:
        """Delete batches; returns those that are left."""
        for number in numbers:
            self._folder.delete(f"{_name(number)}.json")
            self._folder.delete(_name(number))
        return self.numbers()

    def stacks(self, until: int) -> list[Stack]:
        """Returns the answers of the batches up to a number, of all queries."""
        alike: dict[str, list[int]] = {}
        for number in self.numbers():
            if number <= until:
                alike.setdefault(json.dumps(self._description(number)), []).append(number)
        # Queries may have changed between two batches.
        return [
            stack
            for description, numbers in alike.items()
            for stack in self._split(numbers, description)
        ]

    def _split(self, numbers: list[int], text: str) -> list[Stack]:
        description = json.loads(text)
        places = [f"{self._place}/{_name(number)}" for number in numbers]
        reader = self._session.read.schema(StructType.fromJson(description["schema"]))
        frame = reader.parquet(*places)
        bytes_ = sum(self.size(number) for number in numbers)
        if bytes_ > _LARGE:
            frame = frame.coalesce(math.ceil(bytes_ / _LARGE))
        return CombinedAnswers(frame=frame, parts=_parts(description)).stacks()

    def _description(self, batch: int) -> dict[str, Any]:
        description: dict[str, Any] = json.loads(self._folder.read(f"{_name(batch)}.json"))
        return description


def _name(batch: int) -> str:
    return f"{batch:08d}"


def _to_json(whole: CombinedAnswers) -> dict[str, Any]:
    return {
        "schema": whole.frame.schema.jsonValue(),
        "parts": [
            {
                "names": {str(number): name for number, name in part.names.items()},
                "struct": part.struct,
                "schema": part.schema.jsonValue(),
            }
            for part in whole.parts
        ],
    }


def _parts(description: dict[str, Any]) -> list[Part]:
    return [
        Part(
            names={int(number): name for number, name in part["names"].items()},
            struct=part["struct"],
            schema=StructType.fromJson(part["schema"]),
        )
        for part in description["parts"]
    ]
