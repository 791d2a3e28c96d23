"""The call that writes queries for a question, so that a search by words finds other words too."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from atlaskit.agents.schemas import Answer, Words
from atlaskit.agents.verbalize import brief, question_text
from atlaskit.environment.question import Question
from atlaskit.models.protocol import Request

MOST_QUERIES = 4
"""Queries that one call may write."""
SEARCHER = (
    "You write search queries for the archive of a long video. Its entries describe short clips: what happens, who and "
    "what is seen, text on screen, and what is said. The search compares words, so an entry that puts the same thing "
    "in other words is missed. Reply in JSON."
)
WRITE = (
    f"Write 1 to {MOST_QUERIES} short queries that would find the clips that answer the question below. Use words that "
    "such an entry may hold: other names for what is asked about, what must be seen or said at that moment, and what "
    "tells the choices apart, if there are any. Do not answer the question."
)


class QueriesAnswer(Answer):
    """What to search for."""

    queries: Annotated[list[Words], Field(min_length=1, max_length=MOST_QUERIES)]


@dataclass(frozen=True)
class QueriesCall:
    """Write queries that find what a question is about, without a look at the video."""

    question: Question

    def request(self) -> Request:
        """Return the request to the model."""
        return Request("master", "queries", brief(SEARCHER, WRITE, question_text(self.question)), QueriesAnswer, self)
