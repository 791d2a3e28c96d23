"""A page of what notebooks made: figures, tables, settings and times, and each notebook as HTML.

Opens without a network: pictures lie beside the page, and nothing else is loaded.
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
"""Of a table on the page; the rest is in its file."""
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
"""Of a notebook as HTML: nothing is loaded and no script runs. The template's own would only load what sets formulas,
diagrams and widgets, one of them whatever the exporter is told."""
HEAD = re.compile(r'(<head>\s*<meta charset="utf-8" ?/?>)')
"""Where nbconvert's page begins to say what it is."""
RECORD = "index.json"
"""Beside the page: what is on it."""


@dataclass(frozen=True)
class NotebookRun:
    """One notebook that was run."""

    name: str
    """Of its file, without the suffix."""
    title: str
    when: str
    seconds: float
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Of all that were run together."""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    """What it was given of its own."""
    files: Sequence[str] = ()
    """What it made, beside the page."""
    failure: str = ""
    """The cell and the reason, in a sentence; empty if all went well."""


def write_html(executed: Path) -> Path:
    """Write an executed notebook as an HTML file beside it that loads nothing and runs nothing; return its path.

    Raises InputError where nbconvert's page begins otherwise than it did, and so cannot be given its policy.
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
        raise InputError(f"The page that nbconvert makes of {executed.name} begins as no other: try nbconvert 7.")
    path = executed.with_suffix(".html")
    path.write_text(bound, encoding="utf-8")
    return path


def write_index(out: Path, ran: Iterable[NotebookRun]) -> Path:
    """Write `index.html` into a folder, and return its path: of each notebook its figures, tables, parameters and time,
    or its failure. What was on the page before stays there, unless it was run again.
    """
    found = {each.name: each for each in (*_recorded(out / RECORD), *ran)}
    done = [found[name] for name in sorted(found)]
    (out / RECORD).write_text(json.dumps([asdict(each) for each in done], indent=1) + "\n", encoding="utf-8")
    versions = ", ".join(f"{name} {version(name)}" for name in ("atlaskit", "numpy", "pillow", "av"))
    failed = sum(bool(each.failure) for each in done)
    body = [
        "<h1>Experiments</h1>",
        f"<p>{len(done)} notebooks in {sum(each.seconds for each in done):,.0f} s"
        + (f", <span class='failed'>{failed} of them failed</span>" if failed else "")
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


def _recorded(path: Path) -> list[NotebookRun]:
    """Return what is on the page; nothing where there is none, or its record is of another form: it is made again."""
    try:
        return [NotebookRun(**each) for each in json.loads(path.read_text(encoding="utf-8"))]
    except (OSError, ValueError, TypeError):
        return []


def made_since(out: Path, name: str, since_s: float) -> list[str]:
    """Return the files in a folder that a notebook of that name wrote after some time, by the clock of files: what
    begins with its name."""
    files = (path for path in out.glob(f"{name}*") if path.stem == name or path.stem.startswith(f"{name}_"))
    return sorted(path.name for path in files if path.stat().st_mtime >= since_s)


def title(notebook: Path) -> str:
    """Return a notebook's first heading; its name, if it has none."""
    cells = json.loads(notebook.read_text(encoding="utf-8")).get("cells", ())
    text = "\n".join("".join(cell["source"]) for cell in cells if cell.get("cell_type") == "markdown")
    found = re.search(r"^# (.+)$", text, re.MULTILINE)
    return found[1] if found else notebook.stem


def _section(out: Path, ran: NotebookRun) -> str:
    files = [out / name for name in ran.files if (out / name).is_file()]
    settings, given = (
        ", ".join(f"{key} {value}" for key, value in told.items()) for told in (ran.settings, ran.parameters)
    )
    links = [path for path in files if path.suffix in (".html", ".ipynb", ".svg", ".csv")]
    linked = " · ".join(f'<a href="{escape(path.name)}">{escape(path.name)}</a>' for path in links)
    parts = [
        f'<h2 id="{escape(ran.name)}">{escape(ran.title)}</h2>',
        f'<p class="small">{escape(ran.when)}, {ran.seconds:,.1f} s; {escape(settings)}'
        f"{f' ({escape(given)})' if given else ''}<br>{linked}</p>",
        f'<p class="failed">{escape(ran.failure)}</p>' if ran.failure else "",
        *(f'<p><img src="{escape(p.name)}" alt="{escape(p.stem)}"></p>' for p in files if p.suffix == ".png"),
        *(_table(path) for path in files if path.suffix == ".csv"),
    ]
    return "".join(parts)


def _table(path: Path) -> str:
    with path.open(newline="", encoding="utf-8") as file:
        head, *rows = list(csv.reader(file)) or [[]]
    lines = "".join(f"<tr>{''.join(f'<td>{escape(_short(cell))}</td>' for cell in row)}</tr>" for row in rows[:ROWS])
    more = f'<p class="small">and {len(rows) - ROWS} rows more in the file</p>' if len(rows) > ROWS else ""
    named = "".join(f"<th>{escape(cell)}</th>" for cell in head)
    return f'<p class="small">{escape(path.name)}</p><table><tr>{named}</tr>{lines}</table>{more}'


def _short(cell: str) -> str:
    """Return a number of a table with four digits; other text as it is."""
    if not re.fullmatch(r"-?\d+\.\d+(e-?\d+)?", cell):
        return cell
    value = float(cell)
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"
