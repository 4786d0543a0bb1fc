"""Writes the rows that no open window takes to a folder, or hands them to a function."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.functions import lit
from pyspark.sql.types import LongType, StructField, StructType, TimestampType

from muntin.errors import RunError
from muntin.runtime.arrow_batches import from_bytes
from muntin.runtime.slicer.packing import ROWS
from muntin.spark.engine.schemas import arrow_schema
from muntin.spark.engine.session_kind import is_connect
from muntin.spark.output.stacking import INDEX, Part
from muntin.spark.sinks.folder_sink import Files, FolderSink
from muntin.spark.sinks.sink import Answers, SinkContext, name_batch_in_errors

# The columns that late rows get: the batch that they came in, and the watermark up to which windows
# had been answered.
BATCH, WATERMARK = "late_batch", "late_watermark"
# A folder, a function `f(frame, batch, watermark)`, or none.
LateLike = str | Path | Files | Callable[[DataFrame, int, datetime], None] | None
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class LateRowsSink:
    """Writes the late rows of each batch; a batch that was cut off comes again."""

    def __init__(
        self,
        late: str | Path | Files | Callable[[DataFrame, int, datetime], None],
        context: SinkContext,
    ) -> None:
        if is_connect(context.session):
            raise RunError(
                "late does not work on Spark Connect: the server starts each batch, and would have "
                "to tell the tasks which rows are late; status().late_rows counts them"
            )
        files = Files(late) if isinstance(late, str | Path) else late
        self._function = None if isinstance(files, Files) else files
        self.output: str | None = None
        if isinstance(files, Files):
            if files.compact > 1:
                raise RunError("late rows are written with each batch; compact is for answers")
            self.output = str(files.path).rstrip("/")
            above, _, self._name = self.output.rpartition("/")
            self._folder = FolderSink(
                # The folder of a query has another mark, so one folder is never used for both.
                replace(context, mark=f"{context.mark}late"),
                above or ("/" if self.output.startswith("/") else "."),
                files,
                only=self._name,
            )
        elif not callable(late) or isinstance(late, type):
            raise RunError(
                f"late rows go to a folder or to a function f(frame, batch, watermark), not to "
                f"{late!r}"
            )

    def check(self, rows: StructType) -> None:
        """Raise `RunError` for columns that late rows cannot have, or a folder of other data."""
        for field in rows.fields:
            if field.name.lower() in (BATCH, WATERMARK):
                raise RunError(
                    f"the data has a column called {field.name!r}, which late rows get from "
                    f"muntin; rename it"
                )
        if len({field.name.lower() for field in rows.fields}) < len(rows.fields):
            raise RunError("late rows need columns with different names; name them apart")
        try:
            arrow_schema(rows)
        except Exception as error:
            raise RunError(f"late rows of these types cannot be handed over: {error}") from None
        if self._function is None:
            self._folder.check({self._name: _file_schema(rows)})

    def claim(self, rows: StructType) -> None:
        """Write the owner's file into the folder."""
        if self._function is None:
            self._folder.claim({self._name: _file_schema(rows)})

    def write(self, batch: int, emitted: int, packed: DataFrame, rows: StructType) -> None:
        """Write the packed late rows of a batch.

        Windows up to `emitted`, in microseconds, had been answered.
        """
        if packed.isEmpty():
            return
        watermark = _EPOCH + timedelta(microseconds=emitted)
        frame = packed.mapInArrow(partial(_unpack, schema=arrow_schema(rows)), rows).select(
            "*",
            lit(batch).cast(LongType()).alias(BATCH),
            lit(watermark).cast(TimestampType()).alias(WATERMARK),
        )
        if self._function is None:
            part = Part(names={0: self._name}, struct=None, schema=frame.schema)
            numbered = frame.select("*", lit(0).alias(INDEX))
            self._folder.write(batch, Answers(numbered, [part]))
        else:
            with name_batch_in_errors(batch, "late rows"):
                self._function(frame, batch, watermark)


def _file_schema(rows: StructType) -> StructType:
    return StructType(
        [*rows.fields, StructField(BATCH, LongType()), StructField(WATERMARK, TimestampType())]
    )


def _unpack(batches: Iterable[pa.RecordBatch], *, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        for data in batch.column(ROWS).to_pylist():
            rows = from_bytes(data)
            yield from (rows if rows.schema == schema else rows.cast(schema)).to_batches()
