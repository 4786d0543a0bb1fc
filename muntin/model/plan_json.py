"""Writes plans as JSON and reads them back, for checkpoints: data with a version, never code."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from muntin.aggregates.user_aggregate import aggregate_from_json, aggregate_to_json
from muntin.errors import ModelError
from muntin.model.data_windows import (
    Absent,
    CountWindow,
    Custom,
    DataWindow,
    Delta,
    Landmark,
    Punctuation,
    Session,
    Threshold,
)
from muntin.model.grouping_sets import Mark
from muntin.model.passes import Engine, Pass
from muntin.model.plan import Plan
from muntin.model.query import Column, Grouping, PlainQuery, Query
from muntin.model.trees import DataNode, DataTree, Node, PeriodicTree, Tree, TreeNode
from muntin.model.windows import CumulateWindow, Edges, Slicing, Window
from muntin.model.workload import PlanOptions, Workload
from muntin.sql_text import SqlText

VERSION = 1


def plan_to_json(plan: Plan) -> dict[str, Any]:
    """Returns a plan as data for `json.dumps`; `plan_from_json` reads it back."""
    workload = plan.workload
    return {
        "version": VERSION,
        "strategy": plan.strategy,
        "rate": workload.rate,
        "keys": workload.keys,
        "rate_known": workload.rate_known,
        "keys_known": workload.keys_known,
        "unshared_cost": plan.unshared_cost,
        "plain_cost": plan.plain_cost,
        "technique": workload.options.technique,
        "latency": workload.options.latency,
        **({"slicing": workload.options.slicing} if workload.options.slicing else {}),
        **({"approximate": True} if workload.options.approximate else {}),
        "queries": [query_to_json(query) for query in plan.queries],
        "computed": [_text_to_json(relation) for relation in plan.stored_relations],
        "trees": [tree_to_json(tree) for tree in plan.periodic_trees],
        "discretized": [tree_to_json(tree) for tree in plan.data_trees],
    }


def plan_from_json(data: Mapping[str, Any]) -> Plan:
    """Returns the plan that `plan_to_json` wrote; raises an error if another version wrote it."""
    if data.get("version") != VERSION:
        raise ModelError(
            f"the plan was written in version {data.get('version')!r}; "
            f"this muntin reads version {VERSION}"
        )
    workload = Workload(
        queries=tuple(query_from_json(query) for query in data["queries"]),
        rate=data["rate"],
        keys=data["keys"],
        rate_known=data.get("rate_known", False),
        keys_known=data.get("keys_known", False),
        computed=frozenset(_text_from_json(relation) for relation in data.get("computed", ())),
        options=PlanOptions(
            technique=data.get("technique"),
            slicing=data.get("slicing"),
            latency=data.get("latency", False),
            approximate=data.get("approximate", False),
        ),
    )
    return Plan(
        strategy=data["strategy"],
        workload=workload,
        unshared_cost=data["unshared_cost"],
        plain_cost=data["plain_cost"],
        trees=tuple(map(tree_from_json, (*data["trees"], *data.get("discretized", ())))),
    )


def query_to_json(query: Query | PlainQuery) -> dict[str, Any]:
    """A query as JSON."""
    if isinstance(query, PlainQuery):
        return {
            "plain": True,
            "name": query.name,
            "statement": _text_to_json(query.statement),
            "reason": query.reason,
        }
    return {
        "name": query.name,
        "window": window_to_json(query.window),
        # Lists of pairs keep the order, which is that of the columns.
        "aggregates": [
            [name, aggregate_to_json(aggregate)] for name, aggregate in query.aggregates.items()
        ],
        "time": query.time,
        "keys": [list(pair) for pair in query.key_expressions.items()],
        "sets": None if query.sets is None else [list(keys) for keys in query.sets],
        "marks": [[name, list(mark.keys), mark.is_id] for name, mark in query.marks.items()],
        "where": query.where,
        "having": query.having,
        "relation": _text_to_json(query.source),
        "columns": [asdict(column) for column in query.columns],
        "statement": None if query.statement is None else _text_to_json(query.statement),
        "names_window": query.names_window,
        "mixes_case": query.mixes_case,
        **({"ending": query.ending} if query.ending else {}),
        **({"item_names": list(query.item_names)} if query.item_names else {}),
    }


def definition(query: Query | PlainQuery) -> dict[str, Any]:
    """Returns what a query asks for, to compare queries; layout of statements does not count."""
    data = query_to_json(query)
    # They follow from the rest, and earlier versions did not write them.
    data.pop("item_names", None)
    # The statement counts only where Spark derives the name of an unnamed column from it.
    if isinstance(query, Query) and all(column.name is not None for column in query.columns):
        del data["statement"]
    return data


def query_from_json(data: Mapping[str, Any]) -> Query | PlainQuery:
    """The query that `query_to_json` wrote."""
    if data.get("plain"):
        return PlainQuery(
            name=data["name"], statement=_text_from_json(data["statement"]), reason=data["reason"]
        )
    statement = data["statement"]
    return Query(
        name=data["name"],
        window=window_from_json(data["window"]),
        aggregates={name: aggregate_from_json(aggregate) for name, aggregate in data["aggregates"]},
        time=data["time"],
        keys=dict(data["keys"]),
        sets=data.get("sets"),
        marks={
            name: Mark(keys=tuple(keys), is_id=is_id) for name, keys, is_id in data.get("marks", ())
        },
        where=data["where"],
        having=data["having"],
        ending=data.get("ending"),
        relation=_text_from_json(data["relation"]),
        columns=tuple(Column(**column) for column in data["columns"]),
        statement=None if statement is None else _text_from_json(statement),
        names_window=data.get("names_window", False),
        mixes_case=data.get("mixes_case", False),
        item_names=tuple(data.get("item_names", ())),
    )


def tree_to_json(tree: Tree) -> dict[str, Any]:
    """A tree as JSON; only trees of periodic windows have a slicing."""
    data: dict[str, Any] = {
        "family": grouping_to_json(tree.grouping),
        "cut_cost": tree.cut_cost,
        "nodes": [_node_to_json(node) for node in tree.nodes],
    }
    match tree:
        case PeriodicTree():
            data |= {
                "slicing": slicing_to_json(tree.slicing),
                "made_in": None if tree.slicing_pass is None else _pass_to_json(tree.slicing_pass),
                "native": list(tree.combined_by_spark),
                "time_part": tree.time_part,
                "levels": [asdict(window) for window in tree.levels],
            }
        case DataTree():
            data["grain"] = tree.grain
    return data


def tree_from_json(data: Mapping[str, Any]) -> PeriodicTree | DataTree:
    """The tree that `tree_to_json` wrote."""
    grouping, cut_cost = grouping_from_json(data["family"]), data["cut_cost"]
    if "slicing" not in data:
        nodes = tuple(DataNode(**_node_fields(node)) for node in data["nodes"])
        return DataTree(grouping=grouping, cut_cost=cut_cost, grain=data["grain"], nodes=nodes)
    return PeriodicTree(
        grouping=grouping,
        cut_cost=cut_cost,
        slicing=slicing_from_json(data["slicing"]),
        slicing_pass=_pass_from_json(data["made_in"]) if data.get("made_in") else None,
        combined_by_spark=tuple(data.get("native", ())),
        time_part=data.get("time_part"),
        levels=tuple(Window(**window) for window in data.get("levels", ())),
        nodes=tuple(_node_from_json(node) for node in data["nodes"]),
    )


# The names of engines in the JSON of passes.
_MAKERS = {Engine.SPARK: "group by", Engine.COMPILED: "slicer"}
_ENGINES = {maker: engine for engine, maker in _MAKERS.items()}


def _pass_to_json(shared: Pass) -> dict[str, Any]:
    fields = asdict(shared)
    engine = fields.pop("engine")
    return {**fields, "maker": _MAKERS[engine], "slicing": slicing_to_json(shared.slicing)}


def _pass_from_json(data: Mapping[str, Any]) -> Pass:
    fields = {**data, "keys": tuple(data["keys"]), "slicing": slicing_from_json(data["slicing"])}
    engine = _ENGINES[fields.pop("maker")]
    return Pass(**fields, engine=engine)


def _node_to_json(node: TreeNode) -> dict[str, Any]:
    data: dict[str, Any] = {
        "window": window_to_json(node.window),
        "aggregates": [aggregate_to_json(aggregate) for aggregate in node.aggregates],
        "queries": list(node.queries),
        "cost": node.cost,
    }
    if isinstance(node, Node):
        data["parent"] = None if node.parent is None else asdict(node.parent)
        data["techniques"] = [list(names) for names in node.techniques]
    return data


def _node_fields(data: Mapping[str, Any]) -> dict[str, Any]:
    """Returns what nodes of both kinds of trees have."""
    return {
        "window": window_from_json(data["window"]),
        "aggregates": tuple(aggregate_from_json(aggregate) for aggregate in data["aggregates"]),
        "queries": tuple(data["queries"]),
        "cost": data["cost"],
    }


def _node_from_json(data: Mapping[str, Any]) -> Node:
    # Earlier versions wrote one name per aggregate; those are dropped, and chosen again later.
    named = (
        data["techniques"] if all(isinstance(names, list) for names in data["techniques"]) else ()
    )
    return Node(
        **_node_fields(data),
        parent=None if data["parent"] is None else Window(**data["parent"]),
        techniques=tuple(tuple(names) for names in named),
    )


def grouping_to_json(grouping: Grouping) -> dict[str, Any]:
    """A grouping as JSON."""
    return {
        "relation": _text_to_json(grouping.relation),
        "time": grouping.time,
        "where": grouping.where,
        "keys": list(grouping.keys),
    }


def grouping_from_json(data: Mapping[str, Any]) -> Grouping:
    """The grouping that `grouping_to_json` wrote."""
    return Grouping(
        relation=_text_from_json(data["relation"]),
        time=data["time"],
        where=data["where"],
        keys=tuple(data["keys"]),
    )


def slicing_to_json(slicing: Slicing) -> dict[str, Any]:
    """A slicing as JSON."""
    return {"edges": [asdict(edges) for edges in slicing.edges], "rate": slicing.rate}


def slicing_from_json(data: Mapping[str, Any]) -> Slicing:
    """The slicing that `slicing_to_json` wrote."""
    return Slicing(edges=tuple(Edges(**edges) for edges in data["edges"]), rate=data["rate"])


def _text_to_json(text: SqlText) -> dict[str, Any]:
    return {"parts": list(text.parts), "tables": list(text.tables)}


def _text_from_json(data: Mapping[str, Any]) -> SqlText:
    return SqlText(parts=tuple(data["parts"]), tables=tuple(data["tables"]))


_KINDS: dict[str, type[DataWindow | Window]] = {
    "cumulate": CumulateWindow,
    "session": Session,
    "count": CountWindow,
    "delta": Delta,
    "punctuation": Punctuation,
    "landmark": Landmark,
    "threshold": Threshold,
}


def window_to_json(window: DataWindow | Window) -> dict[str, Any]:
    """Returns a window as JSON: tumbling and hopping ones have no kind, and a custom one has only
    the name of its class."""
    if isinstance(window, Custom | Absent):
        name = window.name if isinstance(window, Absent) else window.full_name
        if name is None:
            raise ModelError(
                f"the window {window} has no name to be known by; give a class, or a function with "
                f"a name"
            )
        return {
            "kind": "custom",
            "name": name,
            "columns": [list(column) for column in window.columns],
        }
    if type(window) is Window:
        return asdict(window)
    name = next(name for name, kind in _KINDS.items() if type(window) is kind)
    return {"kind": name, **asdict(window)}


def window_from_json(data: Mapping[str, Any]) -> Any:
    """The window that `window_to_json` wrote."""
    fields = dict(data)
    name = fields.pop("kind", None)
    if name is None:
        return Window(**fields)
    if name == "custom":
        columns = tuple((column, sql) for column, sql in fields["columns"])
        return Absent(fields["name"], columns)
    if name not in _KINDS:
        raise ModelError(f"no kind of window is called {name!r}; there is: {', '.join(_KINDS)}")
    if name == "threshold":
        fields |= {side: Window(**fields[side]) for side in ("inside", "outside")}
    return _KINDS[name](**fields)
