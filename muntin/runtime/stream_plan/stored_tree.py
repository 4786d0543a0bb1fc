"""A tree of a running plan as a checkpoint stores it: its number, its columns, and since when.

`stored_periodic_tree` and `stored_data_tree` implement this interface.
"""

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, ClassVar, Self

from muntin.aggregates.aggregate import Component
from muntin.aggregates.user_aggregate import call_to_json, component_from_json, function_name
from muntin.model.plan_json import tree_from_json, tree_to_json
from muntin.model.query import Query
from muntin.model.trees import Tree
from muntin.runtime.stream_plan.value_types import ValueTypes, arguments_of, is_retyped


@dataclass(frozen=True, kw_only=True)
class Needs:
    """What a tree needs columns for: the kinds of its keys, the number class of each component,
    and, by their Spark SQL, the kinds of the columns that its records carry.

    If records are grains of time, their first two components are the bounds of a grain.
    """

    keys: tuple[str, ...]
    numbers: Mapping[Component, str]
    columns: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Change:
    """What a tree needs to know when the plan of a stream changes."""

    # The watermark up to which answers were given, and an instant that no event has reached yet;
    # None if no batch was ever finished.
    given: int | None
    unseen: int | None
    # The queries that have not changed, and the Spark SQL that has another type than before.
    same: Collection[str] = ()
    retyped: Collection[str] = ()
    # How often the queries have changed.
    generation: int = 0
    # How long slices are kept for queries to come, in microseconds.
    retain: int = 0


@dataclass(frozen=True, kw_only=True)
class ComponentColumn:
    """A component in its column. Slices that start from `since` on hold all of it."""

    component: Component
    number: str
    # The column, or the stem of its columns where it has several; never used again in its tree.
    name: str
    since: int | None

    def reads(self, expressions: Collection[str]) -> bool:
        """Whether an argument of the component is among some expressions."""
        return any(sql in expressions for sql in arguments_of(self.component))

    def identity(self, types: ValueTypes) -> list[Any]:
        """Returns what identifies the component, with the types of its arguments."""
        known = [types.get(sql) for sql in arguments_of(self.component)]
        return [call_to_json(self.component), self.number, known]

    def to_json(self) -> dict[str, Any]:
        """Returns the component as data for `json.dumps`."""
        return {**asdict(self), "component": call_to_json(self.component)}

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> "ComponentColumn":
        """Returns the component that `to_json` wrote."""
        return ComponentColumn(**{**data, "component": component_from_json(data["component"])})


@dataclass(frozen=True, kw_only=True)
class StoredTree(ABC):
    """A tree of the running plan, with what is known of the rows that are stored for it."""

    # The name of this kind of trees in the JSON of a checkpoint.
    key: ClassVar[str]

    # Never used again, not even by a tree of the other kind.
    number: int
    tree: Tree
    # The columns of its keys; a name begins with the kind of the column.
    key_columns: tuple[str, ...]
    components: tuple[ComponentColumn, ...]

    @classmethod
    @abstractmethod
    def start(cls, number: int, tree: Any, needs: Needs, unseen: int | None) -> Self:
        """Returns a new tree, which sees all events from an instant on that none has reached."""

    @abstractmethod
    def continue_with(self, tree: Any, needs: Needs, change: Change) -> Self:
        """Returns the next tree of the same number, given that it fits."""

    @abstractmethod
    def complete_from(self, query: Query, given: int | None) -> int | None:
        """Returns the begin of a new query's first complete window that ends after `given`, up to
        which answers were given; None if the query has seen every event."""

    @abstractmethod
    def identity(self, types: ValueTypes) -> tuple[dict[str, Any], tuple[int, ...]]:
        """Returns what its state depends on beside grouping and keys, and the order in which that
        has its components, if the order in the state may differ."""

    def common_queries(
        self, tree: Tree, run_as: Callable[[str], str | None], same: Collection[str]
    ) -> int | None:
        """Returns how many queries of a tree run here; None if the tree cannot continue this one.

        `run_as` returns the name under which a query runs now, and `same` are the unchanged ones.
        """
        return len({run_as(name) for name in tree.queries} & {*self.tree.queries})

    def fits(self, tree: Tree, needs: Needs, retyped: Collection[str] = ()) -> bool:
        """Whether a tree can continue this one: it has the same grouping, and what it needs has the
        same types here.

        Components with an argument among `retyped`, which has another type now, start anew. An
        earlier muntin did not store types; then a tree fits if all is stored as before.
        """
        return (
            type(self.tree) is type(tree)
            and self.tree.grouping == tree.grouping
            and not is_retyped(tree, retyped)
            and [kind_of(column) for column in self.key_columns] == list(needs.keys)
            and all(
                needs.numbers.get(column.component, column.number) == column.number
                for column in self.components
                if not column.reads(retyped)
            )
        )

    def to_json(self) -> dict[str, Any]:
        """Returns the tree as data for `json.dumps`."""
        return {
            "number": self.number,
            "tree": tree_to_json(self.tree),
            "key_columns": list(self.key_columns),
            "held": [column.to_json() for column in self.components],
        }

    @staticmethod
    @abstractmethod
    def from_json(data: Mapping[str, Any]) -> "StoredTree":
        """Returns the tree that `to_json` wrote."""


def common_fields(data: Mapping[str, Any], kind: type[Tree]) -> dict[str, Any]:
    """Returns the fields that trees of every kind have, as `StoredTree.to_json` wrote them."""
    tree = tree_from_json(data["tree"])
    assert isinstance(tree, kind)
    return {
        "number": data["number"],
        "tree": tree,
        "key_columns": tuple(data["key_columns"]),
        "components": tuple(ComponentColumn.from_json(column) for column in data["held"]),
    }


def key_columns(kinds: Sequence[str]) -> tuple[str, ...]:
    """Returns a column for each of some keys, named after its kind.

    >>> key_columns(["text", "long", "text"])
    ('text0', 'long0', 'text1')
    """
    return tuple(f"{kind}{kinds[:index].count(kind)}" for index, kind in enumerate(kinds))


def kind_of(column: str) -> str:
    """Returns the kind of a key column, from its name."""
    return column.rstrip("0123456789")


def text_of(data: Any) -> str:
    """Returns data as text that is equal for equal data."""
    return json.dumps(data, sort_keys=True, default=function_name)
