"""AtlasWorld: synthetic videos with known scripts, questions about them, and an oracle.

A package of its own beside atlaskit, which knows nothing of it: `import atlasworld as aw`. Here is
also nano, the small model that was trained on these videos.
"""

from atlasworld.benchmark import cases
from atlasworld.oracle.oracle import Oracle
from atlasworld.ranges import seeds
from atlasworld.stretches import films_of
from atlasworld.worlds import World, world

__all__ = ["Oracle", "World", "cases", "films_of", "seeds", "world"]


def __dir__() -> list[str]:
    """List the public names only."""
    return __all__
