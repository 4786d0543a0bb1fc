"""How many examples a generated test has; `make fuzz` asks for many more."""

import os

# Whether generated tests draw other examples in every run. `make fuzz` sets how many.
FRESH_SEEDS = "MUNTIN_EXAMPLES" in os.environ
# Of a test that does not say how many.
EXAMPLES = int(os.environ.get("MUNTIN_EXAMPLES", "25"))
_USUAL = 25


def examples(usual: int) -> int:
    """Returns how many examples a test has that usually has so many."""
    return max(1, usual * EXAMPLES // _USUAL)
