"""`Delayed`: a model that answers after a fixed time, to measure parallelism without a server."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Unpack, cast

from atlaskit.benchmarks.case import MakesModel
from atlaskit.errors import InputError
from atlaskit.models.protocol import CallControl, Model, ModelWrapper, Reply, Request
from atlaskit.models.serving.server import as_model


@dataclass
class Delayed(ModelWrapper):
    """A model whose every reply takes at least `latency_s` seconds.

    Any number of calls run in parallel, as with a server that is never saturated, so that what the
    search cannot do in parallel is its own limit. Name and parameters include the delay, so that no
    cached reply of one passes for the other's.

    Raises:
        InputError: If the latency is not a finite number of seconds, 0 or more.

    Examples:
        >>> slow = ak.scaling.delayed(vlm, 0.01)
        >>> isinstance(slow, ak.scaling.Delayed)
        True
    """

    latency_s: float

    def __post_init__(self) -> None:
        is_number = isinstance(self.latency_s, int | float) and not isinstance(self.latency_s, bool)
        if not is_number or not 0 <= self.latency_s < math.inf:
            raise InputError(f"latency_s must be a number of seconds, 0 or more; got {self.latency_s!r:.80}.")

    @property
    def name(self) -> str:
        """The model's name, with the delay."""
        return f"{self.model.name}@{self.latency_s:g}s"

    @property
    def parameters(self) -> Mapping[str, Any]:
        """The model's parameters, with the delay."""
        return {**self.model.parameters, "latency_s": self.latency_s}

    def complete(self, request: Request, **control: Unpack[CallControl]) -> Reply:
        """Return the model's reply once the latency has passed, or the call is cancelled."""
        started_s = time.monotonic()
        reply = self.model.complete(request, **control)
        (control.get("cancel") or threading.Event()).wait(max(0.0, started_s + self.latency_s - time.monotonic()))
        return replace(reply, transit=replace(reply.transit, wall_s=time.monotonic() - started_s))


def delayed(vlm: Model | str | MakesModel, latency_s: float) -> Model | MakesModel:
    """Return a model with a latency; or, for worlds, a function that makes one.

    Of a class of oracles, it makes oracles whose replies take so long.

    Raises:
        InputError: If the latency is not a finite number of seconds, 0 or more. A function raises
            it when it makes its first model.

    Examples:
        >>> slow = ak.scaling.delayed(vlm, 0.01)
        >>> ak.ask(video, question, vlm=slow, cache=ak.Cache(None)).is_right
        True
    """
    vlm = as_model(vlm) if isinstance(vlm, str) else vlm
    if not isinstance(vlm, type) and hasattr(vlm, "complete"):
        return Delayed(cast(Model, vlm), latency_s)
    return partial(_delayed_for_world, cast(MakesModel, vlm), latency_s)


def without_delay(model: Model) -> Model:
    """Return the model behind a delay; any other model as it is."""
    return model.model if isinstance(model, Delayed) else model


def _delayed_for_world(make_model: MakesModel, latency_s: float, world: Any) -> Model:
    return Delayed(make_model(world), latency_s)
