"""Make docs/quickstart.jpg, the figure of the README: nano's recorded run of the first question.

Run it as `.venv/bin/python tools/readme_picture.py`. The question is the quickstart's first one.
"""

from __future__ import annotations

from pathlib import Path

from PIL import Image, ImageOps

import atlaskit as ak
import atlasworld as aw

SIDE = 900
"""Width and height of the view, in pixels."""
EVIDENCE = 280
"""Height of the evidence, in pixels."""
GAP = 24
"""Space between the parts, in pixels."""
BACKGROUND = (255, 255, 255)


def main() -> None:
    """Draw the view of the root grid on the left, the evidence and the path on the right."""
    cache = ak.Cache("cache")
    for recording in Path("recordings").glob("*.jsonl.xz"):
        ak.cache.import_(recording, cache=cache)
    world = aw.world(7, 600, directory="cache/atlasworld")
    by_category = {question.category: question for question in world.questions[:8]}
    result = ak.ask(
        world.video, by_category["SSS"], vlm=ak.serve("nano"), workers=4, replay=True, cache=cache
    )
    assert result.is_right
    root = ak.view(world.video, labels="time", cache=cache).image.resize(
        (SIDE, SIDE), Image.Resampling.LANCZOS
    )
    png, _ = ak.plots.save(ak.plots.path(result), "figures", "readme_path")
    path = ImageOps.contain(Image.open(png).convert("RGB"), (SIDE, SIDE - EVIDENCE - GAP))
    evidence = ImageOps.contain(result.sheet.image, (SIDE, EVIDENCE))
    figure = Image.new("RGB", (2 * SIDE + GAP, SIDE), BACKGROUND)
    figure.paste(root, (0, 0))
    for part, top in ((evidence, 0), (path, SIDE - path.height)):
        figure.paste(part, (SIDE + GAP + (SIDE - part.width) // 2, top))
    figure.save("docs/quickstart.jpg", quality=85)


if __name__ == "__main__":
    main()
