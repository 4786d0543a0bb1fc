"""A plan as a self-contained SVG: its costs, a band for each tree, and what Spark answers alone."""

from muntin.explain import boxes, record_trees, ruler, words
from muntin.explain.canvas import BAND, FAINT, MUTED, Canvas, clipped, wrapped
from muntin.model.plan import Plan, Tree
from muntin.model.query import Family, PlainQuery

_MARGIN, _PADDING, _GAP = 24.0, 18.0, 48.0
_PANEL = 290.0
_LINE = 17.0
_NARROWEST = 780.0
_BAR = 280.0
# One for each family, so that trees cut from the same events look alike.
_COLOURS = ("#2563a8", "#0f766e", "#9a5b13", "#7c3f98", "#b03a5b", "#4d6b1f")


def svg(plan: Plan) -> str:
    """The plan as a picture, drawn on a light card of its own."""
    areas = [boxes.area(tree) for tree in plan.trees]
    inner = max((_PANEL + _GAP + area.width + 2 * _PADDING for area in areas), default=0.0)
    width = max(_NARROWEST, inner + 2 * _MARGIN)
    scale = boxes.Scale.of(plan)
    colours: dict[Family, str] = {}
    drawing = Canvas()
    y = _heading(drawing, plan)
    for tree, area in zip(plan.trees, areas, strict=True):
        colour = colours.setdefault(tree.family, _COLOURS[len(colours) % len(_COLOURS)])
        y += _band(drawing, tree, area, y, width - 2 * _MARGIN, scale, colour) + 12
    for found in plan.record_trees:
        colour = colours.setdefault(found.family, _COLOURS[len(colours) % len(_COLOURS)])
        y += record_trees.draw(drawing, found, _MARGIN, y, width - 2 * _MARGIN, colour) + 12
    if plan.plain:
        y += _plain(drawing, plan.plain, y, width - 2 * _MARGIN) + 12
    if plan.trees:
        factors = any(node.is_factor for tree in plan.trees for node in tree.nodes)
        y += boxes.legend(drawing, _MARGIN, y + 14, scale, factors=factors)
    height = y + _MARGIN - 6
    title = f"{words.clean(plan.strategy)} plan: {', '.join(words.facts(plan))}"
    return drawing.picture(width, height, title)


def _heading(canvas: Canvas, plan: Plan) -> float:
    """Name, facts and the costs as bars, on one linear scale; gives the height."""
    name = clipped(f"{words.clean(plan.strategy)} plan", 400, 20, bold=True)
    canvas.text(_MARGIN, 42, name, size=20, bold=True)
    queries, trees, rate, keys = words.facts(plan)
    about = f"{queries} · {trees} · estimated costs for {rate} and {keys}"
    canvas.text(_MARGIN, 64, about, size=12, fill=MUTED)
    y = 84.0
    if not plan.all_trees:
        return y
    compared = list(words.comparison(plan))
    largest = max(cost for _, cost, _ in compared) or 1.0
    for label, cost, beside in compared:
        ours = label == "this plan"
        canvas.text(_MARGIN, y + 12, label, size=12, bold=ours)
        length = max(2.0, _BAR * cost / largest)
        left = _MARGIN + 118
        canvas.rect(left, y + 2, length, 12, _COLOURS[0] if ours else "#b6c0cc", rx=2)
        told = words.cost(cost) + (f", this plan costs {beside}" if beside else "")
        canvas.text(left + length + 8, y + 12, told, size=12, fill=MUTED)
        y += 21
    return y + 14


def _band(
    canvas: Canvas,
    tree: Tree,
    area: boxes.Area,
    top: float,
    width: float,
    scale: boxes.Scale,
    colour: str,
) -> float:
    """One tree: its events and slices on the left, its nodes on the right; gives the height."""
    strip = _panel_height(tree)
    panel = strip + ruler.HEIGHT
    height = max(panel, area.height) + 2 * _PADDING
    canvas.rect(_MARGIN, top, width, height, BAND, rx=8)
    x, y = _MARGIN + _PADDING, top + _PADDING
    middle = y + strip + ruler.STRIP / 2
    # The nodes stand about the strip they read where there is room for it.
    nodes_x = x + _PANEL + _GAP
    nodes_y = max(y, min(middle - area.height / 2, top + height - _PADDING - area.height))
    for place in area.places:
        if place.node.parent is None:
            end = (nodes_x + place.x, nodes_y + place.y + area.box_height / 2)
            canvas.elbow((x + _PANEL, middle), x + _PANEL + _GAP / 2, end)
    _panel(canvas, tree, x, y)
    ruler.draw(canvas, tree, x, y + strip, _PANEL, colour)
    area.draw(canvas, nodes_x, nodes_y, scale, colour)
    return height


def _panel(canvas: Canvas, tree: Tree, x: float, y: float) -> None:
    """Whose events are cut, and how, above the strip of slices."""
    relation = words.relation(tree.family)
    about, cut = _about(tree), _cut(tree)
    canvas.begin("\n".join([relation, *words.conditions(tree.family), *cut]))
    canvas.text(x, y + 13, clipped(relation, _PANEL, 14, bold=True), size=14, bold=True)
    y += 33
    for line in about:
        canvas.text(x, y, line, size=12, fill=MUTED)
        y += _LINE
    for line in cut:
        canvas.text(x, y + 8, line, size=12)
        y += _LINE
    canvas.end()


def _panel_height(tree: Tree) -> float:
    return 18 + _LINE * (len(_about(tree)) + len(_cut(tree))) + 18


def _about(tree: Tree) -> list[str]:
    """Filter, keys and time column, the filter in lines of its own."""
    conditions = words.conditions(tree.family)
    kept = 1 if tree.family.where else 0
    told = [*conditions[:kept], " ".join(conditions[kept:])]
    return [line for one in told for line in wrapped(one, _PANEL, 12, most=2)]


def _cut(tree: Tree) -> list[str]:
    how = words.slices(tree.slicing).replace(", ", ",\n").splitlines()
    cutting = wrapped(words.cutting(tree), _PANEL, 12, most=2)
    return [*(clipped(line, _PANEL, 12) for line in how), *cutting]


def _plain(canvas: Canvas, queries: tuple[PlainQuery, ...], top: float, width: float) -> float:
    """The queries that do not share, and why; gives the height."""
    named = 200.0
    room = width - 2 * _PADDING - named - 16
    rows = [(query, wrapped(words.clean(query.reason), room, 12, most=3)) for query in queries]
    height = 2 * _PADDING + 22 + sum(16 * max(1, len(lines)) + 6 for _, lines in rows) - 6
    canvas.rect(_MARGIN, top, width, height, "none", stroke=FAINT, rx=8)
    x, y = _MARGIN + _PADDING, top + _PADDING
    canvas.text(x, y + 11, words.PLAIN_HEADING, size=13, bold=True, fill=MUTED)
    y += 22
    for query, lines in rows:
        name = words.clean(query.name)
        canvas.begin(f"{name}\n{words.clean(query.reason)}")
        canvas.text(x, y + 12, clipped(name, named, 12), size=12)
        for index, line in enumerate(lines):
            canvas.text(x + named + 16, y + 12 + 16 * index, line, size=12, fill=MUTED)
        canvas.end()
        y += 16 * max(1, len(lines)) + 6
    return height
