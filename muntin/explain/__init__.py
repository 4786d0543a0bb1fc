"""Looking at a plan: `text` for a terminal, `svg` for a notebook or a file."""

from muntin.explain.picture import svg
from muntin.explain.terminal import text

__all__ = ["svg", "text"]
