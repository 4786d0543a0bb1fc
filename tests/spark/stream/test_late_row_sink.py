"""Rows that no open window takes go where `late` says, each once, with batch and watermark."""

import json
from collections import Counter
from pathlib import Path

import pytest

from muntin.aggregates.aggregate import count, max_
from muntin.api.stream import start
from muntin.errors import RunError
from muntin.model.data_windows import session
from muntin.model.query import Query
from muntin.model.time import MILLISECOND, SECOND
from muntin.model.windows import hopping, tumbling
from muntin.spark.engine.folder import Folder
from muntin.spark.pipeline.stream_options import StreamOptions
from tests.support.streams import (
    Input,
    batches_of_files,
    events,
    given_before,
    joined,
    with_late_rows,
)

LOADED = Query(
    name="loaded",
    window=tumbling("1 minute"),
    aggregates={"n": count()},
    keys=["device"],
    time="ts",
    where="load > 2",
)
SLIDING = Query(
    name="sliding",
    window=hopping("3 minutes", every="1 minute", offset="7 seconds"),
    aggregates={"top": max_("temp")},
    time="ts",
    where="device = 'a'",
)
VISITS = Query(
    name="visits",
    window=session("16 seconds"),
    aggregates={"n": count()},
    keys=["device"],
    time="ts",
    where="site = -1",
)
QUERIES = [LOADED, SLIDING, VISITS]


def is_open(row: dict, given: int, sessions: bool) -> bool | None:
    """Whether some window takes a row; None if no query would have taken it, ever."""
    at = row["t"]
    ends = []
    if row["load"] is not None and row["load"] > 2:
        ends.append(at // (60 * SECOND) * 60 * SECOND + 60 * SECOND)
    if row["device"] == "a":
        shifted = at - 7 * SECOND
        ends.append(shifted // (60 * SECOND) * 60 * SECOND + 187 * SECOND)
    # A session is found in grains of an eighth of its gap, up to the watermark.
    if sessions and row["site"] == -1:
        ends.append(at // (2 * SECOND) * 2 * SECOND + 2 * SECOND)
    return any(end > given for end in ends) if ends else None


def told(checkpoint: Path) -> dict[str, tuple[int, int]]:
    """The batch of each file, and the watermark of the batch before it."""
    return {
        name: (batch, given_before(checkpoint, batch))
        for name, batch in batches_of_files(checkpoint).items()
    }


def test_files_are_numbered_by_the_batches_that_read_them(tmp_path):
    # Batch 2 has read no file. Before batch 4, a process died between an entry and its batch.
    logs = {"offsets": tmp_path / "spark" / "offsets", "sources": tmp_path / "spark/sources/0"}
    for log in logs.values():
        log.mkdir(parents=True)
    for batch, (watermark, entry) in enumerate([(0, 0), (5, 1), (9, 1), (9, 2), (12, 4)]):
        lines = [
            "v1",
            json.dumps({"batchWatermarkMs": watermark}),
            json.dumps({"logOffset": entry}),
        ]
        (logs["offsets"] / str(batch)).write_text("\n".join(lines))
    for entry in range(6):
        line = json.dumps({"path": f"file:///in/{entry}.json", "batchId": entry})
        (logs["sources"] / str(entry)).write_text(f"v1\n{line}")
    placed = {f"{number}.json": batch for number, batch in enumerate([0, 1, 3, 4, 4])}
    assert batches_of_files(tmp_path) == placed
    givens = [given // MILLISECOND for _, given in told(tmp_path).values()]
    # When file 2 was read, all up to 9 had been given out, by the batch without a file.
    assert givens == [0, 0, 9, 9, 9]


def late_rows(made: list[list[dict]], checkpoint: Path, sessions: int = 9) -> Counter:
    """The rows that are late, told one by one; there are sessions in so many files."""
    placed = told(checkpoint)
    return Counter(
        (row["t"], row["device"], row["site"], row["temp"], row["load"], batch, given)
        for number, rows in enumerate(made)
        for batch, given in [placed[f"{number:05d}.json"]]
        for row in rows
        if is_open(row, given, number < sessions) is False
    )


def stream(source: Input):
    return source.stream().selectExpr("*", "array(map('at', ts)) AS nested")


def as_counter(frame) -> Counter:
    own = ["ts", "device", "site", "temp", "load", "nested"]
    assert frame.columns == [*own, "late_batch", "late_watermark"]
    values = "device", "site", "temp", "load", "late_batch", "unix_micros(late_watermark)"
    rows = frame.selectExpr("nested[0]['at'] = ts", "unix_micros(ts)", *values).collect()
    assert all(row[0] for row in rows)
    return Counter(tuple(row[1:]) for row in rows)


def rewind(checkpoint: Path) -> None:
    """Leave the last batch as if it had been cut off before its end."""
    commits = checkpoint / "spark" / "commits"
    last = max(batch for batch, _ in told(checkpoint).values())
    assert last == max(int(entry.name) for entry in commits.glob("[0-9]*"))
    (commits / str(last)).unlink()
    (commits / f".{last}.crc").unlink(missing_ok=True)


def test_nothing_beside_the_folder_is_looked_at(spark, tmp_path, monkeypatch):
    source = Input(spark, tmp_path / "in")
    first, second = events(37, files=2)[1], events(37, files=4)[3]
    (late,) = with_late_rows([first], 3, share=1.0)
    source.put(first, second, late)
    above = tmp_path / "above"
    (above / "private").mkdir(parents=True)
    names = Folder.names

    def listed(folder, name=""):
        assert (folder._directory, name) not in {(str(above), ""), (str(above), "private")}
        return names(folder, name)

    monkeypatch.setattr(Folder, "names", listed)
    with start(
        [LOADED],
        source.stream(),
        checkpoint=tmp_path / "check",
        late=above / "late",
        options=StreamOptions(buckets=1),
    ) as pipeline:
        pipeline.process_all_available()
    assert spark.read.parquet(str(above / "late")).count() > 0
    assert {path.name for path in above.iterdir()} == {"late", "private"}


@pytest.mark.long
def test_each_row_once_through_a_cut_batch_and_a_change(spark, tmp_path):
    source, check = Input(spark, tmp_path / "in"), tmp_path / "check"
    made = events(31, files=9, rows=40)
    # After the third file the watermark stays, so no batch follows for what has closed.
    (third,) = with_late_rows([joined(made[:2])], 5, share=1.0)
    made = [*made[:2], third, *with_late_rows([joined(made[2:])], 11, share=0.5)]
    source.put(*made[:3])
    about = {"checkpoint": check, "sink": tmp_path / "out"}
    about["options"] = StreamOptions(buckets=2)
    late = tmp_path / "out" / "too late"
    with start(QUERIES, stream(source), late=late, **about) as pipeline:
        pipeline.process_all_available()
        counted = pipeline.status().late_rows
    expected = late_rows(made[:3], check)
    assert 3 < expected.total() <= counted
    assert as_counter(spark.read.parquet(str(late))) == expected
    rewind(check)
    with start(QUERIES, stream(source), late=late, **about) as pipeline:
        pipeline.process_all_available()
    assert as_counter(spark.read.parquet(str(late))) == expected
    taken = []

    def take(frame, batch, watermark):
        taken.append((batch, watermark))
        assert as_counter(frame) == late_rows(made, check, sessions=3) - expected

    source.put(made[3])
    with start(QUERIES[:2], stream(source), late=take, **about) as pipeline:
        pipeline.process_all_available()
    (batch, given) = told(check)["00003.json"]
    assert [(number, at.timestamp() * SECOND) for number, at in taken] == [(batch, given)]


def test_what_late_may_be(spark, tmp_path):
    source = Input(spark, tmp_path / "in")
    for late, said in (
        (7, "a folder or to a function"),
        (tmp_path / "in" / "late", "inside the input"),
        (tmp_path / "out" / "loaded", "belongs to the checkpoint|query 'loaded'"),
    ):
        (tmp_path / "out" / "loaded").mkdir(parents=True, exist_ok=True)
        owner = {"mark": "m", "checkpoint": "other", "format": "parquet", "columns": {}}
        (tmp_path / "out" / "loaded" / "_muntin.json").write_text(json.dumps(owner))
        with pytest.raises(RunError, match=said):
            start([LOADED], source.stream(), checkpoint=tmp_path / "check", late=late)
    data = source.stream().withColumnRenamed("site", "Late_Batch")
    with pytest.raises(RunError, match="column called 'Late_Batch'"):
        start([LOADED], data, checkpoint=tmp_path / "check", late=print)
    assert not (tmp_path / "check").exists()
