"""SVG elements as text, with everything escaped and every style in attributes.

There is no stylesheet and no id, because a notebook puts many pictures into one page, where both
would leak.
"""

import textwrap
from xml.sax.saxutils import escape, quoteattr

from muntin.explain import words

INK, MUTED, FAINT, CARD, BAND = "#1f2933", "#5f6c7b", "#d5dbe3", "#ffffff", "#f5f7fa"
MARGIN, PADDING = 24.0, 18.0
# A part of a picture: its elements, and its height.
Block = tuple[list[str], float]
_FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"
# The mean width of a character, as a part of the font size, in the widest font that pages use.
_CHARACTER, _BOLD_CHARACTER = 0.6, 0.68


def measure(content: str, size: float, *, bold: bool = False) -> float:
    """Returns the estimated width of a text in pixels."""
    return words.width(content) * size * (_BOLD_CHARACTER if bold else _CHARACTER)


def clip(content: str, width: float, size: float, *, bold: bool = False) -> str:
    """Returns the text, cut to `width` pixels with an ellipsis if it is longer."""
    return words.list_names([content], lambda text: measure(text, size, bold=bold) <= width)


def wrap(content: str, width: float, size: float, *, most: int) -> list[str]:
    """Returns the text in at most `most` lines that fit into `width` pixels."""
    columns = max(1, int(width / size / _CHARACTER))
    lines = textwrap.wrap(content, columns, max_lines=most, placeholder=" …")
    return [clip(line, width, size) for line in lines]


def element(tag: str, content: str | None = None, /, **attributes: float | str) -> str:
    """Returns an element; `_` in the name of an attribute becomes `-`."""
    texts = [
        f" {name.replace('_', '-')}={quoteattr(value if isinstance(value, str) else number(value))}"
        for name, value in attributes.items()
    ]
    end = "/>" if content is None else f">{escape(content)}</{tag}>"
    return f"<{tag}{''.join(texts)}{end}"


def number(value: float) -> str:
    """Returns a coordinate to a tenth of a pixel."""
    return f"{value:.1f}".removesuffix(".0")


def rect(x: float, y: float, width: float, height: float, **style: float | str) -> str:
    """Returns a rectangle."""
    return element("rect", x=x, y=y, width=width, height=height, **style)


def line(x1: float, y1: float, x2: float, y2: float, stroke: str, **style: float | str) -> str:
    """Returns a straight line."""
    return element("line", x1=x1, y1=y1, x2=x2, y2=y2, stroke=stroke, **style)


def circle(x: float, y: float, radius: float, **style: float | str) -> str:
    """Returns a circle."""
    return element("circle", cx=x, cy=y, r=radius, **style)


def text(
    x: float,
    y: float,
    content: str,
    *,
    size: float = 12,
    fill: str = INK,
    bold: bool = False,
    anchor: str = "start",
) -> str:
    """Returns a line of text on the baseline `y`."""
    style: dict[str, float | str] = {"font_weight": "600"} if bold else {}
    if anchor != "start":
        style["text_anchor"] = anchor
    return element("text", content, x=x, y=y, font_size=size, fill=fill, **style)


def group(title: str, *elements: str) -> str:
    """Returns a group; browsers show its title while the pointer rests on it."""
    return "\n".join(["<g>", element("title", title), *elements, "</g>"])


def document(width: float, height: float, title: str, elements: list[str]) -> str:
    """Returns a whole picture on a light card."""
    # Without a height attribute, a narrow page can shrink the picture in proportion.
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {number(width)} {number(height)}" '
        f'width="{number(width)}" style="max-width:100%" role="img" font-family={quoteattr(_FONT)}>'
    )
    card = rect(0.5, 0.5, width - 1, height - 1, rx=10, fill=CARD, stroke=FAINT)
    return "\n".join([head, element("title", title), card, *elements, "</svg>\n"])
