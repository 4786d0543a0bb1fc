"""White space, comments and the case of words do not change what a statement means."""

import re

from hypothesis import given, settings
from hypothesis import strategies as st

from muntin.errors import ParseError
from muntin.model.query import Query
from muntin.sql import parse_sql
from muntin.sql.tokens import tokenize

KEYS = ["device", "r.city", "s.zone", "upper(name)", "a + b", "cast(x AS date)", "`odd name`"]
CALLS = [
    "count(*)",
    "sum(x * 2)",
    "max(r.temp)",
    "avg(y) FILTER (WHERE z > 'Hot; --')",
    "any(x > 1)",
    "stddev(y::double)",
]
WINDOWS = ["window(ts, '1 minute')", "window(r.ts, '1 hour', '5 minutes', '10 seconds')"]
EXTRAS = [
    "(",
    ")",
    "'",
    ",",
    "window",
    "window(",
    "DISTINCT",
    "FILTER",
    "AS",
    ".",
    "*",
    "1",
    ";",
    "OVER ()",
    "[",
    "->",
]
GAPS = st.sampled_from([" ", "  ", "\n", "\t", " /* Note */ ", " -- note\n"])


@st.composite
def statements(draw):
    """A statement that shares, as its words."""
    keys = draw(st.lists(st.sampled_from(KEYS), unique=True, max_size=4))
    calls = draw(st.lists(st.sampled_from(CALLS), min_size=1, max_size=4))
    items = [*keys, "window.start", *(f"{call} + 1 AS c{i}" for i, call in enumerate(calls))]
    groups = draw(st.permutations([*keys, draw(st.sampled_from(WINDOWS))]))
    sql = f"SELECT {', '.join(items)} FROM r JOIN t ON r.i = t.i"
    if draw(st.booleans()):
        sql += " WHERE x IS DISTINCT FROM 'A  b'"
    sql += f" GROUP BY {', '.join(groups)}"
    if draw(st.booleans()):
        sql += " HAVING c0 > 1 AND count(*) > 2"
    return sql


def meaning(query):
    """A query up to white space and case."""
    assert isinstance(query, Query), query.reason

    def plain(text):
        # Keys and aggregates stand under their text, white space included.
        return None if text is None else [one.replace(" ", "") for one in tokenize(text).norms()]

    return (
        query.window,
        plain(query.time),
        plain(query.where),
        plain(query.having),
        plain(str(query.source)),
        [(plain(name), plain(text)) for name, text in query.keys.items()],
        [(plain(name), plain(str(call))) for name, call in query.aggregates.items()],
        [((column.name or "").lower(), plain(column.expression)) for column in query.columns],
    )


@settings(deadline=None)
@given(sql=statements(), data=st.data())
def test_white_space_comments_and_case_do_not_matter(sql, data):
    tokens = tokenize(sql)
    pieces = []
    for token, after in zip(tokens, [*tokens[1:], None], strict=True):
        text = sql[token.start : token.end]
        literal = token.kind in {"STRING", "NUMBER"}
        pieces.append(text if literal else data.draw(st.sampled_from([text, text.upper()])))
        # Blanks around a dot or a call's bracket stay away: `r . x` is not folded into `x`.
        spaced = after is not None and "." not in text and sql[after.start] != "."
        pieces.append(data.draw(GAPS) if spaced else "")
    (expected,), (found,) = parse_sql(sql), parse_sql("".join(pieces))
    assert meaning(found) == meaning(expected)


@settings(deadline=None)
@given(sql=statements())
def test_nothing_is_written_that_the_user_did_not_write(sql):
    (query,) = parse_sql(sql)
    texts = [query.time, *query.keys.values(), *(a.argument for a in query.aggregates.values())]
    texts += [query.where, *(a.where for a in query.aggregates.values())]
    assert all(text in sql for text in texts if text)


@settings(deadline=None)
@given(parts=st.lists(statements(), min_size=1, max_size=4))
def test_statements_do_not_touch_each_other(parts):
    alone = [meaning(parse_sql(part)[0]) for part in parts]
    assert [meaning(query) for query in parse_sql(" ;\n".join(parts))] == alone


@settings(deadline=None)
@given(sql=statements(), data=st.data())
def test_broken_text_gives_queries_or_a_parse_error(sql, data):
    tokens = [sql[token.start : token.end] for token in tokenize(sql)]
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, len(tokens) - 1))
        extra = data.draw(st.sampled_from([*EXTRAS, *tokens]))
        tokens[place : place + data.draw(st.integers(0, 2))] = [extra]
    try:
        said = [query.name for query in parse_sql(" ".join(tokens))]
    except ParseError as error:
        said = re.findall(r"query '|statement", str(error))
    assert said
