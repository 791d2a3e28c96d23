"""The two stages of the training: `train_vision` ("eyes") and then `train_language` ("mind").

Each ends with an evaluation on held-out data.
"""

from __future__ import annotations

import json
import random
import time
from collections import defaultdict
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
"""Share of the language model's stage that is the finish, at its end: the learning rate rises again
to a quarter of its peak, and the mixture of examples changes (`curriculum`)."""
CROP_STAGE = 0.4
"""Share of the vision stage, at its beginning, that trains on crops around objects. From whole
cells alone, shapes stayed at chance for half of the stage (nano/trials.md)."""
MUON_RATE = 2.5
"""Learning rate of Muon as a multiple of AdamW's."""
REPORT_STEPS = 10
"""Steps from one row of the learning curves to the next."""
HELD_OUT_STEPS = 500
"""Steps from one evaluation of the language model on held-out groups to the next."""

Gradients = tuple[Sequence[torch.Tensor | None], float, float]
"""The gradient of each weight, the mean loss, and the share of tokens predicted correctly."""


def set_rate(
    optimizer: torch.optim.Optimizer | CombinedOptimizer, peak: float, step: int, steps: int
) -> None:
    """Set the learning rate of a step: a short warm-up, a long plateau, a linear decay.

    The plateau is long because the model acquires its main skills late.

    Args:
        optimizer: The optimizer; a group of weights may take a multiple of the rate, its `share`.
        peak: Learning rate of the plateau.
        step: Number of steps taken so far.
        steps: Number of steps over which the schedule extends.
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
    frames = data.frames[held_out:], data.labels[held_out:], data.boxes[held_out:]
    crops = vision.crop_batches(*frames, vision.BATCH * vision.CROPS_PER_TILE, seed=step)
    tiles = vision.tile_batches(*frames, vision.BATCH, seed=step)
    curve = LearningCurve(out / "eyes.csv", step, vision.MEASURES)
    began_s = time.monotonic()
    written_s = began_s
    while step < steps:
        set_rate(trainer.optimizer, vision.PEAK_RATE, step, steps)
        if step < CROP_STAGE * steps:
            loss, accuracy = trainer.train_on_crops(*next(crops))
        else:
            loss, accuracy = trainer.train_on_tiles(*next(tiles))
        step += 1
        if step % REPORT_STEPS == 0 or step == steps:
            curve.append(step, loss, **accuracy)
            spent_s = time.monotonic() - began_s
            shares = " ".join(f"{name} {share:.3f}" for name, share in accuracy.items())
            print(f"eyes {step}/{steps} {spent_s:.0f} s loss {loss:.3f} {shares}", flush=True)
        if step == steps or time.monotonic() - written_s > checkpoint_s:
            write_checkpoint(step)
            written_s = time.monotonic()
    print("held-out frames:", json.dumps(evaluate_vision(model, data, held_out)), flush=True)


@torch.no_grad()
def evaluate_vision(
    model: Idefics3ForConditionalGeneration, data: TrainingData, held_out: int
) -> dict[str, float]:
    """Return measures on the first `held_out` frames.

    They are the share correct of each attribute, of words where there is one, and of all attributes
    at once; and the mean squared error of visual tokens.
    """
    directions = codebook(data.sizes)
    right = []
    errors = []
    for first in range(0, held_out, 500):
        chosen = slice(first, min(first + 500, held_out))
        tiles = vision.letterbox(data.frames[chosen]).to(model.device)
        truth = torch.from_numpy(data.labels[chosen]).long()
        tokens = visual_tokens(model, tiles).float().cpu()
        scores = value_scores(tokens, data.sizes, directions)
        right_by_attribute = [score.argmax(1) == truth[:, i] for i, score in enumerate(scores)]
        right.append(torch.stack(right_by_attribute, 1))
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
    table = decoder.embed_tokens.weight
    weights = list(decoder.parameters())
    matrices = [weight for weight in weights if weight.ndim > 1 and weight is not table]
    others = [weight for weight in weights if weight.ndim < 2 or weight is table]
    muon = Muon(
        [{"params": matrices, "share": MUON_RATE}], lr=language.PEAK_RATE, decay=0.05 / MUON_RATE
    )
    adamw = torch.optim.AdamW(others, lr=language.PEAK_RATE, betas=(0.9, 0.98), weight_decay=0.0)
    return CombinedOptimizer(muon, adamw)


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
        groups_per_step: Number of groups of examples in one step.
    """
    decoder = model.model.text_model
    weights = list(decoder.parameters())
    optimizer = language_optimizer(decoder)
    step, write_checkpoint = resume("mind", out, decoder, optimizer)
    rng = _seed(step)
    image_token = tokenizer.convert_tokens_to_ids("<image>")
    directions = codebook(data.sizes)
    gradients = partial(
        _gradients, model, weights, image_token, data.sizes, directions, groups_per_step
    )
    # Each group has a thread of its own: two threads compute one group hardly faster than one does.
    threads = torch.get_num_threads() if model.device.type == "cpu" else 1
    pool = ThreadPoolExecutor(
        min(threads, groups_per_step), initializer=lambda: torch.set_num_threads(1)
    )
    curve = LearningCurve(out / "mind.csv", step, ["right"])
    began_s = time.monotonic()
    written_s = began_s
    recent: list[tuple[float, float]] = []  # loss and share right since the last report
    tokens = 0
    finish = steps - round(FINISH * steps)
    while step < steps:
        if step == finish:
            rng = _seed(step)  # as in a run that resumes at this step
        set_rate(optimizer, language.PEAK_RATE, step, finish if step < finish else steps)
        progress: Progress = "finish" if step >= finish else step / finish
        groups = _sample_groups(data, rng, progress, tokenizer, groups_per_step)
        results = list(pool.map(gradients, groups))
        _add_gradients(weights, [group_gradients for group_gradients, _, _ in results])
        tokens += sum(group.tokens for group in groups)
        torch.nn.utils.clip_grad_norm_(weights, 1.0)
        optimizer.step()
        step += 1
        recent += [(loss, right) for _, loss, right in results]
        if step % REPORT_STEPS == 0 or step == steps:
            loss, right = (sum(each) / len(recent) for each in zip(*recent, strict=True))
            recent.clear()
            curve.append(step, loss, right=right)
            _print_progress(f"mind {step}/{steps}", loss, right, time.monotonic() - began_s, tokens)
        if step % HELD_OUT_STEPS == 0 or step == steps:
            measures = evaluate_language(model, tokenizer, data)
            print("held-out groups:", json.dumps(measures), flush=True)
        if step == steps or time.monotonic() - written_s > checkpoint_s:
            write_checkpoint(step)
            written_s = time.monotonic()


def _add_gradients(
    weights: Sequence[torch.nn.Parameter], by_group: Sequence[Sequence[torch.Tensor | None]]
) -> None:
    """Set the gradient of each weight to the sum over all groups."""
    for weight, *gradients in zip(weights, *by_group, strict=True):
        present = [gradient for gradient in gradients if gradient is not None]
        weight.grad = torch.stack(present).sum(0)


def _print_progress(step: str, loss: float, right: float, spent_s: float, tokens: int) -> None:
    """Print a line about the steps since the last report, and the tokens per second so far."""
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
    """Draw groups and tokenize them.

    The longest come first, so that no thread starts a long group at the end of a step.
    """
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
    gradients = torch.autograd.grad(loss.mean() / groups_per_step, weights, allow_unused=True)
    return gradients, float(loss.detach().mean()), float(right.float().mean())


@torch.no_grad()
def evaluate_language(
    model: Idefics3ForConditionalGeneration, tokenizer: PreTrainedTokenizerFast, data: TrainingData
) -> dict[str, tuple[int, float, float]]:
    """Compare predictions on held-out groups with the teacher's replies, token by token.

    Each prediction is made from the teacher's tokens before it, not from the model's own.

    Returns:
        For each kind of call: the number of examples, and the shares of whole replies and of tokens
        that are correct. For each sign of a thought: the number of tokens, zero, and the share that
        is correct.
    """
    rng = random.Random(0)
    image_token = tokenizer.convert_tokens_to_ids("<image>")
    directions = codebook(data.sizes)
    signs = {sign: tokenizer.convert_tokens_to_ids(sign) for sign in "-+=^"}
    sums: dict[str, list[float]] = defaultdict(lambda: [0, 0.0, 0.0])
    for group in data.held_out:
        for example in group["examples"][:5]:
            tokens = language.tokenize_group(
                {**group, "examples": [example]}, 1, tokenizer, rng, CONTEXT
            )
            _, right, targets = language.token_losses(
                model, tokens, image_token, data.sizes, directions
            )
            of_call = sums[example["step"]]
            of_call[0] += 1
            of_call[1] += float(right.all())
            of_call[2] += float(right.float().mean())
            for sign, token in signs.items():
                is_sign = targets == token
                if is_sign.any():
                    of_sign = sums[f"{sign} in {example['step']}"]
                    of_sign[0] += int(is_sign.sum())
                    of_sign[2] += float(right[is_sign].sum())
    return {
        name: (int(count), round(whole / count, 3), round(part / count, 3))
        for name, (count, whole, part) in sums.items()
    }
