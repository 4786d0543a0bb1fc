"""Edits of a file of queries while its queries run."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from muntin.model.plan_json import definition
from muntin.model.query import PlainQuery, Query


class Edits:
    """Polls a file and reports when it has changed."""

    def __init__(self, file: Path) -> None:
        self.file = file
        # Why the file could not be read in the last two polls; None if it was read.
        self.problem: str | None = None
        self._reported = self._latest = self._read()

    def poll(self) -> bool:
        """Reads the file again; returns whether it has new text that did not change since the
        last poll.

        Editors write a file in pieces or replace it, so a file that is still changing, or missing
        for a moment, has no new text yet.
        """
        previous, self._latest = self._latest, self._read()
        if self._latest != previous:
            return False
        self.problem = self._latest if isinstance(self._latest, str) else None
        if self.problem is not None or self._latest == self._reported:
            return False
        self._reported = self._latest
        return True

    def _read(self) -> bytes | str:
        """Returns the bytes of the file, or why it cannot be read."""
        try:
            return self.file.read_bytes()
        except OSError as error:
            return f"{self.file} cannot be read: {error.strerror or error}"


@dataclass(frozen=True, kw_only=True)
class QueryChanges:
    """The names of the queries that an edit adds, removes and changes, in the order of the file."""

    added: tuple[str, ...]
    removed: tuple[str, ...]
    changed: tuple[str, ...]

    @staticmethod
    def between(
        old: Iterable[Query | PlainQuery], new: Iterable[Query | PlainQuery]
    ) -> "QueryChanges":
        """Compares two lists of queries by their names and definitions."""
        before, after = (
            {query.name: definition(query) for query in queries} for queries in (old, new)
        )
        return QueryChanges(
            added=tuple(name for name in after if name not in before),
            removed=tuple(name for name in before if name not in after),
            changed=tuple(name for name in after if before.get(name, after[name]) != after[name]),
        )

    def __bool__(self) -> bool:
        return bool(self.added or self.removed or self.changed)

    def __str__(self) -> str:
        parts = {"added": self.added, "removed": self.removed, "changed": self.changed}
        return "; ".join(f"{verb} {', '.join(names)}" for verb, names in parts.items() if names)
