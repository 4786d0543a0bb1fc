"""Partials to answers: one algorithm a file, compiled. `recalc` is the oracle of the others."""
