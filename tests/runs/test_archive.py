"""Promises 7 and 11: a recording replays a run elsewhere, and a stranger's file runs nothing."""

import json
import lzma
import random
from pathlib import Path
from typing import Any

import pytest
from support.asking import ask
from support.model_doubles import Babbler, Counting, Flaky, Looking

import atlaskit as ak
from atlaskit.caching.cache import Cache
from atlaskit.caching.keys import KINDS, kind_of
from atlaskit.errors import CacheError, InputError, VideoError
from atlaskit.models.protocol import Usage
from atlaskit.models.serving.server import SERVED
from atlaskit.runs.archive import HEADER, export, import_
from atlaskit.runs.result import Result
from atlaskit.video.opening import open_video
from atlasworld import Oracle, World

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
    packed = export(tmp_path / "run.jsonl.xz", result, cache=cache)
    assert packed["reply"] == len({entry.key for entry in cache.entries() if kind_of(entry.key) == "reply"})
    assert {"view", "tile", "sheet", "still"}.isdisjoint(packed)
    other = Cache(tmp_path / "other")
    assert import_(tmp_path / "run.jsonl.xz", cache=other) == packed
    again = replayed(result, film, other)
    assert again.to_json() == result.to_json()
    with pytest.raises(VideoError, match="the cache does not"):
        again.sheet.jpeg()
    assert sum(import_(tmp_path / "run.jsonl.xz", cache=other).values()) == 0


def test_without_a_run_everything_but_images_is_packed(
    recorded: tuple[Result, Cache], film: World, tmp_path: Path
) -> None:
    result, cache = recorded
    export(tmp_path / "all.jsonl.xz", cache=cache)
    other = Cache(tmp_path / "other")
    import_(tmp_path / "all.jsonl.xz", cache=other)
    assert replayed(result, film, other).to_json() == result.to_json()
    cache.put_json(SERVED.key(address="http://127.0.0.1:8000/v1"), "a model")  # describes this machine only
    assert {"served", "tile", "view", "sheet"}.isdisjoint(export(tmp_path / "all.jsonl.xz", cache=cache))


def test_merging_keeps_the_entries_of_the_cache(film: World, tmp_path: Path) -> None:
    results = []
    for number in range(2):
        cache = Cache(tmp_path / str(number))
        results.append(ask(film.video, film.questions[number], vlm=Oracle(film), cache=cache, **OPTIONS))
        export(tmp_path / f"{number}.jsonl.xz", results[-1], cache=cache)
    both = Cache(tmp_path / "both")
    key = next(entry.key for entry in Cache(tmp_path / "0").entries() if kind_of(entry.key) == "reply")
    both.put(key, b"mine")
    for number in range(2):
        import_(tmp_path / f"{number}.jsonl.xz", cache=both)
    assert both.get(key) == b"mine"
    both.prune(is_wanted=lambda entry: entry != key)
    import_(tmp_path / "0.jsonl.xz", cache=both)
    for result in results:
        again = ask(film.video, result.question, vlm=Oracle(film), replay=True, cache=both, **OPTIONS)
        assert again.to_json() == result.to_json()
    export(tmp_path / "both.jsonl.xz", results, cache=both)


def test_an_export_that_fails_is_one_sentence(recorded: tuple[Result, Cache], tmp_path: Path) -> None:
    result, cache = recorded
    with pytest.raises(CacheError, match="does not know this run"):
        export(tmp_path / "x.jsonl.xz", result, cache=Cache(tmp_path / "other"))
    for unwritable in (tmp_path / "nowhere" / "x.jsonl.xz", tmp_path):
        with pytest.raises(CacheError, match="cannot be written"):
            export(unwritable, result, cache=cache)
    with pytest.raises(InputError, match="cannot be read"):
        export(tmp_path / "x.jsonl.xz", tmp_path / "none.json", cache=cache)
    (tmp_path / "text.json").write_text("Dear reader")
    with pytest.raises(InputError, match="is not valid JSON"):
        export(tmp_path / "x.jsonl.xz", tmp_path / "text.json", cache=cache)
    (tmp_path / "result.json").write_text(json.dumps({"atlaskit_result": 4, "trace": [{"kind": "begin"}]}))
    with pytest.raises(InputError, match="is no event that"):
        export(tmp_path / "x.jsonl.xz", tmp_path / "result.json", cache=cache)
    assert not [path for path in tmp_path.iterdir() if "xz" in path.name or "part" in path.name]


def line(key: str, value: bytes) -> bytes:
    return b'{"%s":%s}\n' % (key.encode(), value)


def key_of(kind: str, version: int | str | None = None) -> str:
    return f"{kind}:{version or KINDS[kind].version}:{'ab' * 32}"


def pack(path: Path, *lines: bytes, header: bytes = HEADER) -> Path:
    """Write a recording with these lines, as a stranger might."""
    path.write_bytes(lzma.compress(header + b"\n" + b"".join(lines)))
    return path


USAGE = json.dumps(Usage(calls=1).to_json()).encode()
REPLY = line(key_of("reply"), b'{"reasoning":"","text":"{}","usage":%s}' % USAGE)
INVALID: dict[str, tuple[bytes, ...]] = {
    "a path": (REPLY.replace(b"reply:", b"../../evil:"),),
    "an old version": (line(key_of("reply", 1), b"{}"),),
    "an image": (line(key_of("view"), b'"R0lGODlh"'),),
    "a pickle": (line(key_of("reply"), b"\x80\x04\x95\x1a\x00\x00\x00"),),
    "a reply of other types": (line(key_of("reply"), b'{"text":1,"usage":{},"reasoning":""}'),),
    "a deeply nested reply": (line(key_of("reply"), b"[" * 100_000),),
    "impossible facts": (line(key_of("video"), b'{"name":"","duration_s":-1,"fps":1,"size":[1,1],"parts":[]}'),),
    "lines under another hash": (line(key_of("lines"), b'[[0.0,1.0,"other words"]]'),),
    "a failure of an unknown kind": (line(key_of("failure"), b'{"kind":"SystemExit"}'),),
    "a manifest that is a list": (line(key_of("run"), b'["../../evil"]'),),
    "no last line feed": (REPLY[:-1],),
    "an entry twice": (REPLY, REPLY),
    "an entry that is too large": (b" " * (9 << 20),),
    "a bomb of lines": (REPLY, b"\n" * (16 << 20)),
}


@pytest.mark.parametrize("name", INVALID)
def test_nothing_of_an_invalid_recording_is_merged(tmp_path: Path, name: str) -> None:
    path, cache = pack(tmp_path / "run.jsonl.xz", *INVALID[name]), Cache(tmp_path / "cache")
    with pytest.raises(CacheError, match=r"run\.jsonl\.xz") as caught:
        import_(path, cache=cache)
    assert str(caught.value).isprintable() and len(str(caught.value)) < 600
    assert list(cache.entries()) == [] and not (tmp_path.parent / "evil.json").exists()
    import_(pack(path, REPLY), cache=cache)


FAST = {"id": lzma.FILTER_LZMA2, "dict_size": 1 << 30, "mode": lzma.MODE_FAST, "mf": lzma.MF_HC3, "nice_len": 8}
WHOLE = HEADER + b"\n" + REPLY
NO_RECORDINGS: dict[str, bytes] = {
    "a text": b"Dear reader",
    "another version": lzma.compress(b'{"atlaskit_recording":99}\n' + REPLY),
    "half a stream": lzma.compress(WHOLE)[:-20],
    "two streams": lzma.compress(WHOLE) * 2,
    "a dictionary of a gigabyte": lzma.compress(WHOLE, filters=[{**FAST, "depth": 1}]),
}


@pytest.mark.parametrize("name", NO_RECORDINGS)
def test_a_file_that_is_not_a_recording_is_one_sentence(tmp_path: Path, name: str) -> None:
    (tmp_path / "run.jsonl.xz").write_bytes(NO_RECORDINGS[name])
    cache = Cache(None)
    with pytest.raises(CacheError, match=r"run\.jsonl\.xz (cannot be read as|is not) a recording") as caught:
        import_(tmp_path / "run.jsonl.xz", cache=cache)
    assert "\n" not in str(caught.value) and list(cache.entries()) == []
    with pytest.raises(CacheError, match="cannot be read as a recording"):
        import_(tmp_path, cache=cache)


def test_a_run_whose_replies_were_replaced_is_not_exported(film: World, tmp_path: Path) -> None:
    cache, question = Cache(tmp_path / "cache"), film.questions[0]
    options = {**OPTIONS, "cache": cache, "budget": ak.Budget(calls=30)}
    first = ask(film.video, question, vlm=Babbler(1), **options)
    other = Babbler(2)
    other.parameters = {"seed": 1}  # like a model with a temperature: same name, other replies
    second = ask(film.video, question, vlm=other, **{**options, "cache": cache.refreshing()})
    assert first.to_json() != second.to_json()
    with pytest.raises(CacheError, match="no longer holds"):
        export(tmp_path / "run.jsonl.xz", first, cache=cache)
    export(tmp_path / "run.jsonl.xz", second, cache=cache)


def test_a_run_with_failed_calls_is_replayed_with_its_failures(film: World, tmp_path: Path) -> None:
    cache, question = Cache(tmp_path / "cache"), film.questions[0]
    flaky = Flaky(Oracle(film, miss=0.2), 0.6, steps=("step", "review", "probe"))
    result = ask(film.video, question, vlm=flaky, cache=cache, **OPTIONS)
    assert flaky.failed and result.trace.of("failure")
    export(tmp_path / "run.jsonl.xz", result, cache=cache)
    other = Cache(tmp_path / "other")
    import_(tmp_path / "run.jsonl.xz", cache=other)
    assert replayed(result, film, other, sampling="midpoint").to_json() == result.to_json()
    retried = ask(film.video, question, vlm=Oracle(film, miss=0.2), cache=other, **OPTIONS)
    assert not retried.trace.of("failure")  # the failed calls were made again


def test_what_the_runs_since_a_moment_need_is_packed(film: World, tmp_path: Path) -> None:
    cache, moment_s = Cache(tmp_path / "cache"), 0.0
    options: dict[str, Any] = {**OPTIONS, "cache": cache}
    earlier, again, later = (film.questions[number] for number in (0, 1, 2))
    for question in (earlier, again):
        ask(film.video, question, vlm=Oracle(film, miss=0.2), **options)
    before = {entry.key for entry in cache.entries() if kind_of(entry.key) == "reply"}
    moment_s = max(entry.stored_s for entry in cache.entries())
    with pytest.raises(InputError, match="no run that was made since"):
        export(tmp_path / "none.jsonl.xz", made_since_s=moment_s + 3600, cache=cache)
    results = [ask(film.video, question, vlm=Oracle(film, miss=0.2), **options) for question in (again, later)]
    packed = export(tmp_path / "since.jsonl.xz", made_since_s=moment_s + 1e-6, cache=cache)
    other = Cache(tmp_path / "other")
    assert import_(tmp_path / "since.jsonl.xz", cache=other) == packed and "run" not in packed
    for result in results:
        assert replayed(result, film, other, sampling="midpoint").to_json() == result.to_json()
    assert packed["reply"] < len(before | {e.key for e in cache.entries() if kind_of(e.key) == "reply"})
    export(tmp_path / "one.jsonl.xz", results[1], cache=other)  # the replay has made the manifests again
    with pytest.raises(InputError, match="leave run out"):
        export(tmp_path / "x.jsonl.xz", results[0], made_since_s=0.0, cache=cache)
    cache.prune(is_wanted=lambda key: kind_of(key) != "reply")
    with pytest.raises(CacheError, match="no longer holds all entries"):
        export(tmp_path / "x.jsonl.xz", made_since_s=moment_s, cache=cache)


def test_a_recording_that_unpacks_to_too_much_is_refused(tmp_path: Path) -> None:
    wide = (b'{"%s%064x":%s}\n' % (key_of("reply")[:8].encode(), n, REPLY[76:-2] + b" " * 4000) for n in range(6000))
    path = pack(tmp_path / "run.jsonl.xz", *wide)
    assert path.stat().st_size < 200_000
    with pytest.raises(CacheError, match="unpacks to more than any recording does"):
        import_(path, cache=Cache(None))


def test_any_damage_is_reported_and_nothing_is_merged(recorded: tuple[Result, Cache], tmp_path: Path) -> None:
    result, cache = recorded
    export(tmp_path / "run.jsonl.xz", result, cache=cache)
    whole, rng = (tmp_path / "run.jsonl.xz").read_bytes(), random.Random(0)
    refused = 0
    for number in range(150):
        data = bytearray(whole)
        if number % 3:
            data[rng.randrange(len(data))] ^= rng.randrange(1, 256)
        else:
            del data[rng.randrange(len(data)) :]
        (tmp_path / "run.jsonl.xz").write_bytes(data)
        other = Cache(None)
        try:
            import_(tmp_path / "run.jsonl.xz", cache=other)
        except CacheError as error:
            refused += 1
            assert "\n" not in str(error) and list(other.entries()) == []
        else:  # a byte that does not affect the content, such as a time
            assert all(other.get(entry.key) == cache.get(entry.key) for entry in other.entries())
    assert refused > 75
