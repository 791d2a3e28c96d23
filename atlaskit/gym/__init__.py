"""VideoAtlas as a Gymnasium environment: the MDP of paper §3.1, for libraries that train policies.

An episode is one question about one video. The rules are those of `environment.Atlas`. This package
turns actions into numbers, observations into pixels and the question's score into a reward, and
ends an episode. Importing it registers `Atlas-v0`, whose action is a dictionary, and
`AtlasDiscrete-v0`, whose action is one number. It knows no models.
"""

from atlaskit.errors import missing

try:
    import gymnasium
except ModuleNotFoundError as error:
    raise ImportError(missing("atlaskit.gym", "gymnasium>=1.0")) from error

from atlaskit.gym.actions import CELL_KINDS, KINDS, as_action
from atlaskit.gym.env import AtlasEnv, DiscreteAtlasEnv
from atlaskit.gym.episode import AtlasEpisode, Measures, Turn
from atlaskit.gym.tasks import ANSWERABLE, DRAWN, TASKS, Coverage, Reward, Source, Task

__all__ = [
    "ANSWERABLE",
    "CELL_KINDS",
    "DRAWN",
    "KINDS",
    "TASKS",
    "AtlasEnv",
    "AtlasEpisode",
    "Coverage",
    "DiscreteAtlasEnv",
    "Measures",
    "Reward",
    "Source",
    "Task",
    "Turn",
    "as_action",
]

gymnasium.register("Atlas-v0", entry_point="atlaskit.gym:AtlasEnv")
gymnasium.register("AtlasDiscrete-v0", entry_point="atlaskit.gym:DiscreteAtlasEnv")
