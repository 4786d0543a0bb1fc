"""Spark's reports of a pipeline's batches, as they come."""

import logging
from uuid import UUID

from pyspark.sql import SparkSession
from pyspark.sql.streaming.listener import (
    QueryIdleEvent,
    QueryProgressEvent,
    QueryStartedEvent,
    QueryTerminatedEvent,
    StreamingQueryListener,
)

from muntin.spark.status import Figures

log = logging.getLogger("muntin")


class Listener(StreamingQueryListener):
    """Hands the reports of the query that runs to the figures, and says when it fails."""

    def __init__(self, session: SparkSession, figures: Figures, name: str) -> None:
        self._session = session
        self._figures = figures
        self._name = name
        self._run: str | None = None
        self._is_listening = False

    def follow(self, run: UUID | str) -> None:
        """Listen to this run, and to no other, from now on."""
        self._run = str(run)
        if not self._is_listening:
            self._session.streams.addListener(self)
            self._is_listening = True

    def close(self) -> None:
        """Listen no more."""
        if self._is_listening:
            self._session.streams.removeListener(self)
            self._is_listening = False

    def onQueryStarted(self, event: QueryStartedEvent) -> None:
        """Called by Spark; the start is logged where it is made."""

    def onQueryProgress(self, event: QueryProgressEvent) -> None:
        """Called by Spark after a batch."""
        if str(event.progress.runId) == self._run:
            self._figures.take(event.progress)

    def onQueryIdle(self, event: QueryIdleEvent) -> None:
        """Called by Spark while nothing arrives."""

    def onQueryTerminated(self, event: QueryTerminatedEvent) -> None:
        """Called by Spark at the end of a query."""
        if str(event.runId) == self._run and event.exception is not None:
            log.error("failed %s: %s", self._name, event.exception.splitlines()[0])
