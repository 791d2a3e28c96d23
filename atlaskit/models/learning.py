"""`Habits`: what an endpoint turned out to do or refuse, and `learn`: what an error of it teaches.

Only an error that names what it refuses teaches anything: a field, the name of the length limit, or
the most tokens. Nothing is tried out, and each lesson is learned once by a client, which keeps it
for its life and no longer. What an endpoint needs for good is declared: see `dialect`.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass, replace

from atlaskit.models.http import HttpFailure

TEACHING = frozenset({0, 400, 404, 415, 422, 500, 501})
"""Statuses of errors that may name what is wrong with a request; 0 for an error in a success."""
REFUSAL = re.compile(
    r"(un|not |isn't |n't )support|unknown|unrecogni[sz]ed|unexpected|extra (inputs|fields)|no such"
    r"|(un|not )(available|accept|recogni|implement|enabled)|not (be )?(permitted|allowed)|invalid"
    r"|deprecated|fail(ed|s|ure)?|too (many|complex|large|deep)|cannot|can't"
    r"|only the default|must (not )?be|does not (accept|allow)|incompatible",
    re.IGNORECASE,
)
SYNONYMS = {
    "response_format": r"response.?format|(json.?)?schema|structured.?outputs?|guided|grammar|constrained",
    "structured_outputs": r"structured.?outputs?|grammar|guidance",
}
"""What errors call a field, beside its name."""
LENGTHS = ("max_tokens", "max_completion_tokens")
MOST_TOKENS = (
    r"at most (\d+)",
    r"> (\d+),? which is the max",
    r"to (\d+) \((?:ex|in)clusive\)",
    r"less than or equal to (\d+)",
    r"(?:maximum|max|limit)[^.\d]{0,40}?(?:output|completion|new|generated)[^.\d]{0,30}?(\d+)",
)
"""How services tell the most tokens of an answer."""
CONTEXT = re.compile(r"(?:context|max_model_len)[^.\d]{0,40}?(\d+)", re.IGNORECASE)
PROMPT = re.compile(
    r"(\d+) (?:tokens? )?(?:input|in the (?:messages|input)|of text input|prompt|from the input)"
    r"|(?:has|passed|contains|requested) (?:at least )?(\d+) (?:input|prompt)"
    r"|prompt contains (?:at least )?(\d+)",
    re.IGNORECASE,
)
FEWEST_TOKENS = 256
"""A limit on an answer below this leaves no room for one."""


@dataclass(frozen=True)
class Habits:
    """What was learned of an endpoint and one of its models, beside what its dialect declares."""

    needs_words: bool = False
    """Whether it answers past the schema, unless that is told in words too."""
    thinks: bool = False
    """Whether it thinks although its name does not say so, and needs room for that."""
    refused: tuple[str, ...] = ()
    """Fields that it refuses by name. They are left out."""
    length: str = ""
    """The name that it wants for the limit on an answer's length; "" for the dialect's."""
    most_tokens: int = 0
    """Most tokens of an answer that it accepts; 0 if it has not said."""


def learn(failure: HttpFailure, habits: Habits, sent: Collection[str], length: str, limit: int) -> Habits:
    """Return the habits after a failure; the same ones if it teaches nothing new.

    Args:
        failure: The failure of a request.
        habits: What was known when it was sent.
        sent: The names of its optional fields.
        length: The name under which it limited the length of the answer.
        limit: That limit.
    """
    words = failure.explanation.words
    if failure.status not in TEACHING or not words or failure.explanation.kind not in ("", "too long"):
        return habits
    tokens = _most_tokens(words, limit)
    if tokens is not None:
        return replace(habits, most_tokens=tokens)
    if not REFUSAL.search(words):
        return habits
    other = LENGTHS[1 - LENGTHS.index(length)] if length in LENGTHS else ""
    if other and not habits.length and _names(words, length) and (_names(words, other) or "extra" in words.lower()):
        return replace(habits, length=other)
    refused = tuple(name for name in sent if name not in habits.refused and _names(words, name))
    return replace(habits, refused=(*habits.refused, *refused)) if refused else habits


def _names(words: str, field: str) -> bool:
    pattern = SYNONYMS.get(field, re.escape(field))
    return bool(re.search(rf"(?<![A-Za-z_])(?:{pattern})(?![A-Za-z_])", words, re.IGNORECASE))


def _most_tokens(words: str, limit: int) -> int | None:
    """Return the most tokens that an error allows an answer, if that is less than was asked for."""
    if not re.search(r"token|context", words, re.IGNORECASE):
        return None
    plain = words.replace(",", "") if re.search(r"\d,\d{3}", words) else words
    context, prompt = CONTEXT.search(plain), PROMPT.search(plain)
    if context and prompt:
        most = int(context[1]) - int(next(filter(None, prompt.groups())))
    else:
        found = next(filter(None, (re.search(pattern, plain, re.IGNORECASE) for pattern in MOST_TOKENS)), None)
        if found is None or context:
            return None
        most = int(found[1])
    return most if FEWEST_TOKENS <= most < limit else None
