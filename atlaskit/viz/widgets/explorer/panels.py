"""`make_panels`: the explorer's panels, each of which answers messages of its part of the page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from atlaskit.environment.atlas import Atlas
from atlaskit.viz.widgets.explorer.describe import Marks


class Host(Protocol):
    """What a panel uses of the explorer."""

    atlas: Atlas
    marks: Marks

    def refresh(self) -> None:
        """Draw the page again, for instance after setting `marks`."""

    def send(self, message: dict[str, Any], buffers: Sequence[bytes] = ()) -> None:
        """Send a message to the page, from any thread."""

    def show_time(self, time_s: float) -> Host:
        """Show the frame at a time in seconds."""


class Panel(Protocol):
    """The kernel's part of a panel."""

    def receive(self, message: dict[str, Any]) -> bool:
        """Handle a message of the page; return whether it was this panel's."""


def make_panels(explorer: Host) -> list[Panel]:
    """Return the panels of an explorer."""
    return []
