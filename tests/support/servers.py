"""Processes of servers, and model folders of the stand-in for vLLM (`support.stub_vllm`)."""

from pathlib import Path

from pydantic import BaseModel

from atlaskit.models.protocol import Message, Request
from support.parallel import wait_until


class Empty(BaseModel):
    """The schema of an answer without fields."""


HELLO = Request("master", "task", (Message("user", ("Hello.",)),), Empty)


def model_folder(tmp_path: Path, name: str = "model") -> Path:
    """Create a model folder. Its name decides what the stand-in does."""
    path = tmp_path / name
    path.mkdir()
    (path / "config.json").write_text("{}")
    return path


def is_alive(pid: int) -> bool:
    """Return whether a process runs. A zombie does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def pids(model: Path) -> list[int]:
    """Return the process ids of the stand-in and its engine."""
    return [int(pid) for pid in (model / ".pids").read_text().split()]


def wait_until_started(model: Path) -> None:
    """Wait until the stand-in of a model runs."""
    wait_until(lambda: (model / ".pids").exists() and len(pids(model)) == 2)


def wait_until_gone(model: Path) -> None:
    """Wait until all processes of a model's stand-in have ended."""
    wait_until(lambda: not any(map(is_alive, pids(model))))


def children(pid: int) -> list[int]:
    """Return the ids of a process's children."""
    path = Path(f"/proc/{pid}/task/{pid}/children")
    return [int(child) for child in path.read_text().split()] if path.exists() else []


def members(group: int) -> list[int]:
    """Return the ids of a group's processes that still run."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, process_group = path.read_text().rpartition(")")[2].split()[:3]
        except OSError:
            continue
        if int(process_group) == group and state != "Z":
            found.append(int(path.parent.name))
    return found
