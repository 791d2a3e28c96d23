"""`served_name`: which weights are served, under a name with the hash of weights and arguments.

Replies are cached under a model's name. A name therefore contains a hash of what the replies depend
on beside the model: the content of a folder, and the arguments of the server. `served_family` tells
what kind of model the weights are.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from pathlib import Path

from atlaskit.errors import InputError, printable
from atlaskit.guests import MODELS, load, registered
from atlaskit.models.presets import Family, Shipped, family_of, shipped

PROSE = {".md", ".csv"}
"""Suffixes of files that describe a model. Replies do not depend on them."""
TEMPLATE = "chat_template.jinja"
TEMPLATES = (TEMPLATE, "chat_template.json", "tokenizer_config.json")
"""Files that may hold a model's chat template."""
ON_THE_HUB = re.compile(r"[A-Za-z0-9][\w.-]*/[\w.-]+")
VERSION = re.compile(r"(?<=\d)_(?=\d)")
"""The point of a version in the name of an architecture: qwen3_5."""


def resolve_model(model: str) -> str:
    """Return a model as vLLM takes it: the full path of a folder, or a name on the hub.

    An address is returned unchanged.

    Raises:
        InputError: If it is neither a folder nor such a name, so that nothing is installed for it.
    """
    path = Path(model).expanduser()
    if model in registered(MODELS):  # also where a folder has that name: ./NAME names the folder
        brought: Shipped = load(MODELS, model)
        if not (brought.weights / "config.json").is_file():
            raise InputError(f"The weights of {model} are not in {brought.weights}, where its package has them.")
        return str(brought.weights)
    if path.is_dir():
        return str(path.resolve())
    if not ON_THE_HUB.fullmatch(model):
        names = "".join(f"{name}, " for name in registered(MODELS))
        raise InputError(
            f"{printable(model, 200)!r} is no model: pass {names}a folder that exists, a name on the hub (OWNER/NAME), "
            f"or an address (http://… or https://…)."
        )
    return model


def served_name(model: str, arguments: Sequence[str] = ()) -> str:
    """Return the name that a model is served under.

    A folder has the name "folder@hash". The hash changes when the folder is trained on, and not
    when it is copied, moved, or described in another README. A model on the hub has its own name,
    or "name@hash" if the server has arguments.

    Args:
        model: A folder, or the name of a model on the hub.
        arguments: The user's arguments of vLLM.
    """
    folder, digest = Path(model), hashlib.sha256(json.dumps(list(arguments)).encode())
    if folder.is_dir():
        for path in sorted(folder.rglob("*")):
            name = path.relative_to(folder)
            is_hidden = any(part.startswith(".") for part in name.parts)
            if path.is_file() and not is_hidden and path.suffix not in PROSE:
                with path.open("rb") as file:
                    digest.update(f"{name} {hashlib.file_digest(file, 'sha256').hexdigest()}\n".encode())
    elif not arguments:
        return model
    return f"{_folder_name(folder) if folder.is_dir() else model}@{digest.hexdigest()[:12]}"


def served_family(model: str) -> Family:
    """Return the family of what is served, by its name, or else by what its folder contains.

    A fine-tuned model may lie in a folder of any name. Its `config.json` names the architecture,
    and its chat template contains "<think>" if it begins a thought.

    Args:
        model: A folder, or the name of a model on the hub.
    """
    folder = Path(model)
    if not folder.is_dir():
        return family_of(model)
    by_name = family_of(folder.name)
    return by_name if by_name.pattern else family_of(_kind(folder))


def has_linear_attention(model: str) -> bool:
    """Return whether a model has layers of linear attention, by its family or its `config.json`.

    Args:
        model: A folder, or the name of a model on the hub.
    """
    config = Path(model) / "config.json"
    return served_family(model).linear_attention or (config.is_file() and b'"linear_attention"' in config.read_bytes())


def _kind(folder: Path) -> str:
    """Return the architecture of a folder's weights as in names: "qwen3.5-moe" for qwen3_5_moe."""
    try:
        kind = str(json.loads((folder / "config.json").read_bytes())["model_type"])
    except (OSError, ValueError, KeyError, TypeError):
        return ""
    paths = (folder / name for name in TEMPLATES)
    is_thinker = any(b"<think>" in path.read_bytes() for path in paths if path.is_file())
    name = VERSION.sub(".", kind).replace("_", "-")
    return f"{name}-thinking" if is_thinker else name


def _folder_name(folder: Path) -> str:
    """Return the name of a shipped model with the same chat template, or else the folder's name.

    Presets go by the name, so a copy of a shipped model must keep it wherever the copy lies.
    """
    template = _template(folder)
    same = (name for name, each in shipped().items() if template and _template(each.weights) == template)
    return next(same, folder.name)


def _template(folder: Path) -> bytes:
    path = folder / TEMPLATE
    return path.read_bytes() if path.is_file() else b""
