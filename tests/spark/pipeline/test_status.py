"""Figures of a pipeline from Spark's reports, which may come twice, late, or not at all."""

import logging
import random

import pytest

from muntin.aggregates.aggregate import count
from muntin.model.query import Query
from muntin.model.windows import tumbling
from muntin.spark.pipeline.classic import ListeningWatcher
from muntin.spark.pipeline.status import Figures, live_keys
from muntin.spark.stream.state_report import StateReport


def report(batch, rows=10, late=0, **durations):
    return {
        "batchId": batch,
        "timestamp": f"2024-01-01T01:0{batch}:00.000Z",
        "numInputRows": rows,
        "processedRowsPerSecond": rows / 2.0,
        "durationMs": {"addBatch": 1500, "triggerExecution": 2000, **durations},
        "eventTime": {"watermark": f"2024-01-01T00:0{batch}:00.000Z"},
        "stateOperators": [
            {"numRowsTotal": 7, "memoryUsedBytes": 100},
            {"numRowsTotal": 1, "memoryUsedBytes": 20},
        ],
        "late": late,
    }


class Remembers:
    """A query as Spark has it: the last reports."""

    def __init__(self, *reports):
        self._reports = list(reports)

    def last(self):
        return self._reports[-1] if self._reports else None

    def recent(self):
        return self._reports


class Reads:
    """Finds figures in a report."""

    def __init__(self, counts=lambda _: {}, late=lambda _: {}, arrived=lambda _: {}):
        self.counts_in, self.late_in, self.arrived_in = counts, late, arrived
        self.state_in = lambda _: StateReport()


def status(figures, **parts):
    given = {
        "is_active": True,
        "is_waiting": False,
        "complete_from": {},
        "refused": None,
        "error": None,
    }
    given |= parts
    return figures.status(**given)


def test_nothing_has_happened_yet():
    found = status(Figures(), complete_from={"a": 5})
    assert (found.batches, found.rows_in, found.watermark, found.batch_seconds) == (
        0,
        0,
        None,
        None,
    )
    assert (found.rows_per_second, found.phases) == (None, {})
    assert found.queries["a"].complete_from == 5


def test_a_report_counts_once_whether_it_was_told_or_asked_for(caplog):
    caplog.set_level(logging.DEBUG, logger="muntin")
    figures = Figures()
    figures.start_query(Reads(late=lambda report: {None: report["late"], "a": report["late"] // 2}))
    figures.add_report(report(0, late=2))
    figures.add_reports(Remembers())
    figures.add_reports(Remembers(report(0, late=2), report(1)))
    figures.add_report(report(1))
    # A trigger without a batch is none.
    idle = report(2)
    del idle["durationMs"]["addBatch"]
    figures.add_report(idle)
    found = status(figures, error="disk full", is_active=False, complete_from={"a": None})
    assert found.queries["a"].late_rows == 1
    assert (found.batches, found.rows_in, found.late_rows) == (2, 20, 2)
    assert (found.state_rows, found.state_bytes) == (8, 120)
    assert found.watermark == "2024-01-01T00:01:00.000Z"
    assert (found.batch_seconds, found.rows_per_second) == (2.0, 5.0)
    assert found.phases == {"addBatch": 1.5, "triggerExecution": 2.0}
    assert (found.is_active, found.error) == (False, "disk full")
    assert [record.getMessage() for record in caplog.records] == [
        "batch 0: 10 rows in 2.0 s",
        "batch 1: 10 rows in 2.0 s",
    ]


def test_a_batch_that_comes_again_after_a_restart_is_another_batch():
    figures = Figures()
    figures.add_report(report(3))
    figures.start_query(Reads())
    figures.add_report(report(3))
    assert status(figures).batches == 2


def test_answers_are_added_up_over_reports_and_restarts():
    figures = Figures()
    counts = {0: {"a": (5, 70), "b": (0, None)}, 1: {"a": (2, 60), "b": (1, 10)}}
    figures.start_query(Reads(lambda report: counts[report["batchId"]]))
    for batch in (0, 1, 1):
        figures.add_report(report(batch))
    figures.start_query(Reads(lambda _: {"b": (3, 20)}))
    figures.add_report(report(1))
    found = status(figures, complete_from={"a": None, "b": None, "c": None}).queries
    assert {name: (one.rows, one.last_window) for name, one in found.items()} == {
        "a": (7, 70),
        "b": (4, 20),
        "c": (0, None),
    }


class Streams:
    def __init__(self):
        self.listeners = []

    def addListener(self, one):
        self.listeners.append(one)

    def removeListener(self, one):
        self.listeners.remove(one)


class Session:
    def __init__(self):
        self.streams = Streams()


def test_the_listener_hears_its_own_run_alone(caplog):
    session, figures = Session(), Figures()
    listener = ListeningWatcher(session, figures, "check")
    listener.follow("other")
    listener.follow("mine")
    assert session.streams.listeners == [listener]
    listener.on_report({**report(0), "runId": "mine"})
    listener.on_end("theirs", "not ours")
    assert session.streams.listeners == [listener]
    listener.on_end("mine", "disk full\n\tat java")
    assert session.streams.listeners == []
    listener.follow("another")
    assert session.streams.listeners == [listener]
    listener.on_report({**report(1), "runId": "mine"})
    listener.on_end("mine", None)
    listener.close()
    listener.close()
    assert session.streams.listeners == []
    assert status(figures).batches == 1
    assert [r.getMessage() for r in caplog.records] == ["failed check: disk full"]


def test_the_end_of_a_run_that_is_told_to_stop_is_no_failure(caplog):
    session = Session()
    listener = ListeningWatcher(session, Figures(), "check")
    listener.follow("mine")
    listener.stop_following()
    # A batch that waits to be written when the stop comes ends with an error of ours.
    listener.on_end("mine", "the pipeline was stopped")
    assert session.streams.listeners == [listener]
    assert caplog.records == []


def test_rate_and_live_keys_are_those_of_the_last_batches():
    figures = Figures()
    grouping = Query(
        name="a", window=tumbling("1 minute"), aggregates={"n": count()}, keys=["k"], time="t"
    ).grouping
    figures.start_query(Reads(arrived=lambda one: {grouping: (one["numInputRows"] // 2, 7)}))
    for batch in range(3):
        times = {
            "min": f"2024-01-01T00:0{batch}:00.000Z",
            "max": f"2024-01-01T00:0{batch + 1}:00.000Z",
        }
        figures.add_report({**report(batch, rows=600), "eventTime": times})
    # A batch without rows tells nothing.
    figures.add_report(
        {**report(3, rows=0), "eventTime": {"watermark": "2024-01-01T00:09:00.000Z"}}
    )
    found = status(figures)
    assert found.rate == 10.0
    assert list(found.live_keys) == ["data by k over t"]
    assert 7 <= found.live_keys["data by k over t"] < 7.01
    assert figures.meter.measurement().shares == {grouping: 0.5}


@pytest.mark.parametrize("keys", [1, 40, 3000])
def test_live_keys_are_found_in_a_part_of_the_events(keys):
    rng = random.Random(keys)
    events = [rng.randrange(keys) for _ in range(2000)]
    assert live_keys(len(events), len(set(events))) == pytest.approx(keys, rel=0.1)
    assert live_keys(5, 5) == 5.0
