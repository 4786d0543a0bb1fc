"""Flink SQL's windows as tables: `TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '1' MINUTE)`, HOP and
CUMULATE."""

from dataclasses import replace

from muntin.errors import ModelError, nearest
from muntin.model.windows.cumulate import GROWN, CumulateWindow, cumulate
from muntin.sql.dialects.edits import Edit, duration, edited, edited_text, wrong
from muntin.sql.group_by.windows import CUMULATE
from muntin.sql.statements import Statement
from muntin.sql.tokens import Span, closing, kind_at, outside, render, split

# The arguments of each function, in order, and those of Spark's `window` after the time.
_FUNCTIONS = {
    "tumble": (("data", "timecol", "size", "offset"), ("size", "size", "offset")),
    "hop": (("data", "timecol", "slide", "size", "offset"), ("size", "slide", "offset")),
    "cumulate": (("data", "timecol", "step", "size", "offset"), ("size", "step", "offset")),
}
_REFUSED = {
    "session": "SESSION is not supported; write GROUP BY session_window(time, '5 minutes') on the "
    "table itself"
}
# What ends the keys of GROUP BY.
_AFTER_KEYS = {"HAVING", "ORDER_BY", "LIMIT", "OFFSET"}
# A window's columns. Its time is its last millisecond.
_COLUMNS = {
    "window_start": "{window}.start",
    "window_end": "{window}.end",
    "window_time": "({window}.end - INTERVAL '0.001' SECOND)",
}


def from_flink(statement: Statement) -> list[Statement] | None:
    """Returns a query of Flink's in Spark SQL; None if it is not one."""
    tokens = statement.tokens
    place = _function(tokens)
    if place is None:
        _check_spelling(statement)
        return None
    name = tokens[place].norm
    if name in _REFUSED:
        raise wrong(statement, _REFUSED[name], tokens[place])
    last = closing(tokens, place + 1)
    arguments = _arguments(statement, tokens[place : last + 1])
    whole = tokens[place : last + 1]
    if kind_at(tokens, place - 1) == "L_PAREN":
        whole = tokens[place - 2 : last + 2]
    time = render(statement.text, arguments["timecol"])
    lengths = [
        _interval(statement, arguments[part]) for part in _FUNCTIONS[name][1] if part in arguments
    ]
    edits = [Edit.of(whole, render(statement.text, arguments["data"]))]
    inside = {*range(place, last)}
    columns = _columns(statement, inside, "window")
    call = f"({time}, {', '.join(lengths)})"
    window = _growing(statement, tokens[place : last + 1], lengths) if name == "cumulate" else None
    if window is None:
        return [edited(statement, [*edits, *columns, _grouped_by(statement, f"window{call}")])]
    # Spark has no function for it: views copy each row into the windows that hold it.
    read_as = [*edits, *columns, _grouped_by(statement, CUMULATE + call)]
    plain = [*edits, *_columns(statement, inside, GROWN), *_views(statement, window, time)]
    found = edited(statement, plain)
    return [replace(found, read_as=edited_text(statement.text, read_as))]


def _function(tokens: Span) -> int | None:
    """Returns where a function of windows is called with a table."""
    for place, token in enumerate(tokens):
        if token.norm in {*_FUNCTIONS, *_REFUSED} and kind_at(tokens, place + 1) == "L_PAREN":
            inside = [each.norm for each in tokens[place + 2 : place + 5]]
            if inside[:1] == ["table"] or inside[:1] == ["data"]:
                return place
    return None


def _check_spelling(statement: Statement) -> None:
    """Refuse what is probably such a function with another name: its DESCRIPTOR tells."""
    tokens = statement.tokens
    for place, token in enumerate(tokens):
        if kind_at(tokens, place + 1) != "L_PAREN" or token.norm == "table":
            continue
        inside = [each.norm for each in tokens[place + 2 : closing(tokens, place + 1)]]
        if inside[:1] in (["table"], ["data"]) and "descriptor" in inside:
            hint = nearest(token.norm, list(_FUNCTIONS))
            raise wrong(statement, f"{token.name} is no function of windows; {hint}", token)


def _arguments(statement: Statement, call: Span) -> dict[str, Span]:
    """Returns the arguments of a call by name: the table, the time and the intervals."""
    names, _ = _FUNCTIONS[call[0].norm]
    given: dict[str, Span] = {}
    for position, argument in enumerate(split(call[2:-1])):
        name = names[position] if position < len(names) else ""
        at = argument[0] if argument else call[-1]
        if kind_at(argument, 1) == "FARROW":
            name, argument = argument[0].norm, argument[2:]
        if name not in names or not argument:
            hint = nearest(name, list(names)) if name else f"it takes {', '.join(names)}"
            raise wrong(statement, f"{call[0].name} has no argument {at.name!r}; {hint}", at)
        given[name] = argument
    missing = [name for name in names if name not in given and name != "offset"]
    if missing:
        raise wrong(statement, f"{call[0].name} has no {missing[0]}", call[0])
    table, time = given["data"], given["timecol"]
    if table[0].norm != "table" or time[0].norm != "descriptor" or len(time) < 4:
        raise wrong(statement, f"{call[0].name} takes TABLE t, DESCRIPTOR(column)", call[0])
    return {**given, "data": table[1:], "timecol": time[2:-1]}


def _interval(statement: Statement, tokens: Span) -> str:
    """Returns an interval of one unit as Spark's `window` takes it."""
    if [token.kind for token in tokens[:2]] != ["INTERVAL", "STRING"] or len(tokens) != 3:
        raise wrong(statement, "a length is written as INTERVAL '10' MINUTES", tokens[0])
    return duration(statement, tokens[1].name[1:-1], tokens[2])


def _growing(statement: Statement, call: Span, lengths: list[str]) -> CumulateWindow | None:
    """Returns the window of CUMULATE; None if it has one step, and tumbles."""
    try:
        size, step, *offset = (length[1:-1] for length in lengths)
        window = cumulate(size, every=step, offset=offset[0] if offset else 0)
    except ModelError as error:
        raise wrong(statement, str(error), call[0]) from None
    return window if isinstance(window, CumulateWindow) else None


def _columns(statement: Statement, inside: set[int], window: str) -> list[Edit]:
    """Replaces the window's columns by fields of a column, outside GROUP BY."""
    tokens = statement.tokens
    group, having = _group_by(tokens)
    edits = []
    for place, token in enumerate(tokens):
        if token.norm not in _COLUMNS or place in inside or group < place < having:
            continue
        text = _COLUMNS[token.norm].format(window=window)
        if kind_at(tokens, place - 1) in {"SELECT", "COMMA"} and kind_at(tokens, place + 1) in {
            "COMMA",
            "FROM",
        }:
            text += f" AS {token.norm}"
        edits.append(Edit.of([token], text))
    return edits


def _grouped_by(statement: Statement, window: str) -> Edit:
    """Puts a window in the place of its columns in GROUP BY."""
    tokens = statement.tokens
    group, having = _group_by(tokens)
    keys = [key for key in split(tokens[group + 1 : having]) if key]
    named = {key[-1].norm for key in keys if key[-1].norm in _COLUMNS}
    if not {"window_start", "window_end"} <= named:
        raise wrong(statement, "GROUP BY must name window_start and window_end", tokens[-1])
    others = [render(statement.text, key) for key in keys if key[-1].norm not in _COLUMNS]
    return Edit.of(tokens[group + 1 : having], ", ".join([*others, window]))


def _views(statement: Statement, window: CumulateWindow, time: str) -> list[Edit]:
    """Copies each row into the intervals of a window that grows, and groups by them."""
    tokens = statement.tokens
    group, _ = _group_by(tokens)
    where = next((at for at in outside(tokens) if tokens[at].kind == "WHERE"), None)
    text, inside = window.views(time)
    before = tokens[group if where is None else where].start
    edits = [
        Edit(start=before, end=before, text=f"{text.strip()} "),
        _grouped_by(statement, GROWN),
    ]
    if where is None:
        edits[0] = replace(edits[0], text=f"{text.strip()} WHERE {inside} ")
    else:
        condition = tokens[where + 1 : group]
        if condition:
            edits.append(Edit.of(condition, f"({render(statement.text, condition)}) AND {inside}"))
    return edits


def _group_by(tokens: Span) -> tuple[int, int]:
    """Returns where GROUP BY stands, and where what follows its keys does."""
    group = next((at for at in outside(tokens) if tokens[at].kind == "GROUP_BY"), len(tokens))
    having = next((at for at in outside(tokens) if tokens[at].kind in _AFTER_KEYS), len(tokens))
    return group, having
