"""The JSON format of training examples, their grouping by prefix, and nano's chat template.

A *recorded example* is one call of a search with the reply to learn. Its keys are `text` (the
prompt in nano's chat template), `prefix` (the number of characters at the beginning of the text
that other questions about the same view share), `images`, `reply`, `step` (the kind of call) and
`kind` (the category of the question).

A *group* holds the examples that share a prefix and its images, so that training processes the
prefix only once. Its keys are `prefix` (the text), `images` and `examples`. Each example has the
keys `rest` (the prompt after the prefix), `images` (those in the rest), `reply`, `step` and `kind`.

An image is `{"columns": c, "tiles": [...]}`. Each entry of `tiles` holds the label indices of what
the tile shows (see `teacher.labels.encode`), or is `UNLABELLED`. Training replaces each tile by the
visual token of its labels, so the language model trains without pixels.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from atlaskit.models.protocol import Message

IMAGE = "<image>"
"""The place of an image in a prompt."""
UNLABELLED = None
"""The entry of a tile that has no labels, because it shows only a part of an evidence frame."""

RecordedExample = dict[str, Any]
Example = dict[str, Any]
Group = dict[str, Any]


def render_chat(messages: Sequence[Message]) -> str:
    """Return messages as nano's chat template renders them, up to the place of the reply."""
    text = ""
    for message in messages:
        parts = [part if isinstance(part, str) else IMAGE for part in message.parts]
        text += f"<|{message.speaker}|>" + "\n".join(parts) + "<end>"
    return text + "<|assistant|>"


def group_by_prefix(examples: Iterable[RecordedExample]) -> Iterator[Group]:
    """Yield recorded examples in groups that share the text and the first image of their prefix.

    If several examples of a group have the same prompt and images, only the last one remains.
    """
    by_prefix: dict[str, list[RecordedExample]] = {}
    for example in examples:
        prefix = example["text"][: example["prefix"]]
        key = json.dumps([prefix, example["images"][:1]])
        by_prefix.setdefault(key, []).append(example)
    for members in by_prefix.values():
        first = members[0]
        length = first["prefix"]
        prefix = first["text"][:length]
        prefix_images = prefix.count(IMAGE)
        by_prompt: dict[str, Example] = {}
        for member in members:
            rest = member["text"][length:]
            images = member["images"][prefix_images:]
            by_prompt[rest + str(images)] = {
                "rest": rest,
                "images": images,
                "reply": member["reply"],
                "step": member["step"],
                "kind": member["kind"],
            }
        yield {
            "prefix": prefix,
            "images": first["images"][:prefix_images],
            "examples": list(by_prompt.values()),
        }
