"""The stills of a film, 1280×720: question, counts, map, what agents look at, evidence, and the video's time."""

from __future__ import annotations

from PIL import Image, ImageDraw

from atlaskit.environment.drawing import burn
from atlaskit.environment.image import LazyImage
from atlaskit.environment.memory import Evidence
from atlaskit.environment.notation import clock
from atlaskit.environment.question import Span
from atlaskit.environment.render import Sheet, View
from atlaskit.environment.tiles import read_tiles
from atlaskit.errors import AtlasError, printable
from atlaskit.runs import replay
from atlaskit.runs.replay import ShownImage
from atlaskit.runs.result import Result, verdict
from atlaskit.viz.html import timeline
from atlaskit.viz.html.summaries import event_summary
from atlaskit.viz.html.timeline import Lane
from atlaskit.viz.live.map import COLOURS, EMPTY, RunMap, tag
from atlaskit.viz.live.snapshots import Snapshot
from atlaskit.viz.movie.storyboard import Beat
from atlaskit.viz.movie.text import write
from atlaskit.viz.palette import DEAD, FOUND
from atlaskit.viz.walk.details import EVENT_TITLES

SIZE = (1280, 720)
EDGE, BODY_Y, MAP_PX, TIME_Y = 24, 122, 432, 562
RIGHT_X = 2 * EDGE + MAP_PX
RIGHT_PX = SIZE[0] - RIGHT_X - EDGE
SEEN, SEEN_PX = 4, 180
"""Pictures that agents look at, in one still."""
KEPT, KEPT_PX = 6, 114
"""Frames of evidence in one still, the latest."""
QUIET, GROUND = (89, 98, 109), (255, 255, 255)
MOST_CHOICES, MOST_LINES = 8, 5
MANY = {"step": "workers look", "report": "workers come back"}
"""What happens, where it does to several at once."""


class FrameRenderer:
    """Paints a run's stills, one after the other."""

    def __init__(self, result: Result) -> None:
        self._result, self._video, self._cache = result, result.sheet.video, result.sheet.cache
        self._map = RunMap(replay.atlas_of(result.trace, self._video, self._cache), MAP_PX)
        self._map.look()
        shown = replay.pictures(result.trace, self._video, self._cache)
        self._shown: dict[int, list[ShownImage]] = {}
        for each in shown:
            self._shown.setdefault(each.place, []).append(each)
        self._moment, self._visited = Snapshot(), list[Span]()
        self._thumbs: dict[float, Image.Image] = {}

    def paint(self, beat: Beat) -> Image.Image:
        """Return the still after some more events, by their places."""
        for place in beat:
            event = self._result.trace.events[place]
            self._moment = self._moment.then(event)
            if event.kind == "report":
                start_s, end_s = event["interval_s"]
                self._visited.append((start_s, end_s))
        still, pen = self._begin()
        if beat == [0]:
            self._ask(pen)
        else:
            self._look(still, pen, beat)
        self._keep(still, pen)
        write(pen, (RIGHT_X, BODY_Y + 394), f"Master: {self._moment.master or 'begins'}", 15, RIGHT_PX, 2)
        return still

    def end(self) -> Image.Image:
        """Return the last still: the answer, and what it rests on."""
        still, pen = self._begin()
        result = self._result
        write(pen, (RIGHT_X, BODY_Y - 4), f"The answer{verdict(result.is_right)}", 18, RIGHT_PX, 1, QUIET)
        answer = result.answer if result.answer is not None else f"None could be had: {result.failure or result.stop}"
        y = write(pen, (RIGHT_X, BODY_Y + 22), answer, 30, RIGHT_PX, 3)
        write(pen, (RIGHT_X, y + 8), result.reasoning, 17, RIGHT_PX, 4)
        self._keep(still, pen)
        visits = ", ".join(f"{count} {stop}" for stop, count in result.stops.worker.items()) or "none"
        stopped = f"stopped: {result.stop} · rounds: {result.rounds} · visits of workers: {visits}"
        write(pen, (RIGHT_X, BODY_Y + 394), stopped, 15, RIGHT_PX, 2)
        return still

    def _begin(self) -> tuple[Image.Image, ImageDraw.ImageDraw]:
        """Return a still with what all of them have."""
        still, moment = Image.new("RGB", SIZE, GROUND), self._moment
        pen = ImageDraw.Draw(still)
        write(pen, (EDGE, 10), moment.question, 25, SIZE[0] - 2 * EDGE, 2)
        write(pen, (EDGE, 82), moment.counted(self._video.duration_s), 19, SIZE[0] - 2 * EDGE, 1, QUIET)
        still.paste(self._map.paint(moment), (EDGE, BODY_Y))
        if self._map.trouble:
            write(pen, (EDGE + 8, BODY_Y + 8), f"No frames: {self._map.trouble}", 14, MAP_PX - 16, 3)
        lanes = [
            Lane("evidence", moments=[(item.timestamp_s, item.label) for item in moment.evidence]),
            Lane("looked at", self._visited, [visit.interval_s for visit in moment.at_work.values()], colour=FOUND),
            Lane("ruled out", moment.memory.dead_zones.intervals, colour=DEAD),
        ]
        time = timeline.draw(lanes, self._video.duration_s)
        width = SIZE[0] - 2 * EDGE
        time = time.resize((width, round(time.height * width / time.width)), Image.Resampling.LANCZOS)
        still.paste(time, (EDGE, TIME_Y))
        return still, pen

    def _ask(self, pen: ImageDraw.ImageDraw) -> None:
        question, y = self._result.question, BODY_Y - 4
        asked = "Which of these is it?" if question.choices else f"It is asked of {self._video.name}."
        y = write(pen, (RIGHT_X, y), asked, 18, RIGHT_PX, 2, QUIET)
        for number, choice in enumerate(question.choices[:MOST_CHOICES]):
            y = write(pen, (RIGHT_X, y + 4), f"{number}  {choice}", 20, RIGHT_PX, 1)

    def _look(self, still: Image.Image, pen: ImageDraw.ImageDraw, beat: Beat) -> None:
        """Draw what is looked at in some events; say what they are where that is nothing but the map."""
        seen, events = self._seen(beat), [self._result.trace.events[place] for place in beat]
        kind = events[-1].kind
        said = (MANY if len(events) > 1 else EVENT_TITLES).get(kind) or EVENT_TITLES.get(kind, kind)
        more = f" ({len(seen) - SEEN} more are not shown)" if len(seen) > SEEN else ""
        y = write(pen, (RIGHT_X, BODY_Y - 4), said[:1].upper() + said[1:] + more, 16, RIGHT_PX, 1, QUIET)
        for number, (worker, shown) in enumerate([*seen.items()][:SEEN]):
            x, y = RIGHT_X + number * (SEEN_PX + 14), BODY_Y + 20
            still.paste(_boxed(_small(shown.picture), SEEN_PX), (x, y))
            if worker is not None:
                pen.rectangle((x, y, x + SEEN_PX - 1, y + SEEN_PX - 1), outline=COLOURS[worker % len(COLOURS)], width=3)
                tag(still, (x + SEEN_PX - 1, y), str(worker), 16, COLOURS[worker % len(COLOURS)])
            write(pen, (x, y + SEEN_PX + 4), self._told_of(shown, worker), 13, SEEN_PX, 2)
        for event in events[:MOST_LINES] if not seen else ():
            by = "" if event.worker is None else f"worker {event.worker}: "
            y = write(pen, (RIGHT_X, y + 6), by + event_summary(event), 16, RIGHT_PX, 2)

    def _seen(self, beat: Beat) -> dict[int | None, ShownImage]:
        """Return what each worker looks at in some events, and under None the Master; the map itself is always seen."""
        last = {self._result.trace.events[place].worker: self._shown.get(place, [])[-1:] for place in beat}
        # What was asked to see beside a grid comes after that.
        return {who: shown for who, found in last.items() for shown in found if not _is_map(shown.picture)}

    def _told_of(self, shown: ShownImage, worker: int | None) -> str:
        if isinstance(shown.picture, Sheet):
            return f"the Master: {len(shown.picture.scratchpad)} frames of evidence"
        visit = None if worker is None else self._moment.at_work.get(worker)
        return visit.doing if visit else shown.event.kind

    def _keep(self, still: Image.Image, pen: ImageDraw.ImageDraw) -> None:
        """Draw the latest evidence."""
        y, kept = BODY_Y + 242, self._moment.evidence.items
        more = f", the latest {KEPT} of {len(kept)}" if len(kept) > KEPT else ""
        write(pen, (RIGHT_X, y), f"Evidence{more}" if kept else "No evidence yet", 16, RIGHT_PX, 1, QUIET)
        for number, item in enumerate(kept[-KEPT:]):
            x = RIGHT_X + number * (KEPT_PX + 14)
            still.paste(self._thumb(item), (x, y + 22))
            burn(still, (x, y + 22 + KEPT_PX - 18), f"[{printable(item.label, 6)}] {clock(item.timestamp_s)}", 13)

    def _thumb(self, item: Evidence) -> Image.Image:
        if item.timestamp_s not in self._thumbs:
            sheet = self._result.sheet
            try:
                tiles, _ = read_tiles(self._video, [item.timestamp_s], sheet.cell, sheet.fit, self._cache)
            except (AtlasError, OSError):
                tiles = [None]
            self._thumbs[item.timestamp_s] = _boxed(tiles[0], KEPT_PX)
        return self._thumbs[item.timestamp_s]


def _is_map(picture: LazyImage) -> bool:
    return isinstance(picture, View) and not picture.grid.path and picture.grid.start_s == 0.0


def _small(picture: LazyImage) -> Image.Image | None:
    try:
        return picture.small((SEEN_PX, SEEN_PX))
    except (AtlasError, OSError):
        return None


def _boxed(picture: Image.Image | None, side_px: int) -> Image.Image:
    """Return a picture in the middle of a square; where there is none, a sentence."""
    box = Image.new("RGB", (side_px, side_px), EMPTY)
    if picture is None:
        write(ImageDraw.Draw(box), (6, 6), "It cannot be shown.", 13, side_px - 12, 3)
        return box
    shrunk = picture.copy()
    shrunk.thumbnail((side_px, side_px), Image.Resampling.LANCZOS)
    box.paste(shrunk, ((side_px - shrunk.width) // 2, (side_px - shrunk.height) // 2))
    return box
