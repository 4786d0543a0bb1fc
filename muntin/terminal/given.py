"""What a command was given: inputs by name, prices, and how to plan."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TypedDict

from muntin.errors import RunError, nearest
from muntin.model.prices import SHIPPED, Prices
from muntin.model.query import PlainQuery, Query, tables_of
from muntin.model.sql_text import is_same_table


class Planning(TypedDict):
    """How queries are to be planned, as the functions take it that plan."""

    strategy: str
    technique: str | None
    latency: bool
    approximate: bool


def prices_in(file: Path | None) -> Prices:
    """Reads the prices that `muntin calibrate` wrote; without a file, returns the shipped ones."""
    return SHIPPED if file is None else Prices.from_json(file.read_text(encoding="utf-8"))


def named_inputs(texts: Sequence[str]) -> dict[str, str]:
    """Returns paths by relation; a single input without a name has the empty name."""
    paths: dict[str, str] = {}
    for text in texts:
        name, sign, path = text.partition("=")
        # Folders may have the sign in their names, as Spark's own partitions do.
        if not sign or "/" in name or Path(text).exists():
            name, path = "", text
        if name in paths:
            raise RunError(
                f"two inputs are called {name!r}; one is enough"
                if name
                else "several inputs need names, as in --input readings=PATH"
            )
        paths[name] = path
    if len(paths) > 1 and "" in paths:
        raise RunError(f"{paths['']} needs a name, as in --input readings={paths['']}")
    return paths


def check_relations(queries: Iterable[Query | PlainQuery], inputs: Mapping[str, str]) -> None:
    """Refuse inputs that do not match the relations that the queries read."""
    relations = tables_of(queries)
    if "" in inputs:
        if len(relations) > 1:
            wanted = " ".join(f"--input {name}=PATH" for name in relations)
            raise RunError(f"the queries read {', '.join(relations)}; give each of them: {wanted}")
        return
    missing = [each for each in relations if not any(is_same_table(each, name) for name in inputs)]
    for name in inputs:
        if missing and not any(is_same_table(relation, name) for relation in relations):
            raise RunError(
                f"no query reads {name!r}, which --input names; {nearest(name, missing)}"
            )
