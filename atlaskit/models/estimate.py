"""Estimates what a call cost, where an endpoint does not count tokens."""

from __future__ import annotations

from atlaskit.models.completion import Completion
from atlaskit.models.presets import Family
from atlaskit.models.protocol import CHARACTERS_A_TOKEN, Request, Usage


def estimated_usage(request: Request, completion: Completion, family: Family) -> Usage:
    """Return the estimated usage of one attempt, marked as such.

    A token stands for four characters of text, or for a square of the family's patch in an image.
    """
    texts = (part for message in request.messages for part in message.parts if isinstance(part, str))
    image_tokens = sum(
        -(-image.size[0] // family.patch) * -(-image.size[1] // family.patch) for image in request.images
    )
    thought = -(-len(completion.reasoning) // CHARACTERS_A_TOKEN)
    return Usage(
        calls=1,
        prompt_tokens=sum(map(len, texts)) // CHARACTERS_A_TOKEN + image_tokens,
        image_tokens=image_tokens,
        completion_tokens=-(-len(completion.text) // CHARACTERS_A_TOKEN) + thought,
        reasoning_tokens=thought,
        estimated=True,
    )
