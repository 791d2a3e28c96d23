"""Progress bars, at a terminal, in a file and in a notebook."""

import io
import sys
import warnings
from types import ModuleType, SimpleNamespace

import pytest

from atlaskit import progress
from atlaskit.errors import AtlasError, DamagedVideo, InputError
from atlaskit.video.opening import open_video


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_file_gets_few_lines_and_a_terminal_all(monkeypatch: pytest.MonkeyPatch) -> None:
    for file, options, least, most in ((io.StringIO(), {}, 1, 3), (Terminal(), {"mininterval": 0}, 500, 9999)):
        monkeypatch.setattr(sys, "stderr", file)
        with progress.bar(total=500, **options) as bar:
            for _ in range(500):
                bar.set_postfix_str("90 % right", refresh=False)
                bar.update()
        assert least <= file.getvalue().count("\r") <= most and "500/500" in file.getvalue()


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


def test_names_of_strangers_do_nothing_to_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    """Bars, errors and warnings show the letters of a name, and none of its escape sequences."""
    hostile = "a\x1b[2J\x07\u202eb.mp4"
    with progress.bar(total=2, desc=hostile) as bar:
        bar.update(2)
    with pytest.raises(AtlasError) as error:
        open_video(hostile)
    with pytest.warns(DamagedVideo) as warned:
        warnings.warn(f"{hostile} is cut off.", DamagedVideo, stacklevel=1)
    shown = [capsys.readouterr().err, str(error.value), str(warned[0].message)]
    for text in shown:
        assert "b.mp4" in text and not {"\x1b", "\x07", "\u202e"} & {*text}
    assert str(InputError("two\nrows")) == "two\nrows"
