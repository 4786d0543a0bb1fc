"""Names in one argument, separated by commas."""

from collections.abc import Iterable

from muntin.errors import RunError, nearest


def listed(text: str, known: Iterable[str], word: str) -> list[str]:
    """The names, once each; one that is not known is refused with the nearest."""
    known = list(known)
    found = [name.strip() for name in text.split(",") if name.strip()]
    for name in found:
        if name not in known:
            raise RunError(f"no {word} is called {name!r}; {nearest(name, known)}")
    if not found:
        raise RunError(f"no {word} was named; {nearest('', known)}")
    return list(dict.fromkeys(found))
