"""How nano was taught: what was measured on the way, as one table."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from atlaskit.errors import InputError
from atlaskit.models.presets import SHIPPED

if TYPE_CHECKING:
    import pandas as pd

STAGES = ("eyes", "mind", "practice")


def curves(folder: str | Path | None = None) -> pd.DataFrame:
    """Return the learning curves that lie beside some weights, or those that come with the kit: a row for each stage,
    step and measure.

    Columns: `stage`, `step`, `seconds` since the stage began, `measure` and `value`: the loss (mean cross-entropy, in
    nats), or the share of answers that were right. Raises InputError for a folder without them.
    """
    import pandas as pd

    folder = Path(folder or SHIPPED["nano"])
    paths = {stage: folder / f"{stage}.csv" for stage in STAGES}
    if not paths["practice"].exists():  # a model that has had none
        del paths["practice"]
    if missing := [path for path in paths.values() if not path.exists()]:
        raise InputError(f"There is no {missing[0].name} in {folder}: name the folder of a nano that `make nano` made.")
    columns = ["stage", "step", "seconds"]
    wide = pd.concat([pd.read_csv(path).assign(stage=stage) for stage, path in paths.items()])
    return wide.melt(columns, var_name="measure").dropna(subset="value", ignore_index=True)
