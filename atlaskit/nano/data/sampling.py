"""What drills are made of, drawn by chance: sights and sheets of them, what is said, what is asked, what was kept.

What is drawn follows from the generator that is given alone, and in which order: the weights hang on it.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import replace

from atlaskit.benchmarks.atlasworld.cast import CALM_LINES, CAPTION_WORDS, EVENT_LINES, PLACE_LINES
from atlaskit.benchmarks.atlasworld.long_timeline import BANK_CAST
from atlaskit.benchmarks.atlasworld.timeline import COLOURS, SHAPES
from atlaskit.environment.grid import Grid
from atlaskit.environment.memory import Evidence, Scratchpad
from atlaskit.environment.question import Question, with_article
from atlaskit.nano.teacher.goal import Asks, named_in, told
from atlaskit.nano.teacher.labels import VALUES, CellContent
from atlaskit.video.subtitles import Line

K = 4
CELLS = tuple(range(K * K))
FEW = 0.25
"""Of the sheets have few values."""
CALLED = {part: values[1:] for part, values in VALUES.items()}
"""What each part of a sight is called, where there is one."""
CALM = (*CALM_LINES, *(line for lines in PLACE_LINES.values() for line in lines))
"""Lines that name nothing that is asked for. Some of them name a place, as "Paths in this forest are easy to lose.": a
mind whose drills had none of these took each forest for one that was looked for, where that was said."""
FOUND_BEFORE = 0.5
"""Of the drills to search, those in which evidence was kept before: its words are not looked for, either."""


def any_sight(rng: random.Random, values: Mapping[str, Sequence[str]] = CALLED) -> CellContent:
    """Draw what a cell shows, all of it there."""
    return CellContent(**{part: rng.choice(some) for part, some in values.items()})


def some_names(rng: random.Random, count: int) -> list[str]:
    """Draw some objects, all different."""
    every = [f"{colour} {shape}" for colour in COLOURS for shape in SHAPES]
    return rng.sample(every, count)


def sheet(rng: random.Random, filler: float = 0.0) -> list[CellContent | None]:
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
    cells: list[CellContent | None] = []
    for _ in CELLS:
        before = cells[-1] if cells else None
        if cells and rng.random() < stays / 2:
            cells.append(before)
            continue
        cell = any_sight(rng, values)
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


def _naming(rng: random.Random, name: str) -> str:
    """Draw a line that names an object."""
    return rng.choice(EVENT_LINES).format(object=with_article(name))


def some_lines(rng: random.Random, sights: Sequence[CellContent | None], grid: Grid) -> dict[int, list[Line]]:
    """Draw what is said in some cells: mostly of what shows in one of the sheet's, sometimes of anything."""
    lines: dict[int, list[Line]] = {}
    if rng.random() < 0.3:
        return lines
    often = rng.choice((0.1, 0.3, 0.6))
    objects = [sight.object for sight in sights if sight and sight.object] or some_names(rng, 1)
    for cell in CELLS:
        while sights[cell] is not None and rng.random() < often:
            name = rng.choice(objects) if rng.random() < 0.8 else some_names(rng, 1)[0]
            is_calm = rng.random() < 0.45
            text = rng.choice(CALM) if is_calm else _naming(rng, name)
            start_s = grid.start_s + (cell + 0.5 * rng.random()) * grid.resolution_s
            lines.setdefault(cell, []).append(Line(start_s, start_s + 2.5, text))
    return lines


def much_said(rng: random.Random, grid: Grid, cells: Sequence[int]) -> tuple[dict[int, list[Line]], set[str]]:
    """Draw what is said in some cells of a long film, and the rare things among what is named."""
    usual = [f"{colour} {shape}" for colour, shape in BANK_CAST.objects]
    if rng.random() < 0.5:
        usual = some_names(rng, len(usual))
    rare = [name for name in some_names(rng, 20) if name not in usual][:4]
    names = {cell: rng.choices(usual, k=rng.randint(1, 4)) for cell in cells}
    for name in rare if cells else ():
        first = rng.randrange(len(cells))
        for cell in cells[first : first + rng.choice((1, 1, 2, 3))]:
            names[cell].append(name)
    return {cell: _said(rng, grid, cell, named, rng.randint(1, 4)) for cell, named in names.items()}, set(rare)


def _said(rng: random.Random, grid: Grid, cell: int, names: Sequence[str], calm: int) -> list[Line]:
    """Draw the lines of a cell: some that name something, and so many that name nothing."""
    texts = [_naming(rng, name) for name in names]
    texts += rng.choices(CALM, k=calm)
    rng.shuffle(texts)
    cell_s, starts = grid.resolution_s, sorted(rng.random() for _ in texts)
    first_s = grid.start_s + cell * cell_s
    return [
        Line(first_s + at * cell_s, first_s + at * cell_s + 2.5, text) for at, text in zip(starts, texts, strict=True)
    ]


def some_target(rng: random.Random, sights: Sequence[CellContent | None]) -> CellContent:
    """Draw what is asked for: mostly what a cell shows."""
    there = [sight for sight in sights if sight and sight.object]
    return rng.choice(there) if there and rng.random() < 0.8 else any_sight(rng)


def some_question(
    rng: random.Random, kinds: Mapping[Asks, int], target: CellContent, lines: Sequence[Line]
) -> Question:
    """Draw a question about a sight, in the words of AtlasWorld's, with its choices."""
    (asks,) = rng.choices(list(kinds), list(kinds.values()))
    scene, name = f"the {target.place} scene at {target.light}", target.object
    names = [name, *(other for other in some_names(rng, 4) if other != name)][:4]
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
            return Question(
                f"Which object appears right {side} the {name}?", tuple(map(with_article, some_names(rng, 4)))
            )
        case "first":
            *some, last = sorted(objects)
            return Question(f"Which appears first in the video: {', '.join(some)}, or {last}?", objects)
        case "count":
            numbers = tuple(str(number) for number in rng.sample(range(1, 8), 4))
            return Question(f"How many times does {with_article(name)} appear in the video?", numbers)
        case "line":
            about = [line.text for line in lines if named_in(line.text)]
            line = rng.choice(about) if about and rng.random() < 0.85 else _naming(rng, name)
            return Question(f"Which object is on screen when the voice says “{line}”?", objects)
    return Question(f"When is the {name} on screen?", kind="when")


def found_before(rng: random.Random, sights: Sequence[CellContent | None], length_s: float) -> Scratchpad:
    """Draw evidence that was kept before, if any: what the sheet shows, or anything."""
    if rng.random() >= FOUND_BEFORE:
        return Scratchpad()
    shown = [sight for sight in sights if sight is not None]
    found = []
    for _ in range(rng.choice((1, 1, 2, 3))):
        time_s = rng.uniform(1, length_s - 1)
        shows = rng.choice(shown) if shown and rng.random() < 0.5 else any_sight(rng)
        line = rng.choice(CALM) if rng.random() < 0.3 else ""
        found.append(Evidence(time_s, time_s - 1, time_s + 1, told(shows), 0.9, line))
    return Scratchpad().add(found)


def found_to_judge(
    rng: random.Random, question: Question, target: CellContent, names: Sequence[str], length_s: float
) -> Scratchpad:
    """Draw evidence for a question about a sight, in the order in which it was found; some of `names` are in it."""
    found = []
    for time_s in sorted(rng.uniform(1, length_s - 1) for _ in range(rng.choice((1, 1, 2, 2, 3, 4, 6, 9)))):
        half_s = rng.choice((0.07, 0.6, 1.17, 4.4))
        shows = _shown_as_evidence(rng, target, question, names)
        line = rng.choice(EVENT_LINES).format(object=with_article(rng.choice(names))) if rng.random() < 0.2 else ""
        span_s = max(0.0, time_s - half_s), min(length_s, time_s + half_s)
        found.append(Evidence(time_s, *span_s, told(shows), 0.9, line))
    if rng.random() < 0.7:  # found by several at once
        rng.shuffle(found)
    return Scratchpad().add(found)


def _shown_as_evidence(
    rng: random.Random, target: CellContent, question: Question, names: Sequence[str]
) -> CellContent:
    """Draw what a piece of evidence shows: often what is asked for or a choice, sometimes half of it, or nothing."""
    sight, drawn = any_sight(rng), rng.random()
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
