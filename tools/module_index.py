"""List every module of atlaskit with the first sentence of its docstring, in docs/modules.md.

`--check` writes nothing; it fails if the page is outdated.
"""

from __future__ import annotations

import argparse
import ast
import re
import sys
import textwrap
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGE, PAGE = ROOT / "atlaskit", ROOT / "docs" / "modules.md"
INTRODUCTION = """\
# Modules

After this page you can find the module that holds a thing: search the page for its name.

Every module is listed with the first sentence of its docstring, by package. Paths leave out the
leading `atlaskit/` and the `.py`. [Architecture](architecture.md) explains how the packages depend
on each other, the [glossary](glossary.md) says which module defines a term.
`python tools/module_index.py` writes this page.
"""


def first_sentence(path: Path) -> str:
    """Return the first sentence of a module's docstring, on one line; empty without a docstring."""
    text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    paragraph = " ".join(text.split("\n\n")[0].split())
    found = re.match(r".+?\.(?=\s+[A-Z`\"*]|$)", paragraph)
    return found[0] if found else paragraph


def name_of(path: Path) -> str:
    """Return a module's path as documents write it: without the leading `atlaskit/` and `.py`."""
    return path.relative_to(PACKAGE).with_suffix("").as_posix()


def section(folder: Path) -> str:
    """Return the list of the modules of one package, below its heading and its own sentence."""
    parts = folder.relative_to(PACKAGE).parts
    title = "/".join(parts) or "atlaskit"
    modules = sorted(path for path in folder.glob("*.py") if path.name != "__init__.py")
    lines = [f"{'##' if len(parts) < 2 else '###'} {title}", ""]
    initial = folder / "__init__.py"
    if initial.exists() and (sentence := first_sentence(initial)):
        lines += [wrapped(sentence), ""]
    lines += [wrapped(f"- `{name_of(path)}` – {first_sentence(path)}", "  ") for path in modules]
    return "\n".join(lines).rstrip() + "\n"


def wrapped(text: str, indent: str = "") -> str:
    """Wrap prose at 100 columns."""
    return textwrap.fill(text, 100, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)


def page() -> str:
    """Return the whole page."""
    folders = sorted({path.parent for path in PACKAGE.rglob("*.py")})
    return "\n".join([INTRODUCTION, *(section(folder) for folder in folders)])


def main() -> int:
    """Write the page, or compare it with the file; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="fail if docs/modules.md is outdated")
    text = page()
    if not parser.parse_args().check:
        PAGE.write_text(text, encoding="utf-8")
    elif not PAGE.exists() or PAGE.read_text(encoding="utf-8") != text:
        print("docs/modules.md is outdated. Write it again: python tools/module_index.py", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
