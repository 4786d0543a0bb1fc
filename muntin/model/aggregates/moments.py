"""Moments in Spark SQL: structs of (n, mean, squares), merged and made into variances."""

_NONE = "named_struct('n', 0D, 'mean', 0D, 'squares', 0D)"
# Chan's merge, as `aggregate.merge_moments` has it.
_MERGED = """named_struct(
      'n', a.n + b.n,
      'mean', a.mean + (b.mean - a.mean) / (a.n + b.n) * b.n,
      'squares', a.squares + b.squares
        + (b.mean - a.mean) * ((b.mean - a.mean) / (a.n + b.n)) * a.n * b.n)"""


def merged_moments(struct: str, finish: str | None = None) -> str:
    """An aggregate call that merges a group's structs into one, or into what `finish` makes of it.

    `finish` is a function of variance or deviation.
    """
    merge = f"(a, b) -> CASE WHEN b.n = 0 THEN a WHEN a.n = 0 THEN b\n    ELSE {_MERGED} END"
    last = "" if finish is None else f", a -> {deviation(finish, 'a')}"
    return f"aggregate(collect_list({struct}), {_NONE},\n    {merge}{last})"


def deviation(function: str, struct: str) -> str:
    """Variance or deviation from a struct; a sample of one has none."""
    lost = 1 if function.endswith("_samp") else 0
    variance = f"CASE WHEN {struct}.n > {lost} THEN {struct}.squares / ({struct}.n - {lost}) END"
    return f"sqrt({variance})" if function.startswith("stddev") else variance
