"""A step of TRL's GRPOTrainer on a tiny Qwen3-VL: two searches of one world, with images."""

from __future__ import annotations

import inspect
import json
import sys
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
import train_with_trl
from train_with_trl import AtlasTools, train_rows
from transformers import Qwen3VLForConditionalGeneration
from trl import GRPOConfig, GRPOTrainer

from atlaskit.gym import AtlasEpisode

pytestmark = [
    pytest.mark.rl,
    pytest.mark.filterwarnings("ignore::UserWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
]
SEED = 3
SETTINGS = {"duration_s": 60.0, "k": 2, "cell": 64, "max_steps": 4, "step_cost": 0.01}


class Short(AtlasTools):
    settings = SETTINGS


def tool_call(name: str, **arguments: Any) -> str:
    return f"<tool_call>\n{json.dumps({'name': name, 'arguments': arguments})}\n</tool_call><|im_end|>"


def test_a_trainer_steps_on_searches_with_images(
    tiny_qwen: tuple[Any, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, processor = tiny_qwen
    tokenizer, truth = processor.tokenizer, AtlasEpisode.drawn(SEED, **SETTINGS).question.answer
    assert isinstance(truth, int)
    # A random model never calls a tool. So it generates, and these calls replace its text: one
    # attempt answers rightly, the other, after an illegal action, wrongly.
    calls = iter(
        [
            (tool_call("expand", cell=1), tool_call("expand", cell=99)),
            (tool_call("zoom", cell=2), tool_call("zoom", cell=2)),
            (tool_call("answer", number=truth), tool_call("answer", number=(truth + 1) % 4)),
            ("Done.<|im_end|>", "Done.<|im_end|>"),
        ]
    )
    images_seen: list[int] = []
    really_generate = Qwen3VLForConditionalGeneration.generate

    def generate(self: Any, input_ids: torch.Tensor, **settings: Any) -> torch.Tensor:
        really_generate(self, input_ids, **{**settings, "generation_config": None, "max_new_tokens": 4})
        images_seen.append(len(settings["image_grid_thw"]))
        texts = tokenizer(list(next(calls)), return_tensors="pt", padding=True, padding_side="right")
        return torch.cat([input_ids, texts["input_ids"].to(input_ids)], dim=1)

    monkeypatch.setattr(Qwen3VLForConditionalGeneration, "generate", generate)
    trainer = GRPOTrainer(
        model,
        environment_factory=Short,
        train_dataset=train_rows([SEED]),
        processing_class=processor,
        args=GRPOConfig(
            str(tmp_path), max_steps=1, per_device_train_batch_size=2, num_generations=2, learning_rate=1e-3,
            max_completion_length=4096, use_cpu=True, bf16=False, report_to=[], logging_steps=1, save_strategy="no",
        ),
    )  # fmt: skip
    before = {name: weights.detach().clone() for name, weights in model.named_parameters()}
    trainer.train()
    step = trainer.state.log_history[0]
    assert images_seen == [2, 4, 6, 6]  # both begin with a sheet; each action but an answer adds an image
    assert step["tools/call_frequency"] == 3 and step["tools/failure_frequency"] == 0
    right, wrong = (environment.get_reward() for environment in trainer.environments)
    assert (right, wrong) == (pytest.approx(1 - 0.03), pytest.approx(-0.03))
    assert step["rewards/Short/mean"] == pytest.approx(0.47) and step["grad_norm"] > 0
    changed = {name for name, weights in model.named_parameters() if not torch.equal(weights, before[name])}
    assert any("visual" in name for name in changed) and any("language_model" in name for name in changed)


def test_the_script_is_a_program_that_the_installed_trl_accepts(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    given: dict[str, Any] = {}

    class Trainer:
        """In the place of GRPOTrainer, which would download the model."""

        def __init__(self, model: str, **arguments: Any) -> None:
            given.update(arguments, model=model)

        def train(self) -> None:
            given["has_trained"] = True

    monkeypatch.setattr(train_with_trl, "GRPOTrainer", Trainer)
    monkeypatch.setattr(train_with_trl, "GRPOConfig", partial(GRPOConfig, use_cpu=True))
    monkeypatch.setitem(sys.modules, "peft", SimpleNamespace(LoraConfig=dict))
    monkeypatch.chdir(tmp_path)
    train_with_trl.main()
    accepted = inspect.signature(GRPOTrainer.__init__).parameters
    assert given.pop("has_trained") and set(given) <= set(accepted)
    assert len(given["train_dataset"]) == 2_000 and given["args"].use_vllm
    assert given["environment_factory"]().reset(**given["train_dataset"][0])[0]["type"] == "image"
