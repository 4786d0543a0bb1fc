"""Words and figures that the text and the picture share."""

import unicodedata
from collections.abc import Callable, Iterator, Sequence

from muntin.model.passes import Engine
from muntin.model.plan import Plan
from muntin.model.prices import PAPERS
from muntin.model.query import Family, Grouping
from muntin.model.time import DAY, HOUR, MINUTE, SECOND, format_duration
from muntin.model.trees import Tree, TreeNode
from muntin.model.windows import Slicing, Window
from muntin.model.workload import ASSUMED_KEYS, ASSUMED_RATE
from muntin.optimizer.cost_models import live_pairs
from muntin.optimizer.edges import slicing
from muntin.sql_text import SqlText

PLAIN_HEADING = "answered by Spark alone"
FACTOR = "factor window"
FACTOR_MEANING = "factor window: no query asks for it, but others are cheaper to build from it"
OPERATION = "1 op merges two partial aggregates"
ESTIMATED = "costs are estimates; fixed ones, such as starting a job, are left out"
READING, ANSWERING, SPARK_ALONE = "reading", "answering", "Spark alone"
_UNPRINTABLE = {"Cc", "Cs", "Cn", "Co", "Zl", "Zp"}


def clean(text: str) -> str:
    """Returns a text as one printable line; names of the user's may contain anything.

    >>> clean("two\\nlines")
    'two lines'
    """
    signs = (" " if unicodedata.category(sign) in _UNPRINTABLE else sign for sign in text)
    return " ".join("".join(signs).split())


def width(text: str) -> int:
    """Returns how many columns of a terminal a text takes; East Asian characters take two.

    >>> width("day"), width("日本")
    (3, 4)
    """
    return sum(1 + (unicodedata.east_asian_width(sign) in "WF") for sign in text)


def amount(value: float) -> str:
    """Returns a number with two or three digits and a unit.

    >>> amount(1234), amount(3_400_000), amount(999.7), amount(7.26)
    ('1.2k', '3.4M', '1k', '7.3')
    """
    return figure(value).replace(".0", "")


def figure(value: float) -> str:
    """Returns the same as `amount`, always with a digit after the point, so that columns align."""
    if value <= 0:
        return "0"
    if value < 0.05:
        return "<0.1"
    for unit in ("", "k", "M", "G", "T"):
        digits = 1 if value < 99.95 else 0
        if round(value, digits) < 1000 or unit == "T":
            break
        value /= 1000
    return f"{value:.{digits}f}{unit}"


def cost(value: float) -> str:
    """Returns a cost with its unit, operations per second of the stream."""
    return f"{figure(value)} ops/s"


def ratio(ours: float, theirs: float) -> str:
    """Returns how one cost compares with another, in words; empty if one of them is unknown.

    >>> ratio(10, 120), ratio(10, 25), ratio(30, 20)
    ('12x less', '2.5x less', '1.5x more')
    """
    if ours <= 0 or theirs <= 0:
        return ""
    times, word = (theirs / ours, "less") if theirs >= ours else (ours / theirs, "more")
    if times < 1.005:
        return "the same"
    digits = 2 if times < 1.095 else 1 if times < 9.95 else 0
    return f"{times:,.{digits}f}x {word}".replace(".0x", "x")


def pluralize(number: float, noun: str, plural: str | None = None) -> str:
    """Returns a number with its noun: `1 tree`, `2 trees`, `10 queries`."""
    return f"{amount(number)} {noun if number == 1 else plural or noun + 's'}"


def headline(plan: Plan) -> str:
    """Returns how many of the queries share, and how often data is read."""
    queries, scans = len(plan.queries), pluralize(plan.scans, "scan")
    if not plan.sharing_queries:
        return f"{pluralize(queries, 'query', 'queries')}, nothing to share; {scans}"
    sharing = f"{len(plan.sharing_queries)} of {queries} queries share"
    return f"{sharing}; {scans}" + (f" instead of {queries}" if plan.scans < queries else "")


def facts(plan: Plan) -> tuple[str, ...]:
    """Returns the number of trees, and the rate and keys that costs are computed for."""
    rate, keys = f"{amount(plan.rate)} events/s", pluralize(plan.keys, "key")
    # A rate that differs from the assumed one was set on the workload itself.
    if not plan.workload.rate_known and plan.rate == ASSUMED_RATE:
        rate += " (assumed)"
    if not plan.workload.keys_known and plan.keys == ASSUMED_KEYS:
        keys += " (assumed)"
    return pluralize(len(plan.trees), "tree"), rate, keys


def cpu(plan: Plan, value: float) -> str:
    """Returns a cost as CPU seconds for each hour of events."""
    return f"{figure(plan.workload.prices.cpu_seconds_per_hour(value))} CPU s/h"


def units(plan: Plan) -> str:
    """Returns an explanation of the units of costs."""
    paper = next((name for name, each in PAPERS.items() if each == plan.workload.prices), None)
    if paper is not None:
        return f"costs are those of the paper's model {paper}: 1 op is an event read or a combine"
    return (
        f"{OPERATION}, about {plan.workload.prices.nanoseconds:.2g} ns; CPU s/h is CPU seconds "
        f"for each hour of events"
    )


def comparison(plan: Plan) -> Iterator[tuple[str, float, str]]:
    """Yields names and costs of this plan and of its two alternatives, and the ratio of this
    plan's cost to each. All include the queries that Spark answers alone."""
    yield "this plan", plan.cost, ""
    for name, other in (
        ("each query alone", plan.unshared_cost),
        ("plain Spark", plan.plain_cost),
    ):
        if other > 0:
            yield name, other, ratio(plan.cost, other)


def cost_parts(plan: Plan) -> dict[str, float]:
    """Returns the cost of reading events into slices, of answering from slices, and of the
    queries that Spark answers alone, if there are any."""
    reading = sum(tree.cut_cost for tree in plan.trees)
    reading += sum(shared.cost for shared in plan.passes)
    spent = {READING: reading, ANSWERING: plan.cost - plan.cost_of_plain - reading}
    return spent | ({SPARK_ALONE: plan.cost_of_plain} if plan.plain_queries else {})


def strategies(plan: Plan) -> Iterator[tuple[float, str, list[str]]]:
    """Yields groups of strategies with equal costs, the cheapest group first: the cost, its ratio
    to the lowest cost, and the names."""
    groups: dict[str, tuple[float, list[str]]] = {}
    tried = plan.strategy_costs.items()
    # The plan may cost less: groupings can have trees of different strategies, and share passes.
    base = min(plan.strategy_costs.values(), default=0.0)
    for name, spent in sorted(
        tried, key=lambda item: (item[1], item[0] not in plan.chosen_strategies)
    ):
        times = "" if name in plan.chosen_strategies else ratio(spent, base)
        least, names = groups.setdefault("" if times == "the same" else times, (spent, []))
        if name in plan.chosen_strategies:
            names.insert(0, f"{name} (chosen)")
        else:
            names.append(name)
    for times, (least, names) in groups.items():
        yield least, times, names


def groupings_share(plan: Plan) -> bool:
    """Whether a pass makes the slices of several filters or sets of keys."""
    passes = ({tree.grouping for tree in plan.trees_of(shared)} for shared in plan.passes)
    return any(len(groupings) > 1 for groupings in passes)


def explain_choice(plan: Plan) -> str:
    """Returns why a plan shares or not: how many events of a key fall into one slice."""
    windows: dict[Grouping, list[Window]] = {}
    readings: dict[Grouping, set[object]] = {}
    for number, tree in enumerate(plan.periodic_trees):
        readings.setdefault(tree.grouping, set()).add(tree.slicing_pass or number)
        asked = [node.window for node in tree.nodes if node.queries]
        windows.setdefault(tree.grouping, []).extend(asked)
    if not readings:
        return ""
    grouping = max(readings, key=lambda candidate: len(readings[candidate]))
    common = slicing(windows[grouping], plan.workload)
    mean = plan.rate / live_pairs(common.rate, rate=plan.rate, keys=plan.keys)
    events = f"{mean:.1f} events" if mean < 10 else f"{amount(mean)} events"
    if len(readings[grouping]) == 1:
        return f"Sharing pays: a slice has {events} of a key on average, and windows merge slices."
    return (
        f"Sharing everything would not pay: a slice would have only {events} of a key on average. "
        f"The events are read {len(readings[grouping])} times instead."
    )


def sets_of_values(plan: Plan) -> Iterator[str]:
    """Yields a sentence for each set of values in the slices, with its mean size."""
    seen: set[str] = set()
    for tree in plan.periodic_trees:
        parts = (part for aggregate in tree.aggregates for part in aggregate.sets_of_values)
        for value in dict.fromkeys(part.value_in_set for part in parts):
            if tree.engine is Engine.SPARK or value in seen:
                continue
            seen.add(value)
            kept = f"Slices keep sets of {clean(value)}"
            pairs = plan.workload.live_keys.get(frozenset({*tree.grouping.keys, value}))
            if pairs is None:
                yield f"{kept}, and each event is taken for a value of its own."
                continue
            rate = tree.slicing.rate
            events, keys = plan.rate, plan.keys
            values = live_pairs(rate, rate=events, keys=pairs)
            values /= live_pairs(rate, rate=events, keys=keys)
            size = f"{values:.1f}" if values < 10 else amount(values)
            yield f"{kept}, with {size} values of a key on average."


def relation(grouping: Grouping | Family | SqlText) -> str:
    """Returns the name of the table that events come from, or the SQL of the relation."""
    source = grouping if isinstance(grouping, SqlText) else grouping.relation
    if len(source.tables) == 1 and source == SqlText.table(source.tables[0]):
        return clean(source.tables[0])
    return clean(source.fill()) or "data"


def conditions(grouping: Grouping) -> tuple[str, ...]:
    """Returns the filter, the keys and the time column of a grouping, if it has them."""
    parts = [f"where {grouping.where}"] if grouping.where else []
    parts += [f"by {', '.join(grouping.keys)}"] if grouping.keys else []
    return tuple(clean(text) for text in [*parts, f"over {grouping.time}"])


def slices(slicing: Slicing) -> str:
    """Returns a description of slices."""
    if slicing.width is None:
        return f"slices of unequal length, {frequency(slicing.rate)}"
    phase = slicing.edges[0].phase
    return f"slices of {format_duration(slicing.width)}" + (
        f", from {format_duration(phase)} on" if phase else ""
    )


def frequency(per_second: float) -> str:
    """Returns a rate in the smallest unit of time in which it is not a small fraction.

    >>> frequency(0.444), frequency(1 / 90)
    ('0.44 a second', '0.67 a minute')
    """
    units = {"second": SECOND, "minute": MINUTE, "hour": HOUR, "day": DAY}
    times = {name: per_second * unit / SECOND for name, unit in units.items()}
    name = next((name for name in units if times[name] >= 0.1), "day")
    return f"{amount(times[name]) if times[name] >= 1 else f'{times[name]:.2g}'} a {name}"


def aggregates(node: TreeNode) -> tuple[str, ...]:
    """Returns the aggregates of a node with their techniques.

    Neighbours with the same techniques have them only after the last of them.
    """
    calls = [clean(str(aggregate)) for aggregate in node.aggregates]
    following = [*node.techniques[1:], ()]
    return tuple(
        call if named == after else call + _by(named)
        for call, named, after in zip(calls, node.techniques, following, strict=True)
    )


def _by(techniques: Sequence[str]) -> str:
    return f" by {' and '.join(dict.fromkeys(techniques))}" if techniques else ""


def answers(node: TreeNode) -> tuple[str, ...]:
    """Returns the names of the queries that a node answers, or that it is a factor window."""
    return tuple(clean(name) for name in node.queries) or (FACTOR,)


def nodes_with_depth(tree: Tree) -> list[tuple[TreeNode, int]]:
    """Returns every node with its depth below the slices, parents before children."""
    children: dict[object, list[TreeNode]] = {}
    for node in tree.nodes:
        children.setdefault(node.parent, []).append(node)
    # A stack instead of recursion: a tree may be as deep as it has windows.
    waiting = [(node, 0) for node in reversed(children.get(None, []))]
    ordered = []
    while waiting:
        node, depth = waiting.pop()
        ordered.append((node, depth))
        waiting += [(child, depth + 1) for child in reversed(children.get(node.window, []))]
    return ordered


def list_names(names: Sequence[str], fits: Callable[[str], bool]) -> str:
    """Returns as many names as fit, and how many more there are.

    >>> list_names(["hot", "cold", "mild"], lambda text: len(text) <= 14)
    'hot +2 more'
    """
    full = ", ".join(names)
    if fits(full):
        return full
    longest = ""
    for count in range(1, len(names)):
        text = f"{', '.join(names[:count])} +{len(names) - count} more"
        if not fits(text):
            break
        longest = text
    if longest:
        return longest
    rest = f"… +{len(names) - 1} more" if len(names) > 1 else "…"
    # No column is wider than this; it limits the search.
    name = names[0][:200]
    while name and not fits(name + rest):
        name = name[:-1]
    return name.rstrip() + rest
