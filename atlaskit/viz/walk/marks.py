"""`Marker`: the cells of a step's images to outline, as shares of the image.

The page draws outlines over an image, so the image stays the one that the agent saw, in the cache
and in an exported page. Outlined are the cells that an action names, those that the Master scores
or queues, frames that an answer cites, and cells that hold the answer where it is known.
"""

from __future__ import annotations

from collections.abc import Iterator

from atlaskit.environment.grid import Grid
from atlaskit.environment.render import squared
from atlaskit.runs.events import Cite, Decision, Event, Look, Plan, Probe, Review, SheetRecord, Step, ViewRecord, Vote
from atlaskit.runs.narrate import cited_labels
from atlaskit.viz.html.markup import plain_text
from atlaskit.viz.walk.findings import FindingSteps
from atlaskit.viz.walk.regions import grid_of_view
from atlaskit.viz.walk.source import RunSource
from atlaskit.viz.walk.truth import cells_over, moments_of

ACTED, TRUE, CITED, ERASED = "acted", "true", "cited", "erased"
"""Why a cell is outlined: an agent acted on it, it holds the answer, the answer cites it, or it is
erased evidence."""
MAX_MARKS = 256
"""Most outlines in one image."""
MAX_CELLS = 65_536
"""Most cells of a grid that are outlined; a trace may name any k."""

Mark = tuple[float, float, float, float, str, str]
"""Left, top, width and height as shares of the image; a text in the corner; why it is outlined."""

_WORDS = {"Expand": "opens", "Zoom": "looks", "MarkPromising": "promising"}


class Marker:
    """Returns the outlines for the images of one run."""

    def __init__(self, run: RunSource) -> None:
        self._run, self._moments, self._findings = run, moments_of(run), FindingSteps(run.trace)

    def marks(self, event: Event, what: str, view: ViewRecord | None = None) -> list[Mark]:
        """Return the outlines for one image of an event.

        Args:
            event: The event.
            what: The field of the event that records the image: view, shown or sheet.
            view: The view, if that is what it records.
        """
        sheet = getattr(event, "sheet", None)
        if view is not None:
            return list(self._of_view(event, view))[:MAX_MARKS]
        if what == "sheet" and isinstance(sheet, SheetRecord):
            return list(self._of_sheet(event, sheet))[:MAX_MARKS]
        return []

    def _of_view(self, event: Event, view: ViewRecord) -> Iterator[Mark]:
        k, grid = view.k or self._run.k, grid_of_view(view, self._run.within, self._run.k)
        if k is None:
            return
        cells = range(min(k * k, MAX_CELLS))
        if grid is not None:
            over = dict.fromkeys(cell for moment in self._moments for cell in cells_over(moment, grid))
            yield from (_box(cell, (k, k), "", TRUE) for cell in over if cell in cells)
        yield from (_box(cell, (k, k), text, ACTED) for cell, text in self._acted_on(event, grid) if cell in cells)

    def _acted_on(self, event: Event, grid: Grid | None) -> Iterator[tuple[int, str]]:
        """Yield the cells of a grid that an event is about, each with a text."""
        match event:
            case Step(action=action):
                cells = action.all_cells
                labels = [f"[{item.label}]" for item in event.found]
                word = _WORDS.get(action.name, action.direction or "")
                texts = labels if len(labels) == len(cells) else [word] * len(cells)
                yield from zip(cells, texts, strict=True)
            case Probe(scores=scores):
                best = sorted(scores.items(), key=lambda scored: -scored[1])
                yield from ((cell, f"{score:.2g}") for cell, score in best)
            case Review(queued=paths):
                yield from dict.fromkeys((path[0], "next") for path in paths if path)
            case Cite(found=found) | Plan(found=found) | Look(found=found):
                for item in found:
                    if grid is not None and grid.start_s <= item.timestamp_s < grid.end_s:
                        yield grid.cell_at(item.timestamp_s).index, f"[{item.label}]" if item.label else "kept"

    def _of_sheet(self, event: Event, sheet: SheetRecord) -> Iterator[Mark]:
        about = [(label, "", TRUE) for label in sheet.labels if self._is_true(self._findings.time_of(label))]
        if isinstance(event, Review):
            about += [(label, "erased", ERASED) for label in event.erased]
        if isinstance(event, Decision | Vote):
            about += [(label, "cited", CITED) for label in dict.fromkeys(cited_labels(event.answer))]
        for label, text, why in about:
            if label in sheet.labels:
                yield _box(sheet.labels.index(label), squared(len(sheet.labels)), text, why)

    def _is_true(self, time_s: float | None) -> bool:
        """Return whether a time lies in a moment that holds the answer."""
        return time_s is not None and any(start_s <= time_s < end_s for start_s, end_s in self._moments)


def _box(place: int, shape: tuple[int, int], text: str, why: str) -> Mark:
    """Return the outline of a cell of an image with so many columns and rows."""
    columns, rows = shape
    row, column = divmod(place, columns)
    return column / columns, row / rows, 1 / columns, 1 / rows, plain_text(text, 40), why
