"""Conditions under which a service does not reply: refusals, limits, wrong addresses."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from email.utils import formatdate
from typing import Any

from atlaskit.models.errors import ModelError, Refused
from support.services.declare import Answer, Condition, Expected, Service, Turn
from support.services.replies import completion, content, well

NO_SUCH_MODEL = "no-such-model"
ELSEWHERE = "https://models.acme.example/v1/chat/completions"
MOVED = "/gateway/v2/chat/completions"
START = ("start one with", "atlaskit serve")
"""Advice for when no server runs."""
KEY = ("api_key|OPENAI_API_KEY|key-env",)
"""Advice for a key that is refused."""


def has(*kinds: str) -> Callable[[Service], bool]:
    return lambda service: any(kind in service.words for kind in kinds)


def always(kind: str) -> Callable[[Turn], Answer]:
    return lambda turn: turn.service.words[kind]


def words_of(answer: Answer) -> str:
    """Return a pattern of the words in an error, as far as a message must quote them."""
    match answer.body[0] if isinstance(answer.body, list) else answer.body:
        case {"error": {"message": str(words)}} | {"error": str(words)} | {"message": str(words)}:
            return re.escape(words.partition("{model}")[0].strip()[:40])
        case {"detail": str(words)}:
            return re.escape(words)
    return ""


def final(
    kind: str, *says: str, never: tuple[str, ...] = START, is_final: bool = True
) -> Callable[[Service], Expected]:
    """Return the expectation of an error that ends at once and quotes the server's words."""

    def expected(service: Service) -> Expected:
        answer = service.words[kind]
        wanted = (words_of(answer), *says, *filter(None, [service.remedies.get(kind)]))
        status = answer.status if answer.status >= 400 else 0
        return Expected(Refused, status, wanted, never, pause_s=(0, 0), is_final=is_final)

    return expected


def until(lift_s: Callable[[Service], float], answer: Callable[[Service], Answer]) -> Callable[[Turn], Answer]:
    """Return a behaviour: fail until so many seconds have passed, then reply."""
    good = well(content(str))
    return lambda turn: answer(turn.service) if turn.now_s < lift_s(turn.service) else good(turn)


def waited(lift_s: Callable[[Service], float], most_s: float, first: int = 2) -> Callable[[Service], Expected]:
    return lambda service: Expected(
        first=first + service.learns, pause_s=(lift_s(service), lift_s(service) + most_s), may_warn=True
    )


def limited(condition: str, title: str, lift_s: Any, answer: Callable[[Service], Answer], **rest: Any) -> Condition:
    """Return the condition of a limit that ends after some seconds and says so."""
    lifts = lift_s if callable(lift_s) else lambda service: float(lift_s)
    expected = waited(lifts, rest.pop("most_s", 8.0), rest.pop("first", 2))
    return Condition(condition, title, until(lifts, answer), expected, **rest)


TOLD_S = {"openai-gpt4": 18.642, "openai-thinking": 18.642, "gemini": 29.0}
"""Services whose own words for a limit say how long it lasts."""


def told_in_body(service: Service) -> Answer:
    if service.name in TOLD_S:
        return service.words["rate"]
    return service.failing(429, "Rate limit reached on requests per min. Please try again in 12.5s.")


def untold(service: Service) -> Answer:
    answer = service.words.get("rate")
    if answer is None or answer.headers or service.name in TOLD_S:
        return service.failing(429, "Too many requests")
    return answer


def without_v1(service: Service) -> Expected:
    answer = service.words["path"]
    status = answer.status if answer.status >= 400 else 0
    return Expected(Refused, status, (words_of(answer), r"127\.0\.0\.1:\d+\S*/v1\b"), START, pause_s=(0, 0))


def no_such_model(service: Service) -> Expected:
    known = service.models["data"][0]["id"].removeprefix("models/")
    answer = service.words["model"]
    never = (*START, "/v1` missing|end in /v1")
    return Expected(Refused, answer.status, (words_of(answer), NO_SUCH_MODEL, re.escape(known)), never, pause_s=(0, 0))


def stated(*says: str, first: int = 4, error: type[ModelError] = ModelError, status: int = 0, **rest: Any) -> Any:
    never = (*START, "end in /v1")
    return lambda service: Expected(error, status, says, never, first=first, **rest)


def broken(service: Service) -> Answer:
    return Answer(200, service.error(500, "The engine stopped: out of memory", ""))


def in_200(turn: Turn) -> Answer:
    return turn.service.words.get("in-200") or broken(turn.service)


def quoted_in_200(service: Service) -> Expected:
    answer = service.words.get("in-200") or broken(service)
    return Expected(ModelError, 0, (words_of(answer),), (*START, "end in /v1"), first=4, pause_s=(0, 130))


def redirect(status: int, target: str) -> Callable[[Turn], Answer]:
    return lambda turn: Answer(status, {}, {"Location": target})


def choice_error(turn: Turn) -> Answer:
    answer = completion(turn.service, {"content": ""}, "error")
    answer.body["choices"][0]["error"] = {"code": 502, "message": "Upstream idle timeout exceeded"}
    return answer


def is_openai(service: Service) -> bool:
    return service.dialect == "openai"


def two_images(service: Service) -> bool:
    return "images" in service.words


FAULTS = {"detail": [{"type": "missing", "loc": ["body", "messages", 0], "msg": "Field required", "input": {}}]}
PAGE = "<!DOCTYPE html><html><head><title>Welcome to Acme</title></head><body>Sign in</body></html>"

FAILURES = (
    Condition(
        "key",
        "key refused",
        always("key"),
        final("key", *KEY, never=(*START, "/v1 missing|end in /v1", "no such model")),
        has("key"),
    ),
    Condition(
        "no-model",
        "no such model",
        always("model"),
        no_such_model,
        has("model"),
        settings=lambda service: {"model": NO_SUCH_MODEL, "dialect": service.dialect},
    ),
    Condition(
        "no-v1",
        "address without /v1",
        always("path"),
        without_v1,
        lambda service: "path" in service.words and service.base == "/v1",
        address=lambda service: "",
    ),
    Condition(
        "no-v1-needed",
        "address without /v1, also served",
        well(content(str)),
        lambda service: Expected(first=1 + service.learns),
        lambda service: "" in service.also_at,
        address=lambda service: "",
    ),
    limited(
        "rate-seconds",
        "rate limit, Retry-After in seconds",
        7,
        lambda service: service.failing(429, "Too many requests", Retry_After="7"),
    ),
    limited(
        "rate-date",
        "rate limit, Retry-After as a date",
        18,
        lambda service: service.failing(
            429, "Too many requests", Retry_After=formatdate(time.time() + 20, usegmt=True)
        ),
    ),
    limited(
        "rate-body",
        "rate limit, delay told in the words",
        lambda service: TOLD_S.get(service.name, 12.5),
        told_in_body,
    ),
    limited(
        "rate-ms",
        "rate limit, milliseconds told in the words",
        0.644,
        lambda service: service.failing(429, "Rate limit reached for gpt-4o. Please try again in 644ms."),
        applies=is_openai,
    ),
    limited(
        "rate-minutes",
        "rate limit, minutes told in the words",
        69.696,
        lambda service: service.failing(429, "Rate limit reached for gpt-4o. Please try again in 1m9.696s."),
        most_s=70.0,
        first=3,
        applies=is_openai,
    ),
    Condition(
        "rate-day",
        "rate limit of a day",
        lambda turn: turn.service.failing(429, "Too many requests", Retry_After="86400"),
        stated("Too many requests", status=429, pause_s=(0, 200)),
    ),
    limited("rate-untold", "rate limit, delay not told", 45, untold, most_s=150.0, first=4),
    limited(
        "loading",
        "model is loading",
        lambda service: 20.0 if service.name == "litellm" else 40.0,
        lambda service: service.words["loading"],
        most_s=150.0,
        first=8,
        applies=has("loading"),
    ),
    limited(
        "overloaded",
        "overloaded (503, 529)",
        0.4,
        lambda service: service.words["overloaded"],
        most_s=150.0,
        first=4,
        applies=has("overloaded"),
    ),
    limited(
        "gateway",
        "a gateway's web page, once (502)",
        0.1,
        lambda service: Answer(502, "<html><body><h1>502 Bad Gateway</h1></body></html>"),
        most_s=70.0,
        first=3,
        applies=lambda service: bool(service.host) or service.name == "litellm",
    ),
    Condition("quota", "quota used up", always("quota"), final("quota"), has("quota")),
    Condition("images", "one image a request", always("images"), final("images", "image"), two_images),
    Condition(
        "no-images",
        "no images at all",
        always("no-images"),
        final("no-images", "image", never=(*START, "no such model", "end in /v1")),
        has("no-images"),
    ),
    Condition(  # a shorter prompt may still fit
        "context",
        "context too short",
        always("context"),
        final("context", "context", is_final=False),
        has("context"),
    ),
    Condition("in-200", "error within HTTP 200", in_200, quoted_in_200),
    Condition(
        "in-choice",
        "error within a choice",
        choice_error,
        stated("Upstream idle timeout exceeded", pause_s=(0, 130)),
        lambda service: service.name in ("openrouter", "litellm"),
    ),
    Condition(
        "choices-null",
        "`choices: null`",
        lambda turn: Answer(200, {**completion(turn.service, {}).body, "choices": None}),
        stated("choices|no answer", pause_s=(0, 130)),
    ),
    Condition(
        "list-error",
        "error within a list",
        lambda turn: Answer(400, [{"error": {"code": 400, "message": "The fifth part is bad."}}]),
        stated("The fifth part is bad", first=1, error=Refused, status=400),
    ),
    Condition(
        "fault-list",
        "a list of faults",
        lambda turn: Answer(422, FAULTS),
        stated("Field required", "messages", first=1, error=Refused, status=422),
        lambda service: service.name in ("mistral", "litellm", "sglang", "vllm"),
    ),
    Condition(
        "moved-host",
        "redirected to another host",
        redirect(308, ELSEWHERE),
        stated(re.escape("https://models.acme.example/v1"), first=1, error=Refused, status=308),
    ),
    Condition(
        "moved-path",
        "redirected to another path",
        redirect(301, MOVED),
        stated(re.escape("/gateway/v2"), first=1, error=Refused, status=301),
    ),
    Condition(
        "web-page",
        "a web page in place of a reply",
        lambda turn: Answer(200, PAGE),
        stated("web page|HTML|not JSON|invalid JSON", pause_s=(0, 130)),
        lambda service: service.name in ("openai-gpt4", "openrouter", "litellm", "ollama", "lmstudio"),
    ),
)
