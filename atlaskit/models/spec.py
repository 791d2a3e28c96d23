"""`ModelSpec`: a model as people name it, in the same words on the command line and in Python.

    OWNER/NAME                            what vLLM serves here: a hub id, a folder
    https://…/v1                          the first model of an endpoint
    https://…/v1 NAME                     one of its models
    https://…/v1 NAME --key-env MY_KEY    with options: `--dialect`, `--max-tokens`, …

The words are one string (`vlm="https://…/v1 NAME --no-thinking"`, a notebook's `model`) or the
arguments of a command. They hold the name of the variable with the key, never the key, so they may
be recorded. Starts no server and makes no call.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, NoReturn

from atlaskit.errors import InputError, check_positive, check_whole, printable
from atlaskit.models.dialect import DIALECTS, checked_extra_body, dialect_named
from atlaskit.models.http import SECRET_NAMES
from atlaskit.models.names import is_folder

EXAMPLE = "Qwen/Qwen3-VL-8B-Instruct"
"""Name of a model, as an example in messages."""
WITHOUT_SCHEME = re.compile(
    r"/{0,2}(?:"
    r"(?:[\w.-]+|\[[\da-f:]+\]):\d{1,5}(?:/.*)?"  # host:8000, [::1]:8000/v1
    r"|[\w-][\w.-]*/(?:.*/)?v\d/?"  # host/v1
    r"|(?:localhost|\d+(?:\.\d+){3})(?:/.*)?"  # localhost, 127.0.0.1
    r")"
)
"""Addresses whose http:// is missing. A name on the hub has no colon, and no version at its end."""
HEADER = re.compile(r"\s*([^\s:]+)\s*:\s*(\S.*?)\s*")
VARIABLE = re.compile(r"\$\{?([A-Za-z_][A-Za-z0-9_]*)\}?")
"""A variable in the value of a header."""
USUAL_VARIABLE = re.compile("[A-Z_][A-Z0-9_]*")
"""Names of environment variables that a message may quote, since no key has this form."""


@dataclass(frozen=True)
class ModelSpec:
    """Where a model is, and the options of its client.

    The options become arguments of `VLM`. For an option that is None, the default of `VLM` holds.

    Raises:
        InputError: If a value breaks a rule, or the values do not fit together.
    """

    model: str
    """The address of an endpoint, or what vLLM serves on this machine."""
    name: str | None = None
    """Name of the model at the endpoint. None: the first chat model that the endpoint lists."""
    dialect: str | None = None
    key_env: str | None = None
    """Name of the environment variable with the endpoint's key; "" sends none at all."""
    max_tokens: int | None = None
    thinking: bool | None = None
    """False turns off thinking before the answer."""
    extra_body: Mapping[str, Any] | None = None
    """Further fields of each request."""
    headers: tuple[str, ...] | None = field(default=None, repr=False)
    """Further headers of each request, as "Name: value"; "$NAME" in a value is a variable."""
    timeout_s: float | None = None
    rpm: float | None = None

    def __post_init__(self) -> None:
        shown = printable(self.model, 200)
        if not self.model.strip():
            raise InputError(
                "vlm is empty: give a model, the address of a server, or a name such as "
                f"{EXAMPLE!r}."
            )
        if WITHOUT_SCHEME.fullmatch(self.model) and not is_folder(self.model):
            bare = shown.lstrip("/")
            raise InputError(
                f"{shown!r} is an address without its beginning: write http://{bare}, or "
                f"https://{bare}."
            )
        if not self.is_address and self.name is not None:
            raise InputError(
                f"{printable(self.name, 200)!r} follows {shown!r}, which is no address: a model "
                "on this machine has no second name."
            )
        endpoint_options = {
            "--dialect": self.dialect,
            "--key-env": self.key_env,
            "--header": self.headers,
        }
        for option, value in endpoint_options.items():
            if value and not self.is_address:
                raise InputError(
                    f"{option} is for an endpoint, and {shown!r} is no address: leave {option} out."
                )
        if any(not HEADER.fullmatch(header) for header in self.headers or ()):
            raise InputError(
                "--header takes the name of a header, a colon and its value, such as 'api-key: "
                "$MY_KEY'."
            )
        check_positive(**{"--timeout": self.timeout_s, "--rpm": self.rpm})
        if self.dialect is not None:
            dialect_named(self.dialect)
        is_variable = (
            not self.key_env or USUAL_VARIABLE.fullmatch(self.key_env) or self.key_env in os.environ
        )
        if not is_variable:  # perhaps it is the key itself, which must not be shown
            raise InputError(
                "--key-env takes the name of an environment variable, such as MY_KEY, never the "
                "key itself."
            )
        if self.max_tokens is not None:
            check_whole("--max-tokens", self.max_tokens)
        checked_extra_body(self.extra_body)

    @property
    def is_address(self) -> bool:
        """Whether the model is at an endpoint; else it is served on this machine."""
        return is_address(self.model)

    @property
    def settings(self) -> dict[str, Any]:
        """The keywords of `VLM` that the replies depend on; only those that were given."""
        return self._given("dialect", "max_tokens", "thinking", "extra_body")

    @property
    def limits(self) -> dict[str, float]:
        """The keywords of `VLM` that limit its requests; only those that were given."""
        return self._given("timeout_s", "rpm")

    def _given(self, *names: str) -> dict[str, Any]:
        return {
            name: value for name, value in vars(self).items() if name in names and value is not None
        }

    def access(self) -> dict[str, Any]:
        """Return the keywords of `VLM` with the endpoint's key and headers; only those given.

        Raises:
            InputError: If a variable is missing or empty.
        """
        options = dict[str, Any]()
        if self.key_env is not None:
            options["api_key"] = _variable(self.key_env) if self.key_env else ""
        if self.headers:
            options["headers"] = {}
            for header in self.headers:
                parts = HEADER.fullmatch(header)
                assert parts is not None, "`__post_init__` has checked the headers"
                name, value = parts.groups()
                value = VARIABLE.sub(lambda variable: _variable(variable[1]), value)
                options["headers"][name] = value
        return options

    @classmethod
    def parse(cls, text: str) -> ModelSpec:
        """Return the model that a string names.

        Raises:
            InputError: If the string names no model. The message quotes no word that may be a key.
        """
        text = text.strip()
        is_path = text.startswith(("/", "./", "../", "~")) and " --" not in text
        if is_path or is_folder(text):  # its name may contain blanks
            return cls(text)
        parser = _WordParser(add_help=False, allow_abbrev=False)
        parser.add_argument("model", nargs="*")
        add_client_options(parser)
        try:
            words = shlex.split(text)
        except ValueError as error:  # a quotation that is not closed
            raise InputError(f"The words that name a model cannot be split ({error}).") from error
        options, unknown = parser.parse_known_args(words)
        if unknown:
            raise InputError(f"A model takes {', '.join(OPTIONS)} and no other options.")
        return spec_of(options)

    def __str__(self) -> str:
        """Return the words that name the model, for `parse`, with *** for secrets in headers.

        For a folder without options they are its path, which needs no quotes.
        """
        if is_folder(self.model) and not (self.settings or self.limits or self.key_env):
            return self.model
        words = [self.model]
        if self.name is not None:
            words.append(self.name)
        for option, keywords in OPTIONS.items():
            attribute = keywords.get("dest", option.removeprefix("--").replace("-", "_"))
            value = getattr(self, attribute)
            if value is not None:
                words += _words(option, value)
        return shlex.join(words)


def _words(option: str, value: Any) -> list[str]:
    """Return an option with its value as words of a command line."""
    match value:
        case bool():
            return [] if value else [option]  # the option turns it off
        case tuple():
            return [word for header in value for word in (option, _without_secret(header))]
        case float():
            return [option, f"{value:g}"]
        case Mapping():
            return [option, json.dumps(value, sort_keys=True)]
    return [option, str(value)]


def _without_secret(header: str) -> str:
    """Return a header, with *** for a value that is a secret itself and not a variable."""
    name, _, value = header.partition(":")
    if SECRET_NAMES.search(name) and not VARIABLE.search(value):
        return f"{name}: ***"
    return header


def _variable(name: str) -> str:
    """Return the value of an environment variable.

    Raises:
        InputError: If it is missing or empty.
    """
    value = os.environ.get(name, "").strip()
    if not value:
        raise InputError(
            f"The environment variable {name} is missing or empty: set it to the endpoint's key."
        )
    return value


def is_address(word: str) -> bool:
    """Return whether a word is the address of an endpoint."""
    return word.lower().startswith(("http://", "https://"))


def as_spec(model: ModelSpec | str | os.PathLike[str]) -> ModelSpec:
    """Return the model that words, a folder or a specification name."""
    if isinstance(model, ModelSpec):
        return model
    if isinstance(model, str):
        return ModelSpec.parse(model)
    return ModelSpec(os.fspath(model))


def _json_object(text: str) -> dict[str, Any]:
    """Return the JSON object that a word is; raise argparse's error for any other word."""
    try:
        return checked_extra_body(json.loads(text))
    except (ValueError, RecursionError) as error:
        raise argparse.ArgumentTypeError(
            f"must be a JSON object, such as '{{\"top_k\": 20}}' ({error})"
        ) from error


OPTIONS: Mapping[str, Mapping[str, Any]] = {
    "--dialect": {
        "metavar": "NAME",
        "help": f"what the endpoint accepts: {', '.join(DIALECTS)}, with changes after "
        "it, as in hosted,seed=true (default: what it declares)",
    },
    "--key-env": {
        "metavar": "VARIABLE",
        "help": "name of the environment variable with the endpoint's key (default "
        "OPENAI_API_KEY, if it is set; '' sends none)",
    },
    "--max-tokens": {
        "metavar": "N",
        "type": int,
        "help": "tokens of an answer at most, thinking included",
    },
    "--no-thinking": {
        "dest": "thinking",
        "action": "store_const",
        "const": False,
        "help": "tell the model not to think first",
    },
    "--extra-body": {
        "metavar": "JSON",
        "type": _json_object,
        "help": "further fields of each request, as a JSON object",
    },
    "--header": {
        "metavar": "'NAME: VALUE'",
        "dest": "headers",
        "action": "append",
        "help": (
            "a further header of each request, as often as needed; $VARIABLE in its value names "
            "an environment variable, such as one with a key"
        ),
    },
    "--timeout": {
        "metavar": "SECONDS",
        "dest": "timeout_s",
        "type": float,
        "help": "most seconds of a request "
        "(default 300, or what the tokens of its answer take at 20 a second)",
    },
    "--rpm": {
        "metavar": "N",
        "type": float,
        "help": "requests a minute at most (default: as many as it takes)",
    },
}
"""The options that may follow a model's name, with what argparse needs of each."""


def add_client_options(parser: argparse._ActionsContainer) -> None:
    """Add the options that follow a model's name."""
    for name, settings in OPTIONS.items():
        parser.add_argument(name, **settings)


def spec_of(options: argparse.Namespace) -> ModelSpec:
    """Return the model that parsed arguments name: their words after `--model`, and the options.

    Raises:
        InputError: If they name no model.
    """
    words: Sequence[str] = options.model or ("",)
    if len(words) > 2:
        raise InputError(
            f"A model is a name, or an address and a name; got {len(words)} words: a command's "
            "other arguments stand before --model."
        )
    attributes = [each.name for each in fields(ModelSpec) if each.name not in ("model", "name")]
    values = {attribute: getattr(options, attribute) for attribute in attributes}
    values["headers"] = tuple(values["headers"]) if values["headers"] else None  # not a list
    name = words[1] if len(words) > 1 else None
    return ModelSpec(words[0], name, **values)


class _WordParser(argparse.ArgumentParser):
    """A parser that raises InputError for wrong words and does not end the program."""

    def error(self, message: str) -> NoReturn:
        # argparse quotes a wrong value. A long one may be a key that stands in the wrong place.
        shown = re.sub(r": '.{13,}'", "", message, flags=re.DOTALL)
        raise InputError(f"The words that name a model are wrong: {shown}.")
