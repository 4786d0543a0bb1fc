"""Azure Stream Analytics: `TumblingWindow(minute, 5)`, `Windows(...)`, `TIMESTAMP BY`, `System`.

Windows are `[start, end)` as in Spark: an event at an edge is in the window that starts there.
"""

from dataclasses import dataclass
from difflib import get_close_matches
from itertools import pairwise

from muntin.errors import ModelError
from muntin.model.time import parse_duration
from muntin.sql.dialects.text_edits import Edit, apply_edits, duration, error_at
from muntin.sql.statements import Statement
from muntin.sql.tokens import Span, render
from muntin.sql_text import literal

_WINDOWS = {"tumblingwindow", "hoppingwindow", "sessionwindow"}
# Windows that Spark does not have, and what to write instead.
_REFUSED = {
    "slidingwindow": "gives a row whenever an event enters or leaves it, and Spark has no such "
    "window; the nearest is a hopping one with a short hop: {hopping}",
    "snapshotwindow": "holds the events of one instant; GROUP BY the time itself",
}
_CALLS = {*_WINDOWS, *_REFUSED, "windows"}
# Tokens after the expression of TIMESTAMP BY.
_AFTER_TIME = {"WHERE", "GROUP_BY", "HAVING", "JOIN", "COMMA", "OVER", "PARTITION_BY"}


@dataclass(frozen=True, kw_only=True)
class _NamedWindow:
    """A window as a call in Spark SQL, and its id if it has one."""

    call: str
    name: str | None


def from_azure(statement: Statement) -> list[Statement] | None:
    """Returns a statement for each window of an Azure query; None for any other statement."""
    tokens = statement.tokens
    found = [place for place in _top_level_calls(tokens) if tokens[place].norm in _CALLS]
    if not found:
        _check_spelling(statement)
        return None
    if len(found) > 1:
        raise error_at(statement, "it groups by two windows; use Windows(...)", tokens[found[1]])
    place = found[0]
    last = tokens.closing_position(place + 1)
    timestamp, time = _timestamp(statement)
    windows = _windows(statement, tokens[place : last + 1], time)
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


def _top_level_calls(tokens: Span) -> list[int]:
    return [
        place for place in tokens.top_level_positions() if tokens.kind_at(place + 1) == "L_PAREN"
    ]


def _check_spelling(statement: Statement) -> None:
    """Refuses a misspelled window in a statement with TIMESTAMP BY."""
    tokens = statement.tokens
    words = [token.norm for token in tokens]
    if ("timestamp", "by") not in pairwise(words):
        return
    for place in _top_level_calls(tokens):
        if get_close_matches(words[place], _CALLS, n=1, cutoff=0.8):
            raise error_at(
                statement,
                f"{tokens[place].name} is no window; {_nearest(words[place])}",
                tokens[place],
            )


def _nearest(word: str) -> str:
    spelled = {"windows": "Windows"} | {
        name: name.removesuffix("window").capitalize() + "Window" for name in sorted(_WINDOWS)
    }
    meant = get_close_matches(word, spelled, n=1)
    names = ", ".join(spelled.values())
    return f"did you mean {spelled[meant[0]]}?" if meant else f"there is: {names}"


def _timestamp(statement: Statement) -> tuple[Span, str]:
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


def _windows(statement: Statement, call: Span, time: str) -> list[_NamedWindow]:
    """Returns the windows of a call: one, or those of `Windows(...)`."""
    if call[0].norm != "windows":
        return [_NamedWindow(call=_spark_call(statement, call, time), name=None)]
    named = []
    for item in call[2:-1].split_at_commas():
        parts = item[2:-1].split_at_commas() if item[0].norm == "window" and len(item) > 3 else []
        if len(parts) != 2 or [token.kind for token in parts[0]] != ["STRING"]:
            raise error_at(
                statement, "Windows takes Window('id', TumblingWindow(...)), ...", item[0]
            )
        name = parts[0][0].name[1:-1]
        named.append(_NamedWindow(call=_spark_call(statement, parts[1], time), name=name))
    ids = [window.name for window in named]
    if not ids or len(set(ids)) < len(ids):
        raise error_at(statement, "each Window of Windows needs an id of its own", call[0])
    return named


def _spark_call(statement: Statement, call: Span, time: str) -> str:
    """Returns a window as a call in Spark SQL."""
    kind = call[0].norm
    if kind in _REFUSED:
        unit, length = (
            [render(statement.text, each) for each in call[2:-1].split_at_commas()] + ["", ""]
        )[:2]
        hopping = f"HoppingWindow({unit}, {length}, 1)"
        if not length:
            hopping = "HoppingWindow(minute, 10, 1)"
        told = _REFUSED[kind].format(hopping=hopping)
        raise error_at(statement, f"{call[0].name} {told}", call[0])
    if kind not in _WINDOWS or call.kind_at(1) != "L_PAREN":
        raise error_at(statement, f"{call[0].name} is no window; {_nearest(kind)}", call[0])
    arguments = call[2:-1].split_at_commas()
    lengths = _by_unit(statement, arguments) or _by_call(statement, arguments)
    least, most = (2, 3) if kind == "hoppingwindow" else (1, 1 if kind == "sessionwindow" else 2)
    if not least <= len(lengths) <= most:
        raise error_at(statement, f"{call[0].name} with {len(lengths)} lengths", call[0])
    if kind == "sessionwindow":
        try:
            # A day has 24 hours in Azure. As a gap in Spark, its length depends on the time zone.
            return f"session_window({time}, '{parse_duration(lengths[0][1:-1])} microseconds')"
        except ModelError as error:
            raise error_at(statement, str(error), call[0]) from None
    if kind == "tumblingwindow" and len(lengths) == 2:
        lengths.insert(1, lengths[0])
    return f"window({time}, {', '.join(lengths)})"


def _by_unit(statement: Statement, arguments: list[Span]) -> list[str]:
    """Returns the lengths of `(minute, 10, 5)`; none for arguments in another form."""
    if len(arguments) < 2 or len(arguments[0]) != 1 or arguments[1].kind_at(0) != "NUMBER":
        return []
    unit, *counts = arguments
    return [duration(statement, render(statement.text, count), unit[0]) for count in counts]


def _by_call(statement: Statement, arguments: list[Span]) -> list[str]:
    """Returns the lengths of `(Duration(minute, 10), Hop(minute, 5), Offset(second, 1))`."""
    lengths = []
    for argument, name in zip(arguments, ("duration", "hop", "offset"), strict=False):
        called = argument[0].norm
        if called not in {name, "offset"} or argument.kind_at(1) != "L_PAREN":
            raise error_at(statement, f"a window's {name} is missing", argument[0])
        parts = argument[2:-1].split_at_commas()
        if len(parts) != 2 or len(parts[0]) != 1:
            raise error_at(statement, f"{argument[0].name} takes a unit and a number", argument[0])
        lengths.append(duration(statement, render(statement.text, parts[1]), parts[0][0]))
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
                raise error_at(
                    statement, "System.Window().Id is of a Window in Windows(...)", token
                )
            edits.append(Edit.of(tokens[place : place + 7], literal(window.name)))
    return edits
