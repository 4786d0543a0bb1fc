"""Sinks of a stream on Spark Connect, and how reports of a server are read; no server runs."""

import pickle

import pytest

import muntin as mt
from muntin.errors import RunError
from muntin.spark.engine import folder as folder_module
from muntin.spark.engine.listeners import report_of_server
from muntin.spark.sinks.connect_folder_sink import ConnectFolderSink
from muntin.spark.sinks.late_rows import LateRowsSink
from muntin.spark.sinks.open_sink import FunctionSink, open_sink
from muntin.spark.sinks.sink import Sink, SinkContext


class Session:
    """Counts as a session of Spark Connect; pickling it is an error."""

    def __reduce__(self):
        raise AssertionError("a session is not pickled")


Session.__module__ = "pyspark.sql.connect.session"
CONTEXT = SinkContext(session=Session(), mark="m", checkpoint="c")


class Own(Sink):
    def write(self, batch, answers):
        raise NotImplementedError


@pytest.mark.parametrize(
    ("sink", "said"),
    [
        (mt.Console(), "mt.Console does not work on Spark Connect"),
        (mt.Tables(), "mt.Tables does not work on Spark Connect"),
        (mt.Files("out", compact=3), "compact does not work on Spark Connect"),
        (7, "a sink is a folder"),
        (Own, "a sink is a folder"),
    ],
)
def test_what_a_server_has_no_way_for_is_refused(sink, said):
    with pytest.raises(RunError, match=said):
        open_sink(sink, CONTEXT)


def test_late_rows_are_refused():
    with pytest.raises(RunError, match=r"late does not work on Spark Connect.*late_rows"):
        LateRowsSink("late", CONTEXT)


def test_a_sink_of_the_users_own_is_taken_as_it_is():
    own = Own()
    assert open_sink(own, CONTEXT) is own
    assert isinstance(open_sink(print, CONTEXT), FunctionSink)


def test_a_folder_goes_to_the_server_without_its_session():
    for sink in ("out", None):
        folder = open_sink(sink, CONTEXT)
        there = pickle.loads(pickle.dumps(folder))
        assert isinstance(there, ConnectFolderSink)
        assert there.output == folder.output == ("out" if sink else "c/answers")


def test_a_report_of_a_server_is_read_as_that_of_a_jvm():
    def row(**values):
        fields = [{"name": name} for name in values]
        return {"values": list(values.values()), "schema": {"fields": fields}}

    source = {"numInputRows": 3, "inputRowsPerSecond": 1.5, "processedRowsPerSecond": 2.0}
    told = report_of_server(
        {
            "batchId": 7,
            "sources": [source, source],
            "observedMetrics": {"m": row(told=[row(tree=1, begin=None)], n=4)},
        }
    )
    assert told["numInputRows"] == 6
    assert told["processedRowsPerSecond"] == 4.0
    assert told["observedMetrics"] == {"m": {"told": [{"tree": 1}], "n": 4}}
    assert told["batchId"] == 7


@pytest.mark.parametrize(
    ("folder", "path"),
    [
        ("/x/check", "file:/x/check/spark/commits/0"),
        ("file:///x/check", "file:/x/check/spark/commits/0"),
        ("hdfs://host:9000/check", "hdfs://host:9000/check/spark/commits/0"),
        ("check", "file:/home/check/me/check/spark/commits/0"),
        ("./a/../check", "file:/home/check/spark/commits/0"),
    ],
)
def test_names_are_found_below_a_folder_however_it_is_written(folder, path):
    assert folder_module._names_below(folder, path) == ["spark", "commits", "0"]


def test_characters_of_patterns_stand_for_themselves():
    assert folder_module._escape_pattern("a[1]*{b}?") == r"a\[1\]\*\{b\}\?"
