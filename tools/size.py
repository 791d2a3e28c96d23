"""Print how large and how dense the code is: `python tools/size.py`. No test holds these figures.

A room is a top-level package of atlaskit. Its size is the number of nodes of its syntax trees,
without docstrings and expression contexts; the layout of the code in lines does not change it.
Density says how much is packed into a statement. The same figures of four well-kept packages are
printed for comparison, if pip can download their wheels.
"""

from __future__ import annotations

import ast
import statistics
import subprocess
import sys
import tempfile
import zipfile
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
ANCHORS = {"httpx": "httpx", "inspect_ai": "inspect-ai", "rlm": "rlms", "mctx": "mctx"}
"""Packages for comparison: the name of each package, and the name of its distribution."""
WIDE = 100
"""Columns above which a line counts as wide."""
FUNCTIONS = ast.FunctionDef | ast.AsyncFunctionDef
COMPREHENSIONS = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp


@dataclass(frozen=True)
class Size:
    """Figures of some modules together."""

    modules: int
    nodes: int
    """Nodes of the syntax trees, without docstrings and contexts."""
    packed: Mapping[str, float]
    """The number of each of PACKED in 1,000 statements."""
    median: float
    """Median of the lines of a function, docstring included."""
    ninetieth: float
    """Lines that nine of ten functions have at most."""
    wide: int
    """Lines above WIDE columns."""
    used_once: int
    """Private functions and methods whose name occurs only once besides its definition."""

    @classmethod
    def of(cls, sources: list[str]) -> Size:
        """Return the figures of modules, given as text."""
        every = list[ast.AST]()
        counts = Counter[str]()
        names = Counter[str]()
        functions = list[ast.FunctionDef | ast.AsyncFunctionDef]()
        for node in chain.from_iterable(code_nodes(ast.parse(source)) for source in sources):
            every.append(node)
            counts.update(packing(node))
            names.update(names_in(node))
            if isinstance(node, FUNCTIONS):
                functions.append(node)
        statements = sum(isinstance(node, ast.stmt) for node in every)
        lengths = [length(function) for function in functions]
        private = {function.name for function in functions if is_private(function.name)}
        return cls(
            modules=len(sources),
            nodes=len(every),
            packed={name: 1000 * counts[name] / max(1, statements) for name in PACKED},
            median=statistics.median(lengths) if lengths else 0,
            ninetieth=sorted(lengths)[len(lengths) * 9 // 10] if lengths else 0,
            wide=sum(len(line) > WIDE for line in "\n".join(sources).splitlines()),
            used_once=sum(names[name] == 1 for name in private),
        )

    def row(self, name: str) -> str:
        """Return the figures as a row of the table."""
        packed = "".join(f"{self.packed[each]:8.0f}" for each in PACKED)
        functions = f"{self.median:7.0f}{self.ninetieth:6.0f}"
        size = f"{self.nodes / 1000:9.1f}{self.modules:8}"
        return f"{name:18}{size}{packed}{functions}{self.wide:7,}{self.used_once:6}"


PACKED = ("tuples", "ternary", "compreh.", "walrus")
"""Constructs that pack code: assignments of tuples to tuples, conditional expressions,
comprehensions, walruses."""
HEADING = (
    f"{'':18}{'nodes/k':>9}{'modules':>8}{''.join(f'{name:>8}' for name in PACKED)}"
    f"{'median':>7}{'90 %':>6}{'wide':>7}{'once':>6}"
)


def code_nodes(tree: ast.Module) -> Iterator[ast.AST]:
    """Yield the nodes of a syntax tree, without docstrings and expression contexts."""
    docstrings = set[ast.AST]()
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Expr)
            and isinstance(node.value, ast.Constant)
            and isinstance(node.value.value, str)
        ):
            docstrings |= {node, node.value}
    for node in ast.walk(tree):
        if node not in docstrings and not isinstance(node, ast.expr_context):
            yield node


def packing(node: ast.AST) -> Iterator[str]:
    """Yield which of PACKED a node is."""
    if (
        isinstance(node, ast.Assign)
        and isinstance(node.targets[0], ast.Tuple)
        and isinstance(node.value, ast.Tuple)
    ):
        yield "tuples"
    elif isinstance(node, ast.IfExp):
        yield "ternary"
    elif isinstance(node, COMPREHENSIONS):
        yield "compreh."
    elif isinstance(node, ast.NamedExpr):
        yield "walrus"


def names_in(node: ast.AST) -> Iterator[str]:
    """Yield the name that a node uses."""
    if isinstance(node, ast.Name):
        yield node.id
    elif isinstance(node, ast.Attribute):
        yield node.attr


def is_private(name: str) -> bool:
    """Return whether a name is private to its module or class."""
    return name.startswith("_") and not name.startswith("__")


def length(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Return the lines of a function."""
    return (function.end_lineno or function.lineno) - function.lineno + 1


def room_of(path: Path) -> str:
    """Return the room of a module of the package; a module beside the rooms is in "top"."""
    parts = path.relative_to(ROOT / "atlaskit").parts
    return parts[0] if len(parts) > 1 else "top"


def rooms() -> dict[str, list[str]]:
    """Return the texts of the modules of each room."""
    texts = dict[str, list[str]]()
    for path in sorted((ROOT / "atlaskit").rglob("*.py")):
        texts.setdefault(room_of(path), []).append(path.read_text("utf-8"))
    return texts


def keywords_of_ask() -> int:
    """Return how many parameters `ask` has after the question and its choices."""
    tree = ast.parse((ROOT / "atlaskit" / "agents" / "search.py").read_text("utf-8"))
    functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    return len(functions["ask"].args.kwonlyargs)


def anchor_texts(package: str, distribution: str) -> list[str]:
    """Return the texts of a package from the wheel that pip downloads; [] if it cannot."""
    with tempfile.TemporaryDirectory() as folder:
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
        command = [*pip, "--dest", folder, distribution]
        subprocess.run(command, check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        texts = list[str]()
        for wheel in Path(folder).glob("*.whl"):
            with zipfile.ZipFile(wheel) as archive:
                for name in archive.namelist():
                    is_code = name.startswith(f"{package}/") and name.endswith(".py")
                    if is_code and "test" not in name:
                        texts.append(archive.read(name).decode("utf-8"))
        return texts


def words_of_docs() -> int:
    """Return how many words README, changelog and the pages of the site have together."""
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    return sum(len(path.read_text("utf-8").split()) for path in pages)


def main() -> None:
    """Print the tables."""
    texts = rooms()
    print(HEADING)
    for room in sorted(texts, key=lambda room: -Size.of(texts[room]).nodes):
        print(Size.of(texts[room]).row(room))
    print(Size.of(list(chain.from_iterable(texts.values()))).row("atlaskit"))
    guest = [path.read_text("utf-8") for path in sorted((ROOT / "atlasworld").rglob("*.py"))]
    print(Size.of(guest).row("atlasworld"))
    for package, distribution in ANCHORS.items():
        sources = anchor_texts(package, distribution)
        print(Size.of(sources).row(package) if sources else f"{package:18}could not be downloaded")
    others = {
        "keywords of ask": keywords_of_ask(),
        "lines of scripts": _lines("atlaskit", "*.js"),
        "lines of tests": _lines("tests", "*.py"),
        "words of docs": words_of_docs(),
    }
    for name, count in others.items():
        print(f"{name:18}{count:9,}")


def _lines(folder: str, pattern: str) -> int:
    return sum(len(path.read_text("utf-8").splitlines()) for path in (ROOT / folder).rglob(pattern))


if __name__ == "__main__":
    main()
