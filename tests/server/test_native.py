"""Native video on vLLM: it sees the frames that were sent, at their times, and no others."""

import json
import re
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from server.tiny_families import make_families
from support.model_doubles import Counting

from atlaskit.caching.cache import Cache
from atlaskit.methods.native import native
from atlaskit.models.client import VLM
from atlaskit.models.dialect import VLLM, build_payload
from atlaskit.models.serving.server import serve
from atlasworld import Oracle, World

pytestmark = pytest.mark.server

VIDEOS = ("--limit-mm-per-prompt", '{"image":16,"video":1}', "--trust-request-mm-kwargs")


@pytest.fixture(scope="module")
def vlm(tmp_path_factory: pytest.TempPathFactory, small_and_offline: None) -> Iterator[VLM]:
    directory = tmp_path_factory.mktemp("videos")
    make_families(("qwen3-vl",), directory)
    may_read = ("--allowed-local-media-path", str(tmp_path_factory.getbasetemp()))
    spec = f"{directory / 'qwen3-vl'} --extra-body '{{\"presence_penalty\":2}}'"
    with serve(spec, arguments=(*VIDEOS, *may_read)) as vlm:
        yield vlm


def posted(vlm: VLM, path: str, body: bytes) -> Any:
    """Return what the server answers."""
    address = vlm.base_url.removesuffix("/v1") + path
    request = urllib.request.Request(address, data=body, headers={"Content-Type": "application/json"})
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)


@pytest.mark.parametrize("settings", [{"frames": 6, "size": 128}, {"frames": 15, "size": 320}], ids=["even", "odd"])
def test_the_server_sees_the_frames_that_were_sent(vlm: VLM, world: World, settings: dict[str, Any]) -> None:
    """Its prompt, back in words, has the predicted tokens of each two frames after their time."""
    oracle = Counting(Oracle(world))
    oracle.name = vlm.name
    native(world.drawn, world.questions[0], vlm=oracle, cache=Cache(None), **settings)
    (request,) = oracle.requests
    (clip,) = request.images
    more = {"return_token_ids": True, "temperature": 0.0}
    body = posted(vlm, "/v1/chat/completions", build_payload(request, vlm.name, VLLM, more, ()).body)
    tokens = json.dumps({"model": vlm.name, "tokens": body["prompt_token_ids"]}).encode()
    prompt = posted(vlm, "/detokenize", tokens)["prompt"]
    assert prompt.count("<|video_pad|>") == clip.tokens  # type: ignore[attr-defined]
    times_s = [*clip.times_s, *clip.times_s[-1:]]  # type: ignore[attr-defined]
    pairs = zip(times_s[::2], times_s[1::2], strict=False)
    expected = [(first + second) / 2 for first, second in pairs]
    seen = [float(each) for each in re.findall(r"<([\d.]+) seconds>", prompt)]
    assert seen == pytest.approx(expected, abs=0.051)


@pytest.mark.filterwarnings("error::atlaskit.errors.ModelWarning")
def test_a_question_is_answered_from_a_video(vlm: VLM, world: World, tmp_path: Path) -> None:
    result = native(world.drawn, world.questions[0], vlm=vlm, cache=Cache(tmp_path), frames=16, size=128)
    (call,) = result.calls
    assert call.image_tokens >= 8 * 4 * 2 and not call.estimated
    assert result.prediction is not None or "it was cut off" in call.failure


@pytest.mark.filterwarnings("ignore::atlaskit.errors.ModelWarning")
def test_the_server_reads_a_file_itself(vlm: VLM, film: World, tmp_path: Path) -> None:
    result = native(film.video, film.questions[0], vlm=vlm, cache=Cache(tmp_path), frames=12, size=128, file=True)
    (call,) = result.calls
    assert call.image_tokens > 0 and not call.estimated and "read" not in call.failure
