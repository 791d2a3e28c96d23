"""Promise 15: the model that was asked is the one that answered, also if none was named."""

import warnings
from typing import Any

import pytest
from support.faults import Fault, completion, sending
from support.loopback import Loop, loopback
from support.stand_ins import request

from atlaskit.caching.cache import Cache
from atlaskit.errors import ModelWarning, Unrecorded
from atlaskit.models.cached import ANSWERED, MOST_ANSWERING, Cached
from atlaskit.models.client import VLM
from atlaskit.models.names import chat_models, is_same_model
from atlaskit.models.protocol import ModelError

OTHERS = """
text-embedding-3-small nomic-embed-text:latest mxbai-embed-large all-minilm:latest BAAI/bge-m3 intfloat/e5-large
BAAI/bge-reranker-v2-m3 thenlper/gte-base openai/whisper-large-v3 gpt-4o-transcribe gpt-4o-mini-tts dall-e-3
omni-moderation-latest meta-llama/Llama-Guard-3-8B google/shieldgemma-2b gpt-image-1 openai/clip-vit-large
google/siglip2-base black-forest-labs/flux-1 models/imagen-4.0 nvidia/parakeet-tdt davinci-002 gpt-4o-realtime-preview
"""
CHATTING = """
nano@0123456789ab Qwen/Qwen3-VL-8B-Instruct Qwen/Qwen2-Audio-7B gpt-4o gpt-5-mini claude-sonnet-4-5 llava:13b gemma3:4b
models/gemini-2.5-pro HuggingFaceTB/SmolVLM-500M-Instruct mistral-small-latest pixtral-12b deepseek-ocr
OpenGVLab/InternVL3-8B moonshotai/Kimi-VL-A3B /srv/weights/my-model loop m
"""


def test_the_name_tells_what_chats() -> None:
    entries = [{"id": name, "object": "model"} for name in f"{OTHERS} {CHATTING}".split()]
    assert chat_models({"data": entries}) == CHATTING.split()
    assert chat_models({"data": [{"id": "whisper-8b", "type": "llm"}]}) == ["whisper-8b"], "the list says more"


@pytest.mark.parametrize(
    ("entry", "chats"),
    [
        ({"architecture": {"input_modalities": ["text"], "output_modalities": ["embeddings"]}}, False),
        ({"model_type": {"embedding": {"pooling": "cls"}}}, False),  # text-embeddings-inference
        ({"architecture": None, "capabilities": None, "type": "model", "task": 3}, True),  # says nothing
    ],
)
def test_the_list_tells_what_a_model_does(entry: dict[str, Any], chats: bool) -> None:
    assert chat_models({"data": [{"id": "m", **entry}]}) == (["m"] if chats else [])


def test_a_client_takes_the_first_that_chats_and_says_so(loop: Loop) -> None:
    """One that takes images goes before the others."""
    takes = {"nomic-embed-text": "text", "qwen": "text", "llava": "image"}
    loop.models = [{"id": name, "architecture": {"input_modalities": [kind]}} for name, kind in takes.items()]
    with pytest.warns(ModelWarning, match="2 models that chat .qwen, llava.: llava is used"):
        assert VLM(loop.url).name == "llava"
    loop.models = [{"id": "nomic-embed-text"}, {"id": "bge-reranker"}]
    with pytest.raises(ModelError, match="no model that chats, only nomic-embed-text, bge-reranker: load one"):
        VLM(loop.url)


@pytest.mark.parametrize(
    ("asked", "answered", "is_same"),
    [
        ("gpt-4o", "gpt-4o-2024-08-06", True),
        ("qwen/qwen3-vl:free", "qwen/qwen3-vl", True),
        ("anything", "", True),
        ("gpt-4o", "gpt-4o-mini-2024-07-18", False),
        ("Qwen3-VL-8B-Instruct", "Qwen3-VL-30B-A3B-Instruct", False),
    ],
)
def test_a_version_or_a_prefix_makes_no_other_model(asked: str, answered: str, is_same: bool) -> None:
    assert is_same_model(asked, answered) is is_same
    assert is_same or not is_same_model(answered, asked)


def answering(cell: int, model: str) -> Fault:
    """Answer with a cell, under the name of a model."""
    return sending({**completion(f'{{"thought":"","cell":{cell}}}'), "model": model})


def cell_of(url: str, name: str, cache: Cache, **options: Any) -> int:
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
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert cell_of(wrong.url, "qwen", cache) == 5 and len(wrong.bodies) == 1, "a second run pays nothing"
            assert cell_of(wrong.url, "qwen", cache, replay=True) == 5
    elsewhere = "http://127.0.0.1:9/v1"
    assert cell_of(elsewhere, "qwen", cache, replay=True) == 3
    with pytest.raises(Unrecorded):
        cell_of(elsewhere, "llama", cache, replay=True)


def test_of_an_imported_list_of_models_that_answered_the_latest_count(cache: Cache) -> None:
    vlm = VLM("http://127.0.0.1:9/v1", "m")
    cache.put_json(ANSWERED.key(address=vlm.base_url, model="m"), ["m", *map(str, range(99)), "m" * 2_000, "m"])
    with pytest.raises(Unrecorded):
        cell_of(vlm.base_url, "m", cache, replay=True)
    assert cache.stats()["reply"]["misses"] <= MOST_ANSWERING


@pytest.mark.parametrize(("names", "requests"), [(("loop", "llama"), 2), (("llama", "gemma", "loop"), 5)])
def test_models_that_alternate_are_told_once_each_and_paid_once(
    loop: Loop, cache: Cache, names: tuple[str, ...], requests: int
) -> None:
    """A router, or a fallback that comes and goes. It is known as one when a name comes back."""
    loop.answer = lambda _: answering(3, names[len(loop.bodies) % len(names)])
    asked = [request(f"Number {number}.") for number in range(requests)]
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always", ModelWarning)
        for _ in range(4):
            model = Cached(VLM(loop.url, "loop"), cache)
            replies = [model.complete(each) for each in asked]
        paid = len(loop.bodies)
        again = Cached(VLM(loop.url, "loop"), cache, replay=True)
        assert [again.complete(each) for each in asked] == replies
    assert all(not reply.live for reply in replies), "the fourth run pays nothing"
    assert paid <= requests + (requests < 4) * len(names) + 1
    assert len(told) <= 2 * len(names)
    assert any("under its own name again" in str(each.message) for each in told)
