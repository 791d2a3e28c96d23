"""Episodes of verifiers: its own harness and traces, with a model behind a chat endpoint."""

from __future__ import annotations

import asyncio
import base64
import io
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
import verifiers.v1 as vf
from atlas_search import AtlasSearchConfig, AtlasSearchEnv, action_in
from PIL import Image
from verifiers.v1.utils.loaders import load_environment

from atlaskit.gym import TASKS, AtlasEpisode

pytestmark = pytest.mark.rl
Messages = list[dict[str, Any]]
LOOK = {"duration_s": 60.0, "k": 2, "cell": 64, "max_steps": 5, "step_cost": 0.01}
SEED = 3


@contextmanager
def endpoint(reply: Callable[[Messages], str]) -> Iterator[str]:
    """Serve a chat endpoint that streams what a function replies; yield its address."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:  # the name that the server calls
            request = json.loads(self.rfile.read(int(self.headers["content-length"])))
            delta = {"role": "assistant", "content": reply(request["messages"])}
            chunk = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 0, "model": "tiny"}
            choices = [{"index": 0, "delta": delta, "finish_reason": None}]
            ending = [{"index": 0, "delta": {}, "finish_reason": "stop"}]
            usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
            chunks = [{**chunk, "choices": choices}, {**chunk, "choices": ending}]
            lines = [json.dumps(each) for each in [*chunks, {**chunk, "choices": [], "usage": usage}]]
            self.send_response(200)
            self.send_header("content-type", "text/event-stream")
            self.end_headers()
            self.wfile.write("".join(f"data: {line}\n\n" for line in [*lines, "[DONE]"]).encode())

        def log_message(self, *arguments: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1"
    finally:
        server.shutdown()
        server.server_close()


@pytest.fixture(autouse=True)
def no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_KEY", "none")


def play(reply: Callable[[Messages], str], **settings: Any) -> vf.Trace:
    """Play one episode; return its trace."""
    config = AtlasSearchConfig(taskset={"id": "atlas_search", "n_seeds": 2, "first_seed": SEED, **LOOK, **settings})
    env = load_environment(config)
    assert isinstance(env, AtlasSearchEnv)

    async def run() -> vf.Episode:
        async with env.serving():
            return await env.run_episode(next(iter(env.taskset)), context)

    with endpoint(reply) as address:
        context = vf.ModelContext("tiny", vf.EvalClientConfig(base_url=address, api_key_var="NO_KEY"))
        episode = asyncio.run(run())
    assert episode.errors == [] and [trace.errors for trace in episode.traces] == [[]]
    return episode.traces[0]


def images_in(messages: Messages) -> list[Image.Image]:
    parts = [part for message in messages if isinstance(message["content"], list) for part in message["content"]]
    urls = [part["image_url"]["url"] for part in parts if part["type"] == "image_url"]
    return [Image.open(io.BytesIO(base64.b64decode(url.partition("base64,")[2]))) for url in urls]


def test_replies_are_actions_and_the_trace_is_scored() -> None:
    truth = AtlasEpisode.drawn(SEED, **LOOK).question.answer
    replies = iter(
        [
            '{"action": "add_to_scratchpad", "cell": 0, "description": "a city"}',
            "I cannot tell.",
            'Closer {as said}: {"action": "zoom", "cell": 2}.',
            json.dumps({"action": "answer", "answer": truth}),
        ]
    )
    asked: list[Messages] = []

    def reply(messages: Messages) -> str:
        asked.append(messages)
        return next(replies)

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
