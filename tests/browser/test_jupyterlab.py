"""The JupyterLab of the browser tests: it runs notebooks and records errors of pages."""

from __future__ import annotations

import pytest
from PIL import Image
from support.jupyter import Notebooks, difference, shot

pytestmark = [pytest.mark.browser, pytest.mark.long]

PICTURE = "from PIL import Image; Image.radial_gradient('L').convert('RGB')"


def test_images_of_a_notebook_stay_without_a_kernel(notebooks: Notebooks) -> None:
    book = notebooks("import atlaskit; print(atlaskit.__file__)", PICTURE)
    assert "atlaskit/__init__.py" in book.output(0).inner_text()
    expected = Image.radial_gradient("L")
    for state, leave in (("as run", book.restart), ("restarted", book.reload), ("opened again", book.idle)):
        assert difference(shot(book.output(1).locator("img")), expected) < 2, state
        book.save()
        leave()
    assert difference(shot(book.output(1).locator("img")), expected.rotate(180).point(lambda v: 255 - v)) > 40
    assert book.evaluate("print('atlaskit' in dir())") == "False"
