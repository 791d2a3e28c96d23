"""`train`: trains a policy with MaskablePPO, and lets the caller watch the training."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from sb3_contrib import MaskablePPO
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.vec_env import DummyVecEnv

from nano.policy.network import CellPolicy
from nano.policy.query import Floats
from nano.policy.task import PolicyEnv
from nano.policy.trials import Chooser

ENVS = 16
"""Environments that are stepped together, with one pass of the network for all."""
SETTINGS: dict[str, Any] = {
    "n_steps": 128,
    "batch_size": 512,
    "n_epochs": 4,
    "gamma": 1.0,
    "gae_lambda": 0.98,
    "ent_coef": 0.03,
    "vf_coef": 0.5,
    "clip_range": 0.2,
    "max_grad_norm": 0.5,
}
"""Settings of MaskablePPO."""
PEAK_RATE = 1e-3
"""Learning rate at the start; it falls linearly to a tenth."""
Watch = Callable[[int, Chooser], None]
"""Is called with the training steps so far and with the policy as it is then. The policy takes its
most likely action; before the first step, when that says nothing, it draws."""


def new_policy(make: Callable[[], PolicyEnv], seed: int) -> MaskablePPO:
    """Return an untrained policy.

    Args:
        make: Makes an environment.
        seed: Seed of the initial weights and of all that is drawn in training.
    """
    torch.set_num_threads(1)  # the network is small: more threads cost more than they give
    envs = DummyVecEnv([make for _ in range(ENVS)])
    return MaskablePPO(CellPolicy, envs, learning_rate=_rate, seed=seed, device="cpu", **SETTINGS)


def train(policy: MaskablePPO, steps: int, each: int, watch: Watch) -> float:
    """Train a policy; return the processor time of the training in seconds, without `watch`.

    Args:
        policy: The policy.
        steps: Training steps, rounded up to whole rollouts.
        each: Steps between two calls of `watch`. The first call is before the first step, the last
            one at the end.
        watch: Is called with the policy during the training.
    """
    watching = _Watching(each, watch, policy)
    began_s = time.process_time()
    policy.learn(steps, callback=watching)
    watching.call()
    return time.process_time() - began_s - watching.spent_s


def chooser(policy: MaskablePPO, *, draws: bool = False) -> Chooser:
    """Return a function that chooses actions as a policy does.

    Args:
        policy: The policy.
        draws: Whether to draw from the policy's probabilities, as in training, instead of taking
            the most likely action.
    """

    def choose(
        seen: Floats, masks: NDArray[np.bool_], rng: np.random.Generator
    ) -> NDArray[np.int64]:
        with torch.inference_mode():
            actions = policy.policy.get_distribution(torch.from_numpy(seen), action_masks=masks)
            probabilities = actions.distribution.probs.double().numpy()
        if not draws:
            likely: NDArray[np.int64] = probabilities.argmax(axis=1)
            return likely
        cumulative = np.cumsum(probabilities, axis=1)
        drawn = rng.random(len(seen)) * cumulative[:, -1]
        chosen: NDArray[np.int64] = (cumulative > drawn[:, None]).argmax(axis=1)
        return chosen

    return choose


def _rate(left: float) -> float:
    """Return the learning rate when this share of the training is left."""
    return PEAK_RATE * (0.1 + 0.9 * left)


class _Watching(BaseCallback):
    """Calls `watch` before the first step, and then before the first rollout after `each` steps."""

    def __init__(self, each: int, watch: Watch, policy: MaskablePPO) -> None:
        super().__init__()
        self.each = each
        self.watch = watch
        self.policy = policy
        self.next_step = 0
        self.last_step = -1
        self.spent_s = 0.0  # processor time in `watch`

    def _on_step(self) -> bool:
        return True

    def _on_rollout_start(self) -> None:
        if self.num_timesteps >= self.next_step:
            self.call()
            self.next_step += self.each

    def call(self) -> None:
        """Call `watch`, unless it was called at this step before."""
        if self.num_timesteps == self.last_step:
            return
        began_s = time.process_time()
        self.watch(self.num_timesteps, chooser(self.policy, draws=self.num_timesteps == 0))
        self.last_step = self.num_timesteps
        self.spent_s += time.process_time() - began_s
