"""Creates a tiny untrained Whisper with its tokenizer, from a seed. Nothing is downloaded.

    .venv-serve/serve-cpu/bin/python tests/server/tiny_whisper.py FOLDER

It has half a million parameters and hears nonsense, with times as Whisper gives them.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import torch
from tokenizers import processors
from transformers import WhisperConfig, WhisperFeatureExtractor, WhisperForConditionalGeneration
from transformers.models.whisper.tokenization_whisper import LANGUAGES

sys.path.append(str(Path(__file__).parent))
from families.common import PROSE, trained

STEPS, CONTEXT = 1500, 448
END = "<|endoftext|>"
SPECIAL = [
    END,
    "<|startoftranscript|>",
    *(f"<|{code}|>" for code in LANGUAGES),
    "<|translate|>",
    "<|transcribe|>",
    "<|startoflm|>",
    "<|startofprev|>",
    "<|nospeech|>",
    "<|notimestamps|>",
]
"""Whisper's special tokens, in its order; the times come after them."""
TIMES = [f"<|{step * 0.02:.2f}|>" for step in range(STEPS + 1)]


def write_tokenizer(folder: Path) -> dict[str, int]:
    """Train a tokenizer, write it, and return the ids of the special tokens."""
    tokenizer = trained(PROSE[:1], 512)
    tokenizer.add_special_tokens(SPECIAL)
    tokenizer.add_tokens(TIMES)
    start = [name for name in SPECIAL if name in ("<|startoftranscript|>", "<|notimestamps|>")]
    pairs = [(name, tokenizer.token_to_id(name)) for name in (*start, END)]
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{start[0]}:0 {start[1]}:0 $A:0 {END}:0",
        pair=f"{start[0]}:0 {start[1]}:0 $A:0 $B:1 {END}:1",
        special_tokens=pairs,
    )
    tokenizer.save(str(folder / "tokenizer.json"))
    settings = {
        "tokenizer_class": "WhisperTokenizer",
        "bos_token": END,
        "eos_token": END,
        "pad_token": END,
        "unk_token": END,
        "additional_special_tokens": SPECIAL[1:],
        "model_max_length": 1024,
        "return_attention_mask": False,
        "errors": "replace",
        "processor_class": "WhisperProcessor",
    }
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))
    vocabulary = json.loads((folder / "tokenizer.json").read_text())["model"]
    (folder / "vocab.json").write_text(json.dumps(vocabulary["vocab"]))
    merges = [" ".join(pair) if isinstance(pair, list) else pair for pair in vocabulary["merges"]]
    (folder / "merges.txt").write_text("#version: 0.2\n" + "\n".join(merges) + "\n")
    return {name: tokenizer.token_to_id(name) for name in (*SPECIAL, TIMES[-1])}


def make(folder: Path, seed: int = 0) -> None:
    """Write the model: feature extractor, tokenizer and weights."""
    folder.mkdir(parents=True, exist_ok=True)
    ids = write_tokenizer(folder)
    WhisperFeatureExtractor(feature_size=80).save_pretrained(folder)
    config = WhisperConfig(
        vocab_size=ids[TIMES[-1]] + 1,
        d_model=64,
        encoder_layers=2,
        decoder_layers=2,
        encoder_attention_heads=2,
        decoder_attention_heads=2,
        encoder_ffn_dim=128,
        decoder_ffn_dim=128,
        max_source_positions=STEPS,
        max_target_positions=CONTEXT,
        init_std=0.2,  # wide, so that what it hears depends on the sound
        decoder_start_token_id=ids["<|startoftranscript|>"],
        bos_token_id=ids[END],
        eos_token_id=ids[END],
        pad_token_id=ids[END],
        suppress_tokens=None,
        begin_suppress_tokens=None,
    )
    torch.manual_seed(seed)
    model = WhisperForConditionalGeneration(config).to(torch.float32)
    with torch.no_grad():  # words with times among them, which change from place to place
        decoder, first_time = model.model.decoder, ids[TIMES[-1]] - STEPS
        decoder.embed_positions.weight *= 6
        decoder.embed_tokens.weight[first_time:] *= 0.8
        decoder.embed_tokens.weight[ids[SPECIAL[1]] : first_time] *= 0.1
    model.generation_config.eos_token_id = ids[END]
    model.generation_config.decoder_start_token_id = ids["<|startoftranscript|>"]
    model.save_pretrained(folder)


if __name__ == "__main__":
    make(Path(sys.argv[1]))
