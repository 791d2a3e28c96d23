"""Recordings: a run in one file, replayed elsewhere, and files from untrusted sources."""

from __future__ import annotations

import io
import json
import lzma
import random
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.asking import ask
from support.model_doubles import Babbler, Counting, Flaky, Looking

import atlaskit as ak
from atlaskit.benchmarks.atlasworld import Oracle, World
from atlaskit.caching.cache import Cache
from atlaskit.caching.keys import KINDS, is_image, kind_of
from atlaskit.errors import CacheError, InputError, VideoError
from atlaskit.models.named import SERVED
from atlaskit.models.usage import Usage
from atlaskit.runs.archive import export, import_
from atlaskit.runs.recording import HEADER
from atlaskit.runs.result import Result
from atlaskit.video.opening import open_video
from atlaskit.video.subtitles import Line, Subtitles

OPTIONS: dict[str, Any] = {"k": 4, "cell": 32, "workers": 3}


@pytest.fixture(scope="module")
def recorded(film: World, tmp_path_factory: pytest.TempPathFactory) -> tuple[Result, Cache]:
    """A run on a video with subtitles, sampled at keyframes, and its cache."""
    cache = Cache(tmp_path_factory.mktemp("recorded"))
    model = Looking(Oracle(film, miss=0.2))
    return ask(film.video, film.questions[0], vlm=model, sampling="keyframe", cache=cache, **OPTIONS), cache


def replayed(result: Result, film: World, cache: Cache, sampling: Any = "keyframe") -> Result:
    """Replay a run from a cache, without the file of its video."""
    video = open_video(fingerprint=result.settings["video"], cache=cache)
    model = Counting(Oracle(film, miss=0.2))
    again = ask(video, result.question, vlm=model, sampling=sampling, replay=True, cache=cache, **OPTIONS)
    assert model.calls == [] and again.spent.calls == again.spent.frames_decoded == 0
    return again


def test_a_run_is_replayed_from_its_recording(recorded: tuple[Result, Cache], film: World, tmp_path: Path) -> None:
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


def test_with_images_a_recording_holds_every_image_of_the_run(
    recorded: tuple[Result, Cache], film: World, tmp_path: Path
) -> None:
    result, cache = recorded
    packed = export(tmp_path / "run.zip", result, images=True, cache=cache)
    assert packed["view"] and packed["sheet"]
    other = Cache(tmp_path / "other")
    import_(tmp_path / "run.zip", cache=other)
    again = replayed(result, film, other)
    shown = list(ak.replay.pictures(again.trace, again.sheet.video, other))
    originals = [each.picture.jpeg() for each in ak.replay.pictures(result.trace, film.video, cache)]
    assert shown and [each.picture.jpeg() for each in shown] == originals


def test_a_run_is_given_as_its_result_its_trace_or_a_saved_file(
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


def test_without_a_run_everything_but_images_is_packed(
    recorded: tuple[Result, Cache], film: World, tmp_path: Path
) -> None:
    result, cache = recorded
    export(tmp_path / "all.zip", cache=cache)
    other = Cache(tmp_path / "other")
    import_(tmp_path / "all.zip", cache=other)
    assert replayed(result, film, other).to_json() == result.to_json()
    cache.put_json(SERVED.key(address="http://127.0.0.1:8000/v1"), "a model")  # describes this machine only
    packed = export(tmp_path / "images.zip", images=True, cache=cache)
    assert packed["tile"] and "served" not in packed
    assert import_(tmp_path / "images.zip", cache=Cache(tmp_path / "third")) == packed


def test_merging_keeps_the_entries_of_the_cache(film: World, tmp_path: Path) -> None:
    results = []
    for number in range(2):
        cache = Cache(tmp_path / str(number))
        results.append(ask(film.video, film.questions[number], vlm=Oracle(film), cache=cache, **OPTIONS))
        export(tmp_path / f"{number}.zip", results[-1], cache=cache)
    both = Cache(tmp_path / "both")
    key = next(entry.key for entry in Cache(tmp_path / "0").entries() if kind_of(entry.key) == "reply")
    both.put(key, b"mine")
    for number in range(2):
        import_(tmp_path / f"{number}.zip", cache=both)
    assert both.get(key) == b"mine"
    both.prune(is_wanted=lambda entry: entry != key)
    import_(tmp_path / "0.zip", cache=both)
    for result in results:
        again = ask(film.video, result.question, vlm=Oracle(film), replay=True, cache=both, **OPTIONS)
        assert again.to_json() == result.to_json()
    export(tmp_path / "both.zip", results, cache=both)


def test_a_replay_does_not_shorten_the_manifest_of_a_run(film: World, tmp_path: Path) -> None:
    cache = Cache(tmp_path / "cache")
    question, options = film.questions[0], {**OPTIONS, "vlm": Oracle(film), "cache": cache}
    first = export(tmp_path / "1.zip", ask(film.video, question, **options), cache=cache)
    assert export(tmp_path / "2.zip", ask(film.video, question, **options), cache=cache) == first


def test_an_export_that_fails_is_one_sentence(recorded: tuple[Result, Cache], tmp_path: Path) -> None:
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
    (tmp_path / "text.json").write_text("Dear reader")
    with pytest.raises(InputError, match="is not valid JSON"):
        export(tmp_path / "x.zip", tmp_path / "text.json", cache=cache)
    (tmp_path / "result.json").write_text(json.dumps({"atlaskit_result": 3, "trace": [{"kind": "start"}]}))
    with pytest.raises(InputError, match="not an event of atlaskit"):
        export(tmp_path / "x.zip", tmp_path / "result.json", cache=cache)
    assert not [path for path in tmp_path.iterdir() if "zip" in path.name or "part" in path.name]


def test_a_run_with_a_pruned_entry_is_not_exported(film: World, tmp_path: Path) -> None:
    cache = Cache(tmp_path / "cache")
    result = ask(film.video, film.questions[0], vlm=Oracle(film), cache=cache, **OPTIONS)
    pruned = next(entry.key for entry in cache.entries() if kind_of(entry.key) == "reply")
    cache.prune(is_wanted=lambda key: key != pruned)
    with pytest.raises(CacheError, match="no longer holds all entries that this run needs.*1 of kind 'reply'"):
        export(tmp_path / "x.zip", result, cache=cache)


def old_members(cache: Cache) -> dict[str, bytes]:
    """Return the members of a recording of version 1: the header, and one for each entry."""
    members = {HEADER: b'{"atlaskit_recording":1}'}
    for key in sorted(entry.key for entry in cache.entries()):
        suffix = "jpg" if is_image(key) else "json"
        members[f"{key.replace(':', '/')}.{suffix}"] = cache.get(key) or b""
    return members


def first(kind: str, packed: dict[str, bytes]) -> str:
    return next(name for name in packed if name.startswith(f"{kind}/"))


def renamed(packed: dict[str, bytes], old: str, new: str) -> dict[str, bytes]:
    return {new if name == old else name: value for name, value in packed.items()}


def with_content(kind: str, value: bytes) -> Callable[[dict[str, bytes]], dict[str, bytes]]:
    return lambda packed: {**packed, first(kind, packed): value}


def huge_jpeg() -> bytes:
    """Return a small JPEG whose header claims 60,000 × 60,000 pixels."""
    buffer = io.BytesIO()
    ak.view(ak.benchmarks.atlasworld(1, 10).drawn, k=2, cell=16, cache=Cache(None)).image.save(buffer, "JPEG")
    data = bytearray(buffer.getvalue())
    start = data.index(b"\xff\xc0")
    data[start + 5 : start + 9] = (60_000).to_bytes(2, "big") * 2
    return bytes(data)


INVALID: dict[str, Callable[[dict[str, bytes]], dict[str, bytes]]] = {
    "no header": lambda packed: {name: value for name, value in packed.items() if name != HEADER},
    "another version": lambda packed: {**packed, HEADER: b'{"atlaskit_recording":99}'},
    "a header with more fields": lambda packed: {**packed, HEADER: b'{"atlaskit_recording":1,"run":"rm"}'},
    "a path outside the folder": lambda packed: renamed(packed, first("reply", packed), "../../evil.json"),
    "an absolute path": lambda packed: renamed(packed, first("reply", packed), "/etc/passwd"),
    "an unknown kind": lambda packed: renamed(packed, first("reply", packed), f"virus/1/{'0' * 64}.json"),
    "a served model": lambda packed: {**packed, f"served/1/{'0' * 64}.json": b"[]"},
    "an old version": lambda packed: renamed(packed, first("reply", packed), f"reply/1/{'0' * 64}.json"),
    "an image as JSON": lambda packed: renamed(packed, first("view", packed), first("view", packed)[:-3] + "json"),
    "a pickle": with_content("reply", b"\x80\x04\x95\x1a\x00\x00\x00"),
    "a reply of other types": with_content("reply", b'{"text":1,"usage":{},"reasoning":""}'),
    "a reply with another field": with_content("reply", b'{"text":"","usage":{},"reasoning":"","run":1}'),
    "a deeply nested reply": with_content("reply", b"[" * 100_000),
    "another image format": with_content("view", b"GIF89a"),
    "half an image": lambda packed: {**packed, first("view", packed): packed[first("view", packed)][:2000]},
    "an image that would exhaust the memory": with_content("view", huge_jpeg()),
    "impossible facts": with_content("video", b'{"name":"","duration_s":-1,"fps":1,"size":[1,1],"parts":[]}'),
    "lines under another hash": with_content("lines", b'[[0.0,1.0,"other words"]]'),
    "a failure of an unknown kind": lambda packed: {**packed, f"failure/1/{'0' * 64}.json": b'{"kind":"SystemExit"}'},
    "a version in other digits": lambda packed: renamed(packed, first("reply", packed), f"reply/٣/{'0' * 64}.json"),
    "a version with leading zeros": lambda packed: renamed(
        packed, first("reply", packed), f"reply/0003/{'0' * 64}.json"
    ),
    "lines of other types": with_content("lines", b'[["a","b","c"]]'),
    "a manifest that is a list": with_content("run", b'["../../evil"]'),
    "an invalid readable": with_content("readable", b"2"),
    "an invalid asked": with_content("asked", b'"../x"'),
    "moments that are not a list": with_content("moments", b"{}"),
}


@pytest.fixture(scope="module")
def packed(recorded: tuple[Result, Cache], tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    folder = tmp_path_factory.mktemp("packed")
    export(folder / "run.zip", recorded[0], images=True, cache=recorded[1])
    import_(folder / "run.zip", cache=Cache(folder / "cache"))
    return old_members(Cache(folder / "cache"))


def test_a_recording_of_version_1_is_imported(
    recorded: tuple[Result, Cache], film: World, packed: dict[str, bytes], tmp_path: Path
) -> None:
    with zipfile.ZipFile(tmp_path / "old.zip", "w", zipfile.ZIP_DEFLATED) as file:
        for member, value in packed.items():
            file.writestr(member, value)
    other = Cache(tmp_path / "other")
    assert sum(import_(tmp_path / "old.zip", cache=other).values()) == len(packed) - 1
    assert replayed(recorded[0], film, other).to_json() == recorded[0].to_json()


@pytest.mark.parametrize("name", INVALID)
def test_nothing_of_an_invalid_recording_is_merged(packed: dict[str, bytes], tmp_path: Path, name: str) -> None:
    with zipfile.ZipFile(tmp_path / "run.zip", "w") as file:
        for member, value in INVALID[name](packed).items():
            file.writestr(member, value)
    cache = Cache(tmp_path / "cache")
    with pytest.raises(CacheError, match=r"run\.zip") as caught:
        import_(tmp_path / "run.zip", cache=cache)
    assert "\n" not in str(caught.value)
    assert list(cache.entries()) == [] and not (tmp_path.parent / "evil.json").exists()


def test_a_duplicate_entry_is_refused(packed: dict[str, bytes], tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "run.zip", "w") as file, pytest.warns(UserWarning, match="Duplicate"):
        for member, value in [*packed.items(), *list(packed.items())[1:2]]:
            file.writestr(member, value)
    with pytest.raises(CacheError, match="twice"):
        import_(tmp_path / "run.zip", cache=Cache(tmp_path / "cache"))


def test_a_zip_bomb_is_refused(packed: dict[str, bytes], tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "run.zip", "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr(HEADER, packed[HEADER])
        with file.open(f"reply/{KINDS['reply'].version}/{'0' * 64}.json", "w") as member:
            for _ in range(80):
                member.write(b" " * 2**20)
    assert (tmp_path / "run.zip").stat().st_size < 2**20
    with pytest.raises(CacheError, match="would unpack from"):
        import_(tmp_path / "run.zip", cache=Cache(tmp_path / "cache"))


@pytest.mark.parametrize("compression", [zipfile.ZIP_LZMA, zipfile.ZIP_BZIP2])
def test_a_header_in_another_compression_is_refused_unread(tmp_path: Path, compression: int) -> None:
    with zipfile.ZipFile(tmp_path / "run.zip", "w", compression) as file:
        file.writestr(HEADER, b'{"atlaskit_recording":1}')
    data = bytearray((tmp_path / "run.zip").read_bytes())
    start = 30 + len(HEADER) + 4  # the compression parameters of its content
    data[start : start + 8] = b"\xff" * 8
    (tmp_path / "run.zip").write_bytes(data)
    with pytest.raises(CacheError, match="uses another compression"):
        import_(tmp_path / "run.zip", cache=Cache(None))


def test_runs_that_differ_only_in_subtitles_are_both_exported(film: World, tmp_path: Path) -> None:
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
        without_file = open_video(fingerprint=result.settings["video"], cache=other)
        options = {**OPTIONS, "budget": ak.Budget(calls=30), "cache": other}
        again = ask(without_file, film.questions[0], vlm=Babbler(), replay=True, **options)
        assert again.to_json() == result.to_json()


def test_a_run_whose_replies_were_replaced_is_not_exported(film: World, tmp_path: Path) -> None:
    cache, question = Cache(tmp_path / "cache"), film.questions[0]
    options = {**OPTIONS, "cache": cache, "budget": ak.Budget(calls=30)}
    first = ask(film.video, question, vlm=Babbler(1), **options)
    other = Babbler(2)
    other.parameters = {"seed": 1}  # like a model with a temperature: same name, other replies
    second = ask(film.video, question, vlm=other, **{**options, "cache": cache.refreshing()})
    assert first.to_json() != second.to_json()
    with pytest.raises(CacheError, match="no longer holds"):
        export(tmp_path / "run.zip", first, cache=cache)
    export(tmp_path / "run.zip", second, cache=cache)


def test_a_run_with_failed_calls_is_replayed_with_its_failures(film: World, tmp_path: Path) -> None:
    cache, question = Cache(tmp_path / "cache"), film.questions[0]
    flaky = Flaky(Oracle(film, miss=0.2), 0.4, steps=("step", "review", "probe"))
    result = ask(film.video, question, vlm=flaky, cache=cache, **OPTIONS)
    assert flaky.failed and result.trace.of("failure")
    export(tmp_path / "run.zip", result, cache=cache)
    other = Cache(tmp_path / "other")
    import_(tmp_path / "run.zip", cache=other)
    assert replayed(result, film, other, sampling="midpoint").to_json() == result.to_json()
    retried = ask(film.video, question, vlm=Oracle(film, miss=0.2), cache=other, **OPTIONS)
    assert not retried.trace.of("failure")  # the failed calls were made again


def test_any_damage_is_reported_and_nothing_is_merged(recorded: tuple[Result, Cache], tmp_path: Path) -> None:
    result, cache = recorded
    export(tmp_path / "run.zip", result, cache=cache)
    whole, rng = (tmp_path / "run.zip").read_bytes(), random.Random(0)
    refused = 0
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
            refused += 1
            assert "\n" not in str(error) and list(other.entries()) == []
        else:  # a byte that does not affect the content, such as a time
            assert all(other.get(entry.key) == cache.get(entry.key) for entry in other.entries())
    assert refused > 75


@pytest.mark.parametrize("name", ["none.zip", ".", "text.zip"])
def test_a_file_that_is_not_a_recording_is_one_sentence(tmp_path: Path, name: str) -> None:
    (tmp_path / "text.zip").write_text("Dear reader")
    with pytest.raises(CacheError, match="cannot be read as a recording"):
        import_(tmp_path / name, cache=Cache(None))


def write_parts(path: Path, **parts: bytes) -> None:
    """Write a recording of version 2 with these packs, by kind; text is compressed."""
    with zipfile.ZipFile(path, "w") as file:
        file.writestr(HEADER, b'{"atlaskit_recording":2}')
        for kind, part in parts.items():
            data = part if part[:6] == b"\xfd7zXZ\0" else lzma.compress(part)
            file.writestr(f"{kind}/{KINDS[kind].version}.jsonl.xz", data)


REPLY = b'{"reasoning":"","text":"{}","usage":%s}' % json.dumps(Usage(calls=1).to_json()).encode()
LINE = b'{"%s":%s}\n' % (b"ab" * 32, REPLY)
INVALID_PACKS: dict[str, dict[str, bytes]] = {
    "no object": {"reply": b"[]\n"},
    "a short hash": {"reply": b'{"abc":1}\n'},
    "two names": {"reply": b'{"%s":1,"%s":2}\n' % (b"ab" * 32, b"cd" * 32)},
    "no last line feed": {"reply": LINE[:-1]},
    "an entry twice": {"reply": LINE * 2},
    "images in a pack": {"view": LINE},
    "a model's address": {"served": b'{"%s":"x"}\n' % (b"ab" * 32)},
    "no stream": {"reply": b"\xfd7zXZ\0" + b"x" * 40},
    "half a stream": {"reply": lzma.compress(LINE)[:-20]},
    "something after the stream": {"reply": lzma.compress(LINE) + b"\0"},
    "two streams": {"reply": lzma.compress(LINE) * 2},
    "a dictionary of a gigabyte": {
        "reply": lzma.compress(LINE, filters=[{"id": lzma.FILTER_LZMA2, "dict_size": 1 << 30, "mode": lzma.MODE_FAST,
                                               "mf": lzma.MF_HC3, "nice_len": 8, "depth": 1}])
    },
    "an entry that is too large": {"reply": lzma.compress(b" " * (17 << 20))},
    "a bomb of lines": {"reply": lzma.compress(b'{"%s":1}\n' % (b"ab" * 32) + b"\n" * (64 << 20))},
}  # fmt: skip


@pytest.mark.parametrize("name", INVALID_PACKS)
def test_nothing_of_an_invalid_pack_is_merged(tmp_path: Path, name: str) -> None:
    write_parts(tmp_path / "run.zip", **INVALID_PACKS[name])
    cache = Cache(None)
    with pytest.raises(CacheError, match=r"run\.zip") as caught:
        import_(tmp_path / "run.zip", cache=cache)
    assert "\n" not in str(caught.value) and list(cache.entries()) == []


def test_a_pack_that_unpacks_to_too_much_is_refused(tmp_path: Path) -> None:
    lines = (b'{"%064x":%s}\n' % (number, REPLY + b" " * 4000) for number in range(6000))
    write_parts(tmp_path / "run.zip", reply=b"".join(lines))
    assert (tmp_path / "run.zip").stat().st_size < 200_000
    with pytest.raises(CacheError, match="unpacks to more than any recording does"):
        import_(tmp_path / "run.zip", cache=Cache(None))


def test_what_the_runs_since_a_moment_need_is_packed(film: World, tmp_path: Path) -> None:
    cache, moment_s = Cache(tmp_path / "cache"), 0.0
    options: dict[str, Any] = {**OPTIONS, "cache": cache}
    earlier, again, later = (film.questions[number] for number in (0, 1, 2))
    for question in (earlier, again):
        ask(film.video, question, vlm=Oracle(film, miss=0.2), **options)
    before = {entry.key for entry in cache.entries() if kind_of(entry.key) == "reply"}
    moment_s = max(entry.stored_s for entry in cache.entries())
    with pytest.raises(InputError, match="no run that was made since"):
        export(tmp_path / "none.zip", made_since_s=moment_s + 3600, cache=cache)
    results = [ask(film.video, question, vlm=Oracle(film, miss=0.2), **options) for question in (again, later)]
    packed = export(tmp_path / "since.zip", made_since_s=moment_s + 1e-6, cache=cache)
    other = Cache(tmp_path / "other")
    assert import_(tmp_path / "since.zip", cache=other) == packed and "run" not in packed
    for result in results:
        assert replayed(result, film, other, sampling="midpoint").to_json() == result.to_json()
    assert packed["reply"] < len(before | {e.key for e in cache.entries() if kind_of(e.key) == "reply"})
    export(tmp_path / "one.zip", results[1], cache=other)  # the replay has made the manifests again
    with pytest.raises(InputError, match="leave run and images out"):
        export(tmp_path / "x.zip", results[0], made_since_s=0.0, cache=cache)
    cache.prune(is_wanted=lambda key: kind_of(key) != "reply")
    with pytest.raises(CacheError, match="no longer holds all entries"):
        export(tmp_path / "x.zip", made_since_s=moment_s, cache=cache)


def test_an_entry_of_another_program_is_not_packed(tmp_path: Path) -> None:
    cache = Cache(None)
    cache.put(f"reply:{KINDS['reply'].version}:{'ab' * 32}", b"two\nlines")
    with pytest.raises(CacheError, match="not one of atlaskit"):
        export(tmp_path / "x.zip", cache=cache)
    assert list(tmp_path.iterdir()) == []
