"""Measures a running stream for the planner: its rate, live keys and the effect of filters."""

import math
import threading
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass

from muntin.model.query import Grouping
from muntin.model.time import SECOND
from muntin.optimizer.evolve.measured import Measured
from muntin.spark.engine.listeners import Report
from muntin.spark.pipeline.reports import instant_of

# How many events, and how many keys among them, a batch had for each grouping.
Arrived = Mapping[Grouping, tuple[int, int]]
# Figures are those of so many batches.
_BATCHES = 20
_MOST_KEYS = 1e12


@dataclass(frozen=True, kw_only=True)
class _Batch:
    rows: int
    first: int
    last: int
    arrived: Arrived


class Meter:
    """Remembers what the last batches brought."""

    def __init__(self) -> None:
        self._batches: deque[_Batch] = deque(maxlen=_BATCHES)
        self._lock = threading.Lock()

    def take(self, report: Report, arrived: Arrived) -> None:
        """Take in a batch, if it had rows."""
        times = report.get("eventTime", {})
        if report["numInputRows"] and "max" in times and arrived:
            batch = _Batch(
                rows=report["numInputRows"],
                first=instant_of(times["min"]),
                last=instant_of(times["max"]),
                arrived=arrived,
            )
            with self._lock:
                self._batches.append(batch)

    def measured(self) -> Measured | None:
        """Returns the figures; None before there are some."""
        with self._lock:
            batches = list(self._batches)
        if not batches:
            return None
        span = max(batch.last for batch in batches) - min(batch.first for batch in batches)
        rows = sum(batch.rows for batch in batches)
        # Groupings may have come and gone with queries.
        groupings = batches[-1].arrived
        keys, shares = {}, {}
        for grouping in groupings:
            known = [batch for batch in batches if grouping in batch.arrived]
            events, found = max(batch.arrived[grouping] for batch in known)
            keys[grouping] = live_keys(events, found)
            of_them = sum(batch.arrived[grouping][0] for batch in known)
            shares[grouping] = of_them / sum(batch.rows for batch in known)
        return Measured(rate=rows * SECOND / max(span, SECOND), keys=keys, shares=shares)


def live_keys(events: int, found: int) -> float:
    """Estimates how many keys there are, if so many events have `found` of them at random.

    >>> round(live_keys(10_000, 100))
    100
    >>> 900 < live_keys(1000, 632) < 1100
    True
    """
    low, high = float(max(found, 1)), _MOST_KEYS
    if found >= events:
        # Every event has a key of its own, so far.
        return low
    while high / low > 1.001:
        middle = math.sqrt(low * high)
        expected = -middle * math.expm1(-events / middle)
        low, high = (middle, high) if expected < found else (low, middle)
    return high
