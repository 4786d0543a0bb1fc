"""What Spark does with a running plan, in a few lines: slices, watermark, state.

A stand-in for the engine, so that changes of queries can be tried by the thousand. The same on
Spark itself is tested in tests/spark.
"""

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import pyarrow as pa

from muntin.aggregates.representations import INTEGER
from muntin.model.plan import Plan
from muntin.model.query import Query
from muntin.model.trees import PeriodicTree
from muntin.model.workload import PlanOptions, workload
from muntin.optimizer.optimize import optimize
from muntin.optimizer.plan_for_stream import plan_for_stream
from muntin.optimizer.replan import PlanChange, Replanner
from muntin.optimizer.transitions import move_queries, pin_queries
from muntin.runtime.state import level_store
from muntin.runtime.state.bucket import BucketRuntime, BucketState
from muntin.runtime.state.figures import count_late
from muntin.runtime.state.stream_tree import EVENTS, START
from muntin.runtime.storage.layout import slots_of
from muntin.runtime.stream_plan.change_plan import change_plan, first_start
from muntin.runtime.stream_plan.stored_tree import Needs
from muntin.runtime.stream_plan.stream_plan import StreamPlan


def many_levels(monkeypatch) -> None:
    """Plan a level wherever one can be, however short the windows are, and merge segments soon."""
    for name, value in {"_MANY": 2, "_FAN": 2, "_SHARE": 2.0, "_FEW": 0}.items():
        monkeypatch.setattr(f"muntin.optimizer.plan_for_stream.{name}", value)
    monkeypatch.setattr(level_store, "FAN", 2)
    monkeypatch.setattr(level_store, "PARTS", 3)


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


class Engine:
    """Batches of (key, time, value) through a running plan; answers by query."""

    def __init__(
        self,
        queries: Iterable[Query],
        *,
        strategy: str,
        slicing: str | None = None,
        delay: int,
        retain: int,
        buckets: int,
        form: Callable[[Plan], Plan] = plan_for_stream,
    ) -> None:
        self._options = PlanOptions(approximate=True, slicing=slicing)
        plan = form(optimize(workload(queries, options=self._options), strategy))
        self._replanner = Replanner(plan)
        self.running: StreamPlan = first_start(
            plan,
            needs_of(plan),
            buckets=tuple(range(buckets)),
            delay=delay,
            retain=retain,
            ansi=False,
        )
        self._buckets = [Bucket() for _ in range(buckets)]
        # The watermark of the next batch, and of the last one.
        self.watermark: int | None = None
        self._before: int | None = None
        self.late: Counter[str] = Counter()
        self.answers: dict[str, list[tuple]] = {}

    def change(self, queries: Iterable[Query], strategy: str | None = None) -> None:
        """Go on with other queries; with a strategy, they move where it puts them."""
        work = workload(queries, options=self._options)
        names = {query.name for query in work.queries}
        leaving = {
            alias
            for alias in self.running.not_done(self._before)
            if self.running.user_name(alias) in names
        }
        planned = self._replanner.plan(work)
        if strategy is not None:
            planned = PlanChange(plan=plan_for_stream(optimize(work, strategy)), moves=True)
            self._replanner = Replanner(planned.plan)
        if planned.moves:
            mark = f"leaving {self.running.generation}"
            found = move_queries(planned.plan, self.running.plan, leaving, mark=mark)
        else:
            found = pin_queries(planned.plan, self.running.plan, leaving)
        self.running = change_plan(
            self.running,
            found.plan,
            needs_of(found.plan),
            watermark=self.watermark,
            given=self._before,
            moved=found.moved,
        )

    def batch(self, events: list[Event]) -> None:
        now = self.watermark or 0
        arrived = self._cut(events)
        for number, bucket in enumerate(self._buckets):
            self._step(bucket, arrived.get(number, {}), now)
        self._before = now
        latest = max((t for _, t, _ in events), default=None)
        if latest is not None:
            reached = latest // 1000 * 1000 - self.running.delay
            self.watermark = max(now, reached)
        elif self.watermark is None:
            self.watermark = 0

    def _cut(self, events: list[Event]) -> dict[int, dict[int, pa.Table]]:
        """The slices of a batch, by bucket and tree."""
        cut: dict[int, dict[int, pa.Table]] = {}
        for stored in self.running.trees:
            slices: dict[tuple[str, int], list[int | None]] = {}
            for key, time, value in events:
                edges = stored.tree.slicing.edges
                start = time - min((time - each.phase) % each.period for each in edges)
                slices.setdefault((key, start), []).append(value)
            for bucket in range(len(self._buckets)):
                here = {
                    place: values
                    for place, values in slices.items()
                    if sum(place[0].encode()) % len(self._buckets) == bucket
                }
                columns = {name: pa.array([key for key, _ in here]) for name in stored.key_columns}
                columns[START] = pa.array([start for _, start in here], pa.int64())
                layout = stored.at_run_time(ansi=False, retain=0).layout
                for each in stored.components:
                    if each.component.is_set_of_values:
                        columns |= _sets(layout.of(each.component).columns, list(here.values()))
                        continue
                    partials = [_partial(each.component.kind, values) for values in here.values()]
                    columns[each.name] = pa.array(partials, pa.int64())
                columns[EVENTS] = pa.array([len(values) for values in here.values()], pa.int64())
                if here:
                    cut.setdefault(bucket, {})[stored.number] = pa.table(columns)
        return cut

    def _step(self, bucket: Bucket, arrived: dict[int, pa.Table], now: int) -> None:
        state = BucketState() if bucket.state is None else BucketState.from_bytes(bucket.state)
        trees = [
            each.at_run_time(ansi=False, retain=self.running.retain) for each in self.running.trees
        ]
        runtime = BucketRuntime(trees, bucket.store, state)
        for (number, node), late in count_late(arrived, trees, runtime.given).items():
            tree = next(each.tree for each in trees if each.number == number)
            for name in set(tree.nodes[node].queries) - set(self.running.leaving):
                self.late[name] += late
        for number, answers in runtime.step(arrived, now):
            running = next(each for each in trees if each.number == number)
            self._take(running.tree, running.layout, answers)
        bucket.state = runtime.state.to_bytes()

    def _take(self, tree: PeriodicTree, layout, answers: pa.RecordBatch) -> None:
        for row in answers.to_pylist():
            node = tree.nodes[row["node"]]
            slots = dict(zip(node.aggregates, slots_of(node, layout), strict=True))
            for name in node.queries:
                query = self.running.plan.query(name)
                first, until = self.running.limits(name)
                begin = row["begin"]
                if (first is None or begin >= first) and (until is None or begin < until):
                    values = [row[slots[one][0]] for one in query.aggregates.values()]
                    key = row[layout.key_columns[0]]
                    called = self.running.user_name(name)
                    self.answers.setdefault(called, []).append((key, begin, *values))


def _sets(names: tuple[str, ...], values: list[list[int | None]]) -> dict[str, pa.Array]:
    """The distinct values of each slice, and how often they occur if there are two columns."""
    bags = [Counter(value for value in row if value is not None) for row in values]
    lists = [[list(bag) for bag in bags], [list(bag.values()) for bag in bags]]
    return {name: pa.array(lists[index], pa.list_(pa.int64())) for index, name in enumerate(names)}


def _partial(kind: str, values: list[int | None]) -> int | None:
    present = [value for value in values if value is not None]
    if kind == "count":
        return len(values)
    if not present:
        return None
    return sum(present) if kind == "sum" else max(present)
