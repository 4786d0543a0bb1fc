"""How objects show themselves at a prompt and in a notebook."""

from collections.abc import Iterable, Sequence
from html import escape

# How many names are shown in a line.
_FEW = 5


def few_names(names: Sequence[str]) -> str:
    """Returns the first names, and how many more there are."""
    more = len(names) - _FEW
    return ", ".join(names[:_FEW]) + (f" and {more} more" if more > 0 else "")


def html_table(caption: str, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Returns a table as HTML, with all texts escaped."""

    def row(tag: str, cells: Iterable[object]) -> str:
        inside = "".join(
            f"<{tag} style='text-align:left'>{escape(str(cell))}</{tag}>" for cell in cells
        )
        return f"<tr>{inside}</tr>"

    body = "".join(row("td", cells) for cells in rows)
    return f"<p>{escape(caption)}</p><table>{row('th', columns)}{body}</table>"
