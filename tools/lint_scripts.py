"""Lint the JavaScript of the pages with oxlint: `python tools/lint_scripts.py`.

The files of a page are joined to one script, and a file uses names of the files before it. Linted
by itself, it would seem to use undefined names. So the joined scripts are linted, and each finding
is reported with the file and line that it comes from. Among the findings are names that no file of
a page defines, names that two files define, and functions that no page uses.

The script exits with 1 if there are findings.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from atlaskit.viz.walk.page import PAGE, script
from atlaskit.viz.widgets import bridge

ROOT = Path(__file__).parents[1]
OXLINT = Path(sys.executable).with_name("oxlint")
CONFIG = ROOT / "tools" / "oxlint.json"
UNUSED = "eslint(no-unused-vars)"
"""A finding of this rule counts only if every page with the file has it."""


@dataclass(frozen=True, order=True)
class Finding:
    """A fault at a line of a file; the file is relative to the root of the repository."""

    file: str
    line: int
    rule: str
    words: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.words} [{self.rule}]"


def page_scripts() -> dict[str, str]:
    """Return the script of each page, by the name of the page."""
    scripts = {name: bridge.page(name)[0] for name in ("explorer", "viewer", "runtable")}
    # The standalone page is not joined: it imports the script of a widget.
    standalone = (ROOT / "atlaskit/viz/widgets/standalone.js").read_text(encoding="utf-8")
    return {"walk": script(*PAGE), "standalone": standalone, **scripts}


def script_files() -> dict[str, str]:
    """Return the text of each JavaScript file of atlaskit, by its path."""
    files = sorted((ROOT / "atlaskit").rglob("*.js"))
    return {file.relative_to(ROOT).as_posix(): file.read_text(encoding="utf-8") for file in files}


def lint(scripts: Mapping[str, str], files: Mapping[str, str]) -> list[Finding]:
    """Return what oxlint finds in scripts that are joined from files, sorted by file and line.

    Args:
        scripts: The joined scripts, by the name of their page.
        files: The texts of the files, by path.
    """
    first_lines = dict[str, dict[str, int]]()
    pages_of = Counter[str]()
    for page, joined in scripts.items():
        first_lines[page] = {}
        for path, text in files.items():
            if text in joined:
                first_lines[page][path] = joined[: joined.index(text)].count("\n")
                pages_of[path] += 1
    counts = Counter[Finding]()
    for page, diagnostic in _diagnostics(scripts):
        counts[_finding(diagnostic, page, first_lines[page])] += 1
    findings = list[Finding]()
    for finding, count in counts.items():
        if finding.rule != UNUSED or count >= pages_of[finding.file]:
            findings.append(finding)
    return sorted(findings)


def _diagnostics(scripts: Mapping[str, str]) -> list[tuple[str, dict[str, Any]]]:
    """Return oxlint's findings in the scripts: the name of the page and the record of each."""
    with tempfile.TemporaryDirectory() as folder:
        for page, script in scripts.items():
            (Path(folder) / f"{page}.mjs").write_text(script, encoding="utf-8")
        command = [str(OXLINT), "--config", str(CONFIG), "--format=json", "."]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    try:
        report = json.loads(done.stdout)
    except ValueError:
        raise SystemExit(f"oxlint failed: {done.stdout}{done.stderr}") from None
    return [(Path(each["filename"]).stem, each) for each in report["diagnostics"]]


def _finding(diagnostic: Mapping[str, Any], page: str, first_lines: Mapping[str, int]) -> Finding:
    """Return a finding of oxlint with the file and line that it comes from.

    Args:
        diagnostic: oxlint's record, with a line of the joined script.
        page: The page of the script.
        first_lines: Where each file begins in the script, as the number of lines before it.
    """
    line = diagnostic["labels"][0]["span"]["line"]
    before = [path for path, first in first_lines.items() if first < line]
    path = max(before, key=first_lines.__getitem__, default="")
    rule = diagnostic.get("code", "syntax")
    return Finding(path or page, line - first_lines.get(path, 0), rule, diagnostic["message"])


if __name__ == "__main__":
    found = lint(page_scripts(), script_files())
    print(*found, sep="\n", end="\n" if found else "")
    sys.exit(bool(found))
