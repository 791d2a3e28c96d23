"""`ak.parameters`: what a notebook makes of its parameters before it uses them.

papermill's `-p` gives the text of a list or a dictionary, and runs a notebook in the folder that it
is called from: so a notebook's own folders are those of its project, from wherever it is run.
"""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

from atlaskit.caching.folder import ROOT_MARKS
from atlaskit.errors import InputError

__all__ = ["folder", "literal"]


def literal(value: Any) -> Any:
    """Return a parameter; of the text of a list or a dictionary, what it says.

    Args:
        value: The parameter, as the notebook declares it or as `papermill -p` gives it.

    Raises:
        InputError: The text begins as a list or a dictionary, and is none.

    Examples:
        >>> ak.parameters.literal("[20, 60]")
        [20, 60]
    """
    if not isinstance(value, str) or not value.lstrip().startswith(("[", "{", "(")):
        return value
    try:
        return ast.literal_eval(value.strip())
    except (ValueError, SyntaxError) as error:
        raise InputError(
            "A parameter is a list or a dictionary as Python writes it, such as [20, 60]; "
            f"got {value:.80}."
        ) from error


def folder(given: str, name: str) -> str:
    """Return the folder that a parameter names; if it names none, one of the notebook's project.

    Args:
        given: The parameter; "" for the folder of the project.
        name: The name of that folder, in the root of the project. Without a project it is in the
            folder above if it exists there, so that notebooks in a folder of their own use the one
            beside it; otherwise it is in the current folder.

    Examples:
        >>> ak.parameters.folder("elsewhere", "figures")
        'elsewhere'
    """
    if given:
        return given
    here = Path.cwd()
    for place in (here, *here.parents):
        if any((place / mark).exists() for mark in ROOT_MARKS):
            return str(place / name)
    is_above = (here.parent / name).is_dir() and not (here / name).is_dir()
    return str((here.parent if is_above else here) / name)


def __dir__() -> list[str]:
    """List the public names only."""
    return __all__
