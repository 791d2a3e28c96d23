"""`estimated_usage`: estimates the tokens of a call from its text and its images."""

from __future__ import annotations

from atlaskit.models.protocol import Request
from atlaskit.models.usage import CHARACTERS_A_TOKEN, Usage

PIXELS_A_TOKEN = 32 * 32


def estimated_usage(request: Request, text: str) -> Usage:
    """Estimate the usage of a call: one token per 4 characters, and per 32×32 pixels of an image.

    Args:
        request: The request.
        text: The text of its reply.
    """
    characters, pixels = 0, 0
    for part in (part for message in request.messages for part in message.parts):
        if isinstance(part, str):
            characters += len(part)
        else:
            pixels += part.size[0] * part.size[1]
    images = pixels // PIXELS_A_TOKEN
    return Usage(
        calls=1,
        prompt_tokens=characters // CHARACTERS_A_TOKEN + images,
        image_tokens=images,
        completion_tokens=max(1, len(text) // CHARACTERS_A_TOKEN),
        estimated=True,
    )
