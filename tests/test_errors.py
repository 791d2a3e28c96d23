"""The tree of errors in the docstring of `atlaskit.errors` matches the classes."""

from __future__ import annotations

import re

import atlaskit.experiments.notebook  # noqa: F401  # defines NotebookError
from atlaskit import errors
from atlaskit.errors import AtlasError


def documented_classes() -> dict[str, tuple[str, str]]:
    """Return the base class and module of each class in the docstring's tree."""
    classes, ancestors = {}, ["AtlasError"]
    for branch, name, rest in re.findall(r"^ {4}([│ ]*)[├└]── (\w+)(.*)$", errors.__doc__ or "", re.MULTILINE):
        depth = len(branch) // 4
        module = re.search(r"\[(.+)\]$", rest)
        classes[name] = ancestors[depth], f"atlaskit.{module[1]}" if module else "atlaskit.errors"
        ancestors[depth + 1 :] = [name]
    return classes


def defined_classes(base: type[AtlasError]) -> dict[str, tuple[str, str]]:
    """Return the base class and module of each subclass that atlaskit defines."""
    classes = {}
    for each in base.__subclasses__():
        if each.__module__.startswith("atlaskit."):
            classes |= {each.__name__: (base.__name__, each.__module__), **defined_classes(each)}
    return classes


def test_the_documented_tree_matches_the_classes() -> None:
    assert documented_classes() == defined_classes(AtlasError)
