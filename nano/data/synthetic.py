"""Makes synthetic examples: reading, hearing, overhearing, searching, straying, judging.

Trajectories alone teach little for a long time, because most of their replies say that there is
nothing. A synthetic example says something about every cell or item of evidence, so that the model
soon learns which words belong to which cell, and what it means for two things to be the same. The
replies are the teacher's; no world is needed.

Each function returns one group (see `examples`).
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

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
"""What an example reads of every cell, with its relative frequency. Words come most often, because
there are ten times as many of them as of any other value."""
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
"""Relative frequency of the types of questions to search for. The types whose thoughts share least
with the others come most often."""
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
"""Relative frequency of the types of questions to judge evidence for."""
PROBE_SHARE, ROOT_PROBE_SHARE = 0.2, 0.6
"""Share of the search examples that are probes, below the root grid and on it. The others are a
worker's steps."""
PROBE_TOPS = (4, 8, 12)
"""Most cells that a probe may name."""
DEPTHS, LONG_DEPTHS = (0, 0, 1, 1, 2), (0, 1, 1, 2, 2, 3)
"""Depths of the searched grids, and those in the longest world, where cells at depth 3 span half a
second. Scenes matter only near the root, and non-filler scenes do not matter in short cells;
examples have to show both."""
OPENED_SHARE = 0.6
"""Share of the step examples in which some cells may be open already."""
ALL_OPENED, CANDIDATES_OPENED = 0.15, 0.6
"""Of those, the share in which all cells are open, so that nothing is left to do; and the share in
which the last candidates are, as in a search. Half of the latter start where a non-filler scene
begins: without them, a model whose search had opened that cell but not the one before mostly found
nothing left to open."""
LENGTHS_S = (300.0, 600.0, 600.0, 900.0, 3600.0, 36_000.0, 36_000.0)
SPOKEN_SHARE = 0.6
"""Share of the listening examples that quote a line of the view. The others mostly quote a line
that it does not have, as in most views of a video. Otherwise the model would find the line where
the voice names something else."""
HALF_FILLER, MOSTLY_FILLER = 0.5, 0.85
"""Shares of filler scenes in views of long worlds: with half, the model learns sooner which scenes
are not filler; most is realistic."""
DENSE_SHARE = 0.3
"""Share of the views at depth 1 of the longest world with as many lines in each cell as there."""


def reading(rng: random.Random, count: int = 4) -> Group:
    """Return a view, and examples that read one attribute of every cell or describe three cells."""
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
    """A random view with its subtitle lines."""

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
        scans = ("zoom", "investigate_before", "investigate_after")
        back: dict[str, tuple[int, ...]] = {"backtrack": ()} if self.grid.depth > 1 else {}
        return LegalSet(
            {
                **dict.fromkeys(("expand", *scans, "add_to_scratchpad"), CELLS),
                **back,
                "finished": (),
            }
        )


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
    """Return a view of a long world with non-filler scenes, and examples that search it."""
    return searching(rng, count, lengths_s=LENGTHS_S[-1:])


def _sample_searched_view(rng: random.Random, lengths_s: Sequence[float]) -> _SearchedView:
    length_s = rng.choice(lengths_s)
    is_long = length_s > LONGEST_S
    contents = sample_view(rng, rng.choice((HALF_FILLER, MOSTLY_FILLER)) if is_long else 0.0)
    depth = rng.choice(LONG_DEPTHS if length_s == LENGTHS_S[-1] else DEPTHS)
    grid = Grid(0.0, length_s, K, tuple(rng.choice(CELLS) for _ in range(depth)))
    if length_s == LENGTHS_S[-1] and depth == 1 and rng.random() < DENSE_SHARE:
        lines, _ = sample_dense_lines(
            rng, grid, [cell for cell in CELLS if contents[cell] is not None]
        )
    else:
        lines = sample_lines(rng, contents, grid)
    return _SearchedView(length_s, grid, contents, lines)


def _search_example(rng: random.Random, view: _SearchedView) -> Example | None:
    """Return a probe or a step for a random question; None if its thought is too long."""
    target = sample_target(rng, view.contents)
    question = sample_question(
        rng, SEARCH_WEIGHTS, target, [line for lines in view.lines.values() for line in lines]
    )
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
    opened = closed if is_probe else _sample_opened_cells(rng, view, closed, scan().candidates)
    result = scan(opened=opened)
    if len(result.thought) > LONGEST_TEXT:
        return None
    prompt = f"{question_text(question)}\nWhat to look for: {goal.search_task}\n"
    opened_line = f"{opened_cells_text(opened)}\n" if opened else ""
    if is_probe:
        return _probe_example(
            rng, result, open_cells, f"{prompt}{evidence_text(scratchpad)}\n{opened_line}"
        )
    return _step_example(rng, view, result, scratchpad, prompt, opened_line)


def _probe_example(
    rng: random.Random, scan: Scan, open_cells: tuple[int, ...], prompt: str
) -> Example:
    top = rng.choice(PROBE_TOPS)
    answer = probe_schema(open_cells, top).model_validate(answer_probe(scan, top))
    return _example(
        "drill", f"{prompt}{say('ranking', most=top, cells=listed(open_cells))}", to_json(answer)
    )


def _step_example(
    rng: random.Random,
    view: _SearchedView,
    scan: Scan,
    scratchpad: Scratchpad,
    prompt: str,
    opened_line: str,
) -> Example:
    legal, length = view.legal, clock(view.length_s)
    action = choose_action(scan, view.contents, legal, True)
    reply = to_json(step_schema(legal).model_validate({"thought": scan.thought, "action": action}))
    if rng.random() < 0.3:  # training on every action would take longer
        reply = reply[: reply.index('","action"')]
    region = f"You were sent to {clock(0)}–{length} of a video of {length}."
    found = [f"- kept {clock(item.timestamp_s)} {item.description}" for item in scratchpad]
    notes = "\n".join(["So far in this region:", *found]) if found else "You have just arrived."
    options = (
        "Possible now: expand 0–15; add_to_scratchpad 0–15; "
        f"{'backtrack; ' * ('backtrack' in legal.cells)}finished."
    )
    return _example(
        "drill",
        f"{prompt}{region}\n{notes}\n{opened_line}{evidence_text(scratchpad)}\n{options}",
        reply,
    )


def _sample_open_cells(rng: random.Random, view: _SearchedView) -> tuple[int, ...]:
    """Draw the cells that a probe may name: all that are not black, or all but some busy ones."""
    shown = view.shown
    if shown and rng.random() < 0.5:
        busy = set(rng.sample(shown, rng.randint(1, min(4, len(shown)))))
    else:
        busy = set()
    if shown and rng.random() < 0.3:
        busy = set(shown[: rng.randint(0, len(shown) - 1)])
    return tuple(cell for cell in shown if cell not in busy) or CELLS


def _sample_opened_cells(
    rng: random.Random, view: _SearchedView, closed: set[int], candidates: Sequence[int]
) -> set[int]:
    """Draw the opened cells: none, all, the `closed` ones, or the last candidates."""
    draw = rng.random()
    if rng.random() >= OPENED_SHARE:
        return set()
    if draw < ALL_OPENED:
        return set(view.shown)
    if not candidates or draw >= ALL_OPENED + CANDIDATES_OPENED:
        return closed
    non_filler = [
        (content := view.contents[cell]) is not None and is_non_filler(content)
        for cell in candidates
    ]
    begins = [
        at
        for at in range(1, len(candidates))
        if candidates[at] == candidates[at - 1] + 1 and non_filler[at] and not non_filler[at - 1]
    ]
    first = rng.choice(begins) if begins and rng.random() < 0.5 else rng.randrange(len(candidates))
    return set(candidates[first:])


def hearing(rng: random.Random, count: int = 10) -> Group:
    """Return the subtitles of a view without its image, and examples that find the cells of a line.

    Each reply is the beginning of a thought.
    """
    grid = Grid(0.0, rng.choice(LENGTHS_S), K, (rng.choice(CELLS),))
    lines = sample_lines(rng, sample_view(rng), grid)
    while not lines:
        lines = sample_lines(rng, sample_view(rng), grid)
    return _listen(rng, grid, lines, count)


def overhearing(rng: random.Random, count: int = 10) -> Group:
    """Return examples as `hearing` does, for the long cells of a long world.

    Each cell has many lines, most of which name the same few objects; the questions quote the
    others.
    """
    grid = Grid(0.0, LENGTHS_S[-1], K, (rng.choice(CELLS),))
    lines, rare = sample_dense_lines(rng, grid, CELLS)
    quotable = [
        line
        for of_cell in lines.values()
        for line in of_cell
        if not rare.isdisjoint(objects_in(line.text))
    ]
    return _listen(rng, grid, lines, count, quotable)


def _listen(
    rng: random.Random,
    grid: Grid,
    lines: Mapping[int, Sequence[Line]],
    count: int,
    quotable: Sequence[Line] = (),
) -> Group:
    """Return examples that find the cells of a line.

    The line is one of `quotable` (of all lines, if that is empty), or one that no cell has.
    """
    subtitles = "\n".join(subtitles_by_cell(lines))
    texts = texts_by_cell(lines)
    quotable = quotable or [line for of_cell in lines.values() for line in of_cell]
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
    """Return examples that judge evidence, without an image: reviews and decisions."""
    return _group("<|user|>Evidence.", [], [_judge_example(rng) for _ in range(count)])


def _judge_example(rng: random.Random) -> Example:
    names = sample_objects(rng, 6)
    colour, shape = names[0].split(" ")
    target = replace(sample_content(rng), colour=colour, shape=shape)
    question = sample_question(rng, JUDGE_WEIGHTS, target, [])
    goal = goal_of(question)
    length_s = rng.choice(LENGTHS_S)
    scratchpad = sample_evidence(rng, question, target, names, length_s)
    items, labels = list(scratchpad), scratchpad.labels
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
