"""How things are measured: events, turns, processes, tables of figures, pictures."""
