"""A widget in the real kernel, while another cell runs: what a page says disturbs no cell.

JupyterLab sends what a page says to a subshell, a thread of the kernel. There, ipykernel calls the
hooks that show figures at the end of a cell: they show and close the figures that a running cell
still draws, and what they print belongs to no cell (jupyterlab#19719, ipykernel#1564). A message
to a subshell that has ended is lost (ipykernel#1557).
"""

import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from jupyter_client.blocking.client import BlockingKernelClient
from jupyter_client.manager import start_new_kernel
from support.paths import TESTS

SETUP = f"""
import sys, threading, time
sys.path.insert(0, {str(TESTS)!r})
%matplotlib inline
import matplotlib.pyplot as plt
import atlaskit as ak
from IPython import get_ipython
from support.stand_ins import Flat
hooks, seen = [], []
get_ipython().events.register("post_execute", lambda: hooks.append(threading.current_thread()))
explorer = ak.widgets.GridExplorer(Flat(), k=4, cell=32, cache=ak.Cache(None))
receive = explorer._receive
def counted(message):
    receive(message)
    print("swallowed")
    seen.append(message)
explorer._receive = counted
explorer
"""
DRAWING = """
figure, axes = plt.subplots()
axes.plot([1, 2, 3])
hooks.clear()
print("drawing", flush=True)
deadline = time.monotonic() + 60
while len(seen) < 3 and time.monotonic() < deadline:
    time.sleep(0.02)
time.sleep(0.3)
axes.set_title("the whole figure")
print("open figures:", plt.get_fignums(), "hooks:", len(hooks))
"""
S = 60.0
Message = dict[str, Any]


@pytest.fixture
def client() -> Iterator[BlockingKernelClient]:
    """A client of a kernel in which an explorer is displayed."""
    manager, client = start_new_kernel(kernel_name="python3")
    reply = client.execute_interactive(SETUP, timeout=S, output_hook=lambda _: None)
    assert reply["content"]["status"] == "ok", reply["content"]
    yield client
    client.stop_channels()
    manager.shutdown_kernel(now=True)


def published(client: BlockingKernelClient, is_last: Callable[[Message], bool]) -> list[Message]:
    """Return what the kernel publishes, up to a message."""
    messages = [client.get_iopub_msg(timeout=S)]
    while not is_last(messages[-1]):
        messages.append(client.get_iopub_msg(timeout=S))
    return messages


def test_what_a_page_says_touches_no_figure_of_a_cell_that_runs(client: BlockingKernelClient) -> None:
    named = {"comm": "explorer.widget.comm.comm_id"}
    reply = client.execute_interactive("", user_expressions=named, timeout=S, output_hook=lambda _: None)
    comm = reply["content"]["user_expressions"]["comm"]["data"]["text/plain"].strip("'")
    client.control_channel.send(client.session.msg("create_subshell_request"))
    subshell = client.get_control_msg(timeout=S)["content"]["subshell_id"]

    cell = client.execute(DRAWING)
    messages = published(client, lambda message: "drawing" in message["content"].get("text", ""))
    for path in ([], [3], [5]):
        content = {"want": "show", "place": {"path": path, "look": "grid", "cell": None}}
        said = client.session.msg("comm_msg", {"comm_id": comm, "data": {"method": "custom", "content": content}})
        said["header"]["subshell_id"] = subshell
        client.shell_channel.send(said)
        time.sleep(0.1)

    def is_of_cell(message: Message) -> bool:
        return bool(message["parent_header"].get("msg_id") == cell)

    messages += published(client, lambda each: is_of_cell(each) and each["content"].get("execution_state") == "idle")
    texts = [each["content"].get("text", "") for each in messages if is_of_cell(each)]
    assert "open figures: [1] hooks: 0" in "".join(texts)
    figures = [is_of_cell(each) for each in messages if "image/png" in each["content"].get("data", {})]
    assert figures == [True], "the cell shows its figure, once, when it ends"
