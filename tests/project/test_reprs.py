"""The repr of every public class: one short line, whatever the object holds, without secrets."""

import inspect
from dataclasses import replace
from typing import Any

import pytest

import atlaskit as ak
import atlasworld as aw
from atlaskit.caching.cache import Cache
from atlaskit.runs.result import Result
from atlasworld import World

URL, KEY = "http://127.0.0.1:1/v1", "sk-a-secret-key"
MAX_CHARS = 240
CLASSES = [name for house in (ak, aw) for name in house.__all__ if inspect.isclass(getattr(house, name))]
LONG = ["first line\nsecond line " + 200 * "w" for _ in range(3)]


@pytest.fixture(scope="module")
def examples(world: World, shared_cache: Cache, answered: Result) -> dict[str, tuple[Any, str]]:
    """An object of each public class, and what its repr tells."""
    claim = ak.Claim(3, "a red car")
    question = ak.Question(LONG[0], LONG, id="id\n7")
    dialect = ak.Dialect("mine", seed=True)  # no address takes a password
    return {
        "ASR": (ak.ASR(URL, "m", api_key=KEY), f"{URL}', 'm'"),
        "VLM": (ak.VLM(URL, "m", api_key=KEY, dialect=dialect), f"{URL}', 'm'"),
        "Embedder": (ak.Embedder(URL, "m", api_key=KEY), f"{URL}', 'm'"),
        "Dialect": (dialect, "name='mine', schema='grammar', seed=True"),
        "AddToScratchpad": (ak.AddToScratchpad((claim,)), "a red car"),
        "Backtrack": (ak.Backtrack(), "Backtrack"),
        "Claim": (claim, "cell=3"),
        "Expand": (ak.Expand(3), "cell=3"),
        "Finished": (ak.Finished(), "Finished"),
        "Investigate": (ak.Investigate(3, "before"), "before"),
        "MarkPromising": (ak.MarkPromising((3, 4)), "(3, 4)"),
        "Zoom": (ak.Zoom(3), "cell=3"),
        "Atlas": (ak.Atlas(world.drawn, k=4, cell=48, cache=shared_cache), "4×4 cells of 48 px"),
        "AtlasError": (ak.AtlasError("No."), "No."),
        "Budget": (ak.Budget(calls=3), "calls=3"),
        "Cache": (Cache(None), "None"),
        "Oracle": (aw.Oracle(world, miss=0.2), "miss=0.2"),
        "Passage": (ak.Passage(12.5, 14, "a red fox", label="fox"), "<note fox, 0:12.5–0:14.0: 'a red fox'>"),
        "PictureScout": (ak.PictureScout(aw.Oracle(world)), "PictureScout(model="),  # type: ignore[arg-type]
        "TextScout": (ak.TextScout(), "TextScout(read=None, name='rapidocr')"),
        "Prices": (ak.Prices(prompt=1, completion=2), "prompt=1"),
        "Question": (question, "choice, 3 choices"),
        "Result": (replace(answered, question=replace(question, choices=("a", *LONG)), prediction=0), "A: a"),
        "Search": (ak.Search(traversal="dfs", steps=5), "traversal='dfs', steps=5"),
        "Trace": (answered.trace, f"{len(answered.trace)} events"),
        "World": (world, "AtlasWorld 5: 600 s"),
    }


def test_every_public_class_has_an_example(examples: dict[str, Any]) -> None:
    assert sorted(examples) == sorted(CLASSES)


@pytest.mark.parametrize("name", CLASSES)
def test_a_repr_is_one_short_line_that_informs(name: str, examples: dict[str, tuple[Any, str]]) -> None:
    check(repr(examples[name][0]), examples[name][1])


def test_the_reprs_of_what_they_return(world: World, shared_cache: Cache, answered: Result) -> None:
    atlas = ak.Atlas(world.drawn, k=4, cell=48, cache=shared_cache)
    atlas.reset()
    check(repr(ak.view(world.drawn, k=4, cell=48, cache=shared_cache)), "0:00.0–10:00.0, depth 0, 4×4 cells of 48 px")
    check(repr(atlas.step(ak.Expand(1))), "observation of <view of")
    check(repr(answered.sheet), f"evidence: {len(answered.evidence)}")


def check(text: str, part: str) -> None:
    assert part in text and len(text) <= MAX_CHARS and text.isprintable(), text
    assert KEY not in text and " object at 0x" not in text
