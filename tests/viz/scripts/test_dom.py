"""The scripts that make elements, and decide whose a key is."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from playwright.sync_api import Page
from support.scripts import PageScripts
from support.stand_ins import ALL_HOSTILE

DOM = "walk/script/dom.js"


def test_children_and_attributes_stay_text(page_scripts: PageScripts) -> None:
    page = page_scripts(DOM)
    made = """(text) => {
      const made = element("p", { title: text, id: 0, hidden: true, lang: null, dir: false }, text, null, undefined);
      return [made.childNodes.length, made.textContent, made.title, made.getAttributeNames(), made.id, made.hidden];
    }"""
    assert page.evaluate(made, ALL_HOSTILE) == [1, ALL_HOSTILE, ALL_HOSTILE, ["title", "id", "hidden"], "0", True]


def test_a_select_has_each_option_once_and_tells_its_change(page_scripts: PageScripts) -> None:
    page = page_scripts(DOM)
    told = """() => {
      const told = [], { box, select } = chooser("Colour:", [["", "All"]], (value) => told.push(value));
      for (const value of ["red", "blue", "red"]) offer(select, value, value.toUpperCase());
      document.body.append(box);
      select.value = "red";
      select.dispatchEvent(new Event("change"));
      return [[...select.options].map(({ text }) => text), told, select.labels[0] === box];
    }"""
    assert page.evaluate(told) == [["All", "RED", "BLUE"], ["red"], True]
    assert page.get_by_label("Colour:").input_value() == "red"


KEY = """([tag, role, modifier]) => {
  const made = element(tag, { role }), inner = element("span");
  made.append(inner);
  document.body.append(made);
  const event = new KeyboardEvent("keydown", { key: "f", bubbles: true, ...(modifier && { [modifier]: true }) });
  let taken = null;
  made.addEventListener("keydown", (received) => { taken = isTaken(received); });
  (["input", "select", "textarea"].includes(tag) ? made : inner).dispatchEvent(event);
  return taken;
}"""
TAKERS = [("input", None), ("select", None), ("textarea", None), ("div", "tree"), ("div", "grid")]
OTHERS = [("div", None), ("button", None), ("summary", None)]


def test_a_key_belongs_to_the_control_that_has_the_focus_or_to_the_browser(page_scripts: PageScripts) -> None:
    page = page_scripts(DOM)
    for tag, role in TAKERS + OTHERS:
        for modifier in (None, "altKey", "ctrlKey", "metaKey", "shiftKey"):
            takes = (tag, role) in TAKERS or modifier is not None
            assert page.evaluate(KEY, [tag, role, modifier]) is takes, (tag, role, modifier)


STEP = st.fixed_dictionaries(
    {
        "who": st.sampled_from(["Master", "Worker 1", "Worker 10"]),
        "does": st.sampled_from(["Expand", "Zoom"]),
        "touches": st.lists(st.sampled_from(["[A]", "[B]", "finds evidence"]), unique=True),
        "verb": st.just("acts"),
    }
)
FILTER = """([steps, chosen]) => {
  const filters = new Filters(() => {});
  steps.forEach((step) => filters.learn(step));
  filters.choosers.forEach(({ select }, each) => { select.value = chosen[each]; });
  const kept = steps.map((_, index) => index).filter((index) => filters.matches(steps[index]));
  filters.report(kept.length, steps.length, false);
  const told = filters.count.textContent;
  filters.clear();
  return [kept, told, steps.every((step) => filters.matches(step))];
}"""


@pytest.fixture
def filters(page_scripts: PageScripts) -> Page:
    return page_scripts(DOM, "walk/script/filters.js")


def test_filters_keep_the_steps_that_match_all_of_them(filters: Page) -> None:
    @given(st.lists(STEP, min_size=1, max_size=8), st.data())
    def check(steps: list[dict[str, object]], data: st.DataObject) -> None:
        offered = (
            {str(step["who"]) for step in steps},
            {str(step["does"]) for step in steps},
            {tag for step in steps for tag in step["touches"]},  # type: ignore[attr-defined]
        )
        who, does, tag = (data.draw(st.sampled_from(["", *sorted(each)])) for each in offered)
        expected = [
            index
            for index, step in enumerate(steps)
            if who in ("", step["who"]) and does in ("", step["does"]) and (not tag or tag in step["touches"])  # type: ignore[operator]
        ]
        kept, told, all_match_after_clear = filters.evaluate(FILTER, [steps, [who, does, tag]])
        assert kept == expected and all_match_after_clear
        total = f"{len(steps)} steps so far"
        assert told == (total if len(expected) == len(steps) else f"{len(expected)} of {total}")

    check()
