"""AtlasWorld: synthetic videos of which everything is known, questions about them, and an oracle that answers."""

from atlaskit.benchmarks.atlasworld.oracle import Oracle
from atlaskit.benchmarks.atlasworld.world import World, atlasworld

__all__ = ["Oracle", "World", "atlasworld"]
