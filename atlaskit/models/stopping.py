"""`StoppableModel`: a model whose calls whoever asked can end."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import Unpack

from atlaskit.models.protocol import CallControl, ModelWrapper, Reply, Request


class Stopped(Exception):
    """Whoever asked no longer waits for the answer: no further call is paid."""


@dataclass
class StoppableModel(ModelWrapper):
    """A model whose calls in flight end soon after `stop`, by the flag that a run gives them."""

    flags: set[threading.Event] = field(default_factory=set)
    is_stopped: bool = False

    def complete(self, request: Request, **control: Unpack[CallControl]) -> Reply:
        """Answer a request.

        Raises:
            Stopped: `stop` was called.
        """
        if (flag := control.get("cancel")) is not None:
            self.flags.add(flag)
        if self.is_stopped:  # after the flag is known, so that `stop` cannot miss it
            raise Stopped
        return self.model.complete(request, **control)

    def stop(self) -> None:
        """Cancel the calls in flight, and begin no more."""
        self.is_stopped = True
        for flag in [*self.flags]:
            flag.set()
