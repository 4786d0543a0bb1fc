"""Azure Stream Analytics: `TumblingWindow(minute, 5)`, `Windows(...)`, `TIMESTAMP BY`, `System`.

Windows are Spark's, `[begin, end)`: an event at an edge is in the window that begins there.
"""

from dataclasses import dataclass
from difflib import get_close_matches
from itertools import pairwise

from muntin.errors import ModelError
from muntin.model.sql_text import literal
from muntin.model.time import parse_duration
from muntin.sql.dialects.edits import Edit, duration, edited, wrong
from muntin.sql.statements import Statement
from muntin.sql.tokens import Span, closing, kind_at, outside, render, split

_WINDOWS = {"tumblingwindow", "hoppingwindow", "sessionwindow"}
# What Spark has no window for, and what to write instead.
_REFUSED = {
    "slidingwindow": "gives a row whenever an event enters or leaves it, and Spark has no such "
    "window; the nearest is a hopping one with a short hop: {hopping}",
    "snapshotwindow": "holds the events of one instant; GROUP BY the time itself",
}
_CALLS = {*_WINDOWS, *_REFUSED, "windows"}
# What ends the expression of TIMESTAMP BY.
_AFTER_TIME = {"WHERE", "GROUP_BY", "HAVING", "JOIN", "COMMA", "OVER", "PARTITION_BY"}


@dataclass(frozen=True, kw_only=True)
class _Named:
    """A window as Spark's call, and its id if it has one."""

    call: str
    name: str | None


def from_azure(statement: Statement) -> list[Statement] | None:
    """Returns a statement for each window of a query of Azure's; None if it is not one."""
    tokens = statement.tokens
    found = [place for place in _outermost(tokens) if tokens[place].norm in _CALLS]
    if not found:
        _check_spelling(statement)
        return None
    if len(found) > 1:
        raise wrong(statement, "it groups by two windows; use Windows(...)", tokens[found[1]])
    place = found[0]
    last = closing(tokens, place + 1)
    timestamp, time = _timestamp(statement)
    windows = _windows(statement, tokens[place : last + 1], time)
    statements = []
    for window in windows:
        edits = [
            Edit.of(timestamp, ""),
            *_system(statement, window),
            Edit.of(tokens[place : last + 1], window.call),
        ]
        name = None if window.name is None else f"{statement.name}_{window.name}"
        statements.append(edited(statement, edits, name))
    return statements


def _outermost(tokens: Span) -> list[int]:
    """Returns the places outside brackets at which a call begins."""
    return [place for place in outside(tokens) if kind_at(tokens, place + 1) == "L_PAREN"]


def _check_spelling(statement: Statement) -> None:
    """Refuse what is probably a window of Azure's with another name: TIMESTAMP BY tells."""
    tokens = statement.tokens
    words = [token.norm for token in tokens]
    if ("timestamp", "by") not in pairwise(words):
        return
    for place in _outermost(tokens):
        if get_close_matches(words[place], _CALLS, n=1, cutoff=0.8):
            raise wrong(
                statement,
                f"{tokens[place].name} is no window; {_nearest(words[place])}",
                tokens[place],
            )


def _nearest(word: str) -> str:
    """Returns a hint at the window that was probably meant."""
    spelled = {"windows": "Windows"} | {
        name: name.removesuffix("window").capitalize() + "Window" for name in sorted(_WINDOWS)
    }
    meant = get_close_matches(word, spelled, n=1)
    names = ", ".join(spelled.values())
    return f"did you mean {spelled[meant[0]]}?" if meant else f"there is: {names}"


def _timestamp(statement: Statement) -> tuple[Span, str]:
    """Returns the tokens of TIMESTAMP BY, and the text of its expression."""
    tokens = statement.tokens
    for place in outside(tokens):
        if [token.norm for token in tokens[place : place + 2]] == ["timestamp", "by"]:
            stop = next(
                (
                    after
                    for after in outside(tokens)
                    if after > place + 1 and tokens[after].kind in _AFTER_TIME
                ),
                len(tokens),
            )
            if stop == place + 2:
                break
            return tokens[place:stop], render(statement.text, tokens[place + 2 : stop])
    raise statement.error(
        "its window needs a time: write FROM input TIMESTAMP BY column; there is no time of arrival"
    )


def _windows(statement: Statement, call: Span, time: str) -> list[_Named]:
    """Returns the windows of a call: one, or those of `Windows(...)`."""
    if call[0].norm != "windows":
        return [_Named(call=_spark_call(statement, call, time), name=None)]
    named = []
    for item in split(call[2:-1]):
        parts = split(item[2:-1]) if item[0].norm == "window" and len(item) > 3 else []
        if len(parts) != 2 or [token.kind for token in parts[0]] != ["STRING"]:
            raise wrong(statement, "Windows takes Window('id', TumblingWindow(...)), ...", item[0])
        name = parts[0][0].name[1:-1]
        named.append(_Named(call=_spark_call(statement, parts[1], time), name=name))
    ids = [window.name for window in named]
    if not ids or len(set(ids)) < len(ids):
        raise wrong(statement, "each Window of Windows needs an id of its own", call[0])
    return named


def _spark_call(statement: Statement, call: Span, time: str) -> str:
    """Returns a window as Spark writes it."""
    kind = call[0].norm
    if kind in _REFUSED:
        unit, length = ([render(statement.text, each) for each in split(call[2:-1])] + ["", ""])[:2]
        hopping = f"HoppingWindow({unit}, {length}, 1)"
        if not length:
            hopping = "HoppingWindow(minute, 10, 1)"
        told = _REFUSED[kind].format(hopping=hopping)
        raise wrong(statement, f"{call[0].name} {told}", call[0])
    if kind not in _WINDOWS or kind_at(call, 1) != "L_PAREN":
        raise wrong(statement, f"{call[0].name} is no window; {_nearest(kind)}", call[0])
    arguments = split(call[2:-1])
    lengths = _by_unit(statement, arguments) or _by_call(statement, arguments)
    least, most = (2, 3) if kind == "hoppingwindow" else (1, 1 if kind == "sessionwindow" else 2)
    if not least <= len(lengths) <= most:
        raise wrong(statement, f"{call[0].name} with {len(lengths)} lengths", call[0])
    if kind == "sessionwindow":
        try:
            # A day has 24 hours here. As a gap of Spark's it has those of the time zone.
            return f"session_window({time}, '{parse_duration(lengths[0][1:-1])} microseconds')"
        except ModelError as error:
            raise wrong(statement, str(error), call[0]) from None
    if kind == "tumblingwindow" and len(lengths) == 2:
        lengths.insert(1, lengths[0])
    return f"window({time}, {', '.join(lengths)})"


def _by_unit(statement: Statement, arguments: list[Span]) -> list[str]:
    """Returns the lengths of `(minute, 10, 5)`, none if they are written in another way."""
    if len(arguments) < 2 or len(arguments[0]) != 1 or kind_at(arguments[1], 0) != "NUMBER":
        return []
    unit, *counts = arguments
    return [duration(statement, render(statement.text, count), unit[0]) for count in counts]


def _by_call(statement: Statement, arguments: list[Span]) -> list[str]:
    """Returns the lengths of `(Duration(minute, 10), Hop(minute, 5), Offset(second, 1))`."""
    lengths = []
    for argument, name in zip(arguments, ("duration", "hop", "offset"), strict=False):
        called = argument[0].norm
        if called not in {name, "offset"} or kind_at(argument, 1) != "L_PAREN":
            raise wrong(statement, f"a window's {name} is missing", argument[0])
        parts = split(argument[2:-1])
        if len(parts) != 2 or len(parts[0]) != 1:
            raise wrong(statement, f"{argument[0].name} takes a unit and a number", argument[0])
        lengths.append(duration(statement, render(statement.text, parts[1]), parts[0][0]))
    return lengths


def _system(statement: Statement, window: _Named) -> list[Edit]:
    """Replaces `System.Timestamp()` by the window's end, and `System.Window().Id` by its id."""
    tokens = statement.tokens
    edits = []
    for place, token in enumerate(tokens):
        if token.norm != "system" or kind_at(tokens, place + 1) != "DOT":
            continue
        words = [each.norm for each in tokens[place + 2 : place + 7]]
        if words[:1] == ["timestamp"]:
            stop = place + (5 if words[1:3] == ["(", ")"] else 3)
            edits.append(Edit.of(tokens[place:stop], f"{window.call.partition('(')[0]}.end"))
        elif words == ["window", "(", ")", ".", "id"]:
            if window.name is None:
                raise wrong(statement, "System.Window().Id is of a Window in Windows(...)", token)
            edits.append(Edit.of(tokens[place : place + 7], literal(window.name)))
    return edits
