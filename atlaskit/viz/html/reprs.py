"""The displays of the kit's objects: each function returns the HTML of one class.

    view, still, lazy_image, video          images, and the video that they come from
    sheet, scratchpad                       evidence (M+)
    observation                             what an agent sees, and what it may do
    result, trace                           answer, choices, evidence, path of the run, cost; events
    cache                                   what a cache holds, and how lost entries come back

An object may be damaged, so a part that cannot be shown becomes a sentence with the reason
(`guarded`). Text may be of unknown origin, so it is escaped (`untrusted`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from itertools import islice
from operator import itemgetter

from atlaskit.caching.cache import Cache
from atlaskit.caching.keys import kinds
from atlaskit.environment.actions import ACTIONS
from atlaskit.environment.atlas import Observation
from atlaskit.environment.grid import Grid, clock, listed
from atlaskit.environment.image import LazyImage
from atlaskit.environment.memory import Scratchpad, label_of
from atlaskit.environment.places import moment_in_words
from atlaskit.environment.render import Sheet, Still, View
from atlaskit.environment.render import view as make_view
from atlaskit.runs.events import Decision, Report, Review, Start, Stop
from atlaskit.runs.narrate import MAX_LISTED, TITLES, cited_frames, counted, percent, span_text
from atlaskit.runs.result import WITHOUT_EVIDENCE, Result
from atlaskit.runs.trace import Trace
from atlaskit.video.playlist import Playlist
from atlaskit.video.video import Video
from atlaskit.viz.html.markup import (
    MAX_WIDTH_PX,
    SHARP,
    SMALL_WIDTH_PX,
    Html,
    card,
    duration_text,
    fact_table,
    guarded,
    jpeg_image,
    omitted,
    paragraph,
    table,
    title,
    untrusted,
)


def view(view: View, max_width_px: int = MAX_WIDTH_PX) -> Html:
    """Show a view and describe its grid."""
    return card(
        guarded("The image", lambda: jpeg_image(view.jpeg, view_caption(view), max_width_px)),
        guarded(
            "The description",
            lambda: paragraph(untrusted(view.video.name), " · ", view_description(view)),
        ),
    )


def still(still: Still, max_width_px: int = MAX_WIDTH_PX) -> Html:
    """Show one frame and its time."""
    at = f"at {clock(still.time_s)}"
    return card(
        jpeg_image(still.jpeg, f"The frame of {still.video.name} {at}.", max_width_px),
        paragraph(untrusted(still.video.name), " · frame ", at),
    )


def lazy_image(shown: LazyImage, max_width_px: int = SMALL_WIDTH_PX) -> Html:
    """Show an image that may be a view or a still."""
    match shown:
        case View():
            return view(shown, max_width_px)
        case Still():
            return still(shown, max_width_px)
    return jpeg_image(shown.jpeg, "The requested image.", max_width_px)


SAMPLING_WORDS = {"midpoint": "", "keyframe": "keyframes", "shots": "shots"}
"""The word for the frames in a view's cells, by its sampling; none for midpoints, the default."""


def view_caption(view: View) -> str:
    """Return a sentence that describes a view, for its alt text."""
    return f"A contact sheet of {view.video.name}: {view_description(view)}."


def view_description(view: View) -> str:
    """Return the description of a view's grid, with its sampling unless that is the default."""
    grid = view.grid
    frames = SAMPLING_WORDS[view.look.sampling]
    # Depths count from the video's root grid, so that of a grid with another root is left out.
    is_in_video_tree = (grid.root_start_s, grid.root_end_s) == (0.0, view.video.duration_s)
    description = grid_description(grid, view.dead, has_depth=is_in_video_tree)
    if frames:
        return f"{description} · {frames}"
    return description


def grid_description(grid: Grid, dead: Iterable[int], *, has_depth: bool = True) -> str:
    """Return a grid's cells, interval, depth and dead cells in words."""
    dead = sorted(dead)
    cell = duration_text(grid.resolution_s)
    if grid.is_uneven:
        cell = f"at most {cell}"
    parts = [f"{grid.k}×{grid.k} cells of {cell}", span_text((grid.start_s, grid.end_s))]
    if has_depth:
        parts.append(f"depth {grid.depth}")
    if dead:
        parts.append(f"dead cells (black): {listed(dead)}")
    return " · ".join(parts)


OVERVIEW_CELL_PX = SHARP * SMALL_WIDTH_PX // 8
"""Side of a cell in a video's overview, which has 8×8 cells as the root grid has by default."""


def video(video: Video) -> Html:
    """Show the facts of a video, and its root grid at a small size.

    The grid shows the frames that are fastest to decode. They are stored in the video's cache.
    """
    width, height = video.size
    rows: list[tuple[str, object]] = [
        ("duration", f"{clock(video.duration_s)} ({video.duration_s:,.3f} s)"),
        ("frames", f"{width}×{height} px, {video.fps:g} fps"),
        ("subtitles", f"{len(video.subtitles):,} lines" if len(video.subtitles) else "none"),
        ("fingerprint", untrusted(video.fingerprint, 16)),
    ]
    if isinstance(video, Playlist):
        rows.insert(0, ("parts", len(video.parts)))

    def overview() -> View:
        return make_view(video, cell=OVERVIEW_CELL_PX, sampling="keyframe", cache=video.cache)

    return card(
        title("Video", video.name),
        guarded("The facts", lambda: fact_table(rows)),
        guarded(
            "The overview",
            lambda: jpeg_image(overview().jpeg, view_caption(overview()), SMALL_WIDTH_PX),
        ),
        guarded("The description", lambda: paragraph(view_description(overview()))),
    )


MAX_ITEMS = 64
"""Most evidence frames in one display: those with the highest confidence."""


def sheet(sheet: Sheet) -> Html:
    """Show the frames of a scratchpad, and the table of its evidence."""
    return card(
        evidence_image(sheet), guarded("The evidence", lambda: evidence_table(sheet.scratchpad))
    )


def scratchpad(scratchpad: Scratchpad) -> Html:
    """Show a scratchpad as a table; it has no video, so its frames cannot be shown."""
    return card(
        title("Scratchpad", f"{counted(len(scratchpad), 'frame')} of evidence"),
        evidence_table(scratchpad),
    )


def evidence_image(sheet: Sheet) -> Html:
    """Return the sheet of a scratchpad as one image.

    Only the MAX_ITEMS frames with the highest confidence are shown. If the sheet has no more, its
    cache key is that of the whole sheet, so a sheet that was drawn before is not drawn again.
    """

    def draw() -> str:
        shown = sheet.scratchpad.surest(MAX_ITEMS)
        if not len(shown):
            return no_evidence()
        listing = list[str]()
        for item in islice(shown, MAX_LISTED):
            listing.append(f"{item.label} at {moment_in_words(sheet.video, item.timestamp_s)}")
        frames = ", ".join(listing)
        more = ""
        if len(shown) > MAX_LISTED:
            more = f", and {len(shown) - MAX_LISTED} more"
        shown_sheet = replace(sheet, scratchpad=shown)
        return jpeg_image(shown_sheet.jpeg, f"Evidence frames: {frames}{more}.", SMALL_WIDTH_PX)

    return guarded("The evidence frames", draw)


def evidence_table(scratchpad: Scratchpad) -> Html:
    """Return the evidence of a scratchpad as a table in order of time."""
    if not len(scratchpad):
        return no_evidence()
    shown = sorted(scratchpad.surest(MAX_ITEMS), key=lambda item: item.timestamp_s)
    rows = list[tuple[str, ...]]()
    for item in shown:
        subtitle = untrusted(item.subtitle, 200) if item.subtitle else ""
        rows.append(
            (
                untrusted(item.label, 8),
                clock(item.timestamp_s),
                span_text((item.start_s, item.end_s)),
                percent(item.confidence),
                untrusted(item.description, 300),
                subtitle,
            )
        )
    columns = ("label", "time", "cell", "confidence", "description", "subtitle")
    return card(
        table("Evidence in order of time", columns, rows),
        omitted(len(scratchpad) - len(shown), "frame"),
    )


def no_evidence(why: str = "") -> Html:
    """Return a sentence in place of evidence; `why` is the reason why there is none, if known."""
    if not why:
        return paragraph("There is no evidence.")
    return paragraph(f"Evidence: {why}.")


def observation(seen: Observation) -> Html:
    """Show the state with its legal actions, the image beside the grid, the view and subtitles."""
    image = "" if seen.looking_at is None else lazy_image(seen.looking_at)
    return card(
        guarded("The state", lambda: _state_table(seen)),
        image,
        view(seen.view, SMALL_WIDTH_PX),
        guarded("The subtitles", lambda: _subtitle_table(seen)),
    )


def _state_table(seen: Observation) -> Html:
    state = seen.state
    grid = seen.state.grid
    # Actions without cells come last.
    legal = sorted(seen.legal.cells.items(), key=lambda item: not item[1])
    actions = list[str]()
    for name, cells in legal:
        action = ACTIONS[name].title
        if cells:
            action = f"{action} {listed(cells)}"
        actions.append(action)
    rows: list[tuple[str, object]] = [
        (
            "grid",
            (
                f"{span_text((grid.start_s, grid.end_s))}, depth {grid.depth} of at most "
                f"{state.rules.max_depth}"
            ),
        ),
        ("path", " → ".join(["root", *map(str, grid.path)])),
        ("traversal", state.rules.traversal),
        (
            "evidence",
            (
                f"{counted(len(state.scratchpad), 'frame')}: "
                f"{', '.join(state.scratchpad.labels) or 'none'}"
            ),
        ),
        (
            "dead zones",
            f"{percent(state.dead_zones.coverage(grid.start_s, grid.end_s))} of this grid",
        ),
        ("legal actions", untrusted("; ".join(actions) or "none", 2_000)),
    ]
    if state.finished:
        rows.append(("finished", True))
    return fact_table(rows)


def _subtitle_table(seen: Observation) -> str:
    lines = seen.subtitles
    if not lines:
        return paragraph("There are no subtitles in this interval.")
    rows = list[tuple[str, str]]()
    for line in lines[:MAX_LISTED]:
        rows.append((span_text((line.start_s, line.end_s)), untrusted(line.text, 200)))
    subtitles = table("Subtitles in this interval", ("time", "text"), rows)
    return card(subtitles, omitted(len(lines) - MAX_LISTED, "line"))


MAX_CHOICES = 40
"""Most choices in the table."""


def result(result: Result) -> Html:
    """Show the answer, the choices with the frames cited for each, evidence, path and cost."""
    parts = [
        title("", result.question.text),
        guarded("The answer", lambda: fact_table(_answer_rows(result))),
    ]
    if result.question.choices:
        parts.append(guarded("The choices", lambda: _choice_table(result)))
    if len(result.evidence):
        parts.append(evidence_image(result.sheet))
        parts.append(guarded("The evidence", lambda: evidence_table(result.evidence)))
    else:
        parts.append(no_evidence(result.without_evidence))
    parts.append(guarded("The path", lambda: _path(result)))
    parts.append(guarded("The cost", lambda: _cost_table(result)))
    return card(*parts)


def _answer_rows(result: Result) -> list[tuple[str, object]]:
    words = result.answer_in_words
    truth = result.truth_in_words
    mark = ""
    if result.without_evidence:
        mark = f" {WITHOUT_EVIDENCE}"
    answer = "no answer"
    if words:
        answer = Html(f"{untrusted(words, 2_000)}{mark}")
    correct = {True: "yes", False: "no", None: "unknown"}[result.is_right]
    rows: list[tuple[str, object]] = [("answer", answer), ("correct", correct)]
    if truth:
        rows.append(("truth", untrusted(truth, 2_000)))
    if result.reasoning:
        rows.append(("reasoning", untrusted(result.reasoning, 2_000)))
    cited = _cited_by_decision(result.trace)
    if cited and not result.question.choices:
        rows.append(("cited evidence", untrusted(cited)))
    if "caution" in result.settings:
        rows.insert(1, ("caution", untrusted(str(result.settings["caution"]), 2_000)))
    stop = result.stop
    if result.failure:
        stop = f"{stop}: {result.failure}"
    rows.append(("stopped by", untrusted(f"{stop}, after {counted(result.rounds, 'round')}")))
    return rows


def _cited_by_decision(trace: Trace) -> str:
    """Return the labels of the frames that the last decision cites; empty if it cites none."""
    decisions = trace.of(Decision)
    if decisions:
        return cited_frames(decisions[-1].answer.get("supporting"))
    return ""


def _judgements(trace: Trace) -> dict[int, tuple[str, str, str]]:
    """Return the last judgement of each choice: the frames cited for and against it, and where.

    A decision need not judge every choice, so an earlier review can hold the last judgement.
    """
    last: dict[int, tuple[str, str, str]] = {}
    for event in trace:
        judgements: object = None
        if isinstance(event, Review):
            judgements = event.choices
            source = f"review of round {event.round}"
        elif isinstance(event, Decision):
            judgements = event.answer.get("weighed")
            source = "decision"
        if not isinstance(judgements, list):
            continue
        for each in judgements:
            if isinstance(each, dict) and isinstance(each.get("choice"), int):
                supporting = cited_frames(each.get("supporting")) or "none"
                contradicting = cited_frames(each.get("contradicting")) or "none"
                last[each["choice"]] = (supporting, contradicting, source)
    return last


def _choice_table(result: Result) -> Html:
    judgements = _judgements(result.trace)
    rows = []
    for index, choice in enumerate(result.question.choices[:MAX_CHOICES]):
        marks = list[str]()
        if index == result.choice:
            marks.append("answer")
        if index == result.question.answer:
            marks.append("correct")
        marked_as = ", ".join(marks)
        judgement = judgements.get(index, ("", "", "not judged"))
        rows.append((label_of(index), untrusted(choice), marked_as, *map(untrusted, judgement)))
    columns = (
        "choice",
        "text",
        "marked as",
        "supporting frames",
        "contradicting frames",
        "judged in",
    )
    return card(
        table("Choices", columns, rows), omitted(len(result.question.choices) - len(rows), "choice")
    )


def _path(result: Result) -> Html:
    """Return a sentence about what the workers explored; `plots.path` draws their path."""
    reports = result.trace.of(Report)
    added = sum(bool(event.kept) for event in reports)
    if result.within == (0.0, result.sheet.video.duration_s):
        part = "the video"
    else:
        part = span_text(result.within)
    return paragraph(
        f"Explored: {counted(len(reports), 'visit')} by workers, {added:,} of which added "
        f"evidence. Dead zones cover {percent(result.dead_zones.coverage(*result.within))} of "
        f"{part}."
    )


def _cost_table(result: Result) -> Html:
    names = ("calls", "prompt", "cached", "image", "completion", "effective")
    rows = list(map(itemgetter("role", *names), result.costs()))
    caption = "Calls and tokens by role, including replies from the cache"
    spent = result.spent
    live_cost = (
        f"Without what came from the cache, this run made {counted(spent.calls, 'call')} and "
        f"decoded {counted(spent.frames_decoded, 'frame')}; it took {spent.seconds:.2f} s."
    )
    estimated = ""
    if result.total.estimated:
        estimated = " Token counts are estimates."
    return card(table(caption, ("role", *names), rows), paragraph(f"{live_cost}{estimated}"))


def trace(trace: Trace) -> Html:
    """Show what a trace records: the question, how many events of each kind, and how it ended."""
    counts = Counter(event.kind for event in trace)
    starts = trace.of(Start)
    stops = trace.of(Stop)
    question = ""
    if starts:
        question = str(starts[0].question.get("text", ""))
    rows: list[tuple[str, object]] = [
        ("events", len(trace)),
        ("rounds", max((event.round for event in trace), default=0)),
    ]
    for kind, count in counts.items():
        rows.append((TITLES[kind], count))
    if stops:
        rows.append(("stopped by", untrusted(stops[-1].stop)))
    return card(title("Trace of a run", question), fact_table(rows))


def cache(cache: Cache) -> Html:
    """Show what a cache holds by kind, and how a lost entry of each kind comes back."""
    known = kinds()
    rows = []
    for name, row in cache.stats().items():
        recovery = "is asked for, or found, again"
        if name in known and known[name].is_image:
            recovery = "is drawn again from the video"
        size = _size_text(row["bytes"])
        counts = (row["entries"], size, row["hits"], row["misses"])
        rows.append((untrusted(name, 40), *counts, recovery))
    place = str(cache.directory or "in memory")
    columns = ("kind", "entries", "size", "hits", "misses", "without it")
    return card(title("Cache", place), table("Entries by kind", columns, rows))


def _size_text(count: int) -> str:
    """Return a number of bytes as a person reads it."""
    if count >= 1e6:
        return f"{count / 1e6:,.1f} MB"
    return f"{count / 1e3:,.1f} kB"
