"""A real vLLM server with a tiny untrained model of each family of vision-language models.

`make test-server` serves two of them, `make test-server FAMILIES=all` all.
"""

import json
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Unpack

import pytest
from server.tiny_families import IN_CI, TinyFamily, chosen, make_families
from support.asking import ask
from support.invariants import check_books, check_counters, check_grounded
from support.method_calls import method_calls
from support.searches import text_of

from atlaskit.agents.budget import Budget
from atlaskit.agents.schemas import TaskAnswer
from atlaskit.caching.cache import Cache
from atlaskit.environment.render import view
from atlaskit.models.client import VLM
from atlaskit.models.names import FAMILIES, family_of, has_linear_attention
from atlaskit.models.protocol import BadReply, CallControl, Message, ModelWrapper, ParametricSchema, Reply, Request
from atlaskit.models.serving import install
from atlaskit.models.serving.plan import sizes_of
from atlaskit.models.serving.server import _servers, serve
from atlasworld import World

pytestmark = pytest.mark.server

BUDGET = Budget(calls=14)
ENDS = {"presence_penalty": 2}
"""Else a model that babbles may never end its thought: it is to repeat no token."""


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the models, one in a folder of its family's name."""
    directory = tmp_path_factory.mktemp("families")
    make_families([each.folder for each in chosen()], directory)
    return directory


@pytest.fixture(scope="module", params=chosen(), ids=lambda each: each.folder)
def family(request: pytest.FixtureRequest) -> TinyFamily:
    return request.param


@pytest.fixture(scope="module")
def vlm(models: Path, family: TinyFamily, small_and_offline: None) -> Iterator[VLM]:
    with serve(f"{models / family.folder} --extra-body '{json.dumps(ENDS)}'") as vlm:
        yield vlm


@dataclass
class Recording(ModelWrapper):
    """Keeps each request with its reply."""

    pairs: list[tuple[Request, Reply]] = field(default_factory=list)

    def complete(self, request: Request, **control: Unpack[CallControl]) -> Reply:
        reply = self.model.complete(request, **control)
        self.pairs.append((request, reply))
        return reply


def test_a_whole_search_at_64_cells(vlm: VLM, family: TinyFamily, models: Path, world: World, cache: Cache) -> None:
    """Every reply fits its schema at once, and the usage is what the server counted.

    Only a text that never ends fits none: a random model may write a number of thousands of digits.
    """
    before = vlm.counters()
    model = Recording(vlm)
    question = world.questions[0]
    result = ask(world.drawn, question, vlm=model, cache=cache, k=8, cell=64, workers=2, budget=BUDGET)
    server = vlm.counters() - before
    assert result.prediction is not None and result.total.calls > 8
    lost = [failure.reason for failure in result.trace.of("failure")]
    assert all("it was cut off after" in error for error in lost), lost
    lines = [line.text for line in world.drawn.subtitles.lines]
    texts = [text_of(request) for request, _ in model.pairs]
    assert any(line in text for line in lines for text in texts), "subtitles are shown"
    check_grounded(result)
    check_books(result, BUDGET)
    longest = max(request.max_tokens for request, _ in model.pairs)
    for call in result.calls:  # repeated only where a text is cut off, or a thought has no answer
        assert not call.retries or call.completion_tokens > longest or call.reasoning_tokens > 0
    assert not any(event.problem for event in result.trace.of("step"))

    check_counters(result, server)
    if not has_linear_attention(str(models / family.folder)):
        # There vLLM finds only blocks of half a thousand tokens again; and the random replies of
        # such a model may end each visit at its first step, with one image.
        assert server["prefix_hits"] > 0
        assert max(len(request.images) for request, _ in model.pairs) > 1, "several images in one request"
    if family.image_tokens:
        for request, reply in model.pairs:
            expected = sum(family.image_tokens(*image.size) for image in request.images)
            assert image_tokens(reply) == expected, [image.size for image in request.images]
    assert any(reply.reasoning for _, reply in model.pairs) == family.thinks
    assert not any(text in reply.text for _, reply in model.pairs for text in ("<think>", "</think>"))


def test_the_plan_is_what_vllm_logs_of_its_cache(vlm: VLM, family: TinyFamily, models: Path) -> None:
    """The server has 1 GiB for conversations (see `vlm`), and may give each the full context."""
    if family not in IN_CI:
        pytest.skip("the arithmetic is for these two kinds")
    (server,) = (each for each in _servers if each.vlm is vlm)
    logged = re.findall(r"concurrency for ([\d,]+) tokens per request: ([\d.]+)x", server.log.read_text())[-1]
    context, conversations = int(logged[0].replace(",", "")), float(logged[1])
    sizes = sizes_of(str(models / family.folder))
    planned = 2**30 / (context * sizes.cache_per_token + sizes.state)
    # vLLM rounds a conversation up to whole blocks, and states up to the size of a block.
    assert planned == pytest.approx(conversations, rel=0.02)


def test_images_are_sent_once_and_then_named(vlm: VLM, world: World, cache: Cache) -> None:
    """Three images of different sizes in one request."""
    views = [view(world.drawn, k=k, cell=size, cache=cache) for k, size in ((8, 65), (4, 96), (2, 128))]
    # As if the server ran elsewhere: it shares no folder.
    plain = VLM(vlm.base_url, vlm.name, extra_body=ENDS)
    questions = ("What is here?", "And what is there?")
    first, second = (plain.complete(request(*views, words)) for words in questions)
    assert first.transit.sent_bytes > sum(len(each.jpeg()) for each in views) > 4 * second.transit.sent_bytes
    assert image_tokens(first) == image_tokens(second) > 0
    alone = [image_tokens(plain.complete(request(each, "What is here?"))) for each in views]
    assert sum(alone) == image_tokens(first)


def image_tokens(reply: Reply) -> float:
    """Return the image tokens of an attempt: random thoughts may be too long for the first one."""
    return reply.usage.image_tokens / reply.usage.calls


def request(*parts: object) -> Request:
    return Request("worker", "step", (Message("user", parts),), TaskAnswer, max_tokens=800)  # type: ignore[arg-type]


def test_the_servers_grammar_enforces_the_schema_of_every_call_of_a_method(
    vlm: VLM, family: TinyFamily, cache: Cache
) -> None:
    """A model that babbles need not end a list before its tokens end, and may give an interval two
    equal ends, which no grammar can forbid.
    """
    if family.folder != "qwen3-vl":
        pytest.skip("one model that babbles is enough")
    asked = {name: call.request() for name, call in method_calls(cache)}

    def answered(request: Request) -> Reply | None:
        try:
            return vlm.complete(request)
        except BadReply as error:
            assert "it was cut off after" in str(error) or "end_s must differ from start_s" in str(error)
            return None

    with ThreadPoolExecutor(8) as pool:
        replies = dict(zip(asked, pool.map(answered, asked.values()), strict=True))
    assert sum(reply is None for reply in replies.values()) <= len(asked) // 8
    for name, reply in replies.items():
        schema = asked[name].schema
        shape = schema.shape if isinstance(schema, ParametricSchema) else schema
        assert reply is None or (isinstance(reply.answer, shape) and not reply.usage.estimated), name


def test_thinking_can_be_turned_off(vlm: VLM, family: TinyFamily) -> None:
    """A whole search shows that it is on. Without it the schema applies to the whole answer."""
    if not family_of(vlm.name).no_thinking:
        pytest.skip("its models never think, or always")
    quiet = VLM(vlm.base_url, vlm.name, thinking=False, extra_body=ENDS)
    replies = [quiet.complete(request(words)) for words in ("What do you see?", "Count to three.", "Where are we?")]
    assert not any(reply.reasoning for reply in replies)


def test_vllm_has_every_parser_of_the_table() -> None:
    package = next(Path(install.interpreter()).parents[1].glob("lib/python*/site-packages/vllm"))
    registry = (package / "reasoning" / "__init__.py").read_text()
    wanted = {each.reasoning_parser for each in FAMILIES if each.reasoning_parser}
    assert wanted and not [parser for parser in wanted if f'"{parser}": (' not in registry]
