"""Make docs/quickstart.jpg, the README's first picture: the quickstart's first question, as its run shows it."""

from __future__ import annotations

from PIL import Image

import atlaskit as ak

SIDE, GAP = 900, 24
PAPER = (255, 255, 255)


def main() -> None:
    """Put the contact sheet on the left, the evidence and the path on the right."""
    cache = ak.Cache("cache")
    world = ak.benchmarks.atlasworld(7, 600, directory="cache/atlasworld")
    by_kind = {question.category: question for question in world.questions}
    result = ak.ask(world.video, by_kind["SSS"], vlm=ak.Oracle(world), workers=4, cache=cache)
    sheet = ak.view(world.video, labels="time", cache=cache).image.resize((SIDE, SIDE), Image.Resampling.LANCZOS)
    png, _ = ak.plots.save(ak.plots.path(result), "figures", "readme_path")
    path = Image.open(png).convert("RGB")
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
