"""The tree of errors in the docstring of `atlaskit.errors` is the tree of classes."""

from __future__ import annotations

import re

import atlaskit.experiments.notebook  # noqa: F401  # defines NotebookError
from atlaskit import errors
from atlaskit.errors import AtlasError


def documented() -> dict[str, tuple[str, str]]:
    """Return (base class, module) of each class in the docstring's tree."""
    found, ancestors = {}, ["AtlasError"]
    for branch, name, rest in re.findall(r"^ {4}([│ ]*)[├└]── (\w+)(.*)$", errors.__doc__ or "", re.MULTILINE):
        depth = len(branch) // 4
        module = re.search(r"\[(.+)\]$", rest)
        found[name] = ancestors[depth], f"atlaskit.{module[1]}" if module else "atlaskit.errors"
        ancestors[depth + 1 :] = [name]
    return found


def defined(base: type[AtlasError]) -> dict[str, tuple[str, str]]:
    """Return (base class, module) of each subclass that atlaskit defines."""
    found = {}
    for each in base.__subclasses__():
        if each.__module__.startswith("atlaskit."):
            found |= {each.__name__: (base.__name__, each.__module__), **defined(each)}
    return found


def test_the_documented_tree_is_the_tree_of_classes() -> None:
    assert documented() == defined(AtlasError)
