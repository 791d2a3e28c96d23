"""Costs in USD are exact for known prices; a price that breaks a rule is refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atlaskit.models.prices import Prices, read_prices
from atlaskit.models.protocol import Usage


def test_each_kind_of_token_has_its_price() -> None:
    usage = Usage(
        calls=3, prompt_tokens=1_000_000, cached_tokens=400_000, image_tokens=200_000, completion_tokens=10_000
    )
    assert Prices(prompt=2, completion=10).usd(usage) == pytest.approx(2.1)
    assert Prices(prompt=2, cached=0.5, completion=10).usd(usage) == pytest.approx(2.1 - 0.4 * 1.5)
    assert Prices(prompt=2, cached=2, completion=10, image=4).usd(usage) == pytest.approx(2.1 + 0.2 * 2)
    assert Prices(prompt=0, completion=0).usd(usage) == 0


counts = st.integers(0, 10**6)


@given(counts, st.data(), counts, st.floats(0, 100), st.floats(0, 1), st.floats(0, 100))
def test_a_cost_is_never_negative_and_adds_up(
    prompt: int, data: st.DataObject, completion: int, price: float, share: float, more: float
) -> None:
    cached, image = data.draw(st.integers(0, prompt)), data.draw(st.integers(0, prompt))
    usage = Usage(prompt_tokens=prompt, cached_tokens=cached, image_tokens=image, completion_tokens=completion)
    discounted = price * share
    prices = Prices(prompt=price, cached=discounted, completion=more, image=price - discounted + more)
    assert prices.usd(usage) >= 0
    assert prices.usd(usage + usage) == pytest.approx(2 * prices.usd(usage))


def test_prices_are_read_from_words() -> None:
    assert read_prices("prompt=0.5, cached=0.05,completion=3") == Prices(prompt=0.5, cached=0.05, completion=3)
