"""Makes nano from its teaching material: eyes first, then the mind, then the folder that vLLM serves.

    python atlaskit/nano/learn MATERIAL OUT [--share 1.0] [--threads N] [--on FOLDER]

Each stage writes down where it is every few minutes, and goes on from there when it was cut short. `share` makes every
stage that much shorter, for a trial. `on` begins from a model made before, its eyes and its words as they are.
"""

from __future__ import annotations

import argparse
import csv
import fcntl
import json
import random
import shutil
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TextIO

import language
import torch
import vision
from architecture import CELL, CONTEXT, K, config, look
from curriculum import Lot, Part, chosen, material, texts
from optimizer import Guide, Muon
from tokenizer import SPECIAL, write_processor
from tokenizer import make as make_tokenizer
from transformers import Idefics3ForConditionalGeneration, LlamaModel, PreTrainedTokenizerFast

EYES_STEPS, MIND_STEPS = 3400, 3250
"""Of the whole recipe."""
FINISH = 250 / MIND_STEPS
"""Share of the second stage, its last, that begins once more at a quarter of the pace and drills what came last."""
GLANCING = 0.4
"""Share of the first stage that is spent on squares around objects, in which shapes are learned three times as fast."""
KEEP_S = 120.0
"""Seconds between two notes of where a stage is."""
BOLD = 2.5
"""How much further Muon goes than AdamW."""
GOING_ON = 0.1
"""Of the pace of learning, for a model that has learned before. A round of its own rewarded searches cost 8 points of
accuracy at half of it, and one at a tenth, which is noise."""
KNOWN = 0.5
"""Of a model that goes on, how much of what it was stays in its weights: their mean knows what was practised, and has
forgotten less of the drills (Wortsman et al. 2022)."""
TOLD = 10
"""Steps between two rows of the diary."""
GROUPS = 8
"""Groups of lessons in one step."""
_held: list[TextIO] = []
"""Locks, which are let go of when their files are closed."""


class Diary:
    """What was measured on the way, as a table that survives a restart."""

    def __init__(self, path: Path, step: int, columns: Sequence[str]) -> None:
        kept = [row for row in csv.DictReader(path.open()) if int(row["step"]) <= step] if path.exists() else []
        self._file = path.open("w", newline="")
        self._rows = csv.DictWriter(self._file, ["step", "seconds", "loss", *columns])
        self._rows.writeheader()
        self._rows.writerows(kept)
        self._before_s = float(kept[-1]["seconds"]) if kept else 0.0
        self._began = time.monotonic()

    def note(self, step: int, loss: float, **row: float) -> None:
        """Add a row, with the seconds that were spent so far."""
        seconds = self._before_s + time.monotonic() - self._began
        found = {"seconds": round(seconds, 1), "loss": round(loss, 4)}
        self._rows.writerow({"step": step, **found, **{name: round(share, 4) for name, share in row.items()}})
        self._file.flush()


def resumable(
    name: str, out: Path, model: torch.nn.Module, guide: torch.optim.Optimizer | Guide
) -> tuple[int, Callable[[int], None]]:
    """Return the step at which a stage goes on, and what writes that down."""
    path = out / f"{name}.ckpt"
    step = 0
    if path.exists():
        kept = torch.load(path, weights_only=True, map_location="cpu")
        model.load_state_dict(kept["model"])
        guide.load_state_dict(kept["guide"])
        step = kept["step"]
        print(f"{name}: goes on from step {step}", flush=True)

    def keep(step: int) -> None:
        state = {"model": model.state_dict(), "guide": guide.state_dict(), "step": step}
        torch.save(state, path.with_suffix(".part"))
        path.with_suffix(".part").replace(path)

    return step, keep


def paced(guide: torch.optim.Optimizer | Guide, peak: float, step: int, steps: int) -> None:
    """Set the pace of learning: up at first, the same for long, since what has to be found is found late, then down."""
    part = 0.3 * steps
    pace = max(0.02, min(1.0, (step + 1) / min(100, part), (steps - step) / part))
    for group in guide.param_groups:
        group["lr"] = peak * pace * group.get("share", 1.0)


def teach_eyes(model: Idefics3ForConditionalGeneration, lot: Lot, out: Path, steps: int, keep_s: float) -> None:
    """The first stage."""
    hold = min(3000, len(lot.frames) // 10)
    learner = vision.Learner(model, lot.sizes)
    step, keep = resumable("eyes", out, learner, learner.guide)
    taken = lot.frames[hold:], lot.codes[hold:], lot.places[hold:]
    glimpses = vision.glimpses(*taken, vision.BATCH * vision.GLIMPSES, seed=step)
    stream = vision.batches(*taken, vision.BATCH, seed=step)
    diary, began, kept = Diary(out / "eyes.csv", step, vision.TOLD), time.monotonic(), time.monotonic()
    while step < steps:
        paced(learner.guide, vision.PEAK, step, steps)
        loss, right = learner.glimpse(*next(glimpses)) if step < GLANCING * steps else learner.step(*next(stream))
        step += 1
        if step % TOLD == 0 or step == steps:
            diary.note(step, loss, **right)
            shares = " ".join(f"{name} {share:.3f}" for name, share in right.items())
            print(f"eyes {step}/{steps} {time.monotonic() - began:.0f} s loss {loss:.3f} {shares}", flush=True)
        if step == steps or time.monotonic() - kept > keep_s:
            keep(step)
            kept = time.monotonic()
    print("held-out sights:", json.dumps(judge_eyes(model, lot, hold)), flush=True)


@torch.no_grad()
def judge_eyes(model: Idefics3ForConditionalGeneration, lot: Lot, hold: int) -> dict[str, float]:
    """Return how often the eyes are right about frames of worlds that they never learned from, part by part."""
    book, right, blur = vision.directions(lot.sizes), [], []
    for first in range(0, hold, 500):
        chosen = slice(first, min(first + 500, hold))
        tiles, told = vision.boxed(lot.frames[chosen]).to(model.device), torch.from_numpy(lot.codes[chosen]).long()
        seen = look(model, tiles).float().cpu()
        scores = vision.read_off(seen, lot.sizes, book)
        right.append(torch.stack([score.argmax(1) == told[:, part] for part, score in enumerate(scores)], 1))
        blur.append((seen - vision.summed(told, lot.sizes, book)).pow(2).sum(1))
    shares = torch.cat(right).float()
    found = {name: round(float(share), 4) for name, share in zip(vision.TOLD, shares.mean(0), strict=False)}
    worded = torch.from_numpy(lot.codes[:hold, 4] > 0)
    return {
        **found,
        "word where there is one": round(float(shares[worded, 4].mean()), 4),
        "all": round(float(shares.min(1).values.mean()), 4),
        "blur": round(float(torch.cat(blur).mean()), 4),
    }


def guide_of(thinker: LlamaModel) -> Guide:
    """Return what leads the weights of the mind: Muon those of matrices, AdamW the table of words and all others."""
    table, learnt = thinker.embed_tokens.weight, list(thinker.parameters())
    firm = [weight for weight in learnt if weight.ndim > 1 and weight is not table]
    loose = [weight for weight in learnt if weight.ndim < 2 or weight is table]
    return Guide(
        Muon([{"params": firm, "share": BOLD}], lr=language.PEAK, decay=0.05 / BOLD),
        torch.optim.AdamW(loose, lr=language.PEAK, betas=(0.9, 0.98), weight_decay=0.0),
    )


def teach_mind(
    model: Idefics3ForConditionalGeneration,
    tokenizer: PreTrainedTokenizerFast,
    lot: Lot,
    out: Path,
    steps: int,
    keep_s: float,
    *,
    size: int,
    goes_on: bool,
) -> None:
    """The second stage, so many groups of lessons a step; of a model that goes on from what it knew, only the last
    part, as often."""
    name = "practice" if goes_on else "mind"
    thinker, book = model.model.text_model, vision.directions(lot.sizes)
    learnt, guide = list(thinker.parameters()), guide_of(thinker)
    step, keep = resumable(name, out, thinker, guide)
    image = tokenizer.convert_tokens_to_ids("<image>")
    rng = random.Random(step)
    torch.manual_seed(step)

    def slopes(group: language.Group) -> tuple[Sequence[torch.Tensor | None], float, float]:
        loss, right, _ = language.lost(model, group, image, lot.sizes, book)
        found = torch.autograd.grad(loss.mean() / size, learnt, allow_unused=True)
        return found, float(loss.detach().mean()), float(right.float().mean())

    # The groups of a step side by side, each by one thread: one group by two threads is hardly faster than by one.
    threads = torch.get_num_threads() if model.device.type == "cpu" else 1
    pool = ThreadPoolExecutor(min(threads, size), initializer=lambda: torch.set_num_threads(1))
    diary, began, kept = Diary(out / f"{name}.csv", step, ["right"]), time.monotonic(), time.monotonic()
    lately, seen = list[tuple[float, float]](), 0
    first = steps if goes_on else steps - round(FINISH * steps)
    while step < steps:
        if step == first:  # as a run that is resumed there
            rng = random.Random(step)
            torch.manual_seed(step)
        paced(guide, language.PEAK * (GOING_ON if goes_on else 1.0), step, first if step < first else steps)
        part: Part = "practice" if goes_on else "finish" if step >= first else step / first
        groups = [language.group_of(*chosen(lot, rng, part), tokenizer, rng) for _ in range(size)]
        groups.sort(key=lambda group: -group.tokens)  # the longest first, so that no thread is left with it at the end
        told = list(pool.map(slopes, groups))
        for weight, *found in zip(learnt, *(found for found, _, _ in told), strict=True):
            weight.grad = torch.stack([slope for slope in found if slope is not None]).sum(0)
        seen += sum(group.tokens for group in groups)
        torch.nn.utils.clip_grad_norm_(learnt, 1.0)
        guide.step()
        step += 1
        lately += [(loss, right) for _, loss, right in told]
        if step % TOLD == 0 or step == steps:
            mean, right = (sum(each) / len(lately) for each in zip(*lately, strict=True))
            lately.clear()
            diary.note(step, mean, right=right)
            spent_s = time.monotonic() - began
            how = f"loss {mean:.4f} right {right:.4f} {seen / spent_s:.0f} tokens/s"
            print(f"{name} {step}/{steps} {spent_s:.0f} s {how}", flush=True)
        if step % 500 == 0 or step == steps:
            print("held-out lessons:", json.dumps(judge_mind(model, tokenizer, lot)), flush=True)
        if step == steps or time.monotonic() - kept > keep_s:
            keep(step)
            kept = time.monotonic()


@torch.no_grad()
def judge_mind(
    model: Idefics3ForConditionalGeneration, tokenizer: PreTrainedTokenizerFast, lot: Lot
) -> dict[str, tuple[int, float, float]]:
    """Return, for each kind of call and each sign of a thought: how many, and the shares of whole replies and tokens
    that are as the teacher's, given what the teacher said before."""
    rng, image, book = random.Random(0), tokenizer.convert_tokens_to_ids("<image>"), vision.directions(lot.sizes)
    sums: dict[str, list[float]] = {}
    signs = {sign: tokenizer.convert_tokens_to_ids(sign) for sign in "-+=^"}
    for row in lot.held:
        for example in row["examples"][:5]:
            group = language.group_of({**row, "examples": [example]}, 1, tokenizer, rng, CONTEXT)
            _, right, told = language.lost(model, group, image, lot.sizes, book)
            entry = sums.setdefault(example["step"], [0, 0.0, 0.0])
            entry[0] += 1
            entry[1] += float(right.all())
            entry[2] += float(right.float().mean())
            for sign, token in signs.items():
                if (there := told == token).any():
                    entry = sums.setdefault(f"{sign} in {example['step']}", [0, 0.0, 0.0])
                    entry[0] += int(there.sum())
                    entry[2] += float(right[there].sum())
    return {name: (int(n), round(whole / n, 3), round(each / n, 3)) for name, (n, whole, each) in sums.items()}


def hold(out: Path, stage: str) -> None:
    """Keep other runs from a stage in this folder as long as this one lives: two that note there where they are would
    go on from each other's."""
    lock = (out / f"{stage}.lock").open("w")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        sys.exit(f"Another run teaches the {stage} in {out}: wait for it, or stop it.")
    _held.append(lock)


def save(model: Idefics3ForConditionalGeneration, tokenizer: PreTrainedTokenizerFast, out: Path) -> None:
    """Save the model beside its tokenizer, with its diaries, as the folder that vLLM serves."""
    folder, pad = out / "nano", tokenizer.convert_tokens_to_ids("<pad>")
    size = len(tokenizer)
    model.resize_token_embeddings(size, pad_to_multiple_of=64, mean_resizing=False)  # some servers ask for room
    with torch.no_grad():
        table = model.model.text_model.embed_tokens.weight
        table[size:] = table[pad]  # which is never said
    model.generation_config.eos_token_id = tokenizer.convert_tokens_to_ids("<end>")
    model.generation_config.pad_token_id = pad
    model.to(torch.bfloat16).save_pretrained(folder, max_shard_size="11MB")
    for diary in out.glob("*.csv"):
        shutil.copy(diary, folder)
    print(f"saved to {folder}: {sum(weight.numel() for weight in model.parameters()) / 1e6:.2f} million parameters")


def main(given: list[str]) -> None:
    """Make the model."""
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("material", type=Path)
    asked.add_argument("out", type=Path)
    asked.add_argument("--share", type=float, default=1.0)
    asked.add_argument("--threads", type=int, default=0)
    asked.add_argument("--keep", type=float, default=KEEP_S, help="seconds between two notes of where a stage is")
    asked.add_argument("--groups", type=int, default=GROUPS, help="of lessons in one step")
    asked.add_argument("--only", choices=("eyes", "mind"), help="one stage, as beside the other; nothing is saved yet")
    asked.add_argument("--on", type=Path, help="a model to go on from: its mind alone learns")
    options = asked.parse_args(given)
    if options.threads:
        torch.set_num_threads(options.threads)
    torch.manual_seed(0)
    out: Path = options.out
    folder = out / "nano"
    folder.mkdir(parents=True, exist_ok=True)
    for stage in ("eyes", "mind"):
        if options.only in (None, stage):
            hold(out, stage)
    lot = material(options.material)
    print(f"{len(lot.frames)} sights, {sum(len(row['examples']) for row in lot.rows)} lessons", flush=True)
    if options.on:
        for pattern in ("tokenizer*.json", "chat_template.*", "eyes.csv", "mind.csv"):
            for path in options.on.glob(pattern):
                shutil.copy(path, folder)
        write_processor(folder, K * CELL, CELL)
    elif not (folder / "tokenizer.json").exists():
        make_tokenizer(folder, list(texts(lot)), lot.varying, [" ".join(each) for each in lot.objects], K, CONTEXT)
        write_processor(folder, K * CELL, CELL)
    tokenizer = PreTrainedTokenizerFast.from_pretrained(folder)
    ids = {name: tokenizer.convert_tokens_to_ids(name) for name in SPECIAL}
    if options.on:
        model = Idefics3ForConditionalGeneration.from_pretrained(options.on, dtype=torch.bfloat16).float()
    else:
        model = Idefics3ForConditionalGeneration(config(len(tokenizer), ids))
        model.tie_weights()
        language.begin(model, tokenizer, lot.values, lot.objects, lot.counts, K)
    model.to("cuda" if torch.cuda.is_available() else "cpu")
    known = [weight.detach().clone() for weight in model.parameters()] if options.on else []
    if options.only in (None, "eyes") and not options.on:
        teach_eyes(model, lot, out, max(20, round(EYES_STEPS * options.share)), options.keep)
    if options.only in (None, "mind"):
        steps = max(20, round(MIND_STEPS * options.share))
        goes_on = bool(options.on)
        teach_mind(model, tokenizer, lot, out, steps, options.keep, size=options.groups, goes_on=goes_on)
    if options.only:
        return
    with torch.no_grad():
        for weight, before in zip(model.parameters(), known, strict=False):
            weight.lerp_(before, KNOWN)
    save(model, tokenizer, out)


if __name__ == "__main__":
    main(sys.argv[1:])
