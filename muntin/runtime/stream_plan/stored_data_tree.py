"""Trees of data windows in a checkpoint: what their records carry, which queries have joined."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from muntin.model.data_windows import Session
from muntin.model.plan_json import tree_to_json
from muntin.model.query import Query
from muntin.model.trees import DataTree, Tree
from muntin.runtime.stream_plan.stored_tree import (
    Change,
    ComponentColumn,
    Needs,
    StoredTree,
    common_fields,
    key_columns,
    kind_of,
)
from muntin.runtime.stream_plan.value_types import ValueTypes


@dataclass(frozen=True, kw_only=True)
class StoredDataTree(StoredTree):
    """A tree of data windows, and the columns of its records."""

    key: ClassVar[str] = "records"

    tree: DataTree
    # The columns of records, by their Spark SQL.
    columns: Mapping[str, str]
    # It takes no records from before this; None if it has seen all.
    since: int | None = None
    # Queries that have joined the tree while it ran, and the instant from which on they see its
    # records. Their nodes are behind all others, in the order in which they have joined.
    joined: Mapping[str, int] = field(default_factory=dict)

    @classmethod
    def start(
        cls, number: int, tree: DataTree, needs: Needs, unseen: int | None
    ) -> "StoredDataTree":
        columns = key_columns([*needs.keys, *needs.columns.values()])
        return StoredDataTree(
            number=number,
            tree=tree,
            key_columns=columns[: len(needs.keys)],
            columns=dict(zip(needs.columns, columns[len(needs.keys) :], strict=True)),
            components=_components(needs, needs.numbers, ""),
            since=_first_instant(tree, unseen),
        )

    def complete_from(self, query: Query, given: int | None) -> int | None:
        since = self.joined.get(query.name, self.since)
        if since is None:
            return None
        # That no session began earlier is known only after a whole gap of records.
        return since + (query.window.gap if isinstance(query.window, Session) else 0)

    def common_queries(
        self, tree: Tree, run_as: Callable[[str], str | None], same: Collection[str]
    ) -> int | None:
        """Returns how many unchanged queries of a tree run here; None if there is none.

        In the plans of `optimizer.transitions`, the queries of a tree that stay are all from one
        tree, and those that join come after them.
        """
        return len({*tree.queries} & {*same} & {*self.tree.queries}) or None

    def fits(self, tree: Tree, needs: Needs, retyped: Collection[str] = ()) -> bool:
        return (
            super().fits(tree, needs, retyped)
            and isinstance(tree, DataTree)
            and self.tree.grain == tree.grain
            and all(
                needs.columns.get(sql, kind_of(column)) == kind_of(column)
                for sql, column in self.columns.items()
                if sql not in retyped
            )
        )

    def continue_with(self, tree: DataTree, needs: Needs, change: Change) -> "StoredDataTree":
        """Returns the next tree: with the queries that are left, and with those that join it.

        Columns that stay keep their order: records of one time are in the order of their columns,
        and what joins does not change it for what was there.
        """
        known = {sql: name for sql, name in self.columns.items() if sql not in change.retyped}
        stays = tuple(
            column
            for column in self.components
            if column.component in needs.numbers and not column.reads(change.retyped)
        )
        there = {column.component for column in stays}
        joined = {name: since for name, since in self.joined.items() if name in tree.queries}
        since = _first_instant(tree, change.unseen)
        # Before the first batch was finished, all is still to be seen.
        if since is not None:
            old = {*change.same} & {*self.tree.queries}
            joined |= dict.fromkeys((name for name in tree.queries if name not in old), since)
        # No tree uses a name again: records that wait have the columns of those before.
        new = [component for component in needs.numbers if component not in there]
        return replace(
            self,
            tree=tree,
            columns={
                **{sql: name for sql, name in known.items() if sql in needs.columns},
                **_more_columns(self.key_columns, known, needs),
            },
            components=(*stays, *_components(needs, new, f"g{change.generation}")),
            joined=joined,
        )

    def identity(self, types: ValueTypes) -> tuple[dict[str, Any], tuple[int, ...]]:
        nodes = tree_to_json(self.tree)["nodes"]
        return {
            "nodes": [{**node, "queries": [], "cost": 0} for node in nodes],
            "grain": self.tree.grain,
            "columns": [[sql, name, types.get(sql)] for sql, name in self.columns.items()],
            "components": [column.identity(types) for column in self.components],
        }, ()

    def to_json(self) -> dict[str, Any]:
        return {
            **super().to_json(),
            "columns": dict(self.columns),
            "since": self.since,
            "joined": dict(self.joined),
        }

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> "StoredDataTree":
        return StoredDataTree(
            **common_fields(data, DataTree),
            columns=data["columns"],
            since=data["since"],
            joined=data["joined"],
        )


def _components(needs: Needs, wanted: Collection[Any], prefix: str) -> tuple[ComponentColumn, ...]:
    """Returns columns for some components, named by their place among all."""
    return tuple(
        ComponentColumn(component=part, number=number, name=f"{prefix}c{index}", since=None)
        for index, (part, number) in enumerate(needs.numbers.items())
        if part in wanted
    )


def _more_columns(keys: Sequence[str], known: Mapping[str, str], needs: Needs) -> dict[str, str]:
    """Returns columns for what records carry from now on, under names that the tree does not use.

    Records that wait may have values of something else there, but no query that joins sees them.
    """
    used = {*keys, *known.values()}
    more: dict[str, str] = {}
    for sql, kind in needs.columns.items():
        if sql not in known:
            names = (f"{kind}{index}" for index in range(len(used) + 1))
            more[sql] = next(name for name in names if name not in used)
            used.add(more[sql])
    return more


def _first_instant(tree: DataTree, unseen: int | None) -> int | None:
    """Returns the first instant from which on a query that is new sees all records."""
    return unseen if unseen is None or tree.grains is None else tree.grains.edge_from(unseen)
