"""Fine-tunes an open vision-language model on lessons that `python -m atlaskit.nano.data.export FOLDER` wrote, by LoRA.

    python tools/finetune.py FOLDER --model Qwen/Qwen3-VL-2B-Instruct --out adapted [--steps N]

Runs where TRL and PEFT are installed, and the kit need not be: see docs/models.md. What comes out is a folder with
the model and what it learned, merged, which `ak.serve` serves.
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
    # The language model's own layers: the eyes of a large model see already, and stay as they are.
    target_modules=r"^(?!.*(visual|vision)).*\.(q_proj|k_proj|v_proj|o_proj|gate_proj|up_proj|down_proj)$",
    task_type="CAUSAL_LM",
)


def lessons(folder: Path) -> Dataset:
    """Return the chats of a folder: what was said before a reply, the reply, which alone is learned, and the images."""

    def parted(chat: dict[str, Any]) -> dict[str, Any]:
        *before, reply = chat["messages"]
        return {"prompt": before, "completion": [reply], "images": [str(folder / name) for name in chat["images"]]}

    chats = load_dataset("json", data_files=str(folder / "train.jsonl"), split="train")
    return chats.map(parted, remove_columns=chats.column_names).cast_column("images", List(Image()))


def taught(model: PreTrainedModel, processor: ProcessorMixin, chats: Dataset, out: Path, **given: Any) -> SFTTrainer:
    """Teach a model the chats; return its trainer, which knows how it went. `given` goes to TRL's `SFTConfig`."""
    settings = {
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
        **given,
    }
    # No `max_length`: what cuts a chat short cuts the tokens of its images too.
    kept = out / ".checkpoints"  # hidden: what is served goes by the hash of the other files
    config = SFTConfig(str(kept), max_length=None, **settings)
    trainer = SFTTrainer(model, config, train_dataset=chats, processing_class=processor, peft_config=LORA)
    trainer.train(resume_from_checkpoint=any(kept.glob("checkpoint-*")))
    trainer.model.merge_and_unload().save_pretrained(out)
    processor.save_pretrained(out)
    return trainer


def main() -> None:
    """Fine-tune the model that is named."""
    asked = argparse.ArgumentParser(description="Fine-tune a vision-language model on the teacher's lessons.")
    asked.add_argument("folder", type=Path)
    asked.add_argument("--model", required=True)
    asked.add_argument("--out", type=Path, required=True)
    asked.add_argument("--steps", type=int, default=1000, help="of sixteen chats each (1000)")
    options = asked.parse_args()
    model = AutoModelForImageTextToText.from_pretrained(options.model, dtype=torch.bfloat16)
    processor = AutoProcessor.from_pretrained(options.model)
    taught(model, processor, lessons(options.folder), options.out, max_steps=options.steps, save_steps=100)


if __name__ == "__main__":
    main()
