"""The JSON format of training examples, their grouping by prefix, and nano's chat template.

A *recorded example* is one call of a search with the reply to learn: `text` (the prompt in nano's
chat template), `prefix` (how many characters of it other questions about the same view share),
`images`, `reply`, `step` (the kind of call) and `kind` (the category of the question).

A *group* holds the examples that share a prefix and its images, which training processes only once:
`prefix` (its text), `images` and `examples`, each with `rest` (the prompt after the prefix),
`images`, `reply`, `step` and `kind`.

An image is `{"columns": c, "tiles": [...]}`, one entry a tile: the label indices of what the cell
shows (see `teacher.labels.encode`), or `UNLABELLED`. Training replaces each tile by the visual
token of its labels, so the language model trains without pixels.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from atlaskit.models.protocol import Message

IMAGE = "<image>"
"""The place of an image in a prompt."""
UNLABELLED = None
"""The entry of a tile without labels, which is a part of an evidence frame."""

RecordedExample = dict[str, Any]
Example = dict[str, Any]
Group = dict[str, Any]


def render_chat(messages: Sequence[Message]) -> str:
    """Return messages as nano's chat template renders them, up to the place of the reply."""
    turns = (
        f"<|{m.speaker}|>" + "\n".join(p if isinstance(p, str) else IMAGE for p in m.parts)
        for m in messages
    )
    return "".join(f"{turn}<end>" for turn in turns) + "<|assistant|>"


def group_by_prefix(examples: Iterable[RecordedExample]) -> Iterator[Group]:
    """Yield recorded examples in groups that share the text and the first image of their prefix.

    Of examples that repeat prompt and images within a group, only the last one's reply remains.
    """
    by_prefix: dict[str, list[RecordedExample]] = {}
    for example in examples:
        prefix = json.dumps([example["text"][: example["prefix"]], example["images"][:1]])
        by_prefix.setdefault(prefix, []).append(example)
    for members in by_prefix.values():
        first = members[0]
        length = first["prefix"]
        shared = first["text"][:length].count(IMAGE)
        by_prompt: dict[str, Example] = {}
        for each in members:
            rest = each["text"][length:]
            by_prompt[rest + str(each["images"][shared:])] = {
                "rest": rest,
                "images": each["images"][shared:],
                "reply": each["reply"],
                "step": each["step"],
                "kind": each["kind"],
            }
        yield {
            "prefix": first["text"][:length],
            "images": first["images"][:shared],
            "examples": list(by_prompt.values()),
        }
