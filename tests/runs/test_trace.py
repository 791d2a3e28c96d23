"""Traces: what a run notes is enough to draw it again, and a reader takes nothing else."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Unpack, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.model_doubles import Babbler, Flaky
from support.paths import ROOT
from support.stand_ins import CHOICE, MASTER_AND_WORKER, Flat, run

from atlaskit.agents.budget import Budget
from atlaskit.benchmarks.atlasworld import World
from atlaskit.caching.cache import Cache
from atlaskit.environment.grid import Grid
from atlaskit.environment.question import Question
from atlaskit.environment.render import Sheet, Still, View
from atlaskit.errors import FrameError, InputError
from atlaskit.models.protocol import CallControl, Image, Model, Reply, Request
from atlaskit.runs import replay
from atlaskit.runs.events import FORMS, Event, EventData, data_of
from atlaskit.runs.trace import TRACE_VERSION, Trace, schema
from atlaskit.video.readers import Pixels

DOCS = ROOT / "docs"
WHEN = Question("When is it?", kind="when")
ACTING = {"zoom": "Zoom", "investigate": "Investigate"}
SORTS = ("probe", "assign", "step", "zoom", "investigate", "report", "keeping", "review", "decision", "failure", "stop")
GONE = object()


class Watched:
    """A model that notes every picture it is shown."""

    def __init__(self, model: Model) -> None:
        self.model, self.name, self.parameters = model, model.name, model.parameters
        self.images: dict[str, Image] = {}

    def complete(self, request: Request, **control: Unpack[CallControl]) -> Reply:
        self.images |= {image.key: image for image in request.images}
        return self.model.complete(request, **control)


class Gazer(Babbler):
    """Looks at one cell after the other, whether it was told that there is nothing to see or not."""

    def complete(self, request: Request, **control: Unpack[CallControl]) -> Reply:
        reply = super().complete(request, **control)
        if request.step != "step":
            return reply
        call: Any = request.facts
        cells = call.observation.legal.zoom
        answer = {"thought": "", "action": {"action": "zoom", "cell": cells[call.steps_left % len(cells)]}}
        return Reply(request.schema.model_validate(answer), json.dumps(answer), reply.usage)


class Torn(Flat):
    """Of each second, the second half cannot be decoded."""

    def try_frames(self, times_s: Sequence[float], size: tuple[int, int] | None = None) -> list[Pixels | FrameError]:
        frames = super().try_frames(times_s, size)
        torn = FrameError("cannot be decoded")
        return [torn if time_s % 1 > 0.5 else frame for time_s, frame in zip(times_s, frames, strict=True)]


def is_meant(event: Event, which: str) -> bool:
    """Tell whether an event is of a kind, or of one of the sorts that the table below names."""
    if which == "keeping":
        return event.kind == "report" and bool(event["kept"])
    if which in ACTING:
        return event.kind == "step" and event["action"]["name"] == ACTING[which] and event["shown"] is not None
    return event.kind == which


@dataclass(frozen=True)
class Eventful:
    """A run in which much happens."""

    trace: Trace
    images: dict[str, Image]


@pytest.fixture(scope="session")
def eventful_run(world: World, shared_cache: Cache) -> Eventful:
    """The first babbler's that has all of it: which that is changes with the words of the prompts."""
    for seed in range(100):
        model = Watched(Flaky(Babbler(seed), 0.1, seed, MASTER_AND_WORKER))
        trace = run(world.drawn, model, shared_cache, workers=3, steps=5, budget=Budget(calls=40)).trace
        is_ruling_out = any(event["dead_s"] for event in trace.of("report"))
        is_erasing = any(event["erased"] for event in trace.of("review"))
        if is_ruling_out and is_erasing and all(any(is_meant(event, sort) for event in trace) for sort in SORTS):
            return Eventful(trace, model.images)
    raise AssertionError("no babbler does it all")


@pytest.fixture
def eventful(eventful_run: Eventful) -> Trace:
    return eventful_run.trace


def saved(trace: Trace, directory: Path) -> Path:
    path = directory / "run.jsonl"
    trace.save(path)
    return path


def keys_noted(event: Event) -> list[str]:
    return [event[what]["key"] for what in ("view", "shown", "sheet") if what in event.data and event[what]]


@settings(max_examples=30)
@given(
    seed=st.integers(0, 10**6),
    traversal=st.sampled_from(["dfs", "bfs", "beam"]),
    workers=st.integers(1, 6),
    calls=st.integers(2, 40),
    rate=st.sampled_from([0.0, 0.0, 0.3]),
    question=st.sampled_from([CHOICE, WHEN]),
)
def test_every_picture_of_a_run_is_drawn_again(
    world: World,
    tmp_path_factory: pytest.TempPathFactory,
    seed: int,
    traversal: str,
    workers: int,
    calls: int,
    rate: float,
    question: Question,
) -> None:
    directory = tmp_path_factory.mktemp("run")
    model, cache = Watched(Flaky(Babbler(seed), rate, seed, MASTER_AND_WORKER)), Cache(directory / "cache")
    options = {"traversal": traversal, "workers": workers, "budget": Budget(calls=calls), "max_rounds": 3, "steps": 5}
    result = run(world.drawn, model, cache, question, **options)
    trace, decoded = Trace.load(saved(result.trace, directory)), world.drawn.frames_decoded
    assert trace == result.trace
    shown = list(replay.pictures(trace, world.drawn, cache))
    assert [each.picture.key for each in shown] == [key for event in trace for key in keys_noted(event)]
    assert all(trace.events[each.place] is each.event for each in shown)
    assert shown and model.images.keys() <= {each.picture.key for each in shown}, "failed calls showed something too"
    assert world.drawn.frames_decoded == decoded, "nothing is decoded before it is looked at"
    assert replay.memory(trace) == (result.evidence, result.dead_zones)
    for event in trace:
        assert isinstance(data_of(event), FORMS[event.kind])


def test_what_is_drawn_again_is_the_same_bytes(world: World, cache: Cache, eventful_run: Eventful) -> None:
    drawn = {each.picture.key: each.picture.jpeg() for each in replay.pictures(eventful_run.trace, world.drawn, cache)}
    assert {key: image.jpeg() for key, image in eventful_run.images.items()}.items() <= drawn.items()
    assert {type(image) for image in eventful_run.images.values()} == {View, Still, Sheet}


def test_a_run_on_keyframes_is_drawn_again(film: World, cache: Cache, tmp_path: Path) -> None:
    """There, which second stands for a cell is found in the file."""
    model = Watched(Gazer())
    result = run(film.video, model, cache, k=2, sampling="keyframe", fit="stretch", steps=4, max_rounds=1)
    shown = list(replay.pictures(Trace.load(saved(result.trace, tmp_path)), film.video, cache))
    assert model.images.keys() <= {each.picture.key for each in shown}
    times_s = {each.picture.time_s for each in shown if isinstance(each.picture, Still)}
    middles_s = {cell.midpoint_s for n in range(4) for cell in Grid(0.0, film.video.duration_s, 2, (n,)).cells}
    assert times_s - middles_s, "keyframes were looked at, and not the middles"


def test_what_could_not_be_done_shows_nothing(cache: Cache) -> None:
    """A frame that cannot be decoded cannot be looked at, and the picture before it is not shown again."""
    video = Torn()
    result = run(video, Gazer(), cache, traversal="dfs", steps=20, plateau=19, workers=1, max_rounds=1)
    done = [event for event in result.trace.of("step") if event["action"]["name"] == "Zoom"]
    assert {bool(event["problem"]) for event in done} == {True, False}
    assert all((event["shown"] is None) == bool(event["problem"]) for event in done)
    assert len(list(replay.pictures(result.trace, video, cache))) > len(done)


def test_the_memory_at_any_moment(eventful: Trace) -> None:
    for place, event in enumerate(eventful):
        before, after = (replay.memory(eventful, upto=upto) for upto in (place, place + 1))
        if event.kind == "review":
            assert event["sheet"]["labels"] == list(before.scratchpad.labels)
            assert set(before.scratchpad.labels) - set(after.scratchpad.labels) == set(event["erased"])
        elif event.kind == "assign":
            assert tuple(map(tuple, event["dead_zones_s"])) == before.dead_zones.intervals
            for sortie in event["sorties"]:
                assert tuple(sortie["had_evidence"]) == before.scratchpad.within(*sortie["interval_s"]).labels
        elif event.kind not in ("report", "cite"):
            assert before == after
    assert replay.memory(eventful, upto=0) == replay.Memory()


def test_another_video_is_refused_at_once(world: World, cache: Cache, eventful: Trace) -> None:
    with pytest.raises(InputError, match=r"^The trace is of another video \('drawn-.*'…\) than flat \('flat-.*'…\)\.$"):
        replay.pictures(eventful, Flat(), cache)
    for events in (eventful.events[1:], eventful.events[:1] * 2, ()):
        with pytest.raises(InputError, match="begins once, and this one has"):
            replay.pictures(Trace(events), world.drawn, cache)


def changed(trace: Trace, which: str, field: str, value: object) -> Trace:
    """The trace with one field of the first such event changed."""
    events = copy.deepcopy(list(trace.events))
    data = next(event for event in events if is_meant(event, which)).data
    *path, last = (int(name) if name.isdigit() else name for name in field.split("."))
    for name in path:
        data = data[name]
    if value is GONE:
        del data[last]
    else:
        data[last] = value
    return Trace(tuple(events))


@pytest.mark.parametrize(
    ("sentence", "which", "field", "value"),
    [
        ("k: Field required", "start", "settings.k", GONE),
        ("k: Input should be a valid integer", "start", "settings.k", "four"),
        ("k: Input should be less than", "start", "settings.k", 10**4000),
        ("cell: Input should be a valid integer", "start", "settings.cell", 32.5),
        ("fit: Input should be", "start", "settings.fit", "squeeze"),
        ("sampling: Input should be", "start", "settings.sampling", None),
        ("at least 2×2", "start", "settings.k", -3),
        ("at least 16 pixels", "start", "settings.cell", 0),
        ("at most 8192 pixels", "start", "settings.cell", 8192),
        ("max_depth is", "start", "settings.max_depth", 99),
        ("another picture", "start", "settings.cell", 33),
        ("another picture", "step", "view.dead", [3]),
        ("another picture", "zoom", "action.cell", 15),
        ("another picture", "keeping", "kept.0.subtitle", "What was never said."),
        ("no cell 16 in a 4×4 grid", "step", "view.path", [16]),
        ("no cell 999 in a 4×4 grid", "probe", "view.dead", [999]),
        ("no cell 16 in a 4×4 grid", "zoom", "action.cell", 16),
        ("no cell 9 in a 3×3 grid", "investigate", "shown.dead", [9]),
        ("leads to depth 10000", "step", "view.path", [1] * 10_000),
        ("Finished, as it stands there, shows no picture", "zoom", "action", {"name": "Finished"}),
        ("Zoom, as it stands there, shows no picture", "zoom", "action", {"name": "Zoom"}),
        ("its sheet shows the evidence 'Z'", "review", "sheet.labels", ["Z"]),
        ("does not go with what was kept before", "keeping", "kept.0.label", "Q"),
        ("outside its cell", "keeping", "kept.0.timestamp_s", 0.0),
        ("confidence lies in", "keeping", "kept.0.confidence", 7.0),
        ("is not an interval", "report", "dead_s", [[5.0, 5.0]]),
        ("erases the evidence 'NO'", "review", "erased", ["NO"]),
        ("view.path: Input should be a valid list", "step", "view.path", "abc"),
        ("Input should be a valid dictionary", "step", "view", None),
    ],
)
def test_a_trace_that_contradicts_itself(
    world: World, shared_cache: Cache, eventful: Trace, sentence: str, which: str, field: str, value: object
) -> None:
    trace = changed(eventful, which, field, value)
    with pytest.raises(InputError, match=re.escape(sentence)) as told:
        list(replay.pictures(trace, world.drawn, shared_cache))
    check_sentence(told.value)
    assert which == "start" or re.match(r"Event \d+, '\w+', cannot be replayed: ", str(told.value))


def test_a_sheet_of_any_size_is_not_drawn(
    world: World, shared_cache: Cache, eventful: Trace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(replay, "WIDEST_SHEET_PX", 16)
    with pytest.raises(InputError, match="its sheet would be [0-9]+ pixels wide; 16 are drawn at most"):
        list(replay.pictures(eventful, world.drawn, shared_cache))


ODD: list[object] = [
    *(None, True, False, -1, 0, 1, 3, 15, 16, 511, 8192, 10**30, 10**400),
    *(0.5, 1e-9, -0.0, 599.9, 600.0, 1e308),
    *("", "A", "AA", "\ud800", "\x1b[2J", "Zoom", "Investigate", "before", "midpoint", "view:0"),
    *([], [0], [16], [0, 0, 0, 0, 0, 0], [[0.0, 1.0]], {}, {"name": "Zoom", "cell": 15}),
    {"name": "Investigate", "cell": 0, "direction": "before"},
]
"""What might stand in a trace that somebody made."""


def places_in(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every place in a JSON value where something else could stand: what holds it, and under which name."""
    named = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, inner in named:
        yield value, name
        yield from places_in(inner)


def spoil(data: st.DataObject, rows: list[Any]) -> None:
    """Change some values of a trace, and move an event, as somebody might who wants to see what happens."""
    for _ in range(data.draw(st.integers(1, 3))):
        holder, name = data.draw(st.sampled_from(list(places_in(data.draw(st.sampled_from(rows))))))
        alike = [value for value in ODD if type(value) is type(holder[name])]
        match data.draw(st.sampled_from(["alike", "alike", "elsewhere", "elsewhere", "any", "gone", "twice"])):
            case "alike" if alike:
                holder[name] = data.draw(st.sampled_from(alike))
            case "elsewhere":
                same = [there[n] for there, n in places_in(rows) if n == name and type(there[n]) is type(holder[name])]
                holder[name] = copy.deepcopy(data.draw(st.sampled_from(same)))
            case "any":
                holder[name] = data.draw(st.sampled_from(ODD))
            case "gone":
                del holder[name]
            case "twice" if isinstance(holder, list):
                holder.append(copy.deepcopy(holder[name]))
    if data.draw(st.booleans()):
        rows.insert(data.draw(st.integers(0, len(rows))), rows.pop(data.draw(st.integers(0, len(rows) - 1))))


@pytest.mark.parametrize("is_forged", [False, True])
def test_a_spoiled_trace_is_replayed_or_refused(
    world: World,
    shared_cache: Cache,
    eventful: Trace,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    is_forged: bool,
) -> None:
    """Also by somebody who knows how keys are made, so that they all agree with what was changed."""
    if is_forged:
        monkeypatch.setattr(replay, "_same", lambda picture, key: picture)

    @settings(max_examples=200)
    @given(data=st.data())
    def check(data: st.DataObject) -> None:
        rows = copy.deepcopy(eventful.to_json())
        spoil(data, rows)
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


def check_sentence(error: InputError) -> None:
    """One sentence, for a terminal: nothing in it moves the cursor, and it ends."""
    told = str(error)
    assert told.isprintable() and len(told) < 600 and re.search(r"[.…]$", told), told


HEAD = b'{"atlaskit_trace":2}\n'
STOP = b'{"data":{"calls":1,"rounds":0,"stop":"calls"},"kind":"stop","round":0,"worker":null}\n'


@pytest.mark.parametrize(
    ("sentence", "content"),
    [
        ("line 1, names no version, so this is not a trace", b""),
        ("line 1, names no version", b"\n\n"),
        ("line 1, names no version", b"[]"),
        ("line 1, names no version", b'{"atlaskit_trace":"2"}'),
        ("line 1, names no version", b'{"atlaskit_trace":true}'),
        ("line 1, names no version", STOP),
        ("line 1, is no JSON, so this is not a trace of atlaskit (Expecting value: column 1)", b"hello\n"),
        ("line 1, is no JSON", b"\xff\xd8\xff\xe0\x00\x10JFIF\x00"),
        ("line 1, is no JSON", HEAD.decode().encode("utf-16")),
        ("line 1, is no JSON", b"\xef\xbb\xbf" + HEAD),
        ("line 1, names a trace of version 1; this atlaskit reads version 2.", b'{"atlaskit_trace":1}\n' + STOP),
        ("line 1, names a trace of version 99", b'{"atlaskit_trace":99}\n{"kind":"dance"}'),
        ("line 1, says more than the version", b'{"atlaskit_trace":2,"run":"rm -rf /"}\n'),
        ("line 2, is no JSON", HEAD + STOP[:-20]),
        ("line 2, is no JSON", HEAD + b'{"data":NaN}'),
        ("line 2, is no JSON", HEAD + STOP.replace(b"1", b"1e999")),
        ("line 2, is no JSON", HEAD + STOP.replace(b"calls", b"\\ud800", 2)),
        ("line 2, is no JSON", HEAD + STOP.replace(b"1", b"1" * 5000)),
        ("line 2, is no JSON", HEAD + b"[" * 100_000),
        ("line 2, is no JSON", HEAD + b'{"data":' * 100_000),
        ("line 2, is nested in more than 32 levels", HEAD + b"[" * 100 + b"]" * 100),
        ("line 4, is no event of atlaskit: '3'.", HEAD + STOP + b"\r\n" + b"3\n"),
        ("line 2, is no event of atlaskit: \"{'kind': 'stop'}\".", HEAD + b'{"kind":"stop"}'),
        ("line 2, is no event of atlaskit", HEAD + STOP[:-2] + b',"when":"now"}'),
        (
            "line 3: 'dance' is no kind of event that this atlaskit knows.",
            HEAD + STOP + STOP.replace(b'"stop",', b'"dance",'),
        ),
        ("line 2, names its kind by something other than words: '7'.", HEAD + STOP.replace(b'"stop",', b"7,")),
        ("line 2, names its round or its worker", HEAD + STOP.replace(b'"round":0', b'"round":-1')),
        ("line 2, names its round or its worker", HEAD + STOP.replace(b'"round":0', b'"round":true')),
        ("line 2, names its round or its worker", HEAD + STOP.replace(b"null", b"false")),
        (
            "line 2: This is no 'stop' as this atlaskit knows it: colour: Extra",
            HEAD + STOP.replace(b'"calls":', b'"colour":3,"calls":'),
        ),
        ("line 2: This is no 'stop' as this atlaskit knows it: calls: Field", HEAD + STOP.replace(b'"calls":1,', b"")),
        ("calls: Input should be a valid integer.", HEAD + STOP.replace(b":1,", b':"1",')),
        ("data: Input should be a valid dictionary", HEAD + b'{"data":null,"kind":"stop","round":0,"worker":null}'),
    ],
)
def test_what_is_no_trace_is_refused_in_one_sentence(tmp_path: Path, sentence: str, content: bytes) -> None:
    path = tmp_path / "run.jsonl"
    path.write_bytes(content)
    with pytest.raises(InputError, match=re.escape(sentence)) as told:
        Trace.load(path)
    assert str(told.value).startswith(f"{path}, line ")
    check_sentence(told.value)


def test_what_cannot_be_read_or_written(tmp_path: Path) -> None:
    for path in (tmp_path / "missing.jsonl", tmp_path, f"{tmp_path}/\0"):
        with pytest.raises(InputError, match="cannot be read: "):
            Trace.load(path)
    with pytest.raises(InputError, match="cannot be written: "):
        Trace().save(tmp_path)
    Trace().save(tmp_path / "empty.jsonl")
    assert Trace.load(tmp_path / "empty.jsonl") == Trace()


@settings(max_examples=200)
@given(data=st.data())
def test_bytes_that_were_hit_are_read_or_refused(eventful: Trace, tmp_path: Path, data: st.DataObject) -> None:
    content = bytearray(saved(eventful, tmp_path).read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    (tmp_path / "hit.jsonl").write_bytes(content[: data.draw(st.integers(0, len(content)))])
    try:
        Trace.load(tmp_path / "hit.jsonl").save(tmp_path / "again.jsonl")
    except InputError as error:
        check_sentence(error)


def test_the_schema_in_the_docs_is_the_codes() -> None:
    assert json.loads((DOCS / "trace.schema.json").read_text()) == schema(), "docs/trace.md says how to make it again"


def test_the_schema_takes_what_the_reader_takes(eventful: Trace) -> None:
    jsonschema = pytest.importorskip("jsonschema")
    validator = jsonschema.Draft202012Validator(schema())
    for row in json.loads(json.dumps(eventful.to_json())):
        validator.validate(row)
        del row["data"][sorted(row["data"])[0]]
        assert not validator.is_valid(row)


def forms_in(form: type[EventData]) -> Iterator[type[EventData]]:
    """A form, and those of its fields."""
    yield form
    waiting = [field.annotation for field in form.model_fields.values()]
    while waiting:
        annotation = waiting.pop()
        waiting += get_args(annotation)
        if isinstance(annotation, type) and issubclass(annotation, EventData):
            yield from forms_in(annotation)


def test_the_page_names_every_kind_and_field() -> None:
    rows = dict(re.findall(r"^\| `(\w+)` \| (.+)$", page := (DOCS / "trace.md").read_text(), re.MULTILINE))
    within = page[page.index("| within them |") :]
    shared = page[page.index("hold besides:") : page.index("| within them |")]
    for kind, form in FORMS.items():
        for field in form.model_fields:
            assert f"`{field}`" in rows[kind] + shared, f"{kind}.{field}"
        for inner in set(forms_in(form)) - {form}:
            assert all(f"`{field}`" in within for field in inner.model_fields), inner
    assert f'`{{"atlaskit_trace":{TRACE_VERSION}}}`' in page


def test_the_example_on_the_page_runs(
    world: World, eventful: Trace, in_tmp: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (code,) = re.findall(r"```python\n(.+?)```", (DOCS / "trace.md").read_text(), re.DOTALL)
    assert 'ak.open_video("match.mp4")' in code
    names: dict[str, Any] = {"video": world.drawn}
    saved(eventful, in_tmp)
    exec(code.replace('video = ak.open_video("match.mp4")', ""), names)
    assert len(capsys.readouterr().out.splitlines()) == len(eventful.of("step"))
    assert {path.name.split("-", 1)[1] for path in in_tmp.glob("*.png")} >= {"step-shown.png", "review-sheet.png"}
    assert names["scratchpad"] == replay.memory(eventful, upto=names["shown"].place).scratchpad
