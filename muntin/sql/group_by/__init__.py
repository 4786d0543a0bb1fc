"""GROUP BY of a statement: its keys, its grouping sets, and the window among them."""
