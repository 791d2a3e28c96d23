"""The results page: figures, tables, settings and times of notebooks, and each notebook as HTML.

The page opens without a network: images lie beside it and nothing else is loaded.
"""

from __future__ import annotations

import csv
import json
import platform
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from html import escape
from importlib.metadata import version
from pathlib import Path
from typing import Any

from atlaskit.errors import InputError

ROWS = 40
"""Rows of a table shown on the page; the file has all of them."""
STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; color: #1d2126; background: #fff; max-width: 62rem; margin: 2rem auto;
  padding: 0 1rem }
img { max-width: 100%; background: #fff } h2 { margin-top: 3rem; border-top: 1px solid #d9dce1; padding-top: 1rem }
table { border-collapse: collapse; font-size: 13px; display: block; overflow-x: auto }
th, td { padding: 2px 10px; border-bottom: 1px solid #e6e8ec; text-align: right; white-space: nowrap }
th:first-child, td:first-child { text-align: left } .failed { color: #b00020; font-weight: 600 }
.small { color: #59626d; font-size: 13px }
@media (prefers-color-scheme: dark) { body { color: #e6e8ec; background: #15181c }
  .small { color: #9aa0a8 } .failed { color: #ff8a80 } a { color: #8ab4f8 } }
"""


POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'; font-src data:"
"""Content security policy of a notebook as HTML: it loads nothing and runs no script.

nbconvert's template would load scripts for formulas, diagrams and widgets; no option turns off the
one for diagrams.
"""
HEAD = re.compile(r'(<head>\s*<meta charset="utf-8" ?/?>)')
"""The place in nbconvert's page where the policy is inserted."""
RECORD = "index.json"
"""File beside the page that lists the runs on it."""


@dataclass(frozen=True)
class NotebookRun:
    """One execution of a notebook."""

    name: str
    """Name of the notebook's file, without the suffix."""
    title: str
    when: str
    seconds: float
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Settings shared by all notebooks of one `run_all`."""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    """Parameters given to this notebook."""
    files: Sequence[str] = ()
    """Names of the files it wrote, relative to the page."""
    failure: str = ""
    """The failed cell and the reason, in a sentence; empty on success."""


def write_html(executed: Path) -> Path:
    """Write an executed notebook as an HTML file beside it and return the file's path.

    The HTML loads nothing and runs no script.

    Raises:
        InputError: nbconvert's page starts in an unknown way, so the policy cannot be inserted.
    """
    import nbformat
    from nbconvert import HTMLExporter

    exporter = HTMLExporter(embed_images=True)  # type: ignore[no-untyped-call]
    exporter.mathjax_url = exporter.require_js_url = exporter.mermaid_js_url = ""
    exporter.jupyter_widgets_base_url = exporter.html_manager_semver_range = exporter.widget_renderer_url = ""
    named = {"metadata": {"name": executed.stem}}
    body, _ = exporter.from_notebook_node(nbformat.read(executed, as_version=4), named)  # type: ignore[no-untyped-call]
    policy = rf'\1<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
    bound, count = HEAD.subn(policy, body, count=1)
    if not count:
        raise InputError(f"nbconvert's page for {executed.name} has an unknown form; install nbconvert 7.")
    path = executed.with_suffix(".html")
    path.write_text(bound, encoding="utf-8")
    return path


def write_index(out: Path, runs: Iterable[NotebookRun]) -> Path:
    """Write `index.html` into a folder and return its path.

    The page shows figures, tables, parameters and time of each notebook, or its failure. Sections
    of earlier runs stay until the same notebook runs again.
    """
    by_name = {each.name: each for each in (*_listed_runs(out / RECORD), *runs)}
    done = [by_name[name] for name in sorted(by_name)]
    (out / RECORD).write_text(json.dumps([asdict(each) for each in done], indent=1) + "\n", encoding="utf-8")
    versions = ", ".join(f"{name} {version(name)}" for name in ("atlaskit", "numpy", "pillow", "av"))
    failed = sum(bool(each.failure) for each in done)
    body = [
        "<h1>Experiments</h1>",
        f"<p>{len(done)} notebooks in {sum(each.seconds for each in done):,.0f} s"
        + (f", <span class='failed'>{failed} failed</span>" if failed else "")
        + f'.<br><span class="small">{escape(versions)}; Python {platform.python_version()}, '
        f"{escape(platform.machine())}.</span></p>",
        "<ul>",
        *(f'<li><a href="#{escape(each.name)}">{escape(each.title)}</a></li>' for each in done),
        "</ul>",
        *(_section(out, each) for each in done),
    ]
    page = (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width"><title>atlaskit: experiments</title>'
        f"<style>{STYLE}</style></head><body>{''.join(body)}</body></html>\n"
    )
    path = out / "index.html"
    path.write_text(page, encoding="utf-8")
    return path


def _listed_runs(path: Path) -> list[NotebookRun]:
    """Return the runs listed beside the page; none if the list is missing or unreadable."""
    try:
        return [NotebookRun(**each) for each in json.loads(path.read_text(encoding="utf-8"))]
    except (OSError, ValueError, TypeError):
        return []


def made_since(out: Path, name: str, since_s: float) -> list[str]:
    """Return the names of the files in `out` that a notebook wrote since a time.

    A file belongs to the notebook if its name starts with the notebook's; `since_s` is in seconds
    since the epoch, compared with modification times.
    """
    files = (path for path in out.glob(f"{name}*") if path.stem == name or path.stem.startswith(f"{name}_"))
    return sorted(path.name for path in files if path.stat().st_mtime >= since_s)


def title(notebook: Path) -> str:
    """Return a notebook's first heading, or its name if it has none."""
    cells = json.loads(notebook.read_text(encoding="utf-8")).get("cells", ())
    text = "\n".join("".join(cell["source"]) for cell in cells if cell.get("cell_type") == "markdown")
    found = re.search(r"^# (.+)$", text, re.MULTILINE)
    return found[1] if found else notebook.stem


def _section(out: Path, run: NotebookRun) -> str:
    files = [out / name for name in run.files if (out / name).is_file()]
    settings, given = (
        ", ".join(f"{key} {value}" for key, value in values.items()) for values in (run.settings, run.parameters)
    )
    links = [path for path in files if path.suffix in (".html", ".ipynb", ".svg", ".csv")]
    linked = " · ".join(f'<a href="{escape(path.name)}">{escape(path.name)}</a>' for path in links)
    parts = [
        f'<h2 id="{escape(run.name)}">{escape(run.title)}</h2>',
        f'<p class="small">{escape(run.when)}, {run.seconds:,.1f} s; {escape(settings)}'
        f"{f' ({escape(given)})' if given else ''}<br>{linked}</p>",
        f'<p class="failed">{escape(run.failure)}</p>' if run.failure else "",
        *(f'<p><img src="{escape(p.name)}" alt="{escape(p.stem)}"></p>' for p in files if p.suffix == ".png"),
        *(_table(path) for path in files if path.suffix == ".csv"),
    ]
    return "".join(parts)


def _table(path: Path) -> str:
    with path.open(newline="", encoding="utf-8") as file:
        head, *rows = list(csv.reader(file)) or [[]]
    lines = "".join(f"<tr>{''.join(f'<td>{escape(_short(cell))}</td>' for cell in row)}</tr>" for row in rows[:ROWS])
    more = f'<p class="small">and {len(rows) - ROWS} more rows in the file</p>' if len(rows) > ROWS else ""
    named = "".join(f"<th>{escape(cell)}</th>" for cell in head)
    return f'<p class="small">{escape(path.name)}</p><table><tr>{named}</tr>{lines}</table>{more}'


def _short(cell: str) -> str:
    """Return a number with four significant digits; other text unchanged."""
    if not re.fullmatch(r"-?\d+\.\d+(e-?\d+)?", cell):
        return cell
    value = float(cell)
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"
