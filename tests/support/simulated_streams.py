"""What Spark does with a running plan, in a few lines: slices, watermark, eviction, timers.

A stand-in for the engine, so that changes of queries can be tried by the thousand. The same on
Spark itself is tested in tests/spark.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import pyarrow as pa

from muntin.model.aggregates.table import INTEGER
from muntin.model.plan import Plan, Tree
from muntin.model.query import Query, workload
from muntin.runtime.columns.layout import slots_of
from muntin.runtime.state.bucket import BucketRuntime, BucketState
from muntin.runtime.stream_plan.change_plan import changed, first_start
from muntin.runtime.stream_plan.stream_plan import Needs, StreamPlan
from muntin.share.evolve.pin_running_queries import pinned
from muntin.share.evolve.replan import Replanner
from muntin.share.on_slices import on_slices
from muntin.share.optimizer import optimize

Event = tuple[str, int, int | None]


class Memory:
    """A store of runs that can be copied, as Spark's is when a batch is cut off."""

    def __init__(self):
        self.data = {}

    def read(self, number):
        return self.data[number]

    def write(self, number, data):
        assert number not in self.data
        self.data[number] = data

    def remove(self, number):
        del self.data[number]


def needs_of(plan: Plan) -> list[Needs]:
    return [
        Needs(
            keys=("text",) * len(tree.grouping.keys),
            numbers={c: INTEGER for a in tree.aggregates for c in a.components},
        )
        for tree in plan.trees
    ]


@dataclass
class Bucket:
    store: Memory = field(default_factory=Memory)
    state: bytes | None = None
    timers: set[int] = field(default_factory=set)


class Engine:
    """Batches of (key, time, value) through a running plan; answers by query."""

    def __init__(
        self,
        queries: Iterable[Query],
        *,
        strategy: str,
        delay: int,
        retain: int,
        buckets: int,
        form: Callable[[Plan], Plan] = on_slices,
    ) -> None:
        plan = form(optimize(workload(queries), strategy))
        self._replanner = Replanner(plan)
        self.running: StreamPlan = first_start(
            plan,
            needs_of(plan),
            buckets=tuple(range(buckets)),
            delay=delay,
            retain=retain,
            ansi=False,
            spare=9,
        )
        self._open: dict[tuple[int, str, int, int], dict[str, int | None]] = {}
        self._buckets = [Bucket() for _ in range(buckets)]
        # The watermark of the next batch, and of the last one.
        self.watermark: int | None = None
        self._before: int | None = None
        self.late = 0
        self.answers: dict[str, list[tuple]] = {}

    def change(self, queries: Iterable[Query]) -> None:
        plan = pinned(self._replanner.plan(workload(queries)), self.running.plan)
        self.running = changed(
            self.running, plan, needs_of(plan), watermark=self.watermark, given=self._before
        )

    def batch(self, events: list[Event]) -> None:
        now = self.watermark or 0
        for event in events:
            self._cut(*event)
        arrived = self._evict(now)
        for number, bucket in enumerate(self._buckets):
            if number in arrived:
                self._step(bucket, arrived[number], now)
            fired = {timer for timer in bucket.timers if timer <= now}
            bucket.timers -= fired
            for _ in fired:
                self._step(bucket, {}, now)
        self._before = now
        latest = max((t for _, t, _ in events), default=None)
        if latest is not None:
            reached = latest // 1000 * 1000 - self.running.delay
            self.watermark = max(now, reached)
        elif self.watermark is None:
            self.watermark = 0

    def _cut(self, key: str, time: int, value: int | None) -> None:
        for lane in self.running.lanes:
            edges = lane.tree.slicing.edges
            start = time - min((time - one.phase) % one.period for one in edges)
            end = lane.tree.slicing.edge_from(time + 1)
            if end <= (self._before or 0):
                self.late += 1
                continue
            # Columns that a lane does not use stay as they are, whoever used them before.
            kept = self._open.setdefault((lane.number, key, start, end), {})
            for one in lane.held:
                kind = one.component.kind
                old = kept.get(one.name)
                if kind == "count":
                    new = (old or 0) + 1
                elif value is None:
                    new = old
                elif kind == "sum":
                    new = (old or 0) + value
                else:
                    new = value if old is None else max(old, value)
                kept[one.name] = new

    def _evict(self, now: int) -> dict[int, dict[int, pa.Table]]:
        gone = [place for place in self._open if place[3] <= now]
        lanes = {lane.number: lane for lane in self.running.lanes}
        slots = {one.name for lane in self.running.lanes for one in lane.held}
        grouped: dict[tuple[int, int], list] = {}
        for place in gone:
            number, key, start, _ = place
            values = self._open.pop(place)
            if number in lanes:
                bucket = sum(key.encode()) % len(self._buckets)
                grouped.setdefault((bucket, number), []).append((key, start, values))
        found: dict[int, dict[int, pa.Table]] = {}
        for (bucket, number), rows in grouped.items():
            columns = {
                **{slot: pa.array([row[0] for row in rows]) for slot in lanes[number].key_slots},
                "start": pa.array([row[1] for row in rows], pa.int64()),
                **{s: pa.array([row[2].get(s) for row in rows], pa.int64()) for s in slots},
            }
            found.setdefault(bucket, {})[number] = pa.table(columns)
        return found

    def _step(self, bucket: Bucket, arrived: dict[int, pa.Table], now: int) -> None:
        state = BucketState() if bucket.state is None else BucketState.from_bytes(bucket.state)
        if not arrived and state.given is not None and state.given >= now:
            return
        lanes = [
            one.at_run_time(ansi=False, retain=self.running.retain) for one in self.running.lanes
        ]
        runtime = BucketRuntime(lanes, bucket.store, state)
        for number, answers in runtime.step(arrived, now):
            lane = next(one for one in lanes if one.number == number)
            self._take(lane.tree, lane.layout, answers)
        bucket.state = runtime.state.to_bytes()
        due = runtime.due()
        if due is not None:
            bucket.timers.add(-(-due // 1000) * 1000)

    def _take(self, tree: Tree, layout, answers: pa.RecordBatch) -> None:
        for row in answers.to_pylist():
            node = tree.nodes[row["node"]]
            slots = dict(zip(node.aggregates, slots_of(node, layout), strict=True))
            for name in node.queries:
                query = self.running.plan.query(name)
                first = self.running.complete_from[name]
                if first is None or row["begin"] >= first:
                    values = [row[slots[one][0]] for one in query.aggregates.values()]
                    key = row[layout.key_columns[0]]
                    self.answers.setdefault(name, []).append((key, row["begin"], *values))
