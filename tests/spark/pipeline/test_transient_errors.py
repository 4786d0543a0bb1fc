"""What fails for a passing reason is tried again; what fails for another is not."""

import errno
import os

import pytest
from pyspark.errors import PySparkException
from pyspark.sql.functions import udf

from muntin.api.stream import start
from muntin.errors import RunError
from muntin.spark.checkpoint.checkpoint import Checkpoint
from muntin.spark.pipeline import transient_errors
from muntin.spark.pipeline.stream_options import StreamOptions
from muntin.spark.pipeline.transient_errors import is_transient, was_stopped
from muntin.spark.sinks.folder_sink import FolderSink
from muntin.spark.sinks.sink import name_batch_in_errors
from tests.support.streams import MINUTE, SITES, Input, assert_closed, at, events, joined, written

PASSING = PySparkException("Job aborted: SparkException: Python worker failed to connect back.")
LASTING = PySparkException("[CAST_INVALID_INPUT] The value 'a' cannot be cast")


def wrapped(error):
    try:
        with name_batch_in_errors(3, "a"):
            raise error
    except RunError as found:
        return found


def test_what_passes():
    assert is_transient(PASSING)
    assert is_transient(wrapped(PASSING))
    begun = "[STREAMING_PYTHON_RUNNER_INITIALIZATION_COMMUNICATION_FAILURE] Streaming Runner ..."
    assert is_transient(PySparkException(begun))
    assert not is_transient(LASTING)
    assert not is_transient(wrapped(LASTING))
    # The function of a user may say what it likes.
    assert not is_transient(wrapped(OSError("Python worker failed to connect back")))
    assert not is_transient(RunError("java.net.ConnectException"))


def test_what_was_stopped():
    interrupted = PySparkException("Job aborted: java.lang.InterruptedException")
    cancelled = PySparkException("Job 3 cancelled part of cancelled job group 7")
    for error in (interrupted, cancelled):
        assert was_stopped(error)
        assert was_stopped(wrapped(error))
        assert not is_transient(error)
    assert not was_stopped(PASSING)
    assert not was_stopped(LASTING)
    assert not was_stopped(wrapped(OSError("java.lang.InterruptedException")))


@pytest.mark.parametrize(
    "error",
    [
        PySparkException("Job aborted.\nCaused by: java.io.IOException: No space left on device"),
        OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)),
        OSError(errno.EDQUOT, os.strerror(errno.EDQUOT)),
    ],
)
def test_a_full_disk_is_called_so(error):
    found = str(wrapped(error))
    assert "'a': the answers of batch 3 could not be written: the disk is full (" in found
    assert not is_transient(wrapped(error))


def test_a_stream_ends_with_a_full_disk_by_name(spark, tmp_path):
    @udf("double")
    def full(value):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    source = Input(spark, tmp_path / "in")
    source.put(*events(9, files=2)[1:])
    data = source.stream().withColumn("temp", full("temp"))
    with start(
        [MINUTE], data, checkpoint=tmp_path / "check", options=StreamOptions(buckets=1)
    ) as pipeline:
        with pytest.raises(RunError, match=r"disk is full .* start again on the same check"):
            pipeline.process_all_available()
        assert "the disk is full" in pipeline.status().error


class Failing:
    """A sink's `write` that fails some times, after it has written."""

    def __init__(self, monkeypatch, error, times):
        self.left, self._error, write = times, error, FolderSink.write

        def failing(sink, batch, answers):
            write(sink, batch, answers)
            if self.left > 0 and batch > 0:
                self.left -= 1
                with name_batch_in_errors(batch, "minute"):
                    raise self._error

        monkeypatch.setattr(FolderSink, "write", failing)


@pytest.fixture
def source(spark, one_partition, tmp_path, monkeypatch):
    monkeypatch.setattr(transient_errors, "_WAITS_S", 0.1)
    found = Input(spark, tmp_path / "in")
    made = events(63, files=4)
    found.put(joined(made[:2]), joined(made[2:]))
    return found


def go(base, source, *queries):
    return start(
        queries,
        source.stream(),
        checkpoint=base / "check",
        sink=base / "out",
        options=StreamOptions(buckets=1),
    )


@pytest.mark.long
def test_a_stream_is_restarted_a_few_times_and_its_answers_are_there_once(
    spark, tmp_path, source, monkeypatch
):
    Failing(monkeypatch, PASSING, 2)
    with go(tmp_path, source, MINUTE) as pipeline:
        pipeline.process_all_available()
        assert pipeline.status().restarts == 2
        assert pipeline.status().error is None
        watermark = at(pipeline.status().watermark)
    found = written(spark, tmp_path / "out", MINUTE, source)
    assert assert_closed(found, MINUTE, source.batch(), watermark) > 3


@pytest.mark.long
def test_a_restart_that_fails_is_tried_again_or_ends_the_stream_with_its_cause(
    tmp_path, source, monkeypatch
):
    failing = Failing(monkeypatch, PASSING, 1)
    holds, lost = Checkpoint.is_stored, [PASSING]

    def away(checkpoint, running):
        if failing.left == 0 and lost:
            raise lost.pop()
        return holds(checkpoint, running)

    monkeypatch.setattr(Checkpoint, "is_stored", away)
    with go(tmp_path, source, MINUTE) as pipeline:
        pipeline.process_all_available()
        assert not lost
        assert pipeline.status().restarts == 3
        # The next restart finds a plan that cannot be read.
        failing.left = 1
        (tmp_path / "check" / "muntin-00000.json").write_text("{")
        (tmp_path / "check" / ".muntin-00000.json.crc").unlink(missing_ok=True)
        source.put(joined(events(64, files=1)))
        with pytest.raises(RunError, match=r"the plan muntin-00000\.json cannot be read"):
            pipeline.await_termination(60)
        status = pipeline.status()
        assert not status.is_active
        assert "cannot be read" in status.error
        assert not (tmp_path / "check" / "_owner.json").exists()


@pytest.mark.slow
def test_restarts_are_bounded_and_other_failures_end_the_stream(
    spark, tmp_path, source, monkeypatch
):
    failing = Failing(monkeypatch, PASSING, 100)
    pipeline = go(tmp_path, source, MINUTE)
    with pytest.raises(RunError, match="Python worker failed to connect back"):
        pipeline.await_termination()
    assert pipeline.status().restarts == 3
    failing.left, failing._error = 1, LASTING
    pipeline = go(tmp_path, source, MINUTE)
    with pytest.raises(RunError, match="CAST_INVALID_INPUT"):
        pipeline.process_all_available()
    assert pipeline.status().restarts == 0
    # Finishing the batch that was cut off is tried again, too, before its answers are given up.
    failing.left, failing._error = 2, PASSING
    with go(tmp_path, source, SITES) as pipeline:
        pipeline.process_all_available()
        assert pipeline.status().restarts == 2
        assert set(pipeline.complete_from) == {"sites"}
