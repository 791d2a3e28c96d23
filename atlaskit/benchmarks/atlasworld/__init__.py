"""AtlasWorld: synthetic videos with known scripts, questions about them, and an oracle."""

from atlaskit.benchmarks.atlasworld.oracle import Oracle
from atlaskit.benchmarks.atlasworld.world import World, atlasworld

__all__ = ["Oracle", "World", "atlasworld"]
