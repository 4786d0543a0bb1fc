"""Turns partials into answers: one compiled algorithm per file; `recalc` tests the others."""
