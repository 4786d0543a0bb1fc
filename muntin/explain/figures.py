"""A plan as data for other programs: what `explain` says, under names that stay."""

from typing import Any

from muntin.explain import words
from muntin.explain.rows import passes_of, story_of
from muntin.model.plan import Plan
from muntin.model.trees import Tree


def figures(plan: Plan) -> dict[str, Any]:
    """Returns what `text` says of a plan as data for `json.dumps`.

    Costs are operations per second of event time, and CPU seconds for each hour of events.
    """

    def spent(ops: float) -> dict[str, float]:
        return {
            "ops_per_second": ops,
            "cpu_seconds_per_hour": plan.prices.cpu_seconds_per_hour(ops),
        }

    return {
        "strategy": plan.strategy,
        "queries": len(plan.queries),
        "queries_that_share": sorted(plan.sharing),
        "scans": plan.scans,
        "events_per_second": {"value": plan.rate, "assumed": not plan.rate_known},
        "keys": {"value": plan.keys, "assumed": not plan.keys_known},
        "cost": {
            "this plan": spent(plan.cost),
            "each query alone": spent(plan.unshared_cost),
            "plain Spark": spent(plan.plain_cost),
        },
        "strategies": {name: spent(ops) for name, ops in plan.considered.items()},
        "passes": [
            {"about": story.about, "reading": story.reading, "cost": spent(story.cost)}
            for story in passes_of(plan)
        ],
        "trees": [_tree(tree, spent(tree.cost)) for tree in plan.trees],
        "answered_by_spark_alone": {query.name: query.reason for query in plan.plain},
    }


def _tree(tree: Tree, cost: dict[str, float]) -> dict[str, Any]:
    grouping, story = tree.grouping, story_of(tree)
    rows = story.rows
    return {
        "relation": words.relation(grouping),
        "time": grouping.time,
        "where": grouping.where,
        "keys": list(grouping.keys),
        "pass": tree.made_in.number + 1 if tree.made_in else None,
        "reading": story.reading,
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
