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

from atlaskit.benchmarks.atlasworld.reel import BANK_CAST
from atlaskit.benchmarks.atlasworld.screenplay import CALM_LINES, CAPTION_WORDS, EVENT_LINES, LONGEST_S, PLACE_LINES
from atlaskit.benchmarks.atlasworld.script import COLOURS, SHAPES
from atlaskit.environment import LegalSet
from atlaskit.grid import Grid
from atlaskit.memory import Evidence, Scratchpad
from atlaskit.nano.expert import act, decide, probe, review, spelt
from atlaskit.nano.quest import Asks, named_in, quest_of, texts_by_cell, told
from atlaskit.nano.sights import VALUES, Sight, codes
from atlaskit.nano.sweep import Sweep, heard_in, is_strange, named_first, sweep
from atlaskit.question import Question, with_article
from atlaskit.render import clock
from atlaskit.schemas import LONGEST_TEXT, decision_schema, probe_schema, review_schema, step_schema
from atlaskit.subtitles import Line
from atlaskit.wording import SILENCE, asked, kept, map_intro, names_told, opened_told, said_by_cell

K = 4
CELLS = tuple(range(K * K))
FEW = 0.25
"""Of the sheets have few values."""
READ = {"place": 1, "light": 1, "colour": 1, "shape": 1, "word": 6, "object": 2, "scene": 2, "cell": 2}
"""What is read of every cell, and how often: words most, since there are ten times as many of them."""
CALLED = {part: values[1:] for part, values in VALUES.items()}
"""What each part of a sight is called, where there is one."""
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
CALM = (*CALM_LINES, *(line for lines in PLACE_LINES.values() for line in lines))
"""Lines that name nothing that is asked for. Some of them name a place, as "Paths in this forest are easy to lose.": a
mind whose drills had none of these took each forest for one that was looked for, where that was said."""
MUCH_SAID = 0.3
"""Of the drills to search the longest film one level down, those in which as much is said in each cell as there."""
FOUND_BEFORE = 0.5
"""Of the drills to search, those in which evidence was kept before: its words are not looked for, either."""
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
        lines = ",".join(f'"cell":{cell},"description":"{told(sights[cell] or Sight())}"' for cell in chosen)
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
        lines, _ = _much_said(rng, grid, [cell for cell in CELLS if sights[cell] is not None])
    else:
        lines = _lines(rng, sights, grid)
    heard = "\n".join(said_by_cell(lines) or [SILENCE])
    texts = texts_by_cell(lines)
    legal = LegalSet(CELLS, depth > 1, (), CELLS, CELLS, CELLS, CELLS, True)
    examples: list[Row] = []
    while len(examples) < count:
        question = _question(rng, SEARCHED, _target(rng, sights), [line for said in lines.values() for line in said])
        quest = quest_of(question.text)
        assert quest is not None, question.text
        words = f"{asked(question)}\nWhat to look for: {quest.task}\n"
        found = _found_before(rng, sights, length_s)
        is_probe, open_cells = rng.random() < (PROBES if depth else ROOT_PROBES), _open(rng, sights)
        over = partial(sweep, quest, sights, texts, cell_s=grid.resolution_s, is_long=is_long, lists=is_probe)
        closed = {cell for cell in CELLS if sights[cell] is not None}.difference(open_cells)
        opened = closed if is_probe else _opened(rng, sights, closed, over().near)
        swept = over(opened=opened)
        if len(swept.thought) > LONGEST_TEXT:  # which no reply has room for
            continue
        before = f"{opened_told(opened)}\n" if opened else ""
        if is_probe:
            examples.append(_example("drill", *_probe(rng, swept, open_cells, f"{words}{kept(found)}\n{before}")))
            continue
        meant = step_schema(legal).model_validate({"thought": swept.thought, "action": act(swept, sights, legal, True)})
        reply = spelt(meant)
        if rng.random() < 0.3:  # to go on to the action each time would make steps longer
            reply = reply[: reply.index('","action"')]
        where = f"You were sent to {clock(0)}–{clock(length_s)} of a video of {clock(length_s)}."
        so_far = [f"- kept {clock(item.timestamp_s)} {item.description}" for item in found]
        notes = "\n".join(["So far in this region:", *so_far]) if so_far else "You have just arrived."
        can = f"Possible now: expand 0–15; add_to_scratchpad 0–15; {'backtrack; ' * legal.backtrack}finished."
        examples.append(_example("drill", f"{words}{where}\n{notes}\n{before}{kept(found)}\n{can}", reply))
    return _group(f"<|user|>{map_intro(grid)}\n<image>\n{heard}", sights, examples)


def straying(rng: random.Random, count: int = 4) -> Row:
    """Return a sheet of a long film, half or little of it strange to the filler, and drills to search it."""
    return searching(rng, count, lengths_s=LENGTHS_S[-1:])


def hearing(rng: random.Random, count: int = 10) -> Row:
    """Return what is said in the cells of a sheet, without a picture, and drills to find in which of them something is
    named: the beginning of a thought."""
    grid = Grid(0.0, rng.choice(LENGTHS_S), K, (rng.choice(CELLS),))
    lines = _lines(rng, sheet(rng), grid)
    while not lines:
        lines = _lines(rng, sheet(rng), grid)
    return _heard(rng, grid, lines, count)


def overhearing(rng: random.Random, count: int = 10) -> Row:
    """Return the same for cells as long as those of a long film, in each of which much is said, and mostly of the same
    few things."""
    grid = Grid(0.0, LENGTHS_S[-1], K, (rng.choice(CELLS),))
    lines, rare = _much_said(rng, grid, CELLS)
    wanted = [line for said in lines.values() for line in said if not rare.isdisjoint(named_in(line.text))]
    return _heard(rng, grid, lines, count, wanted)


def _much_said(rng: random.Random, grid: Grid, cells: Sequence[int]) -> tuple[dict[int, list[Line]], set[str]]:
    """Draw what is said in some cells of a long film, and the rare things among what is named."""
    usual = [f"{colour} {shape}" for colour, shape in BANK_CAST.objects]
    if rng.random() < 0.5:
        usual = _names(rng, len(usual))
    rare = [name for name in _names(rng, 20) if name not in usual][:4]
    names = {cell: rng.choices(usual, k=rng.randint(1, 4)) for cell in cells}
    for name in rare if cells else ():
        first = rng.randrange(len(cells))
        for cell in cells[first : first + rng.choice((1, 1, 2, 3))]:
            names[cell].append(name)
    return {cell: _said(rng, grid, cell, named, rng.randint(1, 4)) for cell, named in names.items()}, set(rare)


def _said(rng: random.Random, grid: Grid, cell: int, names: Sequence[str], calm: int) -> list[Line]:
    """Draw the lines of a cell: some that name something, and so many that name nothing."""
    texts = [rng.choice(EVENT_LINES).format(object=with_article(name)) for name in names]
    texts += rng.choices(CALM, k=calm)
    rng.shuffle(texts)
    cell_s, starts = grid.resolution_s, sorted(rng.random() for _ in texts)
    first_s = grid.start_s + cell * cell_s
    return [
        Line(first_s + at * cell_s, first_s + at * cell_s + 2.5, text) for at, text in zip(starts, texts, strict=True)
    ]


def _heard(
    rng: random.Random, grid: Grid, lines: Mapping[int, Sequence[Line]], count: int, wanted: Sequence[Line] = ()
) -> Row:
    """Return drills to find in which cells a line is said: one of the lines, of those that are wanted if there are any,
    or one that is not among them."""
    heard = "\n".join(said_by_cell(lines))
    texts = texts_by_cell(lines)
    every = wanted or [line for said in lines.values() for line in said]
    examples = []
    for _ in range(count):
        question = _question(rng, {"line": 1}, _sight(rng), every if rng.random() < NAMED else [])
        quest = quest_of(question.text)
        assert quest is not None, question.text
        words = f"{asked(question)}\nWhat to look for: {quest.task}"
        examples.append(_example("drill", words, f'{{"thought":"{named_first(quest, heard_in(quest, texts))}'))
    return _group(f"<|user|>{map_intro(grid)}\n{heard}", [], examples)


def _open(rng: random.Random, sights: Sequence[Sight | None]) -> tuple[int, ...]:
    """Draw the cells that can be searched: those that are not black, and in some sheets not a few others, which are
    being searched already."""
    there = [cell for cell in CELLS if sights[cell] is not None]
    busy = set(rng.sample(there, rng.randint(1, min(4, len(there))))) if there and rng.random() < 0.5 else set()
    if there and rng.random() < 0.3:
        busy = set(there[: rng.randint(0, len(there) - 1)])
    return tuple(cell for cell in there if cell not in busy) or CELLS


def _opened(rng: random.Random, sights: Sequence[Sight | None], closed: set[int], near: Sequence[int]) -> set[int]:
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


def _found_before(rng: random.Random, sights: Sequence[Sight | None], length_s: float) -> Scratchpad:
    """Draw evidence that was kept before, if any: what the sheet shows, or anything."""
    if rng.random() >= FOUND_BEFORE:
        return Scratchpad()
    shown = [sight for sight in sights if sight is not None]
    found = []
    for _ in range(rng.choice((1, 1, 2, 3))):
        time_s = rng.uniform(1, length_s - 1)
        shows = rng.choice(shown) if shown and rng.random() < 0.5 else _sight(rng)
        line = rng.choice(CALM) if rng.random() < 0.3 else ""
        found.append(Evidence(time_s, time_s - 1, time_s + 1, told(shows), 0.9, line))
    return Scratchpad().add(found)


def _probe(rng: random.Random, swept: Sweep, open_cells: tuple[int, ...], words: str) -> tuple[str, str]:
    """Return what is asked for a list of the cells to search, and the reply."""
    most = rng.choice(MOST_PROBED)
    reply = probe_schema(open_cells, most).model_validate(probe(swept, most))
    return f"{words}{names_told(most, open_cells)}", spelt(reply)


def judging(rng: random.Random, count: int = 6) -> Row:
    """Return drills without a picture, to judge some evidence: what it speaks for, and whether that is enough."""
    return _group("<|user|>Evidence.", [], [_judgement(rng) for _ in range(count)])


def _judgement(rng: random.Random) -> Row:
    names = _names(rng, 6)
    target = replace(_sight(rng), colour=names[0].split(" ")[0], shape=names[0].split(" ")[1])
    question = _question(rng, JUDGED, target, [])
    quest = quest_of(question.text)
    assert quest is not None, question.text
    length_s = rng.choice(LENGTHS_S)
    found = []
    for time_s in sorted(rng.uniform(1, length_s - 1) for _ in range(rng.choice((1, 1, 2, 2, 3, 4, 6, 9)))):
        half_s = rng.choice((0.07, 0.6, 1.17, 4.4))
        shows = _shown_as_evidence(rng, target, question, names)
        line = rng.choice(EVENT_LINES).format(object=with_article(rng.choice(names))) if rng.random() < 0.2 else ""
        span_s = max(0.0, time_s - half_s), min(length_s, time_s + half_s)
        found.append(Evidence(time_s, *span_s, told(shows), 0.9, line))
    if rng.random() < 0.7:  # found by several at once
        rng.shuffle(found)
    scratchpad = Scratchpad().add(found)
    items, labels = list(scratchpad), scratchpad.labels
    words = f"{asked(question)}\n{kept(scratchpad)}"
    if rng.random() < 0.5:
        form = decision_schema(question.kind, len(question.choices), length_s, labels)
        reply = spelt(form.model_validate(decide(question, quest, items, labelled=True)))
        return _example("judgement", f"Decide.\n{words}", reply)
    open_cells = tuple(sorted(rng.sample(CELLS, rng.randint(0, 16))))
    form = review_schema(len(question.choices), length_s, labels, open_cells)
    reply = spelt(form.model_validate(review(question, quest, items, open_cells)))
    return _example("judgement", f"Judge it.\n{words}", reply)


def _shown_as_evidence(rng: random.Random, target: Sight, question: Question, names: Sequence[str]) -> Sight:
    """Draw what a piece of evidence shows: often what is asked for or a choice, sometimes half of it, or nothing."""
    sight, drawn = _sight(rng), rng.random()
    if drawn < 0.06:
        return replace(sight, colour="", shape="", word="")
    choices = [name for choice in question.choices for name in named_in(choice)] or list(names)
    if drawn < 0.5:
        name = target.object
    elif drawn < 0.8:
        name = rng.choice(choices)
    else:  # the colour of one, the shape of another
        name = f"{rng.choice(choices).split(' ')[0]} {rng.choice(choices).split(' ')[1]}"
    colour, shape = name.split(" ")
    if "What colour" in question.text and drawn < 0.5:
        colour = rng.choice(question.choices)
    word = sight.word
    if "What text" in question.text and question.choices and rng.random() < 0.7:
        word = rng.choice(question.choices).split(" ")[0]
    return replace(sight, colour=colour, shape=shape, word=word)


def sheet(rng: random.Random, filler: float = 0.0) -> list[Sight | None]:
    """Draw what the cells of a sheet show: often the same as the cell before, or the same scene; None for a black one.
    `filler` is the share of scenes that are those of the filler between the clips of a long film.

    In some there are few values of each part, so that much has the colour of what is looked for, but not its shape. Not
    in all: where everything comes again, what was said of it before is copied, and nobody learns to look it up.
    """
    values = {
        part: rng.sample(every, min(rng.randint(1, 3), len(every))) if rng.random() < FEW else every
        for part, every in CALLED.items()
    }
    stays, empty, wordless = rng.choice((0.0, 0.3, 0.6)), rng.choice((0.0, 0.1, 0.5)), rng.choice((0.1, 0.5))
    cells: list[Sight | None] = []
    for _ in CELLS:
        before = cells[-1] if cells else None
        if cells and rng.random() < stays / 2:
            cells.append(before)
            continue
        cell = _sight(rng, values)
        if rng.random() < filler:
            place, light = rng.choice(BANK_CAST.settings)
            cell = replace(cell, place=place, light=light)
        if before is not None and rng.random() < stays:
            cell = replace(cell, place=before.place, light=before.light)
        if rng.random() < wordless:
            cell = replace(cell, word="")
        if rng.random() < empty:
            cell = replace(cell, colour="", shape="", word="")
        cells.append(cell if rng.random() > 0.04 else None)
    return cells


def _lines(rng: random.Random, sights: Sequence[Sight | None], grid: Grid) -> dict[int, list[Line]]:
    """Draw what is said in some cells: mostly of what shows in one of the sheet's, sometimes of anything."""
    lines: dict[int, list[Line]] = {}
    if rng.random() < 0.3:
        return lines
    often = rng.choice((0.1, 0.3, 0.6))
    objects = [sight.object for sight in sights if sight and sight.object] or _names(rng, 1)
    for cell in CELLS:
        while sights[cell] is not None and rng.random() < often:
            name = rng.choice(objects) if rng.random() < 0.8 else _names(rng, 1)[0]
            is_calm = rng.random() < 0.45
            text = rng.choice(CALM) if is_calm else rng.choice(EVENT_LINES).format(object=with_article(name))
            start_s = grid.start_s + (cell + 0.5 * rng.random()) * grid.resolution_s
            lines.setdefault(cell, []).append(Line(start_s, start_s + 2.5, text))
    return lines


def _target(rng: random.Random, sights: Sequence[Sight | None]) -> Sight:
    """Draw what is asked for: mostly what a cell shows."""
    there = [sight for sight in sights if sight and sight.object]
    return rng.choice(there) if there and rng.random() < 0.8 else _sight(rng)


def _question(rng: random.Random, kinds: Mapping[Asks, int], target: Sight, lines: Sequence[Line]) -> Question:
    """Draw a question about a sight, in the words of AtlasWorld's, with its choices."""
    (asks,) = rng.choices(list(kinds), list(kinds.values()))
    scene, name = f"the {target.place} scene at {target.light}", target.object
    names = [name, *(other for other in _names(rng, 4) if other != name)][:4]
    rng.shuffle(names)
    objects = tuple(map(with_article, names))
    match asks:
        case "object":
            return Question(f"Which of these objects appears in {scene}?", objects)
        case "colour":
            return Question(
                f"What colour is the {target.shape} that appears in {scene}?", tuple(rng.sample(CALLED["colour"], 4))
            )
        case "text":
            words = rng.sample(CAPTION_WORDS, 4)
            if target.word and target.word not in words:
                words[rng.randrange(4)] = target.word
            captions = tuple(word + rng.choice(("", "", f" {rng.randint(2, 99)}")) for word in words)
            return Question(f"What text is on screen while the {name} is visible?", captions)
        case "neighbour":
            side = rng.choice(("after", "before"))
            return Question(f"Which object appears right {side} the {name}?", tuple(map(with_article, _names(rng, 4))))
        case "first":
            *some, last = sorted(objects)
            return Question(f"Which appears first in the video: {', '.join(some)}, or {last}?", objects)
        case "count":
            numbers = tuple(str(number) for number in rng.sample(range(1, 8), 4))
            return Question(f"How many times does {with_article(name)} appear in the video?", numbers)
        case "line":
            about = [line.text for line in lines if named_in(line.text)]
            line = (
                rng.choice(about)
                if about and rng.random() < 0.85
                else rng.choice(EVENT_LINES).format(object=with_article(name))
            )
            return Question(f"Which object is on screen when the voice says “{line}”?", objects)
    return Question(f"When is the {name} on screen?", kind="when")


def _sight(rng: random.Random, values: Mapping[str, Sequence[str]] = CALLED) -> Sight:
    return Sight(**{part: rng.choice(some) for part, some in values.items()})


def _names(rng: random.Random, count: int) -> list[str]:
    """Draw some objects, all different."""
    every = [f"{colour} {shape}" for colour in COLOURS for shape in SHAPES]
    return rng.sample(every, count)


def _read(sight: Sight | None, kind: str) -> str:
    if sight is None:
        return ""
    if kind in CALLED:
        return str(getattr(sight, kind))
    parts = [sight.place, sight.light] if kind != "object" else []
    parts += [sight.colour, sight.shape] if kind != "scene" else []
    return "".join(f"{part}," for part in parts if part)


def _group(prefix: str, sights: Sequence[Sight | None], examples: list[Row]) -> Row:
    tiles = [codes(sight or Sight()) for sight in sights]
    return {"prefix": prefix, "images": [{"columns": K, "tiles": tiles}] if tiles else [], "examples": examples}


def _example(step: str, words: str, reply: str) -> Row:
    return {"rest": f"\n{words}<end><|assistant|>", "images": [], "reply": reply, "step": step, "kind": ""}
