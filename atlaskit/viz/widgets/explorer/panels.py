"""`make_panels`: the explorer's panels, each of which answers its own part of the page."""

from __future__ import annotations

from typing import Any, Protocol

from atlaskit.viz.widgets.explorer.ask_panel import AskPanel, Explorer
from atlaskit.viz.widgets.explorer.search_panel import SearchPanel


class Panel(Protocol):
    """The kernel's part of a panel."""

    def receive(self, message: dict[str, Any]) -> bool:
        """Handle a message of the page; return whether it was this panel's."""


def make_panels(explorer: Explorer) -> list[Panel]:
    """Return the panels of an explorer: the search for words, and the question about a region."""
    return [SearchPanel(explorer.atlas.video, explorer.send), AskPanel(explorer)]
