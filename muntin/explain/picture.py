"""A plan as a self-contained SVG: its costs, a band for each pass and tree, and plain queries."""

from muntin.explain import words
from muntin.explain.drawing import (
    BAND,
    CARD,
    FAINT,
    MARGIN,
    MUTED,
    PADDING,
    Block,
    clip,
    document,
    group,
    measure,
    rect,
    text,
    wrap,
)
from muntin.explain.tree_band import Columns, TreeBand, ring_and_dot
from muntin.explain.tree_text import PassText, pass_texts, tree_text
from muntin.model.plan import Plan
from muntin.model.query import Grouping, PlainQuery

_NARROWEST, _TOTAL_BAR = 980.0, 280.0
# One colour for each grouping, so that trees over the same events look alike.
_COLOURS = ("#2563a8", "#0f766e", "#9a5b13", "#7c3f98", "#b03a5b", "#4d6b1f")
_OTHER_BAR = "#b6c0cc"


def svg(plan: Plan) -> str:
    """Returns the plan as a picture on a light card of its own."""
    trees = [tree_text(tree) for tree in plan.trees]
    columns = Columns.of(trees)
    width = max(_NARROWEST, (columns.width + 2 * PADDING if trees else 0.0) + 2 * MARGIN)
    inner = width - 2 * MARGIN
    elements, y = _heading(plan)
    colours: dict[Grouping, str] = {}
    for story in pass_texts(plan):
        band, height = _pass_band(story, y, inner)
        elements, y = elements + band, y + height + 12
    for each in trees:
        colour = colours.setdefault(each.tree.grouping, _COLOURS[len(colours) % len(_COLOURS)])
        band, height = TreeBand(each, columns, colour).draw(y, inner)
        elements, y = elements + band, y + height + 12
    if plan.plain:
        band, height = _plain_band(plan.plain, y, inner)
        elements, y = elements + band, y + height + 12
    if trees:
        has_factors = any(row.is_factor for each in trees for row in each.rows)
        legend, height = _legend(MARGIN, y + 14, has_factors=has_factors)
        elements, y = elements + legend, y + height
    title = f"{words.clean(plan.strategy)} plan: {words.headline(plan)}"
    return document(width, y + MARGIN - 6, title, elements)


def _heading(plan: Plan) -> Block:
    """Draws the name, the facts, and the costs as bars on one linear scale."""
    trees, rate, keys = words.facts(plan)
    about = f"{words.headline(plan)} · {trees} · estimated costs for {rate} and {keys}"
    name = clip(f"{words.clean(plan.strategy)} plan", 400, 20, bold=True)
    elements = [text(MARGIN, 42, name, size=20, bold=True), text(MARGIN, 64, about, fill=MUTED)]
    y, left = 84.0, MARGIN + 124
    if not plan.trees:
        return elements, y
    costs = list(words.comparison(plan))
    largest = max(cost for _, cost, _ in costs) or 1.0
    spent = words.cost_parts(plan)
    for label, cost, ratio in costs:
        is_ours = label == "this plan"
        length = max(2.0, _TOTAL_BAR * cost / largest)
        caption = f"{words.cost(cost)}, {words.cpu(plan, cost)}"
        caption += f", this plan costs {ratio}" if ratio else ""
        elements += [
            text(MARGIN, y + 12, label, bold=is_ours),
            rect(left, y + 2, length, 12, fill=_COLOURS[0] if is_ours else _OTHER_BAR),
        ]
        if is_ours and cost:
            start, answering = (
                length * spent[part] / cost for part in (words.READING, words.ANSWERING)
            )
            elements.append(rect(left + start, y + 2, answering, 12, fill=CARD, fill_opacity=0.55))
        if is_ours:
            parts = ", ".join(f"{part} {words.figure(ops)}" for part, ops in spent.items())
            caption += f": {parts}"
        elements.append(text(left + length + 8, y + 12, caption, fill=MUTED))
        y += 21
    return elements, y + 14


def _pass_band(story: PassText, top: float, width: float) -> Block:
    height = 2 * PADDING + 30
    x, y, room = MARGIN + PADDING, top + PADDING, width - 2 * PADDING
    cost = f"{words.READING} {words.cost(story.cost)}"
    start = measure(story.name, 14, bold=True) + 10
    about = clip(story.about, room - start - measure(cost, 12) - 20, 12)
    return [
        rect(MARGIN, top, width, height, fill=BAND, rx=8),
        rect(MARGIN, top, 5, height, fill=MUTED, rx=2),
        group(
            f"{story.name}: {story.about}\n{story.reading}\n{words.cost(story.cost)}",
            text(x, y + 11, story.name, size=14, bold=True),
            text(x + room, y + 11, cost, anchor="end"),
            text(x + start, y + 11, about),
            text(x, y + 31, clip(story.reading, room, 12), fill=MUTED),
        ),
    ], height


def _plain_band(queries: tuple[PlainQuery, ...], top: float, width: float) -> Block:
    """Draws the queries that do not share, each with the reason."""
    x, y, reasons = MARGIN + PADDING, top + PADDING + 22, 216.0
    elements = [text(x, y - 11, words.PLAIN_HEADING, size=13, bold=True, fill=MUTED)]
    for query in queries:
        name, reason = words.clean(query.name), words.clean(query.reason)
        lines = wrap(reason, width - 2 * PADDING - reasons, 12, most=3)
        texts = [
            text(x + reasons, y + 12 + 16 * index, content, fill=MUTED)
            for index, content in enumerate(lines)
        ]
        title = f"{name}\n{reason}"
        elements.append(group(title, text(x, y + 12, clip(name, reasons - 16, 12)), *texts))
        y += 16 * max(1, len(lines)) + 6
    height = y - top + PADDING - 6
    frame = rect(MARGIN, top, width, height, fill="none", stroke=FAINT, rx=8)
    return [frame, *elements], height


def _legend(x: float, y: float, *, has_factors: bool) -> Block:
    """Explains the signs, in lines from the baseline `y`."""
    window = "a window's slide (ring) and size (dot); a dot alone is a tumbling window"
    cost = f"cost: {words.OPERATION}; CPU s/h is CPU seconds for each hour of events"
    elements = [
        *ring_and_dot(x + 4, x + 26, y - 4, MUTED, ring=True),
        text(x + 40, y, window, size=11, fill=MUTED),
        rect(x + 0.5, y + 9, 29, 10, fill=MUTED, fill_opacity=0.8),
        text(x + 40, y + 18, cost, size=11, fill=MUTED),
    ]
    if has_factors:
        style = {"fill": CARD, "stroke": MUTED, "stroke_dasharray": "5 3"}
        elements.append(rect(x + 0.5, y + 26, 29, 12, rx=3, **style))
        elements.append(text(x + 40, y + 36, words.FACTOR_MEANING, size=11, fill=MUTED))
    return elements, 52.0 if has_factors else 34.0
