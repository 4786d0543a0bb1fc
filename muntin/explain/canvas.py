"""SVG elements as text: everything escaped, every style in attributes, nothing fetched.

No stylesheet and no ids: a notebook puts many pictures into one page, where both would leak.
"""

import unicodedata
from collections.abc import Sequence
from itertools import accumulate, takewhile
from xml.sax.saxutils import escape, quoteattr

from muntin.explain import words

FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"
INK, MUTED, FAINT = "#1f2933", "#5f6c7b", "#d5dbe3"
CARD, BAND, BOX = "#ffffff", "#f5f7fa", "#ffffff"

# Widths as parts of the font size, of DejaVu Sans, the widest font that pages fall back to.
_WIDTHS = {
    sign: width
    for width, signs in (
        (0.35, "ijlIJ.,:;|'/\\ "),
        (0.44, 'frt()[]!-"'),
        (0.85, "w#&+<=>^~"),
        (1.02, "mMW@%—…"),
    )
    for sign in signs
}


def measure(text: str, size: float, *, bold: bool = False) -> float:
    """Returns a text's width in pixels in the widest font that may show it."""
    return sum(map(_width, text)) * size * (1.1 if bold else 1.0)


def _width(sign: str) -> float:
    if unicodedata.east_asian_width(sign) in "WF":
        return 1.05
    return _WIDTHS.get(sign, 0.76 if sign.isupper() or ord(sign) > 0x2FF else 0.645)


def clipped(text: str, room: float, size: float, *, bold: bool = False) -> str:
    """The text, or as much of its beginning as fits, with `…` behind."""
    if measure(text, size, bold=bold) <= room:
        return text
    ends = accumulate(measure(sign, size, bold=bold) for sign in text + "…")
    room -= measure("…", size, bold=bold)
    return text[: sum(1 for _ in takewhile(lambda end: end <= room, ends))].rstrip() + "…"


def listed(names: Sequence[str], room: float, size: float) -> str:
    """As many names as fit in `room` pixels, and how many were left out."""
    return words.listed(names, lambda text: measure(text, size) <= room)


def wrapped(text: str, room: float, size: float, *, most: int) -> list[str]:
    """The text in lines that fit, at most so many of them."""
    lines: list[str] = []
    rest = text.split()
    while rest and len(lines) < most - 1:
        line = rest.pop(0)
        while rest and measure(f"{line} {rest[0]}", size) <= room:
            line += " " + rest.pop(0)
        lines.append(clipped(line, room, size))
    return [*lines, clipped(" ".join(rest), room, size)] if rest else lines


def number(value: float) -> str:
    """A coordinate to a tenth of a pixel, in as few signs as possible."""
    return f"{value:.1f}".removesuffix(".0")


class Canvas:
    """Elements drawn so far; later ones lie above earlier ones."""

    def __init__(self) -> None:
        self._elements: list[str] = []

    def add(self, tag: str, attributes: dict[str, float | str], content: str | None = None) -> None:
        """One element; `content` is escaped here and nowhere else."""
        written = "".join(
            f" {name}={quoteattr(value if isinstance(value, str) else number(value))}"
            for name, value in attributes.items()
        )
        end = "/>" if content is None else f">{escape(content)}</{tag}>"
        self._elements.append(f"<{tag}{written}{end}")

    def begin(self, title: str) -> None:
        """Opens a group whose full story is shown when the pointer rests on it."""
        self._elements.append("<g>")
        self.add("title", {}, title)

    def end(self) -> None:
        """Closes the group."""
        self._elements.append("</g>")

    def rect(
        self, x: float, y: float, width: float, height: float, fill: str, **more: float | str
    ) -> None:
        """A rectangle; attributes are given with `_` for `-`."""
        self.add(
            "rect",
            {"x": x, "y": y, "width": width, "height": height, "fill": fill, **_dashed(more)},
        )

    def text(
        self,
        x: float,
        y: float,
        content: str,
        *,
        size: float = 12,
        fill: str = INK,
        bold: bool = False,
        anchor: str = "start",
    ) -> None:
        """A line of text on the baseline `y`."""
        style: dict[str, float | str] = {"x": x, "y": y, "font-size": size, "fill": fill}
        style |= {"font-weight": "600"} if bold else {}
        style |= {"text-anchor": anchor} if anchor != "start" else {}
        self.add("text", style, content)

    def line(
        self, x1: float, y1: float, x2: float, y2: float, stroke: str, **more: float | str
    ) -> None:
        """A straight line."""
        ends: dict[str, float | str] = {"x1": x1, "y1": y1, "x2": x2, "y2": y2}
        self.add("line", {**ends, "stroke": stroke, **_dashed(more)})

    def circle(self, x: float, y: float, radius: float, fill: str, **more: float | str) -> None:
        """A dot."""
        self.add("circle", {"cx": x, "cy": y, "r": radius, "fill": fill, **_dashed(more)})

    def elbow(self, start: tuple[float, float], turn: float, end: tuple[float, float]) -> None:
        """A line that runs level, turns up or down at `turn` with round corners, and runs level."""
        (x1, y1), (x2, y2) = start, end
        if abs(y2 - y1) < 1:
            path = f"M{number(x1)} {number(y2)}H{number(x2)}"
        else:
            round_ = min(8.0, abs(y2 - y1) / 2, abs(x2 - turn), abs(turn - x1) or 8.0)
            down = round_ if y2 > y1 else -round_
            first = number(turn - round_ if turn > x1 else turn)
            path = (
                f"M{number(x1)} {number(y1)}H{first}"
                + (f"Q{number(turn)} {number(y1)} {number(turn)} {number(y1 + down)}")
                + f"V{number(y2 - down)}"
                + f"Q{number(turn)} {number(y2)} {number(turn + round_)} {number(y2)}H{number(x2)}"
            )
        self.add("path", {"d": path, "fill": "none", "stroke": "#a9b4c2", "stroke-width": 1.3})

    def picture(self, width: float, height: float, title: str) -> str:
        """All of it as one SVG document."""
        # No height: it follows from the width, also where a narrow page shrinks the picture.
        head = (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {number(width)} '
            f'{number(height)}" width="{number(width)}" style="max-width:100%" role="img" '
            f"font-family={quoteattr(FONT)}>"
        )
        card = (
            f'<rect x="0.5" y="0.5" width="{number(width - 1)}" height="{number(height - 1)}" '
            f'rx="10" fill="{CARD}" stroke="{FAINT}"/>'
        )
        named = f"<title>{escape(title)}</title>"
        return "\n".join([head, named, card, *self._elements, "</svg>\n"])


def _dashed(attributes: dict[str, float | str]) -> dict[str, float | str]:
    return {name.replace("_", "-"): value for name, value in attributes.items()}
