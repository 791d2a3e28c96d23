"""DATASETS: the loader of each published dataset, and how its folder is recognised. A new dataset
is one entry here.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from atlaskit.benchmarks.benchmark import Benchmark
from atlaskit.benchmarks.datasets import (
    cgbench,
    charades,
    egoschema,
    extremewhen,
    longtimescope,
    longvideobench,
    lvbench,
    mlvu,
    qvhighlights,
    videomme,
    videomme_v2,
)
from atlaskit.errors import InputError


class Dataset(NamedTuple):
    """One published dataset."""

    load: Callable[..., Benchmark]
    """Its loader: `load(root, subtitles=True)`."""
    is_in: Callable[[Path], bool]
    """Whether a folder holds its rows."""


MODULES = (
    *(longvideobench, videomme, videomme_v2, lvbench, mlvu, egoschema, longtimescope, extremewhen, cgbench),
    *(qvhighlights, charades),
)
DATASETS: dict[str, Dataset] = {
    name: Dataset(getattr(module, name), module.LAYOUT.is_in)
    for module in MODULES
    for name in [module.__name__.rpartition(".")[2]]
}
"""Each dataset, by the name of its loader in `ak.benchmarks`."""


def dataset_in(home: Path) -> Dataset:
    """Return the dataset whose rows a folder holds.

    Raises:
        InputError: The folder holds rows of none, or of several.
    """
    if not home.is_dir():
        raise InputError(f"There is no folder {home}.")
    found = {name: dataset for name, dataset in DATASETS.items() if dataset.is_in(home)}
    if not found:
        raise InputError(f"{home} holds questions of none of {', '.join(DATASETS)}; pass the folder of one of them.")
    if len(found) > 1:
        raise InputError(
            f"{home} holds questions of {' and '.join(found)}; give each dataset a folder of its own, or load one by "
            f"its own loader, such as ak.benchmarks.{next(iter(found))}."
        )
    return next(iter(found.values()))
