"""The words and figures that the text and the picture have in common."""

import unicodedata
from collections.abc import Callable, Iterator, Sequence

from muntin.model.plan import Node, Plan, Slicing, Tree
from muntin.model.query import Family
from muntin.model.sql_text import SqlText
from muntin.model.time import DAY, HOUR, MINUTE, SECOND, format_duration
from muntin.model.windows.window import Window
from muntin.share.costs.cost import occupied
from muntin.share.slicing.edges import slicing

PLAIN_HEADING = "answered by Spark alone"
FACTOR = "factor window"
ESTIMATED = "estimates of the cost model; fixed costs (starting jobs, opening files) are left out"
_UNPRINTABLE = {"Cc", "Cs", "Cn", "Co", "Zl", "Zp"}


def clean(text: str) -> str:
    """One printable line: names and reasons are the user's, and may hold anything.

    >>> clean("two\\nlines")
    'two lines'
    """
    kept = (" " if unicodedata.category(sign) in _UNPRINTABLE else sign for sign in text)
    return " ".join("".join(kept).split())


def amount(value: float) -> str:
    """Two or three digits and a unit.

    >>> amount(1234), amount(3_400_000), amount(999.7), amount(7.26)
    ('1.2k', '3.4M', '1k', '7.3')
    """
    return _figure(value).replace(".0", "")


def _figure(value: float) -> str:
    """The same with the digit behind the point always there, so that a column lines up."""
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
    """A cost with its unit: combine operations per second."""
    return f"{_figure(value)} ops/s"


def ratio(ours: float, theirs: float) -> str:
    """How our cost stands beside theirs; nothing where one of them is unknown.

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


def facts(plan: Plan) -> tuple[str, ...]:
    """What the plan is made of and what its costs assume."""
    return (
        counted(len(plan.queries), "query", "queries"),
        counted(len(plan.all_trees), "tree"),
        f"{amount(plan.rate)} events/s",
        counted(plan.keys, "key"),
    )


def comparison(plan: Plan) -> Iterator[tuple[str, float, str]]:
    """The plan's cost and those it is measured by, each with how this plan stands beside it."""
    yield "this plan", plan.cost, ""
    for name, other in (
        ("a tree per query", plan.unshared_cost),
        ("plain Spark", plan.plain_cost),
    ):
        if other > 0:
            yield name, other, ratio(plan.cost, other)


def why(plan: Plan) -> str:
    """Why a plan has as many trees as it has: how many events meet in a slice."""
    windows: dict[Family, list[Window]] = {}
    trees: dict[Family, int] = {}
    for tree in plan.trees:
        trees[tree.family] = trees.get(tree.family, 0) + 1
        asked = [node.window for node in tree.nodes if node.queries]
        windows.setdefault(tree.family, []).extend(asked)
    if not trees:
        return ""
    family = max(trees, key=lambda one: trees[one])
    common = slicing(windows[family])
    met = plan.rate / occupied(common.rate, rate=plan.rate, keys=plan.keys)
    events = f"{met:.1f} events" if met < 10 else f"{amount(met)} events"
    if trees[family] == 1:
        return f"Events are cut once for all: {events} meet in a slice of a key, on average."
    return (
        f"Sharing all would not pay: only {events} would meet in a slice of a key. "
        f"The events are read {trees[family]} times instead."
    )


def relation(family: Family) -> str:
    """Whose events are cut: a table's name where it is one table, else the SQL."""
    source = family.relation
    if len(source.tables) == 1 and source == SqlText.table(source.tables[0]):
        return clean(source.tables[0])
    return clean(source.fill()) or "data"


def conditions(family: Family) -> tuple[str, ...]:
    """The filter, the keys and the time column of a family, as far as it has them."""
    found = [f"where {family.where}"] if family.where else []
    found += [f"by {', '.join(family.keys)}"] if family.keys else []
    return tuple(clean(one) for one in [*found, f"over {family.time}"])


def slices(slicing: Slicing) -> str:
    """How the stream is cut."""
    if slicing.width is None:
        count = len(slicing.edges)
        return f"slices cut at {count} progressions of edges, {frequency(slicing.rate)}"
    phase = slicing.edges[0].phase
    return f"slices of {format_duration(slicing.width)}" + (
        f" at {format_duration(phase)}" if phase else ""
    )


def cutting(tree: Tree) -> str:
    """What it costs to cut the stream, and whether events are moved before."""
    done = "events moved, then cut" if tree.moves_events else "cut"
    return f"{done} for {cost(tree.cut_cost)}, in all {cost(tree.cost)}"


def notes(tree: Tree) -> tuple[str, ...]:
    """What Spark does for a tree beside making the slices, and how its work is split."""
    found = []
    if tree.is_alone:
        found.append("one query whose windows are the slices: in a batch Spark alone answers it")
    if tree.native:
        names = ", ".join(map(clean, tree.native))
        found.append(f"combined by Spark, as the runtime does not take their types: {names}")
    if tree.time_part is not None:
        found.append(
            f"few keys: split by time, too, into parts of {format_duration(tree.time_part)}"
        )
    return tuple(found)


def frequency(per_second: float) -> str:
    """A rate in the unit in which it is no small fraction.

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


def source(node: Node) -> str:
    """What a node reads."""
    return "the slices" if node.parent is None else str(node.parent)


def depths(tree: Tree) -> list[tuple[Node, int]]:
    """Every node with its distance from the slices, parents before their children."""
    children: dict[object, list[Node]] = {}
    for node in tree.nodes:
        children.setdefault(node.parent, []).append(node)
    # A stack rather than recursion: the stairs of many windows are as deep as they are many.
    waiting = [(node, 0) for node in reversed(children.get(None, []))]
    found = []
    while waiting:
        node, depth = waiting.pop()
        found.append((node, depth))
        waiting += [(child, depth + 1) for child in reversed(children.get(node.window, []))]
    return found


def listed(names: Sequence[str], fits: Callable[[str], bool]) -> str:
    """As many names as fit, and how many were left out.

    >>> listed(["hot", "cold", "mild"], lambda text: len(text) <= 14)
    'hot +2 more'
    """
    full = ", ".join(names)
    if fits(full):
        return full
    found = ""
    for kept in range(1, len(names)):
        text = f"{', '.join(names[:kept])} +{len(names) - kept} more"
        if not fits(text):
            break
        found = text
    if found:
        return found
    rest = f"… +{len(names) - 1} more" if len(names) > 1 else "…"
    # No place has room for more signs than this; it bounds the search, not the text.
    name = names[0][:200]
    while name and not fits(name + rest):
        name = name[:-1]
    return name.rstrip() + rest
