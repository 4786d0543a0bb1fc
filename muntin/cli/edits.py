"""A file of queries that its user edits while they run."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from muntin.model.plan_json import definition
from muntin.model.query import PlainQuery, Query


class Edits:
    """Polls a file and reports when it has changed."""

    def __init__(self, file: Path) -> None:
        self.file = file
        # Why the file could not be read in the last two polls, if it could not.
        self.problem: str | None = None
        self._known = self._seen = self._read()

    def arrived(self) -> bool:
        """Whether the file has changed since the last True, and was the same in the last two polls.

        Editors write a file in pieces, or replace it: a file that is still changing, or missing
        for a moment, does not count as edited yet.
        """
        before, self._seen = self._seen, self._read()
        if self._seen != before:
            return False
        self.problem = self._seen if isinstance(self._seen, str) else None
        if self.problem is not None or self._seen == self._known:
            return False
        self._known = self._seen
        return True

    def _read(self) -> bytes | str:
        """Returns what is in the file, or why it cannot be read."""
        try:
            return self.file.read_bytes()
        except OSError as error:
            return f"{self.file} cannot be read: {error.strerror or error}"


@dataclass(frozen=True, kw_only=True)
class Difference:
    """What an edit does to the queries: names, in the order of the file."""

    added: tuple[str, ...]
    removed: tuple[str, ...]
    changed: tuple[str, ...]

    @staticmethod
    def between(
        old: Iterable[Query | PlainQuery], new: Iterable[Query | PlainQuery]
    ) -> "Difference":
        """Compares two lists of queries by their names and definitions."""
        before, after = (
            {query.name: definition(query) for query in queries} for queries in (old, new)
        )
        return Difference(
            added=tuple(name for name in after if name not in before),
            removed=tuple(name for name in before if name not in after),
            changed=tuple(name for name in after if before.get(name, after[name]) != after[name]),
        )

    def __bool__(self) -> bool:
        return bool(self.added or self.removed or self.changed)

    def __str__(self) -> str:
        parts = {"added": self.added, "removed": self.removed, "changed": self.changed}
        return "; ".join(f"{verb} {', '.join(names)}" for verb, names in parts.items() if names)
