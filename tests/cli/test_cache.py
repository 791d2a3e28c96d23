"""The commands of `atlaskit cache`."""

import os
import time
from pathlib import Path

import pytest
from support.asking import ask

from atlaskit.__main__ import main
from atlaskit.caching.cache import Cache
from atlaskit.caching.keys import KINDS, recipe_key
from atlaskit.cli.cache import COPIES
from atlaskit.viz.widgets.explorer.notes import notes_folder
from atlasworld import Oracle, World


@pytest.fixture
def run_folder(film: World, in_tmp: Path) -> Path:
    """A working directory with the cache and the result of one run."""
    result = ask(film.video, film.questions[0], vlm=Oracle(film), k=4, cell=32, cache=Cache("cache"))
    result.save("result.json")
    result.sheet.jpeg()
    return in_tmp


def output_of(capsys: pytest.CaptureFixture[str], *arguments: str, status: int = 0) -> str:
    """Run `atlaskit cache` with some arguments; return its output and error output."""
    assert main(["cache", *arguments]) == status
    out, err = capsys.readouterr()
    return out + err


def test_verify_drops_a_damaged_entry_and_reports_it_once(run_folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "entries, none damaged" in output_of(capsys, "verify")
    cache = Cache("cache")
    cache.put("still:1:0", b"x" * 50_000)
    largest = max((run_folder / "cache" / "entries").rglob("*.val"), key=os.path.getsize)
    largest.write_bytes(largest.read_bytes()[:-1])
    assert "1 still damaged and dropped" in output_of(capsys, "verify", status=1)
    assert "none damaged" in output_of(capsys, "verify")


def test_prune_spares_replies_unless_asked_for_them(run_folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    replies = Cache("cache").stats()["reply"]["entries"]
    assert output_of(capsys, "prune") == "nothing to remove\n"
    Cache("cache").put(recipe_key("view", 1, old=True), b"old")
    assert "1 view removed" in output_of(capsys, "prune")
    assert output_of(capsys, "prune", "--older-than", "1") == "nothing to remove\n"
    assert output_of(capsys, "prune", "--to", "1000") == "nothing to remove\n"
    assert "tile removed" in output_of(capsys, "prune", "--to", "0")
    assert Cache("cache").stats()["reply"]["entries"] == replies
    assert f"{replies} reply removed" in output_of(capsys, "prune", "--kind", "reply")


def test_prune_removes_old_streams_and_the_oldest_first(run_folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    streams = run_folder / "cache" / "streams"
    streams.mkdir(exist_ok=True)
    for days in (1, 2, 40):
        path = streams / f"{days}.packets"
        path.write_bytes(b"x" * 1_000_000)
        os.utime(path, (time.time() - days * 86400,) * 2)
    assert f"1 {COPIES} removed" in output_of(capsys, "prune", "--kind", COPIES, "--older-than", "30")
    assert f"1 {COPIES} removed" in output_of(capsys, "prune", "--kind", COPIES, "--to", "1")
    assert [path.name for path in streams.glob("*.packets")] == ["1.packets"]
    assert f"1 {COPIES} removed" in output_of(capsys, "prune", "--kind", COPIES)


def test_the_words_tell_what_is_paid_for_what_is_drawn_and_what_is_kept(
    run_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    told, stats = output_of(capsys, "stats"), Cache("cache").stats()
    drawn = sum(row["entries"] for kind, row in stats.items() if KINDS[kind].is_image)
    assert f"frames and sheets: {drawn:,} entries" in told
    assert "replies, and facts of videos" in told and "paid for again" in told and "drawn again" in told
    assert f"no command removes them: {notes_folder()}" in told and output_of(capsys).endswith(told)


def test_the_runs_since_a_time_are_exported(run_folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "reply packed" in output_of(capsys, "export", "all.jsonl.xz", "--since", "2026-01-01T00:00")
    assert "new entries" in output_of(capsys, "import", "all.jsonl.xz", "--cache", "other")
    assert "no run that was made since" in output_of(
        capsys, "export", "none.jsonl.xz", "--since", "2126-01-01", status=2
    )
    assert not Path("none.jsonl.xz").exists()
    for wrong in (["--since", "yesterday"], ["--since", "2026-01-01", "--run", "result.json"]):
        with pytest.raises(SystemExit):
            main(["cache", "export", "x.jsonl.xz", *wrong])
    assert "'yesterday' is not a time such as" in capsys.readouterr().err
