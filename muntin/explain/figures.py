"""A plan as data for other programs, under stable names."""

from typing import Any

from muntin.explain import words
from muntin.explain.tree_text import pass_texts, tree_text
from muntin.model.plan import Plan
from muntin.model.trees import Tree


def figures(plan: Plan) -> dict[str, Any]:
    """Returns the content of `text` as data for `json.dumps`.

    Costs are operations per second of event time, and CPU seconds for each hour of events.
    """

    def price(ops: float) -> dict[str, float]:
        return {
            "ops_per_second": ops,
            "cpu_seconds_per_hour": plan.workload.prices.cpu_seconds_per_hour(ops),
        }

    return {
        "strategy": plan.strategy,
        "queries": len(plan.queries),
        "queries_that_share": sorted(plan.sharing),
        "scans": plan.scans,
        "events_per_second": {"value": plan.rate, "assumed": not plan.workload.rate_known},
        "keys": {"value": plan.keys, "assumed": not plan.workload.keys_known},
        "cost": {
            "this plan": price(plan.cost),
            "each query alone": price(plan.unshared_cost),
            "plain Spark": price(plan.plain_cost),
        },
        "strategies": {name: price(ops) for name, ops in plan.considered.items()},
        "passes": [
            {"about": story.about, "reading": story.reading, "cost": price(story.cost)}
            for story in pass_texts(plan)
        ],
        "trees": [_tree(tree, price(tree.cost)) for tree in plan.trees],
        "answered_by_spark_alone": {query.name: query.reason for query in plan.plain},
    }


def _tree(tree: Tree, cost: dict[str, float]) -> dict[str, Any]:
    grouping, text = tree.grouping, tree_text(tree)
    rows = text.rows
    return {
        "relation": words.relation(grouping),
        "time": grouping.time,
        "where": grouping.where,
        "keys": list(grouping.keys),
        "pass": tree.made_in.number + 1 if tree.made_in else None,
        "reading": text.reading,
        "engine": tree.engine.value,
        "cost": cost,
        "windows": [
            {
                "window": row.window,
                "reads": None if row.parent is None else rows[row.parent].window,
                "computes": list(row.aggregates),
                "answers": [] if row.is_factor else list(row.answers),
                "ops_per_second": row.cost,
            }
            for row in rows
        ],
    }
