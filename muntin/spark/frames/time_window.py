"""Finds the operators that Spark makes of `window` and `session_window`, and what was asked for.

Spark resolves a window into arithmetic of microseconds: a projection if windows do not overlap,
else an `Expand` that copies each row. Both mark the window's column. What is found is checked by
asking Spark for such a window anew.
"""

from dataclasses import dataclass

from pyspark.sql import SparkSession
from pyspark.sql.functions import session_window, window

from muntin.errors import ModelError
from muntin.model.windows.data_windows import Session
from muntin.model.windows.data_windows import session as session_of
from muntin.model.windows.window import Window
from muntin.spark.engine.catalyst import (
    Expression,
    Plan,
    analyzed,
    children,
    column_of,
    frame_of,
    items,
    kind,
    walk,
)

_MARK = "spark.timeWindow"
_SESSION_MARK = "spark.sessionWindow"


@dataclass(frozen=True, kw_only=True)
class WindowOperator:
    """A window over a time, as a column of what its operators give."""

    window: Window | Session
    time: Expression
    column: Expression
    child: Plan


@dataclass(frozen=True, kw_only=True)
class _Bounds:
    """What the bounds of a window are computed from; the offset is as the user gave it."""

    time: Expression
    size: int
    slide: int
    offset: int

    def operator(self, *, column: Expression, child: Plan) -> WindowOperator:
        window = Window(size=self.size, slide=self.slide, offset=self.offset)
        return WindowOperator(window=window, time=self.time, column=column, child=child)


def find_window(plan: Plan, session: SparkSession) -> WindowOperator | None:
    """Returns the window that the operators at the top of a plan compute; None if they do not."""
    if kind(plan) == "Project":
        return _tumbling(plan, session)
    if kind(plan) == "Filter":
        (inner,) = children(plan)
        if kind(inner) == "Project":
            return _session(plan, inner, session)
        return _hopping(plan, inner, session) if kind(inner) == "Expand" else None
    return None


def first_window(plan: Plan) -> Window | None:
    """Returns the first window that Spark resolved somewhere in a plan, read off its bounds."""
    for node in walk(plan):
        structs: list[Expression] = []
        if kind(node) == "Project":
            marked = (each for each in items(node.projectList()) if kind(each) == "Alias")
            structs = [children(each)[0] for each in marked if each.metadata().contains(_MARK)]
        elif kind(node) == "Expand":
            outputs = enumerate(items(node.output()))
            marks = [place for place, each in outputs if each.metadata().contains(_MARK)]
            structs = [node.projections().apply(0).apply(place) for place in marks]
        for struct in structs:
            found = _bounds(struct) if kind(struct) == "CreateNamedStruct" else None
            if found is not None:
                return Window(size=found.size, slide=found.slide, offset=found.offset)
    return None


def _tumbling(plan: Plan, session: SparkSession) -> WindowOperator | None:
    marked = [
        each
        for each in items(plan.projectList())
        if kind(each) == "Alias" and each.metadata().contains(_MARK)
    ]
    if len(marked) != 1 or kind(children(marked[0])[0]) != "CreateNamedStruct":
        return None
    (filtered,) = children(plan)
    if kind(filtered) != "Filter":
        return None
    (child,) = children(filtered)
    struct = children(marked[0])[0]
    found = _bounds(struct)
    if found is None or found.slide != found.size:
        return None
    anew = _anew(found, found.size, child, session)
    if anew is None or not anew.sameResult(plan):
        return None
    return found.operator(column=marked[0].toAttribute(), child=child)


def _hopping(filtered: Plan, expand: Plan, session: SparkSession) -> WindowOperator | None:
    outputs = items(expand.output())
    marked = [place for place, each in enumerate(outputs) if each.metadata().contains(_MARK)]
    if len(marked) != 1:
        return None
    projections = expand.projections()
    struct = projections.apply(0).apply(marked[0])
    found = _bounds(struct) if kind(struct) == "CreateNamedStruct" else None
    if found is None:
        return None
    (child,) = children(expand)
    # To ask for the whole window again would be to copy the row into each window again.
    anew = _anew(found, found.slide, child, session)
    copies = -(-found.size // found.slide)
    if anew is None or projections.size() != copies or kind(anew) != "Project":
        return None
    start = children(children(items(anew.projectList())[0])[0])[1]
    if not start.semanticEquals(children(struct)[1]):
        return None
    return found.operator(column=outputs[marked[0]], child=child)


def _session(filtered: Plan, plan: Plan, session: SparkSession) -> WindowOperator | None:
    marked = [
        each
        for each in items(plan.projectList())
        if kind(each) == "Alias" and each.metadata().contains(_SESSION_MARK)
    ]
    if len(marked) != 1 or kind(children(marked[0])[0]) != "CreateNamedStruct":
        return None
    _, start, _, end = children(children(marked[0])[0])
    time = start
    while kind(time) in {"KnownNullable", "PreciseTimestampConversion"}:
        (time,) = children(time)
    gaps = [
        children(node)[0]
        for node in walk(end)
        if kind(node) == "Cast" and node.dataType().simpleString() == "interval"
    ]
    if len(gaps) != 1 or kind(gaps[0]) != "Literal":
        return None
    text = str(gaps[0].value())
    try:
        found = session_of(text)
    except ModelError:
        return None
    (child,) = children(plan)
    asked = session_window(column_of(time, session), text)
    anew = analyzed(frame_of(child, session).select(asked, "*"))
    if not children(anew)[0].sameResult(filtered):
        return None
    return WindowOperator(window=found, time=time, column=marked[0].toAttribute(), child=child)


def _anew(found: _Bounds, size: int, child: Plan, session: SparkSession) -> Plan | None:
    """Returns the operators that Spark makes of a window over a plan."""
    texts = [f"{micros} microseconds" for micros in (size, found.slide, found.offset)]
    asked = window(column_of(found.time, session), *texts)
    plan = analyzed(frame_of(child, session).select(asked, "*"))
    return children(plan)[0] if kind(plan) == "Project" else None


def _bounds(struct: Expression) -> _Bounds | None:
    """Returns the time and the lengths that the bounds of a window are computed from."""
    _, start, _, end = children(struct)
    whole = next((node for node in walk(end) if kind(node) == "Add"), None)
    rest = next((node for node in walk(start) if kind(node) == "Remainder"), None)
    if whole is None or rest is None:
        return None
    size = children(whole)[1]
    shifted, slide = children(rest)
    if kind(shifted) != "Subtract":
        return None
    micros, offset = children(shifted)
    if kind(micros) != "PreciseTimestampConversion":
        return None
    lengths = [size, slide, offset]
    if not all(kind(each) == "Literal" and isinstance(each.value(), int) for each in lengths):
        return None
    (time,) = children(micros)
    return _Bounds(time=time, size=size.value(), slide=slide.value(), offset=offset.value())
