"""The style and the script with which a run is walked through, for a page and for a notebook's widget alike.

They are kept in small files, each of which stands on those before it, and put together as one text: a page's policy
names the hash of its script, and a widget's module imports nothing, so that neither loads anything.
"""

from __future__ import annotations

from pathlib import Path

PAGE = ("dom", "tree", "pane", "page")
"""One run, in a page that carries all of it."""
PANES = ("dom", "tree", "pane", "beside")
"""One run or two, for whatever gives them their steps and pictures."""


def script(*names: str) -> str:
    """Return scripts of this room, as one."""
    return "\n".join(_ours("script", f"{name}.js") for name in names)


def style(*names: str) -> str:
    """Return styles of this room, as one."""
    return "".join(_ours("style", f"{name}.css") for name in names)


def frame() -> str:
    """Return the page that stands around a run, as a template."""
    return _ours(".", "page.html")


def _ours(folder: str, name: str) -> str:
    return (Path(__file__).parent / folder / name).read_text(encoding="utf-8")
