"""The results page of notebooks that ran headless, and each executed notebook as HTML.

Everything opens without a network: nothing is loaded and no script runs.
"""

from __future__ import annotations

import ast
import json
import platform
import re
import time
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from atlaskit.errors import InputError
from atlaskit.experiments.notebook import declared_in
from atlaskit.experiments.page import (
    POLICY,
    NotebookRun,
    captions,
    digest,
    made_since,
    page,
    read_record,
    write_record,
)

HEAD = re.compile(r'(<head>\s*<meta charset="utf-8" ?/?>)')
"""The place in nbconvert's page where the policy is inserted."""
STYLE = """<style>
.jp-RenderedText[data-mime-type="application/vnd.jupyter.stderr"] { background: none !important }
</style>"""
"""Takes the red ground from standard error, which holds progress bars and the steps of a start."""


def write_html(executed: Path) -> Path:
    """Write an executed notebook as an HTML file beside it and return the file's path.

    The HTML loads nothing and runs no script.

    Raises:
        InputError: nbconvert's page starts in an unknown way, so the policy cannot be inserted.
    """
    import nbformat
    from nbconvert import HTMLExporter

    exporter = HTMLExporter(embed_images=True)  # type: ignore[no-untyped-call]
    # nbconvert's template would load scripts for formulas, diagrams and widgets; no option turns
    # off the one for diagrams, so the policy does.
    exporter.mathjax_url = exporter.require_js_url = exporter.mermaid_js_url = ""
    exporter.jupyter_widgets_base_url = exporter.html_manager_semver_range = (
        exporter.widget_renderer_url
    ) = ""
    named = {"metadata": {"name": executed.stem}}
    body, _ = exporter.from_notebook_node(nbformat.read(executed, as_version=4), named)  # type: ignore[no-untyped-call]
    policy = rf'\1<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
    bound, count = HEAD.subn(policy, body, count=1)
    if not count:
        raise InputError(
            f"nbconvert's page for {executed.name} has an unknown form; install nbconvert 7."
        )
    path = executed.with_suffix(".html")
    path.write_text(bound.replace("</head>", f"{STYLE}</head>", 1), encoding="utf-8")
    return path


def record_run(
    notebook: Path,
    out: Path,
    *,
    began_s: float,
    settings: Mapping[str, Any],
    parameters: Mapping[str, Any],
    failure: str = "",
) -> NotebookRun:
    """Return the record of a notebook that has just run, and write its executed copy as HTML.

    Args:
        notebook: The notebook.
        out: The folder that it wrote to.
        began_s: When it began, in seconds since the epoch. Older files are not of this run.
        settings: Settings shared by all notebooks of one run.
        parameters: Parameters that were given to this notebook.
        failure: The failed cell and the reason; empty on success.
    """
    seconds = time.time() - began_s
    if notebook.name in made_since(out, notebook.stem, began_s):
        write_html(out / notebook.name)
    cells = json.loads(notebook.read_text(encoding="utf-8")).get("cells", ())
    return NotebookRun(
        notebook.stem,
        title(notebook),
        datetime.now(UTC).strftime("%d %B %Y, %H:%M UTC"),
        seconds,
        settings,
        {name: _literal(value) for name, value in declared_in(notebook).items()} | dict(parameters),
        {name: digest(out / name) for name in made_since(out, notebook.stem, began_s)},
        captions(cells),
        {
            **{name: version(name) for name in ("atlaskit", "numpy", "pillow", "av")},
            "Python": platform.python_version(),
            "machine": platform.machine(),
        },
        failure,
    )


def write_index(out: Path, runs: Iterable[NotebookRun]) -> Path:
    """Write `index.html` into a folder and return its path.

    The page shows figures, tables, settings and time of each notebook, or its failure. A section of
    an earlier run stays if the run had the same settings as the latest of these, and its files are
    as it left them. The page names the notebooks whose sections do not stay, and says why.
    """
    new = list(runs)
    by_name = {each.name: each for each in (*read_record(out), *new)}
    done = [by_name[name] for name in sorted(by_name)]
    shown = list[NotebookRun]()
    others = dict[str, str]()
    for run in done:
        if new and not run.is_like(new[-1]):
            others[run.name] = f"ran with other settings ({_named(run.settings)}) on {run.when}"
        elif run not in new and not run.is_intact(out):
            others[run.name] = f"ran on {run.when}; its files were changed later"
        else:
            shown.append(run)
    write_record(out, shown)
    path = out / "index.html"
    path.write_text(page(out, shown, others), encoding="utf-8")
    return path


def title(notebook: Path) -> str:
    """Return a notebook's first heading, or its name if it has none."""
    cells = json.loads(notebook.read_text(encoding="utf-8")).get("cells", ())
    text = "\n".join(
        "".join(cell["source"]) for cell in cells if cell.get("cell_type") == "markdown"
    )
    found = re.search(r"^# (.+)$", text, re.MULTILINE)
    return found[1] if found else notebook.stem


def _literal(source: str) -> Any:
    """Return a parameter's default, which a notebook declares as source text."""
    try:
        return ast.literal_eval(source)
    except (ValueError, SyntaxError):
        return source


def _named(settings: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {value}" for name, value in settings.items()) or "none"
