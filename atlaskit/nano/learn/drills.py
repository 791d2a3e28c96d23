"""Drills: sheets of cells drawn by chance, to read out and to search, a word for every cell.

From lessons alone nothing is learned for long: they say little, and mostly that there is nothing. A drill says
something of each cell, so that it is soon known which words are about which cell, and what it is for two things to be
the same.
"""

from __future__ import annotations

import random
from typing import Any

CELLS, COLUMNS = 16, 4
NAMES = ("place", "light", "colour", "shape", "word")
PLACE, LIGHT, COLOUR, SHAPE, WORD = range(5)


def sheet(values: list[list[str]], rng: random.Random) -> list[list[int]]:
    """Draw what the cells of a sheet show: often the same as the cell before, or the same scene."""
    cells: list[list[int]] = []
    stays, empty, wordless = rng.choice((0.0, 0.3, 0.6)), rng.choice((0.0, 0.1, 0.5)), rng.choice((0.1, 0.5))
    for _ in range(CELLS):
        if cells and rng.random() < stays / 2:
            cells.append(list(cells[-1]))
            continue
        cell = [rng.randrange(1, len(part)) for part in values]
        if cells and rng.random() < stays:
            cell[PLACE], cell[LIGHT] = cells[-1][PLACE], cells[-1][LIGHT]
        if rng.random() < wordless:
            cell[WORD] = 0
        if rng.random() < empty:
            cell[COLOUR] = cell[SHAPE] = cell[WORD] = 0
        cells.append(cell if rng.random() > 0.04 else [0] * len(values))
    return cells


def read(cells: list[list[int]], values: list[list[str]], rng: random.Random) -> tuple[str, str]:
    """Read one thing of every cell, or the objects, the scenes, or all there is."""
    kind = rng.choices((*NAMES, "object", "scene", "cell"), (1, 1, 1, 1, 3, 2, 2, 2))[0]
    if kind in NAMES:
        words = [values[NAMES.index(kind)][cell[NAMES.index(kind)]] for cell in cells]
    else:
        words = [told(cell, values, scenes=kind != "object", objects=kind != "scene") for cell in cells]
    return f"Read the {kind}s.", '{"thought":"' + "".join(f"{index}{word}-" for index, word in enumerate(words))


def told(cell: list[int], values: list[list[str]], *, scenes: bool, objects: bool) -> str:
    """Tell what a cell shows, as a thought does."""
    place, light, colour, shape, _ = (part[value] for part, value in zip(values, cell, strict=True))
    scene, thing = f"{place} {light}" if scenes and place else "", f"{colour} {shape}" if objects and shape else ""
    return ", ".join(filter(None, (scene, thing)))


def find(cells: list[list[int]], values: list[list[str]], rng: random.Random) -> tuple[str, str]:
    """Say of every cell what it shows, and whether that is what is looked for: "+" where it begins, "=" where it goes
    on, "~" where only the scene is right."""
    there = [cell for cell in cells if cell[SHAPE]] or cells
    model = rng.choice(there) if rng.random() < 0.8 else [rng.randrange(1, len(part)) for part in values]
    colour, shape, place, light = (values[part][model[part] or 1] for part in (COLOUR, SHAPE, PLACE, LIGHT))
    wanted = (model[COLOUR] or 1, model[SHAPE] or 1)
    scene = (model[PLACE] or 1, model[LIGHT] or 1)
    kind = rng.choice(("object", "object", "objects", "any", "shape"))
    names = [f"{colour} {shape}"]
    pairs = {wanted}
    if kind == "objects":
        for _ in range(3):
            other = rng.choice(there)
            pair = (other[COLOUR] or 1, other[SHAPE] or 1)
            if rng.random() < 0.5:
                pair = (rng.randrange(1, len(values[COLOUR])), rng.randrange(1, len(values[SHAPE])))
            if pair not in pairs:
                pairs.add(pair)
                names.append(f"{values[COLOUR][pair[0]]} {values[SHAPE][pair[1]]}")
        rng.shuffle(names)
    task = {
        "object": f"Find {names[0]}.",
        "objects": f"Find {', '.join(names)}.",
        "any": f"Find any object in {place} at {light}.",
        "shape": f"Find any {shape} in {place} at {light}.",
    }[kind]
    signs, before, reads_scenes = "", (0, 0), kind in ("any", "shape")
    for index, cell in enumerate(cells):
        now, here = (cell[COLOUR], cell[SHAPE]), (cell[PLACE], cell[LIGHT]) == scene
        if kind in ("object", "objects"):
            hit, near = now in pairs, False
        else:
            hit, near = here and cell[SHAPE] > 0 and (kind == "any" or cell[SHAPE] == wanted[1]), here
        signs += f"{index}{told(cell, values, scenes=reads_scenes, objects=True)}"
        signs += ("=" if now == before else "+") if hit else "~" if near else "-"
        before = now if hit else (0, 0)
    return f"What to look for: {task}", f'{{"thought":"{signs}'


def describe(cells: list[list[int]], values: list[list[str]], rng: random.Random) -> tuple[str, str]:
    """Describe some cells."""
    chosen = rng.sample(range(CELLS), 3)
    told = []
    for index in chosen:
        place, light, colour, shape, word = (part[value] for part, value in zip(values, cells[index], strict=True))
        parts = [f"{colour} {shape}".strip(), f"{place} at {light}" if place else "", word]
        told.append(f'"cell":{index},"description":"{", ".join(filter(None, parts))}"')
    return f"Describe {', '.join(map(str, chosen))}.", "".join(told)


def drill(values: list[list[str]], rng: random.Random, *, reads: bool = False, count: int = 10) -> dict[str, Any]:
    """Return a sheet with some drills about it, in the form of a group of lessons; mostly reading, if wished."""
    cells = sheet(values, rng)
    examples = []
    for _ in range(count):
        asked, reply = rng.choices((read, find, describe), (8, 1, 1) if reads else (3, 6, 1))[0](cells, values, rng)
        rest = f"\n{asked}<end><|assistant|>"
        examples.append({"rest": rest, "images": [], "reply": reply, "step": "drill", "kind": ""})
    return {
        "prefix": "<|user|>Look.\n<image>",
        "images": [{"columns": COLUMNS, "tiles": cells}],
        "examples": examples,
    }
