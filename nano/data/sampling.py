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
"""Numbers of the cells of a view."""
FEW_VALUES = 0.25
"""Probability that an attribute takes only one to three values in a view."""
NAMES = {attribute: values[1:] for attribute, values in VALUES.items()}
"""Values of each attribute, without the empty one."""
CALM = (*CALM_LINES, *(line for lines in PLACE_LINES.values() for line in lines))
"""Lines that name no object. Some name a place ("Paths in this forest are easy to lose."). Models
that had trained without such lines took each forest for the goal's scene when one was spoken."""
WITH_EVIDENCE = 0.5
"""Share of the search examples whose scratchpad is not empty. From these nano learns that words in
the scratchpad are not keywords."""


def sample_content(rng: random.Random, values: Mapping[str, Sequence[str]] = NAMES) -> CellContent:
    """Draw what a cell shows, with no attribute empty."""
    return CellContent(**{attribute: rng.choice(choices) for attribute, choices in values.items()})


def sample_objects(rng: random.Random, count: int) -> list[str]:
    """Draw different objects, such as "red circle"."""
    objects = [f"{colour} {shape}" for colour in COLOURS for shape in SHAPES]
    return rng.sample(objects, count)


def sample_view(rng: random.Random, filler: float = 0.0) -> list[CellContent | None]:
    """Draw what the cells of a view show; None for a black cell.

    A cell often shows the same as the cell before it, or another object in the same scene. An
    attribute sometimes takes few values (`FEW_VALUES`), so that many cells share the goal's colour
    but not its shape. If that were so in all views, the model would copy from an earlier cell
    instead of looking up the visual token.

    Args:
        rng: The random generator.
        filler: Probability that a cell has a scene of the filler clips of long worlds.
    """
    values: dict[str, Sequence[str]] = {}
    for attribute, names in NAMES.items():
        values[attribute] = names
        if rng.random() < FEW_VALUES:
            values[attribute] = rng.sample(names, min(rng.randint(1, 3), len(names)))
    same_scene = rng.choice((0.0, 0.3, 0.6))
    no_object = rng.choice((0.0, 0.1, 0.5))
    no_word = rng.choice((0.1, 0.5))
    cells: list[CellContent | None] = []
    for _ in CELLS:
        previous = cells[-1] if cells else None
        if cells and rng.random() < same_scene / 2:
            cells.append(previous)
            continue
        content = sample_content(rng, values)
        if rng.random() < filler:
            place, light = rng.choice(BANK_CAST.settings)
            content = replace(content, place=place, light=light)
        if previous is not None and rng.random() < same_scene:
            content = replace(content, place=previous.place, light=previous.light)
        if rng.random() < no_word:
            content = replace(content, word="")
        if rng.random() < no_object:
            content = replace(content, colour="", shape="", word="")
        is_black = rng.random() <= 0.04
        cells.append(None if is_black else content)
    return cells


def _naming_line(rng: random.Random, name: str) -> str:
    """Draw a subtitle line that names an object."""
    return rng.choice(EVENT_LINES).format(object=with_article(name))


def sample_lines(
    rng: random.Random, contents: Sequence[CellContent | None], grid: Grid
) -> dict[int, list[Line]]:
    """Draw subtitle lines for some cells, by cell; objects named are mostly those of the view."""
    lines: dict[int, list[Line]] = {}
    if rng.random() < 0.3:
        return lines
    more_lines = rng.choice((0.1, 0.3, 0.6))
    objects = [content.object for content in contents if content and content.object]
    objects = objects or sample_objects(rng, 1)
    for cell in CELLS:
        while contents[cell] is not None and rng.random() < more_lines:
            name = rng.choice(objects) if rng.random() < 0.8 else sample_objects(rng, 1)[0]
            is_calm = rng.random() < 0.45
            text = rng.choice(CALM) if is_calm else _naming_line(rng, name)
            start_s = grid.start_s + (cell + 0.5 * rng.random()) * grid.resolution_s
            lines.setdefault(cell, []).append(Line(start_s, start_s + 2.5, text))
    return lines


def sample_dense_lines(
    rng: random.Random, grid: Grid, cells: Sequence[int]
) -> tuple[dict[int, list[Line]], set[str]]:
    """Draw as many subtitle lines for each cell as the cells of a long world have.

    Returns:
        The lines by cell, and the names of the objects that only a few lines name.
    """
    common = [f"{colour} {shape}" for colour, shape in BANK_CAST.objects]
    if rng.random() < 0.5:
        common = sample_objects(rng, len(common))
    rare = [name for name in sample_objects(rng, 20) if name not in common][:4]
    names = {cell: rng.choices(common, k=rng.randint(1, 4)) for cell in cells}
    if cells:
        for name in rare:
            first = rng.randrange(len(cells))
            for cell in cells[first : first + rng.choice((1, 1, 2, 3))]:
                names[cell].append(name)
    lines = {
        cell: _lines_of_cell(rng, grid, cell, cell_names, calm_lines=rng.randint(1, 4))
        for cell, cell_names in names.items()
    }
    return lines, set(rare)


def _lines_of_cell(
    rng: random.Random, grid: Grid, cell: int, names: Sequence[str], calm_lines: int
) -> list[Line]:
    """Draw the lines of a cell: one for each name, and `calm_lines` that name no object."""
    texts = [_naming_line(rng, name) for name in names]
    texts += rng.choices(CALM, k=calm_lines)
    rng.shuffle(texts)
    cell_start_s = grid.start_s + cell * grid.resolution_s
    lines = []
    for position, text in zip(sorted(rng.random() for _ in texts), texts, strict=True):
        start_s = cell_start_s + position * grid.resolution_s
        lines.append(Line(start_s, start_s + 2.5, text))
    return lines


def sample_target(rng: random.Random, contents: Sequence[CellContent | None]) -> CellContent:
    """Draw the content that a question is about: mostly the content of a cell with an object."""
    shown = [content for content in contents if content and content.object]
    if shown and rng.random() < 0.8:
        return rng.choice(shown)
    return sample_content(rng)


def sample_question(
    rng: random.Random, weights: Mapping[GoalType, int], target: CellContent, lines: Sequence[Line]
) -> Question:
    """Draw a question about what a frame shows, with its choices, in AtlasWorld's words.

    Args:
        rng: The random generator.
        weights: Relative frequency of each type of question.
        target: What the frame shows.
        lines: Lines that the question can quote.
    """
    (goal_type,) = rng.choices(list(weights), list(weights.values()))
    scene = f"the {target.place} scene at {target.light}"
    name = target.object
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
            quotable = [line.text for line in lines if objects_in(line.text)]
            if quotable and rng.random() < 0.85:
                quote = rng.choice(quotable)
            else:
                quote = _naming_line(rng, name)
            return Question(f"Which object is on screen when the voice says “{quote}”?", objects)
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
    """Draw evidence from before this view: half of it shows the same as a cell of the view."""
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
    """Draw evidence for a question about `target`, in the order in which a search would find it.

    Args:
        rng: The random generator.
        question: The question that the evidence is for.
        target: The content that the question is about.
        names: Objects that the subtitles of some items name.
        length_s: Length of the video in seconds.
    """
    evidence = []
    count = rng.choice((1, 1, 2, 2, 3, 4, 6, 9))
    for time_s in sorted(rng.uniform(1, length_s - 1) for _ in range(count)):
        half_s = rng.choice((0.07, 0.6, 1.17, 4.4))
        content = _content_of_evidence(rng, target, question, names)
        line = ""
        if rng.random() < 0.2:  # not `_naming_line`, which would draw the object before the line
            line = rng.choice(EVENT_LINES).format(object=with_article(rng.choice(names)))
        start_s = max(0.0, time_s - half_s)
        end_s = min(length_s, time_s + half_s)
        evidence.append(Evidence(time_s, start_s, end_s, describe(content), 0.9, line))
    if rng.random() < 0.7:  # as if several workers had searched at the same time
        rng.shuffle(evidence)
    return Scratchpad().add(evidence)


def _content_of_evidence(
    rng: random.Random, target: CellContent, question: Question, names: Sequence[str]
) -> CellContent:
    """Draw what an item shows: the target, a choice, a mix of two choices, or no object."""
    content = sample_content(rng)
    draw = rng.random()
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
