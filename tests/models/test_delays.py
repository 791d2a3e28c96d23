"""A client waits as long as an endpoint asks it to, in whichever words and units it does."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from types import SimpleNamespace
from typing import Any

import pytest

from atlaskit.models.refusals import delay

NOW = datetime(2026, 11, 29, 12, tzinfo=UTC)
UNTIL = NOW + timedelta(seconds=500)
EPOCH_S = UNTIL.timestamp()
ZULU = UNTIL.strftime("%Y-%m-%dT%H:%M:%SZ")
DATE = format_datetime(UNTIL, usegmt=True)


@pytest.fixture(autouse=True)
def _now(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("atlaskit.models.refusals.time", SimpleNamespace(time=NOW.timestamp))


HEADERS: list[tuple[dict[str, str], float | None]] = [
    ({"retry-after": "90s"}, 90),
    ({"retry-after": "1m30s"}, 90),
    ({"retry-after": "PT1M30S"}, 90),
    ({"retry-after": "1d"}, 86_400),
    ({"retry-after": "0"}, 0),
    ({"retry-after": UNTIL.isoformat()}, 500),
    ({"retry-after": DATE}, 500),
    ({"x-ms-retry-after-ms": "1500", "retry-after": "2"}, 1.5),
    ({"x-retry-in": "500ms"}, 0.5),
    ({"x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "1m30s"}, 90),
    ({"x-ratelimit-reset": f"{EPOCH_S * 1e6:.0f}"}, 500),
    ({"x-ratelimit-reset-after": "3.5"}, 3.5),
    ({"anthropic-ratelimit-requests-reset": ZULU, "anthropic-ratelimit-requests-remaining": "0"}, 500),
    ({"ratelimit": '"default";r=0;t=30'}, 30),
    ({"ratelimit": "limit=9, remaining=0, reset=30"}, 30),
    ({"retry-after": "soon"}, None),
    ({"retry-after": "00:01:30"}, 90),
    ({"retry-after": "90, 90"}, 90),
    ({"retry-after": "1, 2"}, None),
    ({"retry-after": '"90"'}, 90),
    ({"x-ratelimit-reset-minute": "30", "x-ratelimit-remaining-minute": "0", "x-ratelimit-reset-day": "86400",
      "x-ratelimit-remaining-day": "100", "x-ratelimit-limit-day": "1000"}, 30),
]  # fmt: skip


@pytest.mark.parametrize(("headers", "seconds"), HEADERS)
def test_headers_tell_a_delay(headers: dict[str, str], seconds: float | None) -> None:
    assert delay(headers) == (None if seconds is None else pytest.approx(seconds, abs=1e-3))


def test_the_window_that_is_used_up_counts() -> None:
    headers = {
        "x-ratelimit-limit-requests": "30",
        "x-ratelimit-remaining-requests": "0",
        "x-ratelimit-reset-requests": "1m30s",
        "x-ratelimit-limit-tokens": "6000",
        "x-ratelimit-remaining-tokens": "5000",
        "x-ratelimit-reset-tokens": "6m0s",
    }
    assert delay(headers) == 90
    assert delay({**headers, "x-ratelimit-remaining-tokens": "0"}) == 360


BODIES: list[tuple[Any, float]] = [
    ({"error": {"retryAfterMs": 1500}}, 1.5),
    ({"error": {"retry_after_ms": 1500}}, 1.5),
    ({"retryAfter": "90s"}, 90),
    ({"error": {"details": [{"retryDelay": {"seconds": 34}}]}}, 34),
    ({"error": {"metadata": {"headers": {"X-RateLimit-Reset": f"{EPOCH_S * 1e3:.0f}"}}}}, 500),
    ({"error": {"metadata": {"raw": json.dumps({"error": {"retry_after": 20}})}}}, 20),
    ({"resetTime": int(EPOCH_S)}, 500),
    ({"wait_seconds": 7}, 7),
    ({"estimated_time": 20.5}, 20.5),
    ({"max_retries": 3, "retryable": True, "is_retry": True, "cooldown_seconds": 9}, 9),
]


@pytest.mark.parametrize(("body", "seconds"), BODIES)
def test_fields_tell_a_delay(body: Any, seconds: float) -> None:
    assert delay({}, body) == pytest.approx(seconds, abs=1e-3)


WORDS: list[tuple[str, float | None]] = [
    ("retry after 20", 20),
    ("Retry in 2 minutes and 5 seconds.", 125),
    ("try again in a minute", 60),
    ("Quota resets tomorrow; try again in one hour", 3600),
    (f"Limit resets at {ZULU}", 500),
    (f"wait until {DATE}", 500),
    ("wait 250ms", 0.25),
    ('{"retryDelay": "34s"}', 34),
    ("You can make another request in 90 seconds", 90),
    ("Cooldown: 90s", 90),
    ("Retry after: 90", 90),
    ("retry_after=90", 90),
    ("Please try again in 00:01:30", 90),
    ("请在 90 秒后重试", 90),
    ("retry 3 times", None),
    ("Rate limit of 60 requests per 60 seconds exceeded", None),
    ("try again after 3 attempts", None),
]


@pytest.mark.parametrize(("words", "seconds"), WORDS)
def test_words_tell_a_delay(words: str, seconds: float | None) -> None:
    assert delay({}, None, words) == (None if seconds is None else pytest.approx(seconds, abs=1e-3))


def test_a_time_that_has_passed_is_no_delay() -> None:
    assert delay({"x-ratelimit-reset": f"{NOW.timestamp() - 60:.0f}"}) == 0
