"""Sketches that are made of values with their counts: within Spark's bounds, or better."""

import muntin as mt

COUNTED = {
    "kll": mt.kll_sketch_agg_bigint("v"),
    "kll_small": mt.kll_sketch_agg_bigint("CAST(v AS INT)", 8, where="v % 3 = 0"),
    "kll_double": mt.kll_sketch_agg_double("x", 40),
    "kll_float": mt.kll_sketch_agg_float("CAST(x AS FLOAT)"),
    "top": mt.approx_top_k("v % 7", 3),
    "top_float": mt.approx_top_k("x", 4, 100, where="v > 9"),
    "top_text": mt.approx_top_k("concat('é', v % 5)", 100),
    "state": mt.approx_top_k_accumulate("v % 7", 100),
    "state_few": mt.approx_top_k_accumulate("CAST(v AS INT)", 9),
    "state_text": mt.approx_top_k_accumulate("concat('é', v % 5)"),
}
