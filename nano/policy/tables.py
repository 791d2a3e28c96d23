"""`summary`: summarises episodes as a table of means with intervals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from atlaskit.evaluation.intervals import interval

if TYPE_CHECKING:
    import pandas as pd


def summary(episodes: pd.DataFrame, by: Sequence[str] = ("policy",)) -> pd.DataFrame:
    """Return the number, mean reward, share right and mean steps of each group of episodes.

    Each mean has a 95 % interval, clustered by worlds: the episodes of several training
    seeds in one world are one observation.

    Args:
        episodes: The table `curve` or `test` of what `learn` returns.
        by: Columns whose values define the groups.

    Returns:
        One row per group, with the columns of `by`, `n`, and for each measure `reward`, `right` and
        `steps` the mean and the bounds, such as `reward_low` and `reward_high`.
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
