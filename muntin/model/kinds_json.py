"""User-defined windows as JSON and back."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from muntin.errors import ModelError
from muntin.model.kinds import (
    CountWindow,
    Custom,
    Delta,
    Kind,
    Landmark,
    Punctuation,
    Session,
    Threshold,
)
from muntin.model.window import Window

_KINDS: dict[str, type[Kind]] = {
    "session": Session,
    "count": CountWindow,
    "delta": Delta,
    "punctuation": Punctuation,
    "landmark": Landmark,
    "threshold": Threshold,
}


def window_to_json(window: Kind | Window) -> dict[str, Any]:
    """A window as JSON; a periodic one has no kind."""
    if isinstance(window, Custom):
        raise ModelError(
            f"the window {window} is a class of its own, and a plan is written as data only"
        )
    if isinstance(window, Window):
        return asdict(window)
    name = next(name for name, kind in _KINDS.items() if type(window) is kind)
    return {"kind": name, **asdict(window)}


def window_from_json(data: Mapping[str, Any]) -> Any:
    """The window that `window_to_json` wrote."""
    fields = dict(data)
    name = fields.pop("kind", None)
    if name is None:
        return Window(**fields)
    if name not in _KINDS:
        raise ModelError(f"no kind of window is called {name!r}; there is: {', '.join(_KINDS)}")
    if name == "threshold":
        fields |= {side: Window(**fields[side]) for side in ("inside", "outside")}
    return _KINDS[name](**fields)
