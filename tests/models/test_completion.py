"""Reading chat completions: reasoning, fences, token counts, answers that are cut off."""

from __future__ import annotations

from typing import Any

import pytest
from support.faults import completion, send
from support.loopback import Loop
from support.stand_ins import request

from atlaskit.models.client import VLM
from atlaskit.models.completion import read_completion

ANSWER = '{"thought":"t","cell":3}'


def body_with(text: str, **message: Any) -> Any:
    return {"choices": [{"message": {"content": text, **message}}]}


@pytest.mark.parametrize(
    ("body", "text", "reasoning"),
    [
        (body_with(f"<think>Hm.</think>{ANSWER}"), ANSWER, "Hm."),
        (body_with(f"Hm, so.</think>\n\n{ANSWER}"), f"\n\n{ANSWER}", "Hm, so."),
        (body_with(ANSWER, reasoning="Hm."), ANSWER, "Hm."),
        (body_with(ANSWER, reasoning_content="Hm."), ANSWER, "Hm."),
        (body_with('{"thought":"</think>","cell":3}'), '{"thought":"</think>","cell":3}', ""),
        (body_with(f"```\n{ANSWER}\n```"), ANSWER, ""),
    ],
)
def test_reasoning_is_separated_from_the_answer(body: Any, text: str, reasoning: str) -> None:
    found = read_completion(body)
    assert (found.text, found.reasoning) == (text, reasoning)


def test_impossible_counts_are_not_counted() -> None:
    counts = {
        "prompt_tokens": 100,
        "completion_tokens": True,
        "prompt_tokens_details": {"cached_tokens": 900, "multimodal_tokens": {"image": -4}},
    }
    usage = read_completion({**body_with(ANSWER), "usage": counts}).usage
    assert (usage.prompt_tokens, usage.cached_tokens, usage.image_tokens, usage.completion_tokens) == (100, 100, 0, 0)
    for unusable in (None, [], "many", {"prompt_tokens": 10**30}, {"prompt_tokens_details": 7}):
        assert read_completion({**body_with(ANSWER), "usage": unusable}).usage.tokens == 0


def test_the_correction_of_a_cut_off_answer_says_so(loop: Loop) -> None:
    half = {"index": 0, "finish_reason": "length", "message": {"role": "assistant", "content": ANSWER[:9]}}
    loop.faults = [lambda handler: send(handler, 200, {**completion(""), "choices": [half]})]
    assert VLM(loop.url, "loop").complete(request()).usage.calls == 2
    assert "cut off after 10 tokens" in loop.bodies[1]["messages"][-1]["content"]
