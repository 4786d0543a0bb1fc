"""A family's events as one SELECT: each expression of the user's once, under our names."""

from collections.abc import Iterable

from muntin.model.aggregate import Component
from muntin.model.query import Family, SqlText

TIME = "t"


def key_column(index: int) -> str:
    """The name of a key in a family's events, slices and answers."""
    return f"k{index}"


class Events:
    """The columns `k0...`, `t` and one per aggregate argument or filter, of a family's relation."""

    def __init__(self, family: Family, components: Iterable[Component]) -> None:
        self._family = family
        self.keys = tuple(key_column(index) for index in range(len(family.keys)))
        self._columns: dict[str, str] = {}
        for component in components:
            for text in (component.argument, component.where):
                if text is not None:
                    self._columns.setdefault(text, f"x{len(self._columns)}")

    def call(self, function: str, component: Component, cast: str | None = None) -> str:
        """An aggregate function of a component's argument, under its filter."""
        value = "1" if component.argument is None else self._columns[component.argument]
        if cast is not None:
            value = f"CAST({value} AS {cast})"
        if component.where is None:
            return f"{function}({value})"
        return f"{function}({value}) FILTER (WHERE {self._columns[component.where]})"

    def select(self, outer: str, rest: str) -> SqlText:
        """`SELECT outer FROM (the events) rest`."""
        family = self._family
        columns = [f"{key} AS {name}" for name, key in zip(self.keys, family.keys, strict=True)]
        columns += [f"{family.time} AS {TIME}"]
        columns += [f"{text} AS {name}" for text, name in self._columns.items()]
        where = f" WHERE {family.where}" if family.where else ""
        return family.relation.inside(
            f"SELECT {outer} FROM (SELECT {', '.join(columns)} FROM ", f"{where}) {rest}"
        )
