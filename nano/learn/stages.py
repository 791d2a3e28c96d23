"""The two training loops and their held-out evaluations: `train_vision`, then `train_language`.

Each ends with an evaluation on held-out data.
"""

from __future__ import annotations

import json
import random
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import language
import torch
import vision
from architecture import CONTEXT, visual_tokens
from checkpoint import LearningCurve, resume
from codebook import codebook, target_tokens, value_scores
from curriculum import Progress, sample_group
from optimizer import CombinedOptimizer, Muon
from training_data import TrainingData
from transformers import Idefics3ForConditionalGeneration, LlamaModel, PreTrainedTokenizerFast

VISION_STEPS, LANGUAGE_STEPS = 3400, 3250
"""Steps of the full recipe."""
FINISH = 250 / LANGUAGE_STEPS
"""Share of the language model's stage, at its end, that starts again at a quarter of the learning
rate and repeats what came last."""
CROP_STAGE = 0.4
"""Share of the vision tower's stage that trains on crops around objects. From whole cells alone,
shapes stayed at chance for half of the stage (nano/trials.md)."""
MUON_RATE = 2.5
"""Learning rate of Muon as a multiple of AdamW's."""
REPORT_STEPS = 10
"""Steps from one row of the learning curves to the next."""
HELD_OUT_STEPS = 500
"""Steps from one evaluation of the language model on held-out groups to the next."""

Gradients = tuple[Sequence[torch.Tensor | None], float, float]


def set_rate(
    optimizer: torch.optim.Optimizer | CombinedOptimizer, peak: float, step: int, steps: int
) -> None:
    """Set the learning rate of a step: a short warm-up, a long plateau, a linear decay.

    The plateau is long because the model finds what it has to find late.
    """
    decay_steps = 0.3 * steps
    rate = max(0.02, min(1.0, (step + 1) / min(100, decay_steps), (steps - step) / decay_steps))
    for group in optimizer.param_groups:
        group["lr"] = peak * rate * group.get("share", 1.0)


def train_vision(
    model: Idefics3ForConditionalGeneration,
    data: TrainingData,
    out: Path,
    steps: int,
    checkpoint_s: float,
) -> None:
    """Train the vision tower and the connector.

    Args:
        model: The model, whose weights change.
        data: The training data; the first frames are held out.
        out: Folder for the checkpoint and the learning curve.
        steps: Steps of the stage.
        checkpoint_s: Seconds from one checkpoint to the next.
    """
    held_out = min(3000, len(data.frames) // 10)
    trainer = vision.VisionTrainer(model, data.sizes)
    step, write_checkpoint = resume("eyes", out, trainer, trainer.optimizer)
    taken = data.frames[held_out:], data.labels[held_out:], data.boxes[held_out:]
    crops = vision.crop_batches(*taken, vision.BATCH * vision.CROPS_PER_TILE, seed=step)
    tiles = vision.tile_batches(*taken, vision.BATCH, seed=step)
    curve = LearningCurve(out / "eyes.csv", step, vision.MEASURES)
    began, written = time.monotonic(), time.monotonic()
    while step < steps:
        set_rate(trainer.optimizer, vision.PEAK_RATE, step, steps)
        if step < CROP_STAGE * steps:
            loss, accuracy = trainer.train_on_crops(*next(crops))
        else:
            loss, accuracy = trainer.train_on_tiles(*next(tiles))
        step += 1
        if step % REPORT_STEPS == 0 or step == steps:
            curve.append(step, loss, **accuracy)
            shares = " ".join(f"{name} {share:.3f}" for name, share in accuracy.items())
            print(
                f"eyes {step}/{steps} {time.monotonic() - began:.0f} s loss {loss:.3f} {shares}",
                flush=True,
            )
        if step == steps or time.monotonic() - written > checkpoint_s:
            write_checkpoint(step)
            written = time.monotonic()
    print("held-out frames:", json.dumps(evaluate_vision(model, data, held_out)), flush=True)


@torch.no_grad()
def evaluate_vision(
    model: Idefics3ForConditionalGeneration, data: TrainingData, held_out: int
) -> dict[str, float]:
    """Return the accuracy on the held-out frames, and the squared error of visual tokens."""
    directions, right, errors = codebook(data.sizes), [], []
    for first in range(0, held_out, 500):
        chosen = slice(first, min(first + 500, held_out))
        tiles = vision.letterbox(data.frames[chosen]).to(model.device)
        truth = torch.from_numpy(data.labels[chosen]).long()
        tokens = visual_tokens(model, tiles).float().cpu()
        scores = value_scores(tokens, data.sizes, directions)
        right.append(
            torch.stack([score.argmax(1) == truth[:, part] for part, score in enumerate(scores)], 1)
        )
        errors.append((tokens - target_tokens(truth, data.sizes, directions)).pow(2).sum(1))
    shares = torch.cat(right).float()
    accuracy = {
        name: round(float(share), 4)
        for name, share in zip(vision.MEASURES, shares.mean(0), strict=False)
    }
    has_word = torch.from_numpy(data.labels[:held_out, 4] > 0)
    return {
        **accuracy,
        "word where there is one": round(float(shares[has_word, 4].mean()), 4),
        "all": round(float(shares.min(1).values.mean()), 4),
        "squared error": round(float(torch.cat(errors).mean()), 4),
    }


def language_optimizer(decoder: LlamaModel) -> CombinedOptimizer:
    """Return the optimizer: Muon for matrices, AdamW for embeddings and all other weights."""
    table, weights = decoder.embed_tokens.weight, list(decoder.parameters())
    matrices = [weight for weight in weights if weight.ndim > 1 and weight is not table]
    others = [weight for weight in weights if weight.ndim < 2 or weight is table]
    return CombinedOptimizer(
        Muon(
            [{"params": matrices, "share": MUON_RATE}],
            lr=language.PEAK_RATE,
            decay=0.05 / MUON_RATE,
        ),
        torch.optim.AdamW(others, lr=language.PEAK_RATE, betas=(0.9, 0.98), weight_decay=0.0),
    )


def train_language(
    model: Idefics3ForConditionalGeneration,
    tokenizer: PreTrainedTokenizerFast,
    data: TrainingData,
    out: Path,
    steps: int,
    checkpoint_s: float,
    *,
    groups_per_step: int,
) -> None:
    """Train the language model.

    Args:
        model: The model, whose weights change.
        tokenizer: Its tokenizer.
        data: The training data.
        out: Folder for the checkpoint and the learning curve.
        steps: Steps of the stage.
        checkpoint_s: Seconds from one checkpoint to the next.
        groups_per_step: Groups of examples in one step.
    """
    decoder = model.model.text_model
    weights, optimizer = list(decoder.parameters()), language_optimizer(decoder)
    step, write_checkpoint = resume("mind", out, decoder, optimizer)
    rng = _seed(step)
    image_token, directions = tokenizer.convert_tokens_to_ids("<image>"), codebook(data.sizes)
    gradients = partial(
        _gradients, model, weights, image_token, data.sizes, directions, groups_per_step
    )
    # Each group has a thread of its own: two threads compute one group hardly faster than one does.
    threads = torch.get_num_threads() if model.device.type == "cpu" else 1
    pool = ThreadPoolExecutor(
        min(threads, groups_per_step), initializer=lambda: torch.set_num_threads(1)
    )
    curve = LearningCurve(out / "mind.csv", step, ["right"])
    began, written = time.monotonic(), time.monotonic()
    recent, tokens = list[tuple[float, float]](), 0
    finish = steps - round(FINISH * steps)
    while step < steps:
        if step == finish:
            rng = _seed(step)  # as a run that resumes here
        set_rate(optimizer, language.PEAK_RATE, step, finish if step < finish else steps)
        progress: Progress = "finish" if step >= finish else step / finish
        groups = _sample_groups(data, rng, progress, tokenizer, groups_per_step)
        results = list(pool.map(gradients, groups))
        _add_gradients(weights, [found for found, _, _ in results])
        tokens += sum(group.tokens for group in groups)
        torch.nn.utils.clip_grad_norm_(weights, 1.0)
        optimizer.step()
        step += 1
        recent += [(loss, right) for _, loss, right in results]
        if step % REPORT_STEPS == 0 or step == steps:
            loss, right = (sum(each) / len(recent) for each in zip(*recent, strict=True))
            recent.clear()
            curve.append(step, loss, right=right)
            _print_progress(f"mind {step}/{steps}", loss, right, time.monotonic() - began, tokens)
        if step % HELD_OUT_STEPS == 0 or step == steps:
            print(
                "held-out groups:",
                json.dumps(evaluate_language(model, tokenizer, data)),
                flush=True,
            )
        if step == steps or time.monotonic() - written > checkpoint_s:
            write_checkpoint(step)
            written = time.monotonic()


def _add_gradients(
    weights: Sequence[torch.nn.Parameter], by_group: Sequence[Sequence[torch.Tensor | None]]
) -> None:
    """Set the gradient of each weight to the sum over all groups."""
    for weight, *gradients in zip(weights, *by_group, strict=True):
        weight.grad = torch.stack([gradient for gradient in gradients if gradient is not None]).sum(
            0
        )


def _print_progress(step: str, loss: float, right: float, spent_s: float, tokens: int) -> None:
    measures = f"loss {loss:.4f} right {right:.4f} {tokens / spent_s:.0f} tokens/s"
    print(f"{step} {spent_s:.0f} s {measures}", flush=True)


def _seed(step: int) -> random.Random:
    """Seed PyTorch for the steps from `step` on; return a generator with the same seed."""
    rng = random.Random(step)
    torch.manual_seed(step)
    return rng


def _sample_groups(
    data: TrainingData,
    rng: random.Random,
    progress: Progress,
    tokenizer: PreTrainedTokenizerFast,
    count: int,
) -> list[language.TokenizedGroup]:
    """Draw groups, the longest first, so that no thread starts a long one at the end of a step."""
    groups = [
        language.tokenize_group(*sample_group(data, rng, progress), tokenizer, rng)
        for _ in range(count)
    ]
    groups.sort(key=lambda group: -group.tokens)
    return groups


def _gradients(
    model: Idefics3ForConditionalGeneration,
    weights: Sequence[torch.nn.Parameter],
    image_token: int,
    sizes: list[int],
    directions: torch.Tensor,
    groups_per_step: int,
    group: language.TokenizedGroup,
) -> Gradients:
    """Return a group's part of the gradients, its mean loss, and its share of correct tokens."""
    loss, right, _ = language.token_losses(model, group, image_token, sizes, directions)
    found = torch.autograd.grad(loss.mean() / groups_per_step, weights, allow_unused=True)
    return found, float(loss.detach().mean()), float(right.float().mean())


@torch.no_grad()
def evaluate_language(
    model: Idefics3ForConditionalGeneration, tokenizer: PreTrainedTokenizerFast, data: TrainingData
) -> dict[str, tuple[int, float, float]]:
    """Compare predictions on held-out groups with the teacher's replies, token by token.

    Each prediction gets the teacher's tokens before it.

    Returns:
        For each kind of call: the number of examples and the shares of whole replies and of tokens
        that are correct. For each sign of a thought: the number of tokens, zero, and the share that
        is correct.
    """
    rng, image_token = random.Random(0), tokenizer.convert_tokens_to_ids("<image>")
    directions = codebook(data.sizes)
    sums: dict[str, list[float]] = {}
    signs = {sign: tokenizer.convert_tokens_to_ids(sign) for sign in "-+=^"}
    for row in data.held_out:
        for example in row["examples"][:5]:
            group = language.tokenize_group(
                {**row, "examples": [example]}, 1, tokenizer, rng, CONTEXT
            )
            _, right, targets = language.token_losses(
                model, group, image_token, data.sizes, directions
            )
            entry = sums.setdefault(example["step"], [0, 0.0, 0.0])
            entry[0] += 1
            entry[1] += float(right.all())
            entry[2] += float(right.float().mean())
            for sign, token in signs.items():
                if (is_sign := targets == token).any():
                    entry = sums.setdefault(f"{sign} in {example['step']}", [0, 0.0, 0.0])
                    entry[0] += int(is_sign.sum())
                    entry[2] += float(right[is_sign].sum())
    return {
        name: (int(n), round(whole / n, 3), round(each / n, 3))
        for name, (n, whole, each) in sums.items()
    }
