import pytest

from muntin.errors import ModelError
from muntin.model.prices import PAPERS, SHIPPED, Prices, read_prices


def test_prices_are_read_back():
    prices = Prices(event=1.5, group=3, partial=2, combine=1, answer=0, kept=0.25, copy=7)
    assert Prices.from_json(prices.to_json()) == prices
    assert Prices.from_json('{"event": 10}') == Prices(event=10)
    assert Prices.from_json("{}") == SHIPPED


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("nonsense", "prices are a JSON object, and this is none"),
        ("[1]", "prices are a JSON object with event, component, .*, not \\[1\\]"),
        ('{"evnt": 1}', "no price is called 'evnt'; did you mean 'event'"),
        ('{"model": "runtme"}', "no cost model is called 'runtme'; did you mean 'runtime'"),
        ('{"event": -1}', "the price 'event' is a number from zero up, not -1"),
        ('{"event": "much"}', "the price 'event' is a number from zero up, not 'much'"),
        ('{"event": NaN}', "the price 'event' is a number from zero up, not nan"),
    ],
)
def test_what_is_no_price_is_refused(text, said):
    with pytest.raises(ModelError, match=said):
        Prices.from_json(text)


def test_prices_are_read_by_the_name_of_a_paper_or_of_a_file(tmp_path):
    assert read_prices("weave_share") is PAPERS["weave_share"]
    assert read_prices(SHIPPED) is SHIPPED
    file = tmp_path / "prices.json"
    file.write_text(PAPERS["triweave"].to_json())
    assert read_prices(file) == read_prices(str(file)) == PAPERS["triweave"]
    with pytest.raises(ModelError, match="did you mean 'weave_share'"):
        read_prices("weave share")
