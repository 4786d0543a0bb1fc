"""Trees of periodic windows in a checkpoint: which slices are there, how finely and since when."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from muntin.model.plan_json import slicing_from_json, slicing_to_json, window_to_json
from muntin.model.query import Query
from muntin.model.trees import PeriodicTree
from muntin.model.windows import Edges, Slicing
from muntin.runtime.state.levels import finest_from
from muntin.runtime.state.periodic_tree import PeriodicStreamTree
from muntin.runtime.state.stream_tree import START
from muntin.runtime.storage.layout import Layout
from muntin.runtime.storage.table import component_storage
from muntin.runtime.stream_plan.stored_tree import (
    Change,
    ComponentColumn,
    Needs,
    StoredTree,
    common_fields,
    key_columns,
    text_of,
)
from muntin.runtime.stream_plan.value_types import ValueTypes


@dataclass(frozen=True, kw_only=True)
class Epoch:
    """How a tree was cut before: slices that start before `until` may have these edges."""

    slicing: Slicing
    until: int


@dataclass(frozen=True, kw_only=True)
class StoredPeriodicTree(StoredTree):
    """A tree of periodic windows, with what is known of the slices that are retained for it."""

    key: ClassVar[str] = "lanes"

    tree: PeriodicTree
    # How many columns of components it has ever had: their names are not used again.
    columns: int
    # Slices that start before this may have been dropped, or never cut.
    kept_from: int | None = None
    epochs: tuple[Epoch, ...] = ()

    @classmethod
    def start(
        cls, number: int, tree: PeriodicTree, needs: Needs, unseen: int | None
    ) -> "StoredPeriodicTree":
        components = _more_components((), needs, unseen, 0)
        return StoredPeriodicTree(
            number=number,
            tree=tree,
            key_columns=key_columns(needs.keys),
            components=components,
            columns=len(components),
            kept_from=unseen,
        )

    def at_run_time(self, *, ansi: bool, retain: int) -> PeriodicStreamTree:
        """Returns the tree as the operator runs it."""
        return PeriodicStreamTree(
            number=self.number,
            tree=self.tree,
            layout=Layout(
                key_columns=self.key_columns,
                start=START,
                storages=tuple(
                    component_storage(
                        column.component, value_type=column.number, name=column.name, ansi=ansi
                    )
                    for column in self.components
                ),
            ),
            retain=retain,
        )

    def complete_from(self, query: Query, given: int | None) -> int | None:
        window = query.periodic_window
        wanted = {part for aggregate in query.aggregates.values() for part in aggregate.components}
        limits = [
            self.kept_from,
            *(column.since for column in self.components if column.component in wanted),
            *(epoch.until for epoch in self.epochs if not epoch.slicing.cuts(window)),
        ]
        firsts = [window.first_starting_from(limit) for limit in limits if limit is not None]
        if given is not None:
            firsts.append(window.first_after(given - window.size))
        return max(firsts, default=None)

    def continue_with(
        self, tree: PeriodicTree, needs: Needs, change: Change
    ) -> "StoredPeriodicTree":
        """Returns the next tree: components that stay keep their columns, others start."""
        slicing = self.tree.slicing
        since = None if change.unseen is None else slicing.edge_from(change.unseen)
        stays = tuple(
            column
            for column in self.components
            if column.component in needs.numbers and not column.reads(change.retyped)
        )
        more = _more_components(stays, needs, since, self.columns)
        kept_from, epochs = self.kept_from, list(self.epochs)
        if change.given is not None and since is not None:
            # Levels do not depend on how sums notice overflow.
            levels = self.at_run_time(ansi=False, retain=change.retain).levels
            reached = levels[-1].kept_from(change.given)
            kept_from = reached if kept_from is None else max(kept_from, reached)
            # Of the past that only coarser levels have, these say where it is cut.
            for level, until in zip(levels[1:], finest_from(levels, change.given), strict=False):
                edges = Edges(period=level.width, phase=level.start_of(0))
                epochs.append(Epoch(slicing=Slicing(edges=(edges,), rate=0.0), until=until))
            if slicing.edges != tree.slicing.edges:
                epochs.append(Epoch(slicing=slicing, until=since))
            # Of epochs with the same edges, the latest includes the others.
            latest = {epoch.slicing.edges: epoch for epoch in sorted(epochs, key=lambda e: e.until)}
            epochs = [epoch for epoch in latest.values() if epoch.until > kept_from]
        return replace(
            self,
            tree=tree,
            components=(*stays, *more),
            columns=self.columns + len(more),
            kept_from=kept_from,
            epochs=tuple(epochs),
        )

    def identity(self, types: ValueTypes) -> tuple[dict[str, Any], tuple[int, ...]]:
        components = [text_of(column.identity(types)) for column in self.components]
        order = sorted(range(len(components)), key=components.__getitem__)
        windows = {text_of(window_to_json(node.window)) for node in self.tree.nodes if node.queries}
        return {"components": sorted(components), "windows": sorted(windows)}, tuple(order)

    def to_json(self) -> dict[str, Any]:
        return {
            **super().to_json(),
            "columns": self.columns,
            "kept_from": self.kept_from,
            "epochs": [
                {"slicing": slicing_to_json(epoch.slicing), "until": epoch.until}
                for epoch in self.epochs
            ],
        }

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> "StoredPeriodicTree":
        return StoredPeriodicTree(
            **common_fields(data, PeriodicTree),
            columns=data["columns"],
            kept_from=data["kept_from"],
            epochs=tuple(
                Epoch(slicing=slicing_from_json(epoch["slicing"]), until=epoch["until"])
                for epoch in data["epochs"]
            ),
        )


def _more_components(
    stays: tuple[ComponentColumn, ...], needs: Needs, since: int | None, columns: int
) -> tuple[ComponentColumn, ...]:
    """Returns columns for the components that have none yet, after so many that had one."""
    there = {column.component for column in stays}
    new = [component for component in needs.numbers if component not in there]
    return tuple(
        ComponentColumn(
            component=component,
            number=needs.numbers[component],
            name=f"c{columns + index}",
            since=since,
        )
        for index, component in enumerate(new)
    )
