"""Windows that grow from a common begin equal what a user writes in plain Spark: an explode."""

import pytest
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

import muntin as mt
from muntin.spark.engine.settings import temporary_settings as configured
from tests.support.answers import TOLERANCE, plain
from tests.support.comparing import Pair, assert_pairs_equal

MINUTES = {"growing": (10, 1), "wide": (60, 20), "shifted": (15, 5)}
OFFSETS = {"growing": 0, "wide": 0, "shifted": 7}


@pytest.fixture(scope="module")
def events(spark) -> DataFrame:
    """Two types of time, nulls, times before 1970 and at a change of clocks, types only Spark
    combines."""
    return spark.sql("""
      SELECT IF(id % 19 = 0, NULL, timestamp_micros(at)) AS ts,
        IF(id % 19 = 0, NULL, TIMESTAMP_NTZ'1970-01-01' + INTERVAL '0.000001' SECOND * at) AS local,
        IF(id % 11 = 0, NULL, concat('d', id % 3)) AS device,
        IF(id % 7 = 0, NULL, CAST(id % 5 AS DOUBLE) / 4) AS temp, CAST(id % 9 AS INT) AS load,
        IF(id % 13 = 0, NULL, named_struct('a', id % 4)) AS nested
      FROM (SELECT id, element_at(array(0L, -3000000L, -86400000000L, 1710054000000000L),
        CAST(1 + id % 4 AS INT)) + (id * 37000000L) % 4000000000L AS at FROM range(400))""").cache()


def queries(time: str) -> list[mt.Query]:
    def query(name: str, **more) -> mt.Query:
        size, every = MINUTES[name.split("_")[0]]
        window = mt.cumulate(
            f"{size} minutes",
            every=f"{every} minutes",
            offset=f"{OFFSETS[name.split('_')[0]]} minutes",
        )
        return mt.Query(name=name, window=window, keys=["device"], time=time, **more)

    values = {
        "n": mt.count(),
        "total": mt.sum("load"),
        "mean": mt.avg("temp"),
        "top": mt.max("temp"),
    }
    sets = {
        "loads": mt.count_distinct("load"),
        "middle": mt.percentile("temp", [0.1, 0.5]),
        "usual": mt.mode("load"),
        "about": mt.approx_count_distinct("load"),
        "chosen": mt.max_by("load + 1", "load"),
    }
    return [
        query("growing", aggregates=values),
        query("wide", aggregates=values, where="load > 2 OR temp IS NULL", having="n > 1"),
        query("shifted", aggregates={**values, "spread": mt.stddev("temp"), **sets}),
        # Structs are combined by Spark itself.
        query("growing_nested", aggregates={"least": mt.min("nested"), "n": mt.count()}),
        mt.Query(
            name="five",
            window=mt.tumbling("5 minutes"),
            aggregates=values,
            keys=["device"],
            time=time,
        ),
    ]


def by_explode(frame: DataFrame, query: mt.Query) -> DataFrame:
    """The ends that hold each event, exploded, then grouped: with numbers, not with windows."""
    window = query.window
    micros = (
        F.unix_micros(query.time)
        if query.time == "ts"
        else F.expr("unix_micros(CAST(concat(CAST(local AS STRING), 'Z') AS TIMESTAMP))")
    )
    begin = micros - F.pmod(micros - F.lit(window.offset), F.lit(window.size))
    step = micros - F.pmod(micros - F.lit(window.offset), F.lit(window.slide))
    ends = F.sequence(step + window.slide, begin + window.size, F.lit(window.slide))

    def instant(name: str):
        at = F.timestamp_micros(name)
        return (
            at
            if query.time == "ts"
            else F.to_timestamp_ntz(F.to_utc_timestamp(at, "UTC").cast("string"))
        )

    rows = frame.where(f"{query.time} IS NOT NULL")
    rows = rows.where(query.where) if query.where else rows
    rows = rows.select("*", begin.alias("b"), F.explode(ends).alias("e"))
    answers = rows.groupBy("device", "b", "e").agg(
        *(F.expr(f"{aggregate.to_sql()} AS {name}") for name, aggregate in query.aggregates.items())
    )
    answers = answers.where(query.having) if query.having else answers
    bounds = F.struct(instant("b").alias("start"), instant("e").alias("end")).alias("window")
    return answers.select("device", bounds, *query.aggregates)


# The oracle reads local times in UTC.
@pytest.mark.parametrize(
    ("time", "zone"),
    [
        pytest.param("ts", "UTC", marks=pytest.mark.slow),
        ("ts", "America/New_York"),
        ("local", "UTC"),
    ],
)
def test_answers_are_those_of_an_explode(spark, events, time, zone):
    with configured(spark, {"spark.sql.session.timeZone": zone}):
        asked = queries(time)
        with mt.run(asked, events) as results:
            assert any(tree.combined_by_spark for tree in results.plan.trees)
            pairs = []
            for query in asked[:-1]:
                ours, exploded = results[query.name], by_explode(events, query)
                facts = {"actual": ours, "tolerance": TOLERANCE}
                pairs += [
                    Pair(name=f"{query.name} plain", expected=plain(query, events), **facts),
                    Pair(name=query.name, expected=exploded, strict=False, **facts),
                ]
            assert_pairs_equal(pairs)


def test_it_is_one_node_with_one_combine_a_slice(events):
    plan = mt.plan(queries("ts")[:1], rate=1000, keys=3)
    (tree,) = plan.trees
    (node,) = tree.nodes
    assert {name for names in node.techniques for name in names} == {"recalc"}
    assert "10 minutes growing every 1 minute" in plan.explain()
    assert "<svg" in plan.to_svg()
