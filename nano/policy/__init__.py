"""A policy without language: a small network that learns by reward to search an AtlasWorld.

It sees a grid through nano's vision tower alone, and chooses actions of `AtlasDiscrete-v0`.
`reading` and `eyes` turn frames into what each shows, `query` and `features` compare that with the
words of a question, `task` is the environment, `network` and `training` learn, `trials` measures,
`learning` keeps what was learned by its recipe. Only `eyes`, `network` and `training` need PyTorch.
"""

from nano.policy.learning import Learned, learn
from nano.policy.recipe import Recipe
from nano.policy.tables import summary

__all__ = ["Learned", "Recipe", "learn", "summary"]
