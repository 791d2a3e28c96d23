"""What a client changes after an error that says what it refuses: `adapted`, `room_left`.

The change is another dialect, which the client keeps as long as it lives; the length of an answer
beside one long prompt is of that call alone. Nothing is tried out, and nothing outlives the run:
what an endpoint needs for good is declared, with the option that the warning prints.
"""

from __future__ import annotations

import re
from dataclasses import replace

from atlaskit.models.dialect import Dialect
from atlaskit.models.http import HttpFailure
from atlaskit.models.payload import Payload
from atlaskit.models.refusals import GROUPED, HELD

REFUSAL = re.compile(
    r"(un|not |isn't |n't )support|unknown|unrecogni[sz]ed|unexpected|extra (inputs|fields)|no such"
    r"|(un|not )(available|accept|recogni|implement|enabled)|not (be )?(permitted|allowed)|invalid"
    r"|deprecated|fail(ed|s|ure)?|too (many|complex|large|deep)|cannot|can't"
    r"|only the default|must (not )?be|does not (accept|allow)|incompatible|exceeds",
    re.IGNORECASE,
)
SYNONYMS = {
    "response_format": re.compile(
        r"\b(response.?format|(json.?)?schema|structured.?outputs?|guided|grammar|constrained|repetitions)\b",
        re.IGNORECASE,
    ),
    "structured_outputs": re.compile(r"\b(structured.?outputs?|grammar|guidance)\b", re.IGNORECASE),
}
"""What errors call a field, beside its name."""
LENGTHS = ("max_tokens", "max_completion_tokens")
LENGTH = re.compile(r"max\w{0,20}[ _]?tokens|(output|completion|generated|new)[ _]tokens", re.IGNORECASE)
"""What errors call the length of an answer."""
NUMBER = re.compile(r"(?<![\w.-])(\d{3,12})(?![\w-])( \(exclusive\))?")
"""A number that stands alone, not as a part of a name such as gpt-4-0613."""
CONTEXT = re.compile(r"(?:context|max_model_len|inputs? tokens \+)[^.\d]{0,40}?(\d{1,12})", re.IGNORECASE)
PROMPT = re.compile(
    r"(\d{1,12}) (?:tokens? )?(?:input|in the (?:messages|input)|of text input|prompt|from the input)"
    r"|(?:has|passed|contains|requested) (?:at least )?(\d{1,12}) (?:input|prompt)"
    r"|(?:prompt contains|input length) \(?(?:at least )?(\d{1,12})",
    re.IGNORECASE,
)
SUM = re.compile(r"(\d{1,12}) \+ \d{1,12} > (\d{1,12})")
"""Anthropic's: "exceed context limit: 188240 + 21333 > 200000"."""
WORD = re.compile(r"\w+")
FEWEST_TOKENS = 256
"""A limit on an answer below this leaves no room for one."""


def room_left(failure: HttpFailure, limit: int) -> int | None:
    """Return the tokens that the context leaves beside this prompt, by an error that tells both.

    None if it does not tell them, or leaves no room, or as much as `limit`.
    """
    words = _words(failure)
    context, prompt, added = CONTEXT.search(words), PROMPT.search(words), SUM.search(words)
    if context and added:
        left = int(added[2]) - int(added[1])
    elif context and prompt:
        left = int(context[1]) - int(next(filter(None, prompt.groups())))
    else:
        return None
    return left if FEWEST_TOKENS <= left < limit else None


def adapted(failure: HttpFailure, dialect: Dialect, sent: Payload) -> Dialect | None:
    """Return the dialect after a failure that names what the endpoint refuses; None if none does.

    Args:
        failure: The failure of a request.
        dialect: The dialect in which it was sent.
        sent: The request.
    """
    words = _words(failure)
    if failure.explanation.kind == "stream" and not dialect.stream:
        return replace(dialect, stream=True)
    if not words or CONTEXT.search(words):
        return None
    # Which number is the limit, errors tell in any words. The largest below what was sent is tried.
    numbers = [int(number) - bool(exclusive) for number, exclusive in NUMBER.findall(words)]
    fewer = [number for number in numbers if FEWEST_TOKENS <= number < sent.limit and number != failure.status]
    if LENGTH.search(words) and fewer:
        return replace(dialect, most_tokens=max(fewer))
    if not REFUSAL.search(words):
        return None
    other = LENGTHS[1 - LENGTHS.index(dialect.length)] if dialect.length in LENGTHS else ""
    if _names(words, dialect.length) and other and (_names(words, other) or "extra" in words.lower()):
        return replace(dialect, length=other)
    refused = tuple(name for name in sent.optional if _names(words, name))
    return replace(dialect, omits=(*dialect.omits, *refused)) if refused else None


def _words(failure: HttpFailure) -> str:
    """Return the words of an error that may name what is wrong with a request, as plain text."""
    if failure.status not in HELD or failure.explanation.kind not in ("", "too long", "stream", "refused"):
        return ""
    return GROUPED.sub("", failure.explanation.words).replace("`", "").replace('"', "")


def _names(words: str, field: str) -> bool:
    synonyms = SYNONYMS.get(field)
    return bool(synonyms and synonyms.search(words)) or field.lower() in WORD.findall(words.lower())
