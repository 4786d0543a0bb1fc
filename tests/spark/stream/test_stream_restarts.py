"""`mt.stream` on a checkpoint that exists: state is found by what a query asks for."""

import json
import os
from dataclasses import replace

import pytest

from muntin.aggregates.aggregate import count, max_, sum_
from muntin.api.stream import stream
from muntin.model.data_windows import session
from muntin.model.query import Query
from muntin.model.time import SECOND
from muntin.model.windows import tumbling
from muntin.spark.engine.settings import temporary_settings as configured
from muntin.spark.stream.source import SETTINGS
from tests.support.streams import EPOCH

BEGIN = EPOCH - EPOCH % (60 * SECOND)

pytestmark = pytest.mark.usefixtures("one_partition")


def query(name, *keys, window=None, **aggregates):
    window = window or tumbling("1 minute")
    return Query(name=name, window=window, aggregates=aggregates, keys=keys, time="ts")


SUM = query("sum", "k", total=sum_("x"))
TOP = query("top", "k", top=max_("x"), n=count())
ALL = query("all", n=count())
GAPS = query("gaps", n=count(), window=session("30 seconds"))


class Restarts:
    """A stream that is started again and again, to the same writer."""

    def __init__(self, spark, base):
        self._spark, self._base, self._files = spark, base, 0
        (base / "in").mkdir()

    def run(self, queries, *rows):
        """Take in a file of (second, key, value); returns the answers, as the query's name, the
        key, and what is not null of the aggregates."""
        data = [{"t": BEGIN + at * SECOND, "k": k, "x": x} for at, k, x in rows]
        path = self._base / "in" / f"{self._files}.json"
        path.write_text("\n".join(map(json.dumps, data)))
        os.utime(path, (1_700_000_000 + self._files, 1_700_000_000 + self._files))
        self._files += 1
        reader = self._spark.readStream.schema("t LONG, k STRING, x INT")
        events = reader.json(str(self._base / "in"))
        events = events.selectExpr("timestamp_micros(t) AS ts", "k", "x")
        found = []
        with configured(self._spark, SETTINGS):
            answers = stream(queries, events, watermark="0 seconds", buckets=1)
            running = (
                answers.writeStream.foreachBatch(lambda frame, _: found.extend(frame.collect()))
                .option("checkpointLocation", str(self._base / "check"))
                .start()
            )
        try:
            running.processAllAvailable()
        finally:
            running.stop()
        names = ("k", "total", "top", "n")
        return sorted(
            (row["query"], *(row[name] for name in names if row.asDict().get(name) is not None))
            for row in found
        )


@pytest.mark.long
def test_queries_in_another_order_and_under_other_names_go_on_and_others_are_refused(
    spark, tmp_path
):
    restarts = Restarts(spark, tmp_path)
    restarts.run([SUM, TOP, ALL, GAPS], (1, "a", 60), (2, "b", 7))
    renamed = [GAPS, replace(ALL, name="every"), TOP, replace(SUM, name="total")]
    found = restarts.run(renamed, (31, "a", 60), (70, "b", 1))
    assert found == [
        ("every", 3),
        ("gaps", 3),
        ("top", "a", 60, 2),
        ("top", "b", 7, 1),
        ("total", "a", 120),
        ("total", "b", 7),
    ]
    in_front = query("new", "x", total=sum_("x"))
    with pytest.raises(Exception, match=r"the state of other queries: it differs by 'new'"):
        restarts.run([in_front, SUM, TOP, ALL, GAPS], (200, "a", 1))
    with pytest.raises(Exception, match=r"it differs by 'sum', 'top'"):
        restarts.run([query("sum", "k", total=sum_("x + 1")), TOP, ALL, GAPS])
    # What was refused has changed nothing.
    found = restarts.run([SUM, TOP, ALL, GAPS], (400, "a", 1))
    each = [("all", 1), ("gaps", 1)]
    of_keys = [("sum", "a", 1), ("sum", "b", 1), ("top", "a", 1, 1), ("top", "b", 1, 1)]
    assert found == sorted([*each, *each, *of_keys])
