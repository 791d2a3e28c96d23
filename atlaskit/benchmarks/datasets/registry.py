"""`DATASETS`: the loader of each published dataset, and how its folder is recognised.

To add a dataset, add its loader and its layout to `_LAYOUTS`.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from atlaskit.benchmarks.case import Benchmark
from atlaskit.benchmarks.datasets import choices, grounding, longvideobench, videomme
from atlaskit.benchmarks.datasets.layout import Layout
from atlaskit.errors import InputError


class Dataset(NamedTuple):
    """One published dataset."""

    load: Callable[..., Benchmark]
    """Its loader: `load(root, subtitles=True)`."""
    is_in: Callable[[Path], bool]
    """Returns whether a folder holds the dataset's rows."""


_LAYOUTS: tuple[tuple[Callable[..., Benchmark], Layout[Any]], ...] = (
    (longvideobench.longvideobench, longvideobench.LAYOUT),
    (videomme.videomme, videomme.VIDEOMME_LAYOUT),
    (videomme.videomme_v2, videomme.VIDEOMME_V2_LAYOUT),
    (choices.lvbench, choices.LVBENCH_LAYOUT),
    (choices.mlvu, choices.MLVU_LAYOUT),
    (choices.egoschema, choices.EGOSCHEMA_LAYOUT),
    (choices.longtimescope, choices.LONGTIMESCOPE_LAYOUT),
    (grounding.extremewhen, grounding.EXTREMEWHEN_LAYOUT),
    (grounding.comet, grounding.COMET_LAYOUT),
    (grounding.cgbench, grounding.CGBENCH_LAYOUT),
    (grounding.qvhighlights, grounding.QVHIGHLIGHTS_LAYOUT),
    (grounding.charades, grounding.CHARADES_LAYOUT),
)
DATASETS: dict[str, Dataset] = {
    load.__name__: Dataset(load, layout.is_in) for load, layout in _LAYOUTS
}
"""Each dataset, by the name of its loader in `ak.benchmarks`."""


def dataset_in(home: Path) -> Dataset:
    """Return the dataset whose rows a folder holds.

    Raises:
        InputError: The folder does not exist, or holds the rows of no dataset or of several.
    """
    if not home.is_dir():
        raise InputError(f"There is no folder {home}.")
    found = {name: dataset for name, dataset in DATASETS.items() if dataset.is_in(home)}
    if not found:
        raise InputError(
            f"{home} holds questions of none of {', '.join(DATASETS)}; pass the folder of one of "
            "them."
        )
    if len(found) > 1:
        raise InputError(
            f"{home} holds questions of {' and '.join(found)}; give each dataset a folder of its "
            f"own, or load one by its own loader, such as ak.benchmarks.{next(iter(found))}."
        )
    return next(iter(found.values()))
