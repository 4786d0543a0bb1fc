"""Generated runs of starts, changes, failures and kills: the files hold every promised answer once.

`make faults N=50` runs N of them. What was promised is read from the checkpoint after every step: a
plan that counts promises, for each of its queries, the windows from `complete_from` on.
"""

import json
import os
import random
import time
from contextlib import suppress
from dataclasses import replace

import pytest

from muntin.api.batch import run
from muntin.api.stream import start
from muntin.errors import RunError
from muntin.model.time import MILLISECOND
from muntin.model.windows import hopping
from muntin.spark.engine.settings import temporary_settings as configured
from muntin.spark.pipeline.stream_options import StreamOptions
from muntin.spark.pipeline.transient_errors import is_transient
from muntin.spark.sinks.folder_sink import Files, FolderSink
from tests.support.answers import assert_same
from tests.support.examples import SEED
from tests.support.streams import MINUTE, SITES, SLIDE, WARM, Input, events, frequent_snapshots

SEEDS = int(os.environ.get("MUNTIN_FAULTS", "1"))
STEPS = int(os.environ.get("MUNTIN_FAULT_STEPS", "60" if "MUNTIN_FAULTS" in os.environ else "14"))
QUERIES = [
    MINUTE,
    SLIDE,
    SITES,
    WARM,
    replace(MINUTE, name="two", window=hopping("2 minutes", every="1 minute")),
    replace(SITES, name="long", window=hopping("6 minutes", every="2 minutes")),
]


class Faults:
    """One run: a pipeline, what it is told, and what it has promised."""

    def __init__(self, spark, base, seed, monkeypatch):
        self.rng = random.Random(seed)
        self.base = base
        self.spark = spark
        self.source = Input(spark, base / "in")
        self.files = iter(events(seed, files=STEPS + 2, rows=60))
        self.pipeline = None
        self.queries = [MINUTE]
        # The sets of queries before, to go back to.
        self.before = [[MINUTE]]
        # The batches that are to fail in the sink, and whether before or after it has written.
        self.failing = None
        self.steps = []
        # For each query: from which begin and up to which watermark it has to answer.
        self.promised = {}
        self._plans = {}
        write = FolderSink.write

        def may_fail(sink, batch, answers):
            kind, self.failing = self.failing, None
            if kind == "before":
                raise OSError("disk full")
            write(sink, batch, answers)
            if kind == "after":
                # Long enough for a snapshot of the state.
                time.sleep(0.8)
                raise OSError("disk full")

        monkeypatch.setattr(FolderSink, "write", may_fail)

    def step(self):
        actions = ["batch"] * 4 + ["fail", "fail", "stop", "kill", "change", "change", "start"]
        kind = self.rng.choice(actions)
        self.steps.append(kind)
        getattr(self, kind)()
        self.note()

    def start(self, queries=None):
        if queries is not None:
            self.before.append(queries)
            self.queries = queries
        if self.pipeline is not None:
            # Refused: it runs.
            with pytest.raises(RunError, match="in use by process"):
                self.started()
        else:
            self.pipeline = self.started()

    def started(self):
        return start(
            self.queries,
            self.source.stream(),
            checkpoint=self.base / "check",
            sink=Files(self.base / "out", compact=self.rng.choice([1, 2, 3])),
            options=StreamOptions(buckets=2, retain="5 minutes"),
        )

    def running(self):
        if self.pipeline is None:
            self.start()
        return self.pipeline

    def batch(self):
        """Finish what is there."""
        pipeline = self.running()
        self.source.put(next(self.files))
        pipeline.process_all_available()

    def fail(self):
        """A batch that the sink does not take."""
        pipeline = self.running()
        self.failing = self.rng.choice(["before", "after"])
        self.source.put(next(self.files))
        with suppress(Exception):
            pipeline.process_all_available()
        self.failing = None
        pipeline.stop()
        self.pipeline = None

    def stop(self):
        """Stop with or without something to do."""
        if self.pipeline is not None:
            if self.rng.random() < 0.5:
                self.source.put(next(self.files))
            self.pipeline.stop()
            self.pipeline = None

    def kill(self):
        """Spark's query ends at any moment, and nobody halts the pipeline."""
        pipeline = self.running()
        if self.rng.random() < 0.8:
            self.source.put(next(self.files))
        time.sleep(self.rng.uniform(0, 1.5))
        killed = pipeline._runner.run
        killed.query.stop()
        failure = killed.failure()
        if failure is not None and is_transient(failure):
            # Stopped while a Python worker starts, Spark's query fails as if the worker were lost:
            # the pipeline cannot tell, and starts another query.
            pipeline.stop()
        self.pipeline = None

    def change(self):
        """Other queries, or those of some time ago; while it runs, or at the next start."""
        kind = self.rng.choice(["add", "remove", "replace", "back"])
        names = {query.name for query in self.queries}
        others = [query for query in QUERIES if query.name not in names]
        queries = list(self.queries)
        if kind == "add" and others:
            queries.append(self.rng.choice(others))
        elif kind == "remove" and len(queries) > 1:
            queries.pop(self.rng.randrange(len(queries)))
        elif kind == "back":
            queries = self.rng.choice(self.before)
        else:
            queries = self.rng.sample(QUERIES, self.rng.randint(1, 4))
        if self.pipeline is None:
            self.start(queries)
        else:
            self.pipeline.replace(queries)
            self.queries = queries
            self.before.append(queries)

    def note(self):
        """What the plans that count have promised, by the batches that were finished."""
        check = self.base / "check"
        commits = [int(p.name) for p in check.glob("spark/commits/[0-9]*")]
        last = max(commits, default=-1)
        plans = [json.loads(path.read_text()) for path in sorted(check.glob("muntin-*.json"))]
        ends = [plan["batch"] for plan in plans[1:]] + [last + 1]
        for plan, end in zip(plans, ends, strict=bool(plans)):
            end = min(end, last + 1)
            if end <= plan["batch"]:
                continue
            # A plan that counts is never written anew.
            known = self._plans.setdefault(plan["generation"], plan)
            assert known == plan, self.steps
            metadata = (check / "spark" / "offsets" / str(end - 1)).read_text().splitlines()[1]
            reached = json.loads(metadata)["batchWatermarkMs"] * MILLISECOND
            for name, first in plan["complete_from"].items():
                ranges = self.promised.setdefault(name, {})
                ranges[first] = max(ranges.get(first, reached), reached)

    def end(self):
        """Finish all, and compare."""
        self.batch()
        assert self.pipeline.status().late_rows == 0
        self.pipeline.stop()
        self.note()
        self.source.assert_read_in_order(self.base / "check")
        rows = 0
        for query in QUERIES:
            rows += self.compare(query)
        assert rows > 0
        assert not (self.base / "check" / "_owner.json").exists()
        return rows

    def compare(self, query):
        begin = "unix_micros(window.start)"
        ranges = [
            f"({begin} + {query.window.size} <= {until}"
            + ("" if first is None else f" AND {begin} >= {first}")
            + ")"
            for first, until in self.promised.get(query.name, {}).items()
        ]
        with run([query], self.source.batch()) as results:
            expected = results[query.name].where(" OR ".join(ranges or ["false"]))
            rows = expected.collect()
            folder = self.base / "out" / query.name
            data = list(folder.glob("part-*")) if folder.exists() else []
            assert data or not rows, (query.name, self.steps)
            if data:
                found = self.spark.read.schema(expected.schema).parquet(str(folder))
                found = self.spark.createDataFrame(found.collect(), expected.schema)
                assert_same(found, expected, f"{query.name} after {self.steps}", rows)
        return len(rows)


@pytest.mark.parametrize("seed", range(SEED, SEED + SEEDS))
@pytest.mark.slow
def test_faults(spark, tmp_path, monkeypatch, seed):
    settings = {
        "spark.sql.streaming.stateStore.minDeltasForSnapshot": "0",
        "spark.sql.streaming.minBatchesToRetain": "10000",
    }
    with frequent_snapshots(spark), configured(spark, settings):
        faults = Faults(spark, tmp_path, seed, monkeypatch)
        for _ in range(STEPS):
            faults.step()
        print(f"seed {seed}: {len(faults.steps)} steps, {faults.end()} rows")
