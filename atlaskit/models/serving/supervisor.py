"""The supervisor process: runs a command and stops its whole process group when its owner dies.

    python -I supervisor.py OWNER_PID FOLDER COMMAND…

The command runs in a process group of its own. The whole group is stopped and FOLDER is deleted
when the command ends, when this process receives SIGTERM, SIGINT or SIGHUP, or when the
owner is gone for whatever reason: an exit, a crash, a killed kernel.

This file is run as a script on its own, so it imports only the standard library.
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

POLL_S = 0.2
PR_SET_PDEATHSIG = 1
GRACE_S = 15.0
"""Seconds the command has to stop after SIGTERM, before SIGKILL."""


def supervise(owner: int, folder: str, command: list[str]) -> int:
    """Run a command until it ends or must stop, then clean up.

    Args:
        owner: Process id of the owner, which is this process's parent.
        folder: Folder to delete at the end.
        command: The program and its arguments.

    Returns:
        The command's exit status; negative for the signal that killed it.
    """
    is_told_to_stop = threading.Event()
    for name in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(name, lambda number, frame: is_told_to_stop.set())
    try:
        child = subprocess.Popen(command, stdin=subprocess.DEVNULL, start_new_session=True, preexec_fn=_die_with_me)
        try:
            while child.poll() is None and os.getppid() == owner and not is_told_to_stop.wait(POLL_S):
                pass
        finally:
            _stop(child)
        return child.returncode
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _die_with_me() -> None:
    """Have the kernel stop the command if this process is killed. Only Linux can."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)


def _stop(child: subprocess.Popen[bytes]) -> None:
    """Send the child's process group SIGTERM, and SIGKILL after the grace period."""
    _signal(child.pid, signal.SIGTERM)
    until_s = time.monotonic() + GRACE_S
    while _is_group_alive(child) and time.monotonic() < until_s:
        time.sleep(POLL_S / 4)
    _signal(child.pid, signal.SIGKILL)
    child.wait()


def _is_group_alive(child: subprocess.Popen[bytes]) -> bool:
    child.poll()  # a zombie stays in its group until it is waited for
    return _signal(child.pid, 0)


def _signal(group: int, number: int) -> bool:
    """Send a signal to a process group (0: none) and return whether the group has a process."""
    try:
        os.killpg(group, number)
    except PermissionError:
        return True
    except ProcessLookupError:
        return False
    return True


if __name__ == "__main__":
    status = supervise(int(sys.argv[1]), sys.argv[2], sys.argv[3:])
    sys.exit(status if status >= 0 else 128 - status)
