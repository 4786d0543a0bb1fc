"""Flink SQL's windows as tables: `TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '1' MINUTE)` and HOP."""

from muntin.sql.dialects.edits import Edit, duration, edited, wrong
from muntin.sql.statements import Statement
from muntin.sql.tokens import Span, closing, kind_at, outside, render, split

# The arguments of each function, in order, and those of Spark's `window` after the time.
_FUNCTIONS = {
    "tumble": (("data", "timecol", "size", "offset"), ("size", "size", "offset")),
    "hop": (("data", "timecol", "slide", "size", "offset"), ("size", "slide", "offset")),
}
_REFUSED = {"cumulate": "CUMULATE", "session": "SESSION"}
# A window's columns. Its time is its last millisecond.
_COLUMNS = {
    "window_start": "window.start",
    "window_end": "window.end",
    "window_time": "(window.end - INTERVAL '0.001' SECOND)",
}


def from_flink(statement: Statement) -> list[Statement] | None:
    """Returns a query of Flink's in Spark SQL; None if it is not one."""
    tokens = statement.tokens
    place = _function(tokens)
    if place is None:
        return None
    name = tokens[place].norm
    if name in _REFUSED:
        raise wrong(
            statement, f"{_REFUSED[name]} is not supported, only TUMBLE and HOP", tokens[place]
        )
    last = closing(tokens, place + 1)
    arguments = _arguments(statement, tokens[place : last + 1])
    whole = tokens[place : last + 1]
    if kind_at(tokens, place - 1) == "L_PAREN":
        whole = tokens[place - 2 : last + 2]
    time = render(statement.text, arguments["timecol"])
    lengths = [
        _interval(statement, arguments[part]) for part in _FUNCTIONS[name][1] if part in arguments
    ]
    table = render(statement.text, arguments["data"])
    edits = [Edit.of(whole, table)]
    edits += _columns(statement, f"window({time}, {', '.join(lengths)})", {*range(place, last)})
    return [edited(statement, edits)]


def _function(tokens: Span) -> int | None:
    """Returns where a function of windows is called with a table."""
    for place, token in enumerate(tokens):
        if token.norm in {*_FUNCTIONS, *_REFUSED} and kind_at(tokens, place + 1) == "L_PAREN":
            inside = [each.norm for each in tokens[place + 2 : place + 5]]
            if inside[:1] == ["table"] or inside[:1] == ["data"]:
                return place
    return None


def _arguments(statement: Statement, call: Span) -> dict[str, Span]:
    """Returns the arguments of a call by name: the table, the time and the intervals."""
    names, _ = _FUNCTIONS[call[0].norm]
    given: dict[str, Span] = {}
    for position, argument in enumerate(split(call[2:-1])):
        name = names[position] if position < len(names) else ""
        if kind_at(argument, 1) == "FARROW":
            name, argument = argument[0].norm, argument[2:]
        if name not in names or not argument:
            raise wrong(statement, f"{call[0].name} takes {', '.join(names)}", call[0])
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


def _columns(statement: Statement, call: str, inside: set[int]) -> list[Edit]:
    """Replaces the window's columns: by Spark's window in GROUP BY, by its fields elsewhere."""
    tokens = statement.tokens
    group = next((at for at in outside(tokens) if tokens[at].kind == "GROUP_BY"), len(tokens))
    having = next((at for at in outside(tokens) if tokens[at].kind == "HAVING"), len(tokens))
    keys = [key for key in split(tokens[group + 1 : having]) if key]
    named = {key[-1].norm for key in keys if key[-1].norm in _COLUMNS}
    if not {"window_start", "window_end"} <= named:
        raise wrong(statement, "GROUP BY must name window_start and window_end", tokens[-1])
    others = [render(statement.text, key) for key in keys if key[-1].norm not in _COLUMNS]
    edits = [Edit.of(tokens[group + 1 : having], ", ".join([*others, call]))]
    for place, token in enumerate(tokens):
        if token.norm not in _COLUMNS or place in inside or group < place < having:
            continue
        text = _COLUMNS[token.norm]
        if kind_at(tokens, place - 1) in {"SELECT", "COMMA"} and kind_at(tokens, place + 1) in {
            "COMMA",
            "FROM",
        }:
            text += f" AS {token.norm}"
        edits.append(Edit.of([token], text))
    return edits
