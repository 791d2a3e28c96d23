"""`summary`: episodes as a table of means with intervals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from atlaskit.evaluation.intervals import interval

if TYPE_CHECKING:
    import pandas as pd


def summary(episodes: pd.DataFrame, by: Sequence[str] = ("policy",)) -> pd.DataFrame:
    """Return n and the mean reward, share right and steps of each group of episodes.

    Each mean has its 95 % interval, by a bootstrap over worlds: policies of several training seeds
    that played the same world are one observation.

    Args:
        episodes: A table of `learn`.
        by: Columns whose values make up the groups.
    """
    import pandas as pd

    rows = list[dict[str, object]]()
    for group, of_group in episodes.groupby(list(by), sort=False, dropna=False):
        row: dict[str, object] = dict(zip(by, group, strict=True)) | {"n": len(of_group)}
        worlds = of_group["world"].astype(str).tolist()
        for name in ("reward", "right", "steps"):
            found = interval(
                of_group[name].astype(float).to_numpy(), worlds, are_shares=name == "right"
            )
            row |= {name: found.mean, f"{name}_low": found.low, f"{name}_high": found.high}
        rows.append(row)
    return pd.DataFrame(rows)
