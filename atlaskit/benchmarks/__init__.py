"""Questions about videos with known answers; one module per dataset."""

from atlaskit.benchmarks.atlasworld import atlasworld
from atlaskit.benchmarks.atlasworld.seeds import seeds
from atlaskit.benchmarks.datasets.longvideobench import longvideobench
from atlaskit.benchmarks.datasets.videomme import videomme
from atlaskit.benchmarks.lengths import standard_and_long
from atlaskit.benchmarks.published import published
from atlaskit.benchmarks.tenhour import ten_hour

__all__ = ["atlasworld", "longvideobench", "published", "seeds", "standard_and_long", "ten_hour", "videomme"]
