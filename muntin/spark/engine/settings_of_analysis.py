"""The settings of a session at one moment, to analyse statements under them later.

A DataFrame of Spark's has the time zone, ANSI mode and other settings of the moment in which it was
made. Answers are made when they are first used, and must have the settings of the call that
promised them.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import RLock
from typing import Any

from pyspark.sql import SparkSession

from muntin.spark.engine.session_kind import is_connect, may_use_internals
from muntin.spark.engine.stored_frames import PRUNING
from muntin.spark.settings import settings

# Threads that share a session wait for each other: its settings are the same for all of them.
_LOCK = RLock()


class SettingsOfAnalysis:
    """The settings that a session has when this is made.

    A server of Spark Connect analyses a DataFrame each time that it is used, under the settings of
    that moment. So there they are left as they are.
    """

    def __init__(self, session: SparkSession) -> None:
        self._session = session
        with _LOCK:
            self._values = None if is_connect(session) else _all_settings(session)

    @contextmanager
    def restored(self) -> Iterator[None]:
        """Gives the session these settings in the block, if it has others by now.

        What runs in the block should only analyse: other users of the session see its settings.
        """
        with _LOCK, settings(self._session, self._differences()):
            yield

    def _differences(self) -> dict[str, str | None]:
        """Returns the settings that have changed, with their values before the change."""
        if self._values is None:
            return {}
        now = _all_settings(self._session)
        if self._values == now:
            return {}
        before, after = _as_dict(self._values, self._session), _as_dict(now, self._session)
        names = dict.fromkeys([*before, *after])
        return {name: before.get(name) for name in names if before.get(name) != after.get(name)}


def _all_settings(session: SparkSession) -> Any:
    """Returns all settings but for what muntin sets for good: a map of the JVM that does not change
    and is compared there, or a dictionary."""
    if not may_use_internals(session):
        return {name: value for name, value in session.conf.getAll.items() if name != PRUNING}
    conf = session._jsparkSession.sessionState().conf()
    return conf.getAllConfs().removed(PRUNING)


def _as_dict(values: Any, session: SparkSession) -> dict[str, str]:
    if isinstance(values, dict):
        return values
    jvm: Any = session._jvm
    return dict(jvm.scala.jdk.javaapi.CollectionConverters.asJava(values))
