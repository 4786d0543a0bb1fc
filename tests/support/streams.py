"""Generated streams as files, and what Spark answers for all that the watermark has passed."""

import json
import os
import random
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from pyspark.sql import DataFrame, Row, SparkSession

from muntin.aggregates.aggregate import avg, count, max_, min_, stddev, sum_
from muntin.api.batch import run
from muntin.api.stream import stream
from muntin.model.query import Query
from muntin.model.time import MILLISECOND, SECOND
from muntin.model.windows import Window, hopping, tumbling
from muntin.spark.engine.settings import temporary_settings as configured
from muntin.spark.stream.source import SETTINGS
from tests.support.answers import assert_same, plain

SCHEMA = "t LONG, device STRING, site LONG, temp DOUBLE, load INT"
COLUMNS = ["timestamp_micros(t) AS ts", "device", "site", "temp", "load"]
DELAY = 10 * SECOND
EPOCH = 1_700_000_000 * SECOND

MINUTE = Query(
    name="minute",
    window=tumbling("1 minute"),
    aggregates={"top": max_("temp"), "n": count()},
    keys=["device"],
    time="ts",
)
SLIDE = Query(
    name="slide",
    window=hopping("100 seconds", every="30 seconds", offset="5 seconds"),
    aggregates={"mean": avg("temp"), "spread": stddev("temp"), "low": min_("load")},
    keys=["device"],
    time="ts",
    having="spread IS NOT NULL",
)
SITES = Query(
    name="sites",
    window=tumbling("2 minutes"),
    aggregates={"total": sum_("load"), "n": count("temp")},
    keys={"place": "site"},
    time="ts",
    where="load > 2",
)
# Its parts are kept for MINUTE already, and its edges are MINUTE's.
WARM = Query(
    name="warm",
    window=hopping("3 minutes", every="1 minute"),
    aggregates={"top": max_("temp")},
    keys=["device"],
    time="ts",
)
ALL = [MINUTE, SLIDE, SITES]


def events(seed: int, *, files: int, rows: int = 60) -> list[list[dict]]:
    """Files of events: disorder within the delay, keys that fall silent, a gap, an empty file."""
    rng = random.Random(seed)
    now, made = EPOCH, []
    for number in range(files):
        if number == files // 2:
            now += 700 * SECOND
        latest, batch = now, []
        for _ in range(0 if number == files // 3 else rows):
            now += rng.choice([0, 1, SECOND // 2, SECOND, 3 * SECOND])
            at = max(now - rng.randint(0, DELAY), latest - DELAY + 1000)
            # "b" speaks in the first half only, "c" in a few files.
            names = ["a", None] + ["b"] * (number < files // 2) + ["c"] * (number % 4 == 1)
            batch.append(
                {
                    "t": at,
                    "device": rng.choice(names),
                    "site": rng.choice([None, -1, 2**53 + 1]),
                    "temp": rng.choice([None, 1.5, -2.0, 7.25, 1e16]),
                    "load": rng.choice([None, 1, 3, 2**31 - 1]),
                }
            )
        made.append(batch)
    return made


def joined(batches: list[list[dict]]) -> list[dict]:
    """The rows of several files as one: a stream takes them in one batch, which is much faster."""
    return [row for batch in batches for row in batch]


def batches_of_files(checkpoint: Path) -> dict[str, int]:
    """The batch that has read each file, in the order in which Spark has taken them.

    The source numbers the entries of its own log. A batch without files, which Spark runs for the
    watermark alone, has no entry there, so these numbers fall behind those of batches. Spark's
    offsets have, for each batch, the last entry that was read: after a crash there may be several.
    """
    spark = checkpoint / "spark"
    entries: dict[int, list[str]] = {}
    for log in (spark / "sources" / "0").glob("[0-9]*"):
        for line in log.read_text().splitlines():
            if line.startswith("{"):
                entry = json.loads(line)
                entries.setdefault(entry["batchId"], []).append(Path(entry["path"]).name)
    read: dict[int, int] = {}
    for path in (spark / "offsets").glob("[0-9]*"):
        read[int(path.name)] = json.loads(path.read_text().splitlines()[2])["logOffset"]
    return {
        name: min(batch for batch, last in read.items() if last >= number)
        for number in sorted(entries)
        # An entry is written before the batch that reads it is begun.
        if number <= max(read.values())
        for name in entries[number]
    }


def given_before(checkpoint: Path, batch: int) -> int:
    """The watermark up to which windows had been given out when a batch ran."""
    if batch == 0:
        return 0
    entry = (checkpoint / "spark" / "offsets" / str(batch - 1)).read_text().splitlines()[1]
    return int(json.loads(entry)["batchWatermarkMs"]) * MILLISECOND


class Input:
    """A folder that a stream and a batch read; files appear whole and in order."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self._spark, self._folder, self._number = spark, folder, 0
        self._since = int(time.time()) - 10_000
        folder.mkdir(parents=True, exist_ok=True)

    def put(self, *batches: list[dict]) -> None:
        for batch in batches:
            hidden = self._folder / f".{self._number}"
            hidden.write_text("".join(json.dumps(row) + "\n" for row in batch))
            # Spark takes files by their time of change, and those of one millisecond in any order.
            changed = self._since + self._number
            os.utime(hidden, (changed, changed))
            hidden.rename(self._folder / f"{self._number:05d}.json")
            self._number += 1

    def taken(self, checkpoint: Path) -> list[str]:
        """The files in the order in which Spark has taken them."""
        return list(batches_of_files(checkpoint))

    def assert_read_in_order(self, checkpoint: Path) -> None:
        """Files were taken in their order, so that no row can have been late."""
        names = self.taken(checkpoint)
        assert names == [f"{number:05d}.json" for number in range(len(names))]

    def stream(self) -> DataFrame:
        reader = self._spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1)
        return reader.json(str(self._folder)).selectExpr(*COLUMNS)

    def batch(self) -> DataFrame:
        return self._spark.read.schema(SCHEMA).json(str(self._folder)).selectExpr(*COLUMNS)


def long_form(spark: SparkSession, queries: list[Query], source: Input, check: Path):
    """What `stream` gives to a writer of the user's own: a frame for each query; the watermark."""
    found = []
    with configured(spark, SETTINGS):
        writer = stream(queries, source.stream()).writeStream
        running = (
            writer.foreachBatch(lambda frame, _: found.extend(frame.collect()))
            .option("checkpointLocation", str(check))
            .start()
        )
        running.processAllAvailable()
        watermark = at(running.lastProgress["eventTime"]["watermark"])
        running.stop()
    frames = {}
    for query in queries:
        schema = batch_answers(query, source.batch()).schema
        rows = [tuple(row[c] for c in schema.names) for row in found if row["query"] == query.name]
        frames[query.name] = spark.createDataFrame(rows, schema)
    return frames, watermark


def written(spark: SparkSession, folder: Path, query: Query, source: Input) -> DataFrame:
    """What a folder sink holds for a query; files do not keep what may be null and what not."""
    assert not [path for path in folder.iterdir() if path.name.startswith(".")]
    schema = batch_answers(query, source.batch()).schema
    found = spark.read.parquet(str(folder / query.name))
    assert [(one.name, one.dataType.typeName()) for one in found.schema] == [
        (one.name, one.dataType.typeName()) for one in schema
    ]
    return spark.createDataFrame(found.collect(), schema)


def unload_states(spark: SparkSession) -> None:
    """Has Spark let go of all states; until then it may write snapshots in the background."""
    stores = getattr(spark._jvm, "org.apache.spark.sql.execution.streaming.state.StateStore")
    stores.stop()


@contextmanager
def frequent_snapshots(spark: SparkSession) -> Iterator[None]:
    """In the block, Spark writes snapshots of state every other batch, not every minute."""
    settings = {
        "spark.sql.streaming.stateStore.maintenanceInterval": "300ms",
        "spark.sql.streaming.stateStore.minDeltasForSnapshot": "1",
    }
    # What writes them takes its interval from the first state that is loaded.
    unload_states(spark)
    with configured(spark, settings):
        yield
    unload_states(spark)


def at(text: str) -> int:
    """Microseconds of an instant as Spark reports it."""
    return round(datetime.fromisoformat(text).astimezone(UTC).timestamp() * 1000) * 1000


def batch_answers(query: Query, data: DataFrame) -> DataFrame:
    """What plain Spark answers; what muntin does where Spark has no such window."""
    if isinstance(query.window, Window):
        return plain(query, data)
    return run([query], data)[query.name]


def closed(answers: DataFrame, query: Query, watermark: int, since: int | None = None) -> DataFrame:
    """The answers whose window the watermark has passed, and that begin from an instant on."""
    begin = "unix_micros(window.start)"
    frame = answers.where(f"unix_micros(window.end) <= {watermark}")
    return frame if since is None else frame.where(f"{begin} >= {since}")


def assert_closed(found: DataFrame, query: Query, data: DataFrame, watermark, since=None) -> int:
    """`found` has every closed window once, as a batch has it; gives how many there are."""
    expected = closed(batch_answers(query, data), query, watermark, since)
    rows = expected.collect()
    assert_same(found, expected, query.name, rows)
    keys = [name for name in found.columns if name not in query.aggregates]
    assert max(Counter(tuple(row[k] for k in keys) for row in rows).values(), default=1) == 1
    return len(rows)


def with_late_rows(made: list[list[dict]], seed: int, share: float = 0.2) -> list[list[dict]]:
    """Files of events, some of which are late: by seconds, or by longer than any window."""
    rng = random.Random(seed)

    def late(row: dict) -> dict:
        behind = rng.choice([5, 30, 70, 130, 400, 2000])
        return {**row, "t": row["t"] - rng.randint(0, behind) * SECOND}

    return [[late(row) if rng.random() < share else row for row in batch] for batch in made]


def plain_streams(
    spark: SparkSession, queries: Sequence[Query], source: Input, check: Path
) -> dict[str, DataFrame]:
    """What Spark's own streaming queries give for all files, a batch each, by name."""
    frame = source.stream().withWatermark("ts", f"{DELAY // SECOND} seconds")
    answers = {
        query.name: spark.sql(query.to_sql().fill({"": "{frame}"}), frame=frame)
        for query in queries
    }
    rows = collected_streams(spark, answers, check)
    found = {}
    for query in queries:
        schema = plain(query, source.batch()).schema
        assert answers[query.name].columns == schema.names
        found[query.name] = spark.createDataFrame(rows[query.name], schema)
    return found


def collected_streams(
    spark: SparkSession, frames: Mapping[str, DataFrame], check: Path
) -> dict[str, list[Row]]:
    """The rows of streaming DataFrames for the files that were not read before, by name."""
    found: dict[str, list[Row]] = {name: [] for name in frames}
    # The answers of a few keys are the same, and each partition has a state that costs as much.
    with configured(spark, {"spark.sql.shuffle.partitions": "1"}):
        for name, frame in frames.items():
            running = (
                frame.writeStream.trigger(availableNow=True)
                .foreachBatch(lambda batch, _, rows=found[name]: rows.extend(batch.collect()))
                .option("checkpointLocation", str(check / name))
                .start()
            )
            running.awaitTermination()
    return found
