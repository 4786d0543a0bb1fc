from dataclasses import asdict
from io import StringIO

import pytest
from rich.console import Console

from muntin.measure.calibrate import _price, calibrate, combine_s
from muntin.model.prices import Prices


def test_a_combine_takes_nanoseconds():
    assert 1e-10 < combine_s() < 1e-6


def test_a_price_that_noise_hides_is_the_shipped_one():
    assert _price(6e-9, 2e-9, 250.0) == 3.0
    assert _price(-6e-9, 2e-9, 250.0) == 250.0


@pytest.mark.slow
def test_every_price_is_measured_and_told(spark):
    found = calibrate(spark, events=20_000, repeats=1)
    # At half an event a second and device, some seconds hold two.
    assert 10_000 < found.partials < 20_000
    assert found.prices.combine == 1.0
    assert Prices.from_json(found.prices.to_json()) == found.prices
    told = StringIO()
    Console(file=told, width=80).print(found.table())
    lines = {line.split()[0] for line in told.getvalue().splitlines() if line.strip()}
    assert set(asdict(Prices())) <= lines
