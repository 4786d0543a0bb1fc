"""Edits of a file of queries, as `muntin stream --watch` sees them."""

import errno
import os
from pathlib import Path

from muntin.cli.edits import Edits, QueryChanges
from muntin.cli.stream import poll_edits
from muntin.sql import parse_sql

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
