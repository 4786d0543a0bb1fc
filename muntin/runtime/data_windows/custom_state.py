"""Saves objects of users' classes between two batches of a stream: their state as JSON, no code."""

import json
from typing import Any

import numpy as np

from muntin.errors import RunError
from muntin.model.windows.data_windows import Custom

_NUMBERS = np.bool_ | np.integer | np.floating
_PLAIN = "None, booleans, numbers, text, and lists and dicts of these under text"


def save(made: Any, window: Custom) -> str:
    """Returns the state of an object: what its `state()` returns, or else its attributes."""
    if _has_own_state(made):
        state = made.state()
        _check(state, window, "state()")
    else:
        try:
            state = vars(made)
        except TypeError:
            raise RunError(
                f"{window} cannot be saved between two batches of a stream: it has no attributes; "
                f"give it state() and restore(state)"
            ) from None
        for name, value in state.items():
            _check(value, window, f"self.{name}")
    return json.dumps(state, default=lambda number: number.item())


def restore(text: str, window: Custom) -> Any:
    """Returns a new object with the state that was saved."""
    made, state = window.make(), json.loads(text)
    if _has_own_state(made):
        made.restore(state)
    else:
        vars(made).clear()
        vars(made).update(state)
    return made


def _has_own_state(made: Any) -> bool:
    return all(callable(getattr(type(made), name, None)) for name in ("state", "restore"))


def _check(value: Any, window: Custom, where: str) -> None:
    """Refuse what would not come back from JSON as it was."""
    if type(value) is list:
        for element in value:
            _check(element, window, where)
    elif type(value) is dict and all(type(name) is str for name in value):
        for element in value.values():
            _check(element, window, where)
    elif value is not None and not isinstance(value, _NUMBERS | bool | int | float | str):
        raise RunError(
            f"{window} cannot be saved between two batches of a stream: {where} has a "
            f"{type(value).__name__} in it; a stream saves {_PLAIN}; keep those, or give the "
            f"class state() and restore(state)"
        )
