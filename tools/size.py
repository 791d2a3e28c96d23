"""Print how large the house is: `python tools/size.py`.

Lines of code by room (without docstrings, comments and blank lines) with the most that each may
have, modules, keywords of `ask`, lines of scripts and tests, words of docs.
"""

from __future__ import annotations

import ast
import io
import tokenize
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
MOST = {
    "top": 180, "caching": 700, "video": 3600, "models": 2800, "environment": 1400, "runs": 900, "agents": 2300,
    "methods": 1900, "benchmarks": 3400, "evaluation": 1500, "experiments": 450, "viz": 3300, "gym": 700, "cli": 1100,
    "nano": 200,
}  # fmt: skip
"""The most lines of code that a room may have; the modules beside the rooms are "top"."""
NOISE = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENCODING}
NOISE |= {tokenize.ENDMARKER}


def lines_of_code(source: str) -> int:
    """Return how many lines of a module have code: no docstrings, comments, blank lines."""
    lines = set[int]()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in NOISE:
            lines.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            lines -= set(range(node.lineno, (node.end_lineno or 0) + 1))
    return len(lines)


def room_of(path: Path) -> str:
    """Return the room of a module of the package."""
    parts = path.relative_to(ROOT / "atlaskit").parts
    return parts[0] if len(parts) > 1 else "top"


def rooms() -> dict[str, int]:
    """Return the lines of code of each room."""
    sizes = Counter[str]()
    for path in (ROOT / "atlaskit").rglob("*.py"):
        sizes[room_of(path)] += lines_of_code(path.read_text(encoding="utf-8"))
    return dict(sizes)


def keywords_of_ask() -> int:
    """Return how many parameters `ask` has after the question and its choices."""
    tree = ast.parse((ROOT / "atlaskit" / "agents" / "search.py").read_text(encoding="utf-8"))
    (ask,) = (node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == "ask")
    return len(ask.args.kwonlyargs)


def words_of_docs() -> int:
    """Return how many words README, changelog and the pages of the site have together."""
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    return sum(len(path.read_text("utf-8").split()) for path in pages)


def main() -> None:
    """Print the table."""
    sizes = rooms()
    for room in sorted(sizes, key=list(MOST).index):
        over = " over" if sizes[room] > MOST[room] else ""
        print(f"{room:12} {sizes[room]:6,} of {MOST[room]:5,}{over}")
    print(f"{'atlaskit':12} {sum(sizes.values()):6,} of {sum(MOST.values()):5,}")
    texts = {
        "modules": len(list((ROOT / "atlaskit").rglob("*.py"))),
        "keywords of ask": keywords_of_ask(),
        "lines of scripts": _lines("atlaskit", "*.js"),
        "lines of recipe": sum(lines_of_code(path.read_text("utf-8")) for path in (ROOT / "nano").rglob("*.py")),
        "lines of tests": _lines("tests", "*.py"),
        "words of docs": words_of_docs(),
    }
    for name, size in texts.items():
        print(f"{name:17} {size:7,}")


def _lines(folder: str, pattern: str) -> int:
    return sum(len(path.read_text("utf-8").splitlines()) for path in (ROOT / folder).rglob(pattern))


if __name__ == "__main__":
    main()
