"""Results: one pass, kept while it is needed, in every form that they can be had."""

import os
from dataclasses import replace

import pytest
from pyspark.errors import ArithmeticException
from pyspark.sql.functions import col, window, window_time

from muntin.aggregates.aggregate import avg, count, max_, min_, sum_
from muntin.api.batch import run
from muntin.errors import PlanError, RunError
from muntin.model.query import Column, Query
from muntin.model.windows import hopping, tumbling
from muntin.model.workload import workload
from muntin.optimizer.optimize import optimize
from muntin.optimizer.plan_for_stream import plan_for_stream
from muntin.spark.engine.settings import temporary_settings as configured
from tests.support.answers import assert_equal_answers, assert_same, plain
from tests.support.executed_plans import counting_rows, scans, stored_frames

MINUTE = Query(
    name="minute",
    window=tumbling("1 minute"),
    aggregates={"hottest": max_("temp")},
    keys=["device"],
    time="ts",
)
SLIDE = Query(
    name="slide",
    window=hopping("100 seconds", every="30 seconds"),
    aggregates={"mean": avg("temp"), "n": count()},
    keys=["device"],
    time="ts",
    having="n > 2",
)
WORDS = Query(
    name="words",
    window=tumbling("1 minute"),
    aggregates={"last": max_("array(state)"), "n": count()},
    keys=["device"],
    time="ts",
)
ALL = [MINUTE, SLIDE, WORDS]


@pytest.fixture(scope="module")
def stored(readings, tmp_path_factory):
    path = str(tmp_path_factory.mktemp("readings") / "parquet")
    readings.write.parquet(path)
    return readings.sparkSession.read.parquet(path)


@pytest.fixture
def counted(readings):
    """The readings, and a counter of how many rows were ever read from them."""
    return counting_rows(readings)


def test_a_tree_scans_its_source_once(stored):
    queries = [MINUTE, SLIDE]
    results = run(queries, stored)
    assert scans(results.together()) == 1
    results = run(queries, stored, strategy="unshared")
    assert scans(results.together()) == 2


def test_one_pass_serves_several_answers_until_released(counted):
    frame, seen = counted
    with stored_frames() as kept:
        with run(ALL, frame) as results:
            for name in results:
                results[name].collect()
            assert seen.value == 900
            assert kept() > 0
        assert kept() == 0
    assert results["minute"].count() > 0


def test_one_answer_alone_does_not_compute_the_others(stored):
    with run([MINUTE, SLIDE], stored) as results:
        frame = results["minute"]
        frame.collect()
        plan = frame._jdf.queryExecution().executedPlan()
        made = _rows_from_python(plan)
        assert made == frame.count()


def _rows_from_python(plan) -> int:
    """Rows that the runtime gave out, by Spark's own metric."""
    if plan.getClass().getSimpleName() == "AdaptiveSparkPlanExec":
        return _rows_from_python(plan.executedPlan())
    if plan.getClass().getSimpleName().endswith("QueryStageExec"):
        return _rows_from_python(plan.plan())
    if plan.getClass().getSimpleName() == "MapInArrowExec":
        return plan.metrics().apply("pythonNumRowsReceived").value()
    children = plan.children()
    return sum(_rows_from_python(children.apply(i)) for i in range(children.length()))


def test_answers_under_every_strategy_equal_sparks(readings):
    for strategy in ("shared", "unshared"):
        with run(ALL, readings, strategy=strategy) as results:
            assert_equal_answers(results, readings)


def test_a_plan_runs_as_it_is(readings):
    plan = optimize(workload(ALL), "unshared")
    with run(plan, readings) as results:
        assert results.plan.strategy == "unshared"
        assert [tree.queries for tree in results.plan.trees] == [
            tree.queries for tree in plan.trees
        ]
        assert list(results) == ["minute", "slide", "words"]
        assert len(results) == 3
        assert_equal_answers(results, readings)


def hops(name, **aggregates):
    window = hopping("200 seconds", every="30 seconds")
    return Query(name=name, window=window, aggregates=aggregates, keys=["device"], time="ts")


TOTALS = hops("totals", load=sum_("load"), temp=sum_("temp"), mean=avg("temp"))


def test_the_plan_that_ran_names_the_techniques_for_the_types_of_its_data(readings):
    plan = optimize(workload([TOTALS]), "shared")
    assert plan.find_node("totals")[1].techniques == (
        ("two_stacks_lite",),
        ("two_stacks_lite",),
        ("two_stacks_lite", "subtract"),
    )
    with run(plan, readings) as results:
        # Integers can be taken out again exactly.
        assert results.plan.find_node("totals")[1].techniques == (
            ("subtract",),
            ("two_stacks_lite",),
            ("two_stacks_lite", "subtract"),
        )
        assert "sum(load) by subtract" in results.plan.to_svg()
        assert_equal_answers(results, readings)


def test_the_plan_that_ran_says_what_spark_does(readings):
    queries = [*ALL, TOTALS, hops("price", mean=avg("price"))]
    with run(workload(queries, keys=100_000), readings, strategy="shared") as results:
        (tree,) = results.plan.trees
        assert tree.combined_by_spark == ("words",)
        _, node = results.plan.find_node("words")
        assert dict(zip(map(str, node.aggregates), node.techniques, strict=True)) == {
            "max(temp)": ("recalc",),
            "max(array(state))": ("spark",),
            "count(*)": ("recalc",),
        }
        assert tree.time_part is None
        assert tree.slicing_pass is None
        told = " ".join(results.plan.explain().split())
        assert "merged by Spark, as the compiled runtime does not take their types: words" in told
        assert "└─ price avg(price) is decimal(14,6), which Spark rounds once" in told
    with run(workload([TOTALS], keys=1), readings) as results:
        (tree,) = results.plan.trees
        assert tree.time_part is not None
        assert "few keys: split by time" in results.plan.explain()
        # A stream does nothing of that.
        (streamed,) = plan_for_stream(results.plan).trees
        assert (streamed.combined_by_spark, streamed.time_part) == ((), None)
    with run([MINUTE], readings) as results:
        assert "in a batch Spark alone answers it" in results.plan.explain()


def test_the_plan_that_ran_costs_what_runs(readings):
    price = hops("price", mean=avg("price"))
    with run([MINUTE, SLIDE, price], readings, strategy="shared") as results:
        # Its types leave it to Spark, in this plan and in plain Spark.
        assert results.plan.query("price").window == price.window
        assert results.plan.cost_of_plain > 0
        with run([MINUTE, SLIDE], readings, strategy="shared") as others:
            more = results.plan.cost - others.plan.cost
            assert more == pytest.approx(results.plan.plain_cost - others.plan.plain_cost)
            assert more == pytest.approx(results.plan.cost_of_plain)
        assert "1k events/s (assumed) and 1 key (assumed)" in results.plan.explain()
        measured = results.explain()
        assert "2 of 3 queries share; 2 scans instead of 3" in measured
        assert "(assumed)" not in measured


def test_results_show_themselves_in_short(readings):
    with run([MINUTE, SLIDE, hops("<price>", mean=avg("price"))], readings) as results:
        told = "2 of 3 queries share; 2 scans instead of 3"
        assert repr(results) == f"<Results of minute, slide, <price>: {told}>"
        assert repr(results.plan) == f"<Plan by auto: {told}>"
        html = results._repr_html_()
        assert "<td style='text-align:left'>&lt;price&gt;</td>" in html
        assert "by Spark alone: avg(price) is decimal(14,6)" in html
    many = [replace(MINUTE, name=f"m{number}") for number in range(7)]
    with run(many, readings) as results:
        assert repr(results).startswith("<Results of m0, m1, m2, m3, m4 and 2 more: 7 of 7 ")


def test_a_forced_technique_answers_as_spark_does(readings):
    for technique in ("two_stacks", "daba_lite"):
        with run([MINUTE, TOTALS], readings, technique=technique) as results:
            named = {name for one in results.plan.find_node("totals")[1].techniques for name in one}
            assert named == {technique}
            assert_equal_answers(results, readings)
    with run([hops("loads", load=sum_("load"))], readings, technique="subtract") as results:
        assert_equal_answers(results, readings)
    with pytest.raises(PlanError, match=r"subtract cannot serve sum\(temp\)"):
        run([hops("temps", temp=sum_("temp"))], readings, technique="subtract")


def test_equal_queries_are_computed_once(readings):
    again = Query(
        name="again",
        window=tumbling("60 seconds"),
        aggregates={"top": max_("temp")},
        keys=["device"],
        time="ts",
    )
    with run([MINUTE, again], readings) as results:
        (tree,) = results.plan.trees
        (node,) = tree.nodes
        assert node.queries == ("minute", "again")
        assert len(node.aggregates) == 1
        assert_equal_answers(results, readings)
        long = results.together()
        assert long.where("query = 'again'").count() == long.where("query = 'minute'").count() > 0


def test_keys_in_another_order_share_a_tree(readings):
    one = Query(
        name="a",
        window=tumbling("1 minute"),
        aggregates={"n": count()},
        keys=["device", "load"],
        time="ts",
    )
    two = Query(
        name="b",
        window=tumbling("2 minutes"),
        aggregates={"n": count()},
        keys=["load", "device"],
        time="ts",
    )
    with run([one, two], readings, strategy="shared") as results:
        assert len(results.plan.trees) == 1
        assert results["a"].columns == ["device", "load", "window", "n"]
        assert results["b"].columns == ["load", "device", "window", "n"]
        assert_equal_answers(results, readings)


def test_keys_keep_their_metadata_and_whether_they_may_be_null(readings):
    minutes = readings.groupBy("device", window("ts", "1 minute")).agg({"temp": "max"})
    data = minutes.selectExpr(
        "coalesce(device, 'none') AS device", "window AS minute", "window.start AS ts"
    )
    keys = {"by both": ["device", "minute"], "by device": ["device"], "all": []}
    queries = [
        Query(
            name=f"{name} {size}",
            window=tumbling(size),
            aggregates={"n": count()},
            keys=names,
            time="ts",
        )
        for name, names in keys.items()
        for size in ("2 minutes", "5 minutes")
    ]
    with run(queries, data, strategy="shared") as results:
        assert_equal_answers(results, data)
        device, minute = results["by both 2 minutes"].schema.fields[:2]
        assert not device.nullable
        assert minute.metadata == {"spark.timeWindow": True}


def test_columns_come_as_asked_and_can_be_computed(readings):
    query = Query(
        name="spread",
        window=tumbling("1 minute"),
        aggregates={"top": max_("temp"), "low": min_("temp")},
        keys=["device"],
        time="ts",
        columns=[
            Column(name="since", expression="window.start"),
            Column(name="spread", expression="top - low"),
            Column(name=None, expression="top + 1"),
            Column(name="device", expression="device"),
        ],
    )
    with run([query], readings) as results:
        assert results["spread"].columns == ["since", "spread", "(top + 1)", "device"]
        assert_same(results["spread"], plain(query, readings))


def test_the_window_is_one_to_spark(readings):
    with run([MINUTE], readings) as results:
        times = results["minute"].select(window_time(col("window")).alias("t"))
        assert times.where("t IS NULL").count() == 0


def test_the_long_form_has_every_answer(readings):
    with run(ALL, readings) as results:
        long = results.together()
        assert long.columns == ["query", "device", "window", "hottest", "mean", "n", "last"]
        for name in results:
            own = results[name]
            rows = long.where(col("query") == name).select(*own.columns)
            key = lambda row: repr(row)  # noqa: E731
            assert sorted(rows.collect(), key=key) == sorted(own.collect(), key=key)


def test_the_long_form_refuses_columns_that_do_not_go_together(readings):
    text = Query(
        name="text",
        window=tumbling("1 minute"),
        aggregates={"n": count()},
        columns=[Column(name="n", expression="array(n)")],
        keys=["load"],
        time="ts",
    )
    results = run([SLIDE, text], readings)
    with pytest.raises(RunError, match="do not go together"):
        results.together()


@pytest.mark.parametrize("format", ["parquet", "json", "csv"])
def test_each_answer_is_written_to_a_folder_of_its_name(spark, counted, tmp_path, format):
    frame, seen = counted
    queries = [MINUTE, SLIDE, WORDS] if format == "parquet" else [_flat(MINUTE), _flat(SLIDE)]
    with run(queries, frame) as results:
        results.write(str(tmp_path), format=format)
        assert seen.value == 900
        assert sorted(os.listdir(tmp_path)) == sorted(results)
        for name in results:
            back = spark.read.format(format).load(str(tmp_path / name))
            assert back.count() == results[name].count() > 0
            if format == "parquet":
                assert back.columns == results[name].columns


def _flat(query: Query) -> Query:
    """CSV holds no structs."""
    return Query(
        name=query.name,
        window=query.window,
        aggregates=query.aggregates,
        keys=query.keys,
        time=query.time,
        columns=[
            Column(name="since", expression="window.start"),
            Column(name="device", expression="device"),
        ],
    )


def test_writing_over_answers_must_be_asked_for(spark, readings, tmp_path):
    with run([MINUTE, SLIDE], readings) as results:
        results.write(str(tmp_path))
        rows = results["minute"].count()
        with pytest.raises(RunError, match=r"'minute'.*is there already"):
            results.write(str(tmp_path))
        with pytest.raises(RunError, match="did you mean 'append'"):
            results.write(str(tmp_path), mode="apend")
        results.write(str(tmp_path), mode="append")
        assert spark.read.parquet(str(tmp_path / "minute")).count() == 2 * rows
        results.write(str(tmp_path), mode="overwrite")
        assert spark.read.parquet(str(tmp_path / "minute")).count() == rows


def test_a_query_that_fails_leaves_nothing(readings, tmp_path):
    broken = Query(
        name="broken",
        window=tumbling("1 minute"),
        aggregates={"n": count()},
        columns=[Column(name="bad", expression="raise_error(string(n))")],
        keys=["device"],
        time="ts",
    )
    with run([MINUTE, broken], readings) as results, pytest.raises(Exception, match="USER_RAISED"):
        results.write(str(tmp_path))
    assert os.listdir(tmp_path) == ["minute"]


def test_an_overflow_fails_the_query_that_asked_and_no_other(spark):
    frame = spark.sql(
        "SELECT timestamp_micros(id * 1000000) AS ts, 9223372036854775807L AS big FROM range(2)"
    )
    window = tumbling("1 minute")
    huge = Query(name="huge", window=window, aggregates={"s": sum_("big")}, time="ts")
    small = Query(name="small", window=window, aggregates={"n": count()}, time="ts")
    # Combined by Spark itself, because of the array.
    words = Query(
        name="words",
        window=window,
        aggregates={"s": sum_("big"), "w": max_("array(big)")},
        time="ts",
    )
    slices = Query(
        name="sliced", window=tumbling("1 second"), aggregates={"n": sum_("big")}, time="ts"
    )
    with run([huge, small, slices], frame) as results:
        assert results["small"].collect()[0]["n"] == 2
        assert [row["n"] for row in results["sliced"].collect()] == [2**63 - 1] * 2
        with pytest.raises(ArithmeticException, match="ARITHMETIC_OVERFLOW"):
            results["huge"].collect()
    # The same inside a single slice.
    whole = frame.selectExpr("timestamp_micros(0) AS ts", "big")
    for asked in ([huge, small], [huge, small, words]):
        with run(asked, whole) as results:
            assert results["small"].collect()[0]["n"] == 2
            with pytest.raises(ArithmeticException, match="ARITHMETIC_OVERFLOW"):
                results["huge"].collect()
            if words in asked:
                with pytest.raises(ArithmeticException, match="ARITHMETIC_OVERFLOW"):
                    results["words"].collect()
    wrapping = configured(spark, {"spark.sql.ansi.enabled": "false"})
    with wrapping, run([huge, small], frame) as results:
        assert results["huge"].collect()[0]["s"] == -2


def test_no_event_is_no_answer(readings):
    with run(ALL, readings.where("false")) as results:
        for name in results:
            assert results[name].collect() == []
        assert_equal_answers(results, readings.where("false"))
