"""`make_panels`: the explorer's panels, each of which answers messages of its own part of the page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from atlaskit.viz.widgets.explorer.explorer import GridExplorer


class Panel(Protocol):
    """The kernel's part of a panel."""

    def receive(self, message: dict[str, Any]) -> bool:
        """Handle a message of the page; return whether it was this panel's."""


def make_panels(explorer: GridExplorer) -> list[Panel]:
    """Return the panels of an explorer, which use its `atlas`, `marks`, `refresh`, `send` and
    `show_time`.
    """
    return []
