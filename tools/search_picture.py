"""Make docs/search.jpg, which shows a search: the plan, the looks, the evidence.

Run it as `.venv/bin/python tools/search_picture.py`. A scripted oracle, not a model, gives the
answers.
"""

from __future__ import annotations

from film_picture import ACCENT, BACKGROUND, box_of
from PIL import Image, ImageDraw, ImageFont

import atlaskit as ak
import atlasworld as aw

SEED = 7
CATEGORY = "SSS"
"""The kind of question: which of some objects appears first."""
K = 8
WIDTH_PX = 640
"""Width of a column."""
GAP_PX = 60
HEAD_PX = 64
"""Height of the line above each column."""
FONT_PX = 34
INK = (30, 30, 30)


def main() -> None:
    """Draw the sheets of one run, from left to right."""
    world = aw.world(SEED, 600, size=(640, 360))
    question = next(each for each in world.questions if each.category == CATEGORY)
    search = ak.Search.named("best", k=K, cell=160)
    result = ak.ask(world.drawn, question, vlm=aw.Oracle(world), search=search)
    sheets: dict[str, list[Image.Image]] = {"plan": [], "look": []}
    for shown in ak.replay.pictures(result.trace, world.drawn):
        if shown.event.kind in sheets:
            sheets[shown.event.kind].append(shown.picture.image.convert("RGB"))
    (look,) = result.trace.of("look")
    plan = sheets["plan"][0]
    pen = ImageDraw.Draw(plan)
    for start_s, _ in look.intervals_s:
        cell = int(start_s / world.drawn.duration_s * K * K)
        pen.rectangle(box_of(cell, plan, K), outline=ACCENT, width=6)
    columns = [
        ("1. Plan: the whole video", [plan]),
        ("2. Look: two stretches of it", sheets["look"]),
        ("3. Answer from the evidence", [result.sheet.image.convert("RGB")]),
    ]
    drawn = [column(head, parts) for head, parts in columns]
    height = max(part.height for part in drawn)
    figure = Image.new("RGB", (len(drawn) * (WIDTH_PX + GAP_PX) - GAP_PX, height), BACKGROUND)
    for number, part in enumerate(drawn):
        figure.paste(part, (number * (WIDTH_PX + GAP_PX), 0))
    figure.save("docs/search.jpg", quality=82, optimize=True)


def column(head: str, parts: list[Image.Image]) -> Image.Image:
    """Return pictures below each other, with a line of text above them."""
    scaled = list[Image.Image]()
    for part in parts:
        size = (WIDTH_PX, round(part.height * WIDTH_PX / part.width))
        scaled.append(part.resize(size, Image.Resampling.LANCZOS))
    height = HEAD_PX + sum(part.height + GAP_PX for part in scaled) - GAP_PX
    figure = Image.new("RGB", (WIDTH_PX, height), BACKGROUND)
    ImageDraw.Draw(figure).text((0, 8), head, INK, ImageFont.load_default(FONT_PX))
    top = HEAD_PX
    for part in scaled:
        figure.paste(part, (0, top))
        top += part.height + GAP_PX
    return figure


if __name__ == "__main__":
    main()
