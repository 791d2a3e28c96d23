"""`learn`: trains policies by a recipe, or loads the stored results of an earlier run."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tqdm import tqdm

from atlaskit.errors import InputError
from nano.policy.kept import Episodes, Kept
from nano.policy.recipe import Recipe

if TYPE_CHECKING:
    import pandas as pd

    from nano.policy.task import PolicyEnv
    from nano.policy.trials import Chooser

SHIPPED = Path(__file__).parents[1] / "shipped" / "policy"
"""Folder of the results of the published run, by the default recipe."""


@dataclass(frozen=True)
class Learned:
    """The results of `learn`. Each row of a table is one episode, on one question about a world.

    The columns are `policy`, `seed` (of the training; "" for rules), `trained` (training steps so
    far), `world`, `question`, `category`, `reward`, `score`, `right`, `steps` and `actions`.
    """

    recipe: Recipe
    curve: pd.DataFrame
    """Episodes in selection worlds, while training."""
    test: pd.DataFrame
    """Episodes in the worlds of the measurement at the end."""
    cpu_s: float
    """Processor time in seconds of the training with all seeds, without trials."""


def learn(
    recipe: Recipe | None = None,
    training_seeds: Iterable[int] = (0, 1),
    *,
    folder: str | Path = "cache/nano/policy",
    replay: bool = False,
    progress: bool = True,
) -> Learned:
    """Train a policy for each seed, and measure the policies and some rules on the same worlds.

    Training uses development worlds, and the learning curve uses selection worlds. The worlds of
    the measurement at the end are opened only after the last training step. Results are stored, so
    a second call with the same recipe trains nothing.

    Args:
        recipe: Settings of the training and of the measurement; the published ones by default.
        training_seeds: Seeds of the initial weights, of the tasks and of the actions drawn.
        folder: Folder of the stored results. Those of the published run are shipped.
        replay: Whether to load stored results only, which needs no PyTorch.
        progress: Whether to show a progress bar.

    Raises:
        InputError: There is no training seed, or a replay lacks a result.
        ImportError: PyTorch or sb3-contrib is not installed.
    """
    import pandas as pd

    recipe = recipe or Recipe()
    folder = Path(folder)
    training_seeds = tuple(training_seeds)
    if not training_seeds:
        raise InputError("training_seeds must name one seed or more; got none.")
    curves: list[pd.DataFrame] = []
    tests: list[pd.DataFrame] = []
    cpu_s = 0.0
    make = None
    for seed in (None, *training_seeds):  # None stands for the rules
        parts = recipe.parts(seed)
        kept = Kept.read((SHIPPED, folder), parts)
        if kept is None and replay:
            raise InputError(
                f"{folder} holds no result of this recipe, and a replay makes none; run it first."
            )
        if kept is None:
            make = make or _environments(recipe)
            kept = _rules(recipe, make) if seed is None else _trained(recipe, make, seed, progress)
            kept.write(folder, parts)
        curves += [_table(episodes, seed) for episodes in kept.curve]
        tests += [_table(episodes, seed) for episodes in kept.test]
        cpu_s += kept.cpu_s
    curve = pd.concat(curves, ignore_index=True)
    test = pd.concat(tests, ignore_index=True)
    return Learned(recipe, curve, test, cpu_s)


def _table(episodes: Episodes, seed: int | None) -> pd.DataFrame:
    """Return episodes as rows; `seed` is None for rules."""
    import pandas as pd

    label = "" if seed is None else str(seed)
    return pd.DataFrame(
        {"policy": episodes.policy, "seed": label, "trained": episodes.trained, **episodes.columns}
    )


def _environments(recipe: Recipe) -> Callable[[], PolicyEnv]:
    """Return a function that makes environments, which share one reader of grids.

    Raises:
        ImportError: PyTorch or sb3-contrib is not installed.
    """
    try:
        import sb3_contrib  # noqa: F401  # imported here to fail before the rules play
        import torch
    except ImportError as error:
        raise ImportError(
            "Learning a policy needs PyTorch and sb3-contrib: make .venv/policy"
        ) from error
    from nano.policy.eyes import Eyes
    from nano.policy.task import GridReader, PolicyEnv

    torch.set_num_threads(1)  # eyes and network are small: more threads cost more than they give
    reader = GridReader(Eyes())
    return lambda: PolicyEnv(recipe.training_worlds, reader, **recipe.environment)


def _rules(recipe: Recipe, make: Callable[[], PolicyEnv]) -> Kept:
    """Let each rule play the worlds of the curve and of the measurement at the end."""
    from nano.policy.trials import RULES, play_rule

    env = make()
    curve, test = (
        [Episodes.of(name, 0, play_rule(env, worlds, rule)) for name, rule in RULES.items()]
        for worlds in (recipe.trial_worlds, recipe.test_worlds)
    )
    return Kept(curve=curve, test=test, cpu_s=0.0)


def _trained(recipe: Recipe, make: Callable[[], PolicyEnv], seed: int, progress: bool) -> Kept:
    """Train a policy; measure it before and during the training, and at the end."""
    from nano.policy.training import chooser, new_policy, train
    from nano.policy.trials import play

    policy, curve = new_policy(make, seed), list[Episodes]()
    with tqdm(
        total=recipe.steps, unit="step", desc=f"training, seed {seed}", disable=not progress
    ) as bar:

        def watch(trained: int, choose: Chooser) -> None:
            name = "learned" if trained else "zero-shot"
            curve.append(Episodes.of(name, trained, play(make, recipe.trial_worlds, choose)))
            bar.update(min(trained, recipe.steps) - bar.n)
            bar.set_postfix(reward=f"{sum(curve[-1].reward) / recipe.trials:.2f}")

        cpu_s = train(policy, recipe.steps, max(1, recipe.steps // recipe.points), watch)
    untrained = play(make, recipe.test_worlds, chooser(new_policy(make, seed), draws=True))
    tested = play(make, recipe.test_worlds, chooser(policy))
    test = [
        Episodes.of("zero-shot", 0, untrained),
        Episodes.of("learned", curve[-1].trained, tested),
    ]
    return Kept(curve=curve, test=test, cpu_s=round(cpu_s, 1))
