"""Wrong arguments of models, benchmarks, methods and tables: each is one sentence about it."""

from collections.abc import Callable
from dataclasses import replace

import pandas as pd
import pytest
from support.asking import by_workers, evaluate

import atlaskit as ak
import atlasworld as aw
from atlaskit.benchmarks.case import Benchmark
from atlaskit.environment.grid import Grid
from atlaskit.errors import InputError
from atlaskit.evaluation.intervals import interval
from atlaskit.evaluation.scaling import Delayed, speedup
from atlaskit.evaluation.tables import shard
from atlaskit.models.prices import read_prices
from atlasworld.generator import write_script

URL = "http://127.0.0.1:9/v1"
ROW = {"method": "m", "video": "v", "fingerprint": "f", "id": "1", "calls": 1, "tokens": 9, "video_calls": 0}
ROWS = pd.DataFrame([{**ROW, "video_tokens": 0, "seconds": 2.0, "right": True, "score": 1.0}])


@pytest.fixture(scope="module")
def world() -> aw.World:
    return aw.world(1, 60, questions=2, size=(160, 90))


MISTAKES: list[tuple[Callable[[aw.World], object], str]] = [
    (lambda world: aw.world(0, 36_001), "must be 10 to 36000 s"),
    (lambda world: aw.world(questions=0), "questions must be at least 1"),
    (lambda world: aw.world(0, 1190, clip_s=150), "at least 8 clips of 150 s, 1200 s in all"),
    (lambda world: aw.world(1, 600, anomaly=True, categories=["S2O"]), "leave `categories` out"),
    (lambda world: aw.world(1, 10, anomaly=True), "An anomaly needs at least 4 objects"),
    (lambda world: ak.ask(world.drawn, world.questions[0].text, ["x", "y"], vlm=aw.Oracle(world)), "as its world"),
    (lambda world: write_script(0, 60, fps=12.5), "12.5"),  # type: ignore[arg-type]
    (lambda world: ak.benchmarks.ten_hour([], duration_s=600), "at least one case; got none"),
    (lambda world: Benchmark("b", world.cases()).where(seed=7), "No question of b matches"),
    (lambda world: shard(Benchmark("b", world.cases()), 4, 3), "hard"),
    (lambda world: Delayed(aw.Oracle(world), -0.1), "must be a number of seconds"),
    (lambda world: speedup(pd.DataFrame({"workers": [1]})), "lacks the column"),
    (lambda world: ak.statistics.comparison({"m": ROWS}), "no table of 'video-rlm' to compare with; there are m"),
    (lambda world: ak.statistics.comparison({"video-rlm": ROWS, "m": ROWS.assign(id="2")}), "the same questions"),
    (lambda world: evaluate(world.cases(), "uniform", vlm=aw.Oracle, frame=3), "no setting 'frame'; it has frames"),
    (lambda world: ak.evaluate(world.cases(), vlm=aw.Oracle, k=3), "video-rlm has no setting 'k'; it has .*search"),
    (lambda world: evaluate(world.cases(), vlm=aw.Oracle, prices={"prompt": 1}), "prices must be ak.Prices"),
    (lambda world: evaluate([], vlm=aw.Oracle), "no questions to ask"),
    (lambda world: evaluate(world.cases(), vlm=aw.Oracle, engine="dask"), "engine must be local or ray"),
    (lambda world: evaluate(world.cases(), vlm=aw.Oracle, engine="ray", cache=ak.Cache(None)), "must be on disk"),
    (lambda world: Grid(0, 1, 2).expand(4), "no cell 4"),
    (lambda world: Grid(0, 1, 2).parent(), "no parent"),
    (lambda world: Grid(0, 1, 2).cell_at(1.0), "outside"),
    (lambda world: Grid(0.0, 600.0, 4, (1,), shift=(2, 1)), "cannot be shifted by cells of depth 2"),
    (lambda world: evaluate(world.cases(), "guess", vlm=aw.Oracle), "method must be video-rlm"),
    (lambda world: evaluate([replace(world.cases()[0], world=None)], vlm=aw.Oracle), "about a world of its own"),
    (lambda world: by_workers(world.cases(), vlm=aw.Oracle, workers=[]), "one or more whole numbers"),
    (lambda world: ak.statistics.accuracy("rows.csv"), r"ak\.read_rows opens a file; got 'rows\.csv'"),  # type: ignore[arg-type]
    (lambda world: ak.benchmarks.published("egoschema"), "split must be lvbench, .*videomme-long"),  # type: ignore[arg-type]
    (lambda world: ak.statistics.exponent(ROWS.assign(duration_s=60.0)), "two or more durations"),
    (lambda world: interval([], []), "no rows"),
    (lambda world: interval([1.0], ["a"], level=95), "between 0 and 1"),
    (lambda world: ak.ASR("localhost:8000", "m"), "must begin with http"),
    (lambda world: ak.Embedder(URL, "m").embed(["a", " "]), "1 to [0-9]+ texts"),
    (lambda world: ak.VLM(URL, "m", in_flight=0), "in_flight must be a positive number"),
    (lambda world: ak.VLM(URL, "m", timeout_s="300"), "timeout_s must be a positive number; got .300."),  # type: ignore[arg-type]
    (lambda world: ak.VLM(URL, "m", extra_body={"messages": []}), "'messages': atlaskit sets it"),
    (lambda world: ak.VLM(URL, "m", thinking="no"), "thinking is True or False; got 'no'"),  # type: ignore[arg-type]
    (lambda world: ak.Dialect("mine", stream="no"), "stream is True or False"),  # type: ignore[arg-type]
    (lambda world: ak.ask(world.drawn, "?", vlm=aw.Oracle(world), subtitles="a.srt"), "subtitles is True or False"),  # type: ignore[arg-type]
    (lambda world: evaluate(world.cases(), vlm=aw.Oracle, scored="no"), "scored is True or False"),
    (lambda world: evaluate(world.cases(), "composite", vlm=aw.Oracle, replay=1), "replay is True or False; got 1"),
    (lambda world: ak.baselines.videotree(world.drawn, "?", vlm=aw.Oracle(world), grow="no"), "grow is True or False"),
    (lambda world: ak.benchmarks.charades(".", subtitles="no"), "subtitles is True or False"),  # type: ignore[arg-type]
    (lambda world: ak.Question("  ", ("a", "b")), "The question is empty"),
    (lambda world: ak.Question("What?", ("a", " ")), "A choice is empty"),
    (lambda world: ak.Question("What?", ("a",)), "two choices"),
    (lambda world: ak.Question("What?", ("a", "b"), "count"), "leave them out"),
    (lambda world: ak.Question("What?", (), "why"), "'why'"),  # type: ignore[arg-type]
    (lambda world: ak.Question("When?", kind="when", several="no"), "several is True or False"),  # type: ignore[arg-type]
    (lambda world: ak.Prices(prompt=-1, completion=1), "prompt must be a price in USD .*, from 0; got -1"),
    (lambda world: ak.Prices(prompt=1, completion=1, cached=2), "cached must be at most prompt, 1 USD; got 2"),
    (lambda world: ak.Prices(prompt=1, completion=1, cached=0.1, image=0.5), "image must be at least the discount"),
    (lambda world: read_prices("prompt=x,completion=1"), "holds no prices"),
    (lambda world: read_prices("prompt=1,completion=1,images=2"), "have the fields prompt, cached, completion, image"),
    (lambda world: ak.serve("some/model", tensor_parallel=0), "0"),
    (lambda world: ak.serve("some/model", arguments=["--api-key=x"]), "--api-key"),
]


@pytest.mark.parametrize(("mistake", "words"), MISTAKES, ids=[words for _, words in MISTAKES])
def test_a_mistake_is_one_sentence(world: aw.World, mistake: Callable[[aw.World], object], words: str) -> None:
    with pytest.raises(InputError, match=words) as caught:
        mistake(world)
    assert "\n" not in str(caught.value)
