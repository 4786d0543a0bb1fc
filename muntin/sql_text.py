"""Spark SQL as text: quotes names, strips comments and white space, and substitutes tables."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from muntin.errors import ModelError

# Quoted text stays as it is, even where it looks like a comment.
_QUOTED = r"""[rR]'[^']*'|[rR]"[^"]*"|'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|`(?:[^`]|``)*`"""
_COMMENT = re.compile(rf"(?P<kept>{_QUOTED})|--[^\n]*|/\*.*?\*/", re.DOTALL)
_PIECES = re.compile(f"({_QUOTED})", re.DOTALL)


def quote_name(name: str) -> str:
    """Returns a column name in backquotes."""
    return "`" + name.replace("`", "``") + "`"


def name_parts(text: str) -> list[str]:
    """Splits a column's name, such as `payload.ts`, at its dots, except those in backquotes."""
    parts = _PIECES.split(text.strip())
    marked = "".join(
        part.replace(".", "\0") if index % 2 else part for index, part in enumerate(parts)
    )
    return [
        part[1:-1].replace("``", "`") if part[:1] == "`" else part
        for part in (piece.strip().replace("\0", ".") for piece in marked.split("."))
    ]


def is_same_table(one: str, other: str) -> bool:
    """Whether two names are of one table, with backquotes or without, in any case.

    >>> is_same_table("`größen`", "Größen")
    True
    """
    return one == other or len({".".join(name_parts(name)).lower() for name in (one, other)}) == 1


def literal(text: str) -> str:
    """Returns text as a string literal of Spark SQL."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def case_when(condition: str, value: str) -> str:
    """Returns SQL that computes a value where a condition holds, and is null elsewhere."""
    return f"CASE WHEN {condition} THEN {value} END"


@lru_cache(maxsize=4096)
def strip_comments(text: str) -> str:
    """Removes comments, so that SQL appended after it is not commented out."""
    return _COMMENT.sub(lambda match: match["kept"] or " ", text).strip()


@lru_cache(maxsize=4096)
def collapse_spaces(text: str) -> str:
    """Replaces each run of white space outside quotes by one space, to compare SQL."""
    pieces = _PIECES.split(text.strip())
    return "".join(
        piece if index % 2 else re.sub(r"\s+", " ", piece) for index, piece in enumerate(pieces)
    )


@dataclass(frozen=True)
class SqlText:
    """SQL with a placeholder for every table, so that a DataFrame can replace a table.

    The text is `parts[0] + tables[0] + parts[1] + ... + parts[-1]`.
    """

    parts: tuple[str, ...]
    tables: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if len(self.parts) != len(self.tables) + 1:
            raise ModelError(f"{len(self.tables)} tables need one more part, not {self.parts!r}")

    def fill(self, names: Mapping[str, str] | None = None) -> str:
        """Returns the text, each table replaced by its entry in `names` if there is one."""
        text = self.parts[0]
        for table, part in zip(self.tables, self.parts[1:], strict=True):
            name = (names or {}).get(table, table)
            if name == table and not table.isascii():
                # Spark takes letters beyond ASCII only in backquotes.
                name = ".".join(map(quote_name, name_parts(table)))
            text += name + part
        return text

    def surround(self, before: str, after: str) -> "SqlText":
        """Returns the text with `before` and `after` around it."""
        parts = list(self.parts)
        parts[0] = before + parts[0]
        parts[-1] += after
        return SqlText(parts=tuple(parts), tables=self.tables)

    @staticmethod
    def concat(*texts: "SqlText | str") -> "SqlText":
        """Returns texts one after the other."""
        parts = [""]
        tables: list[str] = []
        for text in texts:
            whole = SqlText((text,)) if isinstance(text, str) else text
            parts[-1] += whole.parts[0]
            parts += whole.parts[1:]
            tables += whole.tables
        return SqlText(parts=tuple(parts), tables=tuple(tables))

    @property
    def alias(self) -> str | None:
        """The alias, if the text is one table and its alias."""
        words = self.parts[-1].split(None, 1)
        if len(self.tables) != 1 or self.parts[0].strip() or not words:
            return None
        name = words[1].strip() if words[0].lower() == "as" and len(words) > 1 else words[0]
        return name_parts(name)[0]

    @staticmethod
    def table(name: str) -> "SqlText":
        """Returns a relation that is one table, with its own name as alias."""
        return SqlText(parts=("", f" AS {quote_name(name_parts(name)[-1])}"), tables=(name,))

    def __str__(self) -> str:
        return self.fill()
