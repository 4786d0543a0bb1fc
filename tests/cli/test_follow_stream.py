"""What `muntin stream` shows."""

import errno
import os
import signal
from dataclasses import replace
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from muntin.cli.follow_stream import (
    Edits,
    LiveTable,
    QueryChanges,
    StatusView,
    describe_phase,
    format_bytes,
    format_instant,
    poll_edits,
    say_replans,
    status_view,
)
from muntin.cli.interrupt import stop_event
from muntin.spark.pipeline.status import QueryStatus, Replan, Status
from muntin.sql import parse_sql

STATUS = Status(
    is_active=True,
    batches=3,
    rows_in=12_345,
    late_rows=7,
    watermark="2024-01-01T00:05:00.250Z",
    batch_seconds=1.25,
    state_rows=64,
    state_bytes=2_500_000,
    queries={
        "hot": QueryStatus(rows=1200, last_window=1_704_067_200_000_000, complete_from=None),
        "new": QueryStatus(rows=0, last_window=None, complete_from=1_704_067_260_000_001),
    },
)


def test_a_terminal_gets_a_table_with_all_figures():
    console = Console(file=StringIO(), width=120, force_terminal=True, color_system=None)
    with status_view(console) as shown:
        assert isinstance(shown, LiveTable)
        shown.show(STATUS)
        shown.say("[added] new")
    said = console.file.getvalue()
    rows = {line.split()[0]: line.split()[1:] for line in said.splitlines() if line.strip()}
    assert rows["hot"] == ["1,200", "2024-01-01", "00:00:00", "the", "start"]
    assert rows["new"] == ["0", "-", "2024-01-01", "00:01:00.000001"]
    flat = " ".join(said.split())
    assert "3 batches, 12,345 rows in, 7 late, watermark 2024-01-01 00:05:00.25" in flat
    assert "last batch 1.2 s, state 64 rows, 2.5 MB" in flat
    assert "[added] new" in flat


def test_moves_to_other_plans_are_said_once():
    console = Console(file=StringIO(), width=120)
    moved = Replan(time="2024-01-01T00:00:00+00:00", batches=10, reason="the new plan saves 34.0%")
    failed = replace(moved, batches=20, reason="the plan that ran continues", error="no room")
    view = StatusView(console)
    known = say_replans(replace(STATUS, replans=(moved,)), set(), view)
    say_replans(replace(STATUS, replans=(moved, failed)), known, view)
    lines = [line.partition(" ")[2] for line in console.file.getvalue().splitlines()]
    assert lines == [
        "the new plan saves 34.0%",
        "error: the plan that ran continues; re-planning failed: no room",
    ]


def test_a_pipe_gets_a_line_for_each_batch():
    console = Console(file=StringIO(), width=20)
    with status_view(console) as shown:
        assert type(shown) is StatusView
        shown.show(STATUS)
        shown.show(STATUS)
        shown.say("no such thing", wrong=True)
    first, second = console.file.getvalue().splitlines()
    assert first.endswith("64 rows, 2.5 MB; rows out: hot 1200, new 0")
    assert second.endswith("error: no such thing")


def test_a_starting_stream_says_what_it_describe_phase():
    starting = replace(STATUS, batches=0)
    assert describe_phase(starting, "in") == "waiting for the first batch"
    assert describe_phase(replace(starting, is_waiting=True), "in") == "no new files yet in in"
    assert describe_phase(replace(STATUS, is_waiting=True), "in") == "Ctrl-C stops after the batch"


def test_instants_and_sizes():
    assert format_instant(0) == "1970-01-01 00:00:00"
    assert format_instant(-500_000) == "1969-12-31 23:59:59.5"
    assert [format_bytes(n) for n in (0, 999, 1000, 5_600_000_000)] == [
        *["0 bytes", "999 bytes"],
        *["1.0 kB", "5.6 GB"],
    ]


def test_the_second_interrupt_ends_at_once():
    before = signal.getsignal(signal.SIGINT)
    with stop_event() as asked:
        os.kill(os.getpid(), signal.SIGINT)
        assert asked.wait(5)
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is before


ONE = "-- name: a\nSELECT window, count(*) AS n FROM t GROUP BY window(ts, '1 minute')"
OTHER = "-- name: a\nSELECT window, count(*) AS n FROM t GROUP BY window(ts, '2 minutes')"
TWO = f"{ONE};\n-- name: b\nSELECT window, max(x) AS m FROM t GROUP BY window(ts, '1 minute')"


def test_an_edit_arrives_once_and_when_it_stands_still(tmp_path):
    file = tmp_path / "q.sql"
    file.write_text(ONE)
    edits = Edits(file)
    assert not edits.poll()
    # Written in two pieces.
    file.write_text(TWO[:10])
    assert not edits.poll()
    file.write_text(TWO)
    assert not edits.poll()
    assert edits.poll()
    assert not edits.poll()


def test_a_file_that_is_away_for_a_moment_is_no_edit(tmp_path):
    file = tmp_path / "q.sql"
    file.write_text(ONE)
    edits = Edits(file)
    file.rename(tmp_path / "backup")
    assert [edits.poll() for _ in range(3)] == [False] * 3
    file.write_text(ONE)
    assert [edits.poll() for _ in range(3)] == [False] * 3
    file.write_text(TWO)
    assert [edits.poll() for _ in range(3)] == [False, True, False]


def test_a_file_that_cannot_be_read_is_a_problem_and_no_edit(tmp_path, monkeypatch):
    file = tmp_path / "q.sql"
    file.write_text(ONE)
    edits = Edits(file)
    file.unlink()
    file.mkdir()
    assert [(edits.poll(), edits.problem) for _ in range(3)] == [
        (False, None),
        *[(False, f"{file} cannot be read: Is a directory")] * 2,
    ]
    file.rmdir()
    file.write_text(TWO)
    assert [edits.poll() for _ in range(3)] == [False, True, False]
    assert edits.problem is None

    def stale(path):
        raise OSError(errno.ESTALE, os.strerror(errno.ESTALE), str(path))

    with monkeypatch.context() as patched:
        patched.setattr(Path, "read_bytes", stale)
        assert [edits.poll() for _ in range(2)] == [False] * 2
    assert edits.problem == f"{file} cannot be read: {os.strerror(errno.ESTALE)}"
    assert [edits.poll() for _ in range(2)] == [False] * 2
    assert edits.problem is None


class Said:
    """A view that remembers what was said."""

    def __init__(self):
        self.said = []

    def say(self, text, *, wrong=False):
        self.said.append((text, wrong))


def test_the_stream_says_what_is_wrong_with_the_file_once(tmp_path):
    file = tmp_path / "q.sql"
    file.write_text(ONE)
    edits, shown = Edits(file), Said()
    file.unlink()
    file.mkdir()
    assert [poll_edits(edits, shown) for _ in range(4)] == [False] * 4
    file.rmdir()
    file.write_text(ONE)
    assert [poll_edits(edits, shown) for _ in range(4)] == [False] * 4
    assert shown.said == [
        (f"{file} cannot be read: Is a directory; the earlier queries continue", True),
        (f"{file} can be read again", False),
    ]


def test_the_difference_between_two_lists_of_queries():
    one, other, two = (parse_sql(text) for text in (ONE, OTHER, TWO))
    assert str(QueryChanges.between(one, two)) == "added b"
    assert str(QueryChanges.between(two, other)) == "removed b; changed a"
    # Comments and layout are no change.
    laid_out = ONE.replace("count(*)", "COUNT( * )").replace("FROM", "/* hello */\nFROM")
    assert not QueryChanges.between(one, parse_sql(laid_out))
    # But they name a column that has no name.
    unnamed = ONE.replace(" AS n", "")
    other = parse_sql(unnamed.replace("count(*)", "count( 1 )"))
    assert str(QueryChanges.between(parse_sql(unnamed), other)) == "changed a"
