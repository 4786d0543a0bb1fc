"""The words and figures that the text and the picture have in common."""

import unicodedata
from collections.abc import Callable, Iterator, Sequence

from muntin.model.plan import Node, Plan, Tree
from muntin.model.query import Family, Grouping
from muntin.model.slicing import Slicing
from muntin.model.sql_text import SqlText
from muntin.model.time import DAY, HOUR, MINUTE, SECOND, format_duration
from muntin.model.windows.window import Window
from muntin.model.workload import ASSUMED_KEYS, ASSUMED_RATE
from muntin.optimizer.costs.cost import occupied
from muntin.optimizer.slicing.edges import slicing

PLAIN_HEADING = "answered by Spark alone"
FACTOR = "factor window"
FACTOR_TOLD = "factor window: no query asks for it, but others are cheaper to build from it"
OPERATION = "1 op merges two partial aggregates"
ESTIMATED = "costs are estimates; fixed ones, such as starting a job, are left out"
READING, ANSWERING, SPARK_ALONE = "reading", "answering", "Spark alone"
_UNPRINTABLE = {"Cc", "Cs", "Cn", "Co", "Zl", "Zp"}


def clean(text: str) -> str:
    """One printable line: names and reasons are the user's, and may hold anything.

    >>> clean("two\\nlines")
    'two lines'
    """
    kept = (" " if unicodedata.category(sign) in _UNPRINTABLE else sign for sign in text)
    return " ".join("".join(kept).split())


def width(text: str) -> int:
    """How many columns of a terminal a text takes; East Asian signs take two.

    >>> width("day"), width("日本")
    (3, 4)
    """
    return sum(1 + (unicodedata.east_asian_width(sign) in "WF") for sign in text)


def amount(value: float) -> str:
    """Two or three digits and a unit.

    >>> amount(1234), amount(3_400_000), amount(999.7), amount(7.26)
    ('1.2k', '3.4M', '1k', '7.3')
    """
    return figure(value).replace(".0", "")


def figure(value: float) -> str:
    """The same, always with the digit behind the point, so that a column lines up."""
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
    """A cost with its unit: operations for each second of the stream."""
    return f"{figure(value)} ops/s"


def ratio(ours: float, theirs: float) -> str:
    """Compares our cost with theirs in words; empty where one of them is unknown.

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


def counted(number: float, noun: str, plural: str | None = None) -> str:
    """`1 tree`, `2 trees`, `10 queries`."""
    return f"{amount(number)} {noun if number == 1 else plural or noun + 's'}"


def headline(plan: Plan) -> str:
    """Returns how many of the queries share, and how often data is read.

    Spark alone reads it once for each query.
    """
    queries, scans = len(plan.queries), counted(plan.scans, "scan")
    if not plan.sharing:
        return f"{counted(queries, 'query', 'queries')}, nothing to share; {scans}"
    told = f"{len(plan.sharing)} of {queries} queries share"
    return f"{told}; {scans}" + (f" instead of {queries}" if plan.scans < queries else "")


def facts(plan: Plan) -> tuple[str, ...]:
    """What the plan is made of and what its costs are computed for."""
    rate, keys = f"{amount(plan.rate)} events/s", counted(plan.keys, "key")
    # A workload may be made with a rate or keys of the user's own.
    if not plan.rate_known and plan.rate == ASSUMED_RATE:
        rate += " (assumed)"
    if not plan.keys_known and plan.keys == ASSUMED_KEYS:
        keys += " (assumed)"
    return counted(len(plan.all_trees), "tree"), rate, keys


def cpu(plan: Plan, value: float) -> str:
    """Returns a cost as CPU seconds for each hour of events."""
    return f"{figure(plan.prices.cpu_seconds_per_hour(value))} CPU s/h"


def units(plan: Plan) -> str:
    """Explains the units of costs."""
    return (
        f"{OPERATION}, about {plan.prices.nanoseconds:.2g} ns; CPU s/h is CPU seconds for each "
        f"hour of events"
    )


def comparison(plan: Plan) -> Iterator[tuple[str, float, str]]:
    """The plan's cost and the two it is compared with, each with this plan's cost beside it.

    All have the queries that Spark answers alone.
    """
    yield "this plan", plan.cost, ""
    for name, other in (
        ("each query alone", plan.unshared_cost),
        ("plain Spark", plan.plain_cost),
    ):
        if other > 0:
            yield name, other, ratio(plan.cost, other)


def parts(plan: Plan) -> dict[str, float]:
    """What the plan spends on reading events into slices, on answering from slices, and on the
    queries that Spark answers alone, if there are some."""
    reading = sum(tree.cut_cost for tree in plan.all_trees)
    reading += sum(shared.cost for shared in plan.passes)
    spent = {READING: reading, ANSWERING: plan.cost - plan.cost_of_plain - reading}
    return spent | ({SPARK_ALONE: plan.cost_of_plain} if plan.plain else {})


def strategies(plan: Plan) -> Iterator[tuple[float, str, list[str]]]:
    """The strategies that were tried, the cheapest first; those of equal cost stand together.

    Each group has its least cost, how that stands beside the least, and the strategies' names.
    """
    groups: dict[str, tuple[float, list[str]]] = {}
    tried = plan.considered.items()
    # The plan may cost less: groupings can have trees of different strategies, and share passes.
    base = min(plan.considered.values(), default=0.0)
    for name, spent in sorted(tried, key=lambda item: (item[1], item[0] not in plan.taken)):
        beside = "" if name in plan.taken else ratio(spent, base)
        least, names = groups.setdefault("" if beside == "the same" else beside, (spent, []))
        if name in plan.taken:
            names.insert(0, f"{name} (chosen)")
        else:
            names.append(name)
    for beside, (least, names) in groups.items():
        yield least, beside, names


def groupings_share(plan: Plan) -> bool:
    """Whether some pass makes the slices of several filters or sets of keys."""
    passes = ({tree.grouping for tree in plan.trees_of(shared)} for shared in plan.passes)
    return any(len(groupings) > 1 for groupings in passes)


def why(plan: Plan) -> str:
    """Explains why a plan shares or not: how many events of a key fall into one slice."""
    windows: dict[Grouping, list[Window]] = {}
    readings: dict[Grouping, set[object]] = {}
    for number, tree in enumerate(plan.trees):
        readings.setdefault(tree.grouping, set()).add(tree.made_in or number)
        asked = [node.window for node in tree.nodes if node.queries]
        windows.setdefault(tree.grouping, []).extend(asked)
    if not readings:
        return ""
    grouping = max(readings, key=lambda candidate: len(readings[candidate]))
    common = slicing(windows[grouping])
    mean = plan.rate / occupied(common.rate, rate=plan.rate, keys=plan.keys)
    events = f"{mean:.1f} events" if mean < 10 else f"{amount(mean)} events"
    if len(readings[grouping]) == 1:
        return f"Sharing pays: a slice has {events} of a key on average, and windows merge slices."
    return (
        f"Sharing everything would not pay: a slice would have only {events} of a key on average. "
        f"The events are read {len(readings[grouping])} times instead."
    )


def sets_of_values(plan: Plan) -> Iterator[str]:
    """Says of what values slices keep sets, and how many a set has: that is what it costs."""
    told: set[str] = set()
    for tree in plan.trees:
        parts = (part for aggregate in tree.aggregates for part in aggregate.sets_of_values)
        for value in dict.fromkeys(part.value_in_set for part in parts):
            if tree.is_alone or value in told:
                continue
            told.add(value)
            kept = f"Slices keep sets of {clean(value)}"
            pairs = plan.live.get(frozenset({*tree.grouping.keys, value}))
            if pairs is None:
                yield f"{kept}, and each event is taken for a value of its own."
                continue
            rate = tree.slicing.rate
            events, keys = plan.rate, plan.keys
            values = occupied(rate, rate=events, keys=pairs)
            values /= occupied(rate, rate=events, keys=keys)
            size = f"{values:.1f}" if values < 10 else amount(values)
            yield f"{kept}, with {size} values of a key on average."


def relation(grouping: Grouping | Family | SqlText) -> str:
    """Names what the events come from: a table, or the SQL of the relation."""
    source = grouping if isinstance(grouping, SqlText) else grouping.relation
    if len(source.tables) == 1 and source == SqlText.table(source.tables[0]):
        return clean(source.tables[0])
    return clean(source.fill()) or "data"


def conditions(grouping: Grouping) -> tuple[str, ...]:
    """The filter, the keys and the time column of a grouping, as far as it has them."""
    told = [f"where {grouping.where}"] if grouping.where else []
    told += [f"by {', '.join(grouping.keys)}"] if grouping.keys else []
    return tuple(clean(text) for text in [*told, f"over {grouping.time}"])


def slices(slicing: Slicing) -> str:
    """Describes the slices that the stream is cut into."""
    if slicing.width is None:
        return f"slices of unequal length, {frequency(slicing.rate)}"
    phase = slicing.edges[0].phase
    return f"slices of {format_duration(slicing.width)}" + (
        f", from {format_duration(phase)} on" if phase else ""
    )


def frequency(per_second: float) -> str:
    """Writes a rate in the smallest unit of time in which it is not a small fraction.

    >>> frequency(0.444), frequency(1 / 90)
    ('0.44 a second', '0.67 a minute')
    """
    units = {"second": SECOND, "minute": MINUTE, "hour": HOUR, "day": DAY}
    times = {name: per_second * unit / SECOND for name, unit in units.items()}
    name = next((name for name in units if times[name] >= 0.1), "day")
    return f"{amount(times[name]) if times[name] >= 1 else f'{times[name]:.2g}'} a {name}"


def aggregates(node: Node) -> tuple[str, ...]:
    """The node's aggregates with their techniques; several where components of one differ.

    What neighbours have in common is said once, behind the last of them.
    """
    calls = [clean(str(aggregate)) for aggregate in node.aggregates]
    following = [*node.techniques[1:], ()]
    return tuple(
        call if named == after else call + _by(named)
        for call, named, after in zip(calls, node.techniques, following, strict=True)
    )


def _by(techniques: Sequence[str]) -> str:
    return f" by {' and '.join(dict.fromkeys(techniques))}"


def answers(node: Node) -> tuple[str, ...]:
    """The names of the queries that a node answers; a factor window says so."""
    return tuple(clean(name) for name in node.queries) or (FACTOR,)


def depths(tree: Tree) -> list[tuple[Node, int]]:
    """Returns every node with its depth below the slices, parents before children."""
    children: dict[object, list[Node]] = {}
    for node in tree.nodes:
        children.setdefault(node.parent, []).append(node)
    # A stack rather than recursion: the stairs of many windows are as deep as they are many.
    waiting = [(node, 0) for node in reversed(children.get(None, []))]
    ordered = []
    while waiting:
        node, depth = waiting.pop()
        ordered.append((node, depth))
        waiting += [(child, depth + 1) for child in reversed(children.get(node.window, []))]
    return ordered


def listed(names: Sequence[str], fits: Callable[[str], bool]) -> str:
    """Lists as many names as fit, and says how many were left out.

    >>> listed(["hot", "cold", "mild"], lambda text: len(text) <= 14)
    'hot +2 more'
    """
    full = ", ".join(names)
    if fits(full):
        return full
    longest = ""
    for kept in range(1, len(names)):
        text = f"{', '.join(names[:kept])} +{len(names) - kept} more"
        if not fits(text):
            break
        longest = text
    if longest:
        return longest
    rest = f"… +{len(names) - 1} more" if len(names) > 1 else "…"
    # No place has room for more signs than this; it bounds the search, not the text.
    name = names[0][:200]
    while name and not fits(name + rest):
        name = name[:-1]
    return name.rstrip() + rest
