"""Facts as prompt text: question, times, grid, cells, subtitle lines, evidence, gaps between
evidence; and `request`, which makes a request of parts.

The functions return text that goes into prompts; what a prompt asks the model to do is in
`prompts`, but for the request to decide, which several share.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from typing import Any

from pydantic import BaseModel

from atlaskit.agents.index import Index, query_of
from atlaskit.agents.schemas import LONGEST_TEXT
from atlaskit.environment.atlas import Observation
from atlaskit.environment.grid import Cell, clock, listed
from atlaskit.environment.memory import Evidence, Gap, Scratchpad
from atlaskit.environment.question import Question
from atlaskit.environment.render import View
from atlaskit.errors import printable
from atlaskit.models.protocol import (
    PLACEHOLDER,
    Image,
    Message,
    ParametricSchema,
    Request,
    Role,
    shape_schema,
)
from atlaskit.runs.events import HintRecord, UnfollowedRecord
from atlaskit.video.collection import Collection, Film
from atlaskit.video.subtitles import Line

MOST_SUBTITLES = 24_000
"""Characters of subtitles in one prompt, if all are listed."""
MOST_MATCHING = 1_500
"""Characters of subtitles if there are more than that: the lines that match the question best."""
LEAST_QUOTED = len('"" [0.0–0.0 s]')
"""Characters that `quote_line` adds to a line's text, at least."""
FIRST_CELL = "its first cell"
"""The cell at which a line is listed that several cells of a view share."""
NO_SUBTITLES = "Nothing is said, or there are no subtitles."
MOST_CUTS = 128
"""Times of hidden cuts that a prompt lists, beside one for each cell."""
CUTS = (
    "A cell shows the shot of its stretch that is least like the film around it. A number like +3 "
    "above it means that its stretch holds so many more abrupt changes of the picture, which the "
    "shown shot does not explain; other changes may have no mark."
)
MOST_FILMS = 16
"""Films of a collection that are named for a sheet over a stretch of it."""
MOST_NAME = 60
"""Characters of the name of a film in a prompt."""
HIDDEN = (
    "In seconds, after the number of a cell, the shots between two such changes that it does not "
    "show, and changes that stand alone:"
)
MOST_SHORT = 32
"""Short shots that a prompt lists, the shortest."""
SHORT = (
    "The shown shot, in seconds, of cells where it is shorter than its cell, by marks of the file "
    "that may be off:"
)
MOST_GAPS = 8
"""Gaps between evidence that a prompt lists."""

ANSWER_FORMS = {
    "open": "Answer in a few words, no more than needed.",
    "when": "The answer is an interval in seconds from the start of the video.",
    "when, several": (
        "Name every stretch of the video that answers: one interval for each, in seconds from the "
        "start of the video, in order of time. A stretch without a break is one interval."
    ),
    "count": (
        "The answer is a whole number. Count each occurrence once, also where several frames show "
        "it."
    ),
    "summary": "The answer is a summary: what happens, in order of time, in a few plain sentences.",
}
"""The form of the answer, for each kind of question without choices."""


def question_text(question: Question) -> str:
    """Return the question with the form of its answer, or its choices."""
    name = "when, several" if question.several else question.kind
    form = [ANSWER_FORMS[name]] if name in ANSWER_FORMS else []
    choices = [f"  {index}: {choice}" for index, choice in enumerate(question.choices)]
    choices = ["Its possible answers, by number:", *choices] if choices else []
    return "\n".join([f"The question: {question.text}", *form, *choices])


def request(
    role: Role,
    step: str,
    schema: type[BaseModel] | ParametricSchema,
    facts: object,
    system: str,
    *parts: str | Image,
) -> Request:
    """Return a request; it ends with the form of the reply.

    A server that decodes by the schema is sent it as well; the form in words helps a model to think
    of what it will write, and is all that one without such decoding has.

    Args:
        role: Who makes the call.
        step: What the call is for.
        schema: The form of the reply.
        facts: The call, which an oracle reads.
        system: What the model is and what it sees.
        parts: What it is shown, told and asked; empty ones are left out.
    """
    tokens = 4096 if step in ("plan", "look", "review", "decision") else 2048
    messages = brief(system, *(part for part in parts if part), form_text(schema))
    return Request(role, step, messages, schema, facts, tokens)


def brief(role: str, *parts: str | Image) -> tuple[Message, ...]:
    """Return the first messages of a conversation: the role as system message, then the request."""
    return Message("system", (role,)), Message("user", parts)


def form_text(schema: type[BaseModel] | ParametricSchema) -> str:
    """Return the form of a reply: JSON with <what belongs there> in place of values."""
    form = _form(*_nodes(schema))
    limit = f", with texts of at most {LONGEST_TEXT} characters" if '"<text>"' in form else ""
    return f"Reply in JSON{limit}:\n{form}"


def action_forms(schema: ParametricSchema) -> dict[str, str]:
    """Return the form of each action that a step may take, by the word that names it."""
    shape, kinds = _nodes(schema)
    action = shape["properties"]["action"]
    forms = dict[str, dict[str, Any]]()
    for variant in action.get("anyOf", [action]):
        fields = kinds[variant["$ref"].rpartition("/")[2]]["properties"]
        known = forms.setdefault(fields["action"]["const"], {})
        for name, field in fields.items():  # if an action has two directions, the values of both
            values = [*known.get(name, {}).get("enum", []), field.get("const")]
            known[name] = {"enum": list(dict.fromkeys(values))} if "const" in field else field
    return {
        word: _form({"type": "object", "properties": fields}, kinds)
        for word, fields in forms.items()
    }


def _nodes(schema: type[BaseModel] | ParametricSchema) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return a schema's JSON Schema, and what its forms refer to: its parts, cells and labels."""
    if not isinstance(schema, ParametricSchema):
        return shape_schema(schema), shape_schema(schema).get("$defs", {})
    shape = shape_schema(schema.shape)
    named = {
        name: '"<label>"' if isinstance(values[0], str) else "<cell>"
        for name, values in schema.values
    }
    return shape, {**shape.get("$defs", {}), **named}


def _form(node: dict[str, Any], known: Mapping[str, Any], name: str = "") -> str:
    node = known[node["$ref"].rpartition("/")[2]] if "$ref" in node else node
    if PLACEHOLDER in node:
        return str(known.get(node[PLACEHOLDER], "<cell>"))
    if "const" in node or "enum" in node:
        return "|".join(json.dumps(value) for value in node.get("enum", [node.get("const")]))
    if "anyOf" in node:
        return "\n or ".join(_form(each, known, name) for each in node["anyOf"])
    match node["type"]:
        case "object":
            fields = (
                f'"{key}": {_form(each, known, key)}' for key, each in node["properties"].items()
            )
            return f"{{{', '.join(fields)}}}"
        case "array":
            least = node.get("minItems", 0)
            count = f" {least} in all" if least == node.get("maxItems", 0) > 1 else ""
            return f"[{_form(node['items'], known, name)}, …{count}]"
        case "string":
            longest = node.get("maxLength", LONGEST_TEXT)
            if longest == LONGEST_TEXT:
                return '"<text>"'
            return f'"<text of at most {longest} characters>"'
        case "boolean":
            return "true|false"
    return (
        "<0 to 1>"
        if node.get("maximum") == 1
        else "<seconds>"
        if name.endswith("_s")
        else "<whole number>"
    )


def seconds(time_s: float) -> str:
    """Return a time in seconds as prompts write it: at most two decimals."""
    return f"{time_s:.2f}".rstrip("0").rstrip(".")


def moment_text(time_s: float) -> str:
    """Return a time as a clock shows it, and in seconds: 7:29:02.8 (26942.8 s)."""
    return f"{clock(time_s)} ({seconds(time_s)} s)"


def span_text(start_s: float, end_s: float) -> str:
    """Return an interval as clocks show it, and in seconds."""
    return f"{clock(start_s)}–{clock(end_s)} ({seconds(start_s)}–{seconds(end_s)} s)"


def grid_intro(view: View) -> str:
    """Return what a view is: its size, its interval, when its cells begin, and their numbers."""
    grid = view.grid
    where = "stands in its corner"
    if view.look.ruled:
        where = "and the time of its frame stand above the frame"
    starts = f"Cell n starts at {seconds(grid.start_s)} + {grid.resolution_s:.6g} n s; its number "
    if grid.is_uneven:
        starts = "Its number "
    return (
        f"A sheet of {grid.k}×{grid.k} cells of the video, {span_text(grid.start_s, grid.end_s)}. "
        f"{starts}{where}. {films_text(view)}"
    ).rstrip()


def films_text(view: View) -> str:
    """Return which films of a collection a view shows, and when each starts; "" for other videos.

    Of many films only some are named: where cells stand for several films, the first of each cell.
    """
    video = view.video
    grid = view.grid
    if not isinstance(video, Collection):
        return ""
    films = video.films_in(grid.start_s, grid.end_s)
    if not grid.is_uneven:
        rows = [
            f"{_film_name(film)} from {seconds(max(film.start_s, grid.start_s))} s"
            for film in films[:MOST_FILMS]
        ]
        more = f", and {len(films) - MOST_FILMS} more" if len(films) > MOST_FILMS else ""
        return f"Of the films: {'; '.join(rows)}{more}."
    has_several = len(films) > grid.size
    rows = []
    shown: Film | None = None
    for cell in view.cells:
        film = video.film_at(cell.start_s)
        if film != shown:
            rows.append(f"{view.first + cell.index}: {_film_name(film)}, {seconds(cell.start_s)} s")
        shown = film
    if has_several:
        what = "A cell stands for several films, and shows a frame of one of them."
    else:
        what = "No cell has parts of two films."
    return (
        f"The video is a collection of {len(video.films)} films, of which {len(films)} are here, "
        f"one after another; seconds count through all of them. {what} After the number of a cell, "
        f"the film that starts there, or goes on, and its second: {'; '.join(rows)}."
    )


def _film_name(film: Film) -> str:
    name = json.dumps(printable(film.name, MOST_NAME), ensure_ascii=False)
    return f"{name} ({film.began:%Y-%m-%d %H:%M:%S})" if film.began else name


def sheet_parts(observation: Observation, question: Question) -> tuple[str | View, ...]:
    """Return the parts of a prompt that show a view: description, image and further facts."""
    return grid_intro(observation.view), observation.view, cells_text(observation, question)


def cells_text(observation: Observation, question: Question) -> str:
    """Return the facts that a view does not show: which cells are dead, and the subtitles.

    If `observation.cells` is "full", it describes every cell, one by one.

    This depends on the view and the question alone, so prompts put it right after the image: calls
    about one view then begin with the same text.
    """
    view = observation.view
    lines = observation.subtitles
    chosen, remark = listed_lines(lines, question)
    by_cell = observation.lines_by_cell(chosen)
    cuts = cuts_text(view)
    remarks = [text for text in (cuts, remark) if text]
    if observation.cells == "full":
        rows = [_cell_text(view, cell, by_cell.get(cell.index, [])) for cell in view.cells]
        return "\n".join(["The cells:", *rows, *remarks])
    dead = f"Searched without findings, hatched and without a number: {listed(sorted(view.dead))}."
    return "\n".join([*([dead] if view.dead else []), *remarks, *lines_text(by_cell, FIRST_CELL)])


def cuts_text(view: View) -> str:
    """Return the meaning of the counts above cells, the times of cuts, and the short shots.

    It is "" if there are none. Of cells with many cuts, the first are listed, as many for each as
    fit.
    """
    hidden = view.hidden_cuts
    short = view.short_shots
    texts = list[str]()
    if hidden:
        most = max(1, MOST_CUTS // len(hidden))
        rows = list[str]()
        for cell, cuts_s in sorted(hidden.items()):
            spans_s = view.hidden_shots.get(cell, ())
            joined = set(chain.from_iterable(spans_s))
            alone = [(cut_s, seconds(cut_s)) for cut_s in cuts_s if cut_s not in joined]
            between = [(a, f"{seconds(a)}–{seconds(b)}") for a, b in spans_s]
            told = [words for _, words in sorted([*alone, *between])]
            rows.append(f"{cell}: {', '.join(told[:most])}{', …' if len(told) > most else ''}")
        texts.append(f"{CUTS} {HIDDEN} {'; '.join(rows)}.")
    if short:
        shortest = sorted(short, key=lambda cell: short[cell][1] - short[cell][0])[:MOST_SHORT]
        rows = [
            f"{cell}: {seconds(short[cell][0])}–{seconds(short[cell][1])}"
            for cell in sorted(shortest)
        ]
        spans = "; ".join(rows)
        texts.append(f"{SHORT} {spans}.")
    return " ".join(texts)


@lru_cache(maxsize=16)
def listed_lines(
    lines: tuple[Line, ...],
    question: Question,
    most: int = MOST_SUBTITLES,
    room: int = MOST_MATCHING,
) -> tuple[tuple[Line, ...], str]:
    """Return the subtitle lines that a prompt lists, in order of time, and a remark on the others.

    The last results are kept, since every probe and review of a long video asks for the same.

    Args:
        lines: The lines.
        question: The question.
        most: The most characters with which all are listed.
        room: Characters of lines that share words with the question, best first, if there are more.
    """
    if not lines:
        return lines, NO_SUBTITLES
    # This check is cheap also for very many lines.
    is_short = sum(len(line.text) + LEAST_QUOTED for line in lines) <= most
    if is_short and sum(len(quote_line(line)) for line in lines) <= most:
        return lines, ""
    scores = Index([_Said(line.text) for line in lines]).scores(query_of(question))
    chosen = dict[str, int]()
    for place in sorted(range(len(lines)), key=lambda place: (-scores[place], place)):
        if scores[place] <= 0 or (room := room - len(quote_line(lines[place]))) < 0:
            break
        chosen.setdefault(lines[place].text, place)
    best = "too many to list"
    if chosen:
        best = (
            f"the {len(chosen)} that share most words with the question are listed, of equal ones "
            "the first"
        )
    matching = tuple(lines[place] for place in sorted(chosen.values()))
    return matching, f"{len(lines)} lines are said in this time; {best}."


@dataclass(frozen=True)
class _Said:
    words: str


def lines_text(by_cell: Mapping[int, Sequence[Line]], cell: str = "its cell") -> list[str]:
    """Return a heading and one row for each subtitle line; no rows if there are no lines.

    The number of the cell comes right before the line. Small models then find it; if a time stands
    between the two, they confuse the digits.

    Args:
        by_cell: The lines, by the index of a cell.
        cell: Which cell that is, as the heading tells it. Frames at equal steps keep the words by
            which recorded replies are found; in a view, a line may span several cells.
    """
    rows = [f"{index}: {quote_line(line)}" for index, lines in by_cell.items() for line in lines]
    return [f"Said in this time, each line after the number of {cell}:", *rows] if rows else []


def _cell_text(view: View, cell: Cell, lines: Sequence[Line]) -> str:
    content = " ".join(
        [f"frame at {moment_text(view.moments[cell.index])}", *map(quote_line, lines)]
    )
    what = "searched without findings" if cell.index in view.dead else content
    return f"Cell {cell.index}, {span_text(cell.start_s, cell.end_s)}: {what}"


def quote_line(line: Line) -> str:
    """Return a subtitle line in quotes, with its interval."""
    return f"{json.dumps(line.text, ensure_ascii=False)} [{line.start_s:.1f}–{line.end_s:.1f} s]"


def evidence_text(scratchpad: Scratchpad, left_out: int = 0) -> str:
    """Return the evidence, one row for each item, in order of time.

    Args:
        scratchpad: The evidence to list.
        left_out: How many items of the run's evidence are not in it.
    """
    if not scratchpad.items:
        return "No evidence is kept yet."
    items = sorted(scratchpad, key=lambda item: item.timestamp_s)
    if left_out:
        more = [f"And {left_out} frames more, less sure or older, which are not shown."]
    else:
        more = []
    heading = "What was noted of the evidence, in order of time:"
    return "\n".join([heading, *map(_item_text, items), *more])


def _item_text(item: Evidence) -> str:
    """Return an item's row; small models need the description right after the label."""
    if item.subtitle:
        subtitle = f", said about then: {json.dumps(item.subtitle, ensure_ascii=False)}"
    else:
        subtitle = ""
    cell = (
        f"frame at {moment_text(item.timestamp_s)}, stands for "
        f"{seconds(item.start_s)}–{seconds(item.end_s)} s"
    )
    return f"[{item.label}] {item.description} ({cell}, confidence {item.confidence:g}){subtitle}"


def searched_text(cells: Sequence[int]) -> str:
    """Return which cells of the root grid cannot be named."""
    return f"Already searched or being searched, cannot be chosen: {listed(cells)}."


def hints_text(hints: Sequence[HintRecord]) -> str:
    """Return the scouts' hints, one row for each: the cell, then the reason."""
    heading = (
        "Hints where to look, made without seeing a frame; they may be wrong, and prove nothing:"
    )
    return "\n".join([heading, *(f"cell {hint.cell}: {hint.reason}" for hint in hints)])


def ranking_request(most: int, cells: Sequence[int]) -> str:
    """Return the request to name some of these cells, best first."""
    return (
        f"Name up to {most} of the cells {listed(cells)}, best first; none ([]) if none stands out."
    )


def gaps_text(gaps: Sequence[Gap]) -> str:
    """Return the longest gaps in order of time; those between two labels go before others."""
    first = sorted(gaps, key=lambda gap: (not (gap.after and gap.before), gap.start_s - gap.end_s))[
        :MOST_GAPS
    ]
    first.sort(key=lambda gap: (gap.start_s, gap.end_s))
    heading = "Stretches between the evidence of which not all was seen:"
    return "\n".join([heading, *map(_gap_text, first)]) if first else ""


def _gap_text(gap: Gap) -> str:
    after = f"[{gap.after}]" if gap.after else "the start"
    before = f"[{gap.before}]" if gap.before else "the end"
    return f"{after} to {before}: {span_text(gap.start_s, gap.end_s)}"


def unfollowed_text(unfollowed: Sequence[UnfollowedRecord]) -> str:
    """Return which intervals that the last review named cannot be searched, and why."""
    reasons = {
        "seen": "was seen as finely as can be",
        "outside": "lies outside of what is searched",
    }
    rows = [f"{span_text(*each.interval_s)}: {reasons[each.reason]}." for each in unfollowed]
    if rows:
        return "\n".join(["You asked for these, and they cannot be searched again:", *rows])
    return ""


TRUST = (
    "If the question is about what is said, subtitles are evidence. If it is about what is seen, "
    "the frame decides where the two disagree. A phrase that resembles an answer proves nothing "
    "until its context fits the question."
)
DECIDE = (
    "Decide. Weigh each possible answer by the frames that support it and those that contradict "
    f"it. {TRUST} Then give the answer that is supported best, in any case one."
)
