"""A plan as a self-contained SVG: its costs, a band for each tree, and what Spark answers alone."""

from muntin.explain import boxes, ruler, words
from muntin.explain.canvas import BAND, FAINT, MUTED, Canvas, clipped, measure, wrapped
from muntin.explain.rows import PassStory, TreeStory, passes_of, story_of
from muntin.model.plan import Plan
from muntin.model.query import Grouping, PlainQuery

_MARGIN, _PADDING = 24.0, 18.0
_LINE = 17.0
_NARROWEST = 980.0
_BAR = 280.0
# One for each grouping, so that trees cut from the same events look alike.
_COLOURS = ("#2563a8", "#0f766e", "#9a5b13", "#7c3f98", "#b03a5b", "#4d6b1f")
_OTHERS = "#b6c0cc"


def svg(plan: Plan) -> str:
    """The plan as a picture, drawn on a light card of its own."""
    stories = [story_of(tree) for tree in plan.trees]
    table = boxes.Table.of(stories)
    inner = table.width + 2 * _PADDING if stories else 0.0
    width = max(_NARROWEST, inner + 2 * _MARGIN)
    colours: dict[Grouping, str] = {}
    drawing = Canvas()
    y = _heading(drawing, plan)
    for story in passes_of(plan):
        y += _pass(drawing, story, y, width - 2 * _MARGIN) + 12
    for told in stories:
        colour = colours.setdefault(told.tree.grouping, _COLOURS[len(colours) % len(_COLOURS)])
        y += _band(drawing, told, table, y, width - 2 * _MARGIN, colour) + 12
    if plan.plain:
        y += _plain(drawing, plan.plain, y, width - 2 * _MARGIN) + 12
    if stories:
        factors = any(row.is_factor for told in stories for row in told.rows)
        y += boxes.legend(drawing, _MARGIN, y + 14, factors=factors)
    height = y + _MARGIN - 6
    title = f"{words.clean(plan.strategy)} plan: {words.headline(plan)}"
    return drawing.picture(width, height, title)


def _heading(canvas: Canvas, plan: Plan) -> float:
    """Name, facts and the costs as bars, on one linear scale; gives the height."""
    name = clipped(f"{words.clean(plan.strategy)} plan", 400, 20, bold=True)
    canvas.text(_MARGIN, 42, name, size=20, bold=True)
    trees, rate, keys = words.facts(plan)
    about = f"{words.headline(plan)} · {trees} · estimated costs for {rate} and {keys}"
    canvas.text(_MARGIN, 64, about, size=12, fill=MUTED)
    y = 84.0
    if not plan.trees:
        return y
    compared = list(words.comparison(plan))
    largest = max(cost for _, cost, _ in compared) or 1.0
    spent = words.parts(plan)
    left = _MARGIN + 124
    for label, cost, beside in compared:
        is_ours = label == "this plan"
        canvas.text(_MARGIN, y + 12, label, size=12, bold=is_ours)
        length = max(2.0, _BAR * cost / largest)
        canvas.rect(left, y + 2, length, 12, _COLOURS[0] if is_ours else _OTHERS)
        told = f"{words.cost(cost)}, {words.cpu(plan, cost)}"
        told += f", this plan costs {beside}" if beside else ""
        if is_ours:
            split = length * spent[words.ANSWERING] / cost if cost else 0.0
            start = length * spent[words.READING] / cost if cost else 0.0
            canvas.rect(left + start, y + 2, split, 12, "#ffffff", fill_opacity=0.55)
            told += ": " + ", ".join(f"{part} {words.figure(ops)}" for part, ops in spent.items())
        canvas.text(left + length + 8, y + 12, told, size=12, fill=MUTED)
        y += 21
    return y + 14


def _pass(canvas: Canvas, story: PassStory, top: float, width: float) -> float:
    """One pass: whose events are read, for how many trees, and what it costs; gives the height."""
    height = 2 * _PADDING + 30
    canvas.rect(_MARGIN, top, width, height, BAND, rx=8)
    canvas.rect(_MARGIN, top, 5, height, MUTED, rx=2)
    x, y = _MARGIN + _PADDING, top + _PADDING
    room = width - 2 * _PADDING
    canvas.begin(f"{story.name}: {story.about}\n{story.reading}\n{words.cost(story.cost)}")
    canvas.text(x, y + 11, story.name, size=14, bold=True)
    start = measure(story.name, 14, bold=True) + 10
    told = f"{words.READING} {words.cost(story.cost)}"
    canvas.text(x + room, y + 11, told, size=12, anchor="end")
    about = clipped(story.about, room - start - measure(told, 12) - 20, 12)
    canvas.text(x + start, y + 11, about, size=12)
    canvas.text(x, y + 31, clipped(story.reading, room, 12), size=12, fill=MUTED)
    canvas.end()
    return height


def _band(
    canvas: Canvas,
    story: TreeStory,
    table: boxes.Table,
    top: float,
    width: float,
    colour: str,
) -> float:
    """One tree: whose events it reads, its slices to scale, and its boxes; gives the height."""
    tree, is_cut = story.tree, story.with_edges is not None
    room = table.glyph - 2 * _PADDING
    lines = _about(story, room if is_cut else table.width - 2 * _PADDING)
    head = max(22 + _LINE * len(lines), 24 + ruler.HEIGHT if is_cut else 0.0) + 14
    height = head + table.height(story.rows) + 2 * _PADDING
    canvas.rect(_MARGIN, top, width, height, BAND, rx=8)
    x, y = _MARGIN + _PADDING, top + _PADDING
    relation = words.relation(tree.grouping)
    canvas.begin("\n".join([relation, *words.conditions(tree.grouping), story.answering]))
    canvas.text(x, y + 13, clipped(relation, room, 14, bold=True), size=14, bold=True)
    for index, line in enumerate(lines):
        canvas.text(x, y + 33 + _LINE * index, line, size=12, fill=MUTED)
    canvas.end()
    spent = [words.figure(cost) for cost in (tree.cut_cost, tree.cost - tree.cut_cost)]
    told = f"{words.READING} {spent[0]} + {words.ANSWERING} {spent[1]} = {words.cost(tree.cost)}"
    canvas.text(x + table.width, y + 13, told, size=12, anchor="end")
    if story.with_edges is not None:
        ruler.draw(
            canvas, story.with_edges, x + table.glyph, y + 24, table.width - table.glyph, colour
        )
    table.draw(canvas, story, x, y + head, colour)
    return height


def _about(story: TreeStory, room: float) -> list[str]:
    """Filter, keys and time column, the filter in lines of its own, then what else is known."""
    conditions = words.conditions(story.tree.grouping)
    kept = 1 if story.tree.grouping.where else 0
    told = [*conditions[:kept], " ".join(conditions[kept:]), story.answering, *story.notes()]
    return [line for text in told for line in wrapped(text, room, 12, most=2)]


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
