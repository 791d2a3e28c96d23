"""Videos without files, hostile texts, and checks of what a notebook displays."""

import base64
import io
import re
from collections.abc import Iterable, Sequence
from dataclasses import fields, replace
from html.parser import HTMLParser
from typing import Any, Literal

import numpy as np
from PIL import Image
from pydantic import BaseModel

from atlaskit.agents.budget import Budget
from atlaskit.caching.cache import Cache
from atlaskit.environment.memory import Evidence
from atlaskit.environment.question import Question
from atlaskit.errors import FrameError, VideoError
from atlaskit.models.protocol import Message, Model, Request
from atlaskit.runs.events import Record
from atlaskit.runs.result import Result
from atlaskit.video.readers import Pixels
from atlaskit.video.subtitles import Line, Subtitles
from atlaskit.video.video import Video
from support.asking import ask
from support.model_doubles import ATTACK

HOSTILE = (
    *("<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "' onmouseover='alert(1)"),
    *("</td></tr></table><h1>out</h1>", "<!-- ]]> --><style>*{display:none}</style>", "&lt;b&gt; &#60;script&#62;"),
    *("\u202etxt.exe\u2066\u200f", "nul\x00 escape\x1b[31m bell\x07", "w" * 5_000, "two\nlines\tand\u2028more"),
    *("$5 or $10, \\(x\\), \\begin{equation}", "half a letter \ud800"),
)
ALL_HOSTILE = " | ".join(HOSTILE)
MASTER_AND_WORKER = ("step", "probe", "review", "decision")
FORTY_CALLS: dict[str, Any] = {"workers": 3, "steps": 5, "budget": Budget(calls=40)}
TAGS = {"div", "p", "span", "strong", "bdi", "wbr", "table", "caption", "thead", "tbody", "tr", "th", "td", "img"}
ATTRIBUTES = {"style", "scope", "src", "alt", "width", "role", "aria-label", "tabindex"}
VOID = {"img", "wbr", "meta", "input"}
CHOICE = Question("What is it?", ("a circle", "a square", "a star"))


class Flat(Video):
    """A video of one colour; frames in the half-open interval `broken` cannot be decoded."""

    def __init__(self, size: tuple[int, int] = (320, 180), broken: tuple[float, float] = (0, 0)) -> None:
        self.name, self.duration_s, self.fps, self.size = "flat", 16.0, 25.0, size
        self.fingerprint, self.subtitles, self.broken = f"flat-{size}-{broken}", Subtitles(), broken
        self.asked = 0  # frames so far

    def try_frames(self, times_s: Sequence[float], size: tuple[int, int] | None = None) -> list[Pixels | FrameError]:
        self.asked += len(times_s)
        width, height = size or self.size
        frame = np.full((height, width, 3), (200, 60, 60), np.uint8)
        return [
            FrameError(f"flat cannot be decoded at {time_s:.3f} s")
            if self.broken[0] <= time_s < self.broken[1]
            else frame
            for time_s in times_s
        ]


class Page(HTMLParser):
    """Parsed HTML: its elements with their attributes, texts and images."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.feed(html)
        self.close()
        assert self.open == [], "every element must be closed"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)

    def handle_comment(self, data: str) -> None:
        raise AssertionError("the HTML has a comment")

    def handle_decl(self, decl: str) -> None:
        raise AssertionError("the HTML has a declaration")

    @property
    def text(self) -> str:
        return "".join(self.texts)

    @property
    def images(self) -> list[Image.Image]:
        sources = [str(attributes["src"]) for tag, attributes in self.found if tag == "img"]
        return [Image.open(io.BytesIO(base64.b64decode(source.split(",", 1)[1]))) for source in sources]

    def rows(self, caption: str) -> int:
        """Return the number of rows in the body of the table with a caption."""
        start = next(n for n, (tag, _) in enumerate(self.found) if tag == "caption")
        assert caption in self.text
        tags = [tag for tag, _ in self.found[start:]]
        body = tags[tags.index("tbody") :]
        return body[: body.index("table") if "table" in body else None].count("tr")


def checked_html(value: Any) -> Page:
    """Return the HTML that a notebook displays for a value, after checks that any such passes."""
    html = value._repr_html_()
    assert len(html.encode("utf-8")) < 400_000
    page = Page(html)
    for tag, attributes in page.found:
        assert tag in TAGS and set(attributes) <= ATTRIBUTES, (tag, attributes)
        if tag == "img":
            assert attributes["alt"] and re.match(
                r"data:image/(png|jpeg);base64,[A-Za-z0-9+/=]+$", attributes["src"] or ""
            )
        if tag == "th":
            assert attributes["scope"] in ("row", "col")
        style = attributes.get("style") or ""
        assert not re.search(r"(^|;)\s*(color|background)|url|expression", style)
    assert all(len(text) == 1 for text in page.texts if re.search(r"[$\\]", text)), (
        "the text would be rendered as a formula"
    )
    texts = [*page.texts, *(str(attributes.get("alt", "")) for _, attributes in page.found)]
    assert all(character.isprintable() for text in texts for character in text)
    assert max((len(word) for text in texts for word in text.split()), default=0) <= 1_000
    return page


class HostileVideo(Flat):
    """A video with hostile texts as its name and subtitles."""

    def __init__(self, name: str = ALL_HOSTILE, fingerprint: str = HOSTILE[0], texts: Sequence[str] = HOSTILE) -> None:
        super().__init__()
        self.name, self.fingerprint = name, fingerprint
        self.subtitles = Subtitles(tuple(Line(float(n), n + 1.0, text) for n, text in enumerate(texts)))


class MissingVideo(Flat):
    """A video whose file has been deleted."""

    def try_frames(self, times_s: Sequence[float], size: tuple[int, int] | None = None) -> list[Pixels | FrameError]:
        raise VideoError(f"gone: {ALL_HOSTILE}")


def run(video: Video, model: Model, cache: Cache, question: Question = CHOICE, **options: Any) -> Result:
    return ask(video, question, vlm=model, cache=cache, **{"cell": 32, "k": 4, **options})


class ScriptedAttackVideo(HostileVideo):
    """A video whose name and subtitle lines are code that a browser might run."""

    def __init__(self) -> None:
        # A lone surrogate is invalid text, which no request may contain.
        super().__init__(ATTACK, ATTACK, (ATTACK, *HOSTILE[:-1]))


def strings(value: Any) -> list[str]:
    """Return every string in JSON data, without the names of fields."""
    match value:
        case str():
            return [value]
        case list():
            return [text for item in value for text in strings(item)]
        case dict():
            return [text for item in value.values() for text in strings(item)]
    return []


def with_hostile_text(value: Any) -> Any:
    """Return an event with hostile text in every field that a model words itself."""
    worded = {"reasoning", "thought", "reasoning_text", "description", "subtitle", "search_task", "problem", "reason"}

    def attacked(items: Iterable[tuple[str, Any]]) -> dict[str, Any]:
        return {name: ALL_HOSTILE if name in worded else with_hostile_text(item) for name, item in items}

    if isinstance(value, Record | Evidence):
        return replace(value, **attacked((each.name, getattr(value, each.name)) for each in fields(value)))
    if isinstance(value, dict):
        return attacked(value.items())
    return type(value)(map(with_hostile_text, value)) if isinstance(value, list | tuple) else value


class Pick(BaseModel):
    thought: str
    cell: Literal[3, 5]


def request(*parts: Any, **rest: Any) -> Request:
    """Return a request to pick a cell."""
    return Request("worker", "step", (Message("user", parts or ("Pick a cell.",)),), Pick, **rest)
