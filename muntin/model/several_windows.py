"""One query over several windows, as a query for each window."""

from collections.abc import Mapping
from typing import Any

from muntin.errors import ModelError
from muntin.model.query import Query
from muntin.model.windows.data_windows import DataWindow
from muntin.model.windows.window import Window


def windows(name: str, windows: Mapping[str, Window | DataWindow], **query: Any) -> list[Query]:
    """Returns a query for each window, called by its name and the window's: `load_hour`.

    `query` is the rest of what `Query` takes. In SQL it is Azure's `Windows(Window('hour', ...))`.
    """
    if not windows:
        raise ModelError(f"query {name!r}: at least one window is needed")
    return [Query(name=f"{name}_{key}", window=window, **query) for key, window in windows.items()]
