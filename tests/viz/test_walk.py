"""A run as one page: it loads nothing, text stays text, and every step can be reached."""

from __future__ import annotations

import base64
import io
import json
import re
import shutil
import subprocess
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from support.asking import ask
from support.stand_ins import ALL_HOSTILE, HOSTILE, strings, with_hostile_text

from atlaskit.agents.budget import Budget
from atlaskit.benchmarks.atlasworld import Oracle, World
from atlaskit.caching.cache import Cache
from atlaskit.errors import InputError
from atlaskit.evaluation import baselines
from atlaskit.runs.events import Call, Event, Failure, Step
from atlaskit.runs.result import Result
from atlaskit.runs.trace import Trace
from atlaskit.viz import walk
from atlaskit.viz.walk import steps

CHROMIUM = shutil.which("chromium")
needs_browser = pytest.mark.skipif(CHROMIUM is None, reason="chromium is not on the PATH")
SVG_NAME = "http://www.w3.org/2000/svg"
"""The name of the namespace of drawings, which a browser does not load."""
VOID = {"meta", "img", "wbr", "input"}


class Page(HTMLParser):
    """A page, parsed as a browser parses it."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[str] = []
        self.texts: list[str] = []
        self.feed(html)
        self.close()
        assert self.open == [], "an element is not closed"
        self.run = json.loads(self.scripts[0])

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        match self.open[-1:]:
            case ["script"]:
                self.scripts.append(data)
            case ["style"]:
                pass
            case _:
                self.texts.append(data)

    @property
    def text(self) -> str:
        return re.sub(r"\s+", " ", "".join(self.texts))


def read(html: str) -> Page:
    """Parse a page, and check what holds for every page."""
    page = Page(html)
    tags = [tag for tag, _ in page.found]
    assert tags.count("script") == 2 and tags.count("style") == tags.count("noscript") == tags.count("title") == 1
    assert not {"link", "iframe", "object", "base", "form", "svg"} & set(tags)
    for _, attributes in page.found:
        assert not any(name.startswith("on") for name in attributes)
        assert (attributes.get("src") or "data:image/").startswith("data:image/")
        assert (attributes.get("href") or "#step=").startswith("#step=")
    plain = re.sub(r"data:image/[^\"]+", "", html).replace(ALL_HOSTILE, "").replace(SVG_NAME, "")
    assert not re.search(r"https?:|//[a-z]|@import|url\(", plain)
    for picture in page.run["pictures"]:
        data = base64.b64decode(picture.removeprefix("data:image/jpeg;base64,"))
        assert Image.open(io.BytesIO(data)).format == "JPEG"
    texts = [page.text, *strings(page.run["steps"]), *strings(page.run["run"])]
    assert all(char.isprintable() for text in texts for char in text)
    return page


def image_keys(event: Event) -> list[str]:
    """Return the keys of the images that an event showed."""
    return [image.key for what in ("view", "shown", "sheet") if (image := getattr(event, what, None))]


@pytest.fixture(scope="module")
def hostile(eventful: Result) -> Result:
    """A run in which every text of a model, and the question, is hostile markup."""
    events = map(with_hostile_text, eventful.trace)
    question = replace(eventful.question, text=ALL_HOSTILE[:-1], choices=(HOSTILE[0], HOSTILE[1], ALL_HOSTILE[:-1]))
    return replace(
        eventful,
        question=question,
        reasoning=ALL_HOSTILE,
        failure=ALL_HOSTILE,
        stop=ALL_HOSTILE,
        trace=Trace(tuple(events)),
    )


def test_a_page_has_a_step_for_every_event(answered: Result, tmp_path: Path) -> None:
    walk.save(answered, tmp_path / "run.html")
    html, decoded = (tmp_path / "run.html").read_text(encoding="utf-8"), answered.sheet.video.frames_decoded
    assert walk.html(answered) == html and answered.sheet.video.frames_decoded == decoded, "every image is drawn once"
    page = read(html)
    page_steps = page.run["steps"]
    assert len(page_steps) == len(answered.trace)
    for step, event in zip(page_steps, answered.trace, strict=True):
        assert len(step["saw"]) == len(image_keys(event))
        assert all(page.run["pictures"][index] and text and size for index, text, size in step["saw"])
        assert bool(step["cost"]) == isinstance(event, Call | Failure) and step["round"] == event.round
    keys = {key for event in answered.trace for key in image_keys(event)}
    assert len(page.run["pictures"]) == len(keys), "each image is in the page once"
    assert answered.question.text in page.text and f"Answer: {answered.answer_in_words}" in page.text
    assert "JavaScript is off" in page.text and "effective" in page.text, "without scripts it shows the result"


def test_every_item_of_evidence_links_to_the_step_that_found_it(answered: Result, eventful: Result) -> None:
    for result in (answered, eventful):
        page = read(walk.html(result))
        assert len(page.run["run"]["evidence"]) == len(result.evidence) > 0
        in_time = sorted(result.evidence, key=lambda item: item.timestamp_s)
        for item, (text, index) in zip(in_time, page.run["run"]["evidence"], strict=True):
            event = result.trace.events[index]
            assert text.startswith(f"[{item.label}]") and f"[{item.label}]" in page.run["steps"][index]["touches"]
            assert item.timestamp_s in [found.timestamp_s for found in event.found]
        changes = [row for step in page.run["steps"] for row in step["memory"] if row[0] in ("M+ added", "M+ erased")]
        assert changes and all(page.run["steps"][row[2]]["what"] for row in changes)


def test_every_step_shows_the_memory(eventful: Result) -> None:
    page_steps = read(walk.html(eventful)).run["steps"]
    names = {row[0] for step in page_steps for row in step["memory"]}
    assert {"M+ added", "M− added", "M+ total", "M− total"} <= names
    last = dict(row[:2] for row in page_steps[-1]["memory"])
    assert all(f"[{item.label}]" in last["M+ total"] for item in eventful.evidence)
    covered = eventful.dead_zones.coverage(0.0, eventful.sheet.video.duration_s)
    assert last["M− total"] == f"{100 * covered:.0f} % of the video"
    assert {step["who"] for step in page_steps} == {"The run", "Master", "Worker 0", "Worker 1", "Worker 2"}


def test_hostile_text_stays_text(hostile: Result) -> None:
    html = walk.html(hostile)
    page = read(html)
    assert "<script>alert(1)</script>" in page.text and "<img" in page.text
    assert any("<script>alert(1)</script>" in words for words in strings(page.run["steps"]))
    block = html[html.index('id="run">') + 9 : html.index("</script>", html.index('id="run">'))]
    assert not re.search("[<>&\u2028\u2029\u202e\x00]", block) and json.loads(block) == page.run


def test_a_result_without_evidence_answer_or_images(world: World, answered: Result, shared_cache: Cache) -> None:
    few: dict[str, Any] = {"workers": 2, "budget": Budget(calls=12), "cache": shared_cache, "cell": 48}
    blind = ask(world.drawn, answered.question, vlm=Oracle(world, miss=1), **few)
    assert read(walk.html(blind)).run["run"]["evidence"] == []
    none = read(walk.html(replace(answered, prediction=None, trace=Trace())))
    assert "No answer" in none.text and not (none.run["steps"] or none.run["pictures"])
    assert "Images are missing: The trace of a run" in none.text
    assert {step for _, step in none.run["run"]["evidence"]} == {None}, "an empty trace has no step that found it"
    uniform = baselines.uniform(world.drawn, answered.question, vlm=Oracle(world), cache=shared_cache)
    assert len(read(walk.html(uniform)).run["steps"]) == len(uniform.trace)


@pytest.mark.long
def test_the_page_of_a_long_run_is_bounded(answered: Result) -> None:
    long = replace(answered, trace=Trace((answered.trace.events * 1_000)[:3_000]))
    page = walk.html(long)
    assert len(read(page).run["steps"]) == steps.MAX_STEPS and "The last 1,000 events are not shown" in page
    assert len(page.encode()) < 10_000_000


def test_a_path_that_cannot_be_written_is_an_error(answered: Result, tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "gone" / "run.html", tmp_path / "nul\0"):
        with pytest.raises(InputError, match=r"cannot be written: [^\n]+\.$"):
            walk.save(answered, path)


def dumped(page: Path, fragment: str = "") -> str:
    """Return the DOM of a page in a headless browser after two seconds."""
    options = ["--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={page.parent / 'profile'}"]
    dump = [str(CHROMIUM), *options, "--dump-dom", "--virtual-time-budget=2000", page.as_uri() + fragment]
    return subprocess.run(dump, capture_output=True, timeout=120, check=True).stdout.decode("utf-8")


@pytest.mark.long
@needs_browser
def test_a_browser_shows_the_step_in_the_address_and_runs_no_other_script(hostile: Result, tmp_path: Path) -> None:
    attack = "<img src=x onerror=\"document.title='run'\"></script><script>document.title='run'</script>"
    events = [replace(event, thought=attack) if isinstance(event, Step) else event for event in hostile.trace]
    place = next(place for place, event in enumerate(events) if event.kind == "step" and event.found)
    walk.save(replace(hostile, reasoning=attack, trace=Trace(tuple(events))), tmp_path / "run.html")
    dom = dumped(tmp_path / "run.html", f"#step={place}")
    assert f">Step {place} of {len(events) - 1}" in dom and '<main id="walker" class="atlaskit-walk">' in dom
    assert "&lt;img src=x onerror=" in dom and '<img src="x"' not in dom
    title = re.search("<title>(.*?)</title>", dom)
    assert title and title[1].startswith("&lt;script&gt;alert(1)")
    shown = dom[dom.index('<div class="saw">') : dom.index('class="asked"')]
    assert shown.count('src="data:image/jpeg') == 1 + bool(events[place].shown)


PRESSES = """
const at = (of) => document.querySelector(of), seen = [], slider = at("input[type=range]");
const [agent, action, memory] = at("[aria-label=Filters]").querySelectorAll("select");
const note = () => seen.push(/^Step (\\d+)/.exec(at(".heading").textContent)[1]);
const press = (key, from = document.body) => {
  from.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
  note();
};
const pick = (select, value) => { select.value = value; select.dispatchEvent(new Event("change")); note(); };
note();
press("ArrowLeft"); press("ArrowRight"); press("ArrowRight"); press("ArrowLeft"); press("End"); press("ArrowRight");
press("Home", slider); press("Home"); at(".next").click(); note(); at(".previous").click(); note();
slider.value = 3; slider.dispatchEvent(new Event("input")); note();
pick(agent, "Master");
press("Home"); press("ArrowRight"); press("End");
location.hash = "#step=0";
setTimeout(() => {
  note();
  seen.push("any", agent.value);
  pick(agent, "");
  pick(memory, "finds evidence");
  press("End");
  pick(memory, "");
  at(".evidence .link").click(); note();
  const tree = at("[role=tree]");
  press("Home", tree); press("ArrowDown", tree); press("Enter", tree);
  seen.push(tree.querySelector("[aria-selected=true]").textContent);
  document.title = [seen.join(" "), location.hash].join("|");
}, 500);
"""


@needs_browser
def test_keys_buttons_slider_and_filters_move_between_steps(answered: Result, tmp_path: Path) -> None:
    html = walk.html(answered)
    unbound = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", html)
    (tmp_path / "run.html").write_text(unbound.replace("</body>", f"<script>{PRESSES}</script></body>"), "utf-8")
    title = re.search("<title>(.*?)</title>", dumped(tmp_path / "run.html"))
    page_steps, last = read(html).run["steps"], len(answered.trace) - 1
    masters = [place for place, step in enumerate(page_steps) if step["who"] == "Master"]
    finding = [place for place, step in enumerate(page_steps) if "finds evidence" in step["touches"]]
    filtered = [next(place for place in masters if place >= 3), masters[0], masters[1], masters[-1]]
    found = read(html).run["run"]["evidence"][0][1]
    region = read(html).run["run"]["regions"][1]
    inside = [place for place, step in enumerate(page_steps) if step["path"] == region["path"]]
    visited = next((place for place in inside if place > found), inside[0])
    expected = [0, 0, 1, 2, 1, last, last, last, 0, 1, 0, 3, *filtered, 0, "any", "", 0]
    expected += [finding[0], finding[-1], finding[-1], found, found, found, visited]
    assert title and title[1].startswith(" ".join(map(str, expected)))
    assert region["told"] in title[1] and title[1].endswith(f"|#step={visited}")
    (tmp_path / "bound.html").write_text(html.replace("</body>", f"<script>{PRESSES}</script></body>"), "utf-8")
    assert f"<title>{answered.question.text[:20]}" in dumped(tmp_path / "bound.html"), "the policy blocks other scripts"
