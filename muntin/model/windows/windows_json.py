"""Writes windows as JSON and reads them back."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from muntin.errors import ModelError
from muntin.model.windows.cumulate import CumulateWindow
from muntin.model.windows.data_windows import (
    Absent,
    CountWindow,
    Custom,
    DataWindow,
    Delta,
    Landmark,
    Punctuation,
    Session,
    Threshold,
)
from muntin.model.windows.window import Window

_KINDS: dict[str, type[DataWindow | Window]] = {
    "cumulate": CumulateWindow,
    "session": Session,
    "count": CountWindow,
    "delta": Delta,
    "punctuation": Punctuation,
    "landmark": Landmark,
    "threshold": Threshold,
}


def window_to_json(window: DataWindow | Window) -> dict[str, Any]:
    """Returns a window as JSON: tumbling and hopping ones have no kind, and a custom one has only
    the name of its class."""
    if isinstance(window, Custom | Absent):
        name = window.name if isinstance(window, Absent) else window.full_name
        if name is None:
            raise ModelError(
                f"the window {window} has no name to be known by; give a class, or a function with "
                f"a name"
            )
        return {
            "kind": "custom",
            "name": name,
            "columns": [list(column) for column in window.columns],
        }
    if type(window) is Window:
        return asdict(window)
    name = next(name for name, kind in _KINDS.items() if type(window) is kind)
    return {"kind": name, **asdict(window)}


def window_from_json(data: Mapping[str, Any]) -> Any:
    """The window that `window_to_json` wrote."""
    fields = dict(data)
    name = fields.pop("kind", None)
    if name is None:
        return Window(**fields)
    if name == "custom":
        columns = tuple((column, sql) for column, sql in fields["columns"])
        return Absent(fields["name"], columns)
    if name not in _KINDS:
        raise ModelError(f"no kind of window is called {name!r}; there is: {', '.join(_KINDS)}")
    if name == "threshold":
        fields |= {side: Window(**fields[side]) for side in ("inside", "outside")}
    return _KINDS[name](**fields)
