"""What can go wrong between the kit and a model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from atlaskit.errors import AtlasError
from atlaskit.models.usage import Transit, Usage

if TYPE_CHECKING:
    pass


class ServerError(AtlasError):
    """A model server that cannot be installed, does not start, or died."""


class ModelError(AtlasError):
    """A model call that failed for good.

    `usage` says what it cost all the same, so that budgets count it, and `transit` what it took; `live`, whether the
    model was asked just now, or a replay fails as the run did.
    """

    live = True

    def __init__(self, message: str, usage: Usage = Usage(calls=1), transit: Transit = Transit()) -> None:
        super().__init__(message)
        self.usage, self.transit = usage, transit


class Unreachable(ModelError):
    """Nothing answers at the endpoint."""


class Refused(ModelError):
    """The endpoint does not take the request, and would not take it again."""


class BadReply(ModelError):
    """The model's reply does not fit the schema, also after one correction."""
