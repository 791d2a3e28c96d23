"""The results page, and the record of the runs that it shows.

* `NotebookRun`: what is kept of one execution of a notebook, in `index.json` beside the page. Of
  each file that a run wrote, it holds the hash, so a file that something else has overwritten
  since is never shown with the settings of the earlier run.
* `captions`: the sentence that a notebook says about each figure that it saves. A paragraph that
  begins with "**Figure.**", in the Markdown cell directly before the cell that draws the figure,
  says what it shows and what the paper claims.
* `page`: one section a notebook, as one HTML file. The figures, small, are part of the file, so
  it opens anywhere without a network, and shows the figures of its own run even if other runs
  write to the same folder later. Tables are in the executed notebook and in the CSV files, to
  which it links. All text is escaped.
"""

from __future__ import annotations

import ast
import base64
import csv
import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from html import escape
from pathlib import Path
from typing import Any
from urllib.parse import quote

from atlaskit.errors import printable

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
    """Values of all the parameters that the notebook declares."""
    files: Mapping[str, str] = field(default_factory=dict)
    """SHA-256 of each file it wrote, by the file's name relative to the page."""
    captions: Mapping[str, str] = field(default_factory=dict)
    """A sentence on each figure that it saves, by the name of the figure's file without suffix."""
    versions: Mapping[str, str] = field(default_factory=dict)
    """Version of each program that it depends on."""
    failure: str = ""
    """The failed cell and the reason, in a sentence; empty on success."""

    def is_intact(self, out: Path) -> bool:
        """Return whether all files of the run are still in a folder as the run left them."""
        return all(
            (out / name).is_file() and digest(out / name) == kept
            for name, kept in self.files.items()
        )

    def is_like(self, other: NotebookRun) -> bool:
        """Return whether two runs had the same settings and the same version of the kit."""
        return (dict(self.settings), self.versions.get("atlaskit")) == (
            dict(other.settings),
            other.versions.get("atlaskit"),
        )


def made_since(out: Path, name: str, since_s: float) -> list[str]:
    """Return the names of the files in `out` that a notebook wrote since a time.

    A file belongs to the notebook if its name starts with the notebook's; `since_s` is in seconds
    since the epoch, compared with modification times.
    """
    files = (
        path
        for path in out.glob(f"{name}*")
        if path.stem == name or path.stem.startswith(f"{name}_")
    )
    return sorted(path.name for path in files if path.is_file() and path.stat().st_mtime >= since_s)


def digest(path: Path) -> str:
    """Return the SHA-256 of a file, as hexadecimal digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def read_record(out: Path) -> list[NotebookRun]:
    """Return the runs listed beside the page; none if the list is missing or unreadable."""
    try:
        runs = [
            NotebookRun(**each) for each in json.loads((out / RECORD).read_text(encoding="utf-8"))
        ]
        return [each for each in runs if _is_sound(each)]
    except (OSError, ValueError, TypeError):
        return []


def write_record(out: Path, runs: Iterable[NotebookRun]) -> None:
    """Write the list of runs beside the page."""
    (out / RECORD).write_text(
        json.dumps([asdict(each) for each in runs], indent=1) + "\n", encoding="utf-8"
    )


def _is_sound(run: NotebookRun) -> bool:
    """Return whether a run from a file has the types of its fields and names files of the folder.

    An older version of the kit listed the names of files without hashes.
    """
    tables = (run.settings, run.parameters, run.files, run.captions, run.versions)
    if not all(isinstance(each, dict) for each in tables) or not isinstance(
        run.seconds, int | float
    ):
        return False
    return all(Path(name).name == name for name in run.files)


LEAD = "**Figure.**"
PARAGRAPH = re.compile(rf"^{re.escape(LEAD)}\s+(.+?)\s*(?:\n\s*\n|\Z)", re.MULTILINE | re.DOTALL)


def captions(cells: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """Return the sentence on each figure, by the name that the figure is saved under.

    A figure without a sentence is missing. With several figures in one cell, the first sentence is
    on the first figure, and so on.

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
    """Return what a cell draws and saves, in order.

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
OWN = "its own"
AN_ORACLE = "an oracle: a program that knows the script, not a model"
FEW = 10
"""Fewer questions say nothing about a method or a model."""
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
        told = "Not part of this run, although files may be left:"
        body += f'<div class="other"><p>{told}</p><ul>{missing}</ul></div>'
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
        '<meta name="viewport" content="width=device-width"><title>atlaskit: experiments</title>'
        f"<style>{STYLE}</style></head><body>{body}</body></html>\n"
    )


def _summary(runs: Sequence[NotebookRun]) -> str:
    """Return what all runs have in common, and how many there are."""
    count = f"{len(runs)} notebook" if len(runs) == 1 else f"{len(runs)} notebooks"
    if not runs:
        return f"<p>{count}.</p>"
    latest = runs[-1]
    words = list[str]()
    for name, value in latest.settings.items():
        if value in ("", None, False, OWN):
            continue
        if name != "model":
            words.append(_text(f"{name} {value}"))
        elif value == ORACLE:
            words.append("an oracle asked")
        else:
            words.append(_text(f"{value} asked"))
    told = f"{count} in {_duration(sum(each.seconds for each in runs))}"
    failed = sum(bool(each.failure) for each in runs)
    if failed:
        told += f', <span class="failed">{failed} failed</span>'
    if words:
        told += f"; {', '.join(words)}"
    versions = ", ".join(_text(f"{name} {value}") for name, value in latest.versions.items())
    return f'<p>{told}.<br><span class="small">{versions}.</span></p>'


def _section(out: Path, run: NotebookRun) -> str:
    """Return the section of a notebook: its facts, its figures, and all its parameters."""
    files = [out / name for name in run.files if (out / name).is_file()]
    tables = [path for path in files if path.suffix == ".csv"]
    figures = [path for path in files if path.suffix == ".png"]
    place_of = {name: place for place, name in enumerate(run.captions)}
    figures.sort(key=lambda path: place_of.get(path.stem, len(place_of)))
    facts = ""
    for name, value in _facts(run, tables):
        facts += f"<dt>{name}</dt><dd>{_text(value)}</dd>"
    links = _links(files)
    if links:
        facts += f"<dt>Files</dt><dd>{links}</dd>"
    parts = f'<h2 id="{_text(run.name)}">{_text(run.title)}</h2><dl>{facts}</dl>'
    if run.failure:
        parts += f'<p class="failed">{_text(run.failure)}</p>'
    drawn = "".join(_figure(path, run.captions.get(path.stem, "")) for path in figures)
    parts += f'<div class="figures">{drawn}</div>'
    given = [f"{name} = {value!r}" for name, value in run.parameters.items() if name not in PATHS]
    if given:
        told = f'<p class="small">{_text(", ".join(given))}</p>'
        parts += f"<details><summary>All parameters</summary>{told}</details>"
    return f"<section>{parts}</section>"


def _facts(run: NotebookRun, tables: Sequence[Path]) -> list[tuple[str, str]]:
    """Return what a reader must know before a number of the section, as names and texts."""
    columns = [_read_table(path) for path in tables]
    asked = _asked(run)
    beside = "Which" if asked == AN_ORACLE else "Beside it"
    facts = [("Asked", asked), (beside, ", ".join(_oracles(columns)))]
    parameters = run.parameters
    if "seeds" in parameters:
        told = str(parameters["seeds"])
        if parameters.get("worlds"):
            told += f", the first {parameters['worlds']} of the range"
        facts.append(("Seeds", told))
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
    """Return who answered: a model by its name; an oracle only with that word."""
    if "model" not in run.parameters:
        return "no model"
    named = run.settings.get("model") or OWN
    model = str(run.parameters["model"] if named == OWN else named)
    if model == ORACLE:
        return AN_ORACLE
    return model


def _oracles(tables: Sequence[Mapping[str, Sequence[str]]]) -> list[str]:
    """Return the oracles that stand beside the model in the tables."""
    found = set[str]()
    for table in tables:
        found.update(value for value in table.get("model", ()) if ORACLE in value.lower())
    return sorted(found)


def _questions(tables: Sequence[Mapping[str, Sequence[str]]], parameters: Mapping[str, Any]) -> str:
    """Return the number of questions behind each number, by the tables or else the parameters."""
    counts = set[int]()
    for table in tables:
        counts.update(int(value) for value in table.get("questions", ()) if value.isdecimal())
    if counts:
        least = min(counts)
        most = max(counts)
        told = f"n = {least} in each row" if least == most else f"n = {least} to {most} in each row"
        if most < FEW:
            told += ": shows that it runs, nothing else"
        return told
    worlds = parameters.get("worlds")
    questions = parameters.get("questions")
    if isinstance(worlds, int) and isinstance(questions, int):
        return f"n = {worlds * questions}, at most {questions} about each of {worlds} worlds"
    return ""


def _figure(path: Path, caption: str) -> str:
    source = f"data:image/png;base64,{base64.b64encode(path.read_bytes()).decode()}"
    links = f'<a href="{_link(path)}">{_text(path.name)}</a>'
    vector = path.with_suffix(".svg")
    if vector.is_file():
        links += f' · <a href="{_link(vector)}">SVG</a>'
    told = f'<span class="small">{links}</span>'
    marked = _marked(caption)
    if caption:
        told = f"{marked}<br>{told}"
    image = f'<img src="{source}" alt="{TAG.sub("", marked) or _text(path.stem)}">'
    linked = f'<a href="{_link(path)}">{image}</a>'
    return f"<figure>{linked}<figcaption>{told}</figcaption></figure>"


def _links(files: Sequence[Path]) -> str:
    """Return links to the files that are not shown in the section."""
    shown = {".png", ".svg"}
    return " · ".join(
        f'<a href="{_link(path)}">{_text(path.name)}</a>'
        for path in files
        if path.suffix not in shown
    )


def _marked(text: str) -> str:
    """Return a sentence of Markdown as HTML: code and emphasis, and of links only their text."""
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
