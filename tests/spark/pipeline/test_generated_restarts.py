"""Generated restarts: between two starts of a stream, types, order, names and settings change.

`make faults N=50` runs N of them. A query that is the same, over columns of the same types, goes on
as if nothing had happened; any other starts anew, and its answers are plain Spark's for all windows
from `complete_from` on. What cannot change is refused, and the next start goes on.
"""

import json
import os
import random
from collections import Counter
from dataclasses import dataclass, field, replace

import pytest
from pyspark.sql import Row

from muntin.aggregates.aggregate import count, max_, min_, sum_
from muntin.api.stream import start
from muntin.errors import RunError
from muntin.model.data_windows import session
from muntin.model.plan_json import definition
from muntin.model.query import Query
from muntin.model.time import SECOND
from muntin.model.windows import hopping, tumbling
from muntin.spark.engine.settings import temporary_settings as configured
from muntin.spark.pipeline.stream_options import StreamOptions
from tests.support.answers import plain
from tests.support.streams import EPOCH, at, frequent_snapshots

SEEDS = int(os.environ.get("MUNTIN_FAULTS", "3"))
STARTS = 6
# Values of each type, as JSON has them, of a number.
KEYS = {
    "STRING": str,
    "INT": int,
    "BIGINT": int,
    "DATE": lambda n: f"2024-01-0{n + 1}",
}
NUMBERS = {
    "INT": int,
    "BIGINT": int,
    "DOUBLE": lambda n: n / 2,
    "DECIMAL(10,2)": lambda n: n / 4,
}
GAP = 16 * SECOND
WINDOWS = [tumbling("1 minute"), hopping("90 seconds", every="30 seconds"), session("16 seconds")]
SETTINGS = {
    "spark.sql.session.timeZone": ["UTC", "America/New_York", "Asia/Kolkata"],
    # None: as if nobody had set a number.
    "spark.sql.shuffle.partitions": ["1", "3", None],
    "spark.sql.caseSensitive": ["true", "false"],
}


def any_query(rng, name):
    keys = rng.choice([[], ["k"], ["g"], ["k", "g"]])
    aggregates = {"n": count()}
    for column in rng.sample(["x", "y"], rng.randint(0, 2)):
        function = rng.choice([sum_, max_, min_, count])
        aggregates[f"a_{column}"] = function(column)
    where = rng.choice([None, "s % 3 <> 0"])
    window = rng.choice(WINDOWS)
    return Query(name=name, window=window, aggregates=aggregates, keys=keys, time="ts", where=where)


def schema_of(types):
    return ", ".join(f"{name} {kind}" for name, kind in {"t": "LONG", "s": "LONG", **types}.items())


@dataclass
class Version:
    """A query with types, from the start that began it to the last one that had it."""

    query: Query
    types: dict
    since: int | None
    # The watermark up to which it has answered.
    until: int = 0
    # The rows that the sink was given, by batch.
    found: dict = field(default_factory=dict)


class Restarts:
    """A stream that is started again and again."""

    def __init__(self, spark, base, seed):
        self.rng = random.Random(seed)
        self._spark, self._base = spark, base
        (base / "in").mkdir()
        self._time, self._files = EPOCH, 0
        self._types = {"k": "STRING", "g": "INT", "x": "INT", "y": "BIGINT"}
        self._queries = [any_query(self.rng, f"q{number}") for number in range(3)]
        self._versions: dict[str, Version] = {}
        self._ended: list[Version] = []
        self.steps = []

    def step(self):
        """Change something, start, take in a file, stop."""
        if self._versions:
            for change in self.rng.sample([self._retype, self._rename, self._edit], 2):
                change()
            self.rng.shuffle(self._queries)
            if self.rng.random() < 0.3:
                self._refused()
        conf = {name: self.rng.choice(values) for name, values in SETTINGS.items()}
        self.steps.append((dict(self._types), [str(query) for query in self._queries], conf))
        self._put()
        with configured(self._spark, conf), self._started() as pipeline:
            self._follow(dict(pipeline.complete_from))
            pipeline.process_all_available()
            status = pipeline.status()
        assert status.error is None, self.steps
        assert status.late_rows == 0, self.steps
        for name, version in self._versions.items():
            version.until = at(status.watermark)
            version.found.update(self._rows.get(name, {}))

    def end(self):
        """Compare all answers; returns how many there are."""
        compared = 0
        with configured(self._spark, {"spark.sql.session.timeZone": "UTC"}):
            for version in [*self._ended, *self._versions.values()]:
                compared += self._compare(version)
        return compared

    def _retype(self):
        column = self.rng.choice(["k", "g", "x", "y"])
        self._types[column] = self.rng.choice(list(KEYS if column in "kg" else NUMBERS))

    def _rename(self):
        index = self.rng.randrange(len(self._queries))
        names = {f"q{number}" for number in range(6)} - {query.name for query in self._queries}
        self._queries[index] = replace(self._queries[index], name=self.rng.choice(sorted(names)))

    def _edit(self):
        index = self.rng.randrange(len(self._queries))
        self._queries[index] = any_query(self.rng, self._queries[index].name)

    def _refused(self):
        """Start with what a checkpoint cannot change."""
        message, conf, arguments = self.rng.choice(
            [
                ("started with a watermark of", {}, {"watermark": "20 seconds"}),
                ("2 buckets, not 3", {}, {"options": StreamOptions(buckets=3)}),
                ("spark.sql.ansi.enabled = true", {"spark.sql.ansi.enabled": "false"}, {}),
            ]
        )
        self.steps.append(message)
        with configured(self._spark, conf), pytest.raises(RunError, match=message):
            self._started(**arguments)

    def _put(self):
        rows = []
        for _ in range(40):
            self._time += self.rng.choice([0, 1, 2, 5, 9, 25]) * SECOND
            row = {"t": self._time, "s": self._time // SECOND}
            for column, kind in self._types.items():
                value = (KEYS if column in "kg" else NUMBERS)[kind]
                row[column] = value(self.rng.randrange(3))
            rows.append(row)
        path = self._base / "in" / f"{self._files:03d}.json"
        path.write_text("\n".join(map(json.dumps, rows)))
        os.utime(path, (1_700_000_000 + self._files, 1_700_000_000 + self._files))
        self._files += 1

    def _started(self, **arguments):
        reader = self._spark.readStream.schema(schema_of(self._types)).json(str(self._base / "in"))
        columns = ["timestamp_micros(t) AS ts", "s", *self._types]
        self.rng.shuffle(columns)
        self._rows = {}
        given = {"watermark": "5 seconds", "options": StreamOptions(buckets=2), **arguments}
        return start(
            self._queries,
            reader.selectExpr(*columns),
            checkpoint=self._base / "check",
            sink=self._take,
            **given,
        )

    def _take(self, name, frame, batch):
        self._rows.setdefault(name, {})[batch] = frame.collect()

    def _follow(self, complete):
        """Find out which queries go on, and which are new."""
        before, self._versions = self._versions, {}
        for query in self._queries:
            read = {*query.key_expressions, *(a.argument for a in query.aggregates.values())}
            types = {name: self._types[name] for name in self._types if name in read}
            old = before.pop(query.name, None)
            if old is not None:
                if definition(old.query) == definition(query) and old.types == types:
                    assert complete[query.name] == old.since, (query.name, self.steps)
                    self._versions[query.name] = old
                else:
                    self._ended.append(old)
            if query.name not in self._versions:
                since = complete[query.name]
                assert self._files == 1 or since is not None, (query.name, self.steps)
                self._versions[query.name] = Version(query=query, types=types, since=since)
        self._ended += before.values()

    def _compare(self, version):
        query = version.query
        types = {**self._types, **version.types}
        data = self._spark.read.schema(schema_of(types)).json(str(self._base / "in"))
        data = data.selectExpr("timestamp_micros(t) AS ts", "s", *types)
        is_session = not query.is_periodic
        expected = Counter()
        surely = Counter()
        for row in plain(query, data).collect():
            begin, end = _bounds(row)
            if end <= version.until and (version.since is None or begin >= version.since):
                expected[_shown(row)] += 1
                # A session is given out when the slice of its gap after it is over.
                if not is_session or end <= version.until - GAP // 8:
                    surely[_shown(row)] += 1
        found = Counter(_shown(row) for rows in version.found.values() for row in rows)
        assert found <= expected, (query, version.since, found - expected, self.steps)
        assert surely <= found, (query, version.since, surely - found, self.steps)
        return sum(found.values())


def _bounds(row):
    (window,) = (value for value in row if isinstance(value, Row))
    return tuple(round(window[name].timestamp()) * SECOND for name in ("start", "end"))


def _shown(row):
    return tuple(
        map(repr, (*_bounds(row), *(value for value in row if not isinstance(value, Row))))
    )


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(SEEDS))
def test_restarts_with_other_types_orders_names_and_settings(spark, tmp_path, seed):
    restarts = Restarts(spark, tmp_path, seed)
    with frequent_snapshots(spark):
        for _ in range(STARTS):
            restarts.step()
    rows = restarts.end()
    assert rows > 20
    print(f"seed {seed}: {rows} rows")
