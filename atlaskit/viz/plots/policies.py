"""Figure of what a policy learned by reward."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from atlaskit.evaluation.grouping import check_columns
from atlaskit.evaluation.intervals import interval
from atlaskit.viz.palette import categorical
from atlaskit.viz.plots.style import MARKERS, figure_style, sample, set_note

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

MEASURES = {"reward": "mean reward", "right": "share right", "steps": "steps of an episode"}
WIDTH_IN, HEIGHT_IN = 7.2, 3.4


def reward_curves(episodes: pd.DataFrame) -> Axes:
    """Draw what policies reach against the steps of their training: reward, share right, steps.

    There is a line for each seed of the training, and a level line for each rule. Bands are 95 %
    intervals, by a bootstrap over worlds.

    Args:
        episodes: `curve` of `nano.policy.learn`.

    Returns:
        The first of the axes.

    Raises:
        InputError: A column is missing.

    Examples:
        >>> import pandas as pd
        >>> rows = pd.DataFrame({"trained": [0, 0, 9, 9], "world": [1, 2, 1, 2], "steps": 3})
        >>> rows = rows.assign(policy="learned", seed="0", reward=[0.0, 0.2, 0.9, 0.7])
        >>> ax = ak.plots.reward_curves(rows.assign(right=rows["reward"] > 0.5))
        >>> ax.get_ylabel()
        'mean reward'
    """
    import matplotlib.pyplot as plt

    check_columns(episodes, ["policy", "seed", "trained", "world", *MEASURES])
    with figure_style():
        figure, axes = plt.subplots(1, len(MEASURES), figsize=(WIDTH_IN, HEIGHT_IN))
        sizes = set[int]()
        for ax, (measure, label) in zip(axes, MEASURES.items(), strict=True):
            handles = list[Any]()
            for number, (names, of_line) in enumerate(_lines(episodes).items()):
                points = _points(of_line, measure)
                sizes |= set(points["n"])
                handles.append(_draw(ax, points, names, number, int(episodes["trained"].max())))
            ax.set(xlabel="steps of training", ylabel=label)
            ax.xaxis.set_major_formatter(lambda steps, _: f"{steps / 1000:g}k" if steps else "0")
        set_note(axes[0], sample(sizes, "a point"), "bands: 95 % intervals over worlds")
        figure.legend(handles=handles, loc="outside lower center", ncols=min(3, len(handles)), frameon=False)
    first: Axes = axes[0]
    return first


def _lines(episodes: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Return the episodes of each line by its name: a rule, or a seed of the training."""
    trained = episodes[episodes["seed"] != ""]
    rules = episodes[episodes["seed"] == ""]
    return {f"learned, seed {seed}": rows for seed, rows in trained.groupby("seed", sort=False)} | {
        str(name): rows for name, rows in rules.groupby("policy", sort=False)
    }


def _points(rows: pd.DataFrame, measure: str) -> pd.DataFrame:
    import pandas as pd

    points = []
    for trained, of_point in rows.groupby("trained"):
        worlds = of_point["world"].astype(str).tolist()
        found = interval(of_point[measure].astype(float).to_numpy(), worlds, are_shares=measure == "right")
        points.append({"trained": trained, "n": len(of_point), **found._asdict()})
    return pd.DataFrame(points)


def _draw(ax: Axes, points: pd.DataFrame, name: str, number: int, last: int) -> Any:
    """Draw a line with its band; a rule, which has one point, is level. Return the line."""
    colour = categorical(number)
    if len(points) == 1:
        mean, low, high = points.loc[0, ["mean", "low", "high"]]
        ax.fill_between([0, last], low, high, color=colour, alpha=0.12, lw=0)
        return ax.plot([0, last], [mean, mean], color=colour, ls="--", lw=1.0, label=name)[0]
    ax.fill_between(points["trained"], points["low"], points["high"], color=colour, alpha=0.15, lw=0)
    marker = MARKERS[number % len(MARKERS)]
    return ax.plot(points["trained"], points["mean"], color=colour, lw=1.2, marker=marker, ms=3, label=name)[0]
