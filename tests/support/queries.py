"""A query to vary."""

from typing import Any

from muntin.aggregates.aggregate import max_
from muntin.model.query import Query
from muntin.model.windows import tumbling


def query(**changes: Any) -> Query:
    """The hottest temperature of each device and minute, but for some changes."""
    parts = {
        "name": "q",
        "window": tumbling("1 minute"),
        "aggregates": {"hottest": max_("temp")},
        "keys": ["device"],
        "time": "ts",
        **changes,
    }
    return Query(**parts)
