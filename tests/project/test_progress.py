"""Progress bars, at a terminal, in a file and in a notebook."""

import io
import sys
from types import ModuleType, SimpleNamespace

import pytest

from atlaskit import progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def shown(file: io.StringIO, steps: int = 500) -> int:
    """How often a bar was written."""
    with progress.bar(total=steps, mininterval=0) if file.isatty() else progress.bar(total=steps) as bar:
        for _ in range(steps):
            bar.set_postfix_str("90 % right", refresh=False)
            bar.update()
    return file.getvalue().count("\r")


def test_a_file_gets_few_lines_and_a_terminal_all(monkeypatch: pytest.MonkeyPatch) -> None:
    log, terminal = io.StringIO(), Terminal()
    monkeypatch.setattr(sys, "stderr", log)
    assert shown(log) <= 3 and "500/500" in log.getvalue()
    monkeypatch.setattr(sys, "stderr", terminal)
    assert shown(terminal) >= 500


def test_in_a_notebook_it_is_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """JupyterLab shows standard error on red."""
    out, err = io.StringIO(), io.StringIO()
    shell = ModuleType("IPython")
    shell.get_ipython = lambda: SimpleNamespace(config={"IPKernelApp": {}})  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "IPython", shell)
    monkeypatch.setattr(sys, "stdout", out)
    monkeypatch.setattr(sys, "stderr", err)
    with progress.bar(total=3) as bar:
        bar.update(3)
    assert "3/3" in out.getvalue() and err.getvalue() == ""
