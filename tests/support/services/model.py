"""The model behind the imitated services: it answers by the schema that reaches it.

It always means the same: choice `RIGHT`, shown by the last frame. Without a schema it says so in
prose only, which no client may turn into an answer.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from atlaskit.agents.schemas import decision_schema
from atlaskit.models.protocol import Message, Request
from support.services.declare import Body, Service

RIGHT, WRONG = 2, 1
"""The choice that the model means, and one that it only considered."""
THOUGHT = "Frame A is too dark to tell, so I look at frame B first."
PROSE = "Frame B shows it best; I would go with the last of the three, though it is hard to be sure."
PHRASE = "and nothing else: "
"""What stands before a schema that is sent in words."""
JPEG = bytes.fromhex("ffd8ffdb004300") + bytes(64) + bytes.fromhex("ffd9")


@dataclass(frozen=True)
class Frame:
    """A stand-in for a view: the imitated services do not look at pictures."""

    key: str
    size: tuple[int, int] = (8, 8)

    def jpeg(self) -> bytes:
        return JPEG


@dataclass(frozen=True)
class Told:
    """How a request tells the schema of the answer."""

    schema: Mapping[str, Any] | None
    in_words: bool = field(default=False)


def request(number: int) -> Request:
    """Return the request of a call: a decision among three choices about two frames."""
    schema = decision_schema("choice", 3, 60.0, ("A", "B"))
    words = (f"Question {number}: what is it? [0] a dog [1] a cat [2] a bird", "Frame A:", "Frame B:", "Decide.")
    parts = (words[0], words[1], Frame(f"a{number}"), words[2], Frame(f"b{number}"), words[3])
    return Request("master", "decision", (Message("system", ("You look at frames.",)), Message("user", parts)), schema)


def told(service: Service, body: Body) -> Told:
    """Return the schema that reaches the model: by decoding, or in words in the prompt."""
    for text in reversed(texts(body)):
        at = text.rfind(PHRASE)
        if at >= 0:
            return Told(json.JSONDecoder().raw_decode(text[at + len(PHRASE) :])[0], in_words=True)
    match body.get("response_format"):
        case {"type": "json_schema", "json_schema": {"schema": dict(schema)}} if service.schema:
            return Told(schema)
    return Told(None)


def texts(body: Body) -> list[str]:
    """Return the texts of a request's messages, in order."""
    found = []
    for message in body["messages"]:
        content = message["content"]
        parts = [{"type": "text", "text": content}] if isinstance(content, str) else content or []
        found += [part["text"] for part in parts if part.get("type") == "text"]
    return found


def n_images(body: Body) -> int:
    """Return how many images a request has."""
    contents = [message["content"] for message in body["messages"] if isinstance(message["content"], list)]
    return sum(part.get("type") == "image_url" for content in contents for part in content)


def fitting(schema: Mapping[str, Any], choice: int = RIGHT) -> str:
    """Return an answer that fits a schema and means a choice."""
    return json.dumps(_value(schema, schema.get("$defs", {}), choice))


def _value(schema: Mapping[str, Any], definitions: Mapping[str, Any], choice: int) -> Any:
    match schema:
        case {"$ref": str(name)}:
            return _value(definitions[name.rsplit("/", 1)[1]], definitions, choice)
        case {"anyOf": [first, *_]} | {"oneOf": [first, *_]}:
            return _value(first, definitions, choice)
        case {"const": value}:
            return value
        case {"enum": values}:
            return choice if choice in values else values[-1]
        case {"type": "object"}:
            return {name: _value(part, definitions, choice) for name, part in schema["properties"].items()}
        case {"type": "array"}:
            return [_value(schema["items"], definitions, choice)]
        case {"type": "string"}:
            return "Frame B shows it."
        case {"type": "integer" | "number"}:
            return schema.get("minimum", 0)
        case {"type": "boolean"}:
            return True
    raise AssertionError(f"the imitated model does not know this schema: {schema}")


def meant(service: Service, body: Body, choice: int = RIGHT) -> str:
    """Return what the model writes: an answer by the schema, or prose if it was told none."""
    schema = told(service, body).schema
    return PROSE if schema is None else fitting(schema, choice)
