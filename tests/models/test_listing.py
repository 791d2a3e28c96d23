"""Promise 15: the model that was asked is the one that answered, also if none was named."""

from __future__ import annotations

import warnings
from typing import Any

import pytest
from support.faults import Fault, completion, sending
from support.loopback import Loop, loopback
from support.stand_ins import request

import atlaskit as ak
from atlaskit.caching.cache import Cache
from atlaskit.errors import ModelWarning, Unrecorded
from atlaskit.models.cached import Cached
from atlaskit.models.client import VLM
from atlaskit.models.names import chat_models, first_chat_model, is_same_model
from atlaskit.models.protocol import ModelError

WORDS = str.split

OTHERS = WORDS(
    """
text-embedding-3-small nomic-embed-text:latest text-embedding-nomic-embed-text-v1.5 mxbai-embed-large all-minilm:latest
BAAI/bge-m3 BAAI/bge-reranker-v2-m3 intfloat/e5-large thenlper/gte-base Qwen/Qwen3-Embedding-8B openai/whisper-large-v3
gpt-4o-transcribe gpt-4o-mini-tts omni-moderation-latest meta-llama/Llama-Guard-3-8B google/shieldgemma-2b dall-e-3
gpt-image-1 openai/clip-vit-large google/siglip2-base black-forest-labs/flux-1 models/imagen-4.0 nvidia/parakeet-tdt
hexgrad/kokoro davinci-002 gpt-4o-realtime-preview
"""
)
CHATTING = WORDS(
    """
nano@0123456789ab Qwen/Qwen3-VL-8B-Instruct Qwen/Qwen2-Audio-7B gpt-4o gpt-5-mini claude-sonnet-4-5
models/gemini-2.5-pro
HuggingFaceTB/SmolVLM-500M-Instruct llava:13b gemma3:4b minicpm-v:8b mistral-small-latest pixtral-12b deepseek-ocr
meta-llama/Llama-3.2-11B-Vision-Instruct OpenGVLab/InternVL3-8B moonshotai/Kimi-VL-A3B /srv/weights/my-model loop m
"""
)


def listed(*names: str) -> dict[str, Any]:
    return {"object": "list", "data": [{"id": name, "object": "model"} for name in names]}


def test_the_name_tells_what_does_not_chat() -> None:
    assert chat_models(listed(*OTHERS)) == []
    assert chat_models(listed(*CHATTING)) == CHATTING
    assert chat_models({"data": [{"id": "whisper-8b", "type": "llm"}]}) == ["whisper-8b"], "the list says more"


@pytest.mark.parametrize(
    ("entry", "chats"),
    [
        ({"type": "embeddings"}, False),  # LM Studio
        ({"type": "model"}, True),  # says nothing
        ({"architecture": {"input_modalities": ["text", "image"], "output_modalities": ["text"]}}, True),  # OpenRouter
        ({"architecture": {"input_modalities": ["text"], "output_modalities": ["embeddings"]}}, False),
        ({"capabilities": ["embedding"]}, False),
        ({"task": "embed"}, False),  # vLLM
        ({"model_type": {"embedding": {"pooling": "cls"}}}, False),  # text-embeddings-inference
        ({"architecture": None, "capabilities": None, "type": None, "task": 3}, True),
    ],
)
def test_the_list_tells_what_a_model_does(entry: dict[str, Any], chats: bool) -> None:
    assert chat_models({"data": [{"id": "m", **entry}]}) == (["m"] if chats else [])


@pytest.mark.parametrize(
    ("blind", "seeing"),
    [
        ({"type": "llm"}, {"type": "vlm"}),
        ({"capabilities": {"vision": False}}, {"capabilities": {"vision": True}}),
        ({"architecture": {"input_modalities": ["text"]}}, {"architecture": {"input_modalities": ["image"]}}),
    ],
)
def test_a_model_that_takes_images_goes_first(blind: dict[str, Any], seeing: dict[str, Any]) -> None:
    with pytest.warns(ModelWarning, match="2 models that chat .a, b.: b is used"):
        assert first_chat_model({"data": [{"id": "a", **blind}, {"id": "b", **seeing}]}, "http://h/v1") == "b"
    assert first_chat_model({"data": [{"id": "a", **blind}]}, "http://h/v1") == "a"


def test_a_client_takes_the_first_that_chats_and_says_so() -> None:
    with loopback() as server:
        server.models = [{"id": name} for name in ("nomic-embed-text", "qwen-vl", "llava")]
        with pytest.warns(ModelWarning, match="2 models that chat .qwen-vl, llava.: qwen-vl is used"):
            assert ak.VLM(server.url).name == "qwen-vl"
        server.models = [{"id": "nomic-embed-text"}, {"id": "bge-reranker"}]
        with pytest.raises(ModelError, match="no model that chats, only nomic-embed-text, bge-reranker: load one"):
            ak.VLM(server.url)


SAME = [
    ("gpt-4o", "gpt-4o-2024-08-06"),
    ("claude-3-7-sonnet-latest", "claude-3-7-sonnet-20250219"),
    ("mistral-medium-latest", "mistral-medium-2508"),
    ("qwen/qwen3-vl:free", "qwen/qwen3-vl"),
    ("anything", ""),
]
OTHER = [
    ("gpt-4o", "gpt-4o-mini-2024-07-18"),
    ("gpt-4o-2024-08-06", "gpt-4o-2024-11-20"),
    ("Qwen3-VL-8B-Instruct", "Qwen3-VL-30B-A3B-Instruct"),
    ("qwen", "llama"),
]


def test_a_version_or_a_prefix_makes_no_other_model() -> None:
    assert [pair for pair in SAME if not is_same_model(*pair)] == []
    assert [pair for pair in OTHER if is_same_model(*pair) or is_same_model(*pair[::-1])] == []


def answering(cell: int, model: str | None) -> Fault:
    """Answer with a cell, under the name of a model; None leaves the name out."""
    body = completion(f'{{"thought":"","cell":{cell}}}')
    del body["model"]
    return sending(body if model is None else {**body, "model": model})


def cell_of(url: str, name: str | None, cache: Cache, **options: Any) -> int:
    return int(Cached(VLM(url, name), cache, **options).complete(request()).answer.cell)


def test_two_servers_that_both_say_default_share_no_entry(cache: Cache) -> None:
    with loopback() as first, loopback() as second:
        for loop, cell in ((first, 3), (second, 5)):
            loop.faults = [answering(cell, "default")]
        assert [cell_of(loop.url, "default", cache) for loop in (first, second)] == [3, 5]
        assert [cell_of(loop.url, "default", cache, replay=True) for loop in (first, second)] == [3, 5]


def test_another_models_reply_is_told_and_never_served_for_the_one_asked(cache: Cache) -> None:
    with loopback() as wrong, loopback() as right:
        wrong.faults = [answering(5, "llama")]
        with pytest.warns(ModelWarning, match=r"qwen at http.* is answered by llama"):
            assert cell_of(wrong.url, "qwen", cache) == 5
        right.faults = [answering(3, "qwen")]
        assert cell_of(right.url, "qwen", cache) == 3, "the reply of llama was not taken for one of qwen"
        assert len(right.bodies) == 1
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert cell_of(wrong.url, "qwen", cache) == 5 and len(wrong.bodies) == 1, "a second run pays nothing"
            assert cell_of(wrong.url, "qwen", cache, replay=True) == 5
    elsewhere = "http://127.0.0.1:9/v1"
    assert cell_of(elsewhere, "qwen", cache, replay=True) == 3
    with pytest.raises(Unrecorded):
        cell_of(elsewhere, "llama", cache, replay=True)


def test_the_reply_names_its_model_live_and_from_the_cache(loop: Loop, cache: Cache) -> None:
    for asked, named in (("gpt-4o", "gpt-4o-2024-08-06"), ("loop", "loop"), ("silent", None)):
        loop.faults = [answering(3, named)]
        model = Cached(VLM(loop.url, asked), cache)
        live, cached = model.complete(request()), model.complete(request())
        assert live.live and not cached.live
        assert (live.model, live.is_substitute) == (cached.model, cached.is_substitute) == (named or "", False)


def test_a_server_that_answers_under_its_own_name_again_is_told(loop: Loop, cache: Cache) -> None:
    loop.faults = [answering(5, "llama"), answering(3, "loop")]
    vlm = VLM(loop.url, "loop")
    model = Cached(vlm, cache.refreshing())
    with pytest.warns(ModelWarning, match="answered by llama"):
        assert model.complete(request()).is_substitute
    with pytest.warns(ModelWarning, match="under its own name again"):
        assert not Cached(vlm, cache.refreshing()).complete(request()).is_substitute
    assert cell_of(loop.url, "loop", cache) == 3 and len(loop.bodies) == 2


@pytest.mark.parametrize("names", [("loop", "llama"), ("llama", "gemma", "loop")])
@pytest.mark.parametrize("requests", [2, 5])
def test_models_that_alternate_are_told_once_each_and_paid_once(
    loop: Loop, cache: Cache, names: tuple[str, ...], requests: int
) -> None:
    """A router, or a fallback that comes and goes. It is known as one when a name comes back."""

    def answer(_: dict[str, Any]) -> Fault:
        return answering(3, names[len(loop.bodies) % len(names)])

    loop.answer = answer
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always", ModelWarning)
        for _ in range(4):
            model = Cached(VLM(loop.url, "loop"), cache)
            replies = [model.complete(request(f"Number {number}.")) for number in range(requests)]
        paid = len(loop.bodies)
        again = Cached(VLM(loop.url, "loop"), cache, replay=True)
        assert [again.complete(request(f"Number {number}.")) for number in range(requests)] == replies
    assert all(not reply.live for reply in replies), "the fourth run pays nothing"
    assert paid <= requests + (requests < 4) * len(names) + 1
    assert len(told) <= 2 * len(names)
