"""Runs a command and sees to it that nothing of it is left behind.

    python keeper.py PARENT FOLDER COMMAND…

The command runs in a process group of its own. When it ends, when this process is told to stop, or when PARENT is gone
for whatever reason (an exit, a crash, a killed kernel), the whole group is stopped and FOLDER is deleted. Started as a
file by itself, so that it needs nothing but Python.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import signal
import subprocess
import sys
import threading
import time

LOOK_S = 0.2
PR_SET_PDEATHSIG = 1
GRACE_S = 15.0
"""How long the command may take to stop by itself."""


def keep(parent: int, folder: str, command: list[str]) -> int:
    """Run the command until one of the reasons to stop; return its exit status."""
    told = threading.Event()
    for name in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(name, lambda number, frame: told.set())
    try:
        child = subprocess.Popen(command, stdin=subprocess.DEVNULL, start_new_session=True, preexec_fn=_die_with_me)
        try:
            while child.poll() is None and os.getppid() == parent and not told.wait(LOOK_S):
                pass
        finally:
            _stop(child)
        return child.returncode
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _die_with_me() -> None:
    """Have the system stop the command if this process is killed; only Linux can."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)


def _stop(child: subprocess.Popen[bytes]) -> None:
    """Ask the whole group to stop, then make it."""
    _signal(child.pid, signal.SIGTERM)
    until_s = time.monotonic() + GRACE_S
    while _is_alive(child) and time.monotonic() < until_s:
        time.sleep(LOOK_S / 4)
    _signal(child.pid, signal.SIGKILL)
    child.wait()


def _is_alive(child: subprocess.Popen[bytes]) -> bool:
    """Tell whether anyone is left in the child's group."""
    child.poll()  # a child that is not waited for stays in its group for ever
    return _signal(child.pid, 0)


def _signal(group: int, number: int) -> bool:
    """Send a signal to a group, 0 for none; tell whether anyone is there."""
    try:
        os.killpg(group, number)
    except PermissionError:
        return True
    except ProcessLookupError:
        return False
    return True


if __name__ == "__main__":
    status = keep(int(sys.argv[1]), sys.argv[2], sys.argv[3:])
    sys.exit(status if status >= 0 else 128 - status)
