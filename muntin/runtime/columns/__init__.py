"""Columns of partials: laid out, keyed, sorted, lifted, folded and lowered to answers."""
