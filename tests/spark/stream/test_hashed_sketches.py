"""Streams of theta and HyperLogLog sketches: Spark's bytes and numbers, after a restart, too."""

import pytest

import muntin as mt
from tests.support.streams import Input, at, events, joined, plain

TEXT = "concat_ws('é', device, site, load, second(ts))"
# Sketches of one value.
THETA = "unhex(concat('01030300003ACC93010203040506071', load % 10))"
HLL = "unhex(concat('0201070C0308010899FFF', load % 10, '04'))"
SKETCHES = {
    "values": mt.theta_sketch_agg("temp"),
    "texts": mt.theta_sketch_agg(TEXT, 4),
    "rare": mt.theta_sketch_agg("load", where="temp < 0"),
    "union": mt.theta_union_agg(THETA),
    "common": mt.theta_intersection_agg(THETA, where="load > 1"),
    "hll": mt.hll_sketch_agg(TEXT),
    "few": mt.hll_sketch_agg("load", where="temp < 0"),
    "hlls": mt.hll_union_agg(HLL),
}
# Windows have so few values that estimates are exact.
TOLD = [
    f"hll_sketch_estimate({name}) AS {name}" if "hll" in each.function else name
    for name, each in SKETCHES.items()
]


def query(name, window):
    return mt.Query(name=name, window=window, aggregates=SKETCHES, keys=["device"], time="ts")


HOPS = query("hops", mt.hopping("100 seconds", every="50 seconds"))
LATER = query("later", mt.hopping("150 seconds", every="50 seconds"))
SESSIONS = query("sessions", mt.session("4 seconds"))


@pytest.mark.slow
def test_sketches_after_a_restart_and_in_a_query_that_is_added(spark, tmp_path):
    source, out = Input(spark, tmp_path / "in"), tmp_path / "out"
    made = events(31, files=6)
    source.put(joined(made[:3]))
    about = {"checkpoint": tmp_path / "check", "sink": out}
    about["options"] = mt.StreamOptions(buckets=1, approximate=True)
    with mt.start([HOPS, SESSIONS], source.stream(), **about) as pipeline:
        pipeline.process_all_available()
    source.put(joined(made[3:]))
    with mt.start([HOPS, SESSIONS, LATER], source.stream(), **about) as pipeline:
        pipeline.process_all_available()
        watermark = at(pipeline.status().watermark)
        since = pipeline.complete_from["later"]
    begin, end = "unix_micros(window.start)", "unix_micros(window.end)"
    columns = ["device", f"{begin} AS begin", f"{end} AS end", *TOLD]
    for each, first in ((HOPS, 0), (LATER, since), (SESSIONS, 0)):
        found = spark.read.parquet(str(out / each.name)).selectExpr(*columns)
        # Not filtered by Spark, which would filter each event's session before it merges them.
        expected = [
            row
            for row in plain(each, source.batch()).selectExpr(*columns).collect()
            if row.begin >= first and row.end <= watermark
        ]
        assert len(expected) > 3
        assert sorted(map(repr, found.collect())) == sorted(map(repr, expected))
