"""Facts as prompt text: question, times, grid, cells, subtitle lines, evidence, gaps between
evidence; and `request`, which joins parts to a request.

The instructions of each call are in `prompts`. This module has only those that several calls share.
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
"""The most characters of subtitles at which a prompt lists all lines."""
MOST_MATCHING = 1_500
"""Characters of subtitles in a prompt that does not list all lines, but those that match the
question best."""
LEAST_QUOTED = len('"" [0.0–0.0 s]')
"""The fewest characters that `quote_line` adds to the text of a line."""
FIRST_CELL = "its first cell"
"""The cell under which a prompt lists a line that several cells share."""
NO_SUBTITLES = "Nothing is said, or there are no subtitles."
MOST_CUTS = 128
"""The most times of hidden cuts that a prompt lists, but at least one for each cell with cuts."""
CUTS = (
    "A cell shows the shot of its stretch that is least like the film around it. A number like +3 "
    "above it means that its stretch holds so many more abrupt changes of the picture, which the "
    "shown shot does not explain; other changes may have no mark."
)
MOST_FILMS = 16
"""The most films of a collection that the description of a view names."""
MOST_NAME = 60
"""Characters of the name of a film in a prompt; the rest is cut off."""
HIDDEN = (
    "In seconds, after the number of a cell, the shots between two such changes that it does not "
    "show, and changes that stand alone:"
)
MOST_SHORT = 32
"""The most short shots that a prompt lists; of more, it lists the shortest."""
SHORT = (
    "The shown shot, in seconds, of cells where it is shorter than its cell, by marks of the file "
    "that may be off:"
)
MOST_GAPS = 8
"""The most gaps between evidence that a prompt lists."""

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
    rows = [f"The question: {question.text}"]
    if name in ANSWER_FORMS:
        rows.append(ANSWER_FORMS[name])
    if question.choices:
        rows.append("Its possible answers, by number:")
        for index, choice in enumerate(question.choices):
            rows.append(f"  {index}: {choice}")
    return "\n".join(rows)


def request(
    role: Role,
    step: str,
    schema: type[BaseModel] | ParametricSchema,
    facts: object,
    system: str,
    *parts: str | Image,
) -> Request:
    """Return a request whose prompt ends with the form of the reply in words.

    The schema is sent as well, for servers that constrain the reply to it. The form in words helps
    the model to plan its reply, and is all that a model on another server gets.

    Args:
        role: Who makes the call.
        step: The purpose of the call.
        schema: The form of the reply.
        facts: The call, which an oracle (a scripted model) reads in place of the messages.
        system: The system message: what the model is and what it sees.
        parts: The parts of the user message: images, facts and the task; empty ones are left out.
    """
    # The replies of these steps may list many frames or stretches.
    tokens = 4096 if step in ("plan", "look", "review", "decision") else 2048
    messages = brief(system, *(part for part in parts if part), form_text(schema))
    return Request(role, step, messages, schema, facts, tokens)


def brief(system: str, *parts: str | Image) -> tuple[Message, ...]:
    """Return the first messages of a conversation: the system message, then the user message."""
    return Message("system", (system,)), Message("user", parts)


def form_text(schema: type[BaseModel] | ParametricSchema) -> str:
    """Return the form of a reply: JSON with placeholders such as <seconds> for values."""
    form = _form(*_nodes(schema))
    limit = ""
    if '"<text>"' in form:
        limit = f", with texts of at most {LONGEST_TEXT} characters"
    return f"Reply in JSON{limit}:\n{form}"


def action_forms(schema: ParametricSchema) -> dict[str, str]:
    """Return the form of each action that a step may take, by the name of the action."""
    shape, kinds = _nodes(schema)
    action = shape["properties"]["action"]
    forms = dict[str, dict[str, Any]]()
    for variant in action.get("anyOf", [action]):
        fields = kinds[variant["$ref"].rpartition("/")[2]]["properties"]
        known = forms.setdefault(fields["action"]["const"], {})
        for name, field in fields.items():
            if "const" in field:  # an action with two directions has the values of both
                values = [*known.get(name, {}).get("enum", []), field["const"]]
                field = {"enum": list(dict.fromkeys(values))}
            known[name] = field
    texts = dict[str, str]()
    for word, fields in forms.items():
        texts[word] = _form({"type": "object", "properties": fields}, kinds)
    return texts


def _nodes(schema: type[BaseModel] | ParametricSchema) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the JSON Schema of a reply, and the definitions and placeholders that it refers to."""
    if not isinstance(schema, ParametricSchema):
        return shape_schema(schema), shape_schema(schema).get("$defs", {})
    shape = shape_schema(schema.shape)
    known = {**shape.get("$defs", {})}
    for name, values in schema.values:
        known[name] = '"<label>"' if isinstance(values[0], str) else "<cell>"
    return shape, known


def _form(node: dict[str, Any], known: Mapping[str, Any], name: str = "") -> str:
    """Return the form of a value.

    Args:
        node: The JSON Schema of the value.
        known: The definitions and placeholders that the schema refers to.
        name: The name of the field that has the value.
    """
    if "$ref" in node:
        node = known[node["$ref"].rpartition("/")[2]]
    if PLACEHOLDER in node:
        return str(known.get(node[PLACEHOLDER], "<cell>"))
    if "const" in node:
        return json.dumps(node["const"])
    if "enum" in node:
        return "|".join(map(json.dumps, node["enum"]))
    if "anyOf" in node:
        return "\n or ".join(_form(each, known, name) for each in node["anyOf"])
    match node["type"]:
        case "object":
            forms = list[str]()
            for key, each in node["properties"].items():
                forms.append(f'"{key}": {_form(each, known, key)}')
            return f"{{{', '.join(forms)}}}"
        case "array":
            least = node.get("minItems", 0)
            count = ""
            if least > 1 and least == node.get("maxItems"):
                count = f" {least} in all"
            return f"[{_form(node['items'], known, name)}, …{count}]"
        case "string":
            longest = node.get("maxLength", LONGEST_TEXT)
            if longest == LONGEST_TEXT:
                return '"<text>"'
            return f'"<text of at most {longest} characters>"'
        case "boolean":
            return "true|false"
    if node.get("maximum") == 1:
        return "<0 to 1>"
    return "<seconds>" if name.endswith("_s") else "<whole number>"


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
    """Return the description of a view: its size, its interval, the starts of its cells."""
    grid = view.grid
    where = "stands in its corner"
    if view.look.ruled:
        where = "and the time of its frame stand above the frame"
    starts = f"Cell n starts at {seconds(grid.start_s)} + {grid.resolution_s:.6g} n s; its number "
    if grid.is_uneven:
        starts = "Its number "
    return (
        f"A sheet of {grid.k}×{grid.k} cells of the video, {span_text(*grid.interval_s)}. "
        f"{starts}{where}. {films_text(view)}"
    ).rstrip()


def films_text(view: View) -> str:
    """Return which films of a collection a view shows, and when each starts; "" for other videos.

    If there are many films, only some are named: the first MOST_FILMS or, if cells begin with
    films, the film at the start of each cell.
    """
    video = view.video
    grid = view.grid
    if not isinstance(video, Collection):
        return ""
    films = video.films_in(*grid.interval_s)
    rows = list[str]()
    if not grid.is_uneven:
        for film in films[:MOST_FILMS]:
            rows.append(f"{_film_name(film)} from {seconds(max(film.start_s, grid.start_s))} s")
        more = f", and {len(films) - MOST_FILMS} more" if len(films) > MOST_FILMS else ""
        return f"Of the films: {'; '.join(rows)}{more}."
    shown: Film | None = None
    for cell in view.cells:
        film = video.film_at(cell.start_s)
        if film != shown:
            rows.append(f"{view.first + cell.index}: {_film_name(film)}, {seconds(cell.start_s)} s")
        shown = film
    if len(films) > grid.size:
        rule = "A cell stands for several films, and shows a frame of one of them."
    else:
        rule = "No cell has parts of two films."
    return (
        f"The video is a collection of {len(video.films)} films, of which {len(films)} are here, "
        f"one after another; seconds count through all of them. {rule} After the number of a cell, "
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

    The text depends on the view and the question alone, so prompts put it right after the image:
    calls about one view then begin with the same text, which servers can cache.
    """
    view = observation.view
    chosen, remark = listed_lines(observation.subtitles, question)
    by_cell = observation.lines_by_cell(chosen)
    remarks = list(filter(None, (cuts_text(view), remark)))
    if observation.cells == "full":
        rows = [_cell_text(view, cell, by_cell.get(cell.index, [])) for cell in view.cells]
        return "\n".join(["The cells:", *rows, *remarks])
    rows = [*remarks, *lines_text(by_cell, FIRST_CELL)]
    if view.dead:
        dead = listed(sorted(view.dead))
        rows.insert(0, f"Searched without findings, hatched and without a number: {dead}.")
    return "\n".join(rows)


def cuts_text(view: View) -> str:
    """Return the meaning of the counts above cells, the times of cuts, and the short shots.

    The text is "" if there are none. If there are many cuts, only the first of each cell are
    listed.
    """
    hidden = view.hidden_cuts
    short = view.short_shots
    texts = list[str]()
    if hidden:
        most = max(1, MOST_CUTS // len(hidden))
        rows = [_cuts_row(view, cell, most) for cell in sorted(hidden)]
        texts.append(f"{CUTS} {HIDDEN} {'; '.join(rows)}.")
    if short:
        shortest = sorted(short, key=lambda cell: short[cell][1] - short[cell][0])[:MOST_SHORT]
        rows = list[str]()
        for cell in sorted(shortest):
            start_s, end_s = short[cell]
            rows.append(f"{cell}: {seconds(start_s)}–{seconds(end_s)}")
        texts.append(f"{SHORT} {'; '.join(rows)}.")
    return " ".join(texts)


def _cuts_row(view: View, cell: int, most: int) -> str:
    """Return the first hidden shots and lone cuts of a cell, in order of time."""
    places = dict[float, str]()
    for start_s, end_s in view.hidden_shots.get(cell, ()):
        places[start_s] = f"{seconds(start_s)}–{seconds(end_s)}"
    edges_s = set(chain.from_iterable(view.hidden_shots.get(cell, ())))
    for cut_s in view.hidden_cuts[cell]:
        if cut_s not in edges_s:
            places[cut_s] = seconds(cut_s)
    words = [places[time_s] for time_s in sorted(places)]
    more = ", …" if len(words) > most else ""
    return f"{cell}: {', '.join(words[:most])}{more}"


@lru_cache(maxsize=16)
def listed_lines(
    lines: tuple[Line, ...],
    question: Question,
    most: int = MOST_SUBTITLES,
    room: int = MOST_MATCHING,
) -> tuple[tuple[Line, ...], str]:
    """Return the subtitle lines that a prompt lists, in order of time, and a remark on the others.

    The last results are cached, since all probes and reviews of a long video ask for the same.

    Args:
        lines: The lines.
        question: The question.
        most: The most characters at which all lines are listed.
        room: If there are more, the characters for those lines that share most words with the
            question.
    """
    if not lines:
        return lines, NO_SUBTITLES
    # This estimate is cheap even for very many lines, which are then not quoted in vain.
    is_short = sum(len(line.text) + LEAST_QUOTED for line in lines) <= most
    if is_short and sum(map(len, map(quote_line, lines))) <= most:
        return lines, ""
    scores = Index([_Said(line.text) for line in lines]).scores(query_of(question))
    chosen = dict[str, int]()
    for place in sorted(range(len(lines)), key=lambda place: (-scores[place], place)):
        room -= len(quote_line(lines[place]))
        if scores[place] <= 0 or room < 0:
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
    """A subtitle line in the form that `Index` searches."""

    words: str


def lines_text(by_cell: Mapping[int, Sequence[Line]], cell: str = "its cell") -> list[str]:
    """Return a heading and one row for each subtitle line; no rows if there are no lines.

    The number of the cell comes right before the line, so that small models find it. If a time
    stands between the two, they confuse the digits.

    Args:
        by_cell: The lines, by the index of a cell.
        cell: The words with which the heading refers to that cell.
    """
    rows = list[str]()
    for index, lines in by_cell.items():
        for line in lines:
            rows.append(f"{index}: {quote_line(line)}")
    if not rows:
        return []
    return [f"Said in this time, each line after the number of {cell}:", *rows]


def _cell_text(view: View, cell: Cell, lines: Sequence[Line]) -> str:
    """Return the row of a cell in a prompt that describes the cells one by one."""
    if cell.index in view.dead:
        content = "searched without findings"
    else:
        frame = f"frame at {moment_text(view.moments[cell.index])}"
        content = " ".join([frame, *map(quote_line, lines)])
    return f"Cell {cell.index}, {span_text(cell.start_s, cell.end_s)}: {content}"


def quote_line(line: Line) -> str:
    """Return a subtitle line in quotes, with its interval."""
    return f"{json.dumps(line.text, ensure_ascii=False)} [{line.start_s:.1f}–{line.end_s:.1f} s]"


def evidence_text(scratchpad: Scratchpad, left_out: int = 0) -> str:
    """Return the evidence, one row for each item, in order of time.

    Args:
        scratchpad: The evidence to list.
        left_out: How many further items the run has.
    """
    if not scratchpad.items:
        return "No evidence is kept yet."
    items = sorted(scratchpad, key=lambda item: item.timestamp_s)
    rows = ["What was noted of the evidence, in order of time:", *map(_item_text, items)]
    if left_out:
        rows.append(f"And {left_out} frames more, less sure or older, which are not shown.")
    return "\n".join(rows)


def _item_text(item: Evidence) -> str:
    """Return an item's row; small models need the description right after the label."""
    cell = (
        f"frame at {moment_text(item.timestamp_s)}, stands for "
        f"{seconds(item.start_s)}–{seconds(item.end_s)} s"
    )
    sure = f"confidence {item.confidence:g}"
    return f"[{item.label}] {item.description} ({cell}, {sure}){spoken_text(item)}"


def spoken_text(item: Evidence) -> str:
    """Return what is said during the cell of an item, as the end of its row; "" for nothing."""
    if not item.subtitle:
        return ""
    return f", said about then: {json.dumps(item.subtitle, ensure_ascii=False)}"


def searched_text(cells: Sequence[int]) -> str:
    """Return which cells of the root grid cannot be named."""
    return f"Already searched or being searched, cannot be chosen: {listed(cells)}."


def hints_text(hints: Sequence[HintRecord]) -> str:
    """Return the scouts' hints, one row for each: the cell, then the reason."""
    made = "without seeing a frame"
    if any(hint.looked for hint in hints):
        made = "by programs, from subtitles or frames"
    rows = [f"Hints where to look, made {made}; they may be wrong, and prove nothing:"]
    for hint in hints:
        rows.append(f"cell {hint.cell}: {hint.reason}")
    return "\n".join(rows)


def ranking_request(most: int, cells: Sequence[int]) -> str:
    """Return the request to name some of these cells, best first."""
    return (
        f"Name up to {most} of the cells {listed(cells)}, best first; none ([]) if none stands out."
    )


def gaps_text(gaps: Sequence[Gap]) -> str:
    """Return the gaps in order of time; of too many, those between two labels, then the longest."""
    if not gaps:
        return ""

    def rank(gap: Gap) -> tuple[bool, float]:
        is_at_an_end = not (gap.after and gap.before)
        return is_at_an_end, gap.start_s - gap.end_s  # the longest first

    listed_gaps = sorted(gaps, key=rank)[:MOST_GAPS]
    listed_gaps.sort(key=lambda gap: (gap.start_s, gap.end_s))
    heading = "Stretches between the evidence of which not all was seen:"
    return "\n".join([heading, *map(_gap_text, listed_gaps)])


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
    if not unfollowed:
        return ""
    rows = ["You asked for these, and they cannot be searched again:"]
    for each in unfollowed:
        rows.append(f"{span_text(*each.interval_s)}: {reasons[each.reason]}.")
    return "\n".join(rows)


TRUST = (
    "If the question is about what is said, subtitles are evidence. If it is about what is seen, "
    "the frame decides where the two disagree. A phrase that resembles an answer proves nothing "
    "until its context fits the question."
)
DECIDE = (
    "Decide. Weigh each possible answer by the frames that support it and those that contradict "
    f"it. {TRUST} Then give the answer that is supported best, in any case one."
)
