"""Everything that follows from the name of a model; no other module knows models by name.

Contents:
    `Family`, `family_of`: how many pixels an image token covers, and whether models think.
    `Preset`, `preset_named`, `preset_of`: the defaults that suit a model: grid, cell size, steps
        and serving options. They are looked up once, when a model is opened, and are then its
        attribute `preset`. A package brings a model of its own as `Shipped`.
    `is_same_model`, `is_generic`: whether a reply's name is the one that was asked for.
    `entries`, `chat_models`, `first_chat_model`: the models of a server's list, and which of them
        chat. A list says so in fields that differ from server to server; where it says nothing, the
        model's name decides.
    `resolve_model`, `served_name`, `served_family`: which weights a name stands for, and the name
        under which they are served. Replies are cached under the latter, so it holds a hash of what
        else they depend on: the content of a folder, and the arguments of the server.
"""

from __future__ import annotations

import hashlib
import json
import re
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from atlaskit import limits
from atlaskit.caching.files import expanded
from atlaskit.errors import InputError, ModelWarning, printable
from atlaskit.guests import MODELS, load, registered
from atlaskit.models.http import object_of
from atlaskit.models.protocol import Model, ModelError, Request, Usage

NO_THINKING = {"chat_template_kwargs": {"enable_thinking": False}}
"""The fields that turn thinking off in the chat templates of Qwen, GLM, Gemma 4 and others."""


@dataclass(frozen=True)
class Family:
    """Models that have the properties below in common."""

    name: str
    pattern: str
    """Regular expression that a lower-case model name of the family contains."""
    patch: int = 32
    """Side, in pixels, of the square that one image token stands for."""
    thinks: bool = False
    """Whether its models think before they answer, unless the request turns thinking off."""
    reasoning_parser: str = ""
    """vLLM's parser of the models' reasoning (`--reasoning-parser`); "" for none."""
    no_thinking: Mapping[str, Any] = field(default_factory=dict)
    """Fields of a request that turn thinking off on a server that serves open weights; {} where the
    model always thinks, or never does."""
    linear_attention: bool = False
    """Whether its models have layers of linear attention (gated delta networks). On a CPU, vLLM
    0.32 computes these layers only in bfloat16."""


FAMILIES = (
    Family(
        "Qwen3-VL Thinking",
        r"qwen3-vl.{0,40}thinking|qwen3-omni.{0,40}thinking",
        patch=32,
        thinks=True,
        reasoning_parser="deepseek_r1",
    ),
    Family("Qwen3-VL", r"qwen3-?vl|qwen3-omni"),
    Family(
        "Qwen3.5 and later",
        r"qwen-?3\.[5-9]|qwen-?[4-9]",
        patch=32,
        thinks=True,
        reasoning_parser="qwen3",
        no_thinking=NO_THINKING,
        linear_attention=True,
    ),
    Family("Qwen2.5-VL and Qwen2-VL", r"qwen-?2(\.5)?-?(vl|omni)|qvq", patch=28),
    Family(
        "GLM-4.5V and 4.6V",
        r"glm-?4\.?[5-9]v|glm4v-moe|glm-?5",
        patch=28,
        thinks=True,
        reasoning_parser="glm45",
        no_thinking=NO_THINKING,
    ),
    Family(
        "GLM-4.1V Thinking",
        r"glm-?4(\.1)?v.{0,40}thinking",
        patch=28,
        thinks=True,
        reasoning_parser="glm45",
    ),
    Family("GLM-4V", r"glm-?4(\.1)?v|glm-ocr", patch=28),
    Family(
        "Kimi-VL Thinking",
        r"kimi-vl.{0,40}thinking",
        patch=28,
        thinks=True,
        reasoning_parser="kimi_k2",
    ),
    Family(
        "Kimi-K2.5",
        r"kimi-k2\.?[5-9]",
        patch=28,
        thinks=True,
        reasoning_parser="kimi_k2",
        no_thinking={"chat_template_kwargs": {"thinking": False}},
    ),
    Family("Kimi-VL", r"kimi-vl", patch=28),
    Family(
        "MiniCPM-V 4.5",
        r"minicpm-?v-?4[._]5",
        patch=28,
        thinks=True,
        reasoning_parser="minicpmv",
        no_thinking=NO_THINKING,
    ),
    Family(
        "MiniCPM-V 4.6 and later",
        r"minicpm-?v-?(4[._][6-9]|[5-9])",
        patch=28,
        thinks=True,
        reasoning_parser="minicpmv",
        no_thinking=NO_THINKING,
        linear_attention=True,
    ),
    Family("MiniCPM-V", r"minicpm-?[vo]", patch=28),
    Family("InternVL and Intern-S1", r"intern-?(vl|s1)", patch=28),
    Family(
        "Gemma 4",
        r"gemma-?4",
        patch=48,
        thinks=False,
        reasoning_parser="gemma4",
        no_thinking=NO_THINKING,
    ),
    Family("Gemma 3", r"gemma-?3", patch=56),
    Family("LLaVA", r"llava", patch=14),
    Family("SmolVLM and Idefics3", r"smolvlm|idefics", patch=64),
    Family("Magistral", r"magistral", patch=28, thinks=True, reasoning_parser="mistral"),
    Family("Mistral and Pixtral", r"mistral|ministral|pixtral", patch=28),
    Family("DeepSeek-VL2", r"deepseek-?vl", patch=28),
    Family("Step3", r"step-?3", patch=28, thinks=True, reasoning_parser="step3"),
    Family("OpenAI, thinking", r"(^|/)(gpt-5(?!.{0,40}chat)|o[1-9]\b)", patch=32, thinks=True),
    Family("OpenAI", r"(^|/)(chatgpt|gpt)-?4", patch=32),
    Family("Gemini", r"gemini-(2\.[5-9]|[3-9])", patch=48, thinks=True),
    Family("Claude", r"claude", patch=28),
)
"""The families. The first one whose pattern matches a name counts."""


PATTERNS = {family.name: re.compile(family.pattern) for family in FAMILIES}


def family_of(name: str) -> Family:
    """Return the family of a model by its name: a hub id, a folder, or "folder@hash"."""
    lowered = name.lower()
    for family in FAMILIES:
        if PATTERNS[family.name].search(lowered):
            return family
    return Family("other", "")


@dataclass(frozen=True)
class Preset:
    """The defaults that suit one model."""

    k: int = 8
    """Cells along each side of a grid."""
    cell: int = 320
    """Side of a cell, in pixels; of a native cell, the longer side."""
    fit: Literal["native", "contain"] = "native"
    """How a frame fills its cell. "native": the cell has the video's aspect ratio. "contain": the
    cell is a grey square around the whole frame."""
    ruled: bool = True
    """Whether grids have gutters, strips for text, and hatched dead cells. Otherwise labels are in
    the corners of cells, and dead cells are black."""
    steps: int = 12
    """Most steps of a worker in one region."""
    plateau: int | None = None
    """Steps without new evidence after which a worker stops. None: the search's own default."""
    compile_on_cpu: bool = False
    """Whether vLLM compiles the model on a CPU. Compiling pays off for a small model only."""
    copy_per_core: bool = False
    """Whether a CPU serves many questions best with a copy of the model on each core: for a model
    so small that vLLM takes longer to schedule a step than a core takes to compute it."""
    no_forcing: bool = False
    """Whether the model generates every token itself, also where vLLM's grammar allows only one
    text (`no_forcing` of llguidance)."""
    context: int = 100_000
    """Tokens of subtitles that a prompt may hold beside many frames, at four characters each."""
    words: Callable[[Any], Request] | None = field(default=None, repr=False)
    """Returns the request of a call of Video-RLM in the only words that the model was trained on.
    None for a model that understands any words."""
    caution: Callable[[Any, Any], str] | None = field(default=None, repr=False)
    """Returns a warning if the model was not trained for such a video or question, as the rest of a
    sentence that begins with the model's name; "" for none. None: there are no warnings."""
    torchvision: bool = True
    """Whether a CPU server uses the Python part of torchvision to prepare images, if atlaskit
    installed torchvision. Otherwise transformers uses Pillow, with which not every family works."""
    prefix_caching: bool = True
    """Whether vLLM caches prefixes of prompts. It must not for an encoder-decoder model: vLLM 0.32
    would die at the first request ("CrossAttentionManager does not support caching")."""


WHISPER = Preset(prefix_caching=False)
"""The preset of all models with "whisper" in their name."""


@dataclass(frozen=True)
class Shipped:
    """A model that a package brings with its weights, under the name of its entry point."""

    weights: Path
    """The folder of its weights."""
    preset: Preset


def shipped() -> dict[str, Shipped]:
    """Return the models that installed packages bring, by their names."""
    return {name: load(MODELS, name) for name in registered(MODELS)}


def preset_named(name: str) -> Preset:
    """Return the preset of a model by its name.

    A model folder is served as "folder@hash"; the part before the @ decides.
    """
    own = name.partition("@")[0]
    if own in registered(MODELS):
        brought: Shipped = load(MODELS, own)
        return brought.preset
    return WHISPER if "whisper" in name.lower() else Preset()


def preset_of(model: object) -> Preset:
    """Return the attribute `preset` of a model or a function; the defaults if it has none."""
    own = getattr(model, "preset", None)
    return own if isinstance(own, Preset) else Preset()


def preset_for(model: Model | str | Callable[..., Model]) -> Preset:
    """Return the preset of a model, of a model's name, or of a function that makes models."""
    return preset_named(model) if isinstance(model, str) else preset_of(model)


def cell_for(vlm: Model, size: int | None) -> int:
    """Return the size of a cell in pixels: `size`, or the model's preset if it is None."""
    return preset_of(vlm).cell if size is None else size


VERSION = re.compile(
    r"[-@:._]?(20\d{6}|20\d\d-\d\d-\d\d|\d{4}|\d{3}|latest|v\d+(:\d+)?)$|-(preview"
    r"|exp)(-\d\d-\d\d|-\d{4})?$"
)
"""The end of a name that is a version: a date, a revision, "latest"."""
SUFFIXES = (":free", ":beta", ":nitro", ":floor", ":exacto", ".gguf")
"""The end of a name that is a price or the form of a file."""
MOST_VERSIONS = 8
"""Most versions at the end of a name that are left out to compare it."""
LONGEST_VERSION = 40
"""Most characters of one of them."""
GENERIC = frozenset({
    "default", "model", "models", "local", "local-model", "llm", "vlm", "vision", "chat", "base",
    "main", "test", "unknown", "none", "null", "any", "auto", "custom", "my-model", "your-model",
    "served-model", "gpt-3.5-turbo",
})  # fmt: skip
"""Names under which many servers serve different models."""


def is_generic(name: str) -> bool:
    """Return whether a name says nothing about the model, so that two servers may both use it."""
    return name.strip().lower() in GENERIC


def is_same_model(asked: str, answered: str) -> bool:
    """Return whether a reply's `model` is the one that was asked for.

    Names may differ in a provider's prefix ("models/", "openai/"), in a path, and in a version that
    only one of them has ("gpt-4o" and "gpt-4o-2024-08-06").

    Args:
        asked: The name in the request.
        answered: The name in the reply; "" if it names none, which counts as the same.
    """
    if not answered.strip() or asked == answered:
        return True
    first = _bare(asked)
    second = _bare(answered)
    if first == second:
        return True
    if _has_fixed_version(first) and _has_fixed_version(second):
        return False
    return _without_version(first) == _without_version(second)


def _bare(name: str) -> str:
    """Return a name in small letters without a provider, a path, and one of `SUFFIXES`."""
    last = name.strip().lower().replace("\\", "/").rstrip("/").rpartition("/")[2]
    for suffix in SUFFIXES:
        if last.endswith(suffix):
            return last.removesuffix(suffix)
    return last


def _without_version(name: str) -> str:
    """Return a name without the versions at its end, such as "-0", Anthropic's newest version."""
    name = name.removesuffix("-0")
    for _ in range(MOST_VERSIONS):
        version = _version(name)
        if version is None or version.start() == 0:
            break
        name = name[: version.start()]
    return name


def _version(name: str) -> re.Match[str] | None:
    """Return the version at the end of a name, if any."""
    return VERSION.search(name, max(0, len(name) - LONGEST_VERSION))


def _has_fixed_version(name: str) -> bool:
    """Return whether a name ends in a numbered version, unlike "latest" or "preview"."""
    version = _version(name)
    return version is not None and any(map(str.isdecimal, version[0]))


MOST_NAMED = 8
"""Most models that a message names."""
CHATS = frozenset({
    "llm", "vlm", "chat", "completion_chat", "text", "generate", "completion", "vision",
    "text-generation", "image-text-to-text", "any-to-any",
})  # fmt: skip
"""Words in a list for a model that chats: those of LM Studio, Together, vLLM and Ollama, and the
names of tasks on the Hugging Face hub."""
KIND_FIELDS = ("type", "task", "pipeline_tag", "model_type", "capabilities")
"""Fields of an entry that may say what a model does."""
OTHER_KINDS = re.compile(
    r"embed|rerank|score|classif|reward|moderat|pooling|transcri|speech|audio|tts"
    r"|image-generation|text-to-image"
    r"|feature-extraction|sentence-similarity|^image$|^video$"
)
"""Words in a list for a model that does not chat."""
OTHER_NAMES = re.compile(
    r"embed|(^|[/_.-])(e5|gte|bge|minilm|sentence-transformers|colbert|colpali|colqwen\d*"
    r"|clip|siglip\d*)([/_.:-]|$)"
    r"|rerank|reward-model|moderation|guard|shieldgemma|(^|/)(babbage|davinci)-|whisper"
    r"|wav2vec|transcribe|voxtral-.{0,40}(asr|tts)|(^|[/_.-])(tts|asr|stt)([/_.:-]|\d|$)"
    r"|parakeet|kokoro|piper"
    r"|dall-?e|gpt-image|stable-diffusion|(^|/)(flux|imagen|veo)[-.]|(^|[/_-])sora"
    r"|text-to-(speech|image)|realtime"
)
"""Names of models that do not chat."""


def chat_models(listing: Any) -> list[str]:
    """Return the names of the models in a list that can chat, in the list's order.

    If the list does not say what a model does, its name decides.

    Args:
        listing: The parsed body of GET /models, from any server. Entries that cannot be read are
            skipped.
    """
    names = list[str]()
    for name, entry in entries(listing):
        chats = _chats(entry)
        if chats is None:
            chats = not OTHER_NAMES.search(name.lower())
        if chats:
            names.append(name)
    return names


def first_chat_model(listing: Any, base_url: str) -> str | None:
    """Return the first model of a list that can chat, and warn if there are several.

    If the list says that a model takes no images, the model is chosen only if there is no other.

    Args:
        listing: The parsed body of GET /models.
        base_url: The server's address, for the messages.

    Returns:
        The model's name; None if the list is empty or is no list.

    Raises:
        ModelError: If the server has models, and none of them can chat.
    """
    rows = list(entries(listing))
    names = chat_models(listing)
    if rows and not names:
        others = named([name for name, _ in rows])
        raise ModelError(
            f"{base_url} has no model that chats, only {others}: load one, or pass its name.",
            Usage(),
        )
    if not names:
        return None
    blind = {name for name, entry in rows if _is_blind(entry)}
    chosen = next((name for name in names if name not in blind), names[0])
    if len(names) > 1:
        warnings.warn(
            f"{base_url} has {len(names)} models that chat ({named(names)}): "
            f"{printable(chosen, 100)} is used; name another one after the address.",
            ModelWarning,
            stacklevel=2,
        )
    return chosen


def entries(listing: Any) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the name and the entry of each model in a list.

    Args:
        listing: The parsed body of GET /models: {"data": […]}, {"models": […]} or a bare list.
    """
    rows = listing
    if isinstance(listing, Mapping):
        rows = listing.get("data")
        if not isinstance(rows, list):
            rows = listing.get("models")
    if not isinstance(rows, list):
        return
    for row in rows:
        name = _name_in(row) if isinstance(row, Mapping) else ""
        if 0 < len(name) <= limits.NAME:
            yield name, row


def _name_in(row: Mapping[str, Any]) -> str:
    """Return the name of a model in its entry of a list; "" if it has none."""
    for key in ("id", "model", "name"):
        name = row.get(key)
        if isinstance(name, str) and name:
            return name
    return ""


def _chats(entry: Mapping[str, Any]) -> bool | None:
    """Return whether a model can chat by its entry of a list; None if the entry does not say."""
    kinds = [object_of(entry.get("architecture")).get("output_modalities")]  # OpenRouter
    kinds += [entry.get(name) for name in KIND_FIELDS]
    words = list[str]()
    for kind in kinds:
        if isinstance(kind, Mapping):  # Mistral, text-embeddings-inference
            kind = [word for word, value in kind.items() if value]
        found = kind if isinstance(kind, list) else [kind]
        words += [word.lower() for word in found if isinstance(word, str)]
    if CHATS.intersection(words):  # even if other words say that it also hears or speaks
        return True
    return False if any(map(OTHER_KINDS.search, words)) else None


def _is_blind(entry: Mapping[str, Any]) -> bool:
    """Return whether a model takes no images, by its entry of a list."""
    modalities = object_of(entry.get("architecture")).get("input_modalities")
    if isinstance(modalities, list):
        return "image" not in modalities
    sees = object_of(entry.get("capabilities")).get("vision")
    if isinstance(sees, bool):
        return not sees
    return bool(entry.get("type") == "llm")  # LM Studio; its models that take images are "vlm"


def named(names: list[str]) -> str:
    """Return names with commas between them; "…" stands for those beyond `MOST_NAMED`."""
    shown = ", ".join(printable(name, 100) for name in names[:MOST_NAMED])
    return shown + (", …" if len(names) > MOST_NAMED else "")


PROSE = {".md", ".csv"}
"""Suffixes of files that describe a model. Replies do not depend on them."""
TEMPLATE = "chat_template.jinja"
TEMPLATES = (TEMPLATE, "chat_template.json", "tokenizer_config.json")
"""Files that may hold a model's chat template."""
ON_THE_HUB = re.compile(r"[A-Za-z0-9][\w.-]{0,199}/[\w.-]{1,200}", re.ASCII)
"""The name of a model on the Hugging Face hub. Both parts can be names of folders."""
POINT = re.compile(r"(?<=\d)_(?=\d)")
"""The underscore that stands for a point in the name of an architecture: qwen3_5."""


def resolve_model(model: str) -> str:
    """Return a model as vLLM takes it: the full path of a folder, or a name on the hub.

    Raises:
        InputError: If it is neither. The check comes before vLLM is installed for the model.
    """
    if model in registered(MODELS):  # even if a folder has the same name, which is then ./NAME
        brought: Shipped = load(MODELS, model)
        if not (brought.weights / "config.json").is_file():
            raise InputError(
                f"The weights of {model} are not in {brought.weights}, where its package has them."
            )
        return str(brought.weights)
    if is_folder(model):
        return str(expanded(model).resolve())
    if not ON_THE_HUB.fullmatch(model):
        names = "".join(f"{name}, " for name in registered(MODELS))
        raise InputError(
            f"{printable(model, 200)!r} is no model: pass {names}a folder that exists, a name on "
            "the hub (OWNER/NAME), or an address (http://… or https://…)."
        )
    return model


def is_folder(name: str) -> bool:
    """Return whether there is a folder of a name, in which ~ stands for the home folder."""
    try:
        return expanded(name).is_dir()
    except (OSError, ValueError):  # a path too long, or with a zero byte
        return False


def served_name(model: str, arguments: Sequence[str] = ()) -> str:
    """Return the name that a model is served under.

    A folder is served as "folder@hash". The hash changes when the weights are trained further, and
    not when the folder is copied or moved, or when its README changes. A model on the hub is served
    under its own name, or as "name@hash" if the server has arguments.

    Args:
        model: A folder, or the name of a model on the hub.
        arguments: The user's arguments of vLLM.
    """
    folder = Path(model)
    if not folder.is_dir() and not arguments:
        return model
    name = _folder_name(folder) if folder.is_dir() else model
    digest = hashlib.sha256(json.dumps(list(arguments)).encode())
    for path in sorted(folder.rglob("*")):  # none for a model on the hub
        place = path.relative_to(folder)
        is_hidden = any(part.startswith(".") for part in place.parts)
        if path.is_file() and not is_hidden and path.suffix not in PROSE:
            with path.open("rb") as file:
                content = hashlib.file_digest(file, "sha256").hexdigest()
            # The name of a file may be no UTF-8.
            digest.update(f"{place} {content}\n".encode(errors="surrogateescape"))
    return f"{name}@{digest.hexdigest()[:12]}"


def served_family(model: str) -> Family:
    """Return the family of a served model by its name, or else by the files in its folder.

    The folder of a fine-tuned model may have any name, but its `config.json` names the
    architecture, and its chat template contains "<think>" if the model thinks.

    Args:
        model: A folder, or the name of a model on the hub.
    """
    folder = Path(model)
    if not folder.is_dir():
        return family_of(model)
    family = family_of(folder.name)
    is_known = family.pattern != ""
    return family if is_known else family_of(_architecture(folder))


def has_linear_attention(model: str) -> bool:
    """Return whether a model has layers of linear attention, by its family or its `config.json`.

    Args:
        model: A folder, or the name of a model on the hub.
    """
    config = Path(model) / "config.json"
    return served_family(model).linear_attention or (
        config.is_file() and b'"linear_attention"' in config.read_bytes()
    )


def _architecture(folder: Path) -> str:
    """Return the architecture of a folder's weights, as a model's name spells it.

    "qwen3.5-moe" for qwen3_5_moe; "" if `config.json` does not name one.
    """
    try:
        kind = str(json.loads((folder / "config.json").read_bytes())["model_type"])
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return ""
    paths = (folder / name for name in TEMPLATES)
    is_thinker = any(b"<think>" in path.read_bytes() for path in paths if path.is_file())
    name = POINT.sub(".", kind).replace("_", "-")
    return f"{name}-thinking" if is_thinker else name


def _folder_name(folder: Path) -> str:
    """Return the name of the shipped model with the same chat template, or else the folder's name.

    A preset is found by the model's name, so a copy of a shipped model keeps its name in any
    folder.
    """
    template = _template(folder)
    for name, each in shipped().items():
        if template and _template(each.weights) == template:
            return name
    return folder.name


def _template(folder: Path) -> bytes:
    """Return the chat template in a folder; b"" if it has none of its own."""
    path = folder / TEMPLATE
    return path.read_bytes() if path.is_file() else b""
