"""The results page of notebooks that ran headless, and the record of their runs.

* `NotebookRun`: the record of one execution of a notebook, in `index.json` beside the page. It has
  the hash of each file that the run wrote, so a file that was overwritten later is never shown with
  the settings of the earlier run.
* `captions`: the captions of a notebook's figures. A caption is a paragraph that begins with
  "**Figure.**", in the Markdown cell directly before the cell that draws the figure. It says what
  the figure shows and what the paper claims.
* `write_index`: the page, with one section for each notebook. It is one HTML file with small copies
  of the figures, so it opens anywhere without a network, and shows the figures of its own runs even
  if other runs write to the same folder later. It links to the tables. All text is escaped.
* `write_html`: an executed notebook as HTML. It loads nothing and runs no script.
"""

from __future__ import annotations

import ast
import base64
import csv
import hashlib
import json
import platform
import re
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from html import escape
from importlib.metadata import version
from pathlib import Path
from typing import Any
from urllib.parse import quote

from atlaskit.errors import InputError, printable
from atlaskit.experiments.notebook import declared_in

RECORD = "index.json"
"""File beside the page that lists the runs on it."""


@dataclass(frozen=True)
class NotebookRun:
    """One execution of a notebook."""

    name: str
    """Name of the notebook's file, without its suffix."""
    title: str
    """The first heading of the notebook, or its name."""
    when: str
    """When it ended, in UTC and as the page shows it."""
    seconds: float
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Settings shared by all notebooks of one `run_all`."""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    """Values of all parameters that the notebook declares."""
    files: Mapping[str, str] = field(default_factory=dict)
    """SHA-256 of each file it wrote, by the file's name relative to the page."""
    captions: Mapping[str, str] = field(default_factory=dict)
    """The caption of each figure that it saves, by the name of the figure's file without suffix."""
    versions: Mapping[str, str] = field(default_factory=dict)
    """Version of each program that it depends on."""
    failure: str = ""
    """The failed cell and the reason, in a sentence; empty on success."""

    def is_intact(self, out: Path) -> bool:
        """Return whether all files of the run are still in a folder as the run left them."""
        for name, hashed in self.files.items():
            path = out / name
            if not path.is_file() or digest(path) != hashed:
                return False
        return True

    def is_like(self, other: NotebookRun) -> bool:
        """Return whether two runs had the same settings and the same version of atlaskit."""
        is_same_version = self.versions.get("atlaskit") == other.versions.get("atlaskit")
        return is_same_version and dict(self.settings) == dict(other.settings)


def made_since(out: Path, name: str, since_s: float) -> list[str]:
    """Return the names of the files that a notebook wrote since a time.

    Args:
        out: The folder that the notebook wrote to.
        name: The name of the notebook without its suffix. The names of its files are this name, or
            begin with it and "_".
        since_s: The time, in seconds since the epoch, that modification times are compared with.
    """
    names = list[str]()
    for path in out.glob(f"{name}*"):
        is_own = path.stem == name or path.stem.startswith(f"{name}_")
        if is_own and path.is_file() and path.stat().st_mtime >= since_s:
            names.append(path.name)
    return sorted(names)


def digest(path: Path) -> str:
    """Return the SHA-256 of a file, as hexadecimal digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def read_record(out: Path) -> list[NotebookRun]:
    """Return the runs listed beside the page; none if the list is missing or unreadable."""
    try:
        stored = json.loads((out / RECORD).read_text(encoding="utf-8"))
        runs = [NotebookRun(**fields) for fields in stored]
        return [run for run in runs if _is_sound(run)]
    except (OSError, ValueError, TypeError):
        return []


def write_record(out: Path, runs: Sequence[NotebookRun]) -> None:
    """Write the list of runs beside the page."""
    text = json.dumps(list(map(asdict, runs)), indent=1)
    (out / RECORD).write_text(f"{text}\n", encoding="utf-8")


def _is_sound(run: NotebookRun) -> bool:
    """Return whether a run from a file has fields of the right types and files of the folder only.

    An older version of atlaskit listed the names of files without hashes.
    """
    for table in (run.settings, run.parameters, run.files, run.captions, run.versions):
        if not isinstance(table, dict):
            return False
    is_inside = all(Path(name).name == name for name in run.files)
    return is_inside and isinstance(run.seconds, int | float)


LEAD = "**Figure.**"
PARAGRAPH = re.compile(rf"^{re.escape(LEAD)}\s+(.+?)\s*(?:\n\s*\n|\Z)", re.MULTILINE | re.DOTALL)


def captions(cells: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """Return the caption of each figure, by the name under which the figure is saved.

    A figure without a caption is left out. With several figures in one cell, the first caption
    belongs to the first figure, and so on.

    Args:
        cells: The cells of a notebook, with the keys `cell_type` and `source`.
    """
    saved = dict[str, str]()
    sentences = list[str]()
    by_variable = dict[str, str]()
    for cell in cells:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            sentences = [" ".join(found.split()) for found in PARAGRAPH.findall(source)]
        elif cell["cell_type"] == "code":
            for target, name in _drawn_and_saved(source):
                if name is None and sentences:
                    by_variable[target] = sentences.pop(0)
                elif name is None:
                    by_variable.pop(target, None)
                elif target in by_variable:
                    saved[name] = by_variable[target]
            sentences = []
    return saved


def _drawn_and_saved(source: str) -> list[tuple[str, str | None]]:
    """Return the figures that a cell draws and saves, in order.

    Returns:
        For `figure = ak.plots.…(…)` the variable and None; for `ak.plots.save(figure, …, "name")`
        the variable and the name.
    """
    try:
        statements = ast.parse(source).body
    except SyntaxError:  # IPython's own syntax, such as %time
        return []
    steps = list[tuple[str, str | None]]()
    for statement in statements:
        match statement:
            case ast.Assign(targets=[ast.Name(id=target)], value=ast.Call(func=function)) if (
                _is_plot(function)
            ):
                steps.append((target, None))
            case ast.Expr(
                value=ast.Call(
                    func=function, args=[ast.Name(id=target), _, ast.Constant(value=str(name))]
                )
            ):
                if _is_plot(function):
                    steps.append((target, name))
    return steps


def _is_plot(function: ast.expr) -> bool:
    """Return whether a function is `ak.plots.…`."""
    return isinstance(function, ast.Attribute) and ast.unparse(function.value) == "ak.plots"


POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'; font-src data:"
"""Content security policy of pages made here: they load nothing and run no script."""
ORACLE = "oracle"
"""The parameter `model` of a notebook that asks an oracle."""
OWN = "its own"
"""The setting `model` of older runs, in which each notebook asked the model that it names."""
AN_ORACLE = "an oracle: a program that knows the script, not a model"
FEW = 10
"""With fewer questions, a score says nothing about a method or a model."""
TAG = re.compile(r"</?(?:code|em|strong)>")
"""A tag that `_marked` adds."""
PATHS = ("cache_dir", "figures_dir")
"""Parameters that say where files lie on this machine."""
STYLE = """
:root { color-scheme: light dark; --ink: #1d2126; --muted: #59626d; --line: #d9dce1; --ground:
  #fff; --link: #0a58a8; --bad: #b00020; --box: #f5f6f8 }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6e8ec; --muted: #9aa0a8; --line: #363b43; --ground: #15181c; --link:
    #8ab4f8; --bad: #ff8a80; --box: #1d2126 }
}
* { box-sizing: border-box }
body { font: 16px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--ground);
  max-width: 60rem; margin: 2rem auto; padding: 0 1rem; overflow-wrap: break-word }
a { color: var(--link) }
h1 { line-height: 1.2 }
h2 { margin: 3rem 0 .5rem; border-top: 1px solid var(--line); padding-top: 1rem; line-height: 1.25
  }
nav ul { padding-left: 1.2rem }
.small, dt, summary { color: var(--muted); font-size: 13px }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .1rem .8rem; margin: .5rem 0;
  font-size: 14px }
dt { padding-top: .1rem }
dd { margin: 0 }
.figures { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 22rem), 1fr));
  gap: 1rem 1.5rem }
figure { margin: 0; break-inside: avoid }
figure img { display: block; width: 100%; height: 14rem; object-fit: contain; background: #fff;
  border-radius: 4px }
figcaption { margin: .4rem 0; font-size: 14px }
.failed { color: var(--bad); font-weight: 600 }
.other { background: var(--box); padding: .5rem 1rem; margin-top: 3rem }
code { font-size: .92em }
@media print {
  :root { --ink: #000; --muted: #444; --line: #bbb; --ground: #fff; --link: #000; --bad: #900;
    --box: #fff }
  body { max-width: none; margin: 0; font-size: 10.5pt }
  nav, details { display: none }
  a { text-decoration: none }
  h2 { break-after: avoid }
}
"""


def page(out: Path, runs: Sequence[NotebookRun], others: Mapping[str, str]) -> str:
    """Return the page as HTML.

    Args:
        out: The folder with the files of the runs, in which the page will lie.
        runs: The runs that are shown, in order; all had the same settings.
        others: Why an earlier run is not shown, by the name of its notebook.
    """
    contents = ""
    sections = ""
    for run in runs:
        contents += f'<li><a href="#{_text(run.name)}">{_text(run.title)}</a></li>'
        sections += _section(out, run)
    body = f"<h1>Experiments</h1>{_summary(runs)}<nav><ul>{contents}</ul></nav>{sections}"
    if others:
        missing = ""
        for name, why in others.items():
            missing += f"<li>{_text(name)}: {_text(why)}</li>"
        heading = "Not part of this run, although files may be left:"
        body += f'<div class="other"><p>{heading}</p><ul>{missing}</ul></div>'
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
        '<meta name="viewport" content="width=device-width"><title>atlaskit: experiments</title>'
        f"<style>{STYLE}</style></head><body>{body}</body></html>\n"
    )


def _summary(runs: Sequence[NotebookRun]) -> str:
    """Return a paragraph on all runs: their number, duration, settings and versions."""
    if not runs:
        return "<p>0 notebooks.</p>"
    latest = runs[-1]
    words = list[str]()
    for name, value in latest.settings.items():
        if value is False or value in ("", None, OWN):  # 0 is a setting
            continue
        if name != "model":
            words.append(_text(f"{name} {value}"))
        elif value == ORACLE:
            words.append("an oracle asked")
        else:
            words.append(_text(f"{value} asked"))
    seconds = 0.0
    failed = 0
    for run in runs:
        seconds += run.seconds
        failed += bool(run.failure)
    count = "1 notebook" if len(runs) == 1 else f"{len(runs)} notebooks"
    text = f"{count} in {_duration(seconds)}"
    if failed:
        text += f', <span class="failed">{failed} failed</span>'
    if words:
        text += f"; {', '.join(words)}"
    return f'<p>{text}.<br><span class="small">{_text(_listed(latest.versions))}.</span></p>'


def _section(out: Path, run: NotebookRun) -> str:
    """Return the section of a notebook: its facts, its figures, and all its parameters."""
    files = [out / name for name in run.files if (out / name).is_file()]
    tables = [path for path in files if path.suffix == ".csv"]
    figures = [path for path in files if path.suffix == ".png"]
    in_order = [*run.captions, *(path.stem for path in figures)]
    figures.sort(key=lambda path: in_order.index(path.stem))
    facts = ""
    for name, value in _facts(run, tables):
        facts += f"<dt>{name}</dt><dd>{_text(value)}</dd>"
    links = _links(files)
    if links:
        facts += f"<dt>Files</dt><dd>{links}</dd>"
    parts = f'<h2 id="{_text(run.name)}">{_text(run.title)}</h2><dl>{facts}</dl>'
    if run.failure:
        parts += f'<p class="failed">{_text(run.failure)}</p>'
    drawn = ""
    for path in figures:
        drawn += _figure(path, run.captions.get(path.stem, ""))
    parts += f'<div class="figures">{drawn}</div>'
    given = [f"{name} = {value!r}" for name, value in run.parameters.items() if name not in PATHS]
    if given:
        listed = f'<p class="small">{_text(", ".join(given))}</p>'
        parts += f"<details><summary>All parameters</summary>{listed}</details>"
    return f"<section>{parts}</section>"


def _facts(run: NotebookRun, tables: Sequence[Path]) -> list[tuple[str, str]]:
    """Return the facts that a reader needs before the numbers of a section, as names and texts."""
    columns = list(map(_read_table, tables))
    asked = _asked(run)
    # An oracle in the tables is the one that was asked, or was asked in addition to the model.
    oracles_label = "Which" if asked == AN_ORACLE else "Beside it"
    facts = [("Asked", asked), (oracles_label, ", ".join(_oracles(columns)))]
    parameters = run.parameters
    if "seeds" in parameters:
        seeds = str(parameters["seeds"])
        if parameters.get("worlds"):
            seeds += f", the first {parameters['worlds']} of the range"
        facts.append(("Seeds", seeds))
    elif "seed" in parameters:
        facts.append(("Seed", str(parameters["seed"])))
    facts.append(("Questions", _questions(columns, parameters)))
    facts.append(("Made", f"{run.when}, in {_duration(run.seconds)}"))
    return [(name, value) for name, value in facts if value]


def _read_table(path: Path) -> dict[str, list[str]]:
    """Return the columns of a CSV file by their headers; {} if it is no table."""
    try:
        with path.open(newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
    except (UnicodeDecodeError, csv.Error):
        return {}
    columns = dict[str, list[str]]()
    for row in rows:
        for name, value in row.items():
            if name:
                columns.setdefault(name, []).append(value or "")
    return columns


def _asked(run: NotebookRun) -> str:
    """Return who answered: the name of a model, or that it was an oracle."""
    if "model" not in run.parameters:
        return "no model"
    model = run.settings.get("model") or OWN
    if model == OWN:
        model = run.parameters["model"]
    return AN_ORACLE if model == ORACLE else str(model)


def _oracles(tables: Sequence[Mapping[str, Sequence[str]]]) -> list[str]:
    """Return the names of the oracles in the column `model` of the tables."""
    found = set[str]()
    for table in tables:
        for value in table.get("model", ()):
            if ORACLE in value.lower():
                found.add(value)
    return sorted(found)


def _questions(tables: Sequence[Mapping[str, Sequence[str]]], parameters: Mapping[str, Any]) -> str:
    """Return how many questions each row is about, by the tables or else by the parameters."""
    counts = set[int]()
    for table in tables:
        counts.update(map(int, filter(str.isdecimal, table.get("questions", ()))))
    if counts:
        least = min(counts)
        most = max(counts)
        numbers = str(least) if least == most else f"{least} to {most}"
        if most < FEW:
            return f"n = {numbers} in each row: shows that it runs, nothing else"
        return f"n = {numbers} in each row"
    worlds = parameters.get("worlds")
    questions = parameters.get("questions")
    if isinstance(worlds, int) and isinstance(questions, int):
        return f"n = {worlds * questions}, at most {questions} about each of {worlds} worlds"
    return ""


def _figure(path: Path, caption: str) -> str:
    """Return a figure as HTML, with its caption and links to its files."""
    source = f"data:image/png;base64,{base64.b64encode(path.read_bytes()).decode()}"
    links = f'<a href="{_link(path)}">{_text(path.name)}</a>'
    vector = path.with_suffix(".svg")
    if vector.is_file():
        links += f' · <a href="{_link(vector)}">SVG</a>'
    shown = f'<span class="small">{links}</span>'
    marked = _marked(caption)
    if caption:
        shown = f"{marked}<br>{shown}"
    image = f'<img src="{source}" alt="{TAG.sub("", marked) or _text(path.stem)}">'
    linked = f'<a href="{_link(path)}">{image}</a>'
    return f"<figure>{linked}<figcaption>{shown}</figcaption></figure>"


def _links(files: Sequence[Path]) -> str:
    """Return links to the files that are not shown in the section."""
    links = list[str]()
    for path in files:
        if path.suffix not in (".png", ".svg"):
            links.append(f'<a href="{_link(path)}">{_text(path.name)}</a>')
    return " · ".join(links)


def _marked(text: str) -> str:
    """Return a sentence of Markdown as HTML, with code and emphasis, but only the text of links."""
    html = _text(re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text))
    html = re.sub(r"`([^`]+)`", r"<code>\1</code>", html)
    html = re.sub(r"\*\*([^*]+)\*\*", r"<strong>\1</strong>", html)
    return re.sub(r"\*(?=\S)([^*]+)(?<=\S)\*", r"<em>\1</em>", html)


def _duration(seconds: float) -> str:
    return f"{seconds:.3g} s" if seconds < 120 else f"{seconds / 60:.3g} minutes"


def _link(path: Path) -> str:
    return escape(quote(path.name))


def _text(text: str) -> str:
    return escape(printable(text))


def _listed(values: Mapping[str, Any]) -> str:
    """Return names with their values as text."""
    return ", ".join([f"{name} {value}" for name, value in values.items()])


HEAD = re.compile(r'(<head>\s*<meta charset="utf-8" ?/?>)')
"""The place in nbconvert's page where the policy is inserted."""
NOTEBOOK_STYLE = """<style>
.jp-RenderedText[data-mime-type="application/vnd.jupyter.stderr"] { background: none !important }
</style>"""
"""Removes the red background of standard error, which is mostly progress bars."""


def write_html(executed: Path) -> Path:
    """Write an executed notebook as an HTML file beside it and return the file's path.

    The HTML loads nothing and runs no script.

    Raises:
        InputError: nbconvert's page starts in an unknown way, so the policy cannot be inserted.
    """
    import nbformat
    from nbconvert import HTMLExporter

    exporter = HTMLExporter(embed_images=True)  # type: ignore[no-untyped-call]
    # nbconvert's template would load scripts for formulas, diagrams and widgets. No option turns
    # off the script for diagrams, so the policy blocks it.
    for script in (
        "mathjax_url",
        "require_js_url",
        "mermaid_js_url",
        "jupyter_widgets_base_url",
        "html_manager_semver_range",
        "widget_renderer_url",
    ):
        setattr(exporter, script, "")
    resources = {"metadata": {"name": executed.stem}}
    notebook = nbformat.read(executed, as_version=4)  # type: ignore[no-untyped-call]
    body, _ = exporter.from_notebook_node(notebook, resources)
    policy = rf'\1<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
    html, count = HEAD.subn(policy, body, count=1)
    if not count:
        raise InputError(
            f"nbconvert's page for {executed.name} has an unknown form; install nbconvert 7."
        )
    path = executed.with_suffix(".html")
    path.write_text(html.replace("</head>", f"{NOTEBOOK_STYLE}</head>", 1), encoding="utf-8")
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
    values = dict[str, Any]()
    for name, source in declared_in(notebook).items():
        values[name] = _literal(source)
    versions = {name: version(name) for name in ("atlaskit", "numpy", "pillow", "av")}
    versions["Python"] = platform.python_version()
    versions["machine"] = platform.machine()
    return NotebookRun(
        name=notebook.stem,
        title=_title(cells) or notebook.stem,
        when=datetime.now(UTC).strftime("%d %B %Y, %H:%M UTC"),
        seconds=seconds,
        settings=settings,
        parameters=values | dict(parameters),
        files={name: digest(out / name) for name in made_since(out, notebook.stem, began_s)},
        captions=captions(cells),
        versions=versions,
        failure=failure,
    )


def write_index(out: Path, runs: Iterable[NotebookRun]) -> Path:
    """Write `index.html` into a folder and return its path.

    The page shows figures, tables, settings and time of each notebook, or its failure. A section of
    an earlier run stays if the run had the same settings and version of atlaskit as the last of
    `runs`, and its files are unchanged. The page names the notebooks whose sections do not stay,
    and says why.
    """
    new = list(runs)
    by_name = dict[str, NotebookRun]()
    for run in (*read_record(out), *new):
        by_name[run.name] = run
    shown = list[NotebookRun]()
    others = dict[str, str]()
    for _, run in sorted(by_name.items()):
        if new and not run.is_like(new[-1]):
            difference = f"other settings ({_listed(run.settings) or 'none'})"
            if dict(run.settings) == dict(new[-1].settings):
                difference = f"atlaskit {run.versions.get('atlaskit', 'of an unknown version')}"
            others[run.name] = f"ran with {difference} on {run.when}"
        elif run not in new and not run.is_intact(out):
            others[run.name] = f"ran on {run.when}; its files were changed later"
        else:
            shown.append(run)
    write_record(out, shown)
    path = out / "index.html"
    path.write_text(page(out, shown, others), encoding="utf-8")
    return path


def _title(cells: Iterable[Mapping[str, Any]]) -> str:
    """Return a notebook's first heading; "" if it has none."""
    for cell in cells:
        if cell.get("cell_type") == "markdown":
            found = re.search(r"^# (.+)$", "".join(cell["source"]), re.MULTILINE)
            if found:
                return found[1]
    return ""


def _literal(source: str) -> Any:
    """Return the value of a parameter's default, which a notebook declares as source text."""
    try:
        return ast.literal_eval(source)
    except (ValueError, SyntaxError):
        return source
