"""Recognizes the operators that Spark plans for `window` and `session_window`.

Spark resolves a window into arithmetic of microseconds: a projection if windows do not overlap,
else an `Expand` that copies each row. Both mark the window's column. What is found is confirmed by
asking Spark for such a window anew.
"""

from dataclasses import dataclass

from pyspark.sql import SparkSession
from pyspark.sql.functions import session_window, window

from muntin.errors import ModelError
from muntin.model.data_windows import Session
from muntin.model.data_windows import session as session_of
from muntin.model.windows import Window
from muntin.spark.engine.catalyst import (
    Expression,
    Plan,
    analyzed_plan,
    children,
    column_of,
    frame_of,
    node_name,
    to_list,
    walk,
)

_MARK = "spark.timeWindow"
_SESSION_MARK = "spark.sessionWindow"


@dataclass(frozen=True, kw_only=True)
class WindowOperator:
    """A window over a time, and the operators by which Spark computes it."""

    window: Window | Session
    time: Expression
    column: Expression
    # The expression that computes it, the operators with it, and the plan that they read.
    struct: Expression
    plan: Plan
    child: Plan
    # The arguments to make such a window again; if windows overlap, one without copies of rows.
    lengths: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class _Bounds:
    """The time, lengths and offset from which Spark computes the bounds of a window."""

    time: Expression
    size: int
    slide: int
    offset: int

    def operator(
        self, *, column: Expression, struct: Expression, plan: Plan, child: Plan
    ) -> WindowOperator:
        lengths = (self.slide, self.slide, self.offset)
        return WindowOperator(
            window=Window(size=self.size, slide=self.slide, offset=self.offset),
            time=self.time,
            column=column,
            struct=struct,
            plan=plan,
            child=child,
            lengths=tuple(f"{micros} microseconds" for micros in lengths),
        )


def find_window(plan: Plan) -> WindowOperator | None:
    """Returns the window that the operators at the top of a plan compute, or None.

    It is read off their form; call `confirm_window` before it is used.
    """
    if node_name(plan) == "Project":
        return _find_tumbling(plan)
    if node_name(plan) == "Filter":
        (inner,) = children(plan)
        if node_name(inner) == "Project":
            return _find_session(plan, inner)
        return _find_hopping(plan, inner) if node_name(inner) == "Expand" else None
    return None


def first_window(plan: Plan) -> Window | None:
    """Returns the first window that Spark resolved somewhere in a plan, read off its bounds."""
    for node in walk(plan):
        structs: list[Expression] = []
        if node_name(node) == "Project":
            marked = (each for each in to_list(node.projectList()) if node_name(each) == "Alias")
            structs = [children(each)[0] for each in marked if each.metadata().contains(_MARK)]
        elif node_name(node) == "Expand":
            outputs = enumerate(to_list(node.output()))
            marks = [place for place, each in outputs if each.metadata().contains(_MARK)]
            structs = [node.projections().apply(0).apply(place) for place in marks]
        for struct in structs:
            found = _read_bounds(struct) if node_name(struct) == "CreateNamedStruct" else None
            if found is not None:
                return Window(size=found.size, slide=found.slide, offset=found.offset)
    return None


def confirm_window(operator: WindowOperator, session: SparkSession) -> bool:
    """Whether Spark plans a window of these lengths as the same operators."""
    found, plan = operator.window, operator.plan
    make = session_window if isinstance(found, Session) else window
    asked = make(column_of(operator.time, session), *operator.lengths)
    (anew,) = children(analyzed_plan(frame_of(operator.child, session).select(asked, "*")))
    if isinstance(found, Session) or found.is_tumbling:
        return bool(anew.sameResult(plan))
    (expand,) = children(plan)
    copies = -(-found.size // found.slide)
    if expand.projections().size() != copies or node_name(anew) != "Project":
        return False
    start = children(children(to_list(anew.projectList())[0])[0])[1]
    return bool(start.semanticEquals(children(operator.struct)[1]))


def _find_tumbling(plan: Plan) -> WindowOperator | None:
    marked = _marked_column(plan, _MARK)
    if marked is None or node_name(children(plan)[0]) != "Filter":
        return None
    struct = children(marked)[0]
    found = _read_bounds(struct)
    if found is None or found.slide != found.size:
        return None
    (child,) = children(children(plan)[0])
    return found.operator(column=marked.toAttribute(), struct=struct, plan=plan, child=child)


def _find_hopping(filtered: Plan, expand: Plan) -> WindowOperator | None:
    outputs = to_list(expand.output())
    marked = [place for place, each in enumerate(outputs) if each.metadata().contains(_MARK)]
    if len(marked) != 1:
        return None
    struct = expand.projections().apply(0).apply(marked[0])
    found = _read_bounds(struct) if node_name(struct) == "CreateNamedStruct" else None
    if found is None:
        return None
    (child,) = children(expand)
    return found.operator(column=outputs[marked[0]], struct=struct, plan=filtered, child=child)


def _find_session(filtered: Plan, plan: Plan) -> WindowOperator | None:
    marked = _marked_column(plan, _SESSION_MARK)
    if marked is None:
        return None
    struct = children(marked)[0]
    _, start, _, end = children(struct)
    time = start
    while node_name(time) in {"KnownNullable", "PreciseTimestampConversion"}:
        (time,) = children(time)
    gaps = [
        children(node)[0]
        for node in walk(end)
        if node_name(node) == "Cast" and node.dataType().simpleString() == "interval"
    ]
    if len(gaps) != 1 or node_name(gaps[0]) != "Literal":
        return None
    gap = str(gaps[0].value())
    try:
        found = session_of(gap)
    except ModelError:
        return None
    (child,) = children(plan)
    return WindowOperator(
        window=found,
        time=time,
        column=marked.toAttribute(),
        struct=struct,
        plan=filtered,
        child=child,
        lengths=(gap,),
    )


def _marked_column(plan: Plan, mark: str) -> Expression | None:
    """Returns the only column of a projection that Spark has marked, if it is a struct."""
    marked = [
        each
        for each in to_list(plan.projectList())
        if node_name(each) == "Alias" and each.metadata().contains(mark)
    ]
    is_struct = len(marked) == 1 and node_name(children(marked[0])[0]) == "CreateNamedStruct"
    return marked[0] if is_struct else None


def _read_bounds(struct: Expression) -> _Bounds | None:
    """Returns the time and the lengths that the bounds of a window are computed from."""
    _, start, _, end = children(struct)
    whole = next((node for node in walk(end) if node_name(node) == "Add"), None)
    rest = next((node for node in walk(start) if node_name(node) == "Remainder"), None)
    if whole is None or rest is None:
        return None
    size = children(whole)[1]
    shifted, slide = children(rest)
    if node_name(shifted) != "Subtract":
        return None
    micros, offset = children(shifted)
    if node_name(micros) != "PreciseTimestampConversion":
        return None
    lengths = [size, slide, offset]
    if not all(node_name(each) == "Literal" and isinstance(each.value(), int) for each in lengths):
        return None
    (time,) = children(micros)
    return _Bounds(time=time, size=size.value(), slide=slide.value(), offset=offset.value())
