"""A pipeline's settings are those of its query; the session keeps its own."""

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from muntin.aggregates.aggregate import count
from muntin.api.stream import start
from muntin.model.query import Query
from muntin.model.windows import tumbling
from muntin.spark.engine.session_kind import cores_of
from muntin.spark.engine.settings import UNLIMITED_BATCH_BYTES
from muntin.spark.engine.settings import temporary_settings as configured
from muntin.spark.pipeline.stream_options import StreamOptions
from muntin.spark.stream.operator import PARTITIONS
from muntin.spark.stream.source import SETTINGS
from tests.support.streams import MINUTE, Input, events, joined

ZONE = "spark.sql.session.timeZone"
NAMES = [*SETTINGS, *UNLIMITED_BATCH_BYTES, "spark.sql.streaming.stopActiveRunOnRestart"]


def test_starts_in_parallel_leave_the_session_as_it_is(spark, one_partition, tmp_path):
    source = Input(spark, tmp_path / "in")
    source.put(*events(1, files=1))
    ended = threading.Event()

    def values() -> tuple[str | None, ...]:
        return tuple(spark.conf.get(name, None) for name in NAMES)

    def look() -> set[tuple[str | None, ...]]:
        seen = {values()}
        while not ended.wait(0.005):
            seen.add(values())
        return seen

    def run(number: int) -> dict[str, str]:
        # A path that Spark would write in other ways, too.
        check = tmp_path / f"check {number} %20"
        with start(
            [MINUTE], source.stream(), checkpoint=check, options=StreamOptions(buckets=1)
        ) as pipeline:
            pipeline.process_all_available()
            own = pipeline._runner.run.query._jsq.streamingQuery().sparkSessionForStream().conf()
            return {name: own.get(name) for name in (*SETTINGS, *UNLIMITED_BATCH_BYTES)}

    before = values()
    with ThreadPoolExecutor(3) as pool:
        looking = pool.submit(look)
        try:
            found = list(pool.map(run, range(2)))
        finally:
            ended.set()
    assert found == [{**SETTINGS, **UNLIMITED_BATCH_BYTES}] * 2
    assert looking.result() == {before}
    assert values() == before


def test_a_pipeline_keeps_the_time_zone_and_ansi_mode_of_its_start(spark, one_partition, tmp_path):
    source = Input(spark, tmp_path / "in")
    hours = Query(
        name="hours",
        window=tumbling("1 minute"),
        aggregates={"n": count()},
        keys={"hour": "hour(ts)"},
        time="ts",
    )
    made = events(36, files=4)
    source.put(made[0])
    with configured(spark, {ZONE: "UTC", "spark.sql.ansi.enabled": "true"}):
        pipeline = start(
            [hours],
            source.stream(),
            checkpoint=tmp_path / "check",
            options=StreamOptions(buckets=1),
        )
    others = {ZONE: "Asia/Kolkata", "spark.sql.ansi.enabled": "false"}
    with pipeline, configured(spark, others):
        pipeline.process_all_available()
        pipeline.add(replace(hours, name="added"))
        source.put(joined(made[1:]))
        pipeline.process_all_available()
        for name in ("hours", "added"):
            rows = pipeline.answers(name).selectExpr("hour", "unix_seconds(window.start) AS s")
            found = rows.collect()
            assert found
            assert {row.hour for row in found} == {row.s // 3600 % 24 for row in found}
    assert spark.conf.get(ZONE) not in ("UTC", "Asia/Kolkata")


def test_state_has_a_partition_for_each_core_if_nobody_sets_another_number(spark, tmp_path):
    source, made = Input(spark, tmp_path / "in"), events(37, files=4)

    def run(check: str, partitions: str | None) -> int:
        """Returns how many partitions the state has after the stream has read what is there."""
        folder = tmp_path / check
        with (
            configured(spark, {PARTITIONS: partitions}),
            start([MINUTE], source.stream(), checkpoint=folder) as pipeline,
        ):
            pipeline.process_all_available()
        return sum(each.name.isdigit() for each in folder.glob("**/state/0/*"))

    source.put(joined(made[:2]))
    assert run("old", "3") == 3
    source.put(joined(made[2:]))
    # The number of the first start stays.
    assert run("old", None) == 3
    assert run("new", None) == cores_of(spark)
