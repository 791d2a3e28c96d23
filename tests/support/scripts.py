"""The page scripts in a blank page of the real browser, to test their logic without JupyterLab.

    def test_something(page_scripts: PageScripts) -> None:
        page = page_scripts("walk/script/dom.js", "widgets/runtable.js")
        assert page.evaluate("([one, other]) => compare(one, other, 1)", [1, 2]) < 0

The names of a script are global in the page, as those of the files before it are in a joined
script; a module's `export default` is global as `exported`. A browser and not an engine such as
V8 alone: most scripts make elements, and the browser tests need it anyway. An uncaught error of the
page fails the test. `MODEL` is a kernel for a script that has one.
"""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

VIZ = Path(__file__).parents[2] / "atlaskit" / "viz"
MODEL = """
// A widget's model: `sent` holds what the page sent, and `receive` is a message of the kernel.
class Model {
  constructor() { this.sent = []; this.handlers = new Map(); }
  send(message) { this.sent.push(message); }
  on(name, handler) { this.handlers.set(name, [...(this.handlers.get(name) ?? []), handler]); }
  off(name, handler) { this.handlers.set(name, this.handlers.get(name).filter((each) => each !== handler)); }
  receive(message, buffers = []) {
    for (const handler of this.handlers.get("msg:custom") ?? []) handler(message, buffers);
  }
  lose() { for (const handler of this.handlers.get("comm_live_update") ?? []) handler(); }
}
globalThis.model = new Model();
"""

PageScripts = Callable[..., Page]


@pytest.fixture
def page_scripts(browser: Browser) -> Iterator[PageScripts]:
    """A function that opens a blank page with scripts of `atlaskit/viz`, and returns the page."""
    context = browser.new_context()
    errors = list[str]()

    def load(*names: str) -> Page:
        page = context.new_page()
        page.on("pageerror", lambda error: errors.append(str(error)))
        for text in (MODEL, *((VIZ / name).read_text(encoding="utf-8") for name in names)):
            page.add_script_tag(content=text.replace("export default", "const exported ="))
        return page

    yield load
    context.close()
    assert not errors, errors
