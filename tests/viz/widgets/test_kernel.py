"""A widget in the real kernel, while another cell runs: what a page says disturbs no cell.

JupyterLab sends what a page says to a subshell, a thread of the kernel. There, ipykernel calls the
hooks that show figures at the end of a cell: they show and close the figures that a running cell
still draws, and what they print belongs to no cell (jupyterlab#19719, ipykernel#1564). A message
to a subshell that has ended is lost (ipykernel#1557).
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest
from jupyter_client.blocking.client import BlockingKernelClient
from jupyter_client.manager import KernelManager
from support.paths import TESTS

SETUP = f"""
import sys, threading, time
sys.path.insert(0, {str(TESTS)!r})
%matplotlib inline
import matplotlib.pyplot as plt
import atlaskit as ak
from IPython import get_ipython
from support.stand_ins import Flat
hooks = []
get_ipython().events.register("post_execute", lambda: hooks.append(threading.current_thread()))
explorer = ak.widgets.GridExplorer(Flat(), k=4, cell=32, cache=ak.Cache(None))
explorer
"""
DRAWING = """
figure, axes = plt.subplots()
axes.plot([1, 2, 3])
hooks.clear()
print("drawing", flush=True)
deadline = time.monotonic() + 60
while len(explorer.seen) < 3 and time.monotonic() < deadline: time.sleep(0.02)
time.sleep(0.3)
axes.set_title("the whole figure")
print("open figures:", plt.get_fignums(), "hooks:", len(hooks))
"""
COUNTING = """
seen = explorer.seen = []
receive = explorer._receive
def counted(message):
    receive(message)
    print("swallowed")
    seen.append(message)
explorer._receive = counted
"""
S = 60.0


class Kernel:
    """A kernel and what it has sent.

    Attributes:
        sent: What the kernel published, in order.
    """

    def __init__(self, client: BlockingKernelClient) -> None:
        self.client = client
        self.sent = list[dict[str, Any]]()

    def next(self) -> dict[str, Any]:
        """Return the next message that the kernel publishes."""
        self.sent.append(self.client.get_iopub_msg(timeout=S))
        return self.sent[-1]

    def until_idle(self, parent: str) -> list[dict[str, Any]]:
        """Return what a request publishes, once it is over."""
        while True:
            message = self.next()
            own = message["parent_header"].get("msg_id") == parent
            if own and message["content"].get("execution_state") == "idle":
                return [each for each in self.sent if each["parent_header"].get("msg_id") == parent]

    def run(self, code: str) -> list[dict[str, Any]]:
        """Run a cell; return what it publishes."""
        published = self.until_idle(self.client.execute(code))
        assert not [each for each in published if each["msg_type"] == "error"], published
        return published

    def ask(self, kind: str, **content: Any) -> dict[str, Any]:
        """Send a request over the control channel; return the content of its reply."""
        message = self.client.session.msg(kind, content)
        self.client.control_channel.send(message)
        while True:
            reply = self.client.get_control_msg(timeout=S)
            if reply["parent_header"].get("msg_id") == message["header"]["msg_id"]:
                return dict(reply["content"])

    def say(self, comm: str, subshell: str, **message: Any) -> str:
        """Send what a page says; return the id of the message."""
        sent = self.client.session.msg("comm_msg", {"comm_id": comm, "data": {"method": "custom", "content": message}})
        sent["header"]["subshell_id"] = subshell
        self.client.shell_channel.send(sent)
        return str(sent["header"]["msg_id"])


@pytest.fixture
def kernel() -> Iterator[Kernel]:
    manager = KernelManager(kernel_name="python3")
    manager.start_kernel()
    client = manager.client()
    client.start_channels()
    client.wait_for_ready(timeout=S)
    yield Kernel(client)
    client.stop_channels()
    manager.shutdown_kernel(now=True)


def texts(published: list[dict[str, Any]]) -> str:
    return "".join(each["content"]["text"] for each in published if each["msg_type"] == "stream")


def pictures(published: list[dict[str, Any]]) -> int:
    return sum("image/png" in each["content"].get("data", {}) for each in published)


def test_what_a_page_says_touches_no_figure_of_a_cell_that_runs(kernel: Kernel) -> None:
    kernel.run(SETUP)
    comm = texts(kernel.run("print(explorer.widget.comm.comm_id)")).strip()
    kernel.run(COUNTING)
    subshell = kernel.ask("create_subshell_request")["subshell_id"]
    cell = kernel.client.execute(DRAWING)
    while "drawing" not in texts([each for each in kernel.sent if each["parent_header"].get("msg_id") == cell]):
        kernel.next()
    for path in ([], [3], [5]):
        kernel.say(comm, subshell, want="show", place={"path": path, "look": "grid", "cell": None})
        time.sleep(0.1)
    published = kernel.until_idle(cell)
    assert "open figures: [1] hooks: 0" in texts(published)
    assert pictures(published) == 1, "the cell shows its figure, once, when it ends"
    others = [each for each in kernel.sent if each["parent_header"].get("msg_id") != cell]
    assert pictures(others) == 0
