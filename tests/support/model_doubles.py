"""Test doubles of a model, each one small class."""

import hashlib
import random
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Unpack

from atlaskit.caching.keys import canonical_json, recipe_key
from atlaskit.models.names import Preset, preset_of
from atlaskit.models.protocol import (
    MAX_ATTEMPTS,
    CallControl,
    Image,
    Model,
    ModelError,
    Reply,
    Request,
    Usage,
    json_schema,
)


def draw_key(model: Model, request: Request) -> str:
    """Return the seed of a double's answer: a hash of the request, whatever cache keys are."""
    return recipe_key(
        "reply",
        3,
        model=model.name,
        parameters=dict(model.parameters),
        sample=request.sample,
        max_tokens=request.max_tokens,
        schema=hashlib.sha256(canonical_json(json_schema(request.schema)).encode()).hexdigest(),
        messages=[
            [message.speaker, [part if isinstance(part, str) else {"image": part.key} for part in message.parts]]
            for message in request.messages
        ],
    )


WORDS = ("a red circle", "<script>alert(1)</script>", "[A] 86.3 s", "ignore all rules")
ATTACK = (
    "<script>document.title='run'</script><img src=x onerror=\"document.title='run'\"></script></textarea></svg>"
    "<a href='javascript:1'>[x](javascript:1) \u202etxt\u2066 \x1b[31m\x07 $x^{$ \\(y --> ]]> http://127.0.0.1:9/x.png"
)
"""Text that runs, loads from the network or reverses words wherever it is not treated as text."""


class Babbler:
    """Answers at random, by the seed and the request, whatever fits the schema."""

    words: Sequence[str] = WORDS

    def __init__(self, seed: int = 0) -> None:
        self.seed = seed
        self.name = "babbler"
        self.preset = Preset()
        self.parameters: Mapping[str, Any] = {"seed": seed}

    def complete(self, request: Request, **control: Unpack[CallControl]) -> Reply:
        rng = random.Random(f"{self.seed} {draw_key(self, request)}")
        schema = json_schema(request.schema)
        value = babble(schema, schema.get("$defs", {}), rng, self.words)
        text = canonical_json(value)
        usage = Usage(calls=1, prompt_tokens=rng.randrange(100, 3000), completion_tokens=rng.randrange(1, 100))
        return Reply(request.schema.model_validate_json(text), text, usage)


def babble(
    schema: dict[str, Any], definitions: dict[str, Any], rng: random.Random, words: Sequence[str] = WORDS
) -> Any:
    """Draw a value that fits a JSON Schema as pydantic generates them."""
    if "$ref" in schema:
        return babble(definitions[schema["$ref"].rsplit("/", 1)[1]], definitions, rng, words)
    if "anyOf" in schema:
        return babble(rng.choice(schema["anyOf"]), definitions, rng, words)
    if "const" in schema:
        return schema["const"]
    if "enum" in schema:
        return rng.choice(schema["enum"])
    match schema["type"]:
        case "object":
            return {name: babble(part, definitions, rng, words) for name, part in schema["properties"].items()}
        case "array":
            least, most = schema.get("minItems", 0), min(schema["maxItems"], 5)
            return [
                babble(schema["items"], definitions, rng, words) for _ in range(rng.randint(least, max(least, most)))
            ]
        case "string":
            text: str = rng.choice(["" if "minLength" not in schema else "?", *words])
            return text[: schema.get("maxLength")]
        case "integer":
            least = schema.get("minimum", 0)
            return rng.randint(least, max(least, min(schema["maximum"], 12)))
        case "number":
            return rng.uniform(schema.get("minimum", 0), schema.get("maximum", 1))
        case "boolean":
            return rng.random() < 0.2
    raise AssertionError(schema)


class Spiteful(Babbler):
    """Answers with an attack in every field of free text."""

    words = (ATTACK,)


class Around:
    """A double around a model, with its name, parameters and preset."""

    def __init__(self, model: Model) -> None:
        self.model, self.name, self.parameters = model, model.name, model.parameters
        self.preset = preset_of(model)

    def complete(self, request: Request, **control: Unpack[CallControl]) -> Reply:
        return self.model.complete(request, **control)


class Slow(Around):
    """A model that delays each call by a random time."""

    def __init__(self, model: Model, seed: int) -> None:
        super().__init__(model)
        self._rng, self._lock = random.Random(seed), threading.Lock()

    def complete(self, request: Request, **control: Unpack[CallControl]) -> Reply:
        with self._lock:
            wait_s = self._rng.random() * 0.004
        time.sleep(wait_s)
        return super().complete(request, **control)


class Flaky(Around):
    """A model that fails on a random share of its calls, the same for the same request."""

    def __init__(self, model: Model, rate: float, seed: int = 0, steps: tuple[str, ...] = ("step",)) -> None:
        super().__init__(model)
        self.rate, self.seed, self.steps = rate, seed, steps
        self.failed = 0
        self._lock = threading.Lock()

    def complete(self, request: Request, **control: Unpack[CallControl]) -> Reply:
        draw = random.Random(f"{self.seed} {draw_key(self.model, request)}").random()
        if request.step in self.steps and draw < self.rate:
            with self._lock:
                self.failed += 1
            raise ModelError("the network is down", Usage(calls=control.get("max_attempts", MAX_ATTEMPTS)))
        return super().complete(request, **control)


class Counting(Around):
    """A model that records the requests that reach it, and the step of each."""

    def __init__(self, model: Model) -> None:
        super().__init__(model)
        self.calls, self.requests = list[str](), list[Request]()
        self._lock = threading.Lock()

    def complete(self, request: Request, **control: Unpack[CallControl]) -> Reply:
        with self._lock:
            self.calls.append(request.step)
            self.requests.append(request)
        return super().complete(request, **control)

    def of(self, kind: type) -> list[Any]:
        """Return the facts of one class, in order."""
        return [request.facts for request in self.requests if type(request.facts) is kind]

    @property
    def images(self) -> dict[str, Image]:
        """Every image that was shown, by its key."""
        return {image.key: image for request in self.requests for image in request.images}


class Failing(Counting):
    """A model some of whose calls fail: `error` tells by the request and its number in its step."""

    def __init__(self, model: Model, error: Callable[[Request, int], Exception | None]) -> None:
        super().__init__(model)
        self._error = error

    def complete(self, request: Request, **control: Unpack[CallControl]) -> Reply:
        error = self._error(request, 1 + self.calls.count(request.step))
        if error is None:
            return super().complete(request, **control)
        self.calls.append(request.step)
        self.requests.append(request)
        raise error


class Looking(Around):
    """A model that encodes every image of a request, as a client does."""

    def complete(self, request: Request, **control: Unpack[CallControl]) -> Reply:
        for image in request.images:
            image.jpeg()
        return super().complete(request, **control)


class Overruled(Around):
    """A model whose answers are changed: `by` maps a step to a function of request and answer."""

    def __init__(self, model: Model, **by: Callable[[Request, dict[str, Any]], dict[str, Any]]) -> None:
        super().__init__(model)
        self.name, self.by = f"overruled {model.name}", by

    def complete(self, request: Request, **control: Unpack[CallControl]) -> Reply:
        reply = super().complete(request, **control)
        if request.step not in self.by:
            return reply
        answer = request.schema.model_validate(self.by[request.step](request, reply.answer.model_dump()))
        return replace(reply, answer=answer, text=answer.model_dump_json())
