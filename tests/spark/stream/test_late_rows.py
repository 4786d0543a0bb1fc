"""Late rows: a stream's answers are those of Spark's own streaming queries on the same batches."""

import pytest

from muntin.aggregates.aggregate import count, max_, sum_
from muntin.aggregates.user_aggregate import aggregate
from muntin.api.stream import start
from muntin.model.query import Query
from muntin.model.windows import cumulate, hopping, tumbling
from muntin.optimizer.strategies import STRATEGIES
from muntin.spark.pipeline.stream_options import StreamOptions
from tests.support.answers import assert_same
from tests.support.streams import (
    DELAY,
    MINUTE,
    SITES,
    SLIDE,
    Input,
    events,
    plain_streams,
    with_late_rows,
)

HOUR = Query(
    name="hour",
    window=hopping("1 hour", every="10 minutes"),
    aggregates={"n": count(), "top": max_("temp")},
    keys=["device"],
    time="ts",
)
ALL = Query(
    name="all",
    window=tumbling("5 minutes"),
    aggregates={"n": count(), "s": sum_("load")},
    time="ts",
)
GROWING = Query(
    name="growing",
    window=cumulate("10 minutes", every="30 seconds"),
    aggregates={"n": count(), "top": max_("temp")},
    keys=["device"],
    time="ts",
)


def plus(a, b):
    return a + b


# An aggregate of the user's own, and what is the same to Spark.
OWN, OWN_TO_SPARK = (
    Query(
        name="own",
        window=hopping("20 minutes", every="5 minutes"),
        aggregates={"s": own_or_spark},
        keys=["device"],
        time="ts",
    )
    for own_or_spark in (aggregate("load", plus, float, 0), sum_("coalesce(double(load), 0D)"))
)
TO_SPARK = [MINUTE, SLIDE, SITES, HOUR, ALL, OWN_TO_SPARK]
QUERIES = [*TO_SPARK[:-1], OWN]


@pytest.fixture(scope="module")
def late(spark, tmp_path_factory):
    """A source with late rows, and what Spark's own queries answer."""
    base = tmp_path_factory.mktemp("late")
    source = Input(spark, base / "in")
    made = with_late_rows(events(71, files=5, rows=160), 5)
    source.put(*made)
    return source, made, plain_streams(spark, TO_SPARK, source, base / "plain")


def grown(made):
    """The answers of windows that grow, batch by batch: Spark has none in a stream.

    A row counts for every window that the watermark of the batch before has not passed.
    """
    window, held = GROWING.window, {}
    passed = watermark = latest = 0
    for batch in made:
        for row in batch:
            a = window.first_after(row["t"] - window.size)
            while window.start_of(a) <= row["t"]:
                if a + window.size > passed:
                    held.setdefault((row["device"], a), []).append(row["temp"])
                a += window.slide
        latest = max([latest, *(row["t"] for row in batch)])
        passed, watermark = watermark, max(watermark, (latest - DELAY) // 1000 * 1000)
    return sorted(
        (
            (
                device,
                window.start_of(a),
                a + window.size,
                len(temps),
                max(filter(is_value, temps), default=None),
            )
            for (device, a), temps in held.items()
            if a + window.size <= watermark
        ),
        key=repr,
    )


def is_value(temp):
    return temp is not None


def assert_grown(pipeline, made):
    rows = pipeline.answers("growing").selectExpr(
        "device", "unix_micros(window.start)", "unix_micros(window.end)", "n", "top"
    )
    assert sorted(map(tuple, rows.collect()), key=repr) == grown(made)
    status = pipeline.status().queries["growing"]
    assert 0 < status.late_rows < sum(map(len, made))
    assert status.last_window == max(row[1] for row in grown(made))


def assert_plain(pipeline, answers):
    for query in TO_SPARK:
        rows = answers[query.name].collect()
        assert len(rows) > 0
        assert_same(pipeline.answers(query.name), answers[query.name], query.name, rows)


@pytest.mark.long
def test_every_row_counts_for_the_windows_that_are_open(late, tmp_path):
    source, made, answers = late
    queries = [*QUERIES, GROWING]
    with start(
        queries, source.stream(), checkpoint=tmp_path / "check", options=StreamOptions(buckets=3)
    ) as pipeline:
        pipeline.process_all_available()
        assert_plain(pipeline, answers)
        assert_grown(pipeline, made)
        status = pipeline.status()
    late_rows = {name: query.late_rows for name, query in status.queries.items()}
    assert 0 < late_rows["hour"] < late_rows["own"] <= late_rows["minute"]
    assert late_rows["minute"] <= status.late_rows < sum(map(len, made))
    # Rows went to coarser levels, too, and the status says what they keep.
    tree, _ = pipeline.plan.find_node("hour")
    kept = {each.level: each for each in status.levels if "hour" in each.queries}
    stacks = ["two stacks"] if any(node.has_stacks for node in tree.nodes) else []
    assert list(kept) == ["slices", *map(str, tree.levels), *stacks]
    assert tree.levels
    # A batch that closes very many windows drops the stacks.
    for name in stacks:
        del kept[name]
    assert all(each.rows > 0 and each.bytes > 8 * each.rows for each in kept.values())
    assert status.combines > 0


@pytest.mark.slow
@pytest.mark.parametrize("strategy", sorted(STRATEGIES))
def test_under_every_strategy(late, tmp_path, strategy):
    source, _, answers = late
    with start(
        QUERIES,
        source.stream(),
        checkpoint=tmp_path / "check",
        options=StreamOptions(strategy=strategy, buckets=2),
    ) as pipeline:
        pipeline.process_all_available()
        assert_plain(pipeline, answers)
