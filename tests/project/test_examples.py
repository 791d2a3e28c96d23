"""What a person sees first of a public name: an example that runs, and a repr of one short line.

A repr holds no secret, whatever the object holds.
"""

import doctest
import inspect
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from support.datasets import LAYOUTS

import atlaskit as ak
import atlasworld as aw
from atlaskit.caching.cache import Cache
from atlaskit.runs.result import Result
from atlasworld import World

MODULES = {name: value for name in ak.__all__ if isinstance(value := getattr(ak, name), ModuleType)}
NOT_RUN = {"ak.transcribe": "it needs a server of a speech model"}
"""Names whose example has a line that is not run, and why."""


def public_callables() -> Iterator[tuple[str, Any]]:
    """Yield each public function and class with its name."""
    yield from ((f"aw.{name}", getattr(aw, name)) for name in aw.__all__)
    for name in ak.__all__:
        if name in MODULES:
            members = ((f"ak.{name}.{inner}", getattr(MODULES[name], inner)) for inner in MODULES[name].__all__)
            yield from ((inner, member) for inner, member in members if callable(member))
        else:
            yield f"ak.{name}", getattr(ak, name)


CALLABLES = dict(public_callables())


@pytest.fixture(scope="module")
def names(film: World, film_file: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    """What an example finds defined, in a working directory with a video and rows of each dataset.

    `weak` is an oracle that misses nine of ten events, `rows` the table of all `cases`.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("examples"))
        patch.setattr("matplotlib.pyplot.show", lambda: None)
        shutil.copy(film_file, "match.mp4")
        shutil.copy(film_file.with_suffix(".srt"), "match.srt")
        for name, lay_out in LAYOUTS.items():
            lay_out(Path("data") / name, film_file)
        found = {"ak": ak, "aw": aw, "video": film.video, "world": film, "cases": film.cases()}
        found["question"] = film.questions[0]
        vlm = found["vlm"] = aw.Oracle(film)
        found["weak"] = aw.Oracle(film, miss=0.9, seed=1)
        found["result"] = ak.ask(film.video, film.questions[0], vlm=vlm)
        found["rows"] = ak.evaluate(film.cases(), vlm=vlm, traces="traces", progress=False)
        found["rows"].save("rows.csv")
        Path("questions.csv").write_text("video,question,A,B,answer\nmatch.mp4,Which?,red,blue,A\n")
        yield found


@pytest.mark.family
@pytest.mark.parametrize("name", CALLABLES)
def test_the_example_of_a_public_name_runs(name: str, names: dict[str, Any]) -> None:
    text = inspect.getdoc(CALLABLES[name]) or ""
    test = doctest.DocTestParser().get_doctest(text, dict(names), name, None, None)
    assert test.examples, f"{name} has no example in its docstring"
    skipped = [example for example in test.examples if doctest.SKIP in example.options]
    assert bool(skipped) == (name in NOT_RUN), f"{name}: lines of its example are not run"
    report: list[str] = []
    failed, _ = doctest.DocTestRunner(verbose=False).run(test, out=report.append)
    assert not failed, "".join(report)


@pytest.mark.parametrize("name", MODULES)
def test_completion_lists_the_public_names_of_a_module_only(name: str) -> None:
    module = MODULES[name]
    assert dir(module) == sorted(module.__all__)
    assert all(hasattr(module, each) for each in module.__all__)


URL, KEY = "http://127.0.0.1:1/v1", "sk-a-secret-key"
MAX_CHARS = 240
LONG = ["first line\nsecond line " + 200 * "w" for _ in range(3)]


@pytest.fixture(scope="module")
def examples(world: World, shared_cache: Cache, answered: Result) -> dict[str, tuple[Any, str]]:
    """An object of each public class and of what they return, and what its repr tells."""
    atlas = ak.Atlas(world.drawn, k=4, cell=48, cache=shared_cache)
    view = atlas.reset().view
    question = ak.Question(LONG[0], LONG, id="id\n7")
    dialect = ak.Dialect("mine", seed=True)  # no address takes a password
    return {
        "ASR": (ak.ASR(URL, "m", api_key=KEY), f"{URL}', 'm'"),
        "VLM": (ak.VLM(URL, "m", api_key=KEY, dialect=dialect), f"{URL}', 'm'"),
        "Embedder": (ak.Embedder(URL, "m", api_key=KEY), f"{URL}', 'm'"),
        "Atlas": (atlas, "4×4 cells of 48 px"),
        "a view": (view, "0:00.0–10:00.0, depth 0, 4×4 cells of 48 px"),
        "an observation": (atlas.step(ak.Expand(1)), "observation of <view of"),
        "a sheet": (answered.sheet, f"evidence: {len(answered.evidence)}"),
        "Budget": (ak.Budget(calls=3), "calls=3"),
        "Oracle": (aw.Oracle(world, miss=0.2), "miss=0.2"),
        "Question": (question, "choice, 3 choices"),
        "Result": (replace(answered, question=replace(question, choices=("a", *LONG)), prediction=0), "A: a"),
        "Trace": (answered.trace, f"{len(answered.trace)} events"),
        "World": (world, "AtlasWorld 5: 600 s"),
    }


def test_a_repr_is_one_short_line_that_informs(examples: dict[str, tuple[Any, str]]) -> None:
    for value, part in examples.values():
        text = repr(value)
        assert part in text and len(text) <= MAX_CHARS and text.isprintable(), text
        assert KEY not in text and " object at 0x" not in text
