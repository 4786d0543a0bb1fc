"""What a command was given: the queries of a file, and inputs by name."""

from collections.abc import Sequence
from pathlib import Path

from muntin.errors import RunError
from muntin.model.prices import SHIPPED, Prices
from muntin.model.query import PlainQuery, Query
from muntin.sql import parse_sql


def queries_in(file: Path) -> list[Query | PlainQuery]:
    """The queries of a file of SQL."""
    try:
        return parse_sql(file.read_text(encoding="utf-8"))
    except UnicodeDecodeError:
        raise RunError(f"{file} is not text in UTF-8") from None


def prices_in(file: Path | None) -> Prices:
    """The prices of a file that `muntin calibrate` wrote; without one, the shipped ones."""
    return SHIPPED if file is None else Prices.from_json(file.read_text(encoding="utf-8"))


def named_inputs(texts: Sequence[str]) -> dict[str, str]:
    """Relation names to paths; the one input without a name stands under the empty one."""
    found: dict[str, str] = {}
    for text in texts:
        name, sign, path = text.partition("=")
        # Folders may have the sign in their names, as Spark's own partitions do.
        if not sign or "/" in name or Path(text).exists():
            name, path = "", text
        if name in found:
            raise RunError(
                f"two inputs are called {name!r}; one is enough"
                if name
                else "several inputs need names, as in --input readings=PATH"
            )
        found[name] = path
    if len(found) > 1 and "" in found:
        raise RunError(f"{found['']} needs a name, as in --input readings={found['']}")
    return found


def check_folder(file: Path | None) -> None:
    """Find out before the work, not after it, that its figures cannot be written."""
    if file is not None and not file.absolute().parent.is_dir():
        raise RunError(f"there is no folder {file.parent} for {file.name}")
