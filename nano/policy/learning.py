"""`learn`: trains policies by a recipe, or gives what was kept of an earlier run, as tables."""

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
"""What the published run gave, by the default recipe."""


@dataclass(frozen=True)
class Learned:
    """What came out: each row of a table is one episode in a world of its own.

    The columns are `policy`, `seed` (of the training; "" for rules), `trained` (its steps so
    far), `world`, `question`, `category`, `reward`, `score`, `right`, `steps` and `actions`.
    """

    recipe: Recipe
    curve: pd.DataFrame
    """Episodes in selection worlds, while training."""
    test: pd.DataFrame
    """Episodes in the worlds of the measurement at the end."""
    cpu_s: float
    """Seconds of processor time of the training of all seeds, without trials."""


def learn(
    recipe: Recipe | None = None,
    training_seeds: Iterable[int] = (0, 1),
    *,
    folder: str | Path = "cache/nano/policy",
    replay: bool = False,
    progress: bool = True,
) -> Learned:
    """Train a policy for each seed, and measure each beside rules; what is kept is not repeated.

    Training sees development worlds, the curve selection worlds. The worlds of the measurement at
    the end are opened after the last step.

    Args:
        recipe: What to learn from, for how long, and how it is measured.
        training_seeds: Seeds of the training: of the first weights, the tasks, the actions drawn.
        folder: Where results are kept by their recipe; those of the default recipe ship.
        replay: Take kept results only, without PyTorch.
        progress: Whether to show a progress bar.

    Raises:
        InputError: There is no training seed, or a replay lacks a result.
        ImportError: PyTorch or sb3-contrib is not installed.
    """
    import pandas as pd

    recipe, folder = recipe or Recipe(), Path(folder)
    if not (training_seeds := tuple(training_seeds)):
        raise InputError("training_seeds must name one seed or more; got none.")
    curves, tests, cpu_s, make = list[pd.DataFrame](), list[pd.DataFrame](), 0.0, None
    for seed in (None, *training_seeds):
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
    return Learned(
        recipe, pd.concat(curves, ignore_index=True), pd.concat(tests, ignore_index=True), cpu_s
    )


def _table(episodes: Episodes, seed: int | None) -> pd.DataFrame:
    import pandas as pd

    label = "" if seed is None else str(seed)
    return pd.DataFrame(
        {"policy": episodes.policy, "seed": label, "trained": episodes.trained, **episodes.columns}
    )


def _environments(recipe: Recipe) -> Callable[[], PolicyEnv]:
    """Return what makes environments that share one reader of grids."""
    try:
        import sb3_contrib  # noqa: F401  # said now, and not after the rules have played
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
    """Train a policy, measure it now and then, and at the end."""
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
