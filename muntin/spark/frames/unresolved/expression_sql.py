"""Writes an expression of Spark Connect as SQL, with the meaning of each column for its name."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any

from muntin.spark.engine.connect_plans import Expression, expression_of
from muntin.spark.frames.frame_queries import NotSharedError
from muntin.sql.clauses import SelectItem, replace_columns
from muntin.sql.functions import GENERATORS, SPARK_FUNCTIONS, UNSTABLE, called_functions
from muntin.sql_text import literal, name_parts, quote_name

# Functions that are written between their arguments.
_OPERATORS = {
    **{sign: sign for sign in ("+", "-", "*", "/", "%", "<", "<=", ">", ">=", "<=>", "|", "&")},
    **{"==": "=", "^": "^", "and": "AND", "or": "OR", "like": "LIKE", "ilike": "ILIKE"},
    "rlike": "RLIKE",
}
_PREFIXES = {"not": "NOT", "!": "NOT", "~": "~", "negative": "-"}
_NUMBERS = {"byte": "Y", "short": "S", "integer": "", "long": "L"}
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
# What makes a window; what reads one.
WINDOWS = frozenset(["window", "session_window"])
_OF_WINDOWS = frozenset(["window_time"])
# Text that is longer costs Spark more to read than sharing saves.
_LONGEST = 20_000


@dataclass(frozen=True, kw_only=True)
class Names:
    """The columns of an operator in order, each with its SQL over the base."""

    columns: tuple[tuple[str, str], ...]
    is_case_sensitive: bool

    def meaning(self, name: str) -> str:
        """Returns the SQL of a column over the base, if just one column has the name."""
        found = [text for each, text in self.columns if self.is_same(each, name)]
        if len(found) != 1:
            how = "no column" if not found else "several columns"
            raise NotSharedError(f"{how} called {name} can be told by that name alone")
        return found[0]

    def is_same(self, one: str, other: str) -> bool:
        """Whether two names are the same to Spark."""
        return one == other if self.is_case_sensitive else one.lower() == other.lower()


@dataclass(frozen=True, kw_only=True)
class ExpressionSql:
    """Writes the expressions of one operator."""

    names: Names
    # The columns of DataFrames below, by the numbers of their plans; None if numbers play no part.
    plans: Mapping[int, Names] | None
    # Functions that may not be called here.
    refused: frozenset[str]

    def text(self, expression: Expression) -> str:
        """Returns an expression as SQL that can be part of a larger expression."""
        kind, parts = expression_of(expression)
        match kind:
            case "alias":
                text = self.text(parts.expr)
            case "unresolved_attribute":
                text = self._attribute(parts)
            case "literal":
                text = literal_sql(parts)
            case "unresolved_function" if not parts.is_user_defined_function:
                text = self._call(parts.function_name, parts.arguments, parts.is_distinct)
            case "cast":
                text = self._cast(parts)
            case "unresolved_extract_value":
                text = f"{self.text(parts.child)}[{self.text(parts.extraction)}]"
            case "expression_string":
                text = self._user_sql(parts.expression)
            case _:
                raise NotSharedError(f"it has {kind.replace('_', ' ')} in an expression")
        if len(text) > _LONGEST:
            raise NotSharedError("its expressions are too large")
        return text

    def item(self, expression: Expression) -> str:
        """Returns an expression as SQL, with a name if it was given one."""
        kind, parts = expression_of(expression)
        is_named = kind == "alias" or (
            kind == "expression_string" and self._parse(parts.expression).has_alias
        )
        text = self.text(expression)
        return f"{text} AS named" if is_named else text

    def is_star(self, expression: Expression) -> bool:
        """Whether an expression stands for all columns."""
        kind, parts = expression_of(expression)
        if kind == "expression_string":
            return bool(parts.expression.strip() == "*")
        return kind == "unresolved_star" and not parts.unparsed_target

    def _attribute(self, attribute: Any) -> str:
        names = self.names
        if attribute.HasField("plan_id") and self.plans is not None:
            if attribute.plan_id not in self.plans:
                raise NotSharedError(
                    f"{attribute.unparsed_identifier} is a column of a DataFrame inside what it "
                    f"reads"
                )
            names = self.plans[attribute.plan_id]
        first, *fields = name_parts(attribute.unparsed_identifier)
        return ".".join([names.meaning(first), *map(quote_name, fields)])

    def _call(self, function: str, given: list[Expression], is_distinct: bool) -> str:
        name = function.lower()
        if name == "count" and len(given) == 1 and self.is_star(given[0]):
            return "count(*)"
        self._check({name} - _OPERATORS.keys() - _PREFIXES.keys())
        arguments = [self.text(each) for each in given]
        if name in _PREFIXES and len(arguments) == 1:
            return f"({_PREFIXES[name]} {arguments[0]})"
        if name in _OPERATORS and len(arguments) == 2:
            return f"({arguments[0]} {_OPERATORS[name]} {arguments[1]})"
        if name == "in":
            return f"({arguments[0]} IN ({', '.join(arguments[1:])}))"
        if name == "when":
            pairs = zip(arguments[::2], arguments[1::2], strict=False)
            cases = " ".join(f"WHEN {condition} THEN {value}" for condition, value in pairs)
            other = f" ELSE {arguments[-1]}" if len(arguments) % 2 else ""
            return f"(CASE {cases}{other} END)"
        return f"{name}({'DISTINCT ' if is_distinct else ''}{', '.join(arguments)})"

    def _cast(self, cast: Any) -> str:
        to = cast.type_str
        if not to:
            from pyspark.sql.connect.types import proto_schema_to_pyspark_data_type

            to = proto_schema_to_pyspark_data_type(cast.type).simpleString()
        function = "TRY_CAST" if cast.eval_mode == cast.EVAL_MODE_TRY else "CAST"
        return f"{function}({self.text(cast.expr)} AS {to})"

    def _user_sql(self, text: str) -> str:
        """Returns an expression that the user wrote as SQL."""
        # What stands in WITHIN GROUP is no call.
        ordered = {"group"} if re.search(r"\bwithin\s+group\b", text, re.IGNORECASE) else set()
        self._check(called_functions(text) - ordered)
        return f"({self._parse(text).text})"

    def _parse(self, text: str) -> SelectItem:
        found = replace_columns(text, self.names.meaning)
        if found is None:
            raise NotSharedError(f"{text} is beyond the parser")
        return found

    def _check(self, functions: set[str]) -> None:
        """Refuse functions that cannot be called here, or that may be the user's own."""
        for name in functions:
            if name in UNSTABLE or name not in SPARK_FUNCTIONS:
                raise NotSharedError(
                    f"{name} is a function that is not Spark's own, or gives other values each time"
                )
            if name in self.refused | GENERATORS | _OF_WINDOWS:
                raise NotSharedError(f"{name} is not built from slices")


def literal_sql(value: Any) -> str:
    """Returns a literal as SQL of the same type."""
    kind = value.WhichOneof("literal_type")
    match kind:
        case "null":
            return "NULL"
        case "boolean":
            return "TRUE" if value.boolean else "FALSE"
        case "byte" | "short" | "integer" | "long":
            number = getattr(value, kind)
            return f"{number}{_NUMBERS[kind]}" if number >= 0 else f"({number}{_NUMBERS[kind]})"
        case "double":
            text = f"{value.double!r}D"
            return f"({text})" if text.startswith("-") else text
        case "decimal":
            return f"({value.decimal.value}BD)"
        case "string":
            return literal(value.string)
        case "date":
            return f"DATE'{date(1970, 1, 1) + timedelta(days=value.date)}'"
        case "timestamp":
            instant = _EPOCH + timedelta(microseconds=value.timestamp)
            return f"TIMESTAMP'{instant:%Y-%m-%d %H:%M:%S.%f}+00:00'"
        case "timestamp_ntz":
            local = _EPOCH + timedelta(microseconds=value.timestamp_ntz)
            return f"TIMESTAMP_NTZ'{local:%Y-%m-%d %H:%M:%S.%f}'"
    raise NotSharedError(f"it has a literal of type {str(kind).replace('_', ' ')}")
