"""Promises 7 and 11: a recording replays a run elsewhere, and a stranger's file runs nothing."""

import copy
import json
import lzma
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
from atlaskit.runs.events import Start
from atlaskit.runs.result import Result
from atlaskit.runs.trace import Trace, save_manifest
from atlaskit.video.opening import open_video
from atlaskit.video.records import cached_lines, remember_video
from atlaskit.video.subtitles import Line, Subtitles
from atlasworld import Oracle, World

Recorded = tuple[Result, Cache]
SMALL: dict[str, Any] = {"k": 4, "cell": 32, "workers": 3}


def made(film: World, cache: Cache, number: int = 0, vlm: Any = None, **options: Any) -> Result:
    """Ask one of the film's questions."""
    model = vlm or Oracle(film, miss=0.2)
    return ask(film.video, film.questions[number], vlm=model, cache=cache, **SMALL, **options)


@pytest.fixture(scope="module")
def recorded(film: World, tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    """A run on a video with subtitles, sampled at keyframes, and its cache."""
    cache = Cache(tmp_path_factory.mktemp("recorded"))
    return made(film, cache, vlm=Looking(Oracle(film, miss=0.2)), sampling="keyframe"), cache


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "run.jsonl.xz"


@pytest.fixture
def other(tmp_path: Path) -> Cache:
    """The cache of another machine."""
    return Cache(tmp_path / "other")


def check_replayed(result: Result, film: World, cache: Cache) -> Result:
    """Replay a run from a cache, without the file of its video."""
    video = open_video(fingerprint=result.settings["video"], cache=cache)
    model = Counting(Oracle(film, miss=0.2))
    options = {**SMALL, "sampling": result.settings["sampling"], "replay": True, "cache": cache}
    again = ask(video, result.question, vlm=model, **options)
    assert model.calls == [] and again.spent.calls == again.spent.frames_decoded == 0
    assert again.to_json() == result.to_json()
    return again


def replies_in(cache: Cache) -> list[str]:
    return [entry.key for entry in cache.entries() if kind_of(entry.key) == "reply"]


def test_a_run_is_replayed_from_its_recording(recorded: Recorded, film: World, file: Path, other: Cache) -> None:
    """Images are drawn again, where the video is at hand."""
    result, cache = recorded
    packed = export(file, result, cache=cache)
    assert packed["reply"] == len(replies_in(cache)) and "view" not in packed
    assert import_(file, cache=other) == packed
    again = check_replayed(result, film, other)
    with pytest.raises(VideoError, match="the cache does not"):
        again.sheet.jpeg()
    assert sum(import_(file, cache=other).values()) == 0


def test_without_a_run_all_but_images_is_packed(recorded: Recorded, film: World, file: Path, other: Cache) -> None:
    result, cache = recorded
    cache.put_json(SERVED.key(address="http://127.0.0.1:8000/v1"), "a model")  # describes this machine only
    assert {"served", "tile", "view", "sheet"}.isdisjoint(export(file, cache=cache))
    import_(file, cache=other)
    check_replayed(result, film, other)


def test_merging_keeps_the_entries_of_the_cache(film: World, tmp_path: Path) -> None:
    both, results = Cache(tmp_path / "both"), []
    files = [tmp_path / f"{number}.jsonl.xz" for number in range(2)]
    for number, path in enumerate(files):
        cache = Cache(tmp_path / str(number))
        results.append(made(film, cache, number))
        export(path, results[-1], cache=cache)
    key, *_ = replies_in(Cache(tmp_path / "0"))
    both.put(key, b"mine")
    for path in files:
        import_(path, cache=both)
    assert both.get(key) == b"mine"
    both.prune(is_wanted=lambda entry: entry != key)
    import_(files[0], cache=both)
    for result in results:
        check_replayed(result, film, both)
    export(tmp_path / "both.jsonl.xz", results, cache=both)


def test_an_export_that_fails_is_told(recorded: Recorded, tmp_path: Path, file: Path, other: Cache) -> None:
    result, cache = recorded
    (tmp_path / "text.json").write_text("Dear reader")
    for error, sentence, path, run, source in (
        (CacheError, "does not know this run", file, result, other),
        (CacheError, "cannot be written", tmp_path / "nowhere" / "x.jsonl.xz", result, cache),
        (CacheError, "cannot be written", tmp_path, result, cache),
        (InputError, "cannot be read", file, tmp_path / "none.json", cache),
        (InputError, "is not valid JSON", file, tmp_path / "text.json", cache),
    ):
        with pytest.raises(error, match=sentence):
            export(path, run, cache=source)
    assert not [path for path in tmp_path.iterdir() if "xz" in path.name or "part" in path.name]


def line(kind: str, value: bytes, version: int | None = None) -> bytes:
    return b'{"%s:%d:%s":%s}\n' % (kind.encode(), version or KINDS[kind].version, b"ab" * 32, value)


def pack(path: Path, *lines: bytes) -> Path:
    """Write a recording with these lines, as a stranger might."""
    path.write_bytes(lzma.compress(HEADER + b"\n" + b"".join(lines)))
    return path


REPLY = line("reply", b'{"reasoning":"","text":"{}","usage":%s}' % json.dumps(Usage(calls=1).to_json()).encode())
INVALID: dict[str, tuple[bytes, ...]] = {
    "a path": (REPLY.replace(b"reply:", b"../../evil:"),),
    "an old version": (line("reply", b"{}", 1),),
    "an image": (line("view", b'"R0lGODlh"'),),
    "a pickle": (line("reply", b"\x80\x04\x95\x1a\x00\x00\x00"),),
    "a reply of other types": (line("reply", b'{"text":1,"usage":{},"reasoning":""}'),),
    "a deeply nested reply": (line("reply", b"[" * 100_000),),
    "impossible facts": (line("video", b'{"name":"","duration_s":-1,"fps":1,"size":[1,1],"parts":[]}'),),
    "lines under another hash": (line("lines", b'[[0.0,1.0,"other words"]]'),),
    "a failure of an unknown kind": (line("failure", b'{"kind":"SystemExit"}'),),
    "a manifest that is a list": (line("run", b'["../../evil"]'),),
    "no last line feed": (REPLY[:-1],),
    "an entry twice": (REPLY, REPLY),
    "an entry that is too large": (b" " * (9 << 20),),
    "a bomb of lines": (REPLY, b"\n" * (16 << 20)),
}


@pytest.mark.parametrize("name", INVALID)
def test_nothing_of_an_invalid_recording_is_merged(file: Path, other: Cache, name: str) -> None:
    with pytest.raises(CacheError, match=r"run\.jsonl\.xz") as caught:
        import_(pack(file, *INVALID[name]), cache=other)
    assert str(caught.value).isprintable() and len(str(caught.value)) < 600
    assert list(other.entries()) == [] and not list(file.parent.parent.glob("evil*"))
    import_(pack(file, REPLY), cache=other)


FAST = {"id": lzma.FILTER_LZMA2, "dict_size": 1 << 30, "mode": lzma.MODE_FAST, "mf": lzma.MF_HC3, "nice_len": 8}
WHOLE = HEADER + b"\n" + REPLY
NO_RECORDINGS = {
    "a text": b"Dear reader",
    "another version": lzma.compress(b'{"atlaskit_recording":99}\n' + REPLY),
    "half a stream": lzma.compress(WHOLE)[:-20],
    "a changed byte": lzma.compress(WHOLE)[:60] + b"?" + lzma.compress(WHOLE)[61:],
    "two streams": lzma.compress(WHOLE) * 2,
    "a dictionary of a gigabyte": lzma.compress(WHOLE, filters=[{**FAST, "depth": 1}]),
}


@pytest.mark.parametrize("name", NO_RECORDINGS)
def test_a_file_that_is_not_a_recording_is_one_sentence(file: Path, other: Cache, name: str) -> None:
    file.write_bytes(NO_RECORDINGS[name])
    with pytest.raises(CacheError, match=r"run\.jsonl\.xz (cannot be read as|is not) a recording") as caught:
        import_(file, cache=other)
    assert "\n" not in str(caught.value) and list(other.entries()) == []


def test_a_run_whose_replies_were_replaced_is_not_exported(film: World, file: Path, cache: Cache) -> None:
    first = made(film, cache, vlm=Babbler(1), budget=ak.Budget(calls=30))
    other = Babbler(2)
    other.parameters = {"seed": 1}  # like a model with a temperature: same name, other replies
    second = made(film, cache.refreshing(), vlm=other, budget=ak.Budget(calls=30))
    assert first.to_json() != second.to_json()
    with pytest.raises(CacheError, match="no longer holds"):
        export(file, first, cache=cache)
    export(file, second, cache=cache)


def test_failed_calls_are_replayed_as_failures(film: World, file: Path, cache: Cache, other: Cache) -> None:
    flaky = Flaky(Oracle(film, miss=0.2), 0.6, steps=("step", "review", "probe"))
    result = made(film, cache, vlm=flaky)
    assert flaky.failed and result.trace.of("failure")
    export(file, result, cache=cache)
    import_(file, cache=other)
    check_replayed(result, film, other)
    assert not made(film, other).trace.of("failure"), "the failed calls are made again"


def test_what_the_runs_since_a_moment_need_is_packed(film: World, file: Path, cache: Cache, other: Cache) -> None:
    made(film, cache, 0)
    made(film, cache, 1)
    before = set(replies_in(cache))
    moment_s = max(entry.stored_s for entry in cache.entries())
    with pytest.raises(InputError, match="no run that was made since"):
        export(file, made_since_s=moment_s + 3600, cache=cache)
    results = [made(film, cache, 1), made(film, cache, 2)]
    packed = export(file, made_since_s=moment_s + 1e-6, cache=cache)
    assert "run" not in packed and packed["reply"] < len(before | set(replies_in(cache)))
    assert import_(file, cache=other) == packed
    for result in results:
        check_replayed(result, film, other)
    export(file, results[1], cache=other)  # the replay has made the manifests again
    with pytest.raises(InputError, match="leave run out"):
        export(file, results[0], made_since_s=0.0, cache=cache)
    cache.prune(is_wanted=lambda key: kind_of(key) != "reply")
    with pytest.raises(CacheError, match="no longer holds all entries"):
        export(file, made_since_s=moment_s, cache=cache)


def test_of_rolling_captions_the_shown_track_is_recalled(film: World, file: Path, cache: Cache, other: Cache) -> None:
    video = copy.copy(film.video)
    for word in ("a", "b", "c", "d", "e", "f"):  # the order of the tracks in the manifest is not fixed
        rolling = (Line(0.0, 1.0, word), Line(1.0, 2.0, f"{word} and"))
        video.subtitles = Subtitles((Line(0.0, 1.0, word), Line(1.0, 2.0, "and")), rolling)
        watched = cache.watched()
        remember_video(video, watched)
        trace = Trace((Start(question={"text": word}, settings={"video": video.fingerprint}),))
        save_manifest(trace, watched)
        export(file, trace, cache=cache)
        import_(file, cache=other)
        recalled = cached_lines(video.fingerprint, other)
        assert recalled == video.subtitles and recalled.original == rolling


def test_a_recording_that_unpacks_to_too_much_is_refused(file: Path) -> None:
    wide = (REPLY.replace(b"ab" * 32, b"%064x" % number)[:-2] + b" " * 4000 + b"}\n" for number in range(6000))
    assert pack(file, *wide).stat().st_size < 200_000
    with pytest.raises(CacheError, match="unpacks to more than any recording does"):
        import_(file, cache=Cache(None))
