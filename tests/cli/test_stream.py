"""`muntin stream` as its user has it: a process, files that arrive, edits, Ctrl-C, and again."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from muntin.api.batch import run
from muntin.sql import parse_sql
from tests.support.answers import same_value

ROOT = Path(__file__).parents[2]
HOT = """
-- name: hot
SELECT device, window, max(temp) AS hottest, count(*) AS n FROM readings
GROUP BY device, window(ts, '1 minute')
"""
SLIDE = """
-- name: slide
SELECT device, window, avg(temp) AS mean FROM readings
GROUP BY device, window(ts, '2 minutes', '1 minute')
"""
BEGIN = datetime(2024, 1, 1, tzinfo=UTC)
PATIENCE_S = 240.0


class Folder:
    """An input folder: each file has ten minutes of two devices."""

    def __init__(self, path: Path) -> None:
        self.path, self._number = path, 0
        path.mkdir()

    def put(self, count: int) -> None:
        for _ in range(count):
            first = self._number * 120
            rows = [
                {
                    "ts": (BEGIN + timedelta(seconds=5 * one)).isoformat(),
                    "device": f"d{one % 2}",
                    "temp": float(one * 7919 % 100),
                }
                for one in range(first, first + 120)
            ]
            hidden = self.path / f".{self._number}"
            hidden.write_text("".join(json.dumps(row) + "\n" for row in rows))
            changed = time.time() - 1000 + self._number
            os.utime(hidden, (changed, changed))
            hidden.rename(self.path / f"{self._number:03d}.json")
            self._number += 1


class Command:
    """The command in a process, and what it has said."""

    def __init__(self, base: Path, *options: str) -> None:
        self._out = base / f"said-{time.time_ns()}"
        arguments = [base / "q.sql", "--input", base / "in", "--output", base / "out"]
        arguments += ["--checkpoint", base / "check", "--format", "json", *options]
        with self._out.open("w") as out:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "muntin", "stream", *map(str, arguments)],
                stdout=out,
                stderr=subprocess.STDOUT,
                cwd=ROOT,
                env={**os.environ, "PYTHONPATH": str(ROOT), "TZ": "Asia/Tokyo"},
                start_new_session=True,
            )

    @property
    def said(self) -> str:
        return self._out.read_text()

    def wait_for(self, pattern: str) -> re.Match:
        patience = time.monotonic() + PATIENCE_S
        while time.monotonic() < patience and self.process.poll() is None:
            if found := re.search(pattern, self.said):
                return found
            time.sleep(0.2)
        found = re.search(pattern, self.said)
        assert found, f"no {pattern!r} in:\n{self.said}"
        return found

    def end(self) -> int:
        return self.process.wait(PATIENCE_S)

    def kill(self) -> None:
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()


@pytest.fixture
def command(tmp_path):
    """Starts the command; what still runs at the end of the test is killed."""
    started = []

    def launch(*options):
        started.append(Command(tmp_path, *options))
        return started[-1]

    yield launch
    for one in started:
        one.kill()


def seconds(text: str) -> float:
    return datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()


def assert_answers(spark, base: Path, statement: str, until: float, since: float = 0.0) -> None:
    """The folder has every window from `since` that ends up to `until` once, as batch has it."""
    (query,) = parse_sql(statement)
    events = spark.read.option("inferTimestamp", "true").json(str(base / "in"))
    with run([query], events) as results:
        inside = f"window.end <= timestamp_micros({round(until * 1e6)}) AND "
        inside += f"window.start >= timestamp_micros({round(since * 1e6)})"
        expected = results[query.name].where(inside).collect()
        schema = results[query.name].schema
    found = spark.read.schema(schema).json(str(base / "out" / query.name)).collect()
    assert len(found) == len(expected) > 4
    key = lambda row: (row["device"], row["window"]["start"])  # noqa: E731
    for ours, theirs in zip(sorted(found, key=key), sorted(expected, key=key), strict=True):
        assert same_value(ours, theirs)


@pytest.mark.slow
def test_files_arrive_queries_are_edited_and_ctrl_c_is_no_end(spark, tmp_path, command):
    source, file = Folder(tmp_path / "in"), tmp_path / "q.sql"
    file.write_text(HOT)
    source.put(2)
    first = command("--watch", "--watermark", "20 seconds")
    first.wait_for(r"rows out: hot [1-9]")
    file.write_text(f"{HOT};\n{SLIDE.replace('avg(temp)', 'avg(temq)')}")
    assert "slide" in first.wait_for(r"error: (.*); the earlier queries continue")[1]
    file.write_text(f"{HOT};\n{SLIDE}")
    since = first.wait_for(r"added slide; slide complete from ([-0-9]+ [:0-9]+)")[1]
    source.put(2)
    first.wait_for(r"rows out: hot [0-9]+, slide [1-9]")
    first.process.send_signal(signal.SIGINT)
    assert first.end() == 0
    assert first.said.endswith("stopped; the same command continues from here\n")
    source.put(1)
    again = command("--watermark", "20 seconds", "--trigger", "available now")
    assert again.end() == 0, again.said
    # 50 minutes of events, less the delay.
    until = (BEGIN + timedelta(minutes=50, seconds=-25)).timestamp()
    assert "watermark 2024-01-01 00:49:35" in again.said
    assert_answers(spark, tmp_path, HOT, until)
    assert_answers(spark, tmp_path, SLIDE, until, seconds(since))
    other = command("--watermark", "1 minute")
    assert other.end() == 2
    assert "started with a watermark of 20 seconds, not 1 minute" in other.said


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"--watermark": "soon"}, "not a duration"),
        ({"--format": "parket"}, "did you mean 'parquet'?"),
        ({"--trigger": "often"}, "not a duration"),
        ({"--input": "nowhere"}, "there is no nowhere"),
        ({"--input": "{empty}"}, "does not tell its format"),
        ({"--input": "{empty}", "--format": "parquet"}, "there is no parquet file in"),
        ({"--input": "{broken}"}, "query 'hot'"),
        ({"--late": "{base}/out"}, "late rows need a folder of their own"),
        ({"--late": "{base}/in/late"}, "is inside the input"),
    ],
)
def test_stream_refuses_in_a_line_and_leaves_no_trace(spark, tmp_path, capsys, options, said):
    from muntin.cli import main

    file = tmp_path / "q.sql"
    file.write_text(HOT)
    for name in ("empty", "broken"):
        (tmp_path / name).mkdir()
    (tmp_path / "broken" / "a.json").write_text('{"ts": "2024-01-01T00:00:00Z", "temp": 1}\n')
    Folder(tmp_path / "in").put(1)
    given = {"--input": str(tmp_path / "in"), "--output": str(tmp_path / "out"), **options}
    given["--checkpoint"] = str(tmp_path / "check")
    given = {
        name: value.format(base=tmp_path, empty=tmp_path / "empty", broken=tmp_path / "broken")
        for name, value in given.items()
    }
    assert main(["stream", str(file), *(part for one in given.items() for part in one)]) == 2
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1
    assert not (tmp_path / "check").exists()
    assert not (tmp_path / "out").exists()
