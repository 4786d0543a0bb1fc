"""`make quick` runs what is not marked `spark`, and that finds no Java to start Spark with."""

import pytest

from muntin.errors import RunError
from muntin.spark.session import local_session


def test_a_test_without_the_mark_cannot_start_spark(request):
    assert request.node.get_closest_marker("spark") is None
    with pytest.raises(RunError, match="there is no /without-java/bin/java"):
        local_session()


def test_whoever_uses_the_session_has_the_mark(request, spark):
    assert request.node.get_closest_marker("spark") is not None
    assert local_session() is spark
