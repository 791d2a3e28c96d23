"""Figure of what a policy learned by reward."""

from __future__ import annotations

from typing import TYPE_CHECKING

from atlaskit.viz.plots.series import check_rows, interval_over
from atlaskit.viz.plots.style import figure_style, sample, set_note

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
        InputError: A column is missing, or there are no rows.

    Examples:
        >>> import pandas as pd
        >>> rows = pd.DataFrame({"trained": [0, 0, 9, 9], "world": [1, 2, 1, 2], "steps": 3})
        >>> rows = rows.assign(policy="learned", seed="0", reward=[0.0, 0.2, 0.9, 0.7])
        >>> ax = ak.plots.reward_curves(rows.assign(right=rows["reward"] > 0.5))
        >>> ax.get_ylabel()
        'mean reward'
    """
    import matplotlib.pyplot as plt
    import pandas as pd
    import seaborn as sns

    check_rows(episodes, ["policy", "seed", "trained", "world", *MEASURES])
    rules, learned = episodes[episodes["seed"] == ""], episodes[episodes["seed"] != ""]
    levels = [rules.assign(line=rules["policy"], trained=steps) for steps in sorted({0, episodes["trained"].max()})]
    rows = pd.concat([learned.assign(line="learned, seed " + learned["seed"]), *levels], ignore_index=True)
    rows = rows.astype(dict.fromkeys(MEASURES, float))
    names = list(dict.fromkeys(rows["line"]))
    dashes = {name: (4, 1.6) if name in set(rules["policy"]) else "" for name in names}
    looks = {
        "hue": "line",
        "style": "line",
        "dashes": dashes,
        "markers": True,
        "markersize": 4,
        "err_kws": {"alpha": 0.15, "linewidth": 0},
    }
    with figure_style():
        figure, axes = plt.subplots(1, len(MEASURES), figsize=(WIDTH_IN, HEIGHT_IN))
        for ax, (measure, label) in zip(axes, MEASURES.items(), strict=True):
            sns.lineplot(rows, x="trained", y=measure, errorbar=interval_over(rows["world"], measure), **looks, ax=ax)
            ax.set(xlabel="steps of training", ylabel=label)
            ax.xaxis.set_major_formatter(lambda steps, _: f"{steps / 1000:g}k" if steps else "0")
            handles = ax.get_legend().legend_handles
            ax.get_legend().remove()
        set_note(
            axes[0], sample(rows.groupby(["line", "trained"]).size(), "a point"), "bands: 95 % intervals over worlds"
        )
        figure.legend(handles, names, loc="outside lower center", ncols=min(3, len(names)))
    first: Axes = axes[0]
    return first
