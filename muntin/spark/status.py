"""What a pipeline has done: Spark's reports of its batches, summed up."""

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pyspark.sql.streaming.query import StreamingQuery


@dataclass(frozen=True, kw_only=True)
class QueryStatus:
    """What one query has done since this pipeline started."""

    rows: int = 0
    # The begin of the latest window given out, and of the first that is complete; microseconds.
    last_window: int | None = None
    complete_from: int | None = None


@dataclass(frozen=True, kw_only=True)
class Status:
    """What a pipeline has done since it started."""

    is_active: bool
    batches: int
    rows_in: int
    # Dropped because their slice was behind the watermark. Spark counts them after combining those
    # of one key and slice in one partition, so this is at least one where there are any.
    late_rows: int
    watermark: str | None
    batch_seconds: float | None
    state_rows: int
    state_bytes: int
    queries: Mapping[str, QueryStatus] = field(default_factory=dict)


class Figures:
    """Sums over Spark's reports of its batches, which Spark forgets after a hundred."""

    def __init__(self) -> None:
        self.batches = self.rows_in = self.late_rows = 0
        self.last: Mapping[str, Any] = {}
        self._seen: set[int] = set()
        self._lock = threading.Lock()

    def restart(self) -> None:
        """A new Spark query may report the number of a batch that was cut off again."""
        self._seen = set()

    def note(self, query: StreamingQuery) -> None:
        """Take in the reports that are new."""
        with self._lock:
            for report in query.recentProgress:
                if report["batchId"] in self._seen or "addBatch" not in report["durationMs"]:
                    continue
                self._seen.add(report["batchId"])
                self.batches += 1
                self.rows_in += report["numInputRows"]
                self.late_rows += sum(
                    one["numRowsDroppedByWatermark"] for one in report["stateOperators"]
                )
                self.last = report
