"""Views of a plan: `text` for a terminal, `svg` for a notebook or a file, `sql` for Spark, and
`figures` for other programs."""

from muntin.explain.one_statement import one_statement
from muntin.explain.picture import svg
from muntin.explain.report import UNLIMITED, figures, text
from muntin.explain.statements import sql, statement
from muntin.explain.words import headline

__all__ = ["UNLIMITED", "figures", "headline", "one_statement", "sql", "statement", "svg", "text"]
