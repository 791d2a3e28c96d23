"""Trains the tokenizer, writes the markers of images, and configures the image processor.

A fragment of text that recurs unchanged (a sentence, a piece of JSON) is one token; fragments are
found by counting. Varying words have tokens of their own, and bytes cover any other text. An object
such as "red circle" is one token, and so is the label of an item of evidence such as "[A]": the
model finds what follows a text by the last token of that text, which should be the whole text.
Numbers are split into pairs of digits, so that the number of a cell is always one token.
"""

from __future__ import annotations

import json
import re
import string
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

SPECIAL = ["<pad>", "<bos>", "<end>", "<image>", "<fake_token_around_image>", "<global-img>"]
ROLES = ["<|system|>", "<|user|>", "<|assistant|>"]
MAX_FRAGMENTS = 512
"""Most tokens for recurring fragments."""
BPE_TOKENS = 1536
"""Number of tokens for all other text, found by byte-pair encoding."""
TEMPLATE = (
    "{% for message in messages %}<|{{ message['role'] }}|>{% if message['content'] is string "
    "%}{{ message['content'] }}{% else %}{% for part in message['content'] %}{% if not loop.first "
    "%}{{ '\\n' }}{% endif %}{% if part['type'] == 'text' %}{{ part['text'] }}{% else %}<image>{% "
    "endif %}{% endfor %}{% endif %}<end>{% endfor %}{% if add_generation_prompt "
    "%}<|assistant|>{% endif %}"
)


def tile_markers(k: int) -> list[str]:
    """Return the marker of each tile of a view of k×k cells, in order."""
    return [f"<row_{row}_col_{column}>" for row in range(1, k + 1) for column in range(1, k + 1)]


def expand_image(columns: int, rows: int) -> str:
    """Return the text that stands for one image in a prompt, as Idefics3's processor writes it."""
    lines = ""
    for row in range(1, rows + 1):
        for column in range(1, columns + 1):
            lines += f"<fake_token_around_image><row_{row}_col_{column}><image>"
        lines += "\n"
    return f"{lines}\n<fake_token_around_image><global-img><image><fake_token_around_image>"


def frequent_fragments(
    texts: Iterable[str], varying: Iterable[str], most: int = MAX_FRAGMENTS
) -> list[str]:
    """Return the fragments of text that recur unchanged, those that cover the most text first.

    Args:
        texts: Prompts and replies.
        varying: Words that vary within sentences; fragments end at them.
        most: Most fragments to return.
    """
    words = "|".join(sorted(map(re.escape, varying), key=len, reverse=True))
    cut = re.compile(
        rf"<[^>]*>|\n|\d+|[–+=~^/!-]|“|”|\b[A-Z]{{1,2}}\b|(?<![A-Za-z])(?:{words})(?![A-Za-z])"
    )
    counts: Counter[str] = Counter()
    seen = 0
    for text in texts:
        seen += 1
        # Trailing blanks belong to the word that follows, so that it has the same token everywhere.
        # A dictionary, unlike a set, has the same order in every process.
        counts.update(dict.fromkeys(piece.rstrip(" ") for piece in cut.split(text)).keys())
    least = max(3, seen // 2000)
    frequent = [piece for piece in counts if len(piece) >= 4 and counts[piece] >= least]
    return sorted(frequent, key=lambda piece: -counts[piece] * len(piece))[:most]


def train_tokenizer(
    folder: Path, texts: list[str], varying: list[str], objects: list[str], k: int, context: int
) -> PreTrainedTokenizerFast:
    """Train the tokenizer and save it.

    Args:
        folder: Folder to save to.
        texts: Prompts and replies.
        varying: Words that vary within sentences.
        objects: Objects, such as "red circle".
        k: A grid has k×k cells.
        context: Longest prompt with its reply, in tokens.
    """
    fixed = frequent_fragments(texts, [*varying, *objects])
    tokenizer = Tokenizer(models.BPE())
    digits = pre_tokenizers.Split(Regex(r"\d{1,2}|\n|[+=~^/!-]"), "isolated")
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [digits, pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)]
    )
    tokenizer.decoder = decoders.ByteLevel()
    markers = tile_markers(k)
    special = [*SPECIAL, *ROLES, *markers]
    trainer = trainers.BpeTrainer(
        vocab_size=BPE_TOKENS,
        special_tokens=special,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    fixed += [f"{blank}{name}" for name in objects for blank in ("", " ")]
    fixed += [f"[{letter}]" for letter in string.ascii_uppercase]
    pieces = re.compile("|".join(sorted(map(re.escape, fixed), key=len, reverse=True)))
    numbers = [f" {n} {n:02d}" for n in range(100)] * 50
    rest = [part for text in texts for part in pieces.split(text)]
    words = [f"{word} {word} " for word in varying]
    tokenizer.train_from_iterator([*rest, *numbers, *words, *varying * 50], trainer)
    tokenizer.add_tokens([AddedToken(piece, normalized=False, special=False) for piece in fixed])
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        bos_token="<bos>",
        eos_token="<end>",
        pad_token="<pad>",
        additional_special_tokens=[*SPECIAL[3:], *ROLES, *markers],
        clean_up_tokenization_spaces=False,
        model_max_length=context,
    )
    fast.chat_template = TEMPLATE
    fast.save_pretrained(folder)
    (folder / "chat_template.json").write_text(json.dumps({"chat_template": TEMPLATE}))
    return fast


def write_processor_config(folder: Path, image_px: int, tile_px: int, tokens: int = 1) -> None:
    """Write the configuration of the image processor.

    Args:
        folder: Folder to write to.
        image_px: Longest side in pixels to which images are scaled.
        tile_px: Side in pixels of the tiles into which larger images are split.
        tokens: Visual tokens per tile.
    """
    images = {
        "image_processor_type": "Idefics3ImageProcessor",
        "processor_class": "Idefics3Processor",
        "do_convert_rgb": True,
        "do_resize": True,
        "do_rescale": True,
        "do_normalize": True,
        "do_pad": True,
        "do_image_splitting": tile_px < image_px,
        "resample": 1,
        "rescale_factor": 1 / 255,
        "image_mean": [0.5, 0.5, 0.5],
        "image_std": [0.5, 0.5, 0.5],
        "size": {"longest_edge": image_px},
        "max_image_size": {"longest_edge": tile_px},
    }
    (folder / "preprocessor_config.json").write_text(json.dumps(images, indent=1))
    processor = {"processor_class": "Idefics3Processor", "image_seq_len": tokens}
    (folder / "processor_config.json").write_text(json.dumps(processor, indent=1))
