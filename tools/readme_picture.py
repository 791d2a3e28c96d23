"""Make docs/quickstart.jpg, the README's picture: nano's recorded run of the quickstart's first question."""

from __future__ import annotations

from PIL import Image, ImageOps

import atlaskit as ak

SIDE, EVIDENCE, GAP = 900, 280, 24
PAPER = (255, 255, 255)


def main() -> None:
    """Put the contact sheet on the left, the evidence and the path on the right."""
    cache = ak.Cache("cache")
    ak.cache.import_("recordings/01_quickstart.zip", cache=cache)
    world = ak.benchmarks.atlasworld(7, 600, directory="cache/atlasworld")
    by_kind = {question.category: question for question in world.questions[:8]}
    result = ak.ask(world.video, by_kind["SSS"], vlm=ak.serve("nano"), workers=4, replay=True, cache=cache)
    assert result.is_right
    sheet = ak.view(world.video, labels="time", cache=cache).image.resize((SIDE, SIDE), Image.Resampling.LANCZOS)
    png, _ = ak.plots.save(ak.plots.path(result), "figures", "readme_path")
    path = ImageOps.contain(Image.open(png).convert("RGB"), (SIDE, SIDE - EVIDENCE - GAP))
    evidence = ImageOps.contain(result.sheet.image, (SIDE, EVIDENCE))
    picture = Image.new("RGB", (2 * SIDE + GAP, SIDE), PAPER)
    picture.paste(sheet, (0, 0))
    for part, top in ((evidence, 0), (path, SIDE - path.height)):
        picture.paste(part, (SIDE + GAP + (SIDE - part.width) // 2, top))
    picture.save("docs/quickstart.jpg", quality=85)


if __name__ == "__main__":
    main()
