"""nano's learning curves as one table."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from atlaskit.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

STAGES = ("eyes", "mind")
"""Stages of the training: "eyes" trains the vision tower, "mind" the language model."""
SHIPPED = Path(__file__).with_name("shipped")
"""Folder of the shipped model's learning curves."""


def curves(folder: str | Path | None = None) -> pd.DataFrame:
    """Return the learning curves of a model, one row per stage, step and measure.

    Args:
        folder: Folder of a model that `make nano` made; the shipped model's curves by default.

    Returns:
        A table with the columns `stage` ("eyes": the vision tower, "mind": the language model),
        `step`, `seconds` since the stage began, `measure` and `value`. The measure "loss" is the
        mean cross-entropy in nats; the others are shares of correct predictions.

    Raises:
        InputError: The folder has no learning curves.
    """
    import pandas as pd

    folder = Path(folder or SHIPPED)
    paths = {stage: folder / f"{stage}.csv" for stage in STAGES}
    if missing := [path for path in paths.values() if not path.exists()]:
        raise InputError(
            f"There is no {missing[0].name} in {folder}; pass the folder of a model that `make "
            "nano` made."
        )
    columns = ["stage", "step", "seconds"]
    wide = pd.concat([pd.read_csv(path).assign(stage=stage) for stage, path in paths.items()])
    return wide.melt(columns, var_name="measure").dropna(subset="value", ignore_index=True)
