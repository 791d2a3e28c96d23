"""Makes synthetic examples: random prompts with the replies that the teacher would give.

Trajectories alone teach little for a long time, because most of their replies say that there is
nothing. A synthetic example says something about every cell or item of evidence, so that the model
soon learns which words belong to which cell, and to tell whether two words are the same.

There are six kinds: `reading` says what the cells of a view show, `hearing` finds the cells in
which a line is spoken, `overhearing` does so among many lines, `searching` writes the thought of a
search, `straying` does so in the longest worlds, and `judging` judges evidence. Each function
returns one group (see `examples`).
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise

from atlaskit.environment.grid import Grid, clock, listed
from atlaskit.environment.mdp import LegalSet
from atlaskit.environment.memory import Scratchpad
from atlaskit.video.subtitles import Line
from atlasworld.generator import LONGEST_S
from atlasworld.nano.schemas import (
    LONGEST_TEXT,
    decision_schema,
    probe_schema,
    review_schema,
    step_schema,
)
from atlasworld.nano.words import (
    TEXTS,
    evidence_text,
    opened_cells_text,
    question_text,
    say,
    subtitles_by_cell,
)
from nano.data.examples import Example, Group
from nano.data.sampling import (
    CELLS,
    NAMES,
    K,
    sample_content,
    sample_dense_lines,
    sample_evidence,
    sample_lines,
    sample_objects,
    sample_question,
    sample_scratchpad,
    sample_target,
    sample_view,
)
from nano.teacher.answers import (
    answer_decision,
    answer_probe,
    answer_review,
    choose_action,
    to_json,
)
from nano.teacher.goal import GoalType, describe, goal_of, objects_in, texts_by_cell
from nano.teacher.labels import CellContent, encode
from nano.teacher.notation import cells_with_line, is_non_filler, quote_line
from nano.teacher.scan import Scan, scan_view

READ_WEIGHTS = {
    "place": 1,
    "light": 1,
    "colour": 1,
    "shape": 1,
    "word": 6,
    "object": 2,
    "scene": 2,
    "cell": 2,
}
"""What a reading example reads of every cell, each with its relative frequency. Words come most
often, because there are ten times as many words as values of any other attribute."""
SEARCH_WEIGHTS: dict[GoalType, int] = {
    "object": 4,
    "colour": 4,
    "text": 1,
    "neighbour": 3,
    "first": 4,
    "count": 1,
    "line": 4,
    "when": 2,
}
"""Relative frequency of the types of questions in search examples. The types whose thoughts share
least with the others come most often."""
JUDGE_WEIGHTS: dict[GoalType, int] = {
    "object": 2,
    "colour": 2,
    "text": 2,
    "neighbour": 2,
    "first": 4,
    "count": 4,
    "line": 1,
    "when": 4,
}
"""Relative frequency of the types of questions in judging examples."""
PROBE_SHARE = 0.2
"""Share of probes among search examples below the root grid; the others are a worker's steps."""
ROOT_PROBE_SHARE = 0.6
"""Share of probes among the search examples on the root grid."""
PROBE_TOPS = (4, 8, 12)
"""Numbers to draw from: the most cells that a probe may name."""
DEPTHS = (0, 0, 1, 1, 2)
"""Depths to draw from for the grid that is searched."""
LONG_DEPTHS = (0, 1, 1, 2, 2, 3)
"""The same for the longest world, where cells at depth 3 span half a second. Scenes matter near
the root, where cells are long, but not in short cells; the examples have to show both."""
OPENED_SHARE = 0.6
"""Share of the step examples in which cells may have been opened before."""
ALL_OPENED = 0.15
"""Share of those examples in which all cells have been opened, so that nothing is left to do."""
CANDIDATES_OPENED = 0.6
"""Share of those examples in which the last candidates have been opened, as in a search. In half of
these, the first opened cell is where a non-filler scene begins. Without them, a model whose search
had opened that cell but not the cell before it mostly found nothing left to open."""
LENGTHS_S = (300.0, 600.0, 600.0, 900.0, 3600.0, 36_000.0, 36_000.0)
"""Lengths of videos to draw from, in seconds; the last is that of the longest world."""
SPOKEN_SHARE = 0.6
"""Share of the hearing examples that quote a line of the view. The others mostly quote a line that
the view does not have, as is the case for most views of a video. Without them, the model would find
the quoted line wherever the voice names something else."""
HALF_FILLER = 0.5
"""Share of filler scenes in some views of long worlds, from which the model learns sooner which
scenes are non-filler."""
MOSTLY_FILLER = 0.85
"""Share of filler scenes in the other views of long worlds, as in real ones."""
DENSE_SHARE = 0.3
"""Share of the views at depth 1 of the longest world in which each cell has as many lines as in a
real one."""


def reading(rng: random.Random, count: int = 4) -> Group:
    """Return a view, with examples that read every cell or describe three cells.

    Each example of the first kind reads one of the keys of `READ_WEIGHTS`.
    """
    contents = sample_view(rng)
    examples = []
    for _ in range(count):
        (kind,) = rng.choices(list(READ_WEIGHTS), list(READ_WEIGHTS.values()))
        words = [_attribute_text(content, kind) for content in contents]
        thought = "".join(f"{index}{word}-" for index, word in enumerate(words))
        examples.append(_example("drill", f"Read the {kind}s.", f'{{"thought":"{thought}'))
    shown = [cell for cell, content in enumerate(contents) if content is not None]
    if len(shown) >= 3:
        chosen = rng.sample(shown, 3)
        items = ",".join(
            f'"cell":{cell},"description":"{describe(contents[cell] or CellContent())}"'
            for cell in chosen
        )
        examples.append(_example("drill", f"Describe {', '.join(map(str, chosen))}.", items))
    return _group("<|user|>Look.\n<image>", contents, examples)


def _attribute_text(content: CellContent | None, kind: str) -> str:
    if content is None:
        return ""
    if kind in NAMES:
        return str(getattr(content, kind))
    parts = [content.place, content.light] if kind != "object" else []
    parts += [content.colour, content.shape] if kind != "scene" else []
    return "".join(f"{part}," for part in parts if part)


@dataclass(frozen=True)
class _SearchedView:
    """A random view with its subtitle lines.

    Attributes:
        length_s: Length of the video in seconds.
        grid: The grid of the view.
        contents: What each cell shows; None for a black cell.
        lines: Subtitle lines by cell.
    """

    length_s: float
    grid: Grid
    contents: list[CellContent | None]
    lines: dict[int, list[Line]]

    @property
    def shown(self) -> list[int]:
        """Cells that are not black."""
        return [cell for cell in CELLS if self.contents[cell] is not None]

    @property
    def legal(self) -> LegalSet:
        """Actions that are legal in the view, with their cells."""
        kinds = ("expand", "zoom", "investigate_before", "investigate_after", "add_to_scratchpad")
        cells: dict[str, tuple[int, ...]] = dict.fromkeys(kinds, CELLS)
        if self.grid.depth > 1:
            cells["backtrack"] = ()
        cells["finished"] = ()
        return LegalSet(cells)


def searching(
    rng: random.Random, count: int = 4, *, lengths_s: Sequence[float] = LENGTHS_S
) -> Group:
    """Return a view with its subtitles, and examples that search it for different questions.

    Args:
        rng: The random generator.
        count: Number of examples.
        lengths_s: Lengths of the videos to draw from, in seconds.
    """
    view = _sample_searched_view(rng, lengths_s)
    examples: list[Example] = []
    while len(examples) < count:
        if example := _search_example(rng, view):
            examples.append(example)
    subtitles = "\n".join(subtitles_by_cell(view.lines) or [TEXTS["silent"]])
    return _group(
        f"<|user|>{say('grid', grid=view.grid)}\n<image>\n{subtitles}", view.contents, examples
    )


def straying(rng: random.Random, count: int = 4) -> Group:
    """Return a view of the longest world with filler scenes, and examples that search the view."""
    return searching(rng, count, lengths_s=LENGTHS_S[-1:])


def _sample_searched_view(rng: random.Random, lengths_s: Sequence[float]) -> _SearchedView:
    length_s = rng.choice(lengths_s)
    is_longest = length_s == LENGTHS_S[-1]
    filler = rng.choice((HALF_FILLER, MOSTLY_FILLER)) if length_s > LONGEST_S else 0.0
    contents = sample_view(rng, filler)
    depth = rng.choice(LONG_DEPTHS if is_longest else DEPTHS)
    grid = Grid(0.0, length_s, K, tuple(rng.choice(CELLS) for _ in range(depth)))
    if is_longest and depth == 1 and rng.random() < DENSE_SHARE:
        shown = [cell for cell in CELLS if contents[cell] is not None]
        lines, _ = sample_dense_lines(rng, grid, shown)
    else:
        lines = sample_lines(rng, contents, grid)
    return _SearchedView(length_s, grid, contents, lines)


def _search_example(rng: random.Random, view: _SearchedView) -> Example | None:
    """Return a probe or a step for a random question; None if its thought is too long."""
    target = sample_target(rng, view.contents)
    lines = [line for cell_lines in view.lines.values() for line in cell_lines]
    question = sample_question(rng, SEARCH_WEIGHTS, target, lines)
    goal = goal_of(question)
    scratchpad = sample_scratchpad(rng, view.contents, view.length_s)
    is_probe = rng.random() < (PROBE_SHARE if view.grid.depth else ROOT_PROBE_SHARE)
    open_cells = _sample_open_cells(rng, view)
    scan = partial(
        scan_view,
        goal,
        view.contents,
        texts_by_cell(view.lines),
        cell_s=view.grid.resolution_s,
        is_long=view.length_s > LONGEST_S,
        for_probe=is_probe,
    )
    closed = set(view.shown).difference(open_cells)
    if is_probe:
        opened = closed
    else:
        opened = _sample_opened_cells(rng, view, closed, scan().candidates)
    result = scan(opened=opened)
    if len(result.thought) > LONGEST_TEXT:
        return None
    prompt = f"{question_text(question)}\nWhat to look for: {goal.search_task}\n"
    opened_line = f"{opened_cells_text(opened)}\n" if opened else ""
    if is_probe:
        prompt += f"{evidence_text(scratchpad)}\n{opened_line}"
        return _probe_example(rng, result, open_cells, prompt)
    return _step_example(rng, view, result, scratchpad, prompt, opened_line)


def _probe_example(
    rng: random.Random, scan: Scan, open_cells: tuple[int, ...], prompt: str
) -> Example:
    top = rng.choice(PROBE_TOPS)
    prompt += say("ranking", most=top, cells=listed(open_cells))
    answer = probe_schema(open_cells, top).model_validate(answer_probe(scan, top))
    return _example("drill", prompt, to_json(answer))


def _step_example(
    rng: random.Random,
    view: _SearchedView,
    scan: Scan,
    scratchpad: Scratchpad,
    prompt: str,
    opened_line: str,
) -> Example:
    legal = view.legal
    action = choose_action(scan, view.contents, legal, is_new_view=True)
    answer = step_schema(legal).model_validate({"thought": scan.thought, "action": action})
    reply = to_json(answer)
    if rng.random() < 0.3:  # training on every action would take longer
        reply = reply[: reply.index('","action"')]
    length = clock(view.length_s)
    prompt += f"You were sent to {clock(0)}–{length} of a video of {length}.\n"
    notes = [f"- kept {clock(item.timestamp_s)} {item.description}" for item in scratchpad]
    if notes:
        prompt += "\n".join(["So far in this region:", *notes])
    else:
        prompt += "You have just arrived."
    prompt += f"\n{opened_line}{evidence_text(scratchpad)}\n"
    prompt += "Possible now: expand 0–15; add_to_scratchpad 0–15; "
    if "backtrack" in legal.cells:
        prompt += "backtrack; "
    return _example("drill", f"{prompt}finished.", reply)


def _sample_open_cells(rng: random.Random, view: _SearchedView) -> tuple[int, ...]:
    """Draw the cells that a probe may name: those that are neither black nor closed.

    A closed cell is one that was opened before or that a worker is searching.
    """
    shown = view.shown
    closed: set[int] = set()
    if shown and rng.random() < 0.5:
        closed = set(rng.sample(shown, rng.randint(1, min(4, len(shown)))))
    if shown and rng.random() < 0.3:
        closed = set(shown[: rng.randint(0, len(shown) - 1)])
    return tuple(cell for cell in shown if cell not in closed) or CELLS


def _sample_opened_cells(
    rng: random.Random, view: _SearchedView, closed: set[int], candidates: Sequence[int]
) -> set[int]:
    """Draw the cells opened before: none, all, the `closed` cells, or the last candidates."""
    draw = rng.random()
    if rng.random() >= OPENED_SHARE:
        return set()
    if draw < ALL_OPENED:
        return set(view.shown)
    if not candidates or draw >= ALL_OPENED + CANDIDATES_OPENED:
        return closed
    begins = _scene_begins(view, candidates)
    if begins and rng.random() < 0.5:
        first = rng.choice(begins)
    else:
        first = rng.randrange(len(candidates))
    return set(candidates[first:])


def _scene_begins(view: _SearchedView, candidates: Sequence[int]) -> list[int]:
    """Return the positions among the candidates at which a non-filler scene begins.

    The candidate before such a position is the cell right before, and shows no such scene.
    """

    def shows_non_filler(cell: int) -> bool:
        content = view.contents[cell]
        return content is not None and is_non_filler(content)

    return [
        position
        for position, (before, cell) in enumerate(pairwise(candidates), start=1)
        if cell == before + 1 and shows_non_filler(cell) and not shows_non_filler(before)
    ]


def hearing(rng: random.Random, count: int = 10) -> Group:
    """Return the subtitles of a view without its image, and examples that find the cells of a line.

    Each reply is the beginning of a thought.
    """
    grid = Grid(0.0, rng.choice(LENGTHS_S), K, (rng.choice(CELLS),))
    lines: dict[int, list[Line]] = {}
    while not lines:
        lines = sample_lines(rng, sample_view(rng), grid)
    return _hearing_group(rng, grid, lines, count)


def overhearing(rng: random.Random, count: int = 10) -> Group:
    """Return examples as `hearing` does, for the long cells of the longest world.

    Each cell has many lines, most of which name the same few objects. The questions quote lines
    that name other objects.
    """
    grid = Grid(0.0, LENGTHS_S[-1], K, (rng.choice(CELLS),))
    lines, rare = sample_dense_lines(rng, grid, CELLS)
    every_line = [line for cell_lines in lines.values() for line in cell_lines]
    quotable = [line for line in every_line if not rare.isdisjoint(objects_in(line.text))]
    return _hearing_group(rng, grid, lines, count, quotable)


def _hearing_group(
    rng: random.Random,
    grid: Grid,
    lines: Mapping[int, Sequence[Line]],
    count: int,
    quotable: Sequence[Line] = (),
) -> Group:
    """Return examples that find the cells in which a line is spoken.

    The line is one of `quotable`, or of all lines if `quotable` is empty, or a line that no cell
    has.
    """
    subtitles = "\n".join(subtitles_by_cell(lines))
    texts = texts_by_cell(lines)
    quotable = quotable or [line for cell_lines in lines.values() for line in cell_lines]
    examples = []
    for _ in range(count):
        content = sample_content(rng)
        question = sample_question(
            rng, {"line": 1}, content, quotable if rng.random() < SPOKEN_SHARE else []
        )
        goal = goal_of(question)
        prompt = f"{question_text(question)}\nWhat to look for: {goal.search_task}"
        reply = f'{{"thought":"{quote_line(goal, cells_with_line(goal, texts))}'
        examples.append(_example("drill", prompt, reply))
    return _group(f"<|user|>{say('grid', grid=grid)}\n{subtitles}", [], examples)


def judging(rng: random.Random, count: int = 6) -> Group:
    """Return examples that judge evidence without an image: reviews and decisions."""
    return _group("<|user|>Evidence.", [], [_judge_example(rng) for _ in range(count)])


def _judge_example(rng: random.Random) -> Example:
    names = sample_objects(rng, 6)
    colour, shape = names[0].split(" ")
    target = replace(sample_content(rng), colour=colour, shape=shape)
    question = sample_question(rng, JUDGE_WEIGHTS, target, [])
    goal = goal_of(question)
    length_s = rng.choice(LENGTHS_S)
    scratchpad = sample_evidence(rng, question, target, names, length_s)
    items = list(scratchpad)
    labels = scratchpad.labels
    prompt = f"{question_text(question)}\n{evidence_text(scratchpad)}"
    if rng.random() < 0.5:
        decision = decision_schema(question, length_s, labels)
        answer = answer_decision(question, goal, items, labelled=True)
        return _example("judgement", f"Decide.\n{prompt}", to_json(decision.model_validate(answer)))
    open_cells = tuple(sorted(rng.sample(CELLS, rng.randint(0, 16))))
    review = review_schema(len(question.choices), length_s, labels, open_cells)
    answer = answer_review(question, goal, items, open_cells)
    return _example("judgement", f"Judge it.\n{prompt}", to_json(review.model_validate(answer)))


def _group(prefix: str, contents: Sequence[CellContent | None], examples: list[Example]) -> Group:
    """Return a group whose prefix has an image of these contents, or no image without contents."""
    tiles = [encode(content or CellContent()) for content in contents]
    return {
        "prefix": prefix,
        "images": [{"columns": K, "tiles": tiles}] if tiles else [],
        "examples": examples,
    }


def _example(step: str, prompt: str, reply: str) -> Example:
    return {
        "rest": f"\n{prompt}<end><|assistant|>",
        "images": [],
        "reply": reply,
        "step": step,
        "kind": "",
    }
