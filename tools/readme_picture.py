"""Make docs/quickstart.jpg, the README's first picture, from the quickstart's own run (`make demo` first)."""

from __future__ import annotations

from PIL import Image

import atlaskit as ak

SIDE, GAP = 900, 24
PAPER = (255, 255, 255)


def main() -> None:
    """Put the contact sheet on the left, the evidence and the path on the right."""
    cache = ak.Cache("cache")
    world = ak.benchmarks.atlasworld(7, 600, directory="cache/atlasworld")
    question = next(question for question in world.questions if question.category == "SSS")
    result = ak.ask(world.video, question, vlm=ak.Oracle(world), workers=4, cache=cache)
    sheet = ak.view(world.video, labels="time", cache=cache).image.resize((SIDE, SIDE), Image.Resampling.LANCZOS)
    path = Image.open("figures/01_quickstart_path_choice.png").convert("RGB")
    path = path.resize((SIDE, round(path.height * SIDE / path.width)), Image.Resampling.LANCZOS)
    evidence = result.sheet.image
    side = SIDE - path.height - GAP
    evidence = evidence.resize((round(evidence.width * side / evidence.height), side), Image.Resampling.LANCZOS)
    picture = Image.new("RGB", (2 * SIDE + GAP, SIDE), PAPER)
    picture.paste(sheet, (0, 0))
    picture.paste(evidence, (SIDE + GAP + (SIDE - evidence.width) // 2, 0))
    picture.paste(path, (SIDE + GAP, SIDE - path.height))
    picture.save("docs/quickstart.jpg", quality=85)


if __name__ == "__main__":
    main()
