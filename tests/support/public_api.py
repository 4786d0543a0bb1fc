"""Keeps muntin away from internal classes of Spark's JVM, and notices if it uses one."""

from collections.abc import Iterator
from contextlib import contextmanager
from unittest.mock import patch

import pytest
from py4j.java_gateway import JavaMember

# By these methods Python gets at what is internal.
_WAYS_IN = {"queryExecution", "sessionState", "sharedState", "ofRows", "streamingQuery"}


@contextmanager
def public_api() -> Iterator[None]:
    """In the block, muntin may use public API only, and anything else is an error."""
    call = JavaMember.__call__

    def checked(self: JavaMember, *arguments):
        assert self.name not in _WAYS_IN, f"{self.name} is internal to Spark"
        return call(self, *arguments)

    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("MUNTIN_JVM", "public")
        with patch.object(JavaMember, "__call__", checked):
            yield
