"""Promise: a trace suffices to draw a run again, and a tampered one is refused in one sentence."""

import copy
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.model_doubles import Babbler, Counting, Flaky
from support.paths import ROOT
from support.stand_ins import CHOICE, MASTER_AND_WORKER, Flat, run

from atlaskit import limits
from atlaskit.agents.budget import Budget
from atlaskit.caching.cache import Cache
from atlaskit.environment.question import Question
from atlaskit.errors import InputError
from atlaskit.runs import replay
from atlaskit.runs.events import KINDS, Event
from atlaskit.runs.trace import TRACE_VERSION, Trace
from atlasworld import World

sys.path.insert(0, str(ROOT / "tools"))
from trace_schema import schema

DOCS = ROOT / "docs"
CASES = ("probe", "assign", "step", "Zoom", "Investigate", "report", "evidence", "review", "decision", "failure")
REMOVED = object()


def matches(event: Event, case: str) -> bool:
    """Return whether an event is of a kind, a step of an action, or a report with evidence."""
    if case == "evidence":
        return event.kind == "report" and bool(event.kept)
    if case in ("Zoom", "Investigate"):
        return event.kind == "step" and event.action.name == case and event.shown is not None
    return event.kind == case


@pytest.fixture(scope="session")
def eventful(world: World, shared_cache: Cache) -> Trace:
    """The first babbler's run that has every case; which one it is depends on the prompts."""
    for seed in range(100):
        model = Flaky(Babbler(seed), 0.1, seed, MASTER_AND_WORKER)
        trace = run(world.drawn, model, shared_cache, workers=3, steps=5, budget=Budget(calls=40)).trace
        has_dead_zone = any(event.dead_s for event in trace.of("report"))
        has_erasure = any(event.erased for event in trace.of("review"))
        if has_dead_zone and has_erasure and all(any(matches(event, case) for event in trace) for case in CASES):
            return trace
    raise AssertionError("no babbler's run has every case")


def check_sentence(error: InputError) -> None:
    """Check that an error is one complete sentence without control characters."""
    sentence = str(error)
    assert sentence.isprintable() and len(sentence) < 600 and re.search(r"[.…]$", sentence), sentence


OPTIONS = st.fixed_dictionaries(
    {
        "traversal": st.sampled_from(["dfs", "bfs", "beam"]),
        "workers": st.integers(1, 6),
        "budget": st.builds(Budget, calls=st.integers(2, 40)),
        "question": st.sampled_from([CHOICE, Question("When is it?", kind="when")]),
    }
)


@settings(max_examples=20)
@given(st.integers(0, 10**6), st.sampled_from([0.0, 0.3]), st.sampled_from([32, 48]), OPTIONS)
def test_replay_draws_every_image_of_a_run(
    world: World, tmp_path_factory: pytest.TempPathFactory, seed: int, rate: float, patch: int, options: dict[str, Any]
) -> None:
    directory = tmp_path_factory.mktemp("run")
    model, cache = Counting(Flaky(Babbler(seed), rate, seed, MASTER_AND_WORKER)), Cache(directory / "cache")
    model.name = {32: "babbler", 48: "gemma-4-31b"}[patch]
    result = run(world.drawn, model, cache, **options, max_rounds=3, steps=5)
    result.trace.save(directory / "run.jsonl")
    trace, decoded = Trace.load(directory / "run.jsonl"), world.drawn.frames_decoded
    assert trace == result.trace and result.settings["patch"] == patch
    shown = list(replay.pictures(trace, world.drawn, cache))
    records = (getattr(event, what, None) for event in trace for what in ("view", "shown", "sheet"))
    assert [each.picture.key for each in shown] == [image.key for image in records if image]
    assert all(trace.events[each.place] is each.event for each in shown)
    assert shown and model.images.keys() <= {each.picture.key for each in shown}, "images of failed calls are included"
    assert world.drawn.frames_decoded == decoded, "nothing is decoded until an image is looked at"
    assert replay.memory(trace) == (result.evidence, result.dead_zones)
    assert all(type(event) is KINDS[event.kind] for event in trace)


def test_the_memory_at_every_moment(eventful: Trace) -> None:
    for index, event in enumerate(eventful):
        before, after = (replay.memory(eventful, upto=upto) for upto in (index, index + 1))
        if event.kind == "review":
            in_order = sorted(before.scratchpad, key=lambda item: item.timestamp_s)
            assert event.sheet.labels == tuple(item.label for item in in_order)
            assert set(before.scratchpad.labels) - set(after.scratchpad.labels) == set(event.erased)
        elif event.kind == "assign":
            assert event.dead_zones_s == before.dead_zones.intervals
            for assignment in event.sorties:
                assert assignment.had_evidence == before.scratchpad.within(*assignment.interval_s).labels
        elif event.kind not in ("report", "cite"):
            assert before == after
    assert replay.memory(eventful, upto=0) == replay.Memory()


def test_a_trace_of_another_video_is_refused_at_once(world: World, cache: Cache, eventful: Trace) -> None:
    with pytest.raises(InputError, match=r"^The trace is of another video \('drawn-.*'…\) than flat \('flat-.*'…\)\.$"):
        replay.pictures(eventful, Flat(), cache)
    for events in (eventful.events[1:], eventful.events[:1] * 2, ()):
        with pytest.raises(InputError, match="must have exactly one start; this one has"):
            replay.pictures(Trace(events), world.drawn, cache)


def changed(trace: Trace, case: str, field: str, value: object) -> Trace:
    """Return the trace as it is read with one field of the first event of a case changed."""
    rows = json.loads(json.dumps(trace.to_json()))
    data = next(row for row, event in zip(rows, trace, strict=True) if matches(event, case))
    *path, last = (int(name) if name.isdigit() else name for name in field.split("."))
    for name in path:
        data = data[name]
    data[last] = value
    if value is REMOVED:
        del data[last]
    return Trace.of_rows("The trace", rows)


@pytest.mark.parametrize(
    ("sentence", "case", "field", "value"),
    [
        ("k: Field required", "start", "settings.k", REMOVED),
        ("run of uniform has no grids that", "start", "settings", {"method": "uniform", "video": "v"}),
        ("at least 2×2", "start", "settings.k", -3),
        ("max_depth is", "start", "settings.max_depth", 99),
        ("the image differs", "step", "view.dead", [3]),
        ("the image differs", "evidence", "kept.0.subtitle", "What was never said."),
        ("no cell 16 in a 4×4 grid", "Zoom", "action.cell", 16),
        ("conflicts with the scratchpad", "evidence", "kept.0.label", "Q"),
        ("erases the evidence 'NO'", "review", "erased", ["NO"]),
    ],
)
def test_a_trace_that_contradicts_itself(
    world: World, shared_cache: Cache, eventful: Trace, sentence: str, case: str, field: str, value: object
) -> None:
    with pytest.raises(InputError, match=re.escape(sentence)) as caught:
        list(replay.pictures(changed(eventful, case, field, value), world.drawn, shared_cache))
    check_sentence(caught.value)
    place = r"(The trace, event \d+: |Event \d+, '\w+', cannot be replayed: )"
    assert case == "start" or re.match(place, str(caught.value))


ODD_VALUES = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3)
ODD_VALUES |= st.sampled_from([16, 10**400, 599.9, 1e308, "\ud800", "\x1b[2J", "Zoom", "before", "midpoint"])
ODD_VALUES |= st.sampled_from([[], [16], [0, 0, 0, 0, 0, 0], [[0.0, 1.0]], {}, {"name": "Zoom", "cell": 15}])


def parts_of(value: Any) -> Iterator[tuple[Any, Any]]:
    """Yield every replaceable part of a JSON value, as its container and its key or index."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, inner in items:
        yield value, name
        yield from parts_of(inner)


def tamper_with(data: st.DataObject, rows: list[Any]) -> None:
    """Replace or remove some values of a trace, and move an event, as an attacker might."""
    for _ in range(data.draw(st.integers(1, 3))):
        holder, name = data.draw(st.sampled_from(list(parts_of(data.draw(st.sampled_from(rows))))))
        same = [there[n] for there, n in parts_of(rows) if n == name and type(there[n]) is type(holder[name])]
        value = data.draw(ODD_VALUES | st.sampled_from(same) | st.just(REMOVED))
        if value is REMOVED:
            del holder[name]
        else:
            holder[name] = copy.deepcopy(value)
    if data.draw(st.booleans()):
        rows.insert(data.draw(st.integers(0, len(rows))), rows.pop(data.draw(st.integers(0, len(rows) - 1))))


@pytest.mark.parametrize("is_forged", [False, True])
def test_a_tampered_trace_is_replayed_or_refused(
    world: World, shared_cache: Cache, eventful: Trace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_forged: bool
) -> None:
    """If `is_forged`, the attacker also knows how keys are made, so that every key matches."""
    if is_forged:
        monkeypatch.setattr(replay, "_checked", lambda image, key: image)

    @settings(max_examples=40)
    @given(data=st.data())
    def check(data: st.DataObject) -> None:
        rows = copy.deepcopy(eventful.to_json())
        tamper_with(data, rows)
        (tmp_path / "run.jsonl").write_text("\n".join(map(json.dumps, [{"atlaskit_trace": TRACE_VERSION}, *rows])))
        try:
            trace = Trace.load(tmp_path / "run.jsonl")
            trace.save(tmp_path / "again.jsonl")
            assert Trace.load(tmp_path / "again.jsonl") == trace
            replay.memory(trace)
            for shown in replay.pictures(trace, world.drawn, shared_cache):
                assert shown.picture.key and min(shown.picture.size) > 0
                if max(shown.picture.size) <= 512:
                    shown.picture.jpeg()
        except InputError as error:
            check_sentence(error)

    check()


HEAD = b'{"atlaskit_trace":3}\n'
STOP = b'{"calls":1,"kind":"stop","round":0,"rounds":0,"stop":"calls","worker":null}\n'


@pytest.mark.parametrize(
    ("sentence", "content"),
    [
        ("line 1, names no version, so this is not a trace", b""),
        ("line 1, is not valid JSON, so this is not a trace of atlaskit (Expecting value: column 1)", b"hello\n"),
        ("line 1, names a trace of version 1; this atlaskit reads version 3.", b'{"atlaskit_trace":1}\n' + STOP),
        ("line 2, has a number beyond 2e+19", HEAD + STOP.replace(b"1", b"1e999")),
        ("line 2: This 'stop' is invalid: ", HEAD + STOP.replace(b"calls", b"\\ud800", 2)),
        ("line 2, has more than 32 levels", HEAD + b"[" * 100 + b"]" * 100),
        ("line 4, is no event that this atlaskit knows; it has no kind: '3'.", HEAD + STOP + b"\r\n" + b"3\n"),
        ("line 2: This 'stop' is invalid: when: Unexpected", HEAD + STOP[:-2] + b',"when":"now"}'),
    ],
)
def test_an_invalid_trace_is_refused_in_one_sentence(tmp_path: Path, sentence: str, content: bytes) -> None:
    path = tmp_path / "run.jsonl"
    path.write_bytes(content)
    with pytest.raises(InputError, match=re.escape(sentence)) as caught:
        Trace.load(path)
    assert str(caught.value).startswith(f"{path}, line ")
    check_sentence(caught.value)


def test_unreadable_and_unwritable_files(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    path.write_bytes(HEAD + STOP * limits.EVENTS)
    with pytest.raises(InputError, match="has at most 200,000 events"):
        Trace.load(path)
    for missing in (tmp_path / "missing.jsonl", tmp_path, f"{tmp_path}/\0"):
        with pytest.raises(InputError, match="cannot be read: "):
            Trace.load(missing)
    with pytest.raises(InputError, match="cannot be written: "):
        Trace().save(tmp_path)
    Trace().save(path)
    assert Trace.load(path) == Trace()


def test_the_docs_are_current(world: World, eventful: Trace, in_tmp: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert json.loads((DOCS / "trace.schema.json").read_text()) == schema(), "docs/trace.md says how to regenerate it"
    (code,) = re.findall(r"```python\n(.+?)```", (DOCS / "trace.md").read_text(), re.DOTALL)
    opening = 'video = ak.open_video("match.mp4")'
    assert opening in code
    names: dict[str, Any] = {"video": world.drawn}
    eventful.save("run.jsonl")
    exec(code.replace(opening, ""), names)
    assert len(capsys.readouterr().out.splitlines()) == len(eventful.of("step"))
    assert {path.name.split("-", 1)[1] for path in in_tmp.glob("*.png")} >= {"step-shown.png", "review-sheet.png"}
    assert names["scratchpad"] == replay.memory(eventful, upto=names["shown"].place).scratchpad
