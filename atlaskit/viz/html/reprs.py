"""What is shown of each kind of object: one function a kind, each of which returns HTML.

Knows nothing of notebooks. Whatever an object holds may be a stranger's, or damaged.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

from atlaskit.caching.cache import Cache, cache_in_use
from atlaskit.environment.image import LazyImage
from atlaskit.environment.memory import DeadZones, Scratchpad
from atlaskit.environment.notation import clock, listed
from atlaskit.environment.observation import Observation
from atlaskit.environment.question import Span
from atlaskit.environment.render import Sheet, Still, View
from atlaskit.environment.render import view as contact_sheet
from atlaskit.models.usage import Usage
from atlaskit.runs.events import Event
from atlaskit.runs.result import Result
from atlaskit.runs.trace import Trace
from atlaskit.video.playlist import Playlist
from atlaskit.video.video import Video
from atlaskit.viz.html import timeline
from atlaskit.viz.html.markup import Html, card, facts, image, paragraph, part, picture, strange, table, tag, text
from atlaskit.viz.html.timeline import Lane
from atlaskit.viz.palette import DEAD, FOUND, TRUTH

WIDEST_PX, SMALL_PX = 960, 640
SMALL_CELL_PX = SMALL_PX // 8
"""Of the contact sheet that a video shows of itself: 8×8 cells, as on the map itself."""
MOST_ITEMS = 64
"""Frames of evidence in one display, the surest."""
MOST_SAID, MOST_SPANS, MOST_CHOICES = 12, 40, 40
MOST_EVENTS = 200
"""Rows of a trace: from its beginning, and from its end."""
MOST_LANES = 12
"""Rows of a path: of a run of more rounds, several share one."""
MEGABYTE = 1_000_000


def video(video: Video) -> Html:
    """Show a video's facts, and its contact sheet in small.

    The sheet is drawn by the frames that are cheap to have, and kept in the cache that was opened last: a video has
    none of its own.
    """
    width, height = video.size
    rows: list[tuple[str, object]] = [
        ("length", f"{clock(video.duration_s)} ({video.duration_s:,.3f} s)"),
        ("frames", f"{width}×{height} px, {video.fps:g} a second"),
        ("subtitles", f"{len(video.subtitles):,} lines" if len(video.subtitles) else "none"),
        ("fingerprint", strange(video.fingerprint, 16)),
    ]
    if isinstance(video, Playlist):
        rows.insert(0, ("parts", len(video.parts)))

    def small() -> View:
        return contact_sheet(video, cell=SMALL_CELL_PX, sampling="auto", cache=cache_in_use())

    return card(
        _title("Video", video.name),
        part("The facts", lambda: facts(rows)),
        part("The contact sheet", lambda: picture(small().jpeg, grid_told(small()), SMALL_PX)),
        part("Its cells", lambda: paragraph(_cells_told(small()))),
    )


def view(view: View, widest_px: int = WIDEST_PX) -> Html:
    """Show a grid of frames, and what it is a grid of."""
    return card(
        part("The picture", lambda: picture(view.jpeg, grid_told(view), widest_px)),
        part("Its cells", lambda: paragraph(strange(view.video.name), " · ", _cells_told(view))),
    )


def still(still: Still, widest_px: int = WIDEST_PX) -> Html:
    """Show one frame, and when it is."""
    told = f"at {clock(still.time_s)}"
    return card(
        picture(still.jpeg, f"The frame of {still.video.name} {told}.", widest_px),
        paragraph(strange(still.video.name), " · the frame ", told),
    )


def sheet(sheet: Sheet) -> Html:
    """Show the frames of a scratchpad, and what is told of each."""
    return card(_evidence(sheet), part("The evidence", lambda: _items(sheet.scratchpad)))


def observation(seen: Observation) -> Html:
    """Show what an agent sees: the frame or scan that it asked for, the grid, what it may do, and what is said."""
    return card(
        part("Where it is", lambda: _where(seen)),
        _picture_of(seen.looking_at) if seen.looking_at is not None else "",
        view(seen.view, SMALL_PX),
        part("What is legal", lambda: _legal(seen)),
        part("What is said", lambda: _said(seen)),
    )


def scratchpad(scratchpad: Scratchpad) -> Html:
    """Show the items of M+ in words: which frames they are is known, and not of which video."""
    return card(_title("Scratchpad", f"{_counted(len(scratchpad), 'frame')} of evidence"), _items(scratchpad))


def dead_zones(zones: DeadZones, duration_s: float | None = None) -> Html:
    """Show what is ruled out, over a video's time where its length is told, else up to where the last zone ends."""
    if not zones.intervals:
        return card(_title("Dead zones", "nothing is ruled out"))
    end_s = duration_s or zones.intervals[-1][1]
    share = f", {zones.coverage(0.0, end_s):.0%} of the video" if duration_s else ""
    told = f"{_counted(len(zones.intervals), 'interval')}, {_long(_length(zones.intervals))} in all{share}"
    open_end = "" if duration_s else "The line ends where the last zone does: how long the video is, is not known here."
    rows = [(number, clock(a), clock(b), _long(b - a)) for number, (a, b) in enumerate(zones.intervals[:MOST_SPANS], 1)]
    return card(
        _title("Dead zones", told),
        part(
            "The timeline",
            lambda: _drawn(
                [Lane("ruled out", zones.intervals, colour=DEAD)], end_s, f"Ruled out: {spans_told(zones.intervals)}."
            ),
        ),
        paragraph(open_end) if open_end else "",
        part("The table", lambda: table("Ruled out", ("", "from", "to", "length"), rows)),
        _left_out(len(zones.intervals) - len(rows), "interval"),
    )


def result(result: Result) -> Html:
    """Show an answer, what speaks for and against each choice, the frames it rests on, the way there, and its cost."""
    return card(
        _title("", result.question.text),
        part("The answer", lambda: facts(_answered(result))),
        part("The choices", lambda: _choices(result)) if result.question.choices else "",
        _evidence(result.sheet) if len(result.evidence) else paragraph("No frame was kept as evidence."),
        part("The evidence", lambda: _items(result.evidence)) if len(result.evidence) else "",
        part("The path", lambda: _path(result)),
        part("The cost", lambda: _costs(result)),
    )


def trace(trace: Trace) -> Html:
    """Show the events of a run, in short; of a long one its beginning and its end."""
    events = list(enumerate(trace.events))
    if not events:
        return card(_title("Trace", "no events"))
    kinds = ", ".join(f"{count:,} {kind}" for kind, count in islice(Counter(str(e.kind) for e in trace).items(), 20))
    half = MOST_EVENTS // 2
    shown = events if len(events) <= MOST_EVENTS else [*events[:half], *events[-half:]]
    columns = ("event", "kind", "round", "worker", "what", "tokens")
    left_out = len(events) - len(shown)
    where = f", between event {half - 1:,} and event {len(events) - half:,}" if left_out else ""
    return card(
        _title("Trace", f"{_counted(len(events), 'event')}: {kinds}"),
        _left_out(left_out, "event", where),
        table("Events", columns, (_event_row(place, event) for place, event in shown)),
    )


def cache(cache: Cache) -> Html:
    """Show what is in a cache, by kind."""
    place = "in memory" if cache.directory is None else str(cache.directory)
    stats = cache.stats()
    if not stats:
        return card(_title("Cache", place), paragraph("It is empty, and nothing was looked for in it."))
    counts = ("entries", "bytes", "hits", "misses", "corrupt", "evicted")
    each = {strange(kind, 40): counted for kind, counted in islice(stats.items(), MOST_SPANS)}
    each[text("all")] = {count: sum(counted[count] for counted in stats.values()) for count in counts}
    columns = ("kind", "entries", "MB", *counts[2:])
    rows = (
        (kind, counted["entries"], f"{counted['bytes'] / MEGABYTE:,.2f}", *(counted[count] for count in counts[2:]))
        for kind, counted in each.items()
    )
    return card(
        _title("Cache", place),
        table("Hits and misses are of this object, the rest of the cache as it is", columns, rows),
        _left_out(len(stats) - MOST_SPANS, "kind"),
    )


def _title(kind: str, what: str) -> Html:
    return paragraph(tag("strong", kind, ": " if kind else "", strange(what, 1_000)))


def _counted(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"


def _left_out(count: int, what: str, where: str = "") -> str:
    return (
        paragraph(f"{_counted(count, what)} more {'is' if count == 1 else 'are'} not shown{where}.")
        if count > 0
        else ""
    )


def _long(seconds: float) -> str:
    return f"{seconds:,.3g} s" if seconds < 60 else clock(seconds)


def _length(spans: Iterable[Span]) -> float:
    return sum(b - a for a, b in spans)


def _span(span: Sequence[float]) -> str:
    return f"{clock(span[0])}–{clock(span[1])}"


def spans_told(spans: Sequence[Sequence[float]], most: int = MOST_SAID) -> str:
    """Return intervals in words, the first ones of many."""
    more = [f"and {len(spans) - most:,} more"] if len(spans) > most else []
    return ", ".join([*map(_span, spans[:most]), *more]) or "nothing"


def _cells_told(view: View) -> str:
    grid, dead = view.grid, sorted(view.dead)
    is_map = (grid.root_start_s, grid.root_end_s) == (0.0, view.video.duration_s)  # a context scan has no depth
    parts = [
        f"{grid.k}×{grid.k} cells of {_long(grid.span_s / grid.size)}",
        _span((grid.start_s, grid.end_s)),
        *([f"depth {grid.depth}"] if is_map else []),
        *([f"ruled out, and black: {listed(dead)}"] if dead else []),
    ]
    return " · ".join(parts)


def grid_told(view: View) -> str:
    """Return what a grid is a picture of, in a sentence."""
    return f"A contact sheet of {view.video.name}: {_cells_told(view)}."


def _picture_of(shown: LazyImage) -> Html:
    match shown:
        case View():
            return view(shown, SMALL_PX)
        case Still():
            return still(shown, SMALL_PX)
    return picture(shown.jpeg, "What was asked to see.", SMALL_PX)


def _evidence(sheet: Sheet) -> Html:
    """Return the frames of evidence as one picture. It is the sheet itself, where that is not too large: what was drawn
    of it before is not decoded again."""

    def drawn() -> str:
        shown = sheet.scratchpad.surest(MOST_ITEMS)
        if not len(shown):
            return paragraph("No frame was kept as evidence.")
        frames = ", ".join(f"{item.label} at {clock(item.timestamp_s)}" for item in islice(shown, MOST_SAID))
        more = f", and {len(shown) - MOST_SAID} more" if len(shown) > MOST_SAID else ""
        return picture(replace(sheet, scratchpad=shown).jpeg, f"The frames of evidence: {frames}{more}.", SMALL_PX)

    return part("The frames of evidence", drawn)


def _items(scratchpad: Scratchpad) -> Html:
    if not len(scratchpad):
        return paragraph("There is no evidence.")
    shown = sorted(scratchpad.surest(MOST_ITEMS), key=lambda item: item.timestamp_s)
    rows = (
        (
            strange(item.label, 8),
            clock(item.timestamp_s),
            _span((item.start_s, item.end_s)),
            f"{item.confidence:.0%}",
            strange(item.description, 300),
            strange(item.subtitle, 200) if item.subtitle else "",
        )
        for item in shown
    )
    columns = ("frame", "time", "of the cell", "sure to", "what it shows", "what is said")
    return card(table("Evidence, in order of time", columns, rows), _left_out(len(scratchpad) - len(shown), "frame"))


def _where(seen: Observation) -> Html:
    state, grid = seen.state, seen.state.grid
    way = " → ".join(["root", *map(str, grid.path)])
    rows: list[tuple[str, object]] = [
        ("grid", f"{_span((grid.start_s, grid.end_s))}, depth {grid.depth} of at most {state.rules.max_depth}"),
        ("way there", way),
        ("traversal", state.rules.traversal),
        (
            "evidence kept",
            f"{_counted(len(state.scratchpad), 'frame')}: {', '.join(state.scratchpad.labels) or 'none'}",
        ),
        ("ruled out", f"{state.dead_zones.coverage(grid.start_s, grid.end_s):.0%} of this grid's time"),
    ]
    return facts(rows if not state.finished else [*rows, ("finished", True)])


def _legal(seen: Observation) -> Html:
    legal = seen.legal
    cells = {
        "Expand": legal.expand,
        "MarkPromising": legal.mark,
        "Zoom": legal.zoom,
        "Investigate before": legal.investigate_before,
        "Investigate after": legal.investigate_after,
        "AddToScratchpad": legal.add,
    }
    rows = [(name, f"cells {listed(which)}") for name, which in cells.items() if which]
    rows += [
        (name, "") for name, is_legal in (("Backtrack", legal.backtrack), ("Finished", legal.finished)) if is_legal
    ]
    return table("Legal actions", ("action", "of"), rows) if rows else paragraph("No action is legal.")


def _said(seen: Observation) -> str:
    lines = seen.subtitles
    if not lines:
        return paragraph("Nothing is said in this time, or there are no subtitles.")
    rows = ((_span((line.start_s, line.end_s)), strange(line.text, 200)) for line in lines[:MOST_SAID])
    told = table("What is said in this time", ("time", "text"), rows)
    return card(told, _left_out(len(lines) - MOST_SAID, "line"))


def _drawn(lanes: Sequence[Lane], duration_s: float, alt: str) -> Html:
    return image(timeline.draw(lanes, duration_s), "png", alt, timeline.WIDTH_PX)


def _answered(result: Result) -> list[tuple[str, object]]:
    question, verdict = result.question, {True: "right", False: "wrong", None: "not known"}[result.is_right]
    answer: object = "none could be had" if result.answer is None else strange(result.answer, 2_000)
    rows: list[tuple[str, object]] = [("answer", answer), ("is it right?", verdict)]
    if result.is_right is False and question.answer is not None:
        rows.append(("truth", strange(question.in_words(question.answer), 2_000)))
    if result.reasoning:
        rows.append(("because", strange(result.reasoning, 2_000)))
    cited = _cited(result.trace)
    if cited and not question.choices:
        rows.append(("rests on", strange(cited)))
    stopped = f"{result.stop}: {result.failure}" if result.failure else result.stop
    rows.append(("stopped by", strange(f"{stopped}, after {_counted(result.rounds, 'round')}")))
    return rows


def _cited(trace: Trace) -> str:
    """Return what the last decision names as its support, where it names any."""
    for event in reversed(trace.of("decision")):
        answer = (event.data or {}).get("answer")
        return named_in(answer.get("supporting")) if isinstance(answer, dict) else ""
    return ""


def named_in(cited: Any) -> str:
    """Return the frames that a judgement names: by label, or where it was made from the root's grid, by cell."""
    if not isinstance(cited, list):
        return ""
    return ", ".join(f"cell {each}" if isinstance(each, int) else str(each) for each in cited[:MOST_CHOICES])


def _weighed(trace: Trace) -> dict[int, tuple[str, str, str]]:
    """Return what was last named for and against each choice, and where: a decision need not weigh all of them."""
    weighed: dict[int, tuple[str, str, str]] = {}
    for event in trace:
        data = event.data or {}
        answer = data.get("answer")
        judged = answer.get("weighed") if isinstance(answer, dict) else data.get("choices")
        where = "the decision" if event.kind == "decision" else f"the review of round {event.round}"
        if event.kind in ("review", "decision") and isinstance(judged, list):
            for each in judged:
                if isinstance(each, dict) and isinstance(each.get("choice"), int):
                    named = (named_in(each.get(side)) or "nothing" for side in ("supporting", "contradicting"))
                    weighed[each["choice"]] = (*named, where)  # type: ignore[assignment]
    return weighed


def _choices(result: Result) -> Html:
    weighed, rows = _weighed(result.trace), []
    for index, choice in enumerate(result.question.choices[:MOST_CHOICES]):
        signs = [("the answer", index == result.choice), ("the truth", index == result.question.answer)]
        named = ", ".join(sign for sign, holds in signs if holds)
        judged = weighed.get(index, ("", "", "nowhere"))
        rows.append((index, strange(choice), named, *map(strange, judged)))
    columns = ("choice", "words", "it is", "frames for it", "frames against it", "as last weighed in")
    return card(table("The choices", columns, rows), _left_out(len(result.question.choices) - len(rows), "choice"))


def _path(result: Result) -> Html:
    duration_s, reports = result.sheet.video.duration_s, result.trace.of("report")
    truth, dead = result.question.positions_s, result.dead_zones.intervals
    rounds = max((event.round for event in reports), default=0)
    together = -(-rounds // MOST_LANES) if rounds else 1
    lanes = [Lane("evidence", moments=[(item.timestamp_s, item.label) for item in result.evidence])]
    if truth:
        lanes.append(Lane("the truth", truth, colour=TRUTH))
    for first in range(1, rounds + 1, together):
        last = min(first + together - 1, rounds)
        visits = [event for event in reports if first <= event.round <= last]
        lanes.append(
            Lane(
                f"round {first}" if first == last else f"{first} to {last}",
                filled=[event["interval_s"] for event in visits if event["kept"]],
                outlined=[event["interval_s"] for event in visits if not event["kept"]],
                colour=FOUND,
            )
        )
    lanes.append(Lane("ruled out", dead, colour=DEAD))
    kept = sum(bool(event["kept"]) for event in reports)
    visited = f"{_counted(len(reports), 'visit')} by workers, {kept:,} of which kept frames"
    share = f"{result.dead_zones.coverage(0.0, duration_s):.0%}"
    alt = (
        f"Where the run looked, over {clock(duration_s)}: {visited}; evidence at "
        f"{', '.join(clock(item.timestamp_s) for item in islice(result.evidence, MOST_SAID)) or 'no moment'}; "
        f"{share} ruled out."
    )
    legend = f"Where it looked: {visited} (filled; the others are outlined); {share} of the video is ruled out."
    return card(_drawn(lanes, duration_s, alt), paragraph(legend))


def _costs(result: Result) -> Html:
    names = ("calls", "prompt", "cached", "image", "completion", "effective")
    rows = [(row["role"], *(row[name] for name in names)) for row in result.costs()]
    caption = "What the answers cost when they were made: calls, and tokens"
    estimated = " The tokens are estimates." if result.total.estimated else ""
    spent = result.spent
    paid = f"{_counted(spent.calls, 'call')}, {_counted(spent.frames_decoded, 'frame')} decoded, {spent.seconds:.2f} s"
    return card(table(caption, ("role", *names), rows), paragraph(f"Paid just now: {paid}.{estimated}"))


def in_short(event: Event) -> str:
    """Return what an event says, in a few words that are a stranger's."""
    try:
        return SHORT[event.kind](event.data or {}) if event.kind in SHORT else ""
    except Exception:  # it holds something else than its kind says
        return f"not in the form of {event.kind!r}: {event.data!r}"


def _event_row(place: int, event: Event) -> tuple[object, ...]:
    data = event.data if isinstance(event.data, dict) else {}
    short = in_short(event)
    try:
        tokens: object = Usage.from_json(data["usage"]).tokens
    except (KeyError, ValueError, TypeError):
        tokens = ""
    worker = "" if event.worker is None else event.worker
    return place, strange(event.kind, 40), event.round, worker, strange(short, 200), tokens


def _labels(items: Sequence[Any]) -> str:
    return ", ".join(f"[{item['label']}]" for item in items[:MOST_SAID]) or "no frame"


def _step(data: dict[str, Any]) -> str:
    action = data["action"]
    cells = [action["cell"]] if action.get("cell") is not None else action.get("cells") or []
    took = f" {action['direction']}" if action.get("direction") else ""
    of = f" cell {', '.join(map(str, cells[:MOST_SAID]))}" if cells else ""
    end = (
        f"; not possible: {data['problem']}"
        if data["problem"]
        else f"; found {_labels(data['found'])}" * bool(data["found"])
    )
    return f"{_span(data['interval_s'])}: {action['name']}{took}{of}{end}"


def _probe(data: dict[str, Any]) -> str:
    best = sorted(data["scores"].items(), key=lambda scored: -scored[1])[:6]
    return (
        f"scored {_counted(len(data['scores']), 'cell')}: {', '.join(f'{cell} ({score:.2g})' for cell, score in best)}"
    )


def _review(data: dict[str, Any]) -> str:
    said = "sufficient" if data["sufficient"] else "goes on"
    erased = f"; erased {', '.join(map(str, data['erased'][:MOST_SAID]))}" if data["erased"] else ""
    return f"{said}{erased}: {data['reasoning']}"


def _report(data: dict[str, Any]) -> str:
    dead = f"; ruled out {spans_told(data['dead_s'], 3)}" if data["dead_s"] else ""
    return f"{_span(data['interval_s'])}: {data['stop']}; kept {_labels(data['kept'])}{dead}"


def _decision(data: dict[str, Any]) -> str:
    answer = data["answer"]
    said = answer["answer"] if "answer" in answer else _span((answer["start_s"], answer["end_s"]))
    return f"answered {said}: {answer.get('reasoning', '')}"


SHORT: dict[str, Callable[[dict[str, Any]], str]] = {
    "start": lambda data: str(data["question"]["text"]),
    "task": lambda data: f"{data['traversal']}: {data['search_task']}",
    "probe": _probe,
    "assign": lambda data: f"sent to {spans_told([sortie['interval_s'] for sortie in data['sorties']])}",
    "step": _step,
    "report": _report,
    "review": _review,
    "decision": _decision,
    "cite": lambda data: f"found {_labels(data['found'])}",
    "caption": lambda data: f"{_span(data['interval_s'])}: {data['caption']}",
    "failure": lambda data: f"a {data['step']} failed: {data['reason']}",
    "stop": lambda data: (
        f"{data['stop']}, after {_counted(data['rounds'], 'round')} and {_counted(data['calls'], 'call')}"
    ),
}
"""What is told of each kind of event."""
