"""Questions about videos whose answers are known; one module a dataset."""

from atlaskit.benchmarks.atlasworld import atlasworld

__all__ = ["atlasworld"]
