"""Errors of model calls and model servers."""

from __future__ import annotations

from atlaskit.errors import AtlasError
from atlaskit.models.protocol import Transit, Usage


class ServerError(AtlasError):
    """A model server could not be installed, did not start, or died."""


class ModelError(AtlasError):
    """A model call failed, after all its attempts.

    Attributes:
        usage: What the failed call cost. Budgets count it.
        transit: How long the call took and what it sent.
        live: Whether the call was made now. False in a replay, which repeats a recorded failure.
        status: HTTP status of the endpoint's answer; 0 without one.
        is_final: Whether every other call of this run must fail too: the key is wrong, there is no
            such model or path, a quota is used up, or a request may not have so many images.
    """

    live = True

    def __init__(
        self,
        message: str,
        usage: Usage = Usage(calls=1),
        transit: Transit = Transit(),
        *,
        status: int = 0,
        is_final: bool = False,
    ) -> None:
        super().__init__(message)
        self.usage, self.transit = usage, transit
        self.status, self.is_final = status, is_final


class Unreachable(ModelError):
    """No server answers at the endpoint's address."""


class Refused(ModelError):
    """The endpoint rejected the request, and would reject it again."""


class BadReply(ModelError):
    """The model's reply did not fit the schema, even after one correction."""
