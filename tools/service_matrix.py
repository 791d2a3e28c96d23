"""Write the tables of docs/services.md that follow from the imitated services of the tests.

A table stands between `<!-- matrix: NAME -->` and `<!-- /matrix -->`. `--check` writes nothing; it
fails if the page is outdated.
"""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "services.md"
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from support.services.matrix import SECTIONS  # noqa: E402  # the path to it is set above


def filled(page: str) -> str:
    """Return the page with each table as it is now."""

    def section(found: re.Match[str]) -> str:
        return f"<!-- matrix: {found[1]} -->\n\n{SECTIONS[found[1]]()}\n\n<!-- /matrix -->"

    return re.sub(r"<!-- matrix: (\w+) -->.*?<!-- /matrix -->", section, page, flags=re.DOTALL)


def main() -> int:
    """Write the page, or compare it with the file; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="fail if docs/services.md is outdated")
    page = PAGE.read_text(encoding="utf-8") if PAGE.exists() else ""
    missing = SECTIONS.keys() - set(re.findall(r"<!-- matrix: (\w+) -->", page))
    if missing:
        print(f"docs/services.md has no place for: {', '.join(sorted(missing))}.", file=sys.stderr)
        return 1
    if not parser.parse_args().check:
        PAGE.write_text(filled(page), encoding="utf-8")
    elif page != filled(page):
        print("docs/services.md is outdated. Write it again: python tools/service_matrix.py", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
