"""Draws docs/pictures/slices.svg and pipeline.svg: `make figures`."""

from pathlib import Path
from random import Random

from muntin.explain.drawing import (
    BAND,
    CARD,
    FAINT,
    INK,
    MUTED,
    circle,
    document,
    line,
    rect,
    text,
)

FOLDER = Path(__file__).parents[1] / "docs" / "pictures"
BLUE, TEAL, BROWN = "#2563a8", "#0f766e", "#9a5b13"
# Minutes of the stream, pixels of a minute, and the left edge of the time axis.
MINUTES, MINUTE, LEFT = 12, 56.0, 190.0


def slices() -> str:
    """Returns the picture of events, slices, and windows that are merged from slices."""
    elements = [
        text(
            24,
            38,
            "Each event is read once, into one slice. Windows merge slices.",
            size=17,
            bold=True,
        )
    ]
    _label(elements, 78, "events", "read once")
    random = Random(4)
    for _ in range(90):
        x = LEFT + random.uniform(2, MINUTES * MINUTE - 2)
        elements.append(circle(x, 78 + random.uniform(-11, 11), 2.4, fill=MUTED))
    _label(elements, 132, "slices", "a partial per key")
    for minute in range(MINUTES):
        x = LEFT + minute * MINUTE
        fill = BLUE if 2 <= minute < 8 else MUTED
        elements.append(rect(x + 2, 116, MINUTE - 4, 30, fill=fill, fill_opacity=0.22, rx=4))
        elements.append(line(x, 60, x, 372, FAINT))
    y = 180.0
    for name, detail, size, slide, colour in (
        ("query 1", "1 minute", 1, 1, TEAL),
        ("query 2", "3 minutes", 3, 3, BROWN),
        ("query 3", "6 min every 2 min", 6, 2, BLUE),
    ):
        _label(elements, y + 12, name, detail)
        rows = size // slide
        for number, start in enumerate(range(0, MINUTES - size + 1, slide)):
            top = y + 26 * (number % rows)
            is_shown = (size, start) == (6, 2)
            elements.append(
                rect(
                    LEFT + start * MINUTE + 3,
                    top,
                    size * MINUTE - 6,
                    20,
                    fill=colour,
                    fill_opacity=0.45 if is_shown else 0.14,
                    stroke=colour,
                    rx=4,
                )
            )
            if is_shown:
                middle = LEFT + (start + size / 2) * MINUTE
                elements.append(
                    text(middle, top + 14, "= 6 slices merged", size=11, anchor="middle")
                )
        y += 26 * rows + 28
    for minute in range(0, MINUTES + 1, 2):
        x = LEFT + minute * MINUTE
        elements.append(text(x, 390, f"12:{minute:02d}", size=11, fill=MUTED, anchor="middle"))
    title = (
        "Events are read once into slices, and the windows of all queries are merged from slices"
    )
    return document(LEFT + MINUTES * MINUTE + 30, 408, title, elements)


def _label(elements: list[str], y: float, name: str, detail: str) -> None:
    elements.append(text(24, y, name, bold=True))
    elements.append(text(24, y + 16, detail, size=11, fill=MUTED))


def pipeline() -> str:
    """Returns the picture of the steps from a query to its rows, with the package of each."""
    elements = [text(24, 38, "From queries to rows", size=17, bold=True)]
    boxes = {
        "sql": (24, 70, "SQL text", "sql/", BROWN),
        "frames": (24, 150, "DataFrames", "spark/frames/", BROWN),
        "queries": (214, 110, "queries", "model/", MUTED),
        "plan": (404, 110, "plan: passes, trees", "optimizer/", TEAL),
        "bound": (594, 110, "plan with types", "spark/binding/", BLUE),
        "batch": (784, 70, "slices of a batch", "spark/batch/", BLUE),
        "stream": (784, 150, "slices of a stream", "spark/stream/", BLUE),
        "answers": (974, 70, "answers of windows", "runtime/, techniques/", TEAL),
        "state": (974, 150, "state and answers", "runtime/state/", TEAL),
        "frame": (1164, 70, "DataFrames", "spark/output/", BLUE),
        "sink": (1164, 150, "files, tables, sinks", "spark/output/, sinks/", BLUE),
    }
    for start, end in (
        ("sql", "queries"),
        ("frames", "queries"),
        ("queries", "plan"),
        ("plan", "bound"),
        ("bound", "batch"),
        ("bound", "stream"),
        ("batch", "answers"),
        ("stream", "state"),
        ("answers", "frame"),
        ("state", "sink"),
    ):
        (x1, y1, *_), (x2, y2, *_) = boxes[start], boxes[end]
        elements.append(line(x1 + 160, y1 + 27, x2, y2 + 27, MUTED, stroke_width=1.5))
        elements.append(circle(x2, y2 + 27, 3.2, fill=MUTED))
    for x, y, name, package, colour in boxes.values():
        elements.append(rect(x, y, 160, 54, fill=CARD, stroke=colour, stroke_width=1.4, rx=7))
        elements.append(text(x + 80, y + 23, name, bold=True, anchor="middle"))
        elements.append(text(x + 80, y + 41, package, size=11, fill=MUTED, anchor="middle"))
    for x, caption in ((214, "what is asked"), (404, "what is shared"), (594, "who computes")):
        elements.append(text(x + 80, 190, caption, size=11, fill=MUTED, anchor="middle"))
    elements.append(rect(24, 220, 1300, 26, fill=BAND, rx=6))
    order = "Nothing downstream calls back upstream. Batches and streams differ from the slices on."
    elements.append(text(674, 237, order, fill=INK, anchor="middle"))
    return document(1348, 264, "The steps from queries to rows, and their packages", elements)


if __name__ == "__main__":
    for name, picture in (("slices", slices()), ("pipeline", pipeline())):
        path = FOLDER / f"{name}.svg"
        path.write_text(picture)
        print(path)
