"""`ak.parameters`: reads the parameters of a notebook.

* `literal`: the option `-p` of papermill passes a list or a dictionary as text; this function
  returns the list or dictionary.
* `folder`: papermill runs a notebook in the folder from which papermill is called; this function
  returns a folder of the notebook's project.
"""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

from atlaskit.caching.folder import ROOT_MARKS
from atlaskit.errors import InputError

__all__ = ["folder", "literal"]


def literal(value: Any) -> Any:
    """Return a parameter; the text of a list, a tuple or a dictionary becomes that object.

    Args:
        value: The parameter, as the notebook declares it or as `papermill -p` gives it.

    Raises:
        InputError: The text begins like a list, a tuple or a dictionary, but is none.

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
    """Return the folder that a parameter names, or else a folder of the notebook's project.

    Outside a project, the folder is beside the current folder if it exists there, so that notebooks
    in a folder of their own share it, or else in the current folder.

    Args:
        given: The parameter; "" for the folder of the project.
        name: The name of the project's folder, which is in the root of the project.

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
    home = here.parent if (here.parent / name).is_dir() else here
    return str(home / name)


def __dir__() -> list[str]:
    """List the public names only."""
    return __all__
