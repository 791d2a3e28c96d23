"""`captions`: the sentence that a notebook says about each figure that it saves.

A paragraph that begins with "**Figure.**", in the Markdown cell directly before the cell that draws
the figure, says what the figure shows and what the paper claims. The results page quotes it.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Mapping
from typing import Any

LEAD = "**Figure.**"
PARAGRAPH = re.compile(rf"^{re.escape(LEAD)}\s+(.+?)\s*(?:\n\s*\n|\Z)", re.MULTILINE | re.DOTALL)


def captions(cells: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """Return the sentence on each figure, by the name that the figure is saved under.

    A figure without a sentence is missing. With several figures in one cell, the first sentence is
    on the first figure, and so on.

    Args:
        cells: The cells of a notebook, with the keys `cell_type` and `source`.
    """
    saved, sentences = dict[str, str](), list[str]()
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
            case ast.Assign(targets=[ast.Name(id=target)], value=ast.Call(func=function)) if _is_plot(function):
                steps.append((target, None))
            case ast.Expr(value=ast.Call(func=function, args=[ast.Name(id=target), _, ast.Constant(value=str(name))])):
                if _is_plot(function):
                    steps.append((target, name))
    return steps


def _is_plot(function: ast.expr) -> bool:
    """Return whether a function is `ak.plots.…`."""
    return isinstance(function, ast.Attribute) and ast.unparse(function.value) == "ak.plots"
