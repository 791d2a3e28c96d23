"""What a page that walks through runs is told by the kernel: each run's head and steps, and pictures as wanted.

All of it is made in threads of its own: a run of thousands of events begins to be told at once, and goes on in batches.
Of the pictures that are wanted, those of a step that is not looked at any more are not drawn. None is held here.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock
from typing import Any

from atlaskit.errors import AtlasError, reason
from atlaskit.viz.html.markup import MAX_WIDTH_PX, plain_text
from atlaskit.viz.walk.pictures import Pictures, pictures
from atlaskit.viz.walk.source import RunSource
from atlaskit.viz.walk.steps import steps
from atlaskit.viz.walk.summary import summarize
from atlaskit.viz.widgets.debounce import Debouncer, IsLatest

MOST_STEPS = 20_000
FIRST_BATCH, BATCH = 50, 500
"""Steps in one message: the first is there soon."""
MOST_BYTES = 500_000
"""Of one picture; it is shown as wide as one of a notebook."""
MOST_WANTED = 16
"""Pictures that are drawn of one wish: those of a step, or of two side by side, and of the next."""
MOST_RUNS = 6
"""Of which it is known how their pictures are drawn: those that were told last."""

Send = Callable[..., None]
"""`send(message, buffers)`, from any thread."""


class Channel:
    """Tells a page of some runs, by number. `opened` returns the run of a number, or raises AtlasError."""

    def __init__(self, opened: Callable[[int], RunSource], send: Send) -> None:
        self._opened, self._send = opened, send
        self._telling, self._drawing = dict[int, Debouncer](), Debouncer("pictures")
        self._found, self._lock = dict[int, Pictures](), Lock()

    def hear(self, message: dict[str, Any]) -> bool:
        """Take what the page says, if it is of runs; tell whether it is."""
        match message:
            case {"want": "run", "run": int(number)}:
                telling = self._telling.setdefault(number, Debouncer("steps"))
                telling.tell(lambda is_latest: self._tell(number, is_latest))
            case {"want": "pictures", "wanted": [*wanted]}:
                named = [tuple(each) for each in wanted if _is_named(each)][:MOST_WANTED]
                self._drawing.tell(lambda is_latest: self._draw(named, is_latest))
            case _:
                return False
        return True

    def _tell(self, number: int, is_latest: IsLatest) -> None:
        try:
            run = self._opened(number)
            about = summarize(run, MOST_STEPS)
            found = pictures(run)
        except AtlasError as error:
            words = plain_text(f"This run cannot be shown: {reason(error)}", 600)
            return self._send({"is": "trouble", "run": number, "words": words})
        with self._lock:
            self._found.pop(number, None)
            self._found[number] = found
            for oldest in list(self._found)[:-MOST_RUNS]:
                del self._found[oldest]
        if found.problem:
            about["notes"].append(plain_text(f"Images are missing: {found.problem}", 600))
        self._send({"is": "head", "run": number, "head": about})
        batch, first = list[dict[str, Any]](), 0
        for place, step in enumerate(steps(run, MOST_STEPS)):
            if not is_latest():
                return None
            batch.append(
                {**step, "saw": [(which, words, found.images[which].size) for which, words in _at(found, place)]}
            )
            if len(batch) == (BATCH if first else FIRST_BATCH):
                self._send({"is": "steps", "run": number, "first": first, "steps": batch, "last": False})
                batch, first = [], place + 1
        return self._send({"is": "steps", "run": number, "first": first, "steps": batch, "last": True})

    def _draw(self, wanted: list[tuple[int, int]], is_latest: IsLatest) -> None:
        """Draw pictures, the first first, until others are wanted."""
        for number, which in wanted:
            if not is_latest():
                return
            with self._lock:
                found = self._found.get(number)
            if found is None or not 0 <= which < len(found.images):
                continue
            about = {"run": number, "picture": which}
            try:
                jpeg = found.images[which].jpeg(MAX_WIDTH_PX, MOST_BYTES)
            except AtlasError as error:
                self._send({"is": "missing", **about, "words": plain_text(reason(error), 600)})
            else:
                self._send({"is": "picture", **about}, [jpeg])


def _at(found: Pictures, place: int) -> list[tuple[int, str]]:
    return found.by_event.get(place, [])


def _is_named(each: object) -> bool:
    return isinstance(each, list) and len(each) == 2 and all(type(part) is int for part in each)
