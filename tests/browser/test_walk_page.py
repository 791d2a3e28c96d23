"""The exported page in a browser: map, outlines, address, policy; axe in both schemes and sizes."""

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from browser.axe import SIZES, overflowing, violations
from playwright.sync_api import Browser, Page, expect
from support.asking import ask
from support.paths import ROOT

from atlaskit.agents.budget import Budget
from atlaskit.caching.cache import Cache
from atlaskit.runs.result import Result
from atlaskit.viz import walk
from atlasworld import Oracle, World

sys.path.insert(0, str(ROOT / "tools"))
import docs_hooks

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def result(world: World, shared_cache: Cache) -> Result:
    """A run that overlooks events, and counts wrongly."""
    question = next(question for question in world.questions if question.category == "COUNT")
    limits: dict[str, Any] = {"k": 4, "cell": 96, "workers": 3, "budget": Budget(calls=60), "cache": shared_cache}
    run = ask(world.drawn, question, vlm=Oracle(world, miss=0.3, seed=2), **limits)
    assert run.is_right is False
    return run


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """A page whose console must stay clean."""
    page = browser.new_page(viewport={"width": 1100, "height": 1400})
    faults = list[str]()
    page.on("console", lambda message: faults.append(message.text))
    page.on("pageerror", lambda error: faults.append(str(error)))
    yield page
    page.close()
    assert not faults


def step_of(page: Page) -> int:
    found = re.match(r"Step (\d+) ", page.locator(".heading").inner_text())
    assert found
    return int(found[1])


@pytest.fixture
def exported(page: Page, result: Result, tmp_path: Path) -> Page:
    """The exported page of the run."""
    walk.save(result, tmp_path / "run.html")
    page.goto((tmp_path / "run.html").as_uri())
    return page


def test_it_opens_on_the_map_and_ends_on_the_answer(exported: Page, result: Result) -> None:
    assert step_of(exported) == 0
    marks = exported.locator(".saw .mark")
    caption = exported.locator(".saw figcaption")
    expect(caption).to_contain_text("The map: the whole video at this step. Evidence: none. Ruled out (black): 0 %.")
    assert exported.locator(".saw img").evaluate("(img) => img.complete && img.naturalWidth > 100")
    truth = {int(span[0] / 37.5) for span in result.question.positions_s}
    expect(marks.and_(exported.locator(".true"))).to_have_count(len(truth))
    expect(marks.and_(exported.locator(".dead"))).to_have_count(0)

    exported.keyboard.press("End")
    assert step_of(exported) == len(result.trace) - 1
    expect(exported.locator(".saw figure")).to_have_count(2)
    expect(exported.locator(".saw img").first).to_have_attribute("alt", "The evidence at the end of the run.")
    verdict = f"{result.answer_in_words}, which is wrong (truth: {result.truth_in_words})"
    expect(exported.locator(".said")).to_contain_text(verdict)
    found = marks.and_(exported.locator(".found")).all_inner_texts()
    assert sorted(found) == sorted(f"[{label}]" for label in result.evidence.labels), "in cells of their own"
    exported.get_by_role("button", name="hide where the answer lies").click()
    assert not marks.and_(exported.locator(".true")).first.is_visible()


def test_the_address_names_the_step_and_no_other_script_runs(exported: Page, browser: Browser, result: Result) -> None:
    exported.locator(".evidence .link").first.click()
    assert exported.url.endswith(f"#step={step_of(exported)}") and step_of(exported) > 0
    exported.evaluate("location.hash = '#step=3'")
    expect(exported.locator(".heading")).to_have_text(re.compile("^Step 3 "))
    exported.keyboard.press("ArrowLeft")
    assert step_of(exported) == 2 and exported.url.endswith("#step=2")
    path = Path(exported.url.removeprefix("file://").partition("#")[0])
    attack = "<script>document.title = 'run'</script></body>"
    path.write_text(path.read_text("utf-8").replace("</body>", attack), "utf-8")
    stranger = browser.new_page()  # whose console tells that the policy refused the script
    stranger.goto(path.as_uri())
    expect(stranger).to_have_title(result.question.text)
    stranger.close()


@pytest.mark.long
@pytest.mark.parametrize(("scheme", "size"), [("light", "wide"), ("dark", "narrow")])
def test_it_and_the_page_of_the_design_bar_nobody(exported: Page, scheme: Any, size: str, tmp_path: Path) -> None:
    exported.emulate_media(color_scheme=scheme)
    exported.set_viewport_size(SIZES[size])  # type: ignore[arg-type]
    for key in ("Home", "End"):
        exported.keyboard.press(key)
        assert not violations(exported) and not overflowing(exported, "body")
        assert exported.evaluate("() => document.documentElement.scrollWidth <= innerWidth"), "nothing sticks out"
    (tmp_path / "design.html").write_text(docs_hooks.design(), encoding="utf-8")
    exported.goto((tmp_path / "design.html").as_uri())
    assert not violations(exported) and not overflowing(exported, "body")
