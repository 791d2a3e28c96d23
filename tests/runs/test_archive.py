"""Recordings: a run in one file, made again elsewhere, and what a stranger's file may hold."""

from __future__ import annotations

import io
import json
import random
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.model_doubles import Babbler, Counting, Flaky, Looking

import atlaskit as ak
from atlaskit.agents.search import ask
from atlaskit.benchmarks.atlasworld import Oracle, World
from atlaskit.caching.cache import Cache
from atlaskit.caching.keys import VERSIONS, kind_of, served_key
from atlaskit.errors import CacheError, InputError, VideoError
from atlaskit.runs.archive import HEAD, export, import_
from atlaskit.runs.result import Result
from atlaskit.video.opening import open_video
from atlaskit.video.subtitles import Line, Subtitles

OPTIONS: dict[str, Any] = {"k": 4, "cell": 32, "workers": 3}


@pytest.fixture(scope="module")
def recorded(film: World, tmp_path_factory: pytest.TempPathFactory) -> tuple[Result, Cache]:
    """A run about a film with subtitles, sampled at keyframes, and the cache that it was made with."""
    cache = Cache(tmp_path_factory.mktemp("recorded"))
    model = Looking(Oracle(film, miss=0.2))
    return ask(film.video, film.questions[0], vlm=model, sampling="keyframe", cache=cache, **OPTIONS), cache


def replayed(result: Result, film: World, cache: Cache, sampling: Any = "keyframe") -> Result:
    """The run made again out of a cache, of its video only what is in there."""
    video = open_video(fingerprint=result.settings["video"], cache=cache)
    model = Counting(Oracle(film, miss=0.2))
    again = ask(video, result.question, vlm=model, sampling=sampling, replay=True, cache=cache, **OPTIONS)
    assert model.calls == [] and again.spent.calls == again.spent.frames_decoded == 0
    return again


def test_a_run_is_made_again_from_its_recording(recorded: tuple[Result, Cache], film: World, tmp_path: Path) -> None:
    result, cache = recorded
    packed = export(tmp_path / "run.zip", result, cache=cache)
    assert packed["reply"] == len({entry.key for entry in cache.entries() if kind_of(entry.key) == "reply"})
    assert {"view", "tile", "sheet", "still"}.isdisjoint(packed)
    other = Cache(tmp_path / "other")
    assert import_(tmp_path / "run.zip", cache=other) == packed
    again = replayed(result, film, other)
    assert again.to_json() == result.to_json()
    with pytest.raises(VideoError, match="needed that is not in the cache"):
        again.sheet.jpeg()
    assert sum(import_(tmp_path / "run.zip", cache=other).values()) == 0


def test_with_images_every_picture_of_the_run_is_there(
    recorded: tuple[Result, Cache], film: World, tmp_path: Path
) -> None:
    result, cache = recorded
    packed = export(tmp_path / "run.zip", result, images=True, cache=cache)
    assert packed["view"] and packed["sheet"]
    other = Cache(tmp_path / "other")
    import_(tmp_path / "run.zip", cache=other)
    again = replayed(result, film, other)
    shown = list(ak.replay.pictures(again.trace, again.sheet.video, other))
    theirs = [each.picture.jpeg() for each in ak.replay.pictures(result.trace, film.video, cache)]
    assert shown and [each.picture.jpeg() for each in shown] == theirs


def test_a_run_is_named_by_its_result_its_trace_or_their_files(
    recorded: tuple[Result, Cache], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    result, cache = recorded
    result.save(tmp_path / "result.json")
    result.trace.save(tmp_path / "trace.jsonl")
    runs = [result, result.trace, tmp_path / "result.json", str(tmp_path / "trace.jsonl"), [result, result.trace]]
    files = []
    for number, run in enumerate(runs):
        export(tmp_path / f"{number}.zip", run, cache=cache)
        files.append((tmp_path / f"{number}.zip").read_bytes())
    assert len(set(files)) == 1  # byte for byte
    assert ak.cache.export is export and ak.cache.import_ is import_


def test_without_a_run_everything_that_was_paid_for_is_packed(
    recorded: tuple[Result, Cache], film: World, tmp_path: Path
) -> None:
    result, cache = recorded
    export(tmp_path / "all.zip", cache=cache)
    other = Cache(tmp_path / "other")
    import_(tmp_path / "all.zip", cache=other)
    assert replayed(result, film, other).to_json() == result.to_json()
    cache.put_json(served_key("http://127.0.0.1:8000/v1"), "a model")  # is this machine's own
    packed = export(tmp_path / "images.zip", images=True, cache=cache)
    assert packed["tile"] and "served" not in packed
    assert import_(tmp_path / "images.zip", cache=Cache(tmp_path / "third")) == packed


def test_two_recordings_are_merged_and_what_was_there_stays(film: World, tmp_path: Path) -> None:
    results = []
    for number in range(2):
        cache = Cache(tmp_path / str(number))
        results.append(ask(film.video, film.questions[number], vlm=Oracle(film), cache=cache, **OPTIONS))
        export(tmp_path / f"{number}.zip", results[-1], cache=cache)
    both = Cache(tmp_path / "both")
    own = next(entry.key for entry in Cache(tmp_path / "0").entries() if kind_of(entry.key) == "reply")
    both.put(own, b"my own")
    for number in range(2):
        import_(tmp_path / f"{number}.zip", cache=both)
    assert both.get(own) == b"my own"
    both.prune(is_wanted=lambda key: key != own)
    import_(tmp_path / "0.zip", cache=both)
    for result in results:
        again = ask(film.video, result.question, vlm=Oracle(film), replay=True, cache=both, **OPTIONS)
        assert again.to_json() == result.to_json()
    export(tmp_path / "both.zip", results, cache=both)


def test_a_replay_does_not_shorten_the_list_of_what_a_run_needs(film: World, tmp_path: Path) -> None:
    cache = Cache(tmp_path / "cache")
    question, options = film.questions[0], {**OPTIONS, "vlm": Oracle(film), "cache": cache}
    first = export(tmp_path / "1.zip", ask(film.video, question, **options), cache=cache)
    assert export(tmp_path / "2.zip", ask(film.video, question, **options), cache=cache) == first


def test_what_cannot_be_exported_is_one_sentence(recorded: tuple[Result, Cache], tmp_path: Path) -> None:
    result, cache = recorded
    with pytest.raises(CacheError, match="does not know this run"):
        export(tmp_path / "x.zip", result, cache=Cache(tmp_path / "other"))
    with pytest.raises(CacheError, match="cannot be written"):
        export(tmp_path / "nowhere" / "x.zip", result, cache=cache)
    for unwritable in (tmp_path / ("x" * 300), tmp_path):
        with pytest.raises(CacheError, match="cannot be written"):
            export(unwritable, result, cache=cache)
    with pytest.raises(InputError, match="cannot be read"):
        export(tmp_path / "x.zip", tmp_path / "none.json", cache=cache)
    (tmp_path / "letter.json").write_text("Dear reader")
    with pytest.raises(InputError, match="is no JSON"):
        export(tmp_path / "x.zip", tmp_path / "letter.json", cache=cache)
    (tmp_path / "result.json").write_text(json.dumps({"atlaskit_result": 3, "trace": [{"kind": "start"}]}))
    with pytest.raises(InputError, match="no event of atlaskit"):
        export(tmp_path / "x.zip", tmp_path / "result.json", cache=cache)
    assert not [path for path in tmp_path.iterdir() if "zip" in path.name or "part" in path.name]


def test_a_run_of_which_something_was_pruned_is_not_exported_by_halves(film: World, tmp_path: Path) -> None:
    cache = Cache(tmp_path / "cache")
    result = ask(film.video, film.questions[0], vlm=Oracle(film), cache=cache, **OPTIONS)
    gone = next(entry.key for entry in cache.entries() if kind_of(entry.key) == "reply")
    cache.prune(is_wanted=lambda key: key != gone)
    with pytest.raises(CacheError, match="not hold all that this run needs.*1 of kind 'reply'"):
        export(tmp_path / "x.zip", result, cache=cache)


def members(path: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as file:
        return {name: file.read(name) for name in file.namelist()}


def first(kind: str, packed: dict[str, bytes]) -> str:
    return next(name for name in packed if name.startswith(f"{kind}/"))


def renamed(packed: dict[str, bytes], old: str, new: str) -> dict[str, bytes]:
    return {new if name == old else name: value for name, value in packed.items()}


def with_content(kind: str, value: bytes) -> Callable[[dict[str, bytes]], dict[str, bytes]]:
    return lambda packed: {**packed, first(kind, packed): value}


def bomb() -> bytes:
    """A small JPEG that claims to be 60,000 pixels wide and high."""
    buffer = io.BytesIO()
    ak.view(ak.benchmarks.atlasworld(1, 10).drawn, k=2, cell=16, cache=Cache(None)).image.save(buffer, "JPEG")
    data = bytearray(buffer.getvalue())
    place = data.index(b"\xff\xc0")
    data[place + 5 : place + 9] = (60_000).to_bytes(2, "big") * 2
    return bytes(data)


HOSTILE: dict[str, Callable[[dict[str, bytes]], dict[str, bytes]]] = {
    "no head": lambda packed: {name: value for name, value in packed.items() if name != HEAD},
    "another version": lambda packed: {**packed, HEAD: b'{"atlaskit_recording":99}'},
    "a head that says more": lambda packed: {**packed, HEAD: b'{"atlaskit_recording":1,"run":"rm"}'},
    "a way out": lambda packed: renamed(packed, first("reply", packed), "../../evil.json"),
    "an absolute path": lambda packed: renamed(packed, first("reply", packed), "/etc/passwd"),
    "an unknown kind": lambda packed: renamed(packed, first("reply", packed), f"virus/1/{'0' * 64}.json"),
    "a served model": lambda packed: {**packed, f"served/1/{'0' * 64}.json": b"[]"},
    "an old version": lambda packed: renamed(packed, first("reply", packed), f"reply/1/{'0' * 64}.json"),
    "an image as JSON": lambda packed: renamed(packed, first("view", packed), first("view", packed)[:-3] + "json"),
    "a pickle": with_content("reply", b"\x80\x04\x95\x1a\x00\x00\x00"),
    "a reply of another form": with_content("reply", b'{"text":1,"usage":{},"reasoning":""}'),
    "a reply with more in it": with_content("reply", b'{"text":"","usage":{},"reasoning":"","run":1}'),
    "a deep reply": with_content("reply", b"[" * 100_000),
    "no image": with_content("view", b"GIF89a"),
    "half an image": lambda packed: {**packed, first("view", packed): packed[first("view", packed)][:2000]},
    "an image that would fill the memory": with_content("view", bomb()),
    "facts that cannot be": with_content("video", b'{"name":"","duration_s":-1,"fps":1,"size":[1,1],"parts":[]}'),
    "lines of another name": with_content("lines", b'[[0.0,1.0,"other words"]]'),
    "a failure of no kind": lambda packed: {**packed, f"failure/1/{'0' * 64}.json": b'{"kind":"SystemExit"}'},
    "a number of other digits": lambda packed: renamed(packed, first("reply", packed), f"reply/٣/{'0' * 64}.json"),
    "a number with zeros": lambda packed: renamed(packed, first("reply", packed), f"reply/0003/{'0' * 64}.json"),
    "lines that are none": with_content("lines", b'[["a","b","c"]]'),
    "a list of other things": with_content("run", b'["../../evil"]'),
    "a readable maybe": with_content("readable", b"2"),
    "lines of no name": with_content("asked", b'"../x"'),
    "moments of no kind": with_content("moments", b"{}"),
}


@pytest.fixture(scope="module")
def packed(recorded: tuple[Result, Cache], tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    path = tmp_path_factory.mktemp("packed") / "run.zip"
    export(path, recorded[0], images=True, cache=recorded[1])
    return members(path)


@pytest.mark.parametrize("name", HOSTILE)
def test_nothing_of_a_hostile_recording_is_merged(packed: dict[str, bytes], tmp_path: Path, name: str) -> None:
    with zipfile.ZipFile(tmp_path / "run.zip", "w") as file:
        for member, value in HOSTILE[name](packed).items():
            file.writestr(member, value)
    cache = Cache(tmp_path / "cache")
    with pytest.raises(CacheError, match=r"run\.zip") as caught:
        import_(tmp_path / "run.zip", cache=cache)
    assert "\n" not in str(caught.value)
    assert list(cache.entries()) == [] and not (tmp_path.parent / "evil.json").exists()


def test_an_entry_twice_is_refused(packed: dict[str, bytes], tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "run.zip", "w") as file, pytest.warns(UserWarning, match="Duplicate"):
        for member, value in [*packed.items(), *list(packed.items())[1:2]]:
            file.writestr(member, value)
    with pytest.raises(CacheError, match="twice"):
        import_(tmp_path / "run.zip", cache=Cache(tmp_path / "cache"))


def test_a_member_that_unpacks_without_end_is_refused(packed: dict[str, bytes], tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "run.zip", "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr(HEAD, packed[HEAD])
        with file.open(f"reply/{VERSIONS['reply']}/{'0' * 64}.json", "w") as member:
            for _ in range(80):
                member.write(b" " * 2**20)
    assert (tmp_path / "run.zip").stat().st_size < 2**20
    with pytest.raises(CacheError, match="would unpack from"):
        import_(tmp_path / "run.zip", cache=Cache(tmp_path / "cache"))


def test_a_member_that_is_too_large_is_refused(packed: dict[str, bytes], tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "run.zip", "w") as file:
        file.writestr(HEAD, packed[HEAD])
        file.writestr(f"reply/{VERSIONS['reply']}/{'0' * 64}.json", b" " * (17 << 20))
    with pytest.raises(CacheError, match="larger than"):
        import_(tmp_path / "run.zip", cache=Cache(None))


@pytest.mark.parametrize("packing", [zipfile.ZIP_LZMA, zipfile.ZIP_BZIP2])
def test_another_packing_is_refused(packed: dict[str, bytes], tmp_path: Path, packing: int) -> None:
    with zipfile.ZipFile(tmp_path / "run.zip", "w", packing) as file:
        for member, value in packed.items():
            file.writestr(member, value)
    with pytest.raises(CacheError, match="packed otherwise"):
        import_(tmp_path / "run.zip", cache=Cache(None))


@pytest.mark.parametrize("packing", [zipfile.ZIP_LZMA, zipfile.ZIP_BZIP2])
def test_a_damaged_head_of_another_packing_is_refused_unread(tmp_path: Path, packing: int) -> None:
    with zipfile.ZipFile(tmp_path / "run.zip", "w", packing) as file:
        file.writestr(HEAD, b'{"atlaskit_recording":1}')
    data = bytearray((tmp_path / "run.zip").read_bytes())
    place = 30 + len(HEAD) + 4  # where its content says how it is packed
    data[place : place + 8] = b"\xff" * 8
    (tmp_path / "run.zip").write_bytes(data)
    with pytest.raises(CacheError, match="packed otherwise"):
        import_(tmp_path / "run.zip", cache=Cache(None))


def test_each_of_two_runs_that_differ_in_subtitles_is_exported(film: World, tmp_path: Path) -> None:
    cache, results = Cache(tmp_path / "cache"), []
    path = film.video.path  # type: ignore[attr-defined]
    for text in ("a red circle, they say", "a blue square, they say"):
        video = open_video(path, Subtitles((Line(0.0, 120.0, text),)))
        options = {**OPTIONS, "budget": ak.Budget(calls=30), "cache": cache}
        results.append(ask(video, film.questions[0], vlm=Babbler(), **options))
    for number, result in enumerate(results):
        export(tmp_path / f"{number}.zip", result, cache=cache)
        other = Cache(tmp_path / f"other{number}")
        import_(tmp_path / f"{number}.zip", cache=other)
        gone = open_video(fingerprint=result.settings["video"], cache=other)
        options = {**OPTIONS, "budget": ak.Budget(calls=30), "cache": other}
        again = ask(gone, film.questions[0], vlm=Babbler(), replay=True, **options)
        assert again.to_json() == result.to_json()


def test_a_run_that_was_asked_again_since_is_not_exported_as_it_is_now(film: World, tmp_path: Path) -> None:
    cache, question = Cache(tmp_path / "cache"), film.questions[0]
    options = {**OPTIONS, "cache": cache, "budget": ak.Budget(calls=30)}
    first = ask(film.video, question, vlm=Babbler(1), **options)
    other = Babbler(2)
    other.parameters = {"seed": 1}  # as a model with a temperature: the same in name, and of another opinion
    second = ask(film.video, question, vlm=other, refresh=True, **options)
    assert first.to_json() != second.to_json()
    with pytest.raises(CacheError, match="any more"):
        export(tmp_path / "run.zip", first, cache=cache)
    export(tmp_path / "run.zip", second, cache=cache)


def test_a_run_in_which_calls_failed_is_replayed_with_its_failures(film: World, tmp_path: Path) -> None:
    cache, question = Cache(tmp_path / "cache"), film.questions[0]
    flaky = Flaky(Oracle(film, miss=0.2), 0.4, steps=("step", "review", "probe"))
    result = ask(film.video, question, vlm=flaky, cache=cache, **OPTIONS)
    assert flaky.failed and result.trace.of("failure")
    export(tmp_path / "run.zip", result, cache=cache)
    other = Cache(tmp_path / "other")
    import_(tmp_path / "run.zip", cache=other)
    assert replayed(result, film, other, sampling="midpoint").to_json() == result.to_json()
    sound = ask(film.video, question, vlm=Oracle(film, miss=0.2), cache=other, **OPTIONS)
    assert not sound.trace.of("failure")  # for what failed was asked again


def test_any_damage_is_told_and_nothing_is_merged(recorded: tuple[Result, Cache], tmp_path: Path) -> None:
    result, cache = recorded
    export(tmp_path / "run.zip", result, cache=cache)
    whole, rng = (tmp_path / "run.zip").read_bytes(), random.Random(0)
    told = 0
    for number in range(150):
        data = bytearray(whole)
        if number % 3:
            data[rng.randrange(len(data))] ^= rng.randrange(1, 256)
        else:
            del data[rng.randrange(len(data)) :]
        (tmp_path / "run.zip").write_bytes(data)
        other = Cache(None)
        try:
            import_(tmp_path / "run.zip", cache=other)
        except CacheError as error:
            told += 1
            assert "\n" not in str(error) and list(other.entries()) == []
        else:  # a byte that says nothing of the content, such as a time
            assert all(other.get(entry.key) == cache.get(entry.key) for entry in other.entries())
    assert told > 75


@pytest.mark.parametrize("what", ["none.zip", ".", "letter.zip"])
def test_what_is_no_recording_is_one_sentence(tmp_path: Path, what: str) -> None:
    (tmp_path / "letter.zip").write_text("Dear reader")
    with pytest.raises(CacheError, match="cannot be read as a recording"):
        import_(tmp_path / what, cache=Cache(None))


def test_nonsense_runs_are_made_again_too(world: World, tmp_path: Path) -> None:
    for seed in range(6):
        cache, other = Cache(tmp_path / f"{seed}"), Cache(tmp_path / f"{seed}-other")
        question = world.questions[seed]
        result = ask(world.drawn, question, vlm=Babbler(seed), cache=cache, budget=ak.Budget(calls=40), **OPTIONS)
        export(tmp_path / "run.zip", result, cache=cache)
        import_(tmp_path / "run.zip", cache=other)
        gone = open_video(fingerprint=world.drawn.fingerprint, cache=other)
        model = Babbler(seed)
        again = ask(gone, question, vlm=model, replay=True, cache=other, budget=ak.Budget(calls=40), **OPTIONS)
        assert again.to_json() == result.to_json()
