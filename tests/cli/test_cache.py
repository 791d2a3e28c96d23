"""The commands of `atlaskit cache`."""

import os
import time
from pathlib import Path

import pytest
from cli.conftest import Shell
from support.asking import ask

from atlaskit.caching.cache import Cache
from atlaskit.caching.keys import recipe_key
from atlaskit.cli.cache import COPIES
from atlasworld import Oracle, World


@pytest.fixture
def cache(film: World, shell: Shell) -> Cache:
    """The cache of the working directory, with what one run left in it."""
    cache = Cache("cache")
    result = ask(film.video, film.questions[0], vlm=Oracle(film), k=4, cell=32, cache=cache)
    result.save("result.json")
    result.sheet.jpeg()
    return cache


def test_verify_drops_a_damaged_entry_and_reports_it_once(cache: Cache, shell: Shell) -> None:
    assert "entries, none damaged" in shell("cache verify")
    cache.put("still:1:0", b"x" * 50_000)
    largest = max(Path("cache/entries").rglob("*.val"), key=os.path.getsize)
    largest.write_bytes(largest.read_bytes()[:-1])
    assert "1 still damaged and dropped" in shell("cache verify", status=1)
    assert "none damaged" in shell("cache verify")


def test_prune_spares_replies_unless_asked_for_them(cache: Cache, shell: Shell) -> None:
    replies = cache.stats()["reply"]["entries"]
    assert shell("cache prune") == "nothing to remove\n"
    cache.put(recipe_key("view", 1, old=True), b"old")
    assert "1 view removed" in shell("cache prune")
    assert shell("cache prune --older-than 1") == "nothing to remove\n"
    assert shell("cache prune --to 1000") == "nothing to remove\n"
    assert "tile removed" in shell("cache prune --to 0")
    assert cache.stats()["reply"]["entries"] == replies
    assert f"{replies} reply removed" in shell("cache prune --kind reply")


def test_prune_removes_old_streams_and_the_oldest_first(cache: Cache, shell: Shell) -> None:
    streams = Path("cache/streams")
    streams.mkdir(exist_ok=True)
    for days in (1, 2, 40):
        path = streams / f"{days}.packets"
        path.write_bytes(b"x" * 1_000_000)
        os.utime(path, (time.time() - days * 86400,) * 2)
    assert f"1 {COPIES} removed" in shell(f"cache prune --kind {COPIES} --older-than 30")
    assert f"1 {COPIES} removed" in shell(f"cache prune --kind {COPIES} --to 1")
    assert [path.name for path in streams.glob("*.packets")] == ["1.packets"]
    assert f"1 {COPIES} removed" in shell(f"cache prune --kind {COPIES}")


def test_the_runs_since_a_time_are_exported(cache: Cache, shell: Shell) -> None:
    assert "reply packed" in shell("cache export all.jsonl.xz --since 2026-01-01T00:00")
    assert "new entries" in shell("cache import all.jsonl.xz --cache other")
    assert "no run that was made since" in shell("cache export none.jsonl.xz --since 2126-01-01", status=2)
    assert not Path("none.jsonl.xz").exists()
    assert "'yesterday' is not a time such as" in shell("cache export x.jsonl.xz --since yesterday", status=2)
    shell("cache export x.jsonl.xz --since 2026-01-01 --run result.json", status=2)
