"""What the error of an endpoint says: its own words, a delay, and whether waiting can help.

Services tell errors in many shapes: an `error` object or text, a `message`, a `detail` (FastAPI's
is a list), a list with one error (Gemini), a redirect. Nothing here makes a request.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, Literal

from atlaskit.errors import printable

LONGEST_WORDS = 300
"""Characters of an endpoint's words that a message quotes."""
LONGEST_PAGE = 1 << 20
"""Bytes of an error's page that are parsed."""
LONGEST_SEARCH = 4_000
"""Characters of an error's words, and of its page, that are searched for what they mean."""
PASSING = frozenset({408, 409, 425, 429})
"""Statuses that may pass, beside the server's own errors (5xx)."""
NESTED = ("error", "message", "detail", "msg", "errors", "error_message", "error_description")
"""Fields that hold an error's words, in order of precedence."""

Kind = Literal[
    "", "busy", "used up", "key", "model", "place", "one image", "few images", "no images", "too long", "flagged"
]
"""What an error is about: "" for anything else.

* "busy": it limits the rate or loads the model, and answers after a while.
* "used up": a quota or a credit; waiting does not help.
* "key", "model", "place": the key, the model's name or the address is wrong.
* "one image", "few images", "no images": it takes fewer images a request than it was sent.
* "too long": the prompt does not fit its context. "flagged": it objects to the content.
"""
PATTERNS: tuple[tuple[Kind, frozenset[int], str], ...] = (
    ("flagged", frozenset({400, 403, 422}), r"flagged|moderation|safety (system|polic)|content.?(policy|filter)"),
    (
        "used up",
        frozenset({400, 402, 403, 429}),
        r"insufficient.?(quota|balance|credit|funds)|credit balance|out of credit|billing.?(hard)?.?limit"
        r"|payment required|requires? more credits|budget has been exceeded|\bper.?day\b|PerDay|daily (limit|quota)",
    ),
    ("key", frozenset({400, 401, 403}), r"api.?key|authenti|authoriz|authoris|credential|\bbearer\b|access token"),
    (
        "one image",
        frozenset({0, 400, 413, 422, 500}),
        r"(at most|only|exactly|single|up to|limit( of| to)?:?) (1|one|a single)\b.{0,40}image"
        r"|one image (per|at a time)"
        r"|(multiple|more than (1|one)) images|images?.{0,60}(limit|maximum|at most|exceeds?)( of| is)?:? (1|one)\b"
        r"|images?.{0,40}> ?1\b",
    ),
    (
        "few images",
        frozenset({0, 400, 413, 422, 500}),
        r"(at most|up to|limit( of| to)?:?) \d+.{0,40}image|too many (images|.{0,20} images)"
        r"|images?.{0,60}(limit|maximum|at most|exceeds?)( of| is)?:? \d+|images?.{0,40}> ?\d+\b",
    ),
    (
        "no images",
        frozenset({0, 400, 404, 415, 422, 500, 501}),
        r"images?( input| inputs)?( are| is)? (not supported|unsupported)"
        r"|not (support|accept) (image|multimodal|vision)|no (vision|multimodal)|mmproj|not a (multimodal|vision)",
    ),
    (
        "model",
        frozenset({0, 400, 404, 422, 500}),
        r"(\bmodel\b|`[^`]+`).{0,100}?(not found|does(n't| not) exist|not exist|no such|not available|not a valid"
        r"|not loaded)|(unknown|invalid|no such|not a valid|unsupported) model|no endpoints found|pull(ing)? it first"
        r"|no models? loaded",
    ),
    (
        "too long",
        frozenset({0, 400, 413, 422, 500}),
        r"context (length|window|size)|too (long|many tokens)|max_model_len",
    ),
    ("place", frozenset({0, 404, 405}), r"unexpected endpoint|(unknown|invalid|no such) (url|path|route|endpoint)"),
)
"""What errors are about, the statuses they come with, and their words; the first match counts."""
OFTEN_USED_UP = re.compile(r"exceeded your current quota|quota.{0,200}exceeded", re.IGNORECASE)
"""Said of a quota that is used up, and by Gemini also of a rate: then with a delay."""
BUSY = re.compile(
    r"\bload(ing|ed\b.{0,100}not)|not (yet )?(loaded|ready)|warming|overload|rate.?limit|too many requests|try again"
    r"|capacity|\bbusy\b|resource.?exhausted|starting up|cold start",
    re.IGNORECASE,
)
BY_STATUS: Mapping[int, Kind] = {401: "key", 402: "used up", 403: "key", 404: "place", 405: "place"}
"""What an error is about by its status alone."""
DELAY = re.compile(
    r"(?:try again|retry|wait|available|reset\w{0,20}|retrydelay)\W{1,4}(?:\w{1,20}\W{1,4}){0,3}?"
    r"((?:\d{1,12}(?:\.\d{1,12})?\s{0,4}(?:milliseconds?|ms|hours?|hrs?|h|minutes?|mins?|m|seconds?|secs?|s)\s{0,4})"
    r"{1,4})",
    re.IGNORECASE,
)
UNITS_S = {"h": 3600.0, "m": 60.0, "s": 1.0}
"""Seconds in a unit, by its first letter."""


@dataclass(frozen=True)
class Explanation:
    """What an error says."""

    words: str = ""
    """The endpoint's own words, on one printable line; "" for none."""
    wait_s: float | None = None
    """Seconds the endpoint asks to wait; None if it does not say."""
    kind: Kind = ""

    @property
    def is_busy(self) -> bool:
        """Whether it limits the rate, or loads the model: it answers after a while."""
        return self.kind == "busy"


def explain(status: int, headers: Mapping[str, str], page: bytes) -> Explanation:
    """Return what an error says.

    Args:
        status: The HTTP status, or the code in an error that came with status 200.
        headers: The answer's headers, with lower-case names.
        page: The answer's body.
    """
    text = page[:LONGEST_PAGE].decode(errors="replace")
    body: Any = None
    try:
        body = json.loads(text)
    except (ValueError, RecursionError):
        text = _title(text)
    words = (words_of(body) or ("" if isinstance(body, dict | list) else text))[:LONGEST_SEARCH]
    everything = f"{words} {text[:LONGEST_SEARCH]}"
    wait_s = _header_wait_s(headers)
    if wait_s is None:
        wait_s = _body_wait_s(everything, body)
    return Explanation(one_line(words), wait_s, _kind(status, words, everything, wait_s))


def _kind(status: int, words: str, everything: str, wait_s: float | None) -> Kind:
    """Return what an error is about, by its words and status. `everything` is all of its body."""
    if status == 429 and wait_s is None and OFTEN_USED_UP.search(everything):
        return "used up"
    for kind, statuses, pattern in PATTERNS:
        text = everything if kind == "used up" else words
        if status in statuses and re.search(pattern, text, re.IGNORECASE):
            return kind
    if status in (429, 529) or (status >= 500 and BUSY.search(everything)):
        return "busy"
    return BY_STATUS.get(status, "")


def one_line(words: str) -> str:
    """Return an endpoint's words on one printable line of at most `LONGEST_WORDS` characters."""
    return printable(" ".join(words.split()), LONGEST_WORDS).rstrip(". ")


def words_of(body: Any, depth: int = 0) -> str:
    """Return the words of an error in a parsed body; "" if it has none.

    OpenRouter and LiteLLM put the provider's own error beside their general one: both are returned.
    """
    match body:
        case str():
            return _unwrapped(body, depth)
        case list():
            return "; ".join(filter(None, (words_of(each, depth + 1) for each in body[:3]))) if depth < 6 else ""
        case dict() if depth < 6:
            words = next(filter(None, (words_of(body.get(name), depth + 1) for name in NESTED)), "")
            place = body.get("loc") or body.get("param")
            if words and isinstance(place, list | str) and str(place) and depth:
                where = ".".join(map(str, place)) if isinstance(place, list) else place
                words = words if where in words else f"{where}: {words}"
            metadata = body.get("metadata")
            raw = metadata.get("raw") if isinstance(metadata, dict) else None
            more = words_of(raw, depth + 1) if isinstance(raw, str | dict) else ""
            return f"{words} ({more})" if words and more and more not in words else words or more
        case _:
            return ""


def _unwrapped(text: str, depth: int) -> str:
    """Return the words in a text that may itself be the JSON of an error."""
    if depth < 6 and text.lstrip().startswith(("{", "[")):
        try:
            return words_of(json.loads(text), depth + 1) or text
        except (ValueError, RecursionError):
            return text
    return text


def _title(text: str) -> str:
    """Return the title of an HTML page, and any other text as it is."""
    if not re.match(r"\s*<(!doctype|html|\?xml)", text, re.IGNORECASE):
        return text
    found = re.search(r"<title[^<>]{0,200}>([^<]{0,300})", text, re.IGNORECASE)
    return found[1] if found else ""


def error_in(body: Any) -> tuple[int, bytes] | None:
    """Return the code and the JSON of an error in the body of an answer with status 200, or None.

    The code is 0 where the body has none.
    """
    holder = body[0] if isinstance(body, list) and body else body
    if not isinstance(holder, dict) or holder.get("choices"):
        return None
    error = holder.get("error") or (holder.get("object") == "error" and holder) or _failed_choice(holder)
    if not error:
        return None
    codes = [each.get(name) for each in (error, holder) if isinstance(each, dict) for name in ("code", "status")]
    code = next((int(str(each)) for each in codes if str(each).isdecimal() and 400 <= int(str(each)) < 600), 0)
    return code, json.dumps(body).encode()


def _failed_choice(holder: Mapping[str, Any]) -> Any:
    """Return the detail of an answer without choices that tells an error outside `error`."""
    return {name: holder[name] for name in NESTED[1:] if holder.get(name)} or None


def _header_wait_s(headers: Mapping[str, str]) -> float | None:
    """Return the delay that headers ask for: in milliseconds, in seconds, or as a date."""
    for name, scale in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        value = headers.get(name, "").strip()
        try:
            seconds = float(value) * scale
        except ValueError:
            continue
        return seconds if 0 <= seconds < math.inf else None
    try:
        until = parsedate_to_datetime(headers.get("retry-after", ""))
    except (ValueError, IndexError, TypeError):
        return None
    until = until if until.tzinfo else until.replace(tzinfo=UTC)
    return max(0.0, (until - datetime.now(UTC)).total_seconds())


def _body_wait_s(text: str, body: Any) -> float | None:
    """Return the delay that an error's body tells, in a field or in words."""
    for name, value in _leaves(body):
        if name in ("retry_after", "retryAfter", "retry_after_seconds", "estimated_time") and _is_delay(value):
            return float(value)
    found = DELAY.search(text)
    if found is None:
        return None
    parts = re.findall(r"(\d+(?:\.\d+)?)\s*([a-z]+)", found[1].lower())
    return sum(float(number) * _unit_s(unit) for number, unit in parts)


def _unit_s(unit: str) -> float:
    if unit == "ms" or unit.startswith("milli"):
        return 0.001
    return UNITS_S[unit[0]]


def _is_delay(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < math.inf


def _leaves(body: Any, depth: int = 0) -> Iterator[tuple[str, Any]]:
    """Yield the names and values of all fields of a parsed body."""
    if depth > 8:
        return
    if isinstance(body, dict):
        for name, value in body.items():
            yield str(name), value
            yield from _leaves(value, depth + 1)
    elif isinstance(body, list):
        for value in body[:20]:
            yield from _leaves(value, depth + 1)
