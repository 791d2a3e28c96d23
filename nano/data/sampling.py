"""Draws random cell contents, subtitle lines, questions and evidence for synthetic examples.

Each function draws from the generator that it gets and from nothing else. The shipped weights were
trained on these draws, so their order must not change.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import replace

from atlaskit.environment.grid import Grid
from atlaskit.environment.memory import Evidence, Scratchpad
from atlaskit.environment.question import Question, with_article
from atlaskit.video.subtitles import Line
from atlasworld.cast import CALM_LINES, CAPTION_WORDS, EVENT_LINES, PLACE_LINES
from atlasworld.long_timeline import BANK_CAST
from atlasworld.timeline import COLOURS, SHAPES
from nano.teacher.goal import GoalType, describe, objects_in
from nano.teacher.labels import VALUES, CellContent

K = 4
CELLS = tuple(range(K * K))
FEW_VALUES = 0.25
"""Share of the views in which each attribute takes only one to three values."""
NAMES = {attribute: values[1:] for attribute, values in VALUES.items()}
"""Values of each attribute, without the empty one."""
CALM = (*CALM_LINES, *(line for lines in PLACE_LINES.values() for line in lines))
"""Lines that name no object. Some name a place ("Paths in this forest are easy to lose."). Models
that trained without such lines took each forest for the goal's scene where the voice said one."""
WITH_EVIDENCE = 0.5
"""Share of the search examples whose scratchpad is not empty, so that nano learns that words in the
scratchpad are no keywords."""


def sample_content(rng: random.Random, values: Mapping[str, Sequence[str]] = NAMES) -> CellContent:
    """Draw what a cell shows, with no attribute empty."""
    return CellContent(**{attribute: rng.choice(choices) for attribute, choices in values.items()})


def sample_objects(rng: random.Random, count: int) -> list[str]:
    """Draw different objects, such as "red circle"."""
    objects = [f"{colour} {shape}" for colour in COLOURS for shape in SHAPES]
    return rng.sample(objects, count)


def sample_view(rng: random.Random, filler: float = 0.0) -> list[CellContent | None]:
    """Draw what the cells of a view show; None for a black cell.

    A cell often shows the same as the cell before it, or another object in the same scene. In a
    share of the views (`FEW_VALUES`) attributes take few values, so that many cells share the
    goal's colour but not its shape. If all views were like that, the model would copy from an
    earlier cell instead of looking up the visual token.

    Args:
        rng: The random generator.
        filler: Probability that a cell has a scene of the filler clips between the clips of a long
            world.
    """
    values = {
        attribute: rng.sample(names, min(rng.randint(1, 3), len(names)))
        if rng.random() < FEW_VALUES
        else names
        for attribute, names in NAMES.items()
    }
    stays, empty, wordless = (
        rng.choice((0.0, 0.3, 0.6)),
        rng.choice((0.0, 0.1, 0.5)),
        rng.choice((0.1, 0.5)),
    )
    cells: list[CellContent | None] = []
    for _ in CELLS:
        previous = cells[-1] if cells else None
        if cells and rng.random() < stays / 2:
            cells.append(previous)
            continue
        content = sample_content(rng, values)
        if rng.random() < filler:
            place, light = rng.choice(BANK_CAST.settings)
            content = replace(content, place=place, light=light)
        if previous is not None and rng.random() < stays:
            content = replace(content, place=previous.place, light=previous.light)
        if rng.random() < wordless:
            content = replace(content, word="")
        if rng.random() < empty:
            content = replace(content, colour="", shape="", word="")
        cells.append(content if rng.random() > 0.04 else None)
    return cells


def _naming_line(rng: random.Random, name: str) -> str:
    return rng.choice(EVENT_LINES).format(object=with_article(name))


def sample_lines(
    rng: random.Random, contents: Sequence[CellContent | None], grid: Grid
) -> dict[int, list[Line]]:
    """Draw subtitle lines for some cells; most lines that name an object name one of the view's."""
    lines: dict[int, list[Line]] = {}
    if rng.random() < 0.3:
        return lines
    another_line = rng.choice((0.1, 0.3, 0.6))
    objects = [
        content.object for content in contents if content and content.object
    ] or sample_objects(rng, 1)
    for cell in CELLS:
        while contents[cell] is not None and rng.random() < another_line:
            name = rng.choice(objects) if rng.random() < 0.8 else sample_objects(rng, 1)[0]
            is_calm = rng.random() < 0.45
            text = rng.choice(CALM) if is_calm else _naming_line(rng, name)
            start_s = grid.start_s + (cell + 0.5 * rng.random()) * grid.resolution_s
            lines.setdefault(cell, []).append(Line(start_s, start_s + 2.5, text))
    return lines


def sample_dense_lines(
    rng: random.Random, grid: Grid, cells: Sequence[int]
) -> tuple[dict[int, list[Line]], set[str]]:
    """Draw as many subtitle lines for each cell as a cell of a long world has.

    Returns:
        The lines by cell, and the objects that only few lines name.
    """
    common = [f"{colour} {shape}" for colour, shape in BANK_CAST.objects]
    if rng.random() < 0.5:
        common = sample_objects(rng, len(common))
    rare = [name for name in sample_objects(rng, 20) if name not in common][:4]
    names = {cell: rng.choices(common, k=rng.randint(1, 4)) for cell in cells}
    for name in rare if cells else ():
        first = rng.randrange(len(cells))
        for cell in cells[first : first + rng.choice((1, 1, 2, 3))]:
            names[cell].append(name)
    lines = {
        cell: _lines_of_cell(rng, grid, cell, named, rng.randint(1, 4))
        for cell, named in names.items()
    }
    return lines, set(rare)


def _lines_of_cell(
    rng: random.Random, grid: Grid, cell: int, names: Sequence[str], calm: int
) -> list[Line]:
    """Draw the lines of a cell: one for each name, and so many calm ones."""
    texts = [_naming_line(rng, name) for name in names]
    texts += rng.choices(CALM, k=calm)
    rng.shuffle(texts)
    cell_s, starts = grid.resolution_s, sorted(rng.random() for _ in texts)
    first_s = grid.start_s + cell * cell_s
    return [
        Line(first_s + start * cell_s, first_s + start * cell_s + 2.5, text)
        for start, text in zip(starts, texts, strict=True)
    ]


def sample_target(rng: random.Random, contents: Sequence[CellContent | None]) -> CellContent:
    """Draw the content that a question is about, mostly one that the view shows."""
    shown = [content for content in contents if content and content.object]
    return rng.choice(shown) if shown and rng.random() < 0.8 else sample_content(rng)


def sample_question(
    rng: random.Random, weights: Mapping[GoalType, int], target: CellContent, lines: Sequence[Line]
) -> Question:
    """Draw a question about a content, with its choices, in AtlasWorld's words.

    Args:
        rng: The random generator.
        weights: Relative frequency of each type of question.
        target: The content that the question is about.
        lines: Lines that the question can quote.
    """
    (goal_type,) = rng.choices(list(weights), list(weights.values()))
    scene, name = f"the {target.place} scene at {target.light}", target.object
    names = [name, *(other for other in sample_objects(rng, 4) if other != name)][:4]
    rng.shuffle(names)
    objects = tuple(map(with_article, names))
    match goal_type:
        case "object":
            return Question(f"Which of these objects appears in {scene}?", objects)
        case "colour":
            text = f"What colour is the {target.shape} that appears in {scene}?"
            return Question(text, tuple(rng.sample(NAMES["colour"], 4)))
        case "text":
            return Question(
                f"What text is on screen while the {name} is visible?",
                _sample_captions(rng, target),
            )
        case "neighbour":
            text = f"Which object appears right {rng.choice(('after', 'before'))} the {name}?"
            return Question(text, tuple(map(with_article, sample_objects(rng, 4))))
        case "first":
            *others, last = sorted(objects)
            return Question(
                f"Which appears first in the video: {', '.join(others)}, or {last}?", objects
            )
        case "count":
            numbers = tuple(str(number) for number in rng.sample(range(1, 8), 4))
            return Question(
                f"How many times does {with_article(name)} appear in the video?", numbers
            )
        case "line":
            naming = [line.text for line in lines if objects_in(line.text)]
            line = rng.choice(naming) if naming and rng.random() < 0.85 else _naming_line(rng, name)
            return Question(f"Which object is on screen when the voice says “{line}”?", objects)
    return Question(f"When is the {name} on screen?", kind="when")


def _sample_captions(rng: random.Random, target: CellContent) -> tuple[str, ...]:
    """Draw four captions, with the target's if it has one; some end with a number."""
    words = rng.sample(CAPTION_WORDS, 4)
    if target.word and target.word not in words:
        words[rng.randrange(4)] = target.word
    return tuple(word + rng.choice(("", "", f" {rng.randint(2, 99)}")) for word in words)


def sample_scratchpad(
    rng: random.Random, contents: Sequence[CellContent | None], length_s: float
) -> Scratchpad:
    """Draw the evidence that a search already has, from the view's contents and others."""
    if rng.random() >= WITH_EVIDENCE:
        return Scratchpad()
    shown = [content for content in contents if content is not None]
    evidence = []
    for _ in range(rng.choice((1, 1, 2, 3))):
        time_s = rng.uniform(1, length_s - 1)
        content = rng.choice(shown) if shown and rng.random() < 0.5 else sample_content(rng)
        line = rng.choice(CALM) if rng.random() < 0.3 else ""
        evidence.append(Evidence(time_s, time_s - 1, time_s + 1, describe(content), 0.9, line))
    return Scratchpad().add(evidence)


def sample_evidence(
    rng: random.Random,
    question: Question,
    target: CellContent,
    names: Sequence[str],
    length_s: float,
) -> Scratchpad:
    """Draw evidence for a question about `target`, in the order in which a search found it.

    Args:
        rng: The random generator.
        question: The question that the evidence is for.
        target: The content that the question is about.
        names: Objects that the subtitles of some items name.
        length_s: Length of the video.
    """
    evidence = []
    for time_s in sorted(
        rng.uniform(1, length_s - 1) for _ in range(rng.choice((1, 1, 2, 2, 3, 4, 6, 9)))
    ):
        half_s = rng.choice((0.07, 0.6, 1.17, 4.4))
        content = _content_of_evidence(rng, target, question, names)
        line = ""
        if rng.random() < 0.2:  # not `_naming_line`, which would draw the object before the line
            line = rng.choice(EVENT_LINES).format(object=with_article(rng.choice(names)))
        span_s = max(0.0, time_s - half_s), min(length_s, time_s + half_s)
        evidence.append(Evidence(time_s, *span_s, describe(content), 0.9, line))
    if rng.random() < 0.7:  # as if several workers found it
        rng.shuffle(evidence)
    return Scratchpad().add(evidence)


def _content_of_evidence(
    rng: random.Random, target: CellContent, question: Question, names: Sequence[str]
) -> CellContent:
    """Draw what an item shows: the target, a choice, a mix of two choices, or no object."""
    content, draw = sample_content(rng), rng.random()
    if draw < 0.06:
        return replace(content, colour="", shape="", word="")
    choices = [name for choice in question.choices for name in objects_in(choice)] or list(names)
    if draw < 0.5:
        name = target.object
    elif draw < 0.8:
        name = rng.choice(choices)
    else:  # the colour of one choice, the shape of another
        name = f"{rng.choice(choices).split(' ')[0]} {rng.choice(choices).split(' ')[1]}"
    colour, shape = name.split(" ")
    if "What colour" in question.text and draw < 0.5:
        colour = rng.choice(question.choices)
    word = content.word
    if "What text" in question.text and question.choices and rng.random() < 0.7:
        word = rng.choice(question.choices).split(" ")[0]
    return replace(content, colour=colour, shape=shape, word=word)
