"""Parses an argument with names separated by commas."""

from collections.abc import Iterable

from muntin.errors import RunError, nearest


def listed(text: str, known: Iterable[str], word: str) -> list[str]:
    """Returns the names, once each; raises an error for an unknown one, with the nearest name."""
    known = list(known)
    names = [name.strip() for name in text.split(",") if name.strip()]
    for name in names:
        if name not in known:
            raise RunError(f"no {word} is called {name!r}; {nearest(name, known)}")
    if not names:
        raise RunError(f"no {word} was named; {nearest('', known)}")
    return list(dict.fromkeys(names))
