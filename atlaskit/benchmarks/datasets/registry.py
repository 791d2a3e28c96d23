"""DATASETS: the loader of each published dataset, and how its folder is recognised. A new dataset
is one entry here.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from atlaskit.benchmarks.benchmark import Benchmark
from atlaskit.benchmarks.datasets.cgbench import cgbench, is_cgbench
from atlaskit.benchmarks.datasets.charades import charades, is_charades
from atlaskit.benchmarks.datasets.egoschema import egoschema, is_egoschema
from atlaskit.benchmarks.datasets.extremewhen import extremewhen, is_extremewhen
from atlaskit.benchmarks.datasets.longtimescope import is_longtimescope, longtimescope
from atlaskit.benchmarks.datasets.longvideobench import is_longvideobench, longvideobench
from atlaskit.benchmarks.datasets.lvbench import is_lvbench, lvbench
from atlaskit.benchmarks.datasets.mlvu import is_mlvu, mlvu
from atlaskit.benchmarks.datasets.qvhighlights import is_qvhighlights, qvhighlights
from atlaskit.benchmarks.datasets.videomme import is_videomme, videomme
from atlaskit.benchmarks.datasets.videomme_v2 import is_videomme_v2, videomme_v2
from atlaskit.errors import InputError


class Dataset(NamedTuple):
    """One published dataset."""

    load: Callable[..., Benchmark]
    """Its loader: `load(root, subtitles=True)`."""
    is_in: Callable[[Path], bool]
    """Whether a folder holds its rows."""


DATASETS: dict[str, Dataset] = {
    "longvideobench": Dataset(longvideobench, is_longvideobench),
    "videomme": Dataset(videomme, is_videomme),
    "videomme_v2": Dataset(videomme_v2, is_videomme_v2),
    "lvbench": Dataset(lvbench, is_lvbench),
    "mlvu": Dataset(mlvu, is_mlvu),
    "egoschema": Dataset(egoschema, is_egoschema),
    "longtimescope": Dataset(longtimescope, is_longtimescope),
    "extremewhen": Dataset(extremewhen, is_extremewhen),
    "cgbench": Dataset(cgbench, is_cgbench),
    "qvhighlights": Dataset(qvhighlights, is_qvhighlights),
    "charades": Dataset(charades, is_charades),
}
"""Each dataset, by the name of its loader in `ak.benchmarks`."""


def dataset_in(home: Path) -> Dataset:
    """Return the dataset whose rows a folder holds.

    Raises:
        InputError: The folder holds rows of none, or of several.
    """
    found = {name: dataset for name, dataset in DATASETS.items() if dataset.is_in(home)}
    if not found:
        raise InputError(f"{home} holds questions of none of {', '.join(DATASETS)}; pass the folder of one of them.")
    if len(found) > 1:
        raise InputError(
            f"{home} holds questions of {' and '.join(found)}; give each dataset a folder of its own, or load one by "
            f"its own loader, such as ak.benchmarks.{next(iter(found))}."
        )
    return next(iter(found.values()))
