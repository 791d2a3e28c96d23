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


def decide(cells: list[list[int]], values: list[list[str]], rng: random.Random) -> tuple[str, str]:
    """Answer a question from what some of the cells show, told in words as evidence is: nothing is to be seen."""
    there = [cell for cell in cells if cell[SHAPE]] or [[rng.randrange(1, len(part)) for part in values]]
    kept = [rng.choice(there) if rng.random() < 0.9 else rng.choice(cells) for _ in range(rng.randint(1, 6))]
    about = rng.choice([cell for cell in kept if cell[SHAPE]] or there)
    place, light, colour, shape, word = (part[value] for part, value in zip(values, about, strict=True))
    part = rng.choice((COLOUR, WORD, SHAPE, PLACE)) if word else rng.choice((COLOUR, SHAPE, PLACE))
    article = "an" if colour[0] in "aeiou" else "a"
    asked, wanted = {
        COLOUR: (f"What colour is the {shape} that appears in the {place} scene at {light}?", colour),
        WORD: (f"What text is on screen while the {colour} {shape} is visible?", word),
        SHAPE: (f"Which of these objects appears in the {place} scene at {light}?", f"{article} {colour} {shape}"),
        PLACE: (f"Which object appears right after the {_any(values, rng)}?", f"{article} {colour} {shape}"),
    }[part]
    choices = {wanted}
    while len(choices) < 4:
        if part in (COLOUR, WORD):
            choices.add(rng.choice(values[part][1:]))
        else:
            other = _any(values, rng)
            choices.add(f"{'an' if other[0] in 'aeiou' else 'a'} {other}")
    order = sorted(choices)
    rng.shuffle(order)
    clock = sorted(rng.uniform(0, 600) for _ in kept)
    labels = rng.sample("ABCDEFGH", len(kept))
    lines = "".join(
        f"\n[{label}] {time:.2f} s of {time - 1:.2f}–{time + 1:.2f} s, sure to 90%: {in_words(cell, values)}"
        for label, time, cell in zip(labels, clock, kept, strict=True)
    )
    bare = wanted.removeprefix("an ").removeprefix("a ")
    proof = [f'"{label}"' for label, cell in zip(labels, kept, strict=True) if bare in in_words(cell, values)][:2]
    answer = order.index(wanted)
    weighed = f'"weighed":[{{"choice":{answer},"supporting":[{",".join(proof)}],"contradicting":[]}}]'
    listed = "".join(f"\n  {index}: {choice}" for index, choice in enumerate(order))
    return (
        f"Decide.\nThe question: {asked}{listed}\nEvidence kept, in order of time:{lines}",
        f'{{"reasoning":"{bare}",{weighed},"answer":{answer}}}',
    )


def _any(values: list[list[str]], rng: random.Random) -> str:
    return f"{rng.choice(values[COLOUR][1:])} {rng.choice(values[SHAPE][1:])}"


def drill(values: list[list[str]], rng: random.Random, *, reads: bool = False, count: int = 3) -> dict[str, Any]:
    """Return a sheet with some drills about it, in the form of a group of lessons; mostly reading, if wished."""
    cells = sheet(values, rng)
    examples = []
    for _ in range(count):
        (kind,) = rng.choices((read, find, describe, decide), (8, 1, 1, 0) if reads else (2, 6, 1, 2))
        asked, reply = kind(cells, values, rng)
        rest = f"\n{asked}<end><|assistant|>"
        examples.append({"rest": rest, "images": [], "reply": reply, "step": "drill", "kind": ""})
    return {
        "prefix": "<|user|>Look.\n<image>",
        "images": [{"columns": COLUMNS, "tiles": cells}],
        "examples": examples,
    }
