"""`SearchPanel`: the kernel's side of the explorer's search in the subtitles, for words, and by an
embedder for what is near in meaning.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from atlaskit.environment.atlas import Atlas
from atlaskit.environment.grid import clock
from atlaskit.errors import AtlasError, reason
from atlaskit.models.embedding import Embedder, embed
from atlaskit.video.subtitles import Line
from atlaskit.video.subtitles.finding import FoundLine, find_words
from atlaskit.viz.html.markup import plain_text
from atlaskit.viz.widgets.bridge import Debouncer, IsLatest
from atlaskit.viz.widgets.explorer.describe import lane

MAX_QUERY_CHARS = 200
MAX_HITS = 200
"""Most lines that the page lists; the count is of all."""
MAX_NEAR = 10
"""Lines near in meaning that follow those with the words."""
MAX_SPANS = 5_000
"""Most lines whose cells are marked."""
MAX_CHARS, CHARS_BEFORE = 240, 60
"""Characters of a line that are shown, and those before its first marked word."""
NO_SUBTITLES = (
    'This video has no subtitles to search. Open it with some: ak.open_video("film.mp4", subtitles="film.srt"), or '
    '"embedded" for a track inside the file, or ak.transcribe("film.mp4", asr) to have a speech model write them.'
)


class SearchPanel:
    """Finds the lines that contain some words, and says where they lie in the video."""

    def __init__(self, atlas: Atlas, send: Callable[[dict[str, Any]], None], embedder: Embedder | None) -> None:
        """Prepare a panel.

        Args:
            atlas: The environment of the video whose subtitles are searched.
            send: Sends a message to the page, from any thread.
            embedder: What finds lines near in meaning; None for words alone.
        """
        self._video, self._cache, self._send, self._embedder = atlas.video, atlas.cache, send, embedder
        self._jobs = Debouncer("search")

    def receive(self, message: dict[str, Any]) -> bool:
        """Handle a message of the page; return whether it was for this panel."""
        match message:
            case {"panel": "search", "want": "find", "words": str(words)}:
                query = words[:MAX_QUERY_CHARS]
                self._jobs.submit(lambda is_latest: self._find(query, is_latest))
        return message.get("panel") == "search"

    def _find(self, query: str, is_latest: IsLatest) -> None:
        """Search for words, and send what was found unless others have been typed since."""
        try:
            lines = self._video.subtitles.lines
            found, note = find_words(lines, query), "" if lines else NO_SUBTITLES
            has_words = {each.line for each in found}
            near = [FoundLine(line, ()) for line in self._near(lines, query) if line not in has_words]
        except (AtlasError, OSError) as error:
            found, near, note = [], [], plain_text(f"The subtitles cannot be searched: {reason(error)}", 600)
        if is_latest():
            self._send({"panel": "search", "words": query, "note": note, **self._described(found, near)})

    def _near(self, lines: Sequence[Line], query: str) -> list[Line]:
        """Return the lines whose vectors are nearest to a query's, best first."""
        if self._embedder is None or not lines or not query.strip():
            return []
        vectors = embed(self._embedder, [line.text for line in lines], self._cache)
        (wanted,) = embed(self._embedder, [self._embedder.query_prefix + query], self._cache)
        likeness = vectors @ wanted / np.maximum(np.linalg.norm(vectors, axis=1), 1e-9)
        return [lines[index] for index in np.argsort(-likeness, kind="stable")[:MAX_NEAR]]

    def _described(self, found: Sequence[FoundLine], near: Sequence[FoundLine]) -> dict[str, Any]:
        spans_s = [[each.line.start_s, each.line.end_s] for each in found]
        return {
            "count": len(found),
            "near": len(near),
            "hits": [_hit(each) for each in (*found[:MAX_HITS], *near)],
            "spans": spans_s[:MAX_SPANS],
            "lane": lane(spans_s, self._video.duration_s),
        }


def _hit(found: FoundLine) -> dict[str, Any]:
    """Return a line as plain JSON: its time, and its text in parts, each marked or not."""
    text, parts = found.line.text, list[list[Any]]()
    at = max(0, found.spans[0][0] - CHARS_BEFORE) if found.spans else 0
    end = min(len(text), at + MAX_CHARS)
    parts.append(["…" if at else "", False])
    for start, stop in (*found.spans, (end, end)):
        if at >= end:
            break
        parts.append([plain_text(text[at : min(start, end)], MAX_CHARS), False])
        parts.append([plain_text(text[min(start, end) : min(stop, end)], MAX_CHARS), True])
        at = stop
    parts.append(["…" if end < len(text) else "", False])
    start_s = found.line.start_s
    return {"time_s": start_s, "time": clock(start_s), "parts": [part for part in parts if part[0]]}
