"""Write the tables of README.md and docs/models.md that say which models fit which GPU.

A table is between `<!-- plan: NAME -->` and `<!-- /plan -->`. `--check` writes nothing; it fails if
a page is outdated.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from atlaskit.environment.tiles import sheet_size
from atlaskit.errors import InputError
from atlaskit.models.serving.plan import CARDS_GB, Plan, best_of_cards, plan, published

ROOT = Path(__file__).parents[1]
PAGES = (ROOT / "README.md", ROOT / "docs" / "models.md")


def cards() -> str:
    """Return the largest model that fits each GPU, as a table."""
    rows = [
        f"| a GPU of {each.gb:g} GB | `{each.model}`{_how(each)} | not tried |"
        for each in best_of_cards(sheet_size)
    ]
    return "\n".join(["| hardware | model | |", "|---|---|---|", *reversed(rows)])


def models() -> str:
    """Return how many conversations of each model each GPU holds at once, as a table."""
    heads = [f"{gb} GB" for gb in CARDS_GB]
    lines = [f"| model | {' | '.join(heads)} |", f"|---|{'---|' * len(heads)}"]
    for name in published():
        lines.append(f"| `{name}` | {' | '.join(_fitting(name, gb) for gb in CARDS_GB)} |")
    return "\n".join(lines)


def _how(each: Plan) -> str:
    """Return how a plan differs from full precision and grids of 8×8 cells of 320 px."""
    text = ""
    if each.is_fp8:
        text += " in FP8"
    if (each.k, each.cell) != (8, 320):
        text += f", K = {each.k}, cells of {each.cell} px"
    return text


def _fitting(name: str, gb: float) -> str:
    """Return the cell of a model and a GPU in the table of models."""
    try:
        fitting = plan(name, gb, sheet_size)
    except InputError:  # the model does not fit
        return "–"
    return f"{fitting.conversations}{_how(fitting)}"


SECTIONS = {"cards": cards, "models": models}


def filled(page: str) -> str:
    """Return a page with each table made anew."""
    return re.sub(
        r"<!-- plan: (\w+) -->.*?<!-- /plan -->",
        lambda found: f"<!-- plan: {found[1]} -->\n{SECTIONS[found[1]]()}\n<!-- /plan -->",
        page,
        flags=re.DOTALL,
    )


def main() -> int:
    """Write the pages, or compare them with the files; return the exit status."""
    status = 0
    for path in PAGES:
        page = path.read_text(encoding="utf-8")
        if "--check" not in sys.argv:
            path.write_text(filled(page), encoding="utf-8")
        elif page != filled(page):
            print(
                f"{path.name} is outdated. Write it again: python tools/serving_plan.py",
                file=sys.stderr,
            )
            status = 1
    return status


if __name__ == "__main__":
    sys.exit(main())
