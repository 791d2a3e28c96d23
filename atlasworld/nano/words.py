"""The prompts that nano was trained on, for the calls of Video-RLM.

They are frozen, while the prompts for other models may change. The preset of nano names this
module, and the recipe that trains nano makes its training data with it. The texts are in
`words.toml`.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Collection, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from atlaskit.agents.prompts import (
    Call,
    DecisionCall,
    GlanceCall,
    ProbeCall,
    ReviewCall,
    StepCall,
    TaskCall,
    Turn,
)
from atlaskit.agents.prompts.worker import notes
from atlaskit.environment.actions import cells_of
from atlaskit.environment.atlas import Observation
from atlaskit.environment.grid import Grid, clock, listed
from atlaskit.environment.memory import Gap, Scratchpad
from atlaskit.environment.question import Question
from atlaskit.errors import InputError
from atlaskit.models.protocol import Image, Message, Request
from atlaskit.video.subtitles import Line
from atlasworld.nano import schemas

TEXTS: dict[str, Any] = tomllib.loads((Path(__file__).parent / "words.toml").read_text("utf-8"))


def request(call: Call) -> Request:
    """Return the request of a call of Video-RLM, with nano's prompts (paper §3.2).

    Raises:
        InputError: nano was not trained for such a call.
    """
    if isinstance(call, StepCall):
        messages = call.conversation(_opening, _result)
        return Request(
            "worker", "step", messages, schemas.step_schema(call.observation.legal), call
        )
    asked = question_text(call.question)
    if isinstance(call, TaskCall):
        schema: type[schemas.TaskAnswer] = schemas.TaskAnswer
        parts = [TEXTS["task"], asked]
        if call.chooses_traversal:
            schema = schemas.PlanAnswer
            parts.insert(1, TEXTS["traversals"])
        return Request("master", "task", (Message("user", tuple(parts)),), schema, call)
    if isinstance(call, ProbeCall):
        messages = _brief(
            "master",
            *_sheet(call.observation),
            TEXTS["probe"],
            asked,
            say("aim", call=call),
            evidence_text(call.scratchpad),
            opened_cells_text(call.closed),  # cells that are or were explored
            say("ranking", most=call.top, cells=listed(call.open_cells)),
        )
        probe = schemas.probe_schema(call.open_cells, call.top)
        return Request("master", "probe", messages, probe, call)
    if isinstance(call, ReviewCall):
        pad = call.sheet.scratchpad
        duration_s = call.observation.state.rules.duration_s
        messages = _brief(
            "master",
            *_sheet(call.observation),
            TEXTS["kept"],
            call.sheet,
            TEXTS["review"],
            asked,
            say("aim", call=call),
            evidence_text(pad, call.left_out),
            gaps_text(call.gaps),
            say("searchable", cells=listed(call.open_cells)),
        )
        review = schemas.review_schema(
            len(call.question.choices), duration_s, pad.labels, call.open_cells
        )
        return Request("master", "review", messages, review, call)
    if isinstance(call, DecisionCall):
        pad = call.sheet.scratchpad
        evidence = evidence_text(pad, call.left_out)
        messages = _brief("master", TEXTS["frames"], call.sheet, TEXTS["decide"], asked, evidence)
        decision = schemas.decision_schema(call.question, call.duration_s, pad.labels)
    elif isinstance(call, GlanceCall):
        messages = _brief(
            "master", *_sheet(call.observation), TEXTS["decide"], TEXTS["numbers"], asked
        )
        duration_s = call.observation.state.rules.duration_s
        cells = call.observation.legal["add_to_scratchpad"]
        decision = schemas.decision_schema(call.question, duration_s, cells)
    else:
        raise InputError(
            'This model was not taught to search by looks: choose another traversal than "looks".'
        )
    return Request("master", "decision", messages, decision, call)


def say(name: str, **facts: Any) -> str:
    """Return a text of `words.toml`, with facts in its placeholders."""
    return str(TEXTS[name].format(**facts))


def _brief(role: str, *parts: str | Image) -> tuple[Message, ...]:
    system = Message("system", (TEXTS["roles"][role],))
    return system, Message("user", tuple(filter(None, parts)))


def _opening(call: StepCall) -> tuple[Message, ...]:
    state = call.observation.state
    past = notes(call.turns, _note)
    so_far = "\n".join([TEXTS["notes"], *past]) if past else TEXTS["arrived"]
    closer: tuple[str | Image, ...] = ()
    if call.observation.looking_at:
        closer = (TEXTS["looked"], call.observation.looking_at)
    return _brief(
        state.rules.traversal,
        *_sheet(call.observation),
        question_text(call.question),
        say("aim", call=call),
        say(
            "where",
            state=state,
            region=_span(state.region),
            video=clock(state.rules.duration_s),
            here=_span(state.grid),
        ),
        so_far,
        opened_cells_text(call.opened),
        evidence_text(state.scratchpad),
        *closer,
        _moves(call),
    )


def _span(grid: Grid) -> str:
    return f"{clock(grid.start_s)}–{clock(grid.end_s)}"


def _result(call: StepCall) -> tuple[str | Image, ...]:
    turn = call.turns[-1]
    seen = call.observation.looking_at
    if turn.problem:
        return say("problem", turn=turn), _moves(call)
    text = TEXTS["results"].get(type(turn.action).__name__, "Done.")
    text = text.format(action=turn.action, cells=listed(cells_of(turn.action)))
    if seen:
        return text, seen, _moves(call)
    return text, _moves(call)


def _note(turn: Turn) -> str:
    view = turn.observation.view
    # `backtrack` names no cell: its note gives the grid's interval, which begins with cell 0.
    named = cells_of(turn.action) or (0,)
    items = getattr(turn.action, "items", ())
    evidence = "; ".join(f"{clock(view.moments[item.cell])} {item.description}" for item in items)
    first = view.cells[named[0]]
    text = TEXTS["past"][type(turn.action).__name__]
    note = text.format(
        action=turn.action,
        kept=evidence,
        count=len(named),
        moment=clock(view.moments[named[0]]),
        start=clock(first.start_s),
        end=clock(first.end_s),
        last=clock(view.cells[-1].end_s),
    )
    return str(note)


def _moves(call: StepCall) -> str:
    legal = call.observation.legal
    steps = f"{call.steps_left} step{'s' if call.steps_left != 1 else ''}"
    moves = list[str]()
    for name, word in TEXTS["names"].items():
        if legal[name]:
            moves.append(f"{word} {listed(legal[name])}")
    if "backtrack" in legal:
        moves.append("backtrack")
    moves.append("finished")
    return say("moves", moves="; ".join(moves), steps=steps)


def question_text(question: Question) -> str:
    """Return the question with the form of its answer, or its choices."""
    form = TEXTS["forms"].get("several" if question.several else question.kind)
    rows = [say("question", question=question)]
    if form:
        rows.append(form)
    for index, choice in enumerate(question.choices):
        rows.append(f"  {index}: {choice}")
    return "\n".join(rows)


def _sheet(seen: Observation) -> tuple[str | Image, ...]:
    """Return a view with its description, its dead cells and its subtitle lines."""
    lines = listed_lines(seen)
    rows = list[str]()
    if seen.view.dead:
        rows.append(say("dead", cells=listed(sorted(seen.view.dead))))
    if seen.lines_by_cell() and not lines:
        rows.append(say("many", count=len(seen.subtitles)))
    else:
        rows += subtitles_by_cell(lines)
        if not seen.subtitles:
            rows.append(TEXTS["silent"])
    return say("grid", grid=seen.view.grid), seen.view, "\n".join(rows)


def listed_lines(seen: Observation) -> dict[int, list[Line]]:
    """Return the subtitle lines that a prompt lists, by cell: all, or {} if they are too long."""
    lines = seen.lines_by_cell()
    quotes = map(quote_line, chain.from_iterable(lines.values()))
    characters = sum(map(len, quotes))
    return lines if characters <= TEXTS["most_subtitles"] else {}


def subtitles_by_cell(lines: Mapping[int, Sequence[Line]]) -> list[str]:
    """Return a heading and one row for each subtitle line; no rows if there are no lines."""
    rows = list[str]()
    for index, of_cell in lines.items():
        for line in of_cell:
            rows.append(f"{index}: {quote_line(line)}")
    return [TEXTS["said"], *rows] if rows else []


def quote_line(line: Line) -> str:
    """Return a subtitle line in quotes, with its interval."""
    return f"{json.dumps(line.text, ensure_ascii=False)} [{line.start_s:.1f}–{line.end_s:.1f} s]"


def evidence_text(scratchpad: Scratchpad, left_out: int = 0) -> str:
    """Return the evidence, one row for each item, in order of time.

    Args:
        scratchpad: The evidence.
        left_out: How many further items are not shown, because there are too many.
    """
    if not scratchpad:
        return str(TEXTS["nothing"])
    rows = [TEXTS["evidence"]]
    for item in sorted(scratchpad, key=lambda item: item.timestamp_s):
        row = say("item", item=item)
        if item.subtitle:
            row += f", said: {json.dumps(item.subtitle, ensure_ascii=False)}"
        rows.append(row)
    if left_out:
        rows.append(say("more", count=left_out))
    return "\n".join(rows)


def opened_cells_text(cells: Collection[int]) -> str:
    """Return which cells were opened, one by one; "" if there are none."""
    if not cells:
        return ""
    return say("opened", cells=", ".join(f"{cell}*" for cell in sorted(cells)))


def gaps_text(gaps: Sequence[Gap]) -> str:
    """Return rows about the eight longest gaps between the evidence, by time; "" if none."""
    rows = list[str]()
    longest = sorted(gaps, key=lambda gap: gap.start_s - gap.end_s)[:8]
    for gap in sorted(longest, key=lambda gap: gap.start_s):
        after = f"[{gap.after}]" if gap.after else "the video's start"
        before = f"[{gap.before}]" if gap.before else "the video's end"
        rows.append(say("gap", gap=gap, after=after, before=before))
    if not rows:
        return ""
    return "\n".join([TEXTS["gaps"], *rows])
