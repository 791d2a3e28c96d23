"""The images of a movie, 1280×720: question, counts, root grid, what agents see, evidence, time."""

from __future__ import annotations

from PIL import Image, ImageDraw

from atlaskit.environment.grid import clock
from atlaskit.environment.image import LazyImage, burn
from atlaskit.environment.memory import Evidence
from atlaskit.environment.question import Span
from atlaskit.environment.render import Sheet, View
from atlaskit.environment.tiles import read_tiles
from atlaskit.errors import AtlasError, printable
from atlaskit.runs import replay
from atlaskit.runs.events import Report
from atlaskit.runs.narrate import TITLES, counted, summary
from atlaskit.runs.replay import ShownImage
from atlaskit.runs.result import WITHOUT_EVIDENCE, Result, in_words, verdict
from atlaskit.viz.html import timeline
from atlaskit.viz.html.timeline import Lane
from atlaskit.viz.live.map import EMPTY, WORKER_COLOURS, RunMap, draw_badge
from atlaskit.viz.live.snapshots import Snapshot
from atlaskit.viz.movie.storyboard import Scene
from atlaskit.viz.movie.text import write
from atlaskit.viz.palette import DEAD, FOUND

SIZE = (1280, 720)
MARGIN, BODY_Y, MAP_PX, TIMELINE_Y = 24, 122, 432, 562
RIGHT_X = 2 * MARGIN + MAP_PX
"""Left edge of what stands beside the map."""
RIGHT_PX = SIZE[0] - RIGHT_X - MARGIN
FOOTER_Y = BODY_Y + 394
MAX_SEEN, SEEN_PX = 4, 180
"""Most images of what agents see, and their width and height."""
MAX_EVIDENCE, EVIDENCE_PX = 6, 114
"""Most evidence frames, the latest, and their width and height."""
GAP = 14
"""Pixels between two images."""
MUTED_INK, BACKGROUND = (89, 98, 109), (255, 255, 255)
MAX_CHOICES, MAX_EVENTS = 8, 5
WORKER_TITLES = {"step": "workers explore", "report": "workers report"}
"""Titles of events of several workers."""


class FrameRenderer:
    """Draws the images of one run's movie, in the order of its events."""

    def __init__(self, result: Result) -> None:
        """Prepare the images.

        Raises:
            InputError: The trace is of another video or of a run without a root grid.
        """
        self._result, self._video, self._cache = result, result.sheet.video, result.sheet.cache
        self._map = RunMap(replay.atlas_of(result.trace, self._video, self._cache), MAP_PX)
        self._map.load()
        self._shown: dict[int, list[ShownImage]] = {}
        for shown in replay.pictures(result.trace, self._video, self._cache):
            self._shown.setdefault(shown.place, []).append(shown)
        self._snapshot, self._visited = Snapshot(), list[Span]()
        self._thumbnails: dict[float, Image.Image] = {}

    def draw(self, scene: Scene) -> Image.Image:
        """Return the image of the next scene."""
        for index in scene:
            event = self._result.trace.events[index]
            self._snapshot = self._snapshot.after_event(event)
            if isinstance(event, Report):
                self._visited.append(event.interval_s)
        still, pen = self._draw_frame()
        if scene == [0]:
            self._draw_choices(pen)
        else:
            self._draw_scene(still, pen, scene)
        self._draw_evidence(still, pen)
        write(pen, (RIGHT_X, FOOTER_Y), f"Master: {self._snapshot.master or 'starts'}", 15, RIGHT_PX, 2)
        return still

    def draw_end(self) -> Image.Image:
        """Return the last image: the answer, the reasoning, and the evidence."""
        still, pen = self._draw_frame()
        result = self._result
        write(pen, (RIGHT_X, BODY_Y - 4), f"The answer{verdict(result.is_right)}", 18, RIGHT_PX, 1, MUTED_INK)
        answer, truth = result.answer_in_words or f"No answer: {result.failure or result.stop}", result.truth_in_words
        y = write(pen, (RIGHT_X, BODY_Y + 22), answer, 30, RIGHT_PX, 3)
        if result.without_evidence:
            y = write(pen, (RIGHT_X, y + 2), WITHOUT_EVIDENCE, 18, RIGHT_PX, 1)
        if truth and truth != answer:
            y = write(pen, (RIGHT_X, y + 2), f"Truth: {truth}", 18, RIGHT_PX, 2)
        write(pen, (RIGHT_X, y + 8), result.reasoning, 17, RIGHT_PX, 4)
        self._draw_evidence(still, pen)
        visits = ", ".join(f"{count} {stop}" for stop, count in result.stops.worker.items()) or "none"
        footer = f"stopped by: {result.stop} · {counted(result.rounds, 'round')} · visits of workers: {visits}"
        write(pen, (RIGHT_X, FOOTER_Y), footer, 15, RIGHT_PX, 2)
        return still

    def _draw_frame(self) -> tuple[Image.Image, ImageDraw.ImageDraw]:
        """Return an image with the parts that all have: question, counts, map, and timeline."""
        still, width = Image.new("RGB", SIZE, BACKGROUND), SIZE[0] - 2 * MARGIN
        pen = ImageDraw.Draw(still)
        write(pen, (MARGIN, 10), self._snapshot.question, 25, width, 2)
        write(pen, (MARGIN, 82), self._snapshot.counts_text(self._video.duration_s), 19, width, 1, MUTED_INK)
        side = (MAP_PX - self._map.size[0]) // 2
        still.paste(self._map.draw(self._snapshot), (MARGIN + side, BODY_Y))
        if self._map.problem:
            note = f"The frames cannot be shown: {self._map.problem}"
            write(pen, (MARGIN + 8, BODY_Y + 8), note, 14, MAP_PX - 16, 3)
        lanes = timeline.draw(self._lanes(), self._video.duration_s)
        size = (width, round(lanes.height * width / lanes.width))
        still.paste(lanes.resize(size, Image.Resampling.LANCZOS), (MARGIN, TIMELINE_Y))
        return still, pen

    def _lanes(self) -> list[Lane]:
        snapshot = self._snapshot
        current = [visit.interval_s for visit in snapshot.visits.values()]
        return [
            Lane("evidence", moments=[(item.timestamp_s, item.label) for item in snapshot.evidence]),
            Lane("visits", self._visited, current, colour=FOUND),
            Lane("dead zones", snapshot.memory.dead_zones.intervals, colour=DEAD),
        ]

    def _draw_choices(self, pen: ImageDraw.ImageDraw) -> None:
        question = self._result.question
        title = "Choices" if question.choices else f"Video: {self._video.name}"
        y = write(pen, (RIGHT_X, BODY_Y - 4), title, 18, RIGHT_PX, 2, MUTED_INK)
        for index in range(min(len(question.choices), MAX_CHOICES)):
            y = write(pen, (RIGHT_X, y + 4), in_words(question, index), 20, RIGHT_PX, 1)

    def _draw_scene(self, still: Image.Image, pen: ImageDraw.ImageDraw, scene: Scene) -> None:
        """Draw what agents see in a scene; if that is only the root grid, list the events."""
        seen, events = self._seen_by_agent(scene), [self._result.trace.events[index] for index in scene]
        kind = events[-1].kind
        title = (WORKER_TITLES if len(events) > 1 else TITLES).get(kind) or TITLES[kind]
        more = f" ({len(seen) - MAX_SEEN} more not shown)" if len(seen) > MAX_SEEN else ""
        y = write(pen, (RIGHT_X, BODY_Y - 4), title[:1].upper() + title[1:] + more, 16, RIGHT_PX, 1, MUTED_INK)
        for number, (worker, shown) in enumerate([*seen.items()][:MAX_SEEN]):
            self._draw_seen(still, pen, (RIGHT_X + number * (SEEN_PX + GAP), BODY_Y + 20), worker, shown)
        for event in events[:MAX_EVENTS] if not seen else ():
            agent = "" if event.worker is None else f"Worker {event.worker}: "
            y = write(pen, (RIGHT_X, y + 6), agent + summary(event), 16, RIGHT_PX, 2)

    def _draw_seen(
        self,
        still: Image.Image,
        pen: ImageDraw.ImageDraw,
        corner: tuple[int, int],
        worker: int | None,
        shown: ShownImage,
    ) -> None:
        """Draw one image that an agent sees, with the number of a worker, and a caption."""
        x, y = corner
        still.paste(_squared(_small(shown.picture), SEEN_PX), corner)
        if worker is not None:
            colour = WORKER_COLOURS[worker % len(WORKER_COLOURS)]
            pen.rectangle((x, y, x + SEEN_PX - 1, y + SEEN_PX - 1), outline=colour, width=3)
            draw_badge(still, (x + SEEN_PX - 1, y), str(worker), 16, colour)
        write(pen, (x, y + SEEN_PX + 4), self._caption(shown, worker), 13, SEEN_PX, 2)

    def _seen_by_agent(self, scene: Scene) -> dict[int | None, ShownImage]:
        """Return the last image that each agent sees in a scene, by worker; None is the Master.

        The root grid is left out, because the map shows it. An image that an agent requested comes
        after its grid, and so is the last.
        """
        last = {self._result.trace.events[index].worker: self._shown.get(index, [])[-1:] for index in scene}
        return {
            worker: shown for worker, images in last.items() for shown in images if not _is_root_grid(shown.picture)
        }

    def _caption(self, shown: ShownImage, worker: int | None) -> str:
        if isinstance(shown.picture, Sheet):
            return f"Master: {counted(len(shown.picture.scratchpad), 'evidence frame')}"
        visit = None if worker is None else self._snapshot.visits.get(worker)
        return visit.activity if visit else shown.event.kind

    def _draw_evidence(self, still: Image.Image, pen: ImageDraw.ImageDraw) -> None:
        """Draw the latest evidence frames."""
        y, items = BODY_Y + 242, self._snapshot.evidence.items
        more = f", the latest {MAX_EVIDENCE} of {len(items)}" if len(items) > MAX_EVIDENCE else ""
        write(pen, (RIGHT_X, y), f"Evidence{more}" if items else "No evidence", 16, RIGHT_PX, 1, MUTED_INK)
        for number, item in enumerate(items[-MAX_EVIDENCE:]):
            x = RIGHT_X + number * (EVIDENCE_PX + GAP)
            still.paste(self._thumbnail(item), (x, y + 22))
            label = f"[{printable(item.label, 6)}] {clock(item.timestamp_s)}"
            burn(still, (x, y + 22 + EVIDENCE_PX - 18), label, 13)

    def _thumbnail(self, item: Evidence) -> Image.Image:
        if item.timestamp_s not in self._thumbnails:
            sheet = self._result.sheet
            try:
                tiles, _ = read_tiles(self._video, [item.timestamp_s], sheet.cell_size, sheet.look.fit, self._cache)
            except (AtlasError, OSError):
                tiles = [None]
            self._thumbnails[item.timestamp_s] = _squared(tiles[0], EVIDENCE_PX)
        return self._thumbnails[item.timestamp_s]


def _is_root_grid(picture: LazyImage) -> bool:
    return isinstance(picture, View) and not picture.grid.path and picture.grid.start_s == 0.0


def _small(picture: LazyImage) -> Image.Image | None:
    """Return a picture at the size of one that agents see; None if it cannot be drawn."""
    try:
        return picture.small((SEEN_PX, SEEN_PX))
    except (AtlasError, OSError):
        return None


def _squared(picture: Image.Image | None, side_px: int) -> Image.Image:
    """Return a picture in the middle of a square, or a square with a note if there is none."""
    square = Image.new("RGB", (side_px, side_px), EMPTY)
    if picture is None:
        write(ImageDraw.Draw(square), (6, 6), "This image cannot be shown.", 13, side_px - 12, 3)
        return square
    shrunk = picture.copy()
    shrunk.thumbnail((side_px, side_px), Image.Resampling.LANCZOS)
    square.paste(shrunk, ((side_px - shrunk.width) // 2, (side_px - shrunk.height) // 2))
    return square
