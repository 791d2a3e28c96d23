"""A policy without language: a small network that learns by reward to search an AtlasWorld.

The network sees a grid through nano's vision tower alone, and chooses actions of
`AtlasDiscrete-v0`. `eyes` tells what each cell shows; `query` and `features` compare that with the
words of a question; `task` is the environment. `network` and `training` hold the network and its
training, and `trials` plays episodes to measure policies. `recipe` has all settings, and `learning`
trains by a recipe or loads the result that `kept` stored. `tables` summarises results. Only `eyes`,
`network` and `training` need PyTorch.
"""

from nano.policy.learning import Learned, learn
from nano.policy.recipe import Recipe
from nano.policy.tables import summary

__all__ = ["Learned", "Recipe", "learn", "summary"]
