"""Prices: what tokens cost in USD, and prices that break a rule."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atlaskit.errors import InputError
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


@pytest.mark.parametrize(
    ("prices", "message"),
    [
        ({"prompt": -1, "completion": 1}, "prompt must be a price in USD per million tokens, from 0; got -1"),
        ({"prompt": 1, "completion": None}, "completion must be a price"),
        ({"prompt": 1, "completion": float("nan")}, "completion must be a price"),
        ({"prompt": True, "completion": 1}, "prompt must be a price"),
        ({"prompt": 1, "completion": 1, "cached": 2}, "cached must be at most prompt, 1 USD; got 2"),
        ({"prompt": 1, "completion": 1, "cached": 0.1, "image": 0.5}, "image must be at least the discount"),
    ],
)
def test_a_price_that_breaks_a_rule_is_told(prices: dict[str, float], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Prices(**prices)


def test_prices_are_read_from_words_and_files(tmp_path: Path) -> None:
    prices = Prices(prompt=0.5, cached=0.05, completion=3)
    file = tmp_path / "a=b.json"
    file.write_text(json.dumps({"prompt": 0.5, "cached": 0.05, "completion": 3}))
    assert read_prices("prompt=0.5, cached=0.05,completion=3") == read_prices(str(file)) == prices


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("prompt=x,completion=1", "holds no prices"),
        ("prompt=1,2", "holds no prices"),
        ("missing.json", "holds no prices"),
        ("prompt=1", "prompt and completion must be given"),
        ("prompt=1,completion=1,images=2", "have the fields prompt, cached, completion, image"),
        ("prompt=-1,completion=1", "prompt must be a price"),
    ],
)
def test_words_that_are_no_prices_are_told(text: str, message: str, in_tmp: Path) -> None:
    with pytest.raises(InputError, match=message):
        read_prices(text)


@pytest.mark.parametrize("page", ["[1]", "{}", "{", '{"prompt": "1", "completion": 1}', "[" * 9999])
def test_a_file_that_holds_no_prices_is_told(page: str, tmp_path: Path) -> None:
    (tmp_path / "prices.json").write_text(page)
    with pytest.raises(InputError, match="[Pp]rice"):
        read_prices(str(tmp_path / "prices.json"))
