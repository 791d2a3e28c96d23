"""`post_when_admitted`: one attempt of a call, sent once the limiter of its address admits it."""

from __future__ import annotations

import time
from collections.abc import Mapping

from atlaskit.models.attempts import CallState
from atlaskit.models.http import Endpoint, HttpFailure
from atlaskit.models.limiter import Limiter


def post_when_admitted(
    endpoint: Endpoint,
    limiter: Limiter,
    path: str,
    body: bytes,
    headers: Mapping[str, str],
    timeout_s: float,
    state: CallState,
) -> bytes:
    """Send a body once the limiter admits it, and return the body of the answer.

    Args:
        endpoint: Where to send it.
        limiter: Of the endpoint's address.
        path: Path below the address.
        body: What to send.
        headers: Headers beside the endpoint's own.
        timeout_s: Most seconds the exchange may take; less is left if the call's deadline is near.
        state: The call's state. Queueing time and sent bytes are added to it.

    Raises:
        HttpFailure: If the exchange failed, or could not begin before the deadline.
    """
    began_s = time.monotonic()
    try:
        with limiter.slot(state.left_s, state.cancel):
            state.queue_s += time.monotonic() - began_s
            timeout_s = min(timeout_s, state.left_s)
            if timeout_s > 0:
                state.sent_bytes += len(body)
                return endpoint.post(path, body, headers, timeout_s, state.cancel)
    except TimeoutError:
        state.queue_s += time.monotonic() - began_s
    raise HttpFailure("could not be called before the deadline", is_passing=False, is_call=False)
