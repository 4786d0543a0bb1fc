"""Flink SQL's table functions TUMBLE, HOP and CUMULATE, such as
`TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '1' MINUTE)`."""

from dataclasses import replace

from muntin.errors import ModelError, nearest
from muntin.model.windows.cumulate import GROWN, CumulateWindow, cumulate
from muntin.sql.dialects.text_edits import Edit, apply_edits, apply_text_edits, duration, error_at
from muntin.sql.statements import Statement
from muntin.sql.tokens import Span, render
from muntin.sql.window_calls import CUMULATE

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
# Tokens after the keys of GROUP BY.
_AFTER_KEYS = {"HAVING", "ORDER_BY", "LIMIT", "OFFSET"}
# The columns of a window. `window_time` is its last millisecond.
_COLUMNS = {
    "window_start": "{window}.start",
    "window_end": "{window}.end",
    "window_time": "({window}.end - INTERVAL '0.001' SECOND)",
}


def from_flink(statement: Statement) -> list[Statement] | None:
    """Returns a Flink query in Spark SQL; None for any other statement."""
    tokens = statement.tokens
    place = _function(tokens)
    if place is None:
        _check_spelling(statement)
        return None
    name = tokens[place].norm
    if name in _REFUSED:
        raise error_at(statement, _REFUSED[name], tokens[place])
    last = tokens.closing_position(place + 1)
    arguments = _arguments(statement, tokens[place : last + 1])
    whole = tokens[place : last + 1]
    if tokens.kind_at(place - 1) == "L_PAREN":
        whole = tokens[place - 2 : last + 2]
    time = render(statement.text, arguments["timecol"])
    lengths = [
        _interval(statement, arguments[part]) for part in _FUNCTIONS[name][1] if part in arguments
    ]
    edits = [Edit.of(whole, render(statement.text, arguments["data"]))]
    inside = {*range(place, last)}
    columns = _columns(statement, inside, "window")
    call = f"({time}, {', '.join(lengths)})"
    window = (
        _cumulate_window(statement, tokens[place : last + 1], lengths)
        if name == "cumulate"
        else None
    )
    if window is None:
        return [
            apply_edits(statement, [*edits, *columns, _replace_keys(statement, f"window{call}")])
        ]
    # Spark has no such function, so views copy each row into the windows that contain it.
    read_as = [*edits, *columns, _replace_keys(statement, CUMULATE + call)]
    plain = [
        *edits,
        *_columns(statement, inside, GROWN),
        *_copy_into_windows(statement, window, time),
    ]
    found = apply_edits(statement, plain)
    return [replace(found, read_as=apply_text_edits(statement.text, read_as))]


def _function(tokens: Span) -> int | None:
    """Returns the index of a window function that is called with a table."""
    for place, token in enumerate(tokens):
        if token.norm in {*_FUNCTIONS, *_REFUSED} and tokens.kind_at(place + 1) == "L_PAREN":
            inside = [each.norm for each in tokens[place + 2 : place + 5]]
            if inside[:1] == ["table"] or inside[:1] == ["data"]:
                return place
    return None


def _check_spelling(statement: Statement) -> None:
    """Refuses a misspelled window function, which is recognised by its DESCRIPTOR."""
    tokens = statement.tokens
    for place, token in enumerate(tokens):
        if tokens.kind_at(place + 1) != "L_PAREN" or token.norm == "table":
            continue
        inside = [each.norm for each in tokens[place + 2 : tokens.closing_position(place + 1)]]
        if inside[:1] in (["table"], ["data"]) and "descriptor" in inside:
            hint = nearest(token.norm, list(_FUNCTIONS))
            raise error_at(statement, f"{token.name} is no function of windows; {hint}", token)


def _arguments(statement: Statement, call: Span) -> dict[str, Span]:
    """Returns the arguments of a call by name: the table, the time and the intervals."""
    names, _ = _FUNCTIONS[call[0].norm]
    given: dict[str, Span] = {}
    for position, argument in enumerate(call[2:-1].split_at_commas()):
        name = names[position] if position < len(names) else ""
        at = argument[0] if argument else call[-1]
        if argument.kind_at(1) == "FARROW":
            name, argument = argument[0].norm, argument[2:]
        if name not in names or not argument:
            hint = nearest(name, list(names)) if name else f"it takes {', '.join(names)}"
            raise error_at(statement, f"{call[0].name} has no argument {at.name!r}; {hint}", at)
        given[name] = argument
    missing = [name for name in names if name not in given and name != "offset"]
    if missing:
        raise error_at(statement, f"{call[0].name} has no {missing[0]}", call[0])
    table, time = given["data"], given["timecol"]
    if table[0].norm != "table" or time[0].norm != "descriptor" or len(time) < 4:
        raise error_at(statement, f"{call[0].name} takes TABLE t, DESCRIPTOR(column)", call[0])
    return {**given, "data": table[1:], "timecol": time[2:-1]}


def _interval(statement: Statement, tokens: Span) -> str:
    """Returns an interval of one unit as a duration for Spark's `window`."""
    if [token.kind for token in tokens[:2]] != ["INTERVAL", "STRING"] or len(tokens) != 3:
        raise error_at(statement, "a length is written as INTERVAL '10' MINUTES", tokens[0])
    return duration(statement, tokens[1].name[1:-1], tokens[2])


def _cumulate_window(statement: Statement, call: Span, lengths: list[str]) -> CumulateWindow | None:
    """Returns the window of CUMULATE; None if it has one step and so is tumbling."""
    try:
        size, step, *offset = (length[1:-1] for length in lengths)
        window = cumulate(size, every=step, offset=offset[0] if offset else 0)
    except ModelError as error:
        raise error_at(statement, str(error), call[0]) from None
    return window if isinstance(window, CumulateWindow) else None


def _columns(statement: Statement, inside: set[int], window: str) -> list[Edit]:
    """Returns edits that replace the window's columns by fields, outside GROUP BY."""
    tokens = statement.tokens
    group, having = _group_by(tokens)
    edits = []
    for place, token in enumerate(tokens):
        if token.norm not in _COLUMNS or place in inside or group < place < having:
            continue
        text = _COLUMNS[token.norm].format(window=window)
        if tokens.kind_at(place - 1) in {"SELECT", "COMMA"} and tokens.kind_at(place + 1) in {
            "COMMA",
            "FROM",
        }:
            text += f" AS {token.norm}"
        edits.append(Edit.of(Span([token]), text))
    return edits


def _replace_keys(statement: Statement, window: str) -> Edit:
    """Returns the edit that replaces the window's columns in GROUP BY by the window."""
    tokens = statement.tokens
    group, having = _group_by(tokens)
    keys = [key for key in tokens[group + 1 : having].split_at_commas() if key]
    named = {key[-1].norm for key in keys if key[-1].norm in _COLUMNS}
    if not {"window_start", "window_end"} <= named:
        raise error_at(statement, "GROUP BY must name window_start and window_end", tokens[-1])
    others = [render(statement.text, key) for key in keys if key[-1].norm not in _COLUMNS]
    return Edit.of(tokens[group + 1 : having], ", ".join([*others, window]))


def _copy_into_windows(statement: Statement, window: CumulateWindow, time: str) -> list[Edit]:
    """Returns edits that copy each row into the intervals of a cumulating window."""
    tokens = statement.tokens
    group, _ = _group_by(tokens)
    where = next(iter(tokens.find_top_level("WHERE")), None)
    text, inside = window.views(time)
    before = tokens[group if where is None else where].start
    edits = [
        Edit(start=before, end=before, text=f"{text.strip()} "),
        _replace_keys(statement, GROWN),
    ]
    if where is None:
        edits[0] = replace(edits[0], text=f"{text.strip()} WHERE {inside} ")
    else:
        condition = tokens[where + 1 : group]
        if condition:
            edits.append(Edit.of(condition, f"({render(statement.text, condition)}) AND {inside}"))
    return edits


def _group_by(tokens: Span) -> tuple[int, int]:
    """Returns the indexes of GROUP BY and of the clause after it."""
    groups, others = tokens.find_top_level("GROUP_BY"), tokens.find_top_level(*_AFTER_KEYS)
    return [*groups, len(tokens)][0], [*others, len(tokens)][0]
