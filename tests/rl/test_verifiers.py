"""Episodes of verifiers: its own harness and traces, with a model behind a chat endpoint."""

from __future__ import annotations

import asyncio
import base64
import io
import json
from collections.abc import Callable
from typing import Any

import pytest
import verifiers.v1 as vf
from atlas_search import AtlasSearchConfig, AtlasSearchEnv, action_in
from PIL import Image
from support.faults import Fault, sending_bytes
from support.loopback import loopback
from verifiers.v1.utils.loaders import load_environment

from atlaskit.gym import TASKS, AtlasEpisode

pytestmark = pytest.mark.rl
Messages = list[dict[str, Any]]
LOOK = {"duration_s": 60.0, "k": 2, "cell": 64, "max_steps": 5, "step_cost": 0.01}
SEED = 3


def streamed(text: str) -> Fault:
    """Answer with a chat completion in pieces."""
    chunk = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 0, "model": "tiny"}
    delta = {"role": "assistant", "content": text}
    pages = [
        {**chunk, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]},
        {**chunk, "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]},
        {**chunk, "choices": [], "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}},
    ]
    lines = [*map(json.dumps, pages), "[DONE]"]
    return sending_bytes("".join(f"data: {line}\n\n" for line in lines).encode(), Content_Type="text/event-stream")


def play(reply: Callable[[Messages], str], **settings: Any) -> vf.Trace:
    """Play one episode with a model that replies; return its trace."""
    config = AtlasSearchConfig(taskset={"id": "atlas_search", "n_seeds": 2, "first_seed": SEED, **LOOK, **settings})
    env = load_environment(config)
    assert isinstance(env, AtlasSearchEnv)

    async def run(context: vf.ModelContext) -> vf.Episode:
        async with env.serving():
            return await env.run_episode(next(iter(env.taskset)), context)

    with loopback() as server, pytest.MonkeyPatch.context() as patch:
        patch.setenv("NO_KEY", "none")
        server.answer = lambda body: streamed(reply(body["messages"]))
        client = vf.EvalClientConfig(base_url=server.url, api_key_var="NO_KEY")
        episode = asyncio.run(run(vf.ModelContext("tiny", client)))
    assert episode.errors == [] and [trace.errors for trace in episode.traces] == [[]]
    return episode.traces[0]


def images_in(messages: Messages) -> list[Image.Image]:
    parts = [part for message in messages if isinstance(message["content"], list) for part in message["content"]]
    urls = [part["image_url"]["url"] for part in parts if part["type"] == "image_url"]
    return [Image.open(io.BytesIO(base64.b64decode(url.partition("base64,")[2]))) for url in urls]


def test_replies_are_actions_and_the_trace_is_scored() -> None:
    truth = AtlasEpisode.drawn(SEED, **LOOK).question.answer
    replies = [
        '{"action": "add_to_scratchpad", "cell": 0, "description": "a city"}',
        "I cannot tell.",
        'Closer {as said}: {"action": "zoom", "cell": 2}.',
        json.dumps({"action": "answer", "answer": truth}),
    ]
    asked: list[Messages] = []

    def reply(messages: Messages) -> str:
        asked.append(messages)
        return replies[len(asked) - 1]

    trace = play(reply)
    assert trace.reward == pytest.approx(1 - 0.04)
    assert trace.metrics["illegal_actions"] == 1 and trace.metrics["steps"] == 4 and trace.metrics["score"] == 1
    assert [len(images_in(messages)) for messages in asked] == [1, 2, 3, 4]
    assert asked[0][0]["role"] == "system" and "Reply with one action as JSON" in str(asked[0][0]["content"])
    told = [part["text"] for part in asked[-1][-3]["content"] if part["type"] == "text"]
    assert told[0].startswith("That was not possible: The reply has no JSON object.")
    assert images_in(asked[0])[0].size == (128, 128)


@pytest.mark.parametrize("asked", TASKS)
def test_what_is_asked_is_what_is_rewarded(asked: str) -> None:
    episode = AtlasEpisode.drawn(SEED, task=asked, **LOOK)
    keeps = {"action": "add_to_scratchpad", "cell": 0}
    ends = {"action": "answer", "answer": episode.question.answer}
    actions = [keeps, ends if episode.rewarded.needs_answer else {"action": "finished"}]
    heard: list[Messages] = []

    def reply(messages: Messages) -> str:
        heard.append(messages)
        return json.dumps(actions[len(heard) - 1])

    trace = play(reply, asked=asked)
    for action in actions:
        episode.act(action)
    assert episode.is_over and len(heard) == len(actions)
    assert trace.reward == pytest.approx(episode.reward)
    assert trace.metrics["score"] == pytest.approx(1 if episode.rewarded.needs_answer else episode.score)
    assert episode.question.text in str(heard[0])


@pytest.mark.parametrize("reply", ["", "{", "{{{", '{"action": ' * 3000, "{" * 100_000, '{"a": ' + "[" * 100_000])
def test_a_reply_without_an_object_is_no_action(reply: str) -> None:
    assert action_in(reply) is None
