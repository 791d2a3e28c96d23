"""The prompts that nano was taught: the calls of Video-RLM in the words of its lessons.

A snapshot of 2026: the words for other models may change, these do not. The preset of nano names
this module, and the recipe that trains nano makes its lessons with it. The texts are in
`words.toml`.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Collection, Mapping, Sequence
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
from atlaskit.environment.grid import clock, listed
from atlaskit.environment.memory import Gap, Scratchpad
from atlaskit.environment.question import Question
from atlaskit.errors import InputError
from atlaskit.models.protocol import Image, Message, Request
from atlaskit.video.subtitles import Line
from atlasworld.nano import schemas

TEXTS: dict[str, Any] = tomllib.loads((Path(__file__).parent / "words.toml").read_text("utf-8"))


def request(call: Call) -> Request:
    """Return a call of Video-RLM as nano was taught it (paper §3.2)."""
    if isinstance(call, StepCall):
        messages = call.conversation(_opening, _result)
        return Request(
            "worker", "step", messages, schemas.step_schema(call.observation.legal), call
        )
    asked = question_text(call.question)
    if isinstance(call, TaskCall):
        plan = [TEXTS["traversals"]] if call.chooses_traversal else []
        schema = schemas.PlanAnswer if call.chooses_traversal else schemas.TaskAnswer
        return Request(
            "master", "task", (Message("user", (TEXTS["task"], *plan, asked)),), schema, call
        )
    if isinstance(call, ProbeCall):
        facts = (
            say("aim", call=call),
            evidence_text(call.scratchpad),
            opened_cells_text(call.closed),
        )
        rest = asked, *facts, say("ranking", most=call.top, cells=listed(call.open_cells))
        messages = _brief("master", *_sheet(call.observation), TEXTS["probe"], *rest)
        return Request(
            "master", "probe", messages, schemas.probe_schema(call.open_cells, call.top), call
        )
    if isinstance(call, ReviewCall):
        pad = call.sheet.scratchpad
        duration_s = call.observation.state.rules.duration_s
        facts = say("aim", call=call), evidence_text(pad, call.left_out), gaps_text(call.gaps)
        sheets = (*_sheet(call.observation), TEXTS["kept"], call.sheet, TEXTS["review"])
        messages = _brief(
            "master", *sheets, asked, *facts, say("searchable", cells=listed(call.open_cells))
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
    """Return one of the texts, with facts in it."""
    return str(TEXTS[name].format(**facts))


def _brief(role: str, *parts: str | Image) -> tuple[Message, ...]:
    return Message("system", (TEXTS["roles"][role],)), Message(
        "user", tuple(part for part in parts if part)
    )


def _opening(call: StepCall) -> tuple[Message, ...]:
    state = call.observation.state
    past = notes(call.turns, _note)
    looks = (TEXTS["looked"], call.observation.looking_at) if call.observation.looking_at else ()
    region, here = (
        f"{clock(grid.start_s)}–{clock(grid.end_s)}" for grid in (state.region, state.grid)
    )
    where = say("where", state=state, region=region, video=clock(state.rules.duration_s), here=here)
    so_far = "\n".join([TEXTS["notes"], *past]) if past else TEXTS["arrived"]
    pad = opened_cells_text(call.opened), evidence_text(state.scratchpad)
    facts = (say("aim", call=call), where, so_far, *pad, *looks, _moves(call))
    return _brief(
        state.rules.traversal, *_sheet(call.observation), question_text(call.question), *facts
    )


def _result(call: StepCall) -> tuple[str | Image, ...]:
    turn = call.turns[-1]
    seen = call.observation.looking_at
    if turn.problem:
        return say("problem", turn=turn), _moves(call)
    text = TEXTS["results"].get(type(turn.action).__name__, "Done.")
    text = text.format(action=turn.action, cells=listed(cells_of(turn.action)))
    return (text, seen, _moves(call)) if seen else (text, _moves(call))


def _note(turn: Turn) -> str:
    view = turn.observation.view
    named = cells_of(turn.action) or (0,)
    items = getattr(turn.action, "items", ())
    kept = "; ".join(f"{clock(view.moments[item.cell])} {item.description}" for item in items)
    first = view.cells[named[0]]
    ends = {
        "start": clock(first.start_s),
        "end": clock(first.end_s),
        "last": clock(view.cells[-1].end_s),
    }
    facts = {
        "action": turn.action,
        "kept": kept,
        "count": len(named),
        "moment": clock(view.moments[named[0]]),
    }
    return str(TEXTS["past"][type(turn.action).__name__].format(**facts, **ends))


def _moves(call: StepCall) -> str:
    legal = call.observation.legal
    steps = f"{call.steps_left} step{'s' if call.steps_left != 1 else ''}"
    moves = [
        f"{word} {listed(legal[name])}" for name, word in TEXTS["names"].items() if legal[name]
    ]
    moves += [*(["backtrack"] if "backtrack" in legal else []), "finished"]
    return say("moves", moves="; ".join(moves), steps=steps)


def question_text(question: Question) -> str:
    """Return the question with the form of its answer, or its choices."""
    form = TEXTS["forms"].get("several" if question.several else question.kind)
    choices = [f"  {index}: {choice}" for index, choice in enumerate(question.choices)]
    return "\n".join([say("question", question=question), *([form] if form else []), *choices])


def _sheet(seen: Observation) -> tuple[str | Image, ...]:
    """Return a view, what it is, which cells are dead, and what is said."""
    lines = listed_lines(seen)
    dead = [say("dead", cells=listed(sorted(seen.view.dead)))] if seen.view.dead else []
    said = subtitles_by_cell(lines) + ([] if seen.subtitles else [TEXTS["silent"]])
    if seen.lines_by_cell() and not lines:
        said = [say("many", count=len(seen.subtitles))]
    return say("grid", grid=seen.view.grid), seen.view, "\n".join([*dead, *said])


def listed_lines(seen: Observation) -> dict[int, list[Line]]:
    """Return the subtitle lines that a prompt lists, by cell: all, or none if they are too many."""
    lines = seen.lines_by_cell()
    characters = sum(len(quote_line(line)) for each in lines.values() for line in each)
    return lines if characters <= TEXTS["most_subtitles"] else {}


def subtitles_by_cell(lines: Mapping[int, Sequence[Line]]) -> list[str]:
    """Return a heading and one row for each subtitle line; no rows if there are no lines."""
    rows = [f"{index}: {quote_line(line)}" for index, each in lines.items() for line in each]
    return [TEXTS["said"], *rows] if rows else []


def quote_line(line: Line) -> str:
    """Return a subtitle line in quotes, with its interval."""
    return f"{json.dumps(line.text, ensure_ascii=False)} [{line.start_s:.1f}–{line.end_s:.1f} s]"


def evidence_text(scratchpad: Scratchpad, left_out: int = 0) -> str:
    """Return the evidence, one row for each item, in order of time."""
    rows = list[str]()
    for item in sorted(scratchpad, key=lambda item: item.timestamp_s):
        said = f", said: {json.dumps(item.subtitle, ensure_ascii=False)}" if item.subtitle else ""
        rows.append(say("item", item=item) + said)
    more = [say("more", count=left_out)] if left_out else []
    return "\n".join([TEXTS["evidence"], *rows, *more]) if rows else str(TEXTS["nothing"])


def opened_cells_text(cells: Collection[int]) -> str:
    """Return which cells were opened, one by one; "" if there are none."""
    return say("opened", cells=", ".join(f"{cell}*" for cell in sorted(cells))) if cells else ""


def gaps_text(gaps: Sequence[Gap]) -> str:
    """Return the eight longest gaps between the evidence, in order of time; "" if none are."""
    rows = list[str]()
    for gap in sorted(
        sorted(gaps, key=lambda gap: gap.start_s - gap.end_s)[:8], key=lambda gap: gap.start_s
    ):
        after = f"[{gap.after}]" if gap.after else "the video's start"
        before = f"[{gap.before}]"
        rows.append(
            say("gap", gap=gap, after=after, before=before if gap.before else "the video's end")
        )
    return "\n".join([TEXTS["gaps"], *rows]) if rows else ""
