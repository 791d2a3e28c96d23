"""Rules that the files of the repository must keep."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from support.paths import ROOT

from atlaskit.models.presets import SHIPPED

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())


def project_files() -> list[Path]:
    """Return every file of the project; it may come from git or from an archive."""
    folders = ("atlaskit", "docs", "notebooks", "recordings", "tests", "tools", ".ci")
    files = [path for folder in folders for path in (ROOT / folder).rglob("*") if path.is_file()]
    files += [path for path in ROOT.iterdir() if path.is_file()]
    return [path for path in files if path.suffix != ".pyc"]


def test_dependencies_are_listed_once() -> None:
    """environment.yml installs the project and names nothing that pyproject.toml lists."""
    text = (ROOT / "environment.yml").read_text()
    listed = re.findall(r"^\s*- (.+)$", text, re.MULTILINE)
    assert listed == ["python=3.11", "pip", 'pip: ["-e .[notebook,test]"]']
    assert PROJECT["project"]["requires-python"] == ">=3.11"


def test_only_nano_has_large_files() -> None:
    large = {path: path.stat().st_size for path in project_files() if path.stat().st_size > 1_000_000}
    assert {path.parent for path in large} <= {SHIPPED["nano"]}
    assert max(large.values()) <= 12_000_000 and sum(large.values()) <= 25_000_000


def test_no_file_names_a_package_registry() -> None:
    """The address of a package index is a setting of the machine, not of the project.

    PyTorch's own index is an exception, since it is the same on every machine.
    """
    pattern = re.compile(rb"pypi\.org|pythonhosted|registry\.npmjs|deb\.debian")
    violations = [path for path in project_files() if path != Path(__file__) and pattern.search(path.read_bytes())]
    assert violations == []


def test_no_module_is_called_utils() -> None:
    names = {path.stem for path in (ROOT / "atlaskit").rglob("*.py")}
    assert not names & {"utils", "helpers", "common", "misc", "config"}
