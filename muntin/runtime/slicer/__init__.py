"""The slicer: events, or partials of finer slices, to partials of many groupings at once."""
