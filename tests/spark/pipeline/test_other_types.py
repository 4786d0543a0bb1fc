"""A source whose columns have other types at the next start: no query mixes old and new values."""

import json
import os
from datetime import date

import pytest

from muntin.aggregates.aggregate import count, sum_
from muntin.api.stream import start
from muntin.model.data_windows import count_window, session
from muntin.model.query import Query
from muntin.model.time import SECOND
from muntin.model.windows import tumbling
from muntin.spark.pipeline.stream_options import StreamOptions
from tests.support.streams import EPOCH

MINUTE = 60 * SECOND
# The begin of a minute.
BEGIN = EPOCH - EPOCH % MINUTE
BEFORE = "t LONG, k STRING, d INT, x INT, y INT"
AFTER = "t LONG, k STRING, d DATE, x DOUBLE, y INT"
DAY = date(2024, 1, 1)

pytestmark = pytest.mark.long


def query(name, window, key="k", **aggregates):
    return Query(name=name, window=window, aggregates=aggregates, keys=[key], time="ts")


class Restarts:
    """A stream of JSON files that is started again and again with another schema."""

    def __init__(self, spark, base):
        self._spark, self._base, self._files = spark, base, 0
        self.found = {}
        (base / "in").mkdir()

    def run(self, schema, queries, *rows):
        """Start, take in a file of (second, d, x, y), and stop; returns `complete_from`."""
        names = ("t", "k", "d", "x", "y")
        made = [(BEGIN + second * SECOND, "a", *values) for second, *values in rows]
        path = self._base / "in" / f"{self._files}.json"
        lines = (json.dumps(dict(zip(names, row, strict=True)), default=str) for row in made)
        path.write_text("\n".join(lines))
        os.utime(path, (1_700_000_000 + self._files, 1_700_000_000 + self._files))
        self._files += 1
        reader = self._spark.readStream.schema(schema).option("maxFilesPerTrigger", 1)
        stream = reader.json(str(self._base / "in"))
        with start(
            queries,
            stream.selectExpr("timestamp_micros(t) AS ts", "* EXCEPT (t)"),
            checkpoint=self._base / "check",
            sink=self._take,
            watermark="0 seconds",
            options=StreamOptions(buckets=1),
        ) as pipeline:
            pipeline.process_all_available()
            return dict(pipeline.complete_from)

    def _take(self, name, frame, batch):
        rows = [(row[0], *row[2:]) for row in frame.collect()]
        self.found.setdefault(name, {})[batch] = rows

    def answers(self, name):
        """The key and the aggregates of all answers of a query."""
        return sorted(row for rows in self.found.get(name, {}).values() for row in rows)


@pytest.fixture
def restarts(spark, one_partition, tmp_path):
    return Restarts(spark, tmp_path)


def test_a_query_that_reads_another_type_starts_anew_and_the_others_go_on(restarts):
    asked = [
        query("sum", tumbling("1 minute"), total=sum_("x")),
        query("other", tumbling("1 minute"), total=sum_("y"), n=count()),
        # Integers and dates are stored alike.
        query("by d", tumbling("1 minute"), "d", n=count()),
        query("session", session("1 minute"), total=sum_("x")),
        query("longer", session("2 minutes"), total=sum_("y")),
        query("rows", count_window(3), total=sum_("x")),
        query("more rows", count_window(4), total=sum_("y")),
    ]
    restarts.run(BEFORE, asked, (1, 7, 60, 1), (31, 7, 60, 2))
    first = restarts.run(AFTER, asked, (41, DAY, 45.5, 3), (50, DAY, 0.25, 4))
    goes_on = {"other", "longer", "more rows"}
    assert {name for name, begin in first.items() if begin is None} == goes_on
    # The minute that has old and new values is left out.
    assert first["sum"] == first["by d"] == BEGIN + MINUTE
    rows = [(second, DAY, 0.5, 5) for second in (400, 401, 402, 800)]
    restarts.run(AFTER, asked, *rows)
    assert restarts.answers("sum") == [("a", 1.5)]
    assert restarts.answers("by d") == [(DAY, 3)]
    assert restarts.answers("other") == [("a", 10, 4), ("a", 15, 3)]
    assert restarts.answers("session") == [("a", 1.5)]
    assert restarts.answers("longer") == [("a", 10), ("a", 15)]
    # It starts with the rows after the last one that the stream had seen.
    assert restarts.answers("rows") == [("a", 46.25)]
    assert restarts.answers("more rows") == [("a", 10)]


def test_a_checkpoint_without_types_is_told_by_how_it_stores_values(restarts, tmp_path):
    asked = [query("sum", tumbling("1 minute"), total=sum_("x"))]
    restarts.run(BEFORE, asked, (1, 7, 60, 1))
    (stored,) = (tmp_path / "check").glob("muntin-*.json")
    data = json.loads(stored.read_text())
    assert data.pop("types")["x"] == "int"
    stored.write_text(json.dumps(data))
    (stored.parent / f".{stored.name}.crc").unlink()
    assert restarts.run(BEFORE, asked, (31, 7, 60, 2)) == {"sum": None}
    assert restarts.run(AFTER, asked, (41, DAY, 45.5, 3)) == {"sum": BEGIN + MINUTE}
