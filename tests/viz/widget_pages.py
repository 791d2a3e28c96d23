"""A page of a widget without a browser: what the kernel sends it, and what it requests."""

import json
from collections.abc import Iterator, Sequence
from typing import Any

from atlaskit.viz.widgets.bridge import Debouncer, PageOwner


class FakePage:
    """A page on a transport of its own.

    Attributes:
        widget: The widget that it belongs to.
        sent: Each message that the kernel sent, as JSON, with its buffers.
    """

    def __init__(self, widget: PageOwner) -> None:
        self.widget: Any = widget
        self.sent = list[tuple[dict[str, Any], Sequence[bytes]]]()
        self.receive = widget.attach(self._take)

    def _take(self, message: dict[str, Any], buffers: Sequence[bytes] = ()) -> None:
        self.sent.append((json.loads(json.dumps(message)), buffers))

    def request(self, **message: Any) -> list[dict[str, Any]]:
        """Send a request; return all messages that follow, once all jobs are done."""
        before = len(self.sent)
        self.receive(message)
        for jobs in _debouncers(self.widget):
            assert jobs.wait(60)
        return [each for each, _ in self.sent[before:]]

    def ask(self, **message: Any) -> tuple[dict[str, Any], Sequence[bytes]]:
        """Send a request; return the last message that follows it, with its buffers."""
        self.request(**message)
        return self.sent[-1]

    def go(self, *path: int, look: str = "grid", cell: int | None = None) -> dict[str, Any]:
        """Request a location of the explorer; return the reply."""
        return self.ask(want="show", place={"path": list(path), "look": look, "cell": cell})[0]

    def of(self, panel: str) -> list[dict[str, Any]]:
        """Return the messages of a panel, in order."""
        return [message for message, _ in list(self.sent) if message.get("panel") == panel]


def _debouncers(widget: PageOwner) -> Iterator[Debouncer]:
    owners = [widget, getattr(widget, "_channel", None), *getattr(widget, "_panels", ())]
    for held in [held for owner in owners if owner is not None for held in vars(owner).values()]:
        values = list(held.values()) if isinstance(held, dict) else [held]
        yield from (each for each in values if isinstance(each, Debouncer))
