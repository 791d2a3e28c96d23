"""The names and files that the examples in docstrings use, on a small synthetic video."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import atlaskit as ak
from atlaskit.benchmarks.atlasworld import World
from support.datasets import LAYOUTS


@contextmanager
def example_names(film: World, folder: Path) -> Iterator[dict[str, Any]]:
    """Make the folder the working directory, and return what an example finds defined.

    A few rows of each dataset lie in `data/`. `video` is an AtlasWorld of two minutes, `question`
    one about it, `vlm` an oracle that makes no errors, `result` its run, and `rows` the table of an
    evaluation of all `cases`.
    """
    path = film.video.path  # type: ignore[attr-defined]
    before = Path.cwd()
    os.chdir(folder)
    try:
        shutil.copy(path, "match.mp4")
        shutil.copy(path.with_suffix(".srt"), "match.srt")
        for name, lay_out in LAYOUTS.items():
            lay_out(Path("data") / name, path)
        vlm, question = ak.Oracle(film), film.questions[0]
        cases = film.cases()
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("matplotlib.pyplot.show", lambda: None)
            result = ak.ask(film.video, question, vlm=vlm)
            rows = ak.evaluate(cases, vlm=vlm, traces="traces", progress=False)
            yield {
                "ak": ak, "video": film.video, "world": film, "question": question, "vlm": vlm, "result": result,
                "cases": cases, "rows": rows,
            }  # fmt: skip
    finally:
        os.chdir(before)
