"""Replaces named parameters, `:name`, by literals, as Spark binds them.

Every value becomes one literal, so that it can never be read as anything but a value.
"""

from collections.abc import Mapping
from datetime import date, datetime, timedelta
from decimal import Decimal
from math import floor, isfinite
from typing import Any

from sqlglot.errors import TokenError

from muntin.errors import ParseError, nearest
from muntin.model.time import SECOND
from muntin.sql.tokens import Span, line_and_column, tokenize
from muntin.sql_text import literal

_INT = 1 << 31
_LONG = 1 << 63
# After these tokens a colon extracts a field of a value; anywhere else it starts a parameter.
_OPERANDS = {"R_PAREN", "R_BRACKET", "IDENTIFIER", "VAR", "STRING", "NUMBER"}


def bind_parameters(text: str, args: Mapping[str, Any]) -> str:
    """Returns the text with a literal for every parameter; raises `ParseError` if one is missing.

    As in Spark, values that no parameter asks for are ignored.
    """
    try:
        tokens = tokenize(text)
    except TokenError:
        # `split_statements` raises the error.
        return text
    pieces, end = [], 0
    for place in _places(tokens):
        marker, name = tokens[place], tokens[place + 1]
        line, column = line_and_column(text, marker.start)
        if name.name not in args:
            hint = nearest(name.name, list(args)) if args else "args is empty"
            raise ParseError(
                f"the parameter :{name.name} has no value; {hint}", line=line, column=column
            )
        try:
            value = as_literal(args[name.name])
        except ValueError as error:
            raise ParseError(
                f"the parameter :{name.name} {error}", line=line, column=column
            ) from None
        pieces += [text[end : marker.start], value]
        end = name.end
    return "".join([*pieces, text[end:]])


def _places(tokens: Span) -> list[int]:
    """Returns the indexes of colons right before a name and not after an operand."""
    return [
        place
        for place, token in enumerate(tokens)
        if token.kind == "COLON"
        and place + 1 < len(tokens)
        and tokens[place + 1].is_name
        and tokens[place + 1].start == token.end
        and not (tokens.kind_at(place - 1) in _OPERANDS and tokens[place - 1].end == token.start)
    ]


def as_literal(value: Any) -> str:
    """Returns a Python value as Spark SQL, in the type that Spark gives it.

    >>> as_literal(3), as_literal("it's"), as_literal(None), as_literal(-0.5)
    ('3', "'it\\\\'s'", 'NULL', '(-0.5D)')
    """
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, int):
        return _integer(value)
    if isinstance(value, float):
        return _bracket_sign(f"{value!r}D") if isfinite(value) else f"double('{value}')"
    if isinstance(value, str):
        return literal(value).replace("\n", "\\n").replace("\r", "\\r")
    if isinstance(value, bytes):
        return f"X'{value.hex()}'"
    if isinstance(value, Decimal) and value.is_finite():
        return _bracket_sign(f"{value:f}BD")
    if isinstance(value, date | timedelta):
        return _time_literal(value)
    raise ValueError(
        f"is {type(value).__name__}; a value is a number, text, bytes, a boolean, a date, a time, "
        f"a timedelta or None"
    )


def _time_literal(value: date | timedelta) -> str:
    if isinstance(value, datetime):
        # As in PySpark, a time without a zone is in this machine's zone.
        micros = floor(value.replace(microsecond=0).timestamp()) * SECOND + value.microsecond
        return f"timestamp_micros({micros}L)"
    if isinstance(value, date):
        return f"DATE '{value.isoformat()}'"
    micros = (value.days * 86_400 + value.seconds) * SECOND + value.microseconds
    days, rest = divmod(abs(micros), 86_400 * SECOND)
    clock = f"{timedelta(microseconds=rest - rest % SECOND)}.{rest % SECOND:06d}"
    return f"INTERVAL '{'-' if micros < 0 else ''}{days} {clock}' DAY TO SECOND"


def _integer(value: int) -> str:
    if not -_LONG <= value < _LONG:
        raise ValueError(f"is {value}, which is no bigint; give a Decimal")
    if value in (-_INT, -_LONG):
        # Without its sign, the literal would have a wider type.
        return f"CAST('{value}' AS {'INT' if value == -_INT else 'BIGINT'})"
    return _bracket_sign(str(value))


def _bracket_sign(text: str) -> str:
    """Puts a negative number in brackets, because `--1` would be a comment."""
    return f"({text})" if text.startswith("-") else text
