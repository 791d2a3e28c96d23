"""Which of a server's models is taken if none is named."""

from __future__ import annotations

import warnings
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.loopback import loopback

import atlaskit as ak
from atlaskit.errors import ModelWarning
from atlaskit.models.errors import ModelError
from atlaskit.models.listing import chat_models, first_chat_model

WORDS = str.split

OTHERS = WORDS(
    """
text-embedding-3-small nomic-embed-text:latest text-embedding-nomic-embed-text-v1.5 mxbai-embed-large all-minilm:latest
BAAI/bge-m3 BAAI/bge-reranker-v2-m3 intfloat/e5-large thenlper/gte-base mistral-embed Qwen/Qwen3-Embedding-8B
Qwen/Qwen3-VL-Reranker-2B jina-reranker-v2 openai/whisper-large-v3 whisper-1 gpt-4o-transcribe gpt-4o-mini-tts tts-1
omni-moderation-latest meta-llama/Llama-Guard-3-8B google/shieldgemma-2b dall-e-3 gpt-image-1 openai/clip-vit-large
google/siglip2-base black-forest-labs/flux-1 models/gemini-embedding-001 models/imagen-4.0 nvidia/parakeet-tdt
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


@given(st.permutations([*OTHERS[:6], *CHATTING[:3]]))
def test_no_other_model_is_taken_wherever_it_stands(names: list[str]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)
        taken = first_chat_model(listed(*names), "http://h/v1")
    assert taken == next(name for name in names if name in CHATTING)


@pytest.mark.parametrize(
    ("entry", "chats"),
    [
        ({"type": "embeddings"}, False),  # LM Studio
        ({"type": "vlm"}, True),
        ({"type": "embedding"}, False),  # Together
        ({"type": "moderation"}, False),
        ({"type": "model"}, True),  # says nothing
        ({"architecture": {"input_modalities": ["text", "image"], "output_modalities": ["text"]}}, True),  # OpenRouter
        ({"architecture": {"input_modalities": ["text"], "output_modalities": ["embeddings"]}}, False),
        ({"architecture": {"input_modalities": ["audio"], "output_modalities": ["text"]}}, False),
        ({"capabilities": {"completion_chat": True, "vision": True}}, True),  # Mistral
        ({"capabilities": {"completion_chat": False}}, False),
        ({"capabilities": ["completion", "vision"]}, True),  # Ollama
        ({"capabilities": ["embedding"]}, False),
        ({"capabilities": ["tools", "audio"]}, True),
        ({"task": "embed"}, False),  # vLLM
        ({"task": "generate"}, True),
        ({"pipeline_tag": "feature-extraction"}, False),
        ({"pipeline_tag": "image-text-to-text"}, True),
        ({"model_type": {"embedding": {"pooling": "cls"}}}, False),  # text-embeddings-inference
        ({"architecture": None, "capabilities": None, "type": None, "task": 3}, True),
    ],
)
def test_the_list_tells_what_a_model_does(entry: dict[str, Any], chats: bool) -> None:
    assert chat_models({"data": [{"id": "m", **entry}]}) == (["m"] if chats else [])


def test_what_the_list_says_counts_more_than_the_name() -> None:
    assert chat_models({"data": [{"id": "whisper-of-the-deep-8b", "type": "llm"}]}) == ["whisper-of-the-deep-8b"]


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


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=5),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(st.sampled_from(["data", "models", "id", "type", "capabilities", "architecture"]), inner)
        ),
        max_leaves=12,
    )
)
def test_an_odd_list_is_no_crash(listing: Any) -> None:
    assert all(isinstance(name, str) for name in chat_models(listing))


def test_a_client_takes_the_first_that_chats_and_says_so() -> None:
    with loopback() as server:
        server.models = [{"id": name} for name in ("nomic-embed-text", "qwen-vl", "llava")]
        with pytest.warns(ModelWarning, match="2 models that chat .qwen-vl, llava.: qwen-vl is used"):
            assert ak.VLM(server.url).name == "qwen-vl"
        server.models = [{"id": "nomic-embed-text"}, {"id": "qwen-vl"}]
        with warnings.catch_warnings():
            warnings.simplefilter("error", ModelWarning)
            assert ak.VLM(server.url).name == "qwen-vl"
        server.models = [{"id": "nomic-embed-text"}, {"id": "bge-reranker"}]
        with pytest.raises(ModelError, match="no model that chats, only nomic-embed-text, bge-reranker: load one"):
            ak.VLM(server.url)
