"""Promise: what a video is prepared for is counted once, in tokens, seconds and USD."""

import math
from typing import Any

import pandas as pd
import pytest
from support.asking import evaluate

import atlaskit as ak
import atlasworld as aw
from atlaskit.benchmarks.case import Case
from atlaskit.errors import InputError


@pytest.fixture(scope="module")
def cases() -> tuple[Case, ...]:
    """Three questions about each of two worlds."""
    worlds = [aw.world(seed, 60, questions=3, size=(160, 90)) for seed in (1, 2)]
    return tuple(case for world in worlds for case in world.cases(drawn=True))


def row(**values: Any) -> dict[str, Any]:
    """Return a row of `evaluate` with the columns that costs need."""
    own = {"calls": 1, "tokens": 100, "video_calls": 0, "video_tokens": 0, "seconds": 2.0, "right": True, "score": 1.0}
    return {"method": "m", "video": "v", "fingerprint": "f", "id": "1", **own, **values}


def test_the_rows_tell_what_is_paid_once_a_video(cases: tuple[Case, ...], cache: ak.Cache) -> None:
    how: dict[str, Any] = {"vlm": ak.scaling.delayed(aw.Oracle, 0.01), "cache": cache, "progress": False}
    table = evaluate(cases, "retrieval", size=32, prices=ak.Prices(prompt=1, completion=4), **how)
    assert (table["video_calls"] == 6).all() and (table["calls"] == 7).all()
    assert (table["question_tokens"] + table["video_tokens"] == table["tokens"]).all()
    assert table["fingerprint"].nunique() == 2 and (table["video_usd"] < table["usd"]).all()
    paid = 1e-6 * (table["prompt_tokens"] + 4 * table["completion_tokens"])
    assert table["usd"].tolist() == pytest.approx(paid.tolist())
    assert table.attrs["prices"] == {"prompt": 1, "completion": 4}
    assert "usd" not in evaluate(cases, "blind", **how)
    (found,) = ak.statistics.costs(table).to_dict("records")
    once = table.drop_duplicates("fingerprint")
    assert (found["questions"], found["videos"], found["video_calls"], found["question_calls"]) == (6, 2, 6, 1)
    assert found["tokens"] == (table["question_tokens"].sum() + once["video_tokens"].sum()) / 6
    assert found["usd"] == pytest.approx(found["question_usd"] + found["video_usd"] / 3)
    assert found["image_tokens"] + found["text_tokens"] + found["completion_tokens"] == pytest.approx(found["tokens"])


def test_a_video_counts_once_whatever_its_questions_needed() -> None:
    rows = pd.DataFrame(
        [
            row(calls=11, video_calls=10, tokens=1100, video_tokens=1000, video_tags={"a": 1}),
            row(calls=6, video_calls=5, tokens=600, video_tokens=500, video_tags={}),  # its budget ended the clips
            row(fingerprint="g", calls=3, video_calls=2, tokens=300, video_tokens=200),
            row(fingerprint="", tokens=0, calls=0),  # failed before the video was open
        ]
    )
    (found,) = ak.statistics.costs(rows).to_dict("records")
    assert (found["videos"], found["video_calls"], found["video_tokens"]) == (2, 6, 600)
    assert (found["question_tokens"], found["tokens"]) == (75, (300 + 1200) / 4)
    both = pd.concat([rows, rows.assign(method="n")])
    assert ak.statistics.costs(both, "method")["tokens"].tolist() == [found["tokens"]] * 2
    with pytest.raises(InputError, match="There are no rows"):
        ak.statistics.costs(rows[:0])


def test_methods_stand_side_by_side(cases: tuple[Case, ...], cache: ak.Cache) -> None:
    how: dict[str, Any] = {"vlm": aw.Oracle, "cache": cache, "progress": False}
    tables = {"blind": evaluate(cases, "blind", **how), "retrieval": evaluate(cases, "retrieval", size=32, **how)}
    found = ak.statistics.comparison(tables, to="blind")
    assert found["method"].tolist() == list(tables) and (found["questions"] == 6).all() and "usd" not in found
    assert found["score"].tolist() == [rows["score"].mean() for rows in tables.values()]
    assert found["video_calls"].tolist() == [0, 6]
    told = found[["difference", "difference_low", "difference_high", "p"]].to_numpy().tolist()
    paired = ak.statistics.compare(tables["blind"], tables["retrieval"])
    assert all(map(math.isnan, told[0])) and told[1] == [paired.difference, paired.low, paired.high, paired.p]
    by_seed = ak.statistics.comparison(tables, to="blind", by="seed")
    assert by_seed[["method", "seed"]].to_numpy().tolist() == [[name, seed] for name in tables for seed in (1, 2)]
