"""What is sent to which kind of endpoint, and what is made of its answers."""

from __future__ import annotations

import base64
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import pytest
from pydantic import BaseModel, ConfigDict, Field
from support.loopback import Loop, failing, page_of_html, saying
from support.stand_ins import Pick, request

from atlaskit.benchmarks.atlasworld import World
from atlaskit.caching.cache import Cache
from atlaskit.environment.render import View, view
from atlaskit.errors import InputError
from atlaskit.models.cached import reply_key
from atlaskit.models.client import VLM
from atlaskit.models.completion import read_completion
from atlaskit.models.dialect import (
    DIALECTS,
    HOSTED,
    OPENAI,
    PLAIN,
    VLLM,
    Dialect,
    dialect_of,
)
from atlaskit.models.errors import ModelError, Unreachable
from atlaskit.models.http import Endpoint
from atlaskit.models.metrics import ServerMetrics, read_metrics
from atlaskit.models.payload import build_payload, sampling_parameters
from atlaskit.models.protocol import Message, Request

ANSWER = '{"thought":"t","cell":3}'


@pytest.fixture
def sheet(world: World, shared_cache: Cache) -> View:
    return view(world.drawn, k=2, cell=64, cache=shared_cache)


def looking(*parts: Any) -> Request:
    return Request("worker", "step", (Message("system", ("Look.",)), Message("user", parts)), Pick)


def body(asked: Request, dialect: Dialect, known: tuple[str, ...] = ()) -> dict[str, Any]:
    parameters = sampling_parameters(dialect, 0.0, 7)
    told: dict[str, Any] = json.loads(build_payload(asked, "m", dialect, parameters, known).body)
    return told


def test_nano_chooses_its_own_tokens(sheet: View) -> None:
    """Its tokens run across what a form prescribes, which vLLM's guidance would cut up for it."""
    asked, parameters = looking("Where?", sheet), sampling_parameters(VLLM, 0.0, 7)
    told = {
        (name, dialect.name): json.loads(build_payload(asked, name, dialect, parameters, ()).body)
        for name in ("nano@0123", "nanonets")
        for dialect in (VLLM, HOSTED)
    }
    grammar = told["nano@0123", "vllm"].pop("structured_outputs")["grammar"]
    setting, start = grammar.split("\n")
    assert "no_forcing" in setting and "response_format" not in told["nano@0123", "vllm"]
    schema = json.loads(start.removeprefix("start: %json "))
    assert schema.pop("x-guidance") == {"whitespace_flexible": False}
    sent = told["nanonets", "vllm"]["response_format"]["json_schema"]["schema"]
    assert schema == sent == told["nano@0123", "hosted"]["response_format"]["json_schema"]["schema"]


def images(told: dict[str, Any]) -> list[dict[str, Any]]:
    parts = [part for message in told["messages"] for part in message["content"] if isinstance(part, dict)]
    return [part for part in parts if part["type"] == "image_url"]


def test_what_a_dialect_does_not_say_is_not_sent(sheet: View) -> None:
    asked = looking("Here:", sheet)
    told = {name: body(asked, dialect) for name, dialect in DIALECTS.items()}
    assert {name for name, each in told.items() if "seed" in each} == {"vllm", "openai"}
    assert {name for name, each in told.items() if "max_completion_tokens" in each} == {"openai"}
    assert {name for name, each in told.items() if "response_format" in each} == {"vllm", "openai", "hosted"}
    assert {name for name, each in told.items() if "uuid" in images(each)[0]} == {"vllm"}
    assert "temperature" not in body(asked, replace(OPENAI, temperature=False))


class Bounded(BaseModel):
    model_config = ConfigDict(extra="forbid")
    maximum: Literal[3, 5]
    text: str = Field(max_length=9)
    cells: list[Pick] = Field(max_length=2)


def test_where_decoding_is_strict_bounds_are_only_checked(loop: Loop) -> None:
    asked = Request("worker", "step", (Message("user", ("Pick.",)),), Bounded)
    form = body(asked, OPENAI)["response_format"]["json_schema"]
    assert form["strict"] is True and not {"maxLength", "maxItems"} & set(re.findall(r"\w+", json.dumps(form)))
    assert form["schema"]["properties"]["maximum"]["enum"] == [3, 5] and "Pick" in form["schema"]["$defs"]
    assert "maxLength" in json.dumps(body(asked, VLLM))
    loop.faults = [
        saying('{"maximum":3,"text":"far too long","cells":[]}'),
        saying('{"maximum":3,"text":"ok","cells":[]}'),
    ]
    assert VLM(loop.url, "loop", dialect="openai").complete(asked).usage.calls == 2


def test_where_no_grammar_is_the_schema_is_told(loop: Loop, sheet: View) -> None:
    words = body(looking("Here:", sheet, "Pick."), PLAIN)["messages"][-1]["content"][-1]["text"]
    assert '"enum": [3, 5]' in words and "JSON Schema" in words
    loop.faults = [saying(f"```json\n{ANSWER}\n```")]
    plain = VLM(loop.url, "loop", dialect="plain")
    assert plain.complete(request()).answer.cell == 3
    assert reply_key(plain, request()) != reply_key(VLM(loop.url, "loop", dialect="vllm"), request())
    with pytest.raises(InputError, match="'french'"):
        VLM(loop.url, "loop", dialect="french")


@pytest.mark.parametrize(
    ("owner", "name"), [("vllm", "vllm"), ("openai", "openai"), ("system", "openai"), ("acme", "hosted")]
)
def test_a_server_declares_what_it_is(loop: Loop, owner: str, name: str) -> None:
    loop.owner = owner
    assert VLM(loop.url).dialect.name == VLM(loop.url, "loop").dialect.name == name


@pytest.mark.parametrize("models", [None, [], {"data": []}, {"data": [{"id": "x"}]}, {"data": "vllm"}, "vllm"])
def test_who_declares_nothing_is_taken_for_hosted(models: object) -> None:
    assert dialect_of(models) == HOSTED


def test_a_replay_asks_no_server_what_it_is(loop: Loop, cache: Cache) -> None:
    """Promise 7, with the server gone."""
    assert reply_key(VLM("http://127.0.0.1:9/v1", "loop"), request()) == reply_key(VLM(loop.url, "loop"), request())


def test_an_image_travels_once(loop: Loop, sheet: View) -> None:
    vlm = VLM(loop.url, "loop")
    sizes = [vlm.complete(looking("Here:", sheet, word)).transit.sent_bytes for word in ("a", "b", "c")]
    first, *later = (images(told)[0] for told in loop.bodies)
    assert base64.b64decode(first["image_url"]["url"].partition(",")[2]) == sheet.jpeg()
    assert first["uuid"] == sheet.key
    assert later == [{"type": "image_url", "image_url": None, "uuid": sheet.key}] * 2
    assert sizes[0] > len(sheet.jpeg()) > sizes[1] == sizes[2]
    assert len(loop.bodies) == 3


def test_an_image_that_failed_to_arrive_is_sent_again(loop: Loop, sheet: View) -> None:
    loop.faults = [failing(500)]
    assert VLM(loop.url, "loop").complete(looking(sheet)).usage.calls == 2
    assert all("base64" in images(told)[0]["image_url"]["url"] for told in loop.bodies)


@pytest.mark.parametrize("status", [400, 404, 500])
def test_a_server_that_forgot_is_sent_the_bytes_again(loop: Loop, sheet: View, status: int) -> None:
    vlm = VLM(loop.url, "loop")
    vlm.complete(looking(sheet))
    loop.faults = [failing(status)]
    reply = vlm.complete(looking(sheet, "Again."))
    assert reply.usage.calls == 1, "the model was not asked, so it is no call"
    assert [images(told)[0]["image_url"] is None for told in loop.bodies] == [False, True, False]
    loop.faults = [failing(400)] * 2
    with pytest.raises(ModelError, match="returned HTTP 400") as caught:
        vlm.complete(looking(sheet, "And again."))
    assert caught.value.usage.calls == 1 and len(loop.bodies) == 5


def test_images_of_a_shared_disk_travel_by_address(loop: Loop, sheet: View, tmp_path: Path) -> None:
    read: list[bytes] = []

    def reading(handler: Any) -> None:
        read.extend(path.read_bytes() for path in tmp_path.iterdir())
        saying(ANSWER)(handler)

    loop.faults = [reading]
    VLM(loop.url, "loop", dialect=replace(VLLM, media=tmp_path)).complete(looking(sheet))
    url = images(loop.bodies[0])[0]["image_url"]["url"]
    assert url.startswith(f"file://{tmp_path}/") and url.endswith(".jpg")
    assert read == [sheet.jpeg()] and list(tmp_path.iterdir()) == [], "it lies there until it is answered"
    gone = VLM(loop.url, "loop", dialect=replace(VLLM, media=tmp_path / "gone"))
    gone.complete(looking(sheet))
    assert images(loop.bodies[1])[0]["image_url"]["url"].startswith("data:image/jpeg;base64,")


def test_conversations_about_one_picture_go_to_one_engine(loop: Loop, sheet: View) -> None:
    vlm = VLM(loop.url, "loop", dialect=replace(VLLM, ranks=4))
    for asked in (
        looking(sheet, "a"),
        looking(sheet, "b", sheet.expand(1)),
        *(looking(sheet.expand(i)) for i in range(4)),
    ):
        vlm.complete(asked)
    ranks = [headers["X-data-parallel-rank"] for headers in loop.headers]
    assert ranks[0] == ranks[1] and set(ranks) <= set("0123") and len(set(ranks)) > 1
    VLM(loop.url, "loop").complete(request())
    assert "X-data-parallel-rank" not in loop.headers[-1]


def said(text: str, **message: Any) -> Any:
    return {"choices": [{"message": {"content": text, **message}}]}


@pytest.mark.parametrize(
    ("completion", "text", "reasoning"),
    [
        (said(f"<think>Hm.</think>{ANSWER}"), ANSWER, "Hm."),
        (said(f"Hm, so.</think>\n\n{ANSWER}"), f"\n\n{ANSWER}", "Hm, so."),
        (said(ANSWER, reasoning="Hm."), ANSWER, "Hm."),
        (said(ANSWER, reasoning_content="Hm."), ANSWER, "Hm."),
        (said('{"thought":"</think>","cell":3}'), '{"thought":"</think>","cell":3}', ""),
        (said(f"```\n{ANSWER}\n```"), ANSWER, ""),
    ],
)
def test_thinking_is_told_apart(completion: Any, text: str, reasoning: str) -> None:
    answer = read_completion(completion)
    assert (answer.text, answer.reasoning) == (text, reasoning)


def test_counts_that_cannot_be_are_not_counted() -> None:
    counts = {
        "prompt_tokens": 100,
        "completion_tokens": True,
        "prompt_tokens_details": {"cached_tokens": 900, "multimodal_tokens": {"image": -4}},
    }
    usage = read_completion({**said(ANSWER), "usage": counts}).usage
    assert (usage.prompt_tokens, usage.cached_tokens, usage.image_tokens, usage.completion_tokens) == (100, 100, 0, 0)
    for nothing in (None, [], "many", {"prompt_tokens": 10**30}, {"prompt_tokens_details": 7}):
        assert read_completion({**said(ANSWER), "usage": nothing}).usage.tokens == 0


def test_an_answer_that_was_cut_off_is_told_so(loop: Loop) -> None:
    half = {"index": 0, "finish_reason": "length", "message": {"role": "assistant", "content": ANSWER[:9]}}

    def cut(handler: Any) -> None:
        from support.loopback import completion, send

        send(handler, 200, {**completion(""), "choices": [half]})

    loop.faults = [cut]
    assert VLM(loop.url, "loop").complete(request()).usage.calls == 2
    assert "cut off after 10 tokens" in loop.bodies[1]["messages"][-1]["content"]


PAGE = """# HELP vllm:prompt_tokens_total Number of prefill tokens processed.
vllm:prompt_tokens_total{engine="0",model_name="a b"} 100.0
vllm:prompt_tokens_total{engine="1",model_name="a b"} 23.0
vllm:prompt_tokens_total{engine="0",model_name="other"} 9000.0
vllm:prefix_cache_queries_total{engine="0",model_name="a b"} 1.23e+02
vllm:prefix_cache_hits_total{engine="0",model_name="a b"} 41.0
vllm:mm_cache_queries_total{engine="0",model_name="a b"} 4.0
vllm:mm_cache_hits_total{engine="0",model_name="a b"} 3.0
"""


def test_the_servers_own_counters() -> None:
    counted = read_metrics(PAGE, "a b")
    assert counted == ServerMetrics(123, 0, 123, 41, 4, 3)
    assert counted.prefix_hit_rate == pytest.approx(1 / 3) and counted.image_hit_rate == 0.75
    assert counted - counted == ServerMetrics() and ServerMetrics().prefix_hit_rate == 0
    with pytest.raises(ValueError, match="no counters"):
        read_metrics("<html>", "a b")
    odd = PAGE.replace('"a b"', r'"a \"b\" \\ c"')
    assert read_metrics(odd, 'a "b" \\ c').prompt_tokens == 123


def test_counters_where_there_are_none(loop: Loop) -> None:
    with pytest.raises(InputError, match="no counters"):
        VLM(loop.url, "loop", dialect="hosted").counters()
    with pytest.raises(ModelError, match="No model answers"):
        VLM("http://127.0.0.1:9/v1", "loop", dialect="vllm").counters()


NO_ADDRESSES = ("", "localhost:8000", "ftp://x/v1", "http://", 7, "http://a b/v1", "http://x/ü/v1", "http://x/\n")
NO_HOSTS = ("http://bücher.example/v1", "http://.invalid/v1", f"http://{'a' * 64}.example/v1", "http://x:port/v1")


@pytest.mark.parametrize("url", [*NO_ADDRESSES, *NO_HOSTS, "https://me:secret@x/v1"])
def test_an_address_that_is_none(url: Any) -> None:
    with pytest.raises(InputError) as caught:
        VLM(url, "loop")
    assert "\n" not in str(caught.value) and "secret" not in str(caught.value)


def test_a_key_is_told_to_its_endpoint_and_to_nobody_else(loop: Loop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "from-the-environment")
    VLM(loop.url, "loop").complete(request())
    VLM(loop.url, "loop", api_key="sk-secret\n").complete(request())
    VLM(loop.url, "loop", api_key="").complete(request())
    assert [headers.get("Authorization") for headers in loop.headers] == [None, "Bearer sk-secret", None]
    for key in ("sk-sec\nret", "sk-“secret”"):
        with pytest.raises(InputError) as caught:
            VLM(loop.url, "loop", api_key=key)
        assert "sk" not in str(caught.value)
    assert Endpoint("https://model.example/v1")._headers == {"Authorization": "Bearer from-the-environment"}


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "127.1", "localhost.", "a.localhost", "[::1]", "0.0.0.0", "[::ffff:127.0.0.1]"]
)
def test_this_machine_has_many_names(host: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "from-the-environment")
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    assert Endpoint(f"http://{host}:8000/v1").is_local and Endpoint(f"http://{host}:8000/v1")._headers == {}


@pytest.mark.parametrize(
    "proxy", ["http://proxy:abc", "http://us%C3%A9r:p@proxy:1", "http://[::1", "http://", "socks5://x:1"]
)
def test_a_proxy_that_cannot_be_used_is_one_sentence(proxy: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", proxy)
    monkeypatch.delenv("no_proxy", raising=False)
    with pytest.raises(InputError, match="proxy that the environment names"):
        VLM("http://model.example/v1", "x")


def test_nobody_outside_is_not_told_to_start_a_server() -> None:
    with pytest.raises(Unreachable) as caught:
        VLM("http://nobody.invalid/v1", "x", dialect="hosted").complete(request(), max_attempts=1)
    assert "make serve" not in str(caught.value) and "nobody.invalid" in str(caught.value)


def test_a_page_in_place_of_the_list_of_models_is_no_obstacle(loop: Loop) -> None:
    loop.list_faults = [page_of_html(200)]
    vlm = VLM(loop.url, "loop")
    assert vlm.complete(request()).usage.calls == 1 and vlm.dialect == HOSTED


@pytest.mark.parametrize("options", [{"in_flight": 0}, {"timeout_s": -1}, {"timeout_s": float("nan")}])
def test_settings_that_cannot_be(options: dict[str, Any]) -> None:
    with pytest.raises(InputError, match="positive number"):
        VLM("http://127.0.0.1:9/v1", "loop", **options)
