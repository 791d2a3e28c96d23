"""Drills: sheets of cells drawn by chance, to read out and to search, and evidence drawn by chance, to judge.

From lessons alone nothing is learned for long: they say little, and mostly that there is nothing. A drill says
something of each cell or piece of evidence, so that it is soon known which words are about which cell, and what it is
for two things to be the same. What is said is what the teacher says of the same; no film is needed for it.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from atlaskit.agents.schemas import LONGEST_TEXT, decision_schema, probe_schema, review_schema, step_schema
from atlaskit.agents.verbalize import (
    NO_SUBTITLES,
    evidence_text,
    grid_intro,
    opened_cells_text,
    question_text,
    ranking_request,
    subtitles_by_cell,
)
from atlaskit.benchmarks.atlasworld.generator import LONGEST_S
from atlaskit.environment.grid import Grid
from atlaskit.environment.mdp import LegalSet
from atlaskit.environment.notation import clock
from atlaskit.nano.data.sampling import (
    CALLED,
    CELLS,
    K,
    any_sight,
    found_before,
    found_to_judge,
    much_said,
    sheet,
    some_lines,
    some_names,
    some_question,
    some_target,
)
from atlaskit.nano.teacher.goal import Asks, goal_of, named_in, texts_by_cell, told
from atlaskit.nano.teacher.labels import CellContent, codes
from atlaskit.nano.teacher.scan import Scan, heard_in, is_strange, named_first, scan_view
from atlaskit.nano.teacher.teacher import act, decide, probe, review, spelt
from atlaskit.video.subtitles import Line

READ = {"place": 1, "light": 1, "colour": 1, "shape": 1, "word": 6, "object": 2, "scene": 2, "cell": 2}
"""What is read of every cell, and how often: words most, since there are ten times as many of them."""
SEARCHED: dict[Asks, int] = {
    "object": 4,
    "colour": 4,
    "text": 1,
    "neighbour": 3,
    "first": 4,
    "count": 1,
    "line": 4,
    "when": 2,
}
JUDGED: dict[Asks, int] = {
    "object": 2,
    "colour": 2,
    "text": 2,
    "neighbour": 2,
    "first": 4,
    "count": 4,
    "line": 1,
    "when": 4,
}
"""The kinds of questions, as `quest` names them, and how often each is asked: those most of which most has to be said
that no other has."""
PROBES, ROOT_PROBES, MOST_PROBED = 0.2, 0.6, (4, 8, 12)
"""Of the drills to search a part of a film, and of those to search all of it, those that end in a list of cells to
search, as the Master makes it, who sees all of it; and how many of them there may be."""
DEPTHS, LONG_DEPTHS = (0, 0, 1, 1, 2), (0, 1, 1, 2, 2, 3)
"""Of the drills to search, by turns of chance; those of the longest film go down to half a second. Scenes matter near
the root alone, and what is strange to a long film's filler does not where cells are short: both have to be seen."""
OPENED, ALL_OPENED, NEAR_OPENED = 0.6, 0.15, 0.6
"""Of the drills to search a part of a film, those in which some cells were opened before; of these, those in which all
were, where nothing is left to do, and those in which the last were of those to be opened, as by who searches; half of
them from the beginning of a strange scene on: where that was opened before, and the cell before it was not, one that
had been drilled by chance alone mostly found nothing left to do."""
LENGTHS_S = (300.0, 600.0, 600.0, 900.0, 3600.0, 36_000.0, 36_000.0)
NAMED = 0.6
"""Of the drills to hear, those in which it is likely that the line that is asked for is said: in most of what is said
in a film it is not, and whoever always heard it would hear it where something else is named."""
HALF_FILLER, MOSTLY_FILLER = 0.5, 0.85
"""Shares of the scenes of a long film that are those of the filler between its clips: half, by which it is learned
sooner what is none, or most, as it is."""
MUCH_SAID = 0.3
"""Of the drills to search the longest film one level down, those in which as much is said in each cell as there."""
Row = dict[str, Any]


def reading(rng: random.Random, count: int = 4) -> Row:
    """Return a sheet, and drills to read one thing of every cell, or to describe some cells."""
    sights = sheet(rng)
    examples = []
    for _ in range(count):
        (kind,) = rng.choices(list(READ), list(READ.values()))
        words = [_read(sight, kind) for sight in sights]
        thought = "".join(f"{index}{word}-" for index, word in enumerate(words))
        examples.append(_example("drill", f"Read the {kind}s.", f'{{"thought":"{thought}'))
    shown = [cell for cell, sight in enumerate(sights) if sight is not None]
    if len(shown) >= 3:
        chosen = rng.sample(shown, 3)
        lines = ",".join(f'"cell":{cell},"description":"{told(sights[cell] or CellContent())}"' for cell in chosen)
        examples.append(_example("drill", f"Describe {', '.join(map(str, chosen))}.", lines))
    return _group("<|user|>Look.\n<image>", sights, examples)


def searching(rng: random.Random, count: int = 4, *, lengths_s: Sequence[float] = LENGTHS_S) -> Row:
    """Return a sheet with what is said in it, and drills to search it for what answers some questions."""
    length_s = rng.choice(lengths_s)
    is_long = length_s > LONGEST_S
    sights = sheet(rng, rng.choice((HALF_FILLER, MOSTLY_FILLER)) if is_long else 0.0)
    depth = rng.choice(LONG_DEPTHS if length_s == LENGTHS_S[-1] else DEPTHS)
    grid = Grid(0.0, length_s, K, tuple(rng.choice(CELLS) for _ in range(depth)))
    if length_s == LENGTHS_S[-1] and depth == 1 and rng.random() < MUCH_SAID:
        lines, _ = much_said(rng, grid, [cell for cell in CELLS if sights[cell] is not None])
    else:
        lines = some_lines(rng, sights, grid)
    heard = "\n".join(subtitles_by_cell(lines) or [NO_SUBTITLES])
    texts = texts_by_cell(lines)
    legal = LegalSet(CELLS, depth > 1, (), CELLS, CELLS, CELLS, CELLS, True)
    examples: list[Row] = []
    while len(examples) < count:
        question = some_question(
            rng, SEARCHED, some_target(rng, sights), [line for said in lines.values() for line in said]
        )
        quest = goal_of(question.text)
        assert quest is not None, question.text
        words = f"{question_text(question)}\nWhat to look for: {quest.task}\n"
        found = found_before(rng, sights, length_s)
        is_probe, open_cells = rng.random() < (PROBES if depth else ROOT_PROBES), _open(rng, sights)
        over = partial(scan_view, quest, sights, texts, cell_s=grid.resolution_s, is_long=is_long, lists=is_probe)
        closed = {cell for cell in CELLS if sights[cell] is not None}.difference(open_cells)
        opened = closed if is_probe else _opened(rng, sights, closed, over().near)
        swept = over(opened=opened)
        if len(swept.thought) > LONGEST_TEXT:  # which no reply has room for
            continue
        before = f"{opened_cells_text(opened)}\n" if opened else ""
        if is_probe:
            examples.append(
                _example("drill", *_probe(rng, swept, open_cells, f"{words}{evidence_text(found)}\n{before}"))
            )
            continue
        meant = step_schema(legal).model_validate({"thought": swept.thought, "action": act(swept, sights, legal, True)})
        reply = spelt(meant)
        if rng.random() < 0.3:  # to go on to the action each time would make steps longer
            reply = reply[: reply.index('","action"')]
        where = f"You were sent to {clock(0)}–{clock(length_s)} of a video of {clock(length_s)}."
        so_far = [f"- kept {clock(item.timestamp_s)} {item.description}" for item in found]
        notes = "\n".join(["So far in this region:", *so_far]) if so_far else "You have just arrived."
        can = f"Possible now: expand 0–15; add_to_scratchpad 0–15; {'backtrack; ' * legal.backtrack}finished."
        examples.append(_example("drill", f"{words}{where}\n{notes}\n{before}{evidence_text(found)}\n{can}", reply))
    return _group(f"<|user|>{grid_intro(grid)}\n<image>\n{heard}", sights, examples)


def straying(rng: random.Random, count: int = 4) -> Row:
    """Return a sheet of a long film, half or little of it strange to the filler, and drills to search it."""
    return searching(rng, count, lengths_s=LENGTHS_S[-1:])


def hearing(rng: random.Random, count: int = 10) -> Row:
    """Return what is said in the cells of a sheet, without a picture, and drills to find in which of them something is
    named: the beginning of a thought."""
    grid = Grid(0.0, rng.choice(LENGTHS_S), K, (rng.choice(CELLS),))
    lines = some_lines(rng, sheet(rng), grid)
    while not lines:
        lines = some_lines(rng, sheet(rng), grid)
    return _heard(rng, grid, lines, count)


def overhearing(rng: random.Random, count: int = 10) -> Row:
    """Return the same for cells as long as those of a long film, in each of which much is said, and mostly of the same
    few things."""
    grid = Grid(0.0, LENGTHS_S[-1], K, (rng.choice(CELLS),))
    lines, rare = much_said(rng, grid, CELLS)
    wanted = [line for said in lines.values() for line in said if not rare.isdisjoint(named_in(line.text))]
    return _heard(rng, grid, lines, count, wanted)


def _heard(
    rng: random.Random, grid: Grid, lines: Mapping[int, Sequence[Line]], count: int, wanted: Sequence[Line] = ()
) -> Row:
    """Return drills to find in which cells a line is said: one of the lines, of those that are wanted if there are any,
    or one that is not among them."""
    heard = "\n".join(subtitles_by_cell(lines))
    texts = texts_by_cell(lines)
    every = wanted or [line for said in lines.values() for line in said]
    examples = []
    for _ in range(count):
        question = some_question(rng, {"line": 1}, any_sight(rng), every if rng.random() < NAMED else [])
        quest = goal_of(question.text)
        assert quest is not None, question.text
        words = f"{question_text(question)}\nWhat to look for: {quest.task}"
        examples.append(_example("drill", words, f'{{"thought":"{named_first(quest, heard_in(quest, texts))}'))
    return _group(f"<|user|>{grid_intro(grid)}\n{heard}", [], examples)


def _open(rng: random.Random, sights: Sequence[CellContent | None]) -> tuple[int, ...]:
    """Draw the cells that can be searched: those that are not black, and in some sheets not a few others, which are
    being searched already."""
    there = [cell for cell in CELLS if sights[cell] is not None]
    busy = set(rng.sample(there, rng.randint(1, min(4, len(there))))) if there and rng.random() < 0.5 else set()
    if there and rng.random() < 0.3:
        busy = set(there[: rng.randint(0, len(there) - 1)])
    return tuple(cell for cell in there if cell not in busy) or CELLS


def _opened(
    rng: random.Random, sights: Sequence[CellContent | None], closed: set[int], near: Sequence[int]
) -> set[int]:
    """Draw the cells that were opened before: none, all, or not a few; or the last of those that were to be."""
    there, how = {cell for cell in CELLS if sights[cell] is not None}, rng.random()
    if rng.random() >= OPENED:
        return set()
    if how < ALL_OPENED:
        return there
    if not near or how >= ALL_OPENED + NEAR_OPENED:
        return closed
    strange = [(sight := sights[cell]) is not None and is_strange(sight) for cell in near]
    begins = [at for at in range(1, len(near)) if near[at] == near[at - 1] + 1 and strange[at] and not strange[at - 1]]
    first = rng.choice(begins) if begins and rng.random() < 0.5 else rng.randrange(len(near))
    return set(near[first:])


def _probe(rng: random.Random, swept: Scan, open_cells: tuple[int, ...], words: str) -> tuple[str, str]:
    """Return what is asked for a list of the cells to search, and the reply."""
    most = rng.choice(MOST_PROBED)
    reply = probe_schema(open_cells, most).model_validate(probe(swept, most))
    return f"{words}{ranking_request(most, open_cells)}", spelt(reply)


def judging(rng: random.Random, count: int = 6) -> Row:
    """Return drills without a picture, to judge some evidence: what it speaks for, and whether that is enough."""
    return _group("<|user|>Evidence.", [], [_judgement(rng) for _ in range(count)])


def _judgement(rng: random.Random) -> Row:
    names = some_names(rng, 6)
    target = replace(any_sight(rng), colour=names[0].split(" ")[0], shape=names[0].split(" ")[1])
    question = some_question(rng, JUDGED, target, [])
    quest = goal_of(question.text)
    assert quest is not None, question.text
    length_s = rng.choice(LENGTHS_S)
    scratchpad = found_to_judge(rng, question, target, names, length_s)
    items, labels = list(scratchpad), scratchpad.labels
    words = f"{question_text(question)}\n{evidence_text(scratchpad)}"
    if rng.random() < 0.5:
        form = decision_schema(question.kind, len(question.choices), length_s, labels)
        reply = spelt(form.model_validate(decide(question, quest, items, labelled=True)))
        return _example("judgement", f"Decide.\n{words}", reply)
    open_cells = tuple(sorted(rng.sample(CELLS, rng.randint(0, 16))))
    form = review_schema(len(question.choices), length_s, labels, open_cells)
    reply = spelt(form.model_validate(review(question, quest, items, open_cells)))
    return _example("judgement", f"Judge it.\n{words}", reply)


def _read(sight: CellContent | None, kind: str) -> str:
    if sight is None:
        return ""
    if kind in CALLED:
        return str(getattr(sight, kind))
    parts = [sight.place, sight.light] if kind != "object" else []
    parts += [sight.colour, sight.shape] if kind != "scene" else []
    return "".join(f"{part}," for part in parts if part)


def _group(prefix: str, sights: Sequence[CellContent | None], examples: list[Row]) -> Row:
    tiles = [codes(sight or CellContent()) for sight in sights]
    return {"prefix": prefix, "images": [{"columns": K, "tiles": tiles}] if tiles else [], "examples": examples}


def _example(step: str, words: str, reply: str) -> Row:
    return {"rest": f"\n{words}<end><|assistant|>", "images": [], "reply": reply, "step": step, "kind": ""}
