"""Fine-tune an open vision-language model by LoRA on chats that `nano.data.export` wrote.

    python tools/finetune.py FOLDER --model Qwen/Qwen3-VL-2B-Instruct --out adapted [--steps N]

The script needs TRL and PEFT, but not atlaskit: see docs/models.md. It writes the model with the
merged adapter to a folder that `ak.serve` serves.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import torch
from datasets import Dataset, Image, List, load_dataset
from peft import LoraConfig
from transformers import AutoModelForImageTextToText, AutoProcessor, PreTrainedModel, ProcessorMixin
from trl import SFTConfig, SFTTrainer

LORA = LoraConfig(
    r=16,
    lora_alpha=32,
    # Only layers of the language model: the vision tower of a large model needs no training here.
    target_modules=(
        r"^(?!.*(visual|vision)).*"
        r"\.(q_proj|k_proj|v_proj|o_proj|gate_proj|up_proj|down_proj)$"
    ),
    task_type="CAUSAL_LM",
)


def load_chats(folder: Path) -> Dataset:
    """Load chats, split into prompt and completion; only the completion is trained on."""

    def split(chat: dict[str, Any]) -> dict[str, Any]:
        *prompt, reply = chat["messages"]
        return {
            "prompt": prompt,
            "completion": [reply],
            "images": [str(folder / name) for name in chat["images"]],
        }

    chats = load_dataset("json", data_files=str(folder / "train.jsonl"), split="train")
    return chats.map(split, remove_columns=chats.column_names).cast_column("images", List(Image()))


def finetune(
    model: PreTrainedModel, processor: ProcessorMixin, chats: Dataset, out: Path, **settings: Any
) -> SFTTrainer:
    """Fine-tune a model and save it with the merged adapter.

    A run that was killed resumes from its last checkpoint.

    Args:
        model: The model.
        processor: Its processor.
        chats: Chats as `load_chats` returns them.
        out: Folder for the model and the checkpoints.
        **settings: Arguments of TRL's `SFTConfig` that replace the defaults here.

    Returns:
        The trainer, whose state holds the losses.
    """
    defaults = {
        "per_device_train_batch_size": 1,
        "gradient_accumulation_steps": 16,
        "learning_rate": 1e-4,
        "lr_scheduler_type": "cosine",
        "warmup_steps": 20,
        "logging_steps": 5,
        "gradient_checkpointing": True,
        "bf16": torch.cuda.is_available(),
        "save_total_limit": 1,
        "report_to": "none",
    }
    # Hidden, because `ak.serve` identifies a model by the hash of its other files.
    checkpoints = out / ".checkpoints"
    # No `max_length`: it would also cut off tokens of images.
    config = SFTConfig(str(checkpoints), max_length=None, **{**defaults, **settings})
    trainer = SFTTrainer(
        model, config, train_dataset=chats, processing_class=processor, peft_config=LORA
    )
    trainer.train(resume_from_checkpoint=any(checkpoints.glob("checkpoint-*")))
    trainer.model.merge_and_unload().save_pretrained(out)
    processor.save_pretrained(out)
    return trainer


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(
        description="Fine-tune a vision-language model on the teacher's searches."
    )
    parser.add_argument("folder", type=Path, help="folder that nano.data.export wrote")
    parser.add_argument(
        "--model", required=True, help="name on the hub, or folder, of the model to fine-tune"
    )
    parser.add_argument("--out", type=Path, required=True, help="folder for the fine-tuned model")
    parser.add_argument(
        "--steps", type=int, default=1000, help="number of steps, sixteen chats each (1000)"
    )
    args = parser.parse_args()
    model = AutoModelForImageTextToText.from_pretrained(args.model, dtype=torch.bfloat16)
    processor = AutoProcessor.from_pretrained(args.model)
    finetune(
        model, processor, load_chats(args.folder), args.out, max_steps=args.steps, save_steps=100
    )


if __name__ == "__main__":
    main()
