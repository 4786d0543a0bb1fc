"""Recognizes user functions that arrive again: a worker compiles each once, not once a batch.

Functions outside of installed modules are sent to workers by value, so every batch brings a new
function that is equal to the one before.
"""

from types import ModuleType
from typing import Any

from muntin.model.aggregates.monoids import Monoid

_KNOWN: dict[Any, Monoid] = {}


def interned(monoid: Monoid) -> Monoid:
    """Returns the first monoid seen with the same code; `monoid` itself if that cannot be told."""
    function = monoid.combine
    code = getattr(function, "__code__", None)
    if code is None or function.__closure__ or function.__kwdefaults__:
        return monoid
    used = {name: function.__globals__.get(name) for name in code.co_names}
    known = {
        name: value.__name__ if isinstance(value, ModuleType) else value
        for name, value in used.items()
    }
    if not all(isinstance(value, int | float | str | None) for value in known.values()):
        return monoid
    try:
        key = (monoid.name, monoid.width, code, function.__defaults__, tuple(known.items()))
        return _KNOWN.setdefault(key, monoid)
    except TypeError:
        return monoid
