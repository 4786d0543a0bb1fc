"""How many examples a generated test has, and from which seed."""

import os

# `make test` draws the same examples in every run. `make fuzz` draws others, and prints its seed.
FRESH = "MUNTIN_SEED" in os.environ
SEED = int(os.environ.get("MUNTIN_SEED", "0"))
# For a test that states no number.
EXAMPLES = int(os.environ.get("MUNTIN_EXAMPLES", "25"))
_USUAL = 25


def examples(usual: int) -> int:
    """Returns `usual`, scaled as `MUNTIN_EXAMPLES` scales the default."""
    return max(1, usual * EXAMPLES // _USUAL)
