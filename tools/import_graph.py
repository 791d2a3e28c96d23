"""Draw docs/assets/imports.svg, the imports between the packages of atlaskit.

Run it as `python tools/import_graph.py`. Each box is a package or a top-level module, and is above
everything that it imports. An arrow that follows from others is left out: if a imports b, and b
imports c, there is no arrow from a to c. The tooltip of a box lists all its imports. `--check`
writes nothing and fails if the file is outdated.
"""

from __future__ import annotations

import argparse
import ast
import sys
from collections.abc import Iterable, Iterator
from itertools import pairwise
from pathlib import Path
from xml.sax.saxutils import escape

ROOT = Path(__file__).parents[1]
FIGURE = ROOT / "docs/assets/imports.svg"
UNDRAWN = {"__init__", "__main__"}  # they import everything
WIDTH = 720
ROW = 88
"""Height of a row, with the space below it."""
BOX_W = 136
BOX_H = 46
GAP = 40
Edges = dict[str, set[str]]
"""The packages that each package imports, by name."""


def package_of(module: str) -> str:
    """Return the package that a dotted module of atlaskit belongs to."""
    return module.split(".")[1] if "." in module else "__init__"


def imported(tree: ast.AST) -> Iterator[str]:
    """Yield the modules of atlaskit that a module imports at runtime, also inside its functions."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            continue
        if isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            names = [node.module]
            if node.module == "atlaskit":
                names = [f"atlaskit.{each.name}" for each in node.names]
            yield from (name for name in names if name.startswith("atlaskit."))
        elif isinstance(node, ast.Import):
            yield from (each.name for each in node.names if each.name.startswith("atlaskit."))
        else:
            yield from imported(node)


def imports(folder: Path) -> tuple[Edges, dict[str, int]]:
    """Return each package's imports of other packages, and its number of modules."""
    edges = dict[str, set[str]]()
    modules = dict[str, int]()
    for path in sorted(folder.rglob("*.py")):
        parts = path.relative_to(folder.parent).with_suffix("").parts
        package = package_of(".".join(parts))
        if package in UNDRAWN:
            continue
        modules[package] = modules.get(package, 0) + (parts[-1] != "__init__")
        tree = ast.parse(path.read_text(encoding="utf-8"))
        targets = {package_of(name) for name in imported(tree)}
        edges.setdefault(package, set()).update(targets - {package} - UNDRAWN)
    return edges, modules


def reachable(edges: Edges, start: str) -> set[str]:
    """Return the packages that a package imports, directly or indirectly."""
    seen = set[str]()
    pending = list(edges[start])
    while pending:
        each = pending.pop()
        if each not in seen:
            seen.add(each)
            pending += edges[each]
    return seen


def reduced(edges: Edges) -> Edges:
    """Return the edges that do not follow from others.

    Raises:
        SystemExit: If packages import one another in a cycle.
    """
    below = {each: reachable(edges, each) for each in edges}
    cycle = sorted(each for each in edges if each in below[each])
    if cycle:
        sys.exit(f"These packages import one another in a cycle: {', '.join(cycle)}.")
    direct: Edges = {}
    for a, targets in edges.items():
        direct[a] = {b for b in targets if not any(b in below[c] for c in targets)}
    return direct


def layers_of(edges: Edges) -> dict[str, int]:
    """Return each package's layer: one above the highest layer that it imports from."""
    layers = dict[str, int]()

    def layer(name: str) -> int:
        if name not in layers:
            layers[name] = 1 + max((layer(each) for each in edges[name]), default=-1)
        return layers[name]

    for name in sorted(edges):
        layer(name)
    return layers


def lay_out(edges: Edges, layers: dict[str, int]) -> tuple[list[list[str]], list[list[str]]]:
    """Return the rows from bottom to top, and each edge as a path of nodes, one in each row.

    Where an edge passes a row without ending there, the row has a node such as `a>b:2`.
    """
    rows: list[list[str]] = [[] for _ in range(max(layers.values()) + 1)]
    for name in sorted(edges):
        rows[layers[name]].append(name)
    paths = list[list[str]]()
    for a in sorted(edges):
        for b in sorted(edges[a]):
            path = [a]
            for row in range(layers[a] - 1, layers[b], -1):
                node = f"{a}>{b}:{row}"
                rows[row].append(node)
                path.append(node)
            paths.append([*path, b])
    sort_rows(rows, paths)
    return rows, paths


def sort_rows(rows: list[list[str]], paths: list[list[str]]) -> None:
    """Sort each row by the mean position of its nodes' neighbours, which avoids most crossings."""
    neighbours: dict[str, set[str]] = {}
    for path in paths:
        for upper, lower in pairwise(path):
            neighbours.setdefault(upper, set()).add(lower)
            neighbours.setdefault(lower, set()).add(upper)
    for _ in range(12):
        for row in [*rows, *reversed(rows)]:
            position = {name: (i + 0.5) / len(each) for each in rows for i, name in enumerate(each)}
            row.sort(
                key=lambda name: (mean(position[each] for each in neighbours.get(name, ())), name)
            )


def mean(numbers: Iterable[float]) -> float:
    """Return the mean of some numbers; 0.5, the middle of the figure, if there are none."""
    values = list(numbers)
    return sum(values) / len(values) if values else 0.5


def centres(rows: list[list[str]]) -> dict[str, tuple[float, float]]:
    """Return the centre of each node in pixels."""
    centre_of = {}
    for number, row in enumerate(reversed(rows)):
        widths = [GAP if ">" in name else BOX_W for name in row]
        x = (WIDTH - sum(widths) - GAP * (len(row) - 1)) / 2
        for name, width in zip(row, widths, strict=True):
            centre_of[name] = (x + width / 2, 30 + number * ROW + BOX_H / 2)
            x += width + GAP
    return centre_of


def svg(folder: Path) -> str:
    """Return the figure as SVG; its colours are legible on white and on black."""
    imports_of, modules = imports(folder)
    edges = reduced(imports_of)
    rows, paths = lay_out(edges, layers_of(edges))
    centre_of = centres(rows)
    height = 60 + ROW * (len(rows) - 1) + BOX_H
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" '
        'font-family="sans-serif" text-anchor="middle" role="img">',
        "<title>Which package of atlaskit imports which</title>",
        '<defs><marker id="tip" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7" '
        'markerHeight="7" orient="auto"><path d="M0 0 10 5 0 10z" fill="#8c93a8"/></marker></defs>',
        '<g fill="none" stroke="#8c93a8" stroke-width="1.6" marker-end="url(#tip)">',
        *(arrow(path, centre_of) for path in paths),
        "</g>",
        *(box(name, centre_of[name], modules[name], imports_of[name]) for name in sorted(edges)),
        "</svg>",
        "",
    ]
    return "\n".join(parts)


def arrow(path: list[str], centre_of: dict[str, tuple[float, float]]) -> str:
    """Return an edge as a curve through the nodes of its path."""
    x, y = centre_of[path[0]]
    line = f"M{x:.0f} {y + BOX_H / 2:.0f}"
    for name in path[1:]:
        to_x, to_y = centre_of[name]
        start = y + BOX_H / 2
        end = to_y - BOX_H / 2
        middle = (start + end) / 2
        line += f" C{x:.0f} {middle:.0f} {to_x:.0f} {middle:.0f} {to_x:.0f} {end:.0f}"
        if ">" in name:
            line += f" L{to_x:.0f} {to_y + BOX_H / 2:.0f}"
        x, y = to_x, to_y
    return f'<path d="{line}"/>'


def box(name: str, centre: tuple[float, float], modules: int, imported_packages: set[str]) -> str:
    """Return a package as a box with its name and size; the tooltip lists its imports."""
    x, y = centre
    count = f"{modules} modules" if modules != 1 else "1 module"
    names = ", ".join(sorted(imported_packages)) or "nothing"
    return (
        f"<g><title>{escape(name)} imports {names}</title>"
        f'<rect x="{x - BOX_W / 2:.0f}" y="{y - BOX_H / 2:.0f}" width="{BOX_W}" height="{BOX_H}" '
        'rx="7" fill="#3f51b5" stroke="#8c93a8"/>'
        f'<text x="{x:.0f}" y="{y - 2:.0f}" font-size="15" font-weight="600" '
        f'fill="#fff">{escape(name)}</text>'
        f'<text x="{x:.0f}" y="{y + 14:.0f}" font-size="11" fill="#d5daf5">{count}</text></g>'
    )


def main() -> int:
    """Write the figure, or compare it with the file; return the exit status."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--check", action="store_true", help="fail if docs/assets/imports.svg is outdated"
    )
    figure = svg(ROOT / "atlaskit")
    if parser.parse_args().check:
        return int(not FIGURE.exists() or FIGURE.read_text(encoding="utf-8") != figure)
    FIGURE.write_text(figure, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
