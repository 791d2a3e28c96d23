"""`Prices`: a provider's prices of tokens in USD. The user gives them; the kit knows none."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields

from atlaskit.errors import InputError, printable
from atlaskit.models.protocol import Usage

A_MILLION = 1_000_000


@dataclass(frozen=True, kw_only=True)
class Prices:
    """Prices of a model in USD per million tokens, as its provider lists them.

    Servers do not report which of the cached tokens encode images. So the price of every cached
    token is reduced by the same discount: the difference between `prompt` and `cached`.

    Raises:
        InputError: If a price is negative or no finite number, `cached` is above `prompt`, or
            `image` is below the discount of a cached token.

    Examples:
        >>> prices = ak.Prices(prompt=0.5, cached=0.05, completion=3)
        >>> ak.Budget(usd=0.10, prices=prices).usd
        0.1
    """

    prompt: float
    """Price of a prompt token."""
    cached: float | None = None
    """Price of a prompt token in the provider's prefix cache; None: the same as `prompt`."""
    completion: float
    """Price of a token that the model generates, its thought included."""
    image: float | None = None
    """Price of a prompt token that encodes an image; None: the same as `prompt`."""

    def __post_init__(self) -> None:
        for name, price in vars(self).items():
            if price is None and name in ("cached", "image"):
                continue
            if type(price) not in (int, float) or not 0 <= price < math.inf:
                raise InputError(
                    f"{name} must be a price in USD per million tokens, from 0; got {price!r:.80}."
                )
        if self.discount < 0:
            raise InputError(
                f"cached must be at most prompt, {self.prompt} USD; got {self.cached}."
            )
        if self.image is not None and self.image < self.discount:
            raise InputError(
                "image must be at least the discount of a cached token, prompt − cached = "
                f"{self.discount:g} USD, because image tokens may be cached too; got {self.image}."
            )

    @property
    def discount(self) -> float:
        """How much cheaper a cached prompt token is than another, in USD per million tokens."""
        if self.cached is None:
            return 0.0
        return self.prompt - self.cached

    def usd(self, usage: Usage) -> float:
        """Return the cost of calls in USD, which is an estimate if their usage is estimated."""
        image = self.prompt if self.image is None else self.image
        total = (
            self.prompt * (usage.prompt_tokens - usage.image_tokens)
            + image * usage.image_tokens
            - self.discount * usage.cached_tokens
            + self.completion * usage.completion_tokens
        )
        return max(0.0, total) / A_MILLION

    def recorded(self) -> dict[str, float]:
        """Return the prices that were given, as plain JSON values."""
        return {name: price for name, price in vars(self).items() if price is not None}


def read_prices(text: str) -> Prices:
    """Read prices from a command line: `prompt=0.5,completion=3`.

    Raises:
        InputError: If the text is not a list of prices, a field is unknown or missing, or a price
            breaks a rule of `Prices`.
    """
    try:
        parts = dict(part.split("=", 1) for part in text.split(","))
        prices = {name.strip(): float(price) for name, price in parts.items()}
    except ValueError as error:
        raise InputError(
            f"{printable(text, 80)!r} holds no prices: write prompt=0.5,cached=0.05,completion=3 "
            "(USD per million tokens)."
        ) from error
    names = [field.name for field in fields(Prices)]
    if not {"prompt", "completion"} <= prices.keys() <= set(names):
        raise InputError(
            f"Prices have the fields {', '.join(names)}, of which prompt and completion must be "
            "given."
        )
    return Prices(**prices)
