"""`train`: MaskablePPO on development worlds, with a trial on selection worlds now and then."""

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
"""Environments whose next actions the network chooses together."""
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
PEAK_RATE = 1e-3
"""Learning rate at the start; it falls to a tenth."""
Watch = Callable[[int, Chooser], None]
"""Is told the steps of training so far and the policy as it is then; untrained, it draws, since its
most likely action says nothing."""


def new_policy(make: Callable[[], PolicyEnv], seed: int) -> MaskablePPO:
    """Return a policy that has learned nothing."""
    torch.set_num_threads(1)  # the network is small: more threads cost more than they give
    envs = DummyVecEnv([make for _ in range(ENVS)])
    return MaskablePPO(CellPolicy, envs, learning_rate=_rate, seed=seed, device="cpu", **SETTINGS)


def train(policy: MaskablePPO, steps: int, each: int, watch: Watch) -> float:
    """Train a policy; return the seconds of processor time that it took, without what `watch` did.

    Args:
        policy: The policy.
        steps: Steps of training; rounded up to whole rollouts.
        each: Steps between two calls of `watch`, which is called first before the first step.
        watch: Is told of the policy.
    """
    watching = _Watching(each, watch, policy)
    began_s = time.process_time()
    policy.learn(steps, callback=watching)
    watching.call()
    return time.process_time() - began_s - watching.seconds


def chooser(policy: MaskablePPO, *, draws: bool = False) -> Chooser:
    """Return how a policy chooses.

    Args:
        policy: The policy.
        draws: Whether it draws from its own probabilities, as in training. False: the most likely.
    """

    def choose(
        seen: Floats, masks: NDArray[np.bool_], rng: np.random.Generator
    ) -> NDArray[np.int64]:
        with torch.inference_mode():
            of = policy.policy.get_distribution(torch.from_numpy(seen), action_masks=masks)
            shares = of.distribution.probs.double().numpy()
        if not draws:
            likely: NDArray[np.int64] = shares.argmax(axis=1)
            return likely
        upto = np.cumsum(shares, axis=1)
        drawn = rng.random(len(seen)) * upto[:, -1]
        chosen: NDArray[np.int64] = (upto > drawn[:, None]).argmax(axis=1)
        return chosen

    return choose


def _rate(left: float) -> float:
    return PEAK_RATE * (0.1 + 0.9 * left)


class _Watching(BaseCallback):
    """Calls `watch` before the first step, at every `each`-th, and at the end."""

    def __init__(self, each: int, watch: Watch, policy: MaskablePPO) -> None:
        super().__init__()
        self.each, self.watch, self.policy = each, watch, policy
        self.next, self.last, self.seconds = 0, -1, 0.0

    def _on_step(self) -> bool:
        return True

    def _on_rollout_start(self) -> None:
        if self.num_timesteps >= self.next:
            self.call()
            self.next += self.each

    def call(self) -> None:
        """Call `watch`, unless it was called at this step before."""
        if self.num_timesteps != self.last:
            began_s = time.process_time()
            self.watch(self.num_timesteps, chooser(self.policy, draws=not self.num_timesteps))
            self.last, self.seconds = (
                self.num_timesteps,
                self.seconds + time.process_time() - began_s,
            )
