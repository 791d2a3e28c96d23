"""The oracle's queries for a search, made of nothing but the words of the question."""

from __future__ import annotations

import re
from typing import Any

from atlaskit.methods.retrieval import MOST_QUERIES, QueriesCall
from atlasworld.oracle.perception import Perception, Replies

QUOTED = re.compile(r"“([^”]+)”")
"""A line that somebody says, in a question."""


def queries_reply(perception: Perception, call: QueriesCall) -> dict[str, Any]:
    """Return what is said, if the question quotes it, or else each choice that is not a number.

    A query that is overlooked is left out; without any, it is the question itself.
    """
    question = call.question
    quoted = QUOTED.findall(question.text)
    named = [choice for choice in question.choices if not choice.isdecimal()]
    wanted = (quoted or named)[:MOST_QUERIES]
    queries = [query for query in wanted if not perception.chances.misses(question, "query", query)]
    return {"queries": queries or [question.text]}


REPLIES: Replies = {QueriesCall: queries_reply}
