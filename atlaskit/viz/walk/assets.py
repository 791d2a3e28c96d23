"""Joins the CSS and JavaScript of the walkthrough for the page and for the widget.

They are small files, each of which uses those before it, joined to one text. So neither form loads
anything: the policy of the page names the hash of a single script, and the widget's module has no
imports.
"""

from __future__ import annotations

from pathlib import Path

PANE = ("dom", "filters", "map", "strips", "details", "regions", "pane")
"""The steps of one run."""
PAGE = (*PANE, "page")
"""A page of one run that holds all of it."""
PANES = (*PANE, "beside")
"""One run or two, with steps and images from elsewhere."""


def script(*names: str) -> str:
    """Return scripts of this package joined to one."""
    return "\n".join(_read("script", f"{name}.js") for name in names)


def style(*names: str) -> str:
    """Return stylesheets of this package joined to one."""
    return "".join(_read("style", f"{name}.css") for name in names)


def page_template() -> str:
    """Return the HTML of a page, as a `string.Template`."""
    return _read(".", "page.html")


def _read(folder: str, name: str) -> str:
    return (Path(__file__).parent / folder / name).read_text(encoding="utf-8")
