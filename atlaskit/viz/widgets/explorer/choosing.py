"""`ModelChoice`: the model that answers in the explorer, chosen by words typed into its page.

    oracle                        the scripted oracle of a synthetic world, if the film is of one
    NAME, OWNER/NAME, a folder    a model that vLLM serves on this machine
    https://…/v1 NAME             a model of an endpoint, with the options of a `ModelSpec`

If starting a server on this machine takes long or installs much, the page says so first, and the
server starts once the person has pressed "go on".
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

from atlaskit.environment.question import Question
from atlaskit.errors import InputError, printable
from atlaskit.guests import MODELS, ORACLES, load, registered
from atlaskit.models.client import VLM
from atlaskit.models.protocol import Model
from atlaskit.models.serving.server import Server
from atlaskit.models.spec import ModelSpec
from atlaskit.video.video import Video

ORACLE = "oracle"
WORDS_CHARS = 2_000
"""Most characters of the words that name a model."""
MAX_QUESTIONS = 200
"""Most questions that are offered."""
ASKED_KINDS = ("choice", "open")
"""The kinds of questions that the page can ask."""


@runtime_checkable
class KnowsQuestions(Protocol):
    """A model that can answer certain questions and no others, such as an oracle."""

    @property
    def questions(self) -> Sequence[Question]:
        """The questions that the model can answer."""


def known_questions(vlm: Model | str | None) -> list[dict[str, Any]]:
    """Return, for the page, the only questions that a model can answer; [] if it answers any.

    The page asks with choices or for a text; it has no field for a question of another kind.
    """
    if not isinstance(vlm, KnowsQuestions):
        return []
    listed = [each for each in vlm.questions if each.kind in ASKED_KINDS]
    return [{"question": each.text, "choices": [*each.choices]} for each in listed[:MAX_QUESTIONS]]


def oracle_of(video: Video) -> Model | None:
    """Return the oracle of an installed package that knows a video; None if there is none."""
    for name in registered(ORACLES):
        of_video = getattr(load(ORACLES, name), "of_video", None)
        if of_video is None:
            continue
        oracle: Model | None = of_video(video)
        if oracle is not None:
            return oracle
    return None


class ModelChoice:
    """The model that is asked now, and whether its server may be started.

    Attributes:
        words: The words that name the model; "" if there is no model.
    """

    def __init__(self, vlm: Model | str | None, named: str = "") -> None:
        """Begin with the model that was passed to the explorer.

        Args:
            vlm: The model, the words that name it, or None.
            named: The words that name the model; "" to take them from the model.
        """
        self._initial = vlm
        self._initial_words = named or _words_of(vlm)
        self.words = self._initial_words
        self._agreed = set[str]()  # words of the models whose servers may be started
        self._announced = ""  # words of the model for which "go on" is awaited

    def choose(self, words: str, video: Video) -> Model | str | None:
        """Return the model that words of the page name; None for no words.

        Raises:
            InputError: The words name no model, or there is no oracle for the video.
        """
        words = words[:WORDS_CHARS].strip()
        chosen: Model | str | None = words or None
        if words == self._initial_words:
            chosen = self._initial
        elif words == ORACLE:
            chosen = oracle_of(video)
            if chosen is None:
                raise InputError(
                    f"No oracle knows {video.name}: it knows the films of synthetic worlds alone."
                )
        elif words:
            ModelSpec.parse(words)
        self.words = words
        return chosen

    def offered(self, video: Video) -> list[str]:
        """Return the words of the models that the page offers."""
        words = [self._initial_words]
        if oracle_of(video) is not None:
            words.append(ORACLE)
        words += registered(MODELS)
        return [printable(each, WORDS_CHARS) for each in dict.fromkeys(words) if each]

    def check_agreed(self, sentences: Sequence[str]) -> None:
        """Raise InputError unless the person has agreed to the start of the model's server.

        Args:
            sentences: What the start of the server takes.
        """
        if self.words not in self._agreed:
            self._announced = self.words
            raise InputError(f'{" ".join(sentences)} Press "go on" to start it.')

    def agree(self) -> None:
        """Note that the person has agreed to the start of the server that was announced."""
        if self._announced:
            self._agreed.add(self._announced)
        self._announced = ""


def _words_of(vlm: Model | str | None) -> str:
    """Return the words that name a model; "" for None."""
    match vlm:
        case None:
            return ""
        case str():
            return vlm
        case Server():
            return str(vlm.spec)
        case VLM():
            return f"{vlm.base_url} {vlm.name}"
    return vlm.name
