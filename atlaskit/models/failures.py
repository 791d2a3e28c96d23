"""What the error of an endpoint says: its own words, a delay, what it is about, and what helps.

Services tell errors in many shapes: an `error` object or text, a `message`, a `detail` (FastAPI's
is a list), a list with one error (Gemini), a web page. `RULES` has what they mean, one row each.
Nothing here makes a request, and every text is cut before it is searched.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, NamedTuple

from atlaskit import limits
from atlaskit.errors import printable

LONGEST_WORDS = 300
"""Characters of an endpoint's words that a message quotes."""
PASSING = frozenset({408, 409, 425, 429})
"""Statuses that may pass, beside the server's own errors (5xx)."""
NESTED = ("error", "message", "detail", "msg", "errors", "error_message", "error_description")
"""Fields that hold an error's words, in order of precedence."""
REFUSING = frozenset({0, 400, 404, 413, 415, 422, 500, 501})
"""Statuses with which endpoints refuse what a request holds; 0 for an error in a success."""


class Rule(NamedTuple):
    """What errors of one kind look like, and what helps."""

    kind: str
    statuses: frozenset[int]
    """Statuses that they come with; none: any error."""
    pattern: str
    """What their words contain; the first rule that matches counts."""
    cure: str = ""
    """What to do, to end a sentence with. {context} and {images} stand for the dialect's own."""
    is_final: bool = False
    """Whether the same endpoint gives the error to every call of a search."""


SMALLER = "use a smaller k or cell, or raise its limit on the size of a request"
USED_UP, WAIT = "its quota or credit is used up, so waiting does not help", "it is busy: try again later"
OFTEN = r"exceeded.{1,6}current.quota|quota.{0,200}exceeded|usage limit"
OFTEN_USED_UP = Rule("used up", frozenset({400, 403, 429}), OFTEN, USED_UP, True)
"""Said of a quota that is used up, and by Gemini also of a rate: then with a delay."""
RULES = (
    Rule("flagged", frozenset({400, 403, 422}), r"flagged|moderation|safety (system|polic)|content.?(policy|filter)"),
    Rule("used up", frozenset({400, 402, 403, 412, 429}),
        r"insufficient.?(quota|balance|credit|funds)|credit balance|out of credit|billing.?(hard.?)?limit"
        r"|payment required|requires? more credits|(budget|credits?) (has|have) been exceeded"
        r"|all (available|your) credits|\b[RT]PD\b"
        r"|(per.?|/ ?|for (the |this |to)?)(day|week|month|24.?h(ours)?)(?![a-z])"
        r"|(daily|weekly|monthly|spend(ing)?) (\w+ )?(limit|quota|cap)|PerDay|ByDay"
        r"|(account|billing).{0,8}not.active|arrearage|unpaid|余额不足|欠费",
        USED_UP, True),
    Rule("too large", frozenset({413, 429}), r"request too large|reduce your (message|prompt|input|request)", SMALLER),
    Rule("busy", frozenset(), r"throttl|\bper.?(minute|second)\b|per_(minute|second)|PerMinute|\b[RT]PM\b"
        r"|quota.?increase", WAIT),
    OFTEN_USED_UP,
    Rule("key", frozenset({400, 401, 403}), r"api.?key|authenti|authoriz|authoris|credential|\bbearer\b|access token",
         "", True),
    Rule("image size", REFUSING, r"encoder cache size|image (item )?with length|image.{0,60}too (large|big)",
        "use a smaller cell, so that each image is smaller"),
    Rule("one image", REFUSING,
        r"(at most|only|exactly|single|up to|limit( of| to)?:?) (1|one|a single)\b.{0,40}image"
        r"|one image (per|at a time)"
        r"|(multiple|more than (1|one)) images|images?.{0,60}(limit|maximum|at most|exceeds?)( of| is)?:? (1|one)\b"
        r"|images?.{0,40}> ?1\b",
        "{images}", True),
    Rule("few images", REFUSING,
        r"(at most|up to|limit( of| to)?:?) \d+.{0,40}image|too many (images|.{0,20} images)"
        r"|images?.{0,60}(limit|maximum|at most|exceeds?)( of| is)?:? \d+|images?.{0,40}> ?\d+\b",
        "{images}"),
    Rule("no images", REFUSING,
        r"images?( input| inputs)?( are| is)? (not supported|unsupported)"
        r"|not (support|accept) (image|multimodal|vision)|no (vision|multimodal)|mmproj|not a (multimodal|vision)",
        "it takes no images: serve a vision-language model (llama.cpp: with --mmproj)", True),
    Rule("thinking", REFUSING, r"enable_thinking must be set to false",
        "--extra-body '{{\"enable_thinking\":false}}' (extra_body=…) says so", True),
    Rule("stream", REFUSING, r"only supports? stream|stream mode|stream.{0,20}must be (set to )?true",
         "it answers in streams alone: --dialect hosted,stream=true"),
    Rule("secure", REFUSING, r"https? request (was sent )?to (an? )?https (server|port)",
         "it speaks TLS: pass its address with https://", True),
    Rule("model", REFUSING,
        r"(\bmodel\b|`[^`]+`).{0,100}?(not found|does(n't| not) exist|not exist|no such|not available|not a valid"
        r"|not loaded)|(unknown|invalid|no such|not a valid|unsupported) model|no endpoints found|pull(ing)? it first"
        r"|no models? loaded",
        "", True),
    Rule("too long", REFUSING, r"context (length|window|size)|too (long|many tokens)|max_model_len",
        "use a smaller k or cell, or {context}"),
    Rule("place", frozenset({0, 404, 405}), r"unexpected endpoint|(unknown|invalid|no such) (url|path|route|endpoint)",
         "", True),
    Rule("too large", frozenset({413}), "", SMALLER),
    Rule("gateway", frozenset({504, 524}), "",
         "raise the gateway's time-out, which is shorter than the model's answer"),
)  # fmt: skip
PATTERNS = {rule: re.compile(rule.pattern, re.IGNORECASE) for rule in RULES}
CURES = {rule.kind: rule.cure for rule in RULES} | {"redirect": "pass the address that it redirects to"}
FINAL = frozenset({"redirect", *(rule.kind for rule in RULES if rule.is_final)})
BUSY = re.compile(
    r"\bload(ing|ed\b.{0,100}not)|not (yet )?(loaded|ready)|warming|overload|rate.?limit|too many requests|try again"
    r"|capacity|\bbusy\b|resource.?exhausted|starting up|cold start|queue.{0,9}full",
    re.IGNORECASE,
)
BY_STATUS = {401: "key", 402: "used up", 403: "key", 404: "place", 405: "place"}
"""What an error is about by its status alone."""
DELAY = re.compile(
    r"(?:try again|retry|wait|available|reset\w{0,20}|retrydelay)\W{1,4}(?:\w{1,20}\W{1,4}){0,3}?"
    r"((?:\d{1,12}(?:\.\d{1,12})?\s{0,4}(?:milliseconds?|ms|hours?|hrs?|h|minutes?|mins?|m|seconds?|secs?|s)\s{0,4})"
    r"{1,4})",
    re.IGNORECASE,
)
PART = re.compile(r"(\d{1,12}(?:\.\d{1,12})?)\s{0,4}([a-z]{1,12})")
"""A number with its unit, in a delay."""
TITLE = re.compile(r"<title[^<>]{0,200}>([^<]{0,300})", re.IGNORECASE)
UNITS_S = {"h": 3600.0, "m": 60.0, "s": 1.0}
"""Seconds in a unit, by its first letter."""


@dataclass(frozen=True)
class Explanation:
    """What an error says."""

    words: str = ""
    """The endpoint's own words, on one printable line; "" for none."""
    wait_s: float | None = None
    """Seconds the endpoint asks to wait; None if it does not say."""
    kind: str = ""
    """The kind of its rule, "busy" for one that is answered after a while; "" for anything else."""


def explain(status: int, headers: Mapping[str, str], page: bytes) -> Explanation:
    """Return what an error says.

    Args:
        status: The HTTP status, or the code in an error that came with status 200.
        headers: The answer's headers, with lower-case names.
        page: The answer's body.
    """
    text = page[: limits.ERROR].decode(errors="replace")
    body: Any = None
    try:
        body = json.loads(text)
    except (ValueError, RecursionError):
        text = _title(text)
    words = limits.cut(words_of(body) or ("" if isinstance(body, dict | list) else text), limits.WORDS)
    everything = f"{words} {limits.cut(text, limits.WORDS)}"
    wait_s = _header_wait_s(headers)
    if wait_s is None:
        wait_s = _body_wait_s(everything, body)
    return Explanation(one_line(words), wait_s, _kind(status, words, everything, wait_s))


def _kind(status: int, words: str, everything: str, wait_s: float | None) -> str:
    """Return what an error is about, by its words and status. `everything` is all of its body."""
    for rule in RULES:
        if rule is OFTEN_USED_UP and wait_s is not None:
            continue
        text = everything if rule.kind in ("used up", "busy") else words
        if (not rule.statuses or status in rule.statuses) and PATTERNS[rule].search(text):
            return rule.kind
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
    if depth >= 6:
        return body if isinstance(body, str) else ""
    match body:
        case str() if body.lstrip()[:1] in ("{", "["):  # the text may itself be the JSON of an error
            try:
                return words_of(json.loads(body), depth + 1) or body
            except (ValueError, RecursionError):
                return body
        case str():
            return body
        case list():
            return "; ".join(filter(None, (words_of(each, depth + 1) for each in body[:3])))
        case dict():
            words = next(filter(None, (words_of(body.get(name), depth + 1) for name in NESTED)), "")
            place = body.get("loc") or body.get("param")
            if words and isinstance(place, list | str) and str(place) and depth:
                where = ".".join(map(str, place)) if isinstance(place, list) else place
                words = words if where in words else f"{where}: {words}"
            metadata = body.get("metadata")
            raw = metadata.get("raw") if isinstance(metadata, dict) else None
            more = words_of(raw, depth + 1) if isinstance(raw, str | dict) else ""
            return f"{words} ({more})" if words and more and more not in words else words or more
    return ""


def _title(text: str) -> str:
    """Return the title of an HTML page, and any other text as it is."""
    if not text.lstrip()[:9].lower().startswith(("<!doctype", "<html", "<?xml")):
        return text
    found = TITLE.search(text)
    return found[1] if found else ""


def _header_wait_s(headers: Mapping[str, str]) -> float | None:
    """Return the delay that headers ask for: in milliseconds, in seconds, or as a date."""
    for name, scale in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        try:
            seconds = float(headers.get(name, "")[: limits.HEADER].strip()) * scale
        except ValueError:
            continue
        return seconds if 0 <= seconds < math.inf else None
    try:
        until = parsedate_to_datetime(headers.get("retry-after", "")[: limits.HEADER])
    except (ValueError, IndexError, TypeError):
        return None
    until = until if until.tzinfo else until.replace(tzinfo=UTC)
    return max(0.0, (until - datetime.now(UTC)).total_seconds())


def _body_wait_s(text: str, body: Any) -> float | None:
    """Return the delay that an error's body tells, in a field or in words."""
    for name, value in _leaves(body):
        is_delay = type(value) in (int, float) and 0 <= value < math.inf
        if is_delay and name in ("retry_after", "retryAfter", "retry_after_seconds", "estimated_time"):
            return float(value)
    found = DELAY.search(text)
    if found is None:
        return None
    return sum(float(number) * _unit_s(unit) for number, unit in PART.findall(found[1].lower()))


def _unit_s(unit: str) -> float:
    return 0.001 if unit == "ms" or unit.startswith("mil") else UNITS_S[unit[0]]


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
