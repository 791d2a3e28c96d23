"""Conditions under which a service does reply: where and in what form it answers."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from atlaskit.models.errors import BadReply, Refused
from atlaskit.models.protocol import Reply
from support.services.declare import Answer, Condition, Expected, Service, Turn
from support.services.model import PROSE, RIGHT, THOUGHT, WRONG, fitting, meant, told

SUBSTITUTE = "acme/other-model-7b"
OTHER_SHAPE = '{"verdict": "the last one", "why": "frame B shows it"}'
Message = Mapping[str, Any]


def completion(service: Service, message: Message, finish: str = "stop", **rest: Any) -> Answer:
    """Return a completion in the service's form."""
    choice = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": finish}
    body = {"id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": service.answered_as}
    return Answer(200, {**body, "choices": [choice], "usage": service.usage(20), **service.extra, **rest})


def replace_model(answer: Answer, model: str | None) -> Answer:
    """Return a completion by another model; an error stays as it is."""
    return Answer(200, {**answer.body, "model": model}) if model and answer.status == 200 else answer


def refused(turn: Turn, *more: str) -> Answer | None:
    """Return the refusal of the first field that the service does not take, or None."""
    service, body = turn.service, turn.body
    for name in (*more, *service.refuses):
        if name in body and (name in more or body[name] != service.refused_values.get(name, ...)):
            return service.refusing(name)
    match body.get("response_format"):
        case {"type": "json_schema", "json_schema": {"schema": dict(schema), **rest}} if service.schema:
            if fault := service.schema_fault(schema, rest.get("strict") is True):
                return service.refusing("response_format", fault)
    return None


def well(form: Callable[[Service, str], Message], finish: str = "stop", **rest: Any) -> Callable[[Turn], Answer]:
    """Return a behaviour: refuse what the service refuses, else reply in this form."""

    def answer(turn: Turn) -> Answer:
        service = turn.service
        return refused(turn) or completion(service, form(service, meant(service, turn.body)), finish, **rest)

    return answer


def content(form: Callable[[str], Any]) -> Callable[[Service, str], Message]:
    return lambda service, text: {"content": form(text)}


def answered(first: int = 1, **rest: Any) -> Callable[[Service], Expected]:
    return lambda service: Expected(first=first + service.learns, **rest)


def unanswered(*says: str, first: int = 2, **rest: Any) -> Callable[[Service], Expected]:
    return lambda service: Expected(BadReply, says=says, first=first + service.learns, **rest)


def with_thought(service: Service, text: str) -> Message:
    """Return a message with the thought in its own place."""
    if service.content_parts:
        thought = {"type": "thinking", "thinking": [{"type": "text", "text": THOUGHT}]}
        return {"content": [thought, {"type": "text", "text": text}]}
    return {"content": text, service.thought_field: THOUGHT}


def inline(service: Service, text: str) -> Message:
    """Return a message whose content begins with a thought that considers another answer."""
    tag = service.thought_tag or "think"
    return {"content": f"<{tag}>\n{THOUGHT} {considered(text)}\n</{tag}>\n\n{text}"}


def considered(text: str) -> str:
    """Return the same answer for another choice, as a model drafts it."""
    return text.replace(f": {RIGHT}", f": {WRONG}")


def cut_off(service: Service, text: str) -> Message:
    if service.content_parts:
        return {"content": [{"type": "thinking", "thinking": [{"type": "text", "text": THOUGHT}]}]}
    if service.thought_field:
        return {"content": "", service.thought_field: THOUGHT}
    return {"content": f"<{service.thought_tag}>{THOUGHT}" if service.thought_tag else ""}


def only_told_in_words(otherwise: str) -> Callable[[Turn], Answer]:
    """Answer by a schema in words only; to a schema in its field, answer this text."""

    def answer(turn: Turn) -> Answer:
        schema = told(turn.service, turn.body)
        text = fitting(schema.schema) if schema.schema is not None and schema.in_words else otherwise
        return refused(turn) or completion(turn.service, {"content": text})

    return answer


def refusing(name: str) -> Condition:
    """Return the condition that a service refuses one more field by name."""
    plain = well(content(str))
    return Condition(
        f"refused-{name.replace('_', '-')}",
        f"`{name}` refused by name",
        lambda turn: refused(turn, name) or plain(turn),
        answered(2),
        lambda service: name != "response_format" or service.schema,
    )


def refusing_schema(turn: Turn) -> Answer:
    """Refuse any schema in its field, in the service's words for one that it cannot decode by."""
    is_sent = "response_format" in turn.body
    return refused(turn) or (turn.service.words["schema"] if is_sent else well(content(str))(turn))


def halves(text: str) -> list[dict[str, str]]:
    """Return the text as two parts, cut within a word."""
    at = text.index("Frame") + 2 if "Frame" in text else len(text) // 2
    return [{"type": "text", "text": text[:at]}, {"type": "text", "text": text[at:]}]


def as_text(text: str) -> str:
    """Return an answer with its numbers as text and a letter for the choice."""
    answer = json.loads(text) if text.startswith("{") else {}
    if not answer:
        return text
    answer["weighed"] = [{**each, "choice": str(each["choice"])} for each in answer["weighed"]]
    return json.dumps({**answer, "answer": "ABC"[answer["answer"]]})


def counted(service: Service) -> Callable[[Reply], bool]:
    """Return a check that a reply's usage is the service's, the tokens of a thought apart."""
    usage = service.usage(20)
    of_thought = {**usage, **usage.get("completion_tokens_details", {})}.get("reasoning_tokens", 0)
    wanted = (usage["prompt_tokens"], usage["completion_tokens"], of_thought, False)

    def check(reply: Reply) -> bool:
        found = reply.usage
        return (found.prompt_tokens, found.completion_tokens, found.reasoning_tokens, found.estimated) == wanted

    return check


def thinks(reply: Reply) -> bool:
    return THOUGHT in reply.reasoning


def has_thought(service: Service) -> bool:
    return bool(service.thought_field) or service.content_parts


def is_local(service: Service) -> bool:
    return not service.host


def names_dialect(name: str | None) -> Callable[[Service], Mapping[str, Any]]:
    return lambda service: {"model": service.model, **({"dialect": name} if name else {})}


REPLIES = (
    Condition(
        "plain",
        "a plain answer",
        well(content(str)),
        lambda service: Expected(first=1 + service.learns, check=counted(service)),
    ),
    Condition("detected", "no dialect given", well(content(str)), answered(), settings=names_dialect(None)),
    Condition(
        "alias",
        "another name of the same model",
        lambda turn: replace_model(well(content(str))(turn), turn.service.aliases.get(str(turn.body["model"]))),
        lambda service: Expected(answered_as=next(iter(service.aliases.values()))),
        lambda service: bool(service.aliases),
        settings=lambda service: {"model": next(iter(service.aliases)), "dialect": service.dialect},
    ),
    Condition(
        "as-hosted",
        '`dialect="hosted"` given',
        well(content(str)),
        lambda service: Expected(first=3 if service.learns else 2, may_warn=True),
        settings=names_dialect("hosted"),
    ),
    Condition(
        "as-plain",
        '`dialect="plain"` given',
        well(content(str)),
        lambda service: Expected(first=3 if service.learns else 1),
        settings=names_dialect("plain"),
    ),
    Condition("fenced", "answer in a fence", well(content(lambda text: f"```json\n{text}\n```")), answered()),
    Condition(
        "prose",
        "answer within prose",
        well(content(lambda text: f"Here is my decision:\n\n```json\n{text}\n```\nLet me know if it helps!")),
        answered(),
    ),
    Condition("tagged", "answer in a tag", well(content(lambda text: f"<answer>\n{text}\n</answer>")), answered()),
    Condition("parts", "content is a list of parts", well(content(halves)), answered()),
    Condition("thought", "thought in its field", well(with_thought), answered(check=thinks), has_thought),
    Condition(
        "thought-inline",
        "thought in a tag, with a draft of another answer",
        well(inline),
        answered(check=thinks),
        lambda service: is_local(service) or service.name in ("gemini", "openrouter", "mistral"),
    ),
    Condition(
        "thought-unopened",
        "thought with only the closing tag",
        well(content(lambda text: f"{THOUGHT} {considered(text)}\n</think>\n\n{text}")),
        answered(check=thinks),
        is_local,
    ),
    Condition(
        "empty-content",
        "content empty, answer in the field of thoughts",
        well(lambda service, text: {"content": None, service.thought_field: text}),
        answered(),
        lambda service: bool(service.thought_field),
    ),
    Condition(
        "cut-off-thought",
        "cut off while thinking",
        well(cut_off, "length"),
        unanswered("max_tokens|max_completion_tokens|max-tokens", "cut off|ran out|used up|length limit"),
        lambda service: has_thought(service) or bool(service.thought_tag) or service.name == "openai-thinking",
    ),
    Condition(
        "cut-off-draft",
        "cut off while thinking, with a draft of another answer",
        well(lambda service, text: {"content": "", service.thought_field: f"{THOUGHT} {considered(text)}"}, "length"),
        unanswered("max_tokens|max_completion_tokens|max-tokens"),
        lambda service: bool(service.thought_field),
    ),
    Condition(
        "cut-off",
        "cut off within its answer",
        well(content(lambda text: text[: len(text) // 2]), "length"),
        unanswered("max_tokens|max_completion_tokens|max-tokens", "cut off|ran out|used up|length limit"),
    ),
    Condition(
        "ignores-schema",
        "schema ignored: prose",
        only_told_in_words(PROSE),
        answered(2, may_warn=True),
        lambda service: service.schema,
    ),
    Condition(
        "other-shape",
        "schema ignored: another shape",
        only_told_in_words(OTHER_SHAPE),
        answered(2, may_warn=True),
        lambda service: service.schema,
    ),
    Condition(
        "two-answers",
        "two different answers in one reply",
        well(content(lambda text: f"{text}\n\n{considered(text)}")),
        unanswered("answer"),
    ),
    Condition("repeated", "the same answer twice", well(content(lambda text: f"{text}\n\n{text}")), answered()),
    Condition("no-json", "prose only, whatever is asked", well(content(lambda text: PROSE)), unanswered("answer|JSON")),
    Condition("empty", "an empty reply", well(content(lambda text: "")), unanswered("empty|no answer|nothing")),
    Condition("as-text", "numbers as text, a letter for the choice", well(content(as_text)), answered()),
    *map(refusing, ("temperature", "seed", "response_format")),
    Condition(
        "schema-refused",
        "this schema refused",
        refusing_schema,
        answered(2, may_warn=True),
        lambda service: "schema" in service.words,
    ),
    Condition(
        "other-model",
        "another model answers",
        well(content(str), model=SUBSTITUTE),
        answered(says=(SUBSTITUTE,), may_warn=True, answered_as=SUBSTITUTE),
    ),
    Condition("unnamed", "no model named in the reply", well(content(str), model=None), answered(answered_as="")),
    Condition(
        "no-usage",
        "no usage in the reply",
        well(content(str), usage=None),
        answered(check=lambda reply: reply.usage.estimated and reply.usage.tokens > 0),
    ),
    Condition(
        "withheld",
        "answer withheld by a filter",
        well(content(lambda text: ""), "content_filter"),
        lambda service: Expected(Refused, says=("withheld|filter|refus",), first=1 + service.learns),
        lambda service: bool(service.host),
    ),
)
