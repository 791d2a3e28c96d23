"""The tokenizer: made from the very prompts and replies that the model will meet.

What stays the same in them (a sentence, a piece of JSON) is one token each, found by counting; what varies is spelt in
words, and any other text in bytes. An object, "red circle", is one word, and so is the label of a piece of evidence,
"[A]": what is found by the words before it would else be found by the last of them. Numbers are cut into pairs of
digits, so that a cell is always one token.
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
FRAGMENTS, PIECES = 512, 1536
"""Of the vocabulary: at most so many fragments that stay the same, and so many tokens of any other text."""
TEMPLATE = (
    "{% for message in messages %}<|{{ message['role'] }}|>"
    "{% if message['content'] is string %}{{ message['content'] }}{% else %}{% for part in message['content'] %}"
    "{% if not loop.first %}{{ '\\n' }}{% endif %}"
    "{% if part['type'] == 'text' %}{{ part['text'] }}{% else %}<image>{% endif %}"
    "{% endfor %}{% endif %}<end>{% endfor %}{% if add_generation_prompt %}<|assistant|>{% endif %}"
)


def tiles(k: int) -> list[str]:
    """Return the marker of each tile of a sheet, in order."""
    return [f"<row_{row}_col_{column}>" for row in range(1, k + 1) for column in range(1, k + 1)]


def expanded(columns: int, rows: int) -> str:
    """Return what stands in a prompt for one image, as Idefics3's processor writes it."""
    lines = ""
    for row in range(1, rows + 1):
        for column in range(1, columns + 1):
            lines += f"<fake_token_around_image><row_{row}_col_{column}><image>"
        lines += "\n"
    return f"{lines}\n<fake_token_around_image><global-img><image><fake_token_around_image>"


def fragments(texts: Iterable[str], varying: Iterable[str], most: int = FRAGMENTS) -> list[str]:
    """Return the longest pieces of text that stay the same, the most frequent first."""
    words = "|".join(sorted(map(re.escape, varying), key=len, reverse=True))
    cut = re.compile(rf"<[^>]*>|\n|\d+|[–+=~^/!-]|“|”|\b[A-Z]{{1,2}}\b|(?<![A-Za-z])(?:{words})(?![A-Za-z])")
    counts: Counter[str] = Counter()
    seen = 0
    for text in texts:
        seen += 1
        # A blank belongs to the word behind it, which is then the same token in every sentence.
        counts.update({piece.rstrip(" ") for piece in cut.split(text)})
    often = {piece: count for piece, count in counts.items() if len(piece) >= 4 and count >= max(3, seen // 2000)}
    return sorted(often, key=lambda piece: -often[piece] * len(piece))[:most]


def make(
    folder: Path, texts: list[str], varying: list[str], objects: list[str], k: int, context: int
) -> PreTrainedTokenizerFast:
    """Make the tokenizer from texts, and save it."""
    fixed = fragments(texts, [*varying, *objects])
    tokenizer = Tokenizer(models.BPE())
    digits = pre_tokenizers.Split(Regex(r"\d{1,2}|\n|[+=~^/!-]"), "isolated")
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [digits, pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)]
    )
    tokenizer.decoder = decoders.ByteLevel()
    markers = tiles(k)
    special = [*SPECIAL, *ROLES, *markers]
    trainer = trainers.BpeTrainer(
        vocab_size=PIECES,
        special_tokens=special,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    fixed += [f"{blank}{name}" for name in objects for blank in ("", " ")]
    fixed += [f"[{letter}]" for letter in string.ascii_uppercase]
    pieces = re.compile("|".join(sorted(map(re.escape, fixed), key=len, reverse=True)))
    numbers = [f" {n} {n:02d}" for n in range(100)] * 50
    rest = [part for text in texts for part in pieces.split(text)]
    tokenizer.train_from_iterator([*rest, *numbers, *(f"{w} {w} " for w in varying), *varying * 50], trainer)
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


def write_processor(folder: Path, image_px: int, tile_px: int, tokens: int = 1) -> None:
    """Say how images are prepared: made so large, and cut into tiles of so many tokens, where they are larger."""
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
