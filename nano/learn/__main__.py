"""Trains nano from its training data: first the vision part, then the language model.

    python nano/learn MATERIAL OUT [--share 1.0] [--threads N]

Each stage ("eyes", then "mind") writes a checkpoint every few minutes and resumes from it after an
interruption. OUT/nano is the folder of the model that vLLM serves.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import initialization
import torch
from architecture import CELL_PX, CONTEXT, K, model_config
from checkpoint import lock, save
from stages import LANGUAGE_STEPS, VISION_STEPS, train_language, train_vision
from tokenizer import SPECIAL, train_tokenizer, write_processor_config
from training_data import TrainingData, load, tokenizer_texts
from transformers import Idefics3ForConditionalGeneration, PreTrainedTokenizerFast

CHECKPOINT_S = 120.0
"""Seconds from one checkpoint to the next."""
GROUPS = 8
"""Number of groups of examples in one step."""


def parse(arguments: list[str]) -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("material", type=Path, help="folder of the training data")
    parser.add_argument(
        "out", type=Path, help="folder for checkpoints, learning curves and weights"
    )
    parser.add_argument(
        "--share", type=float, default=1.0, help="share of the full recipe's steps to take (1.0)"
    )
    parser.add_argument(
        "--threads", type=int, default=0, help="threads of PyTorch; 0 for its default (0)"
    )
    parser.add_argument(
        "--keep",
        type=float,
        default=CHECKPOINT_S,
        help=f"seconds from one checkpoint to the next ({CHECKPOINT_S:g})",
    )
    parser.add_argument(
        "--groups", type=int, default=GROUPS, help=f"groups of examples in one step ({GROUPS})"
    )
    parser.add_argument(
        "--only", choices=("eyes", "mind"), help="train one stage and save no model"
    )
    return parser.parse_args(arguments)


def prepare_tokenizer(folder: Path, data: TrainingData) -> PreTrainedTokenizerFast:
    """Return the tokenizer; train it and write the processor's configuration if there is none."""
    if not (folder / "tokenizer.json").exists():
        objects = [f"{colour} {shape}" for colour, shape in data.objects]
        train_tokenizer(folder, list(tokenizer_texts(data)), data.varying, objects, K, CONTEXT)
        write_processor_config(folder, K * CELL_PX, CELL_PX)
    return PreTrainedTokenizerFast.from_pretrained(folder)


def build_model(
    tokenizer: PreTrainedTokenizerFast, data: TrainingData
) -> Idefics3ForConditionalGeneration:
    """Return a model with initial weights, on the GPU if there is one."""
    ids = {name: tokenizer.convert_tokens_to_ids(name) for name in SPECIAL}
    model = Idefics3ForConditionalGeneration(model_config(len(tokenizer), ids))
    model.tie_weights()
    initialization.initialize(model, tokenizer, data.values, data.objects, data.counts, K)
    return model.to("cuda" if torch.cuda.is_available() else "cpu")


def main(arguments: list[str]) -> None:
    """Run the command line."""
    args = parse(arguments)
    if args.threads:
        torch.set_num_threads(args.threads)
    torch.manual_seed(0)
    out: Path = args.out
    folder = out / "nano"
    folder.mkdir(parents=True, exist_ok=True)
    for stage in ("eyes", "mind"):
        if args.only in (None, stage):
            lock(out, stage)
    data = load(args.material)
    examples = sum(len(group["examples"]) for group in data.trajectories)
    print(f"{len(data.frames)} frames, {examples} examples from trajectories", flush=True)
    tokenizer = prepare_tokenizer(folder, data)
    model = build_model(tokenizer, data)
    if args.only in (None, "eyes"):
        train_vision(model, data, out, max(20, round(VISION_STEPS * args.share)), args.keep)
    if args.only in (None, "mind"):
        steps = max(20, round(LANGUAGE_STEPS * args.share))
        train_language(model, tokenizer, data, out, steps, args.keep, groups_per_step=args.groups)
    if not args.only:
        save(model, tokenizer, out)


if __name__ == "__main__":
    main(sys.argv[1:])
