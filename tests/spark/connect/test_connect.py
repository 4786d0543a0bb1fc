"""On Spark Connect muntin gives what Spark gives, and what cannot run there says so."""

import pyspark
import pytest


@pytest.mark.core
def test_frames_of_connect_share(client):
    found = client("dashboard", "refused")
    dashboard, refused = found["dashboard"], found["refused"]
    assert dashboard["different"] == []
    assert dashboard["reasons"] == {"middle": "try_avg(`temp`) is not built from slices"}
    assert dashboard["relations"] == 1
    assert "try_avg(`temp`) is not built from slices" in dashboard["explained"]
    assert refused["different"] == []
    assert refused["reasons"] == {
        "limited": "it has a filter or an order above its limit",
        "no window": "no window in its groupBy",
        "no group": "it has no groupBy",
        "cube": "it has rollup, cube, pivot or groupingSets",
        "random": "rand is a function that is not Spark's own, or gives other values each time",
        "python": "it has common inline user defined function in an expression",
        "inside": "a filter below its groupBy reads the window",
        "two windows": "it has two windows",
        "number": "a key is a number",
        "mean of a key": "try_avg(`load`) is not built from slices",
    }


@pytest.mark.core
@pytest.mark.slow
def test_streams_of_connect(client):
    found = client("stream")["stream"]
    if pyspark.__version__.startswith("4.0."):
        assert "Spark Connect from Spark 4.1 on" in found["old"]
        return
    assert found["different"] == []
    assert found["rows"] > 0
    # A query is defined by its own DataFrame alone.
    assert found["same"] == [[True, False, False]] * 2


@pytest.mark.slow
def test_a_pipeline_runs_on_a_server(client):
    found = client("pipeline")["pipeline"]
    assert found["different"] == []
    assert found["first"] == [True, 200, True]
    assert found["state"]
    assert found["watermark"] == "1970-01-01T00:03:19.000Z"
    assert found["explained"]
    assert "a stream with other queries runs on" in found["in use"]
    assert found["taken over"] == [True, True]
    assert found["ended"]
    assert found["later"] == [True, True]
    assert found["error"] is None


@pytest.mark.slow
def test_queries_and_plans_are_replaced_on_the_server(client):
    changed = client("changes")["changes"]
    assert changed["queries"] == ["hot", "warm"]
    assert changed["replanned"]
    # Its first windows are built from slices that were retained.
    assert changed["complete"] <= 240 * 10**6
    for name in ("hot", "warm"):
        there, expected = changed[name]
        assert there == expected > 0


@pytest.mark.slow
def test_a_query_that_fails_on_the_server_is_dropped(client):
    found = client("drops")["drops"]
    assert list(found["dropped"]) == ["fragile"]
    assert "CAST_INVALID_INPUT" in found["dropped"]["fragile"]
    assert found["different"] == []


@pytest.mark.slow
def test_sinks_of_a_pipeline_run_on_the_server(client):
    found = client("sinks")["sinks"]
    assert found["different"] == []
    assert found["lines"]
    assert "query 'hot': the answers of batch" in found["failed"]
    assert "no room for hot" in found["failed"]
    for said, words in zip(
        found["refused"],
        [
            "out belongs to the checkpoint",
            "the column hottest is double, and the query has bigint",
            "the stream would read what it writes",
            "started with a watermark of 0 seconds",
            "no plan of muntin's",
        ],
        strict=True,
    ):
        assert words in said
    # What was refused has left nothing.
    assert found["left"] == ["a", "b", "c", "in", "made", "out"]


@pytest.mark.slow
def test_commands_run_on_a_server(client):
    found = client("commands")["commands"]
    assert found["codes"] == [0, 0, 0, 0]
    assert found["same"]
    assert found["rows"] > 0


@pytest.mark.slow
def test_a_session_of_connect_gives_what_spark_gives(client):
    found = client("batch", "hard", "fuzzed")
    assert found["batch"]["different"] == []
    assert found["batch"]["trees"] == 2
    assert found["batch"]["together"] > 0
    assert (found["hard"]["different"], found["hard"]["reasons"]) == ([], {})
    assert found["hard"]["relations"] == 2
    for group in found["fuzzed"]:
        assert group["different"] == []
        assert group["relations"] == 1
        assert set(group["reasons"].values()) <= {
            "try_avg(`temp`) is not built from slices",
            "try_avg((`temp` + 0.5D)) is not built from slices",
        }
