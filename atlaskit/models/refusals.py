"""Errors of endpoints: their words, their kind, the remedy, and the delay that they ask for.

Contents:
    `explain`, `cure`: what an error says, and what to do about it. The table `RULES` finds the kind
        of an error. Code, type and words are read together, as plain words: "rate_limit_exceeded",
        "RateLimitExceeded" and "Rate limit exceeded" are the same. The status decides where they
        say nothing, or are ambiguous.
    `delay`: how long an endpoint asks to wait: in seconds or milliseconds, as "1m30s" or "PT90S",
        as a date of HTTP or ISO 8601, or as seconds since 1970. The delay may be in a header, in a
        field of the body, in headers that a gateway repeats in the body, or in the words.

This module makes no request, and cuts every text before it is searched.

What services send was read in their documentation and in reports of their users, last in November
2026: OpenAI, Azure, Anthropic, Gemini, Mistral, OpenRouter, Groq, gateways to Bedrock, LiteLLM;
vLLM, SGLang, llama.cpp, LM Studio, Ollama.
"""

from __future__ import annotations

import json
import math
import re
import time
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
"""Statuses of failures that may be over at the next attempt, as all 5xx may."""

NESTED = (
    "error",
    "message",
    "detail",
    "msg",
    "errors",
    "error_message",
    "error_description",
    "status_msg",
)
"""Fields that hold an error's words."""
PLACES = ("loc", "param")
"""Fields that name the part of a request that is wrong, beside the words about it."""
CODES = re.compile(r"code|.*_?(code|type)|status|reason|quota.*|err(no)?|title|kind", re.IGNORECASE)
"""Fields that hold an error's code or type."""
CODE_HEADERS = re.compile(r"x-(?:(?!err).)*+err.*(type|code)", re.DOTALL)
"""Headers with an error's code or type."""
CONTENT = frozenset({0, *range(400, 500), 500, 501}) - {401, 408, 425, 429}
"""Statuses of refusals that concern the content of a request. 0 stands for an error that names no
code in an answer that has status 200."""
CALLER = frozenset({0, 400, 401, 402, 403, 412, 423, 429})
"""Statuses of refusals that concern the caller: its key, its credit, its rate of requests."""
LOADING = frozenset({0, 409, 425, 429, *range(500, 600)}) - {501, 504}
"""Statuses of a server that is not ready, such as one that loads its model."""
ANY = frozenset(range(600))


class Rule(NamedTuple):
    """What errors of one kind look like, and what helps."""

    kind: str
    statuses: frozenset[int]
    """Statuses of such errors."""
    says: str = ""
    """Patterns of their plain words, one a line. A name in capitals stands for its pattern in
    `PARTS`. The first rule of `RULES` that matches counts; "" matches any words."""
    cure: str = ""
    """The remedy, as the end of a sentence. `cure` fills in {context} and {images}, which depend on
    the dialect, and {cell}, which depends on the words of the error. The remedies of "model",
    "key" and "place" depend on the endpoint: `Line.cure` has them."""
    is_final: bool = False
    """Whether every other call of a search would meet the same error."""


USED_UP = "its quota or credit is used up, so waiting does not help"
SMALLER = "use a smaller k or cell, or raise its limit on the size of a request"
PARTS = {
    "IMAGE": r"\b(images?|pictures?|photos?|data ur[il])\b",
    "SIZE": r"(\d ?([kmg]i?b|b|mega\w+|kilo\w+|mp)\b|\bbytes?\b|pixel|\bpx\b|\d ?[x×*] ?\d"
    r"|dimension|resolution"
    r"|width|height|\bsizes?\b|\b(long|short)\w* (side|edge)|encoder cache|with length)",
    "MORE": r"(exceed|too (large|big|many|high|wide|tall|long)|(larg|bigg|great|long|small|high)er"
    r"|more than|above"
    r"|\bover\b|\bmax|at most|up to|limit|no more|must be|within|below|[<>≤≥])",
    "MOST": r"(at most|only|exactly|single|up to|no more than|limit( of| to)?:?|max\w*( of)?:?)",
    "LIMIT": r"(limit|maximum|at most|exceeds?|up to|only)( is| of| to)?:?",
    "ONE": r"(1|one|a single)\b",
    "PREPARED": "(loaded|enabled|installed|supported|configured)",
    "SIGHT": r"(vision|multimodal|images?|visual)",
}
"""Patterns that rules use by their names."""
QUOTA = Rule(
    "used up",
    CALLER,
    says="exceeded.{1,6}current.quota\nquota.{0,200}(exceeded|reached)\nusage limit",
    cure=USED_UP,
    is_final=True,
)
"""A quota that is used up. Gemini uses the same words for a rate limit, but then names a delay."""
RULES = (
    Rule(
        "flagged",
        CONTENT,
        says=r"""
        flagged|moderat(ion|ed)|safety (system|polic)|content ?(policy|filter|management)
        data ?inspection
        (prompt|input|content|response) (was |is |has been )?blocked|inappropriate content""",
    ),
    Rule(
        "used up",
        CALLER,
        says=r"""
        key limit exceeded|(add|buy|purchase) (more )?credits
        insufficient.?(quota|balance|credit|fund)|credit balance|payment (is )?required
        requires? more credits
        (out of|not enough|no( more)?|all (available|your)) (credit|balance|funds)
        billing.?(hard.?)?limit|\b[rt]pd\b
        (balance|credits?|funds?|budget|allowance) (\w+ ){0,2}(low|exhausted|depleted)
        (balance|credits?|funds?|budget|allowance) (\w+ ){0,2}(insufficient|used up|exceeded)
        (per.?|/ ?|(for|every|each) (the |this )?|\bto|24 ?)(day|week|month|h(ours)?)\b
        24 ?h(ours)?\b|\bby day\b
        (daily|weekly|monthly|spend(ing)?) (\w+ )?(limit|quota|cap|budget|allowance)|arrearage
        unpaid|overdue
        (account|billing|subscription).{0,8}(not active|inactive|deactivated)
        exceeded current quota error
        余额不足|欠费""",
        cure=USED_UP,
        is_final=True,
    ),
    Rule(
        "too large",
        CONTENT | {429},
        says=r"""
        request too large|reduce your (message|prompt|input|request)
        exceed\w*( \w+){0,4} (request|payload|body) size
        \b(request|payload|body|entity|upload|content length)\w*( \w+){0,3} too (large|big)
        \b(request|payload|body|entity|upload|content length)\b.{0,30}size.{0,30}exceed
        \b(request|payload|body|entity|upload|content length)\b.{0,30}exceed.{0,40}bytes
        \b(request|payload|body|entity|upload|content length)\b.{0,30}exceed.{0,40}[km]i?b\b""",
        cure=SMALLER,
    ),
    Rule(
        "busy",
        ANY,
        says=r"throttl|\bper.?(minute|second|min|sec)\b|/ ?min\b|\b[rt]pm\b|quota increase",
    ),
    QUOTA,
    Rule(
        "busy",
        ANY,
        says=r"""
        rate.?(limit|exceeded)|too (many|frequent) (\w+ ){0,2}(requests|calls)
        requests? too (frequent|often|fast|many)
        request rate|resource.?exhausted|overload|slow down|request limit exceeded|频繁|频率|速率限制|繁忙
        并发
        concurren\w+ .{0,30}(limit|exceed|max|too)
        (limit|number|max\w*|many) .{0,20}concurren""",
    ),
    Rule(
        "no images",
        CONTENT,
        says=r"""
        images?( (input|content|url|part|type)s?)*( are| is)? not (supported|allowed|accepted)
        images?( (input|content|url|part|type)s?)*( are| is)? unsupported
        unsupported (content|modality|input).{0,20}image|mmproj|not a (multimodal|vision)
        text only model
        (not|n t|cannot|unable to) (support|accept|allow|understand)\w* (\w+ ){0,2}SIGHT
        (not|n t|cannot|unable to) (process|handle|see|read) images|no .{0,30}that support SIGHT
        required for SIGHT input|(has|have|with) no SIGHT|\bno (vision|multimodal|image support)
        (vision|multimodal).{0,20}(disabled|missing)
        SIGHT( add on| adapter| support| input)? (is |are )?(not|n t) PREPARED
        SIGHT (encoder|projector|module|tower) (is |are )?(not|n t) PREPARED
        image url.{0,30}only supported by|unknown variant image url
        invalid content type.{0,40}image url""",
        cure="it takes no images: serve a vision-language model (llama.cpp: with --mmproj)",
        is_final=True,
    ),
    Rule(
        "model",
        CONTENT,
        says=r"""
        \b(models?|deployment)\b.{0,100}?(not found|does(n t| not) exist|not exist)
        \b(models?|deployment)\b.{0,100}?(no such|not available)
        \b(models?|deployment)\b.{0,100}?(not a valid|not loaded)|no endpoints found
        (unknown|invalid|no such|not a valid|unsupported) model|pull(ing)? it first
        no models? loaded""",
        cure="",
        is_final=True,
    ),
    Rule(
        "busy",
        LOADING - {500},  # these words are too general for 500: a rule below has plainer ones
        says=r"""
        \bload(ing|ed\b.{0,100}not)|not (yet )?(loaded|ready)|warming|capacity|\bbusy\b
        starting up|cold start
        queue.{0,9}full|try again|retry|please wait|maximum pending""",
    ),
    Rule(
        "busy",
        frozenset({404}),
        says=r"scal(ing|ed) up|cold start|(try again|retry) (later|in)|is (still )?starting",
    ),
    Rule(
        "busy",
        LOADING,
        says=r"(currently|still|is|being) load(ing|ed)\b|^load(ing)?\b.{0,20}model"
        r"|model.{0,40}\bloading",
    ),
    Rule(
        "key",
        frozenset({0, 400, 401, 403}),
        says=r"""
        api.?key|authenti|authori[sz]|credential|\bbearer\b|access token|permission denied
        (invalid|missing) (token|key)""",
        cure="",
        is_final=True,
    ),
    Rule(
        "image size",
        CONTENT,
        says=r"""
        IMAGE.{0,160}MORE.{0,80}SIZE|IMAGE.{0,80}SIZE.{0,80}MORE|IMAGE (is )?too (large|big)
        (MORE|SIZE).{0,60}SIZE.{0,40}IMAGE|MORE.{0,20}IMAGE.{0,9}SIZE""",
        cure="{cell}",
    ),
    Rule(
        "no videos",
        CONTENT,
        says=r"""
        trust request mm|MOST 0.{0,20}\bvideo
        \bvideos?( input)?s? (is |are )?(not supported|unsupported)""",
        cure='start vLLM with --limit-mm-per-prompt \'{{"image":16,"video":1}}\' '
        "--trust-request-mm-kwargs",
        is_final=True,
    ),
    Rule(
        "one image",
        CONTENT,
        says=r"""
        MOST ONE.{0,40}\bimage|\bimages?\b.{0,60}LIMIT ONE|\bimages?\b.{0,40}> ?ONE
        one image (per|at a time)
        (multiple|more than (1|one)) images""",
        cure="{images}",
        is_final=True,
    ),
    Rule(
        "few images",
        CONTENT,
        says=r"""
        MOST \d+.{0,40}\bimage|\bimages?\b.{0,60}LIMIT \d+|\bimages?\b.{0,40}> ?\d
        too many (.{0,20} )?images
        number of images|limit mm per prompt""",
        cure="{images}",
    ),
    Rule(
        "thinking",
        CONTENT,
        says="enable thinking must be set to false",
        cure="--extra-body '{{\"enable_thinking\":false}}' (extra_body=…) says so",
        is_final=True,
    ),
    Rule(
        "stream",
        CONTENT,
        says=r"only supports? stream|stream mode|\bstream.{0,20}(must be|required)|requires stream",
        cure="it answers in streams alone: --dialect hosted,stream=true",
    ),
    Rule(
        "secure",
        CONTENT,
        says=r"https? request (was sent )?to (an? )?https (server|port)",
        cure="it speaks TLS: pass its address with https://",
        is_final=True,
    ),
    Rule(
        "too long",
        CONTENT,
        says=r"""
        context (length|window|size|limit)|maximum context|max model len|\bn ctx\b
        too (long|many (\w+ )?tokens)
        (prompt|input|string) above max|range of input length
        (input|prompt)\b.{0,60}(exceed|longer|larger|more than).{0,40}(token|length)""",
        cure="use a smaller k or cell, or {context}",
    ),
    Rule(
        "place",
        frozenset({0, 404, 405}),
        says="unexpected endpoint|(unknown|invalid|no such) (url|path|route|endpoint)",
        cure="",
        is_final=True,
    ),
    Rule("too large", frozenset({413}), says="", cure=SMALLER),
    Rule(
        "gateway",
        frozenset({504, 524}),
        says="",
        cure="raise the gateway's time-out, which is shorter than the model's answer",
    ),
    Rule(  # without a status, only the words say that another attempt would not help
        "refused",
        frozenset({0}),
        says=r"""
        invalid (request|argument|parameter|value)|bad request|(un|not )support|unprocessable""",
    ),
)


def _pattern(says: str) -> re.Pattern[str]:
    """Return one pattern for the lines of a rule, with `PARTS` in place of their names."""
    joined = "|".join(line.strip() for line in says.strip().split("\n"))
    return re.compile(re.sub("[A-Z]{3,}", lambda name: PARTS[name[0]], joined))


PATTERNS = {rule: _pattern(rule.says) for rule in RULES}
BY_STATUS = {
    401: "key",
    402: "used up",
    403: "key",
    404: "place",
    405: "place",
    **dict.fromkeys((420, 429, 498, 529), "busy"),
}
"""The kind of an error by its status, or by a code in its body that is a status."""
CURES = {
    **{rule.kind: rule.cure for rule in RULES},
    "busy": "it is busy: try again later",
    "redirect": "pass the address that it redirects to",
}
FINAL = frozenset({"redirect", *(rule.kind for rule in RULES if rule.is_final)})
"""Kinds of errors that every other call of a search would meet too."""
MORE_IMAGES = {
    "vllm": "start it with --limit-mm-per-prompt '{\"image\": 16}'",
    "sglang": "start it with --limit-mm-data-per-request '{\"image\": 16}'",
}
"""The option of a server for more images a request, by dialect."""
LONGER_CONTEXT = {
    "vllm": "start it with a larger --max-model-len",
    "sglang": "start it with a larger --context-length",
    "llamacpp": "start it with a larger context (-c)",
    "ollama": "give it a larger context (OLLAMA_CONTEXT_LENGTH)",
    "lmstudio": "load the model with a larger context",
}
"""The option of a server for longer prompts, by dialect."""
SIDE = re.compile(
    r"(\d{3,6})(?: ?[x×*] ?\d{3,6})? ?(?:pixels?|px)|(?:pixels?|dimensions?|side|edge|width"
    r"|height)\W{1,3}(\d{3,6})\b"
)
"""A side of an image in pixels."""
WEIGHT = re.compile(r"(\d{1,10}(?:\.\d{1,3})?) ?(k|m|byte)(?:i?b\b|s)")
"""A number of bytes, with the unit's first letter or "byte"."""
BYTES = {"k": 2**10, "m": 2**20, "byte": 1}
TITLE = re.compile(r"<title[^<>]{0,200}>([^<]{0,300})", re.IGNORECASE)
GROUPED = re.compile(r"(?<=\d),(?=\d{3})")
"""The comma in a number such as 17,408."""
WORD_ENDS = re.compile(r"(?<=[a-z])(?=[A-Z])|[_\-\"'`*\s]+")
"""The place between two words of a code such as RateLimit, or the characters between words."""


@dataclass(frozen=True)
class Explanation:
    """What an endpoint's error says."""

    words: str = ""
    """The endpoint's own words, on one printable line; "" for none."""
    wait_s: float | None = None
    """Seconds the endpoint asks to wait; None if it does not say."""
    kind: str = ""
    """The kind of the rule that matches, or else of the status; "" for none. "busy" means that the
    endpoint will take the request later. `HttpFailure.is_unseen` says whether a model saw it."""


def explain(status: int, headers: Mapping[str, str], page: bytes) -> Explanation:
    """Return what an error says.

    Args:
        status: The HTTP status, or the code in an error that came with status 200; 0 if that error
            names none.
        headers: The answer's headers, with lower-case names.
        page: The answer's body.
    """
    text = page[: limits.ERROR].decode(errors="replace")
    body: Any = None
    try:
        body = json.loads(text)
    except (ValueError, RecursionError):
        text = _title(text)
    words = words_of(body)
    if not words and not isinstance(body, dict | list):
        words = text
    words = limits.cut(words, limits.WORDS)
    codes = list[str]()
    for name, value in fields_of(body):
        if CODES.fullmatch(name) and isinstance(value, str | int):
            codes.append(str(value))
    for name, value in headers.items():
        if CODE_HEADERS.fullmatch(name):
            codes.append(value)
    wait_s = delay(headers, body, text=f"{words} {limits.cut(text, limits.WORDS)}")
    kind = _kind(status, words, codes=codes, wait_s=wait_s)
    return Explanation(one_line(words), wait_s=wait_s, kind=kind)


def _kind(status: int, words: str, *, codes: list[str], wait_s: float | None) -> str:
    """Return the kind of an error; "" if nothing decides it."""
    everything = plain(limits.cut(f"{words} | {' | '.join(codes)}", limits.WORDS))
    for rule in RULES:
        if rule is QUOTA and wait_s is not None:  # Gemini's rate limit
            continue
        if status in rule.statuses and PATTERNS[rule].search(everything):
            return rule.kind
    if status == 503 and wait_s is not None:
        return "busy"
    for code in codes:
        if code.isdecimal() and len(code) == 3 and int(code) in BY_STATUS:
            return BY_STATUS[int(code)]
    return BY_STATUS.get(status, "")


def plain(text: str) -> str:
    """Return a text in small letters, with one blank between words, also between those of codes."""
    return WORD_ENDS.sub(" ", GROUPED.sub("", text)).lower()


def cure(explanation: Explanation, dialect: str) -> str:
    """Return what to do about an error, by its kind and words; "" where nothing is known.

    Args:
        explanation: What the error says.
        dialect: The name of the endpoint's dialect.
    """
    return CURES.get(explanation.kind, "").format(
        images=MORE_IMAGES.get(dialect, "use a model or a server that takes 16 images a request"),
        context=LONGER_CONTEXT.get(dialect, "a server with a longer context"),
        cell=_smaller_cell(plain(explanation.words)),
    )


def _smaller_cell(words: str) -> str:
    """Return the advice to use a smaller cell, with the limit that the error names, if any."""
    sides = [int(first or second) for first, second in SIDE.findall(words)]
    if sides:
        most = min(sides)
        return (
            f"use a smaller cell, with k = 8 one of {most // 8}, as no side may exceed {most:,} "
            "pixels"
        )
    weights = [float(number) * BYTES[unit] for number, unit in WEIGHT.findall(words)]
    if weights:
        return f"use a smaller cell, so that no image exceeds {min(weights) / 2**20:.3g} MB"
    return "use a smaller cell, so that each image is smaller"


def one_line(words: str) -> str:
    """Return an endpoint's words on one printable line of at most `LONGEST_WORDS` characters."""
    return printable(" ".join(words.split()), LONGEST_WORDS).rstrip(". ")


def words_of(body: Any) -> str:
    """Return the words of an error in a parsed body; "" if it has none.

    OpenRouter and LiteLLM put the provider's own error beside a general one. The words of both are
    returned.
    """
    if isinstance(body, str) and not _holds_json(body):
        return body
    words = list[str]()
    place: Any = ""
    for name, value in fields_of(body):
        if name in NESTED and isinstance(value, str) and value.strip() and not _holds_json(value):
            words.append(value)
        elif name in PLACES and value and not place:
            place = value
    first = words[0] if words else ""
    more = [each for each in dict.fromkeys(words[1:4]) if each not in first]
    where = ".".join(map(str, place)) if isinstance(place, list) else str(place)
    if where not in first:
        first = f"{where}: {first}"
    return f"{first} ({'; '.join(more)})" if more else first


def _holds_json(text: str) -> bool:
    """Return whether a text seems to be a JSON object or list."""
    return text.lstrip().startswith(("{", "["))


def _title(text: str) -> str:
    """Return the title of an HTML page, and any other text as it is."""
    if not text.lstrip()[:9].lower().startswith(("<!doctype", "<html", "<?xml")):
        return text
    title = TITLE.search(text)
    return title[1] if title else ""


RETRY = re.compile(r"(?:[\w-]+-)?retry-(?:after|in)(?:-\w+)?")
"""Headers with a delay."""
RESET = re.compile(r"(?=.*rate-?limit).*reset.*", re.DOTALL)
"""Headers with the time at which the window of a rate limit begins anew. The header with
"remaining" in place of "reset" says how many requests are left in the window, and the one with
"limit" how many it allows."""
WINDOW = re.compile(r"\b(?:t|reset)=(\d{1,12})")
"""The time in the header of a draft standard: `RateLimit: "default";r=0;t=30`, in earlier drafts
`limit=9, reset=30`."""
MUCH_LEFT = 0.1
"""A window of which a larger share is left cannot be the limit that was exceeded."""
FIELD = re.compile(
    r"(?!.*(max|count|retries|able)).*(retry|wait|reset|cooldown|backoff|estimatedtime).*"
)
"""Fields of a body that hold a delay, by their names in small letters without other characters."""
MILLISECONDS = re.compile(r"(?:Ms|[-_]ms|(?i:millis|milliseconds))$")
"""The end of a name whose value is in milliseconds."""
UNIT = r"milliseconds?|millis|ms|days?|d|hours?|hrs?|h|minutes?|mins?|m|seconds?|secs?|s|分钟|秒"
COUNT = r"(?:\d{1,12}(?:\.\d{1,12})?\s{0,4}|\b(?:an?|one)\s)"
PART = re.compile(rf"({COUNT})({UNIT})(?![a-z])")
"""A number with its unit, in a delay."""
SPELT = rf"(?:{COUNT}(?:{UNIT})(?![a-z])\s{{0,4}}(?:,|and)?\s{{0,2}}){{1,4}}"
"""A delay in one to four units, such as "1m30s" or "1 minute and 30 seconds"."""
DURATION = re.compile(SPELT)
MOMENT = (
    r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?: ?Z| ?UTC|[+-]\d\d:?\d\d)?"
    r"|\w{3}, \d\d? \w{3} \d{4} \d\d:\d\d:\d\d GMT"
)
CLOCK = r"\d{1,2}:\d\d:\d\d(?![\d:])"
BARE = r"\d{1,12}(?:\.\d{1,12})?(?!\s{0,4}[\w.:])"
"""A number without a unit: seconds, if it follows certain words of `DELAY`."""
DELAY = re.compile(
    rf"(?:again|retry|wait|available|reset\w{{0,20}}|retrydelay|until|another"
    rf"|cool\w{{0,6}})[\W_]{{1,4}}"
    rf"(?:\w{{1,20}}\W{{1,4}}){{0,3}}?({MOMENT}|{CLOCK}|{SPELT}|(?<=after[ :=]){BARE}"
    rf"|(?<=after: ){BARE}|(?<=in ){BARE}"
    rf"|(?<=for ){BARE})|({SPELT})\s?后",
    re.IGNORECASE,
)
"""A delay, or its end, in an error's words. The first group follows an English word such as
"retry" and at most three more; the second stands before the Chinese word for "after"."""
UNITS_S = {"d": 86_400.0, "h": 3600.0, "m": 60.0, "s": 1.0, "分": 60.0, "秒": 1.0}
"""Seconds in a unit, by its first letter."""
EPOCH_S = 1e9
"""A number from here on is a time in seconds since 1970, not a delay."""


def delay(headers: Mapping[str, str], body: Any = None, text: str = "") -> float | None:
    """Return how many seconds an endpoint asks to wait; None if it does not say.

    A header has precedence over a field of the body, and a field over the words.

    Args:
        headers: The answer's headers, with lower-case names.
        body: The parsed body.
        text: The error's words.
    """
    seconds = _header_delay(headers)
    if seconds is not None:
        return seconds
    for name, value in fields_of(body):
        seconds = _field_delay(name, value)
        if seconds is not None:
            return seconds
    match = DELAY.search(text)
    return _seconds(match[1] or match[2]) if match else None


def fields_of(body: Any, depth: int = 0) -> Iterator[tuple[str, Any]]:
    """Yield the names and values of the fields of a parsed body, also of JSON in its strings.

    The work is bounded: of a list, only 20 items are read, and `depth` ends the search at 8.
    """
    if isinstance(body, str) and _holds_json(body):
        try:
            body = json.loads(body)
        except (ValueError, RecursionError):
            return
    if depth > 8:
        return
    if isinstance(body, dict):
        for name, value in body.items():
            yield str(name), value
            yield from fields_of(value, depth + 1)
    elif isinstance(body, list):
        for value in body[:20]:
            yield from fields_of(value, depth + 1)


def _header_delay(headers: Mapping[str, str]) -> float | None:
    """Return the delay in a header, or the seconds until all used up windows begin anew."""
    names = [name for name in headers if RETRY.fullmatch(name)]
    for name in sorted(names, key=lambda name: not name.endswith("ms")):  # milliseconds first
        seconds = _seconds(headers[name], name)
        if seconds is not None:
            return seconds
    windows = list[float]()
    for name, value in headers.items():
        seconds = _window_end(name, value)
        if seconds is None:
            continue
        # Without a number of remaining requests, a window counts as used up.
        remaining = _number(headers.get(name.replace("reset", "remaining"), "")) or 0.0
        size = _number(headers.get(name.replace("reset", "limit"), "")) or 1.0
        if remaining < MUCH_LEFT * size:
            windows.append(seconds)
    return max(windows, default=None)


def _window_end(name: str, value: str) -> float | None:
    """Return the seconds until a window of a limit begins anew; None for any other header."""
    if name in ("ratelimit", "x-ratelimit"):
        window = WINDOW.search(value[: limits.HEADER])
        return _seconds(window[1], name) if window else None
    return _seconds(value, name) if RESET.fullmatch(name) else None


def _field_delay(name: str, value: Any) -> float | None:
    """Return the delay in a field of a body; None for any other field."""
    if name.lower().endswith("headers") and isinstance(value, dict):
        return _header_delay({str(key).lower(): str(each) for key, each in value.items()})
    bare = re.sub("[^a-z]", "", name.lower())
    return _seconds(value, name) if FIELD.fullmatch(bare) else None


def _seconds(value: Any, name: str = "") -> float | None:
    """Return the seconds that a value names as a number or a duration, or until its date or time.

    Args:
        value: The value of a header or a field; None is returned for one that names no delay.
        name: The name of the header or the field, which may end in the unit.
    """
    if isinstance(value, dict):  # Google's Duration
        value = value.get("seconds")
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    text = str(value)[: limits.HEADER].strip(' \t"')
    parts = set(text.split(", "))
    if len(parts) == 1:  # "30, 30": a proxy has repeated the server's header
        text = parts.pop()
    number = _number(text)
    if number is None:
        return _spelt(text)
    if number < EPOCH_S:
        return number / 1000 if MILLISECONDS.search(name) else number
    while number >= 100 * EPOCH_S:  # milliseconds, microseconds or nanoseconds since 1970
        number /= 1000
    return max(0.0, number - time.time())


def _number(text: str) -> float | None:
    """Return a text as a number; None if it is no number, negative or infinite."""
    try:
        number = float(text)
    except ValueError:
        return None
    return number if 0 <= number < math.inf else None


def _spelt(text: str) -> float | None:
    """Return the seconds that a text spells, such as "1m30s" or "PT90S", or until its date."""
    bare = text.lower().removeprefix("pt")
    if re.fullmatch(CLOCK, text):
        hours, minutes, seconds = map(int, text.split(":"))
        return 3600.0 * hours + 60 * minutes + seconds
    if DURATION.fullmatch(bare):
        return sum(_amount(count) * _unit_s(unit) for count, unit in PART.findall(bare))
    until = _moment(text)
    if until is None:
        return None
    if until.tzinfo is None:
        until = until.replace(tzinfo=UTC)
    try:
        return max(0.0, until.timestamp() - time.time())
    except (ValueError, OverflowError):
        return None


def _moment(text: str) -> datetime | None:
    """Return the moment that a date of ISO 8601 or of HTTP names; None for any other text."""
    try:
        return datetime.fromisoformat(re.sub(" ?(utc|z)$", "+00:00", text.lower()).upper())
    except ValueError:
        pass
    try:
        return parsedate_to_datetime(text)
    except (ValueError, IndexError, TypeError, OverflowError):
        return None


def _amount(count: str) -> float:
    """Return a `COUNT` as a number: 1 for the word in "an hour"."""
    number = _number(count)
    return 1.0 if number is None else number


def _unit_s(unit: str) -> float:
    """Return the seconds in a `UNIT`."""
    if unit == "ms" or unit.startswith("milli"):
        return 0.001
    return UNITS_S[unit[0]]
