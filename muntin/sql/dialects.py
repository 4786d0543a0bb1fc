"""Translates window queries of Azure Stream Analytics and of Flink SQL into Spark SQL.

Azure has `TumblingWindow(minute, 5)`, `Windows(...)`, `TIMESTAMP BY` and `System`; an event at an
edge is in the window that starts there, as in Spark. Flink has the table functions TUMBLE, HOP and
CUMULATE, such as `TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '1' MINUTE)`.
"""

from dataclasses import dataclass, replace
from difflib import get_close_matches
from itertools import pairwise

from muntin.errors import ModelError, ParseError, nearest
from muntin.model.time import parse_duration
from muntin.model.windows import INTERVAL_COLUMN, CumulateWindow, cumulate
from muntin.sql.calls import CUMULATE
from muntin.sql.statements import Edit, Statement, apply_edits, apply_text_edits
from muntin.sql.tokens import Span, Token, render
from muntin.sql_text import literal

# Units of time in both dialects, by Spark's name.
_UNITS = {
    "microsecond": ("microseconds", "mcs", "us"),
    "millisecond": ("milliseconds", "ms"),
    "second": ("seconds", "ss", "s"),
    "minute": ("minutes", "mi", "n"),
    "hour": ("hours", "hh"),
    "day": ("days", "dd", "d"),
    "week": ("weeks", "wk", "ww"),
}

# Azure's windows that Spark has, too.
_AZURE_WINDOWS = {"tumblingwindow", "hoppingwindow", "sessionwindow"}
# Windows that Spark does not have, and what to write instead.
_AZURE_REFUSED = {
    "slidingwindow": "gives a row whenever an event enters or leaves it, and Spark has no such "
    "window; the nearest is a hopping one with a short hop: {hopping}",
    "snapshotwindow": "holds the events of one instant; GROUP BY the time itself",
}
_AZURE_CALLS = {*_AZURE_WINDOWS, *_AZURE_REFUSED, "windows"}
# Tokens after the expression of TIMESTAMP BY.
_AFTER_TIME = {"WHERE", "GROUP_BY", "HAVING", "JOIN", "COMMA", "OVER", "PARTITION_BY"}

# The arguments of each table function of Flink, and those of Spark's `window` after the time.
_FLINK_FUNCTIONS = {
    "tumble": (("data", "timecol", "size", "offset"), ("size", "size", "offset")),
    "hop": (("data", "timecol", "slide", "size", "offset"), ("size", "slide", "offset")),
    "cumulate": (("data", "timecol", "step", "size", "offset"), ("size", "step", "offset")),
}
_FLINK_REFUSED = {
    "session": "SESSION is not supported; write GROUP BY session_window(time, '5 minutes') on the "
    "table itself"
}
# Every query of these dialects has one of these words, misspelled windows included.
_DIALECT_WORDS = {*_AZURE_CALLS, *_FLINK_FUNCTIONS, *_FLINK_REFUSED, "timestamp", "descriptor"}
# Tokens after the keys of GROUP BY.
_AFTER_KEYS = {"HAVING", "ORDER_BY", "LIMIT", "OFFSET"}
# The columns of Flink's windows; `window_time` is the last millisecond.
_COLUMNS = {
    "window_start": "{window}.start",
    "window_end": "{window}.end",
    "window_time": "({window}.end - INTERVAL '0.001' SECOND)",
}


def to_spark_sql(statement: Statement) -> list[Statement]:
    """Returns a statement in Spark SQL; one with several windows becomes a statement for each.

    A statement in Spark SQL is returned as it is.
    """
    tokens = statement.tokens
    if _DIALECT_WORDS.isdisjoint(tokens.norms()):
        return [statement]
    azure = [place for place in _top_level_calls(tokens) if tokens[place].norm in _AZURE_CALLS]
    if azure:
        return _from_azure(statement, azure)
    known = {*_FLINK_FUNCTIONS, *_FLINK_REFUSED}
    flink = [place for place in _calls_on_tables(tokens) if tokens[place].norm in known]
    if flink:
        return [_from_flink(statement, flink[0])]
    _check_spelling(statement)
    return [statement]


def _top_level_calls(tokens: Span) -> list[int]:
    return [
        place for place in tokens.top_level_positions() if tokens.kind_at(place + 1) == "L_PAREN"
    ]


def _calls_on_tables(tokens: Span) -> list[int]:
    """Returns the indexes of calls such as `f(TABLE t, ...)` and `f(DATA => TABLE t, ...)`."""
    return [
        place
        for place, token in enumerate(tokens)
        if tokens.kind_at(place + 1) == "L_PAREN"
        and token.norm != "table"
        and tokens[place + 2 : place + 3].norms() in {("table",), ("data",)}
    ]


def _check_spelling(statement: Statement) -> None:
    """Refuses a misspelled window: TIMESTAMP BY shows that it is Azure's, DESCRIPTOR that it is
    Flink's."""
    tokens = statement.tokens
    words = tokens.norms()
    if ("timestamp", "by") in pairwise(words):
        for place in _top_level_calls(tokens):
            if get_close_matches(words[place], _AZURE_CALLS, n=1, cutoff=0.8):
                raise _no_azure_window(statement, tokens[place])
    for place in _calls_on_tables(tokens):
        if "descriptor" in words[place + 2 : tokens.closing_position(place + 1)]:
            hint = nearest(words[place], list(_FLINK_FUNCTIONS))
            message = f"{tokens[place].name} is no function of windows; {hint}"
            raise statement.error(message, tokens[place].start)


def _duration(statement: Statement, count: str, unit: Token) -> str:
    """Returns a duration for Spark's `window`, in quotes."""
    spelled = unit.norm.strip("'\"")
    for name, others in _UNITS.items():
        if spelled in (name, *others):
            return f"'{count} {name}'"
    hint = nearest(spelled, list(_UNITS))
    raise statement.error(f"{unit.name} is no unit of a window's length; {hint}", unit.start)


@dataclass(frozen=True, kw_only=True)
class _NamedWindow:
    """A window as a call in Spark SQL, and its id if it has one."""

    call: str
    name: str | None


def _from_azure(statement: Statement, found: list[int]) -> list[Statement]:
    """Returns a statement for each window of an Azure query; `found` are its calls of windows."""
    tokens = statement.tokens
    if len(found) > 1:
        raise statement.error("it groups by two windows; use Windows(...)", tokens[found[1]].start)
    place = found[0]
    last = tokens.closing_position(place + 1)
    timestamp, time = _timestamp_by(statement)
    windows = _azure_windows(statement, tokens[place : last + 1], time)
    statements = []
    for window in windows:
        edits = [
            Edit.of(timestamp, ""),
            *_replace_system_calls(statement, window),
            Edit.of(tokens[place : last + 1], window.call),
        ]
        name = None if window.name is None else f"{statement.name}_{window.name}"
        statements.append(apply_edits(statement, edits, name))
    return statements


def _no_azure_window(statement: Statement, name: Token) -> ParseError:
    """Returns the error for a call of a window that Azure does not have."""
    spelled = {"windows": "Windows"} | {
        each: each.removesuffix("window").capitalize() + "Window" for each in sorted(_AZURE_WINDOWS)
    }
    meant = get_close_matches(name.norm, spelled, n=1)
    there_is = f"there is: {', '.join(spelled.values())}"
    hint = f"did you mean {spelled[meant[0]]}?" if meant else there_is
    return statement.error(f"{name.name} is no window; {hint}", name.start)


def _timestamp_by(statement: Statement) -> tuple[Span, str]:
    """Returns the tokens of TIMESTAMP BY, and the text of its expression."""
    tokens = statement.tokens
    for place in tokens.top_level_positions():
        if [token.norm for token in tokens[place : place + 2]] == ["timestamp", "by"]:
            ends = [end for end in tokens.find_top_level(*_AFTER_TIME) if end > place + 1]
            stop = ends[0] if ends else len(tokens)
            if stop == place + 2:
                break
            return tokens[place:stop], render(statement.text, tokens[place + 2 : stop])
    raise statement.error(
        "its window needs a time: write FROM input TIMESTAMP BY column; there is no time of arrival"
    )


def _azure_windows(statement: Statement, call: Span, time: str) -> list[_NamedWindow]:
    """Returns the windows of a call: one, or those of `Windows(...)`."""
    if call[0].norm != "windows":
        return [_NamedWindow(call=_spark_call(statement, call, time), name=None)]
    named = []
    for item in call[2:-1].split_at_commas():
        parts = item[2:-1].split_at_commas() if item[0].norm == "window" and len(item) > 3 else []
        if len(parts) != 2 or [token.kind for token in parts[0]] != ["STRING"]:
            raise statement.error(
                "Windows takes Window('id', TumblingWindow(...)), ...", item[0].start
            )
        name = parts[0][0].name[1:-1]
        named.append(_NamedWindow(call=_spark_call(statement, parts[1], time), name=name))
    ids = [window.name for window in named]
    if not ids or len(set(ids)) < len(ids):
        raise statement.error("each Window of Windows needs an id of its own", call[0].start)
    return named


def _spark_call(statement: Statement, call: Span, time: str) -> str:
    """Returns a window as a call in Spark SQL."""
    kind = call[0].norm
    if kind in _AZURE_REFUSED:
        unit, length = (
            [render(statement.text, each) for each in call[2:-1].split_at_commas()] + ["", ""]
        )[:2]
        hopping = f"HoppingWindow({unit}, {length}, 1)"
        if not length:
            hopping = "HoppingWindow(minute, 10, 1)"
        told = _AZURE_REFUSED[kind].format(hopping=hopping)
        raise statement.error(f"{call[0].name} {told}", call[0].start)
    if kind not in _AZURE_WINDOWS or call.kind_at(1) != "L_PAREN":
        raise _no_azure_window(statement, call[0])
    arguments = call[2:-1].split_at_commas()
    lengths = _by_unit(statement, arguments) or _by_call(statement, arguments)
    least, most = (2, 3) if kind == "hoppingwindow" else (1, 1 if kind == "sessionwindow" else 2)
    if not least <= len(lengths) <= most:
        raise statement.error(f"{call[0].name} with {len(lengths)} lengths", call[0].start)
    if kind == "sessionwindow":
        try:
            # A day has 24 hours in Azure. As a gap in Spark, its length depends on the time zone.
            return f"session_window({time}, '{parse_duration(lengths[0][1:-1])} microseconds')"
        except ModelError as error:
            raise statement.error(str(error), call[0].start) from None
    if kind == "tumblingwindow" and len(lengths) == 2:
        lengths.insert(1, lengths[0])
    return f"window({time}, {', '.join(lengths)})"


def _by_unit(statement: Statement, arguments: list[Span]) -> list[str]:
    """Returns the lengths of `(minute, 10, 5)`; an empty list for arguments in another form."""
    if len(arguments) < 2 or len(arguments[0]) != 1 or arguments[1].kind_at(0) != "NUMBER":
        return []
    unit, *counts = arguments
    return [_duration(statement, render(statement.text, count), unit[0]) for count in counts]


def _by_call(statement: Statement, arguments: list[Span]) -> list[str]:
    """Returns the lengths of `(Duration(minute, 10), Hop(minute, 5), Offset(second, 1))`."""
    lengths = []
    for argument, name in zip(arguments, ("duration", "hop", "offset"), strict=False):
        called = argument[0].norm
        if called not in {name, "offset"} or argument.kind_at(1) != "L_PAREN":
            raise statement.error(f"a window's {name} is missing", argument[0].start)
        parts = argument[2:-1].split_at_commas()
        if len(parts) != 2 or len(parts[0]) != 1:
            raise statement.error(
                f"{argument[0].name} takes a unit and a number", argument[0].start
            )
        lengths.append(_duration(statement, render(statement.text, parts[1]), parts[0][0]))
    return lengths


def _replace_system_calls(statement: Statement, window: _NamedWindow) -> list[Edit]:
    """Replaces `System.Timestamp()` by the window's end, and `System.Window().Id` by its id."""
    tokens = statement.tokens
    edits = []
    for place, token in enumerate(tokens):
        if token.norm != "system" or tokens.kind_at(place + 1) != "DOT":
            continue
        words = [each.norm for each in tokens[place + 2 : place + 7]]
        if words[:1] == ["timestamp"]:
            stop = place + (5 if words[1:3] == ["(", ")"] else 3)
            edits.append(Edit.of(tokens[place:stop], f"{window.call.partition('(')[0]}.end"))
        elif words == ["window", "(", ")", ".", "id"]:
            if window.name is None:
                raise statement.error(
                    "System.Window().Id is of a Window in Windows(...)", token.start
                )
            edits.append(Edit.of(tokens[place : place + 7], literal(window.name)))
    return edits


def _from_flink(statement: Statement, place: int) -> Statement:
    """Returns a Flink query in Spark SQL; its window function is at the index `place`."""
    tokens = statement.tokens
    name = tokens[place].norm
    if name in _FLINK_REFUSED:
        raise statement.error(_FLINK_REFUSED[name], tokens[place].start)
    last = tokens.closing_position(place + 1)
    arguments = _arguments(statement, tokens[place : last + 1])
    whole = tokens[place : last + 1]
    if tokens.kind_at(place - 1) == "L_PAREN":
        whole = tokens[place - 2 : last + 2]
    time = render(statement.text, arguments["timecol"])
    lengths = [
        _interval(statement, arguments[part])
        for part in _FLINK_FUNCTIONS[name][1]
        if part in arguments
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
        return apply_edits(statement, [*edits, *columns, _replace_keys(statement, f"window{call}")])
    # Spark has no such function, so views copy each row into the windows that contain it.
    read_as = [*edits, *columns, _replace_keys(statement, CUMULATE + call)]
    plain = [
        *edits,
        *_columns(statement, inside, INTERVAL_COLUMN),
        *_copy_into_windows(statement, window, time),
    ]
    edited = apply_edits(statement, plain)
    return replace(edited, query_text=apply_text_edits(statement.text, read_as))


def _arguments(statement: Statement, call: Span) -> dict[str, Span]:
    """Returns the arguments of a call by name: the table, the time and the intervals."""
    names, _ = _FLINK_FUNCTIONS[call[0].norm]
    given: dict[str, Span] = {}
    for position, argument in enumerate(call[2:-1].split_at_commas()):
        name = names[position] if position < len(names) else ""
        at = argument[0] if argument else call[-1]
        if argument.kind_at(1) == "FARROW":
            name, argument = argument[0].norm, argument[2:]
        if name not in names or not argument:
            hint = nearest(name, list(names)) if name else f"it takes {', '.join(names)}"
            raise statement.error(f"{call[0].name} has no argument {at.name!r}; {hint}", at.start)
        given[name] = argument
    missing = [name for name in names if name not in given and name != "offset"]
    if missing:
        raise statement.error(f"{call[0].name} has no {missing[0]}", call[0].start)
    table, time = given["data"], given["timecol"]
    if table[0].norm != "table" or time[0].norm != "descriptor" or len(time) < 4:
        raise statement.error(f"{call[0].name} takes TABLE t, DESCRIPTOR(column)", call[0].start)
    return {**given, "data": table[1:], "timecol": time[2:-1]}


def _interval(statement: Statement, tokens: Span) -> str:
    """Returns an interval of one unit as a duration for Spark's `window`."""
    if [token.kind for token in tokens[:2]] != ["INTERVAL", "STRING"] or len(tokens) != 3:
        raise statement.error("a length is written as INTERVAL '10' MINUTES", tokens[0].start)
    return _duration(statement, tokens[1].name[1:-1], tokens[2])


def _cumulate_window(statement: Statement, call: Span, lengths: list[str]) -> CumulateWindow | None:
    """Returns the window of CUMULATE; None if it has one step and so is tumbling."""
    try:
        size, step, *offset = (length[1:-1] for length in lengths)
        window = cumulate(size, every=step, offset=offset[0] if offset else 0)
    except ModelError as error:
        raise statement.error(str(error), call[0].start) from None
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
        raise statement.error("GROUP BY must name window_start and window_end", tokens[-1].start)
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
        _replace_keys(statement, INTERVAL_COLUMN),
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
