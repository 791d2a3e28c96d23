"""A client waits as long as an endpoint asks it to, keeps to its rate, and says so once."""

import threading
import time
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from types import SimpleNamespace
from typing import Any

import pytest
from support.faults import failing
from support.loopback import Loop
from support.stand_ins import request

from atlaskit.errors import ModelWarning
from atlaskit.models.attempts import MOST_WAITED_S
from atlaskit.models.client import VLM
from atlaskit.models.protocol import ModelError
from atlaskit.models.refusals import delay

NOW = datetime(2026, 11, 29, 12, tzinfo=UTC)
UNTIL = NOW + timedelta(seconds=500)
EPOCH_S = UNTIL.timestamp()
ZULU = UNTIL.strftime("%Y-%m-%dT%H:%M:%SZ")
WINDOW = {
    "x-ratelimit-limit-requests": "30",
    "x-ratelimit-remaining-requests": "0",
    "x-ratelimit-reset-requests": "1m30s",
    "x-ratelimit-limit-tokens": "6000",
    "x-ratelimit-remaining-tokens": "5000",
    "x-ratelimit-reset-tokens": "6m0s",
}
"""The limit of requests is used up, that of tokens is not."""
GATEWAY = {"headers": {"X-RateLimit-Reset": f"{EPOCH_S * 1e3:.0f}"}}
DELAYS: list[tuple[dict[str, str], Any, str, float | None]] = [
    ({"retry-after": "1m30s"}, None, "", 90),
    ({"retry-after": '"90, 90"'}, None, "", 90),
    ({"retry-after": format_datetime(UNTIL, usegmt=True)}, None, "", 500),
    ({"x-ratelimit-reset": f"{EPOCH_S * 1e6:.0f}"}, None, "", 500),
    (WINDOW, None, "", 90),
    ({**WINDOW, "x-ratelimit-remaining-tokens": "0"}, None, "", 360),
    ({}, {"error": {"retryAfterMs": 1500}}, "", 1.5),
    ({}, {"error": {"details": [{"retryDelay": {"seconds": 34}}]}}, "", 34),
    ({}, {"error": {"metadata": GATEWAY}}, "", 500),
    ({}, None, "Retry in 2 minutes and 5 seconds.", 125),
    ({}, None, f"Limit resets at {ZULU}", 500),
    ({}, None, "Rate limit of 60 requests per 60 seconds exceeded", None),
]
"""Headers, body and words of a refusal, and the seconds that it asks for."""


@pytest.mark.parametrize(("headers", "body", "words", "seconds"), DELAYS)
def test_headers_fields_and_words_tell_a_delay(
    headers: dict[str, str], body: Any, words: str, seconds: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("atlaskit.models.refusals.time", SimpleNamespace(time=NOW.timestamp))
    assert delay(headers, body, words) == (None if seconds is None else pytest.approx(seconds, abs=1e-3))


@pytest.fixture
def slept(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The pauses between attempts of this thread, which are noted and not made.

    A thread that another test left behind may pause too.
    """
    pauses = list[float]()
    own = threading.get_ident()

    def sleep(pause_s: float) -> None:
        if threading.get_ident() == own:
            pauses.append(pause_s)

    monkeypatch.setattr("atlaskit.models.attempts.time", SimpleNamespace(monotonic=time.monotonic, sleep=sleep))
    return pauses


@pytest.mark.parametrize(
    "retry_after", ["-1", "nan", "soon", "", "Wed, 99 Oct 2065 07:28:00 GMT", f"Wed, 1 Oct {9**99} 0:0:0 GMT"]
)
def test_a_rate_limit_is_waited_for_and_costs_no_call(loop: Loop, slept: list[float], retry_after: str) -> None:
    loop.faults = [failing(429, Retry_After=retry_after)] * 6
    pauses_s = [10 * 0.01 * 3**refusals for refusals in range(6)]  # FIRST_PAUSE_S of the fixture, 0.5 otherwise
    with pytest.warns(ModelWarning, match="it is waited for, which changes no result") as warned:
        assert VLM(loop.url, "loop").complete(request(), max_attempts=1).usage.calls == 1
    assert slept == pytest.approx([min(pause_s, 60.0) for pause_s in pauses_s])
    assert sum("it is waited for" in str(each.message) for each in warned) == 1, "told once"


@pytest.mark.filterwarnings("ignore::atlaskit.errors.ModelWarning")
@pytest.mark.parametrize(
    ("wait_s", "words", "waited_s"), [(3600, "asks to wait for 3600 s", 0), (90, "HTTP 429", MOST_WAITED_S)]
)
def test_a_rate_limit_that_outlasts_the_patience_ends_the_run(
    loop: Loop, slept: list[float], wait_s: int, words: str, waited_s: float
) -> None:
    loop.faults = [failing(429, Retry_After=str(wait_s))] * 50
    with pytest.raises(ModelError, match=words) as caught:
        VLM(loop.url, "loop").complete(request())
    assert (caught.value.usage.calls, caught.value.is_final) == (0, True)
    assert sum(slept) == waited_s


def test_requests_a_minute_are_spread(loop: Loop, slept: list[float]) -> None:
    vlm = VLM(loop.url, "loop", rpm=30)
    for _ in range(3):
        vlm.complete(request())
    assert slept == pytest.approx([2.0, 4.0], abs=0.5)
