"""Queries of data windows for streams, and what batch answers for all that have closed."""

import muntin as mt
from muntin.api.batch import run
from muntin.model.data_windows import Session
from tests.support.answers import assert_same
from tests.support.record_windows import is_timed
from tests.support.user_aggregates import FIRST, LastFive, Loads

AGGREGATES = {
    "n": mt.count(),
    "hot": mt.max("temp"),
    "mean": mt.avg("temp"),
    "total": mt.sum("load + 0L"),
    "odd": mt.Aggregate(function="count", where="load % 2 = 1"),
    "word": mt.min("concat('é', load, device)"),
    "price": mt.sum("CAST(load AS DECIMAL(12, 2))"),
    "day": mt.max("CAST(ts AS DATE)"),
    "at": mt.max("ts"),
    "since": mt.min("ts - TIMESTAMP '2023-11-14 00:00:00'"),
    "chosen": mt.max_by("load + 1L", "load"),
    "least": mt.min_by("concat('é', load % 7)", "concat('é', load)", where="load > 1"),
}
VALUES = {
    "loads": mt.count_distinct("load"),
    "pairs": mt.count_distinct("load", "temp"),
    "sum_loads": mt.sum_distinct("load", where="temp > 0"),
    "p90": mt.percentile("temp", 0.9),
    "usual": mt.mode("concat('é', load)"),
    "about": mt.approx_count_distinct("load"),
    "words": mt.listagg("concat('é', load)", ", ", "DESC"),
    "bits": mt.bitmap_construct_agg("abs(load % 1000)"),
    "counts": mt.count_min_sketch("device", 0.5, 0.9, 1),
    "ranks": mt.kll_sketch_agg_bigint("load", 8),
    "top": mt.approx_top_k("concat('é', load)", 2),
    "state": mt.approx_top_k_accumulate("temp", 9, where="load > 1"),
    "theta": mt.theta_sketch_agg("load"),
}


def query(name, window, **parts):
    given = {"aggregates": AGGREGATES, "time": "ts", "keys": ["device"], **parts}
    return mt.Query(name=name, window=window, **given)


HALVES = mt.threshold(
    "load > 2",
    inside=mt.hopping("20 seconds", every="10 seconds"),
    outside=mt.hopping("40 seconds", every="20 seconds"),
)
SESSIONS = query("sessions", mt.session("4 seconds"))
LONG = query("long sessions", mt.session("11 seconds"), where="load > 1", having="n > 1")
COUNTS = query("counts", mt.count_window(5, every=2))
RECORDS = [
    COUNTS,
    query("punctuation", mt.punctuation("load = 1")),
    query("landmark", mt.landmark("load = 1", end="load = 3")),
    query("for a while", mt.landmark("load = 1", end="5 seconds")),
    query("delta", mt.delta("unix_seconds(ts)", 10, every=5)),
    query("threshold", HALVES),
    query(
        "class",
        mt.custom(Loads, columns=["load", "temp", "device"]),
        aggregates={**AGGREGATES, **VALUES},
    ),
    query("last five", mt.custom(LastFive), aggregates={**AGGREGATES, **VALUES}),
]
# Their sets are made record by record, so they have no grains. A batch leaves sessions with several
# DISTINCT to Spark, which counts them otherwise, so that they are in no batch to compare with, and
# sessions with sketches that are Spark's within an error.
SETS = query(
    "sets of sessions",
    mt.session("4 seconds"),
    aggregates={
        **{
            name: each
            for name, each in VALUES.items()
            if name not in ("pairs", "sum_loads") and not each.definition.is_approximate
        },
        "n": mt.count(),
    },
)


OWN = query(
    "own",
    mt.hopping("20 seconds", every="10 seconds"),
    aggregates={"first": FIRST, "n": mt.count()},
)
FOUND = [SESSIONS, COUNTS, *RECORDS[-2:]]


def released(one, watermark):
    """The instant before which all records have been seen."""
    if isinstance(one.window, Session):
        (tree,) = mt.plan(one).data_trees
        merged = tree.grains
        watermark -= 0 if merged is None else watermark % merged.edges[0].period
    return watermark


def assert_streamed(found, one, data, watermark, grain=None, since=None) -> int:
    """`found` has every window that has closed, as batch has it; gives how many there are.

    `grain` is that of sessions; without it, that of the query alone.
    """
    until = released(one, watermark)
    if grain is not None:
        until = watermark - watermark % grain
    compare = "<=" if is_timed(one.window) else "<"
    with run([one], data) as results:
        expected = results[one.name].where(f"unix_micros(window.end) {compare} {until}")
        if since is not None:
            expected = expected.where(f"unix_micros(window.start) >= {since}")
        rows = expected.collect()
        assert_same(found, expected, one.name, rows)
    return len(rows)
