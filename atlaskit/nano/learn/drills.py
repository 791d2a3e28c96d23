"""Drills: sheets of cells drawn by chance, to read out and to search, a word for every cell.

From lessons alone nothing is learned for long: they say little, and mostly that there is nothing. A drill says
something of each cell, so that it is soon known which words are about which cell, and what it is for two things to be
the same.
"""

from __future__ import annotations

import random
from collections.abc import Collection
from typing import Any

CELLS, COLUMNS = 16, 4
FEW = 0.25
"""Of the sheets have few values."""
MOST_ITEMS = 8
"""Of evidence, in one action."""
NAMES = ("place", "light", "colour", "shape", "word")
PLACE, LIGHT, COLOUR, SHAPE, WORD = range(5)


def sheet(values: list[list[str]], rng: random.Random) -> list[list[int]]:
    """Draw what the cells of a sheet show: often the same as the cell before, or the same scene.

    In some there are few values of each part, so that much has the colour of what is looked for, but not its shape. Not
    in all: where everything comes again, what was said of it before is copied, and nobody learns to look it up.
    """
    cells: list[list[int]] = []
    stays, empty, wordless = rng.choice((0.0, 0.3, 0.6)), rng.choice((0.0, 0.1, 0.5)), rng.choice((0.1, 0.5))
    few = [
        rng.sample(range(1, len(part)), min(rng.randint(1, 3), len(part) - 1)) if rng.random() < FEW else None
        for part in values
    ]
    for _ in range(CELLS):
        if cells and rng.random() < stays / 2:
            cells.append(list(cells[-1]))
            continue
        cell = [
            rng.choice(some) if some else rng.randrange(1, len(part)) for some, part in zip(few, values, strict=True)
        ]
        if cells and cells[-1][PLACE] and rng.random() < stays:
            cell[PLACE], cell[LIGHT] = cells[-1][PLACE], cells[-1][LIGHT]
        if rng.random() < wordless:
            cell[WORD] = 0
        if rng.random() < empty:
            cell[COLOUR] = cell[SHAPE] = cell[WORD] = 0
        cells.append(cell if rng.random() > 0.04 else [0] * len(values))
    return cells


def read(cells: list[list[int]], values: list[list[str]], rng: random.Random) -> tuple[str, str]:
    """Read one thing of every cell, or the objects, the scenes, or all there is; the words most often, since there are
    ten times as many of them as of anything else."""
    kind = rng.choices((*NAMES, "object", "scene", "cell"), (1, 1, 1, 1, 6, 2, 2, 2))[0]
    if kind in NAMES:
        words = [values[NAMES.index(kind)][cell[NAMES.index(kind)]] for cell in cells]
    else:
        words = [told(cell, values, scenes=kind != "object", objects=kind != "scene") for cell in cells]
    return f"Read the {kind}s.", '{"thought":"' + "".join(f"{index}{word}-" for index, word in enumerate(words))


def told(cell: list[int], values: list[list[str]], *, scenes: bool, objects: bool, wanted: Collection[str] = ()) -> str:
    """Tell what a cell shows, as a thought does; and of each word, whether it is one that is looked for."""
    parts = [*((PLACE, LIGHT) if scenes else ()), *((COLOUR, SHAPE) if objects else ())]
    words = [values[part][cell[part]] for part in parts]
    return "".join(f"{word}{'~' if word in wanted else ','}" for word in words if word)


def find(cells: list[list[int]], values: list[list[str]], rng: random.Random) -> tuple[str, str]:
    """Say of every cell what it shows, and whether that is what is looked for: "+", or "~" where only the scene is
    right; and keep the cells where it begins."""
    there = [cell for cell in cells if cell[SHAPE]] or cells
    model = rng.choice(there) if rng.random() < 0.8 else [rng.randrange(1, len(part)) for part in values]
    colour, shape = (values[part][model[part] or 1] for part in (COLOUR, SHAPE))
    wanted = (model[COLOUR] or 1, model[SHAPE] or 1)
    scene = (model[PLACE] or 1, model[LIGHT] or 1)
    kind = rng.choice(("object", "objects", "objects", "any", "shape"))
    names = [f"{colour} {shape}"]
    pairs = {wanted}
    if kind == "objects":
        # Up to six more, and up to three more scenes: so that hits are many, and each has to be looked up.
        for _ in range(rng.randint(1, 6)):
            other = rng.choice(there)
            pair = (other[COLOUR] or 1, other[SHAPE] or 1)
            if rng.random() < 0.5:
                pair = (rng.randrange(1, len(values[COLOUR])), rng.randrange(1, len(values[SHAPE])))
            if pair not in pairs:
                pairs.add(pair)
                names.append(f"{values[COLOUR][pair[0]]} {values[SHAPE][pair[1]]}")
        rng.shuffle(names)
    scenes = {scene}
    for _ in range(rng.choice((0, 1, 3))):
        other = rng.choice(cells)
        scenes.add((other[PLACE] or 1, other[LIGHT] or 1))
    listed = ", ".join(f"{values[PLACE][where]} at {values[LIGHT][when]}" for where, when in sorted(scenes))
    task = {
        "object": f"Find {names[0]}.",
        "objects": f"Find {', '.join(names)}.",
        "any": f"Find any object in {listed}.",
        "shape": f"Find any {shape} in {listed}.",
    }[kind]
    reads_scenes = kind in ("any", "shape") or rng.random() < 0.3
    if kind in ("object", "objects"):
        looked_for = {word for name in names for word in name.split(" ")}
    else:
        looked_for = {values[part][value] for pair in scenes for part, value in zip((PLACE, LIGHT), pair, strict=True)}
        looked_for |= {shape} if kind == "shape" else set()
    thought, signs, picked, before = "", "", list[int](), (0, 0)
    for index, cell in enumerate(cells):
        now, here = (cell[COLOUR], cell[SHAPE]), (cell[PLACE], cell[LIGHT]) in scenes
        if kind in ("object", "objects"):
            hit, here, near = now in pairs, False, False
        else:
            hit, near = here and cell[SHAPE] > 0 and (kind == "any" or cell[SHAPE] == wanted[1]), here
        signs += "+" if hit else "~" if near else "-"
        if hit and now != before:
            picked.append(index)
        shown = told(cell, values, scenes=reads_scenes, objects=True, wanted=looked_for)
        thought += f"{index}{shown}{'-' if signs[-1] == '-' else f'={index}{signs[-1]}'}"
        before = now if hit else (0, 0)
    told_so_far = f'{{"thought":"{thought}'
    if rng.random() < 0.3:  # to go on to the action each time would make steps longer
        return f"What to look for: {task}", told_so_far
    action = '"action":"backtrack"'
    if picked:
        kept = picked[:MOST_ITEMS]
        items = ",".join(f'{{{described(index, cells[index], values)},"confidence":0.9}}' for index in kept)
        action = f'"action":"add_to_scratchpad","items":[{items}]'
    elif "~" in signs:
        action = f'"action":"expand","cell":{signs.index("~")}'
    return f"What to look for: {task}", f'{told_so_far}","action":{{{action}}}}}'


def described(index: int, cell: list[int], values: list[list[str]]) -> str:
    """Describe a cell, as an item of evidence does."""
    return f'"cell":{index},"description":"{in_words(cell, values)}"'


def in_words(cell: list[int], values: list[list[str]]) -> str:
    """Tell all that a cell shows."""
    place, light, colour, shape, word = (part[value] for part, value in zip(values, cell, strict=True))
    return ", ".join(filter(None, (f"{colour} {shape}".strip(), f"{place} at {light}" if place else "", word)))


def describe(cells: list[list[int]], values: list[list[str]], rng: random.Random) -> tuple[str, str]:
    """Describe some cells."""
    chosen = rng.sample(range(CELLS), 3)
    told = "".join(described(index, cells[index], values) for index in chosen)
    return f"Describe {', '.join(map(str, chosen))}.", told


def judge(values: list[list[str]], rng: random.Random) -> tuple[str, str]:
    """Go over evidence that is told in words, say of each item which choice it speaks for, and answer; or review it.

    Nothing is to be seen: what is learned is to find the number of a choice by its words, several times in a reply.
    """
    kind = rng.choice(("object", "object", "colour", "text", "neighbour", "first", "count"))
    names = _names(values, rng)
    choices = names[:4]
    about, wanted = rng.choice(names), names[:1]
    colours, written = (rng.sample(values[part][1:], 4) for part in (COLOUR, WORD))
    shape = about.split(" ")[1]
    if kind == "colour":
        asked, choices = f"What colour is the {shape} that appears in the {_scene(values, rng)}?", colours
    elif kind == "text":
        asked, choices = f"What text is on screen while the {about} is visible?", written
    elif kind == "neighbour":
        about = names[4]
        asked = f"Which object appears right {rng.choice(('after', 'before'))} the {about}?"
    elif kind == "first":
        wanted = choices
        listed = ", ".join(map(_a, sorted(choices)[:-1]))
        asked = f"Which appears first in the video: {listed}, or {_a(sorted(choices)[-1])}?"
    elif kind == "count":
        wanted, choices = [about], [str(number) for number in rng.sample(range(1, 8), 4)]
        asked = f"How many times does {_a(about)} appear in the video?"
    else:
        asked = f"Which of these objects appears in the {_scene(values, rng)}?"
    steps, lines, said, labels = [], [], list[tuple[str, str]](), rng.sample("ABCDEFGHJKLM", rng.randint(1, 7))
    clock = sorted(rng.uniform(0, 600) for _ in labels)
    for label, time in zip(labels, clock, strict=True):
        hit = rng.random() < 0.7
        name, word = rng.choice(names), rng.choice(("", rng.choice(values[WORD][1:])))
        if kind == "colour":
            name = f"{rng.choice(colours)} {shape}" if hit else f"{rng.choice(colours)} {rng.choice(values[SHAPE][1:])}"
        elif kind == "text" and hit:
            name, word = about, rng.choice(written)
        elif kind == "count" and hit:
            name = about
        elif hit or rng.random() < 0.3:
            name = rng.choice(names[:4])
        elif rng.random() < 0.5:  # the colour of one, the shape of another
            name = f"{rng.choice(names[:4]).split(' ')[0]} {rng.choice(names[:4]).split(' ')[1]}"
        says = name
        if kind == "colour":
            says = name.split(" ")[0] if name.endswith(f" {shape}") else ""
        elif kind == "text":
            says = word if name == about else ""
        elif kind == "count":
            says = str(len(said) + 1) if name == about else ""
        counts = bool(says) and (kind == "count" or says in choices)
        number = "" if not counts else len(said) + 1 if kind == "count" else choices.index(says)
        shown = f"{name} {word}" if kind == "text" and word else name
        if kind == "colour":
            shown = " ".join(reversed(name.split(" ")))  # what answers stands right before the sign
        steps.append(f"[{label}] {shown}{f'{number}+' if counts else '-'}")
        told = ", ".join(filter(None, (name, _scene(values, rng, " at "), word)))
        lines.append(f"\n[{label}] {time:.2f} s of {time - 1:.2f}–{time + 1:.2f} s, sure to 90%: {told}")
        if counts:
            said.append((label, says))
    words = "" if not said else str(len(said)) if kind == "count" else said[0][1]
    many = kind in ("count", "first")
    proof = [label for label, says in said if many or says == words][: 4 if many else 2]
    answer = choices.index(words) if words in choices else None
    separator = "=" if kind == "count" else ""
    among = ", ".join(f"{choice}{separator}{index}" for index, choice in enumerate(choices))
    reasoning = f"Of {among}: {''.join(steps)}. {words or 'nothing'}{'' if answer is None else f'{separator}{answer}'}"
    cited = ",".join(f'"{label}"' for label in proof)
    listed = "".join(f"\n  {index}: {_a(choice) if ' ' in choice else choice}" for index, choice in enumerate(choices))
    question = f"The question: {asked}{listed}\nEvidence kept, in order of time:{''.join(lines)}"
    if rng.random() < 0.5:
        judged = f'[{{"choice":{answer or 0},"supporting":[{cited}],"contradicting":[]}}]'
        return f"Decide.\n{question}", f'{{"reasoning":"{reasoning}","weighed":{judged},"answer":{answer or 0}}}'
    suffices = answer is not None and kind != "count" and (kind != "first" or set(wanted) <= {s for _, s in said})
    weighed = ",".join(
        f'{{"choice":{index},"supporting":[{cited if index == answer else ""}],"contradicting":[],'
        f'"sufficient":{"true" if suffices and index == answer else "false"}}}'
        for index in range(4)
    )
    end = '"action":"continue","explore":[],"intervals":[]'
    if suffices:
        end = f'"action":"final_decision","looked_for_to_contradict":"Another.","supporting":[{cited}]'
    return (
        f"Judge it.\n{question}",
        f'{{"reasoning":"{reasoning}","choices":[{weighed}],"erase":[],"conclusion":{{{end}}}}}',
    )


def _names(values: list[list[str]], rng: random.Random) -> list[str]:
    """Draw some objects, all different."""
    names = list[str]()
    while len(names) < 6:
        name = f"{rng.choice(values[COLOUR][1:])} {rng.choice(values[SHAPE][1:])}"
        if name not in names:
            names.append(name)
    return names


def _a(name: str) -> str:
    return f"{'an' if name[0] in 'aeiou' else 'a'} {name}"


def _scene(values: list[list[str]], rng: random.Random, between: str = " scene at ") -> str:
    return f"{rng.choice(values[PLACE][1:])}{between}{rng.choice(values[LIGHT][1:])}"


def drill(values: list[list[str]], rng: random.Random, *, reads: bool = False, count: int = 3) -> dict[str, Any]:
    """Return a sheet with some drills about it, in the form of a group of lessons; mostly reading, if wished."""
    cells = sheet(values, rng)
    kinds = rng.choices((read, find, describe), (8, 1, 1) if reads else (2, 6, 1), k=count)
    examples = [_example("drill", *kind(cells, values, rng)) for kind in kinds]
    return {
        "prefix": "<|user|>Look.\n<image>",
        "images": [{"columns": COLUMNS, "tiles": cells}],
        "examples": examples,
    }


def judgements(values: list[list[str]], rng: random.Random, *, count: int = 6) -> dict[str, Any]:
    """Return some drills without a picture, to judge what was found, in the form of a group of lessons."""
    examples = [_example("judgement", *judge(values, rng)) for _ in range(count)]
    return {"prefix": "<|user|>Evidence.", "images": [], "examples": examples}


def _example(step: str, asked: str, reply: str) -> dict[str, Any]:
    return {"rest": f"\n{asked}<end><|assistant|>", "images": [], "reply": reply, "step": step, "kind": ""}
