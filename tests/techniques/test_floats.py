"""Defaults lose no precision to what has left the window, nor to what is not a number."""

import math

import numpy as np
import pytest

from muntin.aggregates import monoids as mo
from muntin.techniques.aggregator import Aggregator
from muntin.techniques.table import fold

SIZE = 100
HIGHS = np.arange(1, 2001)
LOWS = np.maximum(HIGHS - SIZE, 0)


def stream():
    return np.random.default_rng(11).uniform(1, 2, len(HIGHS))


def worst_error(found, exact):
    return max(abs(one - other) / abs(other) for one, other in zip(found, exact, strict=True))


def test_a_sum_after_an_outlier():
    values = stream()
    values[500] = 1e16
    exact = [math.fsum(values[low:high]) for low, high in zip(LOWS, HIGHS, strict=True)]
    assert worst_error(fold(mo.ADD_FLOAT, values, LOWS, HIGHS), exact) <= 1e-12
    # The reason why floats are not subtracted.
    assert worst_error(fold(mo.ADD, values, LOWS, HIGHS, technique="subtract"), exact) > 1e-4


def test_sums_of_many_windows_after_an_outlier():
    values = stream()
    values[500] = 1e16
    sizes = [3, 50, SIZE]
    found = Aggregator(mo.ADD_FLOAT, sizes).insert_many(values)
    for column, size in enumerate(sizes):
        exact = [math.fsum(values[max(0, high - size) : high]) for high in HIGHS]
        assert worst_error(found[:, column], exact) <= 1e-12


def test_moments_after_an_outlier():
    values = stream()
    values[500] = 1e8
    partials = (np.ones(len(values)), values, np.zeros(len(values)))
    _, means, squares = fold(mo.MOMENTS, partials, LOWS, HIGHS)
    after = slice(500 + SIZE, None)
    exact = [values[low:high] for low, high in zip(LOWS[after], HIGHS[after], strict=True)]
    assert worst_error(means[after], [math.fsum(it) / SIZE for it in exact]) <= 1e-12
    assert worst_error(squares[after], [it.var() * SIZE for it in exact]) <= 1e-12


@pytest.mark.parametrize("intruder", [math.inf, -math.inf, math.nan])
@pytest.mark.parametrize("monoid", [mo.ADD_FLOAT, mo.MAX, mo.MIN], ids=lambda it: it.name)
def test_recovery_once_what_is_not_finite_has_left(monoid, intruder):
    clean = stream()
    values = clean.copy()
    values[500] = intruder
    away = (LOWS > 500) | (HIGHS <= 500)
    found = fold(monoid, values, LOWS, HIGHS)
    np.testing.assert_allclose(found[away], fold(monoid, clean, LOWS, HIGHS)[away], rtol=1e-14)
    many = Aggregator(monoid, [7, SIZE])
    rows = many.insert_many(values)
    np.testing.assert_allclose(rows[away, 1], found[away], rtol=1e-14)
    assert np.isfinite(rows[507:, 0]).all()


def test_recovery_of_moments():
    values = stream()
    values[500] = math.inf
    partials = (np.ones(len(values)), values, np.zeros(len(values)))
    _, means, squares = fold(mo.MOMENTS, partials, LOWS, HIGHS)
    assert np.isfinite(means[600:]).all()
    assert np.isfinite(squares[600:]).all()
