"""`python -m atlaskit cache …`, as typed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from atlaskit.__main__ import main
from atlaskit.agents.search import ask
from atlaskit.benchmarks.atlasworld import Oracle, World
from atlaskit.caching.cache import Cache
from atlaskit.caching.keys import recipe_key


@pytest.fixture
def asked(film: World, in_tmp: Path) -> Path:
    """A working directory with a cache, and the result of the run that filled it."""
    result = ask(film.video, film.questions[0], vlm=Oracle(film), k=4, cell=32, cache=Cache("cache"))
    result.save("result.json")
    result.sheet.jpeg()
    return in_tmp


def said(capsys: pytest.CaptureFixture[str], *arguments: str, status: int = 0) -> str:
    assert main(["cache", *arguments]) == status
    out, err = capsys.readouterr()
    return out + err


def test_stats_tell_of_each_kind(asked: Path, capsys: pytest.CaptureFixture[str]) -> None:
    head, *rows = said(capsys, "stats").splitlines()
    assert head.split() == ["kind", "entries", "MB", "corrupt", "evicted"]
    assert {row.split()[0] for row in rows} >= {"reply", "tile", "sheet", "run", "video"}


def test_verify_tells_what_was_damaged_once(asked: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "entries, none damaged" in said(capsys, "verify")
    cache = Cache("cache")
    cache.put("still:1:0", b"x" * 50_000)
    big = max((asked / "cache" / "entries").rglob("*.val"), key=os.path.getsize)
    big.write_bytes(big.read_bytes()[:-1])
    assert "1 still damaged and dropped" in said(capsys, "verify", status=1)
    assert "none damaged" in said(capsys, "verify")


def test_prune_spares_what_was_paid_for(asked: Path, capsys: pytest.CaptureFixture[str]) -> None:
    replies = Cache("cache").stats()["reply"]["entries"]
    assert said(capsys, "prune") == "nothing to remove\n"
    Cache("cache").put(recipe_key("view", 1, old=True), b"old")
    assert "1 view removed" in said(capsys, "prune")
    assert said(capsys, "prune", "--older-than", "1") == "nothing to remove\n"
    assert said(capsys, "prune", "--to", "1000") == "nothing to remove\n"
    assert "tile removed" in said(capsys, "prune", "--to", "0")
    assert Cache("cache").stats()["reply"]["entries"] == replies
    assert f"{replies} reply removed" in said(capsys, "prune", "--kind", "reply")


def test_a_run_is_carried_over(asked: Path, film: World, capsys: pytest.CaptureFixture[str]) -> None:
    assert "reply packed" in said(capsys, "export", "run.zip", "--run", "result.json", "--images")
    assert "new entries" in said(capsys, "import", "run.zip", "--cache", "other")
    assert "run.zip: 0 new entries" in said(capsys, "import", "run.zip", "--cache", "other")
    options = {"k": 4, "cell": 32, "replay": True, "cache": Cache("other")}
    result = ask(film.video, film.questions[0], vlm=Oracle(film), **options)
    assert result.to_json() + "\n" == (asked / "result.json").read_text()


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["stats", "--cache", "nowhere"], "There is no cache in nowhere"),
        (["stats", "--cache", "result.json"], "There is no cache in result.json"),
        (["verify", "--cache", "nowhere"], "There is no cache in nowhere"),
        (["prune", "--older-than", "-1"], "must be a number of at least 0"),
        (["prune", "--to", "nan"], "must be a number of at least 0"),
        (["export", "nowhere/x.zip"], "cannot be written"),
        (["export", "x.zip", "--run", "none.json"], "cannot be read"),
        (["export", "x.zip", "--run", "cache/entries/cache.db"], "not valid JSON"),
        (["import", "none.zip"], "cannot be read as a recording"),
        (["import", "result.json"], "cannot be read as a recording"),
    ],
)
def test_a_mistake_is_one_sentence(
    asked: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], sentence: str
) -> None:
    told = said(capsys, *arguments, status=2)
    assert sentence in told and told.startswith("atlaskit: ") and told.count("\n") == 1
    assert not Path("nowhere").exists()
