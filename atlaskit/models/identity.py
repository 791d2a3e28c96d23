"""Models by the names that servers give them: which one answered, and which of a list can chat.

A list (GET /models) says what a model does in fields that differ from server to server. Where it
says nothing, the model's name decides.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator, Mapping
from typing import Any

from atlaskit import limits
from atlaskit.errors import ModelWarning, printable
from atlaskit.models.errors import ModelError
from atlaskit.models.protocol import Usage

VERSION = re.compile(
    r"[-@:._]?(20\d{6}|20\d\d-\d\d-\d\d|\d{4}|\d{3}|latest|v\d+(:\d+)?)$|-(preview|exp)(-\d\d-\d\d|-\d{4})?$"
)
"""The end of a name that tells a version: a date, a revision, "latest"."""
SUFFIXES = (":free", ":beta", ":nitro", ":floor", ":exacto", ".gguf")
"""The end of a name that tells a price or the form of a file."""
# fmt: off
GENERIC = frozenset({
    "default", "model", "models", "local", "local-model", "llm", "vlm", "vision", "chat", "base", "main", "test",
    "unknown", "none", "null", "any", "auto", "custom", "my-model", "your-model", "served-model", "gpt-3.5-turbo",
})
# fmt: on
"""Names under which many servers serve different models."""


def is_generic(name: str) -> bool:
    """Return whether a name says nothing about the model, so that two servers may both use it."""
    return name.strip().lower() in GENERIC


def is_same_model(asked: str, answered: str) -> bool:
    """Return whether a reply's `model` is the one that was asked for.

    A provider's prefix ("models/", "openai/"), a path, and a version that either name adds
    ("gpt-4o" answered by "gpt-4o-2024-08-06") make no other model.

    Args:
        asked: The name in the request.
        answered: The name in the reply; "" if it names none, which counts as the same.
    """
    if not answered.strip() or asked == answered:
        return True
    first, second = _bare(asked), _bare(answered)
    return first == second or (_without_version(first) == _without_version(second) and _is_open(first, second))


def _bare(name: str) -> str:
    """Return a name without provider, path, suffix of a file, and tag of a price."""
    last = name.strip().lower().replace("\\", "/").rstrip("/").rpartition("/")[2]
    return next((last.removesuffix(each) for each in SUFFIXES if last.endswith(each)), last)


def _without_version(name: str) -> str:
    """Return a name without the versions at its end ("-0" is Anthropic's alias of the newest)."""
    name = name.removesuffix("-0")
    while (shorter := VERSION.sub("", name)) != name and shorter:
        name = shorter
    return name


def _is_open(first: str, second: str) -> bool:
    """Return whether at most one of two names fixes a version: two fixed ones are two models."""

    def is_fixed(name: str) -> bool:
        found = VERSION.search(name)
        return found is not None and any(map(str.isdecimal, found[0]))

    return not (is_fixed(first) and is_fixed(second))


MOST_NAMED = 8
"""Most models that a message names."""
CHATS = frozenset(
    {"llm", "vlm", "chat", "generate", "completion", "vision", "text-generation", "image-text-to-text", "any-to-any"}
)
"""What a list calls a model that chats: words of LM Studio, Together, vLLM and Ollama, and tasks of
the Hugging Face hub."""
OTHER_KINDS = re.compile(
    r"embed|rerank|score|classif|reward|moderat|pooling|transcri|speech|audio|tts|image-generation|text-to-image"
    r"|feature-extraction|sentence-similarity|^image$|^video$"
)
"""What a list calls a model that does not chat."""
OTHER_NAMES = re.compile(
    r"embed|(^|[/_.-])(e5|gte|bge|minilm|sentence-transformers|colbert|colpali|colqwen\d*|clip|siglip\d*)([/_.:-]|$)"
    r"|rerank|reward-model|moderation|guard|shieldgemma|(^|/)(babbage|davinci)-|whisper|wav2vec|transcribe|voxtral-.{0,40}(asr|tts)|(^|[/_.-])(tts|asr|stt)([/_.:-]|\d|$)|parakeet|kokoro|piper"
    r"|dall-?e|gpt-image|stable-diffusion|(^|/)(flux|imagen|veo)[-.]|(^|[/_-])sora|text-to-(speech|image)|realtime"
)
"""Names of models that do not chat."""


def chat_models(listing: Any) -> list[str]:
    """Return the names of the models in a list that can chat, in the list's order.

    Where the list does not say what a model does, its name does.

    Args:
        listing: The parsed body of GET /models, from whatever server; anything odd in it is passed
            over.
    """
    said = [(name, _says_it_chats(entry)) for name, entry in entries(listing)]
    return [name for name, chats in said if chats or (chats is None and not OTHER_NAMES.search(name.lower()))]


def first_chat_model(listing: Any, base_url: str) -> str | None:
    """Return the first model of a list that can chat, and warn if there are several.

    A model that takes no images, as the list says, is taken only where there is no other.

    Args:
        listing: The parsed body of GET /models.
        base_url: The server's address, for the messages.

    Returns:
        The model's name; None if the list is empty or is no list.

    Raises:
        ModelError: If the server has models, and none of them can chat.
    """
    all_names, names = [name for name, _ in entries(listing)], chat_models(listing)
    blind = {name for name, entry in entries(listing) if _says_it_is_blind(entry)}
    chosen = next((name for name in names if name not in blind), names[0] if names else None)
    if all_names and not names:
        raise ModelError(
            f"{base_url} has no model that chats, only {named(all_names)}: load one, or pass its name.", Usage()
        )
    if chosen is not None and len(names) > 1:
        warnings.warn(
            f"{base_url} has {len(names)} models that chat ({named(names)}): {printable(chosen, 100)} is used; "
            f"name another one after the address.",
            ModelWarning,
            stacklevel=2,
        )
    return chosen


def entries(listing: Any) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the models of a list: {"data": […]}, {"models": […]} or the bare list."""
    rows = listing
    if isinstance(listing, Mapping):
        rows = listing.get("data") if isinstance(listing.get("data"), list) else listing.get("models")
    for row in rows if isinstance(rows, list) else ():
        if not isinstance(row, Mapping):
            continue
        name = next((row[key] for key in ("id", "model", "name") if isinstance(row.get(key), str) and row[key]), None)
        if name is not None and len(name) <= limits.NAME:
            yield name, row


def _says_it_chats(entry: Mapping[str, Any]) -> bool | None:
    """Return whether the list says that a model can chat; None if it says neither."""
    architecture, capabilities = entry.get("architecture"), entry.get("capabilities")
    if isinstance(architecture, Mapping):  # OpenRouter
        modalities = [architecture.get(f"{side}_modalities") for side in ("input", "output")]
        if all(isinstance(each, list) for each in modalities):
            return all("text" in each for each in modalities if isinstance(each, list))
    if isinstance(capabilities, Mapping) and isinstance(capabilities.get("completion_chat"), bool):  # Mistral
        return bool(capabilities["completion_chat"])
    words = list[str]()
    for kind in (entry.get(key) for key in ("type", "task", "pipeline_tag", "model_type", "capabilities")):
        found = [word for word, value in kind.items() if value] if isinstance(kind, Mapping) else kind  # TEI
        words += [word.lower() for word in (found if isinstance(found, list) else [found]) if isinstance(word, str)]
    if CHATS.intersection(words):  # it may be able to hear and to speak as well
        return True
    return False if any(map(OTHER_KINDS.search, words)) else None


def _says_it_is_blind(entry: Mapping[str, Any]) -> bool:
    """Return whether the list says that a model takes no images."""
    architecture, capabilities = entry.get("architecture"), entry.get("capabilities")
    if isinstance(architecture, Mapping) and isinstance(architecture.get("input_modalities"), list):
        return "image" not in architecture["input_modalities"]
    if isinstance(capabilities, Mapping) and isinstance(capabilities.get("vision"), bool):
        return not capabilities["vision"]
    return bool(entry.get("type") == "llm")  # LM Studio, whose other type that chats is "vlm"


def named(names: list[str]) -> str:
    """Return names as a list in words, cut off where it is long."""
    shown = ", ".join(printable(name, 100) for name in names[:MOST_NAMED])
    return shown + (", …" if len(names) > MOST_NAMED else "")
