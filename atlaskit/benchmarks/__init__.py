"""Questions about videos with known answers; one module per dataset."""

from atlaskit.benchmarks.datasets.cgbench import cgbench
from atlaskit.benchmarks.datasets.charades import charades
from atlaskit.benchmarks.datasets.egoschema import egoschema
from atlaskit.benchmarks.datasets.extremewhen import extremewhen
from atlaskit.benchmarks.datasets.longtimescope import longtimescope
from atlaskit.benchmarks.datasets.longvideobench import longvideobench
from atlaskit.benchmarks.datasets.lvbench import lvbench
from atlaskit.benchmarks.datasets.mlvu import mlvu
from atlaskit.benchmarks.datasets.qvhighlights import qvhighlights
from atlaskit.benchmarks.datasets.rows import skip_bad
from atlaskit.benchmarks.datasets.videomme import videomme
from atlaskit.benchmarks.datasets.videomme_v2 import videomme_v2
from atlaskit.benchmarks.lengths import standard_and_long
from atlaskit.benchmarks.published import published
from atlaskit.benchmarks.tenhour import ten_hour

__all__ = [
    "cgbench",
    "charades",
    "egoschema",
    "extremewhen",
    "longtimescope",
    "longvideobench",
    "lvbench",
    "mlvu",
    "published",
    "qvhighlights",
    "skip_bad",
    "standard_and_long",
    "ten_hour",
    "videomme",
    "videomme_v2",
]


def __dir__() -> list[str]:
    """List the public names only."""
    return __all__
