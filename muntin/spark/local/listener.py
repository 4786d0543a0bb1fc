"""Listens to Spark's reports of a pipeline's batches."""

import logging
from collections.abc import Callable
from uuid import UUID

from pyspark.sql import SparkSession

from muntin.spark.pipeline.reports import QueryReports, Report, ReportListener
from muntin.spark.pipeline.status import Figures

log = logging.getLogger("muntin")


class Listener(ReportListener):
    """Hands the reports of the query that runs to the figures, and says when it fails."""

    def __init__(
        self,
        session: SparkSession,
        figures: Figures,
        name: str,
        ended: Callable[[], None] = lambda: None,
    ) -> None:
        """`ended` is called when the query that is followed ends by itself."""
        super().__init__(session)
        self._figures = figures
        self._name = name
        self._ended = ended
        self._run: str | None = None
        self._is_listening = False

    def follow(self, run: UUID | str) -> None:
        """Listen to this run, and to no other, from now on until it ends."""
        self._run = str(run)
        if not self._is_listening:
            self._session.streams.addListener(self)
            self._is_listening = True

    def catch_up(self, reports: QueryReports) -> None:
        """Do nothing: Spark calls with every report."""

    def leave(self) -> None:
        """Listen to no run: the one that was followed is about to be stopped."""
        self._run = None

    def close(self) -> None:
        """Listen no more."""
        if self._is_listening:
            self._is_listening = False
            self._session.streams.removeListener(self)

    def on_report(self, report: Report) -> None:
        """Called by Spark after a batch."""
        if report["runId"] == self._run:
            self._figures.take(report)

    def on_end(self, run: str, error: str | None) -> None:
        """Called by Spark at the end of a query."""
        if run == self._run:
            if error is not None:
                log.error("failed %s: %s", self._name, error.splitlines()[0])
            self._ended()
            self.close()
